// Clients: applications and APIs. Their rules are in client_rules.ts and client_metadata.ts.
import { type ClientRecord, hasSecret, isUnchecked, rotatedSecrets, usableSecrets } from '@grantd/core';
import { ClockWatch } from '../data/clock_watch.ts';
import { issuerIsLocked, under } from '../data/conditions.ts';
import { planInWords, planOf } from './client_consequences.ts';
import {
  CHANGED_CLIENT,
  CLIENT,
  CLIENT_CHANGE,
  CLIENTS,
  clientVersion,
  clientView,
  NEW_CLIENT,
  REGISTRATION_TOKEN,
  REGISTRATION_TOKEN_ORDER,
  REMOVED_CLIENTS,
  ROTATED_SECRET,
  SECRET_ROTATION,
  UNUSED_CLIENTS,
  UNUSED_CLIENTS_ORDER,
} from './client_documents.ts';
import { type Members, registrationFrom, withChange } from './client_metadata.ts';
import { clientChanges } from './client_plan.ts';
import {
  clientExists,
  clientWarnings,
  DEFAULT_OVERLAP,
  DEFAULT_REGISTRATION_TOKEN_LIFETIME,
  publishKeys,
  requireClient,
  requireFreeId,
  requireKnownApis,
  requireKnownGroups,
  requireOfOperators,
  requireUsableSecret,
  revokeFormerSubjects,
  revokeForOthers,
  secretFor,
} from './client_rules.ts';
import {
  type AdminParts,
  change,
  DESCENDING,
  type OperationParts,
  operation,
  PAGING,
  pageOf,
} from './operation.ts';
import { ifGiven, OperationRefused, requireEachFits } from './operation_refused.ts';
import { flag, oneOf, optional, optionalTime, text, time, timeOf } from './schema.ts';
import { Warning } from './warning.ts';

const SECRET_FLAG = {
  flag: 'secret-stdin',
  about: 'read the secret from standard input instead of generating one',
  isOnInput: true,
} as const;

/** A client that the caller may change. */
async function changeable(
  parts: AdminParts,
  { client_id: id }: { readonly client_id: string },
): Promise<ClientRecord> {
  const client = await requireClient(parts, id);
  parts.caller.requireClient(client);
  return client;
}

/** A client with the changes of an input. Stores nothing. */
async function changedClient(
  parts: AdminParts,
  { client_id: id, dry_run: _, ...given }: Members & { readonly client_id: string },
) {
  const before = await requireClient(parts, id);
  parts.requireVersion(clientVersion(before));
  parts.caller.requireClient(before);
  requireOfOperators(before);
  const entries = Object.entries(given);
  const members = Object.fromEntries(entries.filter(([, value]) => value !== null));
  const unset = entries.filter(([, value]) => value === null).map(([name]) => name);
  const change = { members, unset };
  return {
    before,
    members,
    changed: await withChange(await parts.server(), parts.configuration, before, change),
  };
}

/** Disables or enables a client. */
function disabling(action: 'disable' | 'enable', summary: string, about: string) {
  return change({
    method: 'POST',
    path: `/clients/{client_id}/${action}`,
    scope: 'grantd:clients:write',
    summary,
    status: 200,
    output: CLIENT,
    hasVersion: true,
    command: {
      line: `client ${action} <client_id>`,
      about,
      lines: (_, { client_id: id }) =>
        action === 'disable' ? `disabled ${id} and revoked all its tokens` : `enabled ${id}`,
    },
    prepare: changeable,
    async write(parts, before, { client_id: id }) {
      const { storage, caller, issuer } = parts;
      const set = async () => storage.setDisabled('client', id, action === 'disable');
      if ((await caller.changeClient(issuer, before, set)) === undefined) return undefined;
      // If the client was removed at the same time, it was neither disabled nor enabled.
      const client = await requireClient(parts, id);
      return { document: clientView(client), version: clientVersion(client) };
    },
  });
}

/** What a command prints of a client that was added or changed. */
function doneWith(done: string, secret: string | undefined): string | readonly string[] {
  return secret === undefined ? done : [`${done}. Its secret is shown only once:`, secret];
}

/** Seconds since 1970. A caller may have a wrong clock, so it is no later than the time that a sweep goes by (ADR 118). */
async function unusedSince(
  { referenceTime, clock }: Pick<OperationParts, 'referenceTime' | 'clock'>,
  requested: string | undefined,
): Promise<number> {
  const watch = new ClockWatch({ referenceTime }, { clock });
  await watch.look();
  const limitMs = watch.deletionLimitMs();
  return Math.floor(Math.min(requested === undefined ? limitMs : Date.parse(requested), limitMs) / 1000);
}

/** How a client was added: by an operator, by itself, or with a document. */
export const CLIENT_KINDS = ['operator', 'registered', 'document'] as const;

export const CLIENT_STATES = ['active', 'disabled'] as const;

function kindOf(client: ClientRecord): (typeof CLIENT_KINDS)[number] {
  if (!isUnchecked(client)) return 'operator';
  return client.documentValidAt === undefined ? 'registered' : 'document';
}

/** Orders of the list. */
export const CLIENT_ORDERS = ['client_id', 'client_name'] as const;

/** Sorts clients by name, in any case. Several may have the same name, or none. */
function nameWithId({ id, name = '' }: ClientRecord): string {
  return `${name.toLowerCase()}\0${id}`;
}

/** More than may register themselves by default. */
const MAX_LISTED = 20_000;

export const CLIENT_OPERATIONS = {
  listClients: operation({
    method: 'GET',
    path: '/clients',
    scope: 'grantd:clients:read',
    summary: 'List clients, sorted by client ID or by name',
    query: {
      ...PAGING,
      search: {
        schema: text(undefined, { minLength: 1, maxLength: 200 }),
        about: 'Only clients whose ID or name contains this text.',
      },
      kind: {
        schema: oneOf(CLIENT_KINDS),
        about: 'Only clients that an operator added, that registered themselves, or that have a document.',
      },
      state: { schema: oneOf(CLIENT_STATES), about: 'Only clients in this state.' },
      sort: { schema: oneOf(CLIENT_ORDERS), about: 'The order of the list. Default: client_id.' },
      descending: DESCENDING,
    },
    status: 200,
    output: CLIENTS,
    command: {
      line: 'client list',
      about: 'list all clients',
      flags: { search: { placeholder: 'TEXT' }, kind: {}, state: {}, sort: {}, descending: {} },
      columns: {
        ID: ({ client_id: id }) => id,
        NAME: ({ client_name: name = '' }) => name,
        TYPE: ({ type }) => type,
        GRANTS: ({ grant_types: grants = [] }) => grants.join(' '),
        REGISTERED: ({ registered_itself: isSelfRegistered, document_valid_at: validAt }) =>
          isSelfRegistered ? 'by itself' : validAt === undefined ? '' : 'by document',
        DISABLED: ({ disabled_at: disabledAt = '' }) => disabledAt,
      },
    },
    async perform({ storage }, { search: part = '', kind, state, sort, ...paging }) {
      const search = part.toLowerCase();
      const found = (await storage.clients.list()).filter(
        (client) =>
          (kind === undefined || kindOf(client) === kind) &&
          (state === undefined || (client.disabledAtMs !== undefined) === (state === 'disabled')) &&
          [client.id, client.name ?? ''].some((name) => name.toLowerCase().includes(search)),
      );
      return pageOf(found, paging, sort === 'client_name' ? nameWithId : ({ id }) => id, clientView);
    },
  }),
  addClient: change({
    method: 'POST',
    path: '/clients',
    scope: 'grantd:clients:write',
    summary:
      'Add a client. If the server generates the client’s secret, only the response to this request shows it',
    body: NEW_CLIENT,
    status: 201,
    output: CHANGED_CLIENT,
    hasVersion: true,
    command: {
      line: 'client add <client_id>',
      about: 'register a client. A generated secret is printed only once',
      flags: { client_secret: SECRET_FLAG },
      createsDatabase: true,
      notes: `Without --grant, a client with --redirect-uri may use the grants authorization_code and refresh_token. Without a redirect
URI, an API (--resource, --follow-all) and a public client may use no grant, and any other client may use client_credentials.

  grantd client add shop --redirect-uri https://shop.example/callback --scope openid --scope email
  grantd client add orders-api --resource https://orders.example --api-scope orders:read --api-scope orders:write
  grantd client add reports --scope orders:read --api https://orders.example`,
      lines: ({ client_id: id, client_secret: secret }) => doneWith(`added ${id}`, secret),
    },
    checks: ({ client_secret: secret }) => [ifGiven(secret, requireUsableSecret)],
    async examine(parts, { client_id: id, client_secret: _, ...members }) {
      await registrationFrom(await parts.clientBuilder(), parts.configuration, id, members);
    },
    async prepare(parts, { client_id: id, client_secret: supplied, ...members }) {
      const { configuration, caller } = parts;
      const registration = await registrationFrom(await parts.clientBuilder(), configuration, id, members);
      caller.requireClient(registration);
      const { metadata = {} } = registration;
      await requireEachFits([
        () => requireFreeId(parts, id),
        () => requireKnownGroups(parts, metadata.allowed_groups),
        () => requireKnownApis(parts, metadata.apis),
      ]);
      const secret = hasSecret(metadata) ? await secretFor(parts, supplied, registration) : undefined;
      return { secret, client: { ...registration, ...optional('secrets', secret && [secret.stored]) } };
    },
    async write(parts, { client, secret }) {
      const { id, metadata = {}, scopes, grantTypes } = client;
      await publishKeys(parts, client);
      if (!(await parts.storage.clients.add(client))) throw clientExists(id);
      const { jwks, jwks_uri: keysUri, token_endpoint_auth_method: method } = metadata;
      const hasIdleKeys = secret !== undefined && method === undefined && (jwks ?? keysUri) !== undefined;
      const warnings = [
        ...(scopes.length === 0 && grantTypes.length > 0 ? [new Warning('no_scope')] : []),
        ...(hasIdleKeys ? [new Warning('keys_unused', id)] : []),
        ...(await clientWarnings(parts, client)),
      ];
      return {
        document: { ...clientView(client), ...optional('client_secret', secret?.generated), warnings },
        version: clientVersion(client),
        location: `/clients/${encodeURIComponent(id)}`,
      };
    },
  }),
  getClient: operation({
    method: 'GET',
    path: '/clients/{client_id}',
    scope: 'grantd:clients:read',
    summary: 'Show a client',
    status: 200,
    output: CLIENT,
    hasVersion: true,
    command: { line: 'client show <client_id>' },
    async perform(parts, { client_id: id }) {
      const client = await requireClient(parts, id);
      return { document: clientView(client), version: clientVersion(client) };
    },
  }),
  updateClient: change({
    method: 'PATCH',
    path: '/clients/{client_id}',
    scope: 'grantd:clients:write',
    summary:
      'Change settings of a client. Its tokens stay valid. But if some users may no longer use the client after the change, the server revokes their tokens for it, and if its users get other pairwise identifiers, all its tokens. With dry_run, the server changes nothing, and shows what the change would do',
    query: {
      dry_run: {
        schema: flag(),
        about:
          'Whether to change nothing, and only show what the change would do: plan in the response. Its ETag is that of the client as it is, so that the change can be made under the condition that the client is still the same. Default: false.',
      },
    },
    body: CLIENT_CHANGE,
    status: 200,
    output: CHANGED_CLIENT,
    hasVersion: true,
    needsVersion: true,
    command: {
      line: 'client update <client_id>',
      about:
        'change settings of a client. Its tokens stay valid, except those of users who may no longer use it, or get another pairwise identifier',
      notes: `A repeatable flag replaces the whole list, so also pass the values that you want to keep. If the client must authenticate
with a secret after the change, and has none, the command generates one and prints it only once.

  grantd client update shop --scope openid --dry-run
  grantd client update shop --logo-uri https://shop.example/logo.png --localized 'client_name#de=Laden'
  grantd client update reports --auth-method private_key_jwt --jwks-uri https://reports.example/jwks`,
      flags: { dry_run: { about: 'change nothing, and only print what the change would do' } },
      lines: ({ client_id: id, client_secret: secret, plan }) =>
        plan === undefined ? doneWith(`updated ${id}`, secret) : planInWords(id, plan),
    },
    async examine(parts, input) {
      await changedClient(parts, input);
    },
    async prepare(parts, input) {
      const { before, members, changed } = await changedClient(parts, input);
      parts.caller.requireClient(changed);
      const { apis, allowed_groups: groups } = changed.metadata ?? {};
      const { apis: apisBefore, allowed_groups: groupsBefore } = before.metadata ?? {};
      await requireEachFits([
        () => requireKnownGroups(parts, groups, groupsBefore),
        () => requireKnownApis(parts, apis, apisBefore),
      ]);
      const kept = hasSecret(changed.metadata) ? usableSecrets(changed.metadata, before.secrets) : [];
      const secret = kept === undefined ? await secretFor(parts, undefined, changed) : undefined;
      const secrets = secret ? [secret.stored] : kept;
      const record = hasSecret(changed.metadata) ? { ...changed, ...optional('secrets', secrets) } : changed;
      return { before, record, secret: secret?.generated, members };
    },
    async write(parts, { before, record, secret, members }, { dry_run: isDryRun = false }) {
      const client = { ...record, ...optional('disabledAtMs', before.disabledAtMs) };
      if (isDryRun) {
        const setsGroups = members.allowed_groups !== undefined;
        const plan = await planOf(parts, { before, after: record, setsGroups });
        return { document: { ...clientView(client), plan, warnings: [] }, version: clientVersion(before) };
      }
      await publishKeys(parts, record);
      if (!(await parts.storage.clients.replace(record, before, clientChanges(before, record))))
        return undefined;
      const onUsers = (users: number) => parts.progress?.(`${users} users checked`);
      const warnings = [
        // Also if nothing changed: an earlier attempt may have died before the end.
        ...(members.allowed_groups === undefined ? [] : await revokeForOthers(parts, record, onUsers)),
        ...(await revokeFormerSubjects(parts, before, record)),
        ...(await clientWarnings(parts, record, (name) => members[name] !== undefined)),
      ];
      return {
        document: { ...clientView(client), ...optional('client_secret', secret), warnings },
        version: clientVersion(client),
      };
    },
  }),
  removeClient: change({
    method: 'DELETE',
    path: '/clients/{client_id}',
    scope: 'grantd:clients:write',
    summary: 'Remove a client and revoke all its tokens at once',
    status: 204,
    command: {
      line: 'client remove <client_id>',
      isFinal: 'grantd client disable can',
      lines: (_, { client_id: id }) => `removed ${id} and revoked all its tokens`,
    },
    async prepare(parts, input) {
      const client = await changeable(parts, input);
      requireOfOperators(client);
      return client;
    },
    async write({ storage, caller, issuer }, before, { client_id: id }) {
      const remove = () => caller.changeClient(issuer, before, async () => storage.clients.remove(id));
      const done = await under(issuerIsLocked(issuer), remove);
      if (done === undefined) return undefined;
      if (!done.outcome) throw new OperationRefused('changed', ['client_gone', id]);
      return { document: undefined };
    },
  }),
  disableClient: disabling(
    'disable',
    'Disable a client and revoke all its tokens at once',
    'disable a client and revoke all its tokens at once',
  ),
  enableClient: disabling(
    'enable',
    'Enable a disabled client. Tokens that were revoked when it was disabled stay revoked',
    'enable a client again. Its old tokens stay revoked',
  ),
  rotateClientSecret: change({
    method: 'POST',
    path: '/clients/{client_id}/rotate-secret',
    scope: 'grantd:clients:write',
    summary: 'Give a client a new secret. The old secret still works for a while, by default for one day',
    body: SECRET_ROTATION,
    isBodyOptional: true,
    status: 200,
    output: ROTATED_SECRET,
    command: {
      line: 'client rotate-secret <client_id>',
      about: 'add a new secret and let the old one expire. The new secret is printed only once',
      flags: {
        client_secret: SECRET_FLAG,
        overlap: {
          about: 'how long the old secret still works. Default: one day; at most 90 days',
          placeholder: 'SECONDS',
        },
      },
      notes: `A client has at most two working secrets. If both still work, a further rotation ends the older one at once.

  grantd client rotate-secret shop --overlap 3600`,
      lines({ client_id: id, client_secret: secret, old_secret_ends_at: endsAt }) {
        const end = endsAt === undefined ? 'at once' : `at ${endsAt}`;
        return doneWith(`${id} has a new secret; the old one ends ${end}`, secret);
      },
    },
    checks: ({ client_secret: secret }) => [ifGiven(secret, requireUsableSecret)],
    async prepare(parts, input) {
      const client = await changeable(parts, input);
      const { id, secrets } = client;
      if (secrets === undefined) throw new OperationRefused('conflict', ['client_without_secret', id]);
      return { client, secrets, ...(await secretFor(parts, input.client_secret, client)) };
    },
    async write(parts, { client, secrets: before, stored, generated }, { overlap = DEFAULT_OVERLAP }) {
      const secrets = rotatedSecrets(before, stored, { nowMs: parts.clock(), overlap });
      if (!(await parts.storage.clients.replaceSecrets(client.id, secrets, client))) return undefined;
      const endsAt = secrets[1]?.expiresAt;
      return {
        document: {
          client_id: client.id,
          ...optional('client_secret', generated),
          ...optionalTime('old_secret_ends_at', endsAt === undefined ? undefined : endsAt * 1000),
        },
      };
    },
  }),
  listUnusedClients: operation({
    method: 'GET',
    path: '/unused-clients',
    scope: 'grantd:clients:read',
    summary: 'List clients that registered themselves and have not been used since a time',
    query: {
      unused_since: {
        schema: time(),
        about: 'Only clients that were not in use after this time. Default: the time of the request.',
      },
    },
    status: 200,
    output: UNUSED_CLIENTS,
    async perform(parts, { unused_since: asked }) {
      const { storage, consents } = parts;
      const limit = await unusedSince(parts, asked);
      const items = [];
      for (const client of await storage.clients.listUnused(limit, MAX_LISTED)) {
        const { id, name, usedUntil, registeredAt = 0 } = client;
        if (await consents.isGivenTo(id)) continue;
        const since = timeOf((usedUntil ?? registeredAt) * 1000);
        items.push({ client_id: id, ...optional('client_name', name), unused_since: since });
      }
      return { document: { items } };
    },
  }),
  removeUnusedClients: change({
    method: 'POST',
    path: '/unused-clients/remove',
    scope: 'grantd:clients:write',
    summary: 'Remove those of these clients that registered themselves and have not been used since a time',
    body: UNUSED_CLIENTS_ORDER,
    status: 200,
    output: REMOVED_CLIENTS,
    prepare: (parts, { unused_since: asked }) => unusedSince(parts, asked),
    async write({ storage, consents }, since, { client_ids: ids }) {
      const removed: string[] = [];
      for (const id of ids)
        if (!(await consents.isGivenTo(id)) && (await storage.clients.remove(id, since))) removed.push(id);
      return { document: { removed } };
    },
  }),
  newRegistrationToken: operation({
    method: 'POST',
    path: '/registration-tokens',
    scope: 'grantd:clients:write',
    summary: 'Make an initial access token, with which clients can register themselves',
    body: REGISTRATION_TOKEN_ORDER,
    isBodyOptional: true,
    status: 200,
    output: REGISTRATION_TOKEN,
    command: {
      line: 'client registration-token',
      about: 'print a token with which clients can register themselves at a server with --registration token',
      flags: {
        lifetime: {
          about: 'lifetime of the token. Default: one day; at most 90 days',
          placeholder: 'SECONDS',
        },
        once: { about: 'let only one client register with the token' },
      },
      lines: ({ token }) => token,
    },
    async perform(parts, { lifetime = DEFAULT_REGISTRATION_TOKEN_LIFETIME, once = false }) {
      const { operator } = await parts.server();
      const token = await operator.newInitialAccessToken({ lifetime, isForOne: once });
      const isAccepted = parts.configuration.settings.registration === 'token';
      const warnings = isAccepted ? [] : [new Warning('registration_by_token_off')];
      return { document: { token, expires_at: timeOf(parts.clock() + lifetime * 1000), once, warnings } };
    },
  }),
};
