// Clients: applications and APIs. Their rules are in client_rules.ts.
import {
  type ClientDocument,
  type ClientRecord,
  documentOf,
  MEMBER_NAMES,
  type MemberName,
  memberOf,
} from '@grantd/core';
import { MEMBER_TEXTS } from '@grantd/core/options';
import {
  addClient,
  DEFAULT_OVERLAP,
  DEFAULT_REGISTRATION_TOKEN_LIFETIME,
  isSettable,
  listUnusedClients,
  MAX_OVERLAP,
  MAX_REGISTRATION_TOKEN_LIFETIME,
  type Members,
  newRegistrationToken,
  registrationFrom,
  removeClient,
  removeUnusedClients,
  requireClient,
  rotateSecret,
  type StoredClient,
  schemaOfKind,
  setClientDisabled,
  stateOf,
  updateClient,
} from './client_rules.ts';
import { type AdminParts, operation, PAGING, pageOf } from './operation.ts';
import {
  flag,
  integer,
  list,
  named,
  object,
  oneOf,
  optional,
  optionalTime,
  page,
  type Schema,
  text,
  texts,
  time,
  timeOf,
  type ValueOf,
  WARNINGS,
  whole,
} from './schema.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

/** The members of client metadata, as properties of a schema. */
function metadataProperties(names: readonly MemberName[], isNullable = false): object {
  const form = (name: MemberName): Schema => {
    const schema = schemaOfKind(memberOf(name).kind);
    return {
      description: MEMBER_TEXTS[name].about,
      ...(isNullable ? { anyOf: [schema, { type: 'null' }] } : schema),
    };
  };
  return Object.fromEntries(names.map((name) => [name, form(name)]));
}

/** Translated members, such as `client_name#de`. */
function translations(isNullable = false): object {
  const localizable = MEMBER_NAMES.filter((name) => memberOf(name).isLocalizable);
  const type = isNullable ? ['string', 'null'] : 'string';
  return { [`^(${localizable.join('|')})#[A-Za-z0-9-]{1,35}$`]: { type } };
}

const SETTABLE = MEMBER_NAMES.filter(isSettable);

const clientId = text('The client ID: visible ASCII characters.', { pattern: '^[!-~]{1,200}$' });

const clientSecret = text(
  'The new secret of the client, if the server generated one. It is shown only in this response.',
);

const secretState = object({
  'created_at?': time('When the secret was added.'),
  'ends_at?': time('When the secret stops working.'),
  'last_used_at?': time('When the client last authenticated with it.'),
  'server_secret?': text(
    'Fingerprint of the server secret (GET /secrets) on which the stored hash of this client secret depends. If the server no longer has that server secret, it cannot check the client secret.',
  ),
});

const clientState = {
  client_id: clientId,
  type: oneOf(['confidential', 'public'], 'confidential: the client authenticates. public: it does not.'),
  registered_itself: flag('Whether the client registered itself.'),
  'disabled_at?': time('When the client was disabled.'),
  'secrets?': list(
    secretState,
    'Data about each secret of the client, the newest first. The secrets themselves are never shown.',
  ),
} as const;

/** The state of a client and its metadata, in one object. */
function withMetadata<S extends object>(state: Schema<S>): Schema<S & ClientDocument> {
  const form: Readonly<Record<string, unknown>> = state;
  return {
    ...form,
    properties: { ...Object(form.properties), ...metadataProperties(MEMBER_NAMES) },
    patternProperties: translations(),
  };
}

const CLIENT = named('Client', withMetadata(object(clientState)));
export type ClientView = ValueOf<typeof CLIENT>;
const CLIENTS = page('Clients', CLIENT);
const CHANGED_CLIENT = named(
  'ChangedClient',
  withMetadata(object({ ...clientState, 'client_secret?': clientSecret, warnings: WARNINGS })),
);

/** A secret that an operator chooses. */
export const newSecret = text(
  'The client’s secret, if you choose it yourself. Default: the server generates one.',
  { pattern: '^[ -~]+$', minLength: 8, maxLength: 1000 },
);

const NEW_CLIENT = named<Schema<Members & { readonly client_id: string; readonly client_secret?: string }>>(
  'NewClient',
  {
    type: 'object',
    required: ['client_id'],
    properties: { client_id: clientId, client_secret: newSecret, ...metadataProperties(SETTABLE) },
    patternProperties: translations(),
    additionalProperties: false,
  },
);

const CLIENT_CHANGE = named<Schema<Members>>('ClientChange', {
  type: 'object',
  description:
    'The members of the client’s metadata to change. A member that is null is reset to its default (RFC 7396).',
  minProperties: 1,
  properties: {
    ...metadataProperties(SETTABLE, true),
    set_by_operator: {
      type: 'null',
      description: 'Lets a client that registered itself change again what an operator has set.',
    },
  },
  patternProperties: translations(true),
  additionalProperties: false,
});

const SECRET_ROTATION = named(
  'SecretRotation',
  object({
    'client_secret?': newSecret,
    'overlap?': integer(
      'Number of seconds for which the old secret still works. Default: one day. With 0, it stops working at once.',
      { minimum: 0, maximum: MAX_OVERLAP },
    ),
  }),
);

const ROTATED_SECRET = named(
  'RotatedSecret',
  object({
    client_id: clientId,
    'client_secret?': clientSecret,
    'old_secret_ends_at?': time('When the old secret stops working.'),
  }),
);

const REGISTRATION_TOKEN_ORDER = named(
  'RegistrationTokenOrder',
  object({
    'lifetime?': integer('Lifetime of the token in seconds. Default: one day.', {
      minimum: 1,
      maximum: MAX_REGISTRATION_TOKEN_LIFETIME,
    }),
    'once?': flag('Whether only one client can register with the token. Default: false.'),
  }),
);
const REGISTRATION_TOKEN = named(
  'RegistrationToken',
  object({
    token: text('The token, with which clients can register themselves. It is shown only in this response.'),
    expires_at: time('When the token expires.'),
    once: flag('Whether only one client can register with the token.'),
    warnings: WARNINGS,
  }),
);

const UNUSED_CLIENT = object({
  client_id: text('Identifier of the client.'),
  'client_name?': text('Name of the client.'),
  unused_since: time('When the client was last in use.'),
});
export type UnusedClientView = ValueOf<typeof UNUSED_CLIENT>;
const UNUSED_CLIENTS = whole(
  'UnusedClients',
  UNUSED_CLIENT,
  'The unused clients, those unused for longest first.',
);
const UNUSED_CLIENTS_ORDER = named(
  'UnusedClientsOrder',
  object({
    client_ids: texts('Identifiers of the clients to remove.', {
      items: { type: 'string', minLength: 1, maxLength: 200 },
      ...{ minItems: 1, maxItems: 500 },
    }),
    unused_since: time('Clients that were in use after this time stay.'),
  }),
);
const REMOVED_CLIENTS = named(
  'RemovedClients',
  object({ removed: texts('Identifiers of the clients that were removed.') }),
);

// ── Documents ─────────────────────────────────────────────────────────────────────────────────────────────

export function clientView(client: ClientRecord): ClientView {
  const { type, isSelfRegistered, disabledAtMs, secrets } = stateOf(client);
  const shown = secrets?.map(({ createdAtMs, endsAtMs, lastUsedAtMs, serverSecret }) => ({
    ...optionalTime('created_at', createdAtMs),
    ...optionalTime('ends_at', endsAtMs),
    ...optionalTime('last_used_at', lastUsedAtMs),
    ...optional('server_secret', serverSecret),
  }));
  return {
    client_id: client.id,
    ...documentOf(client),
    type,
    registered_itself: isSelfRegistered,
    ...optionalTime('disabled_at', disabledAtMs),
    ...optional('secrets', shown),
  };
}

/** The version of a client. The use of a secret makes no other version. */
function versionOf(client: ClientRecord): object {
  const secrets = client.secrets?.map(({ lastUsedAtMs: _, ...secret }) => secret);
  return clientView({ ...client, ...optional('secrets', secrets) });
}

function changedView({ client, secret, warnings }: StoredClient) {
  return { ...clientView(client), ...optional('client_secret', secret), warnings };
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

/** Disables or enables a client. */
function disabling(action: 'disable' | 'enable', summary: string) {
  return operation({
    method: 'POST',
    path: `/clients/{client_id}/${action}`,
    scope: 'grantd:clients:write',
    summary,
    status: 200,
    output: CLIENT,
    hasVersion: true,
    async perform(parts, { client_id: id }) {
      const client = await setClientDisabled(parts, id, action === 'disable');
      return { document: clientView(client), version: versionOf(client) };
    },
  });
}

function secondsAt(moment: string | undefined, clock: () => number): number {
  return Math.floor((moment === undefined ? clock() : Date.parse(moment)) / 1000);
}

export const CLIENT_OPERATIONS = {
  listClients: operation({
    method: 'GET',
    path: '/clients',
    scope: 'grantd:clients:read',
    summary: 'List clients, sorted by client ID',
    query: {
      ...PAGING,
      search: {
        schema: text(undefined, { minLength: 1, maxLength: 200 }),
        about: 'Only clients whose ID or name contains this text.',
      },
    },
    status: 200,
    output: CLIENTS,
    async perform({ storage }, { search: part = '', ...paging }) {
      const search = part.toLowerCase();
      const found = (await storage.clients.list()).filter(
        ({ id, name = '' }) => id.toLowerCase().includes(search) || name.toLowerCase().includes(search),
      );
      return pageOf(found, paging, ({ id }) => id, clientView);
    },
  }),
  addClient: operation({
    method: 'POST',
    path: '/clients',
    scope: 'grantd:clients:write',
    summary:
      'Add a client. If the server generates the client’s secret, only the response to this request shows it',
    body: NEW_CLIENT,
    status: 201,
    output: CHANGED_CLIENT,
    hasVersion: true,
    async perform(parts, { client_id: id, client_secret: supplied, ...members }) {
      const registration = await registrationFrom(
        await parts.clientBuilder(),
        parts.configuration,
        id,
        members,
      );
      parts.caller.requireClient(registration);
      const added = await addClient(parts, registration, supplied === undefined ? 'generate' : { supplied });
      return {
        document: changedView(added),
        version: versionOf(added.client),
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
    async perform(parts, { client_id: id }) {
      const client = await requireClient(parts, id);
      return { document: clientView(client), version: versionOf(client) };
    },
  }),
  updateClient: operation({
    method: 'PATCH',
    path: '/clients/{client_id}',
    scope: 'grantd:clients:write',
    summary:
      'Change settings of a client. Its tokens stay valid. But if some users may no longer use the client after the change, the server revokes their tokens for it',
    body: CLIENT_CHANGE,
    status: 200,
    output: CHANGED_CLIENT,
    hasVersion: true,
    needsVersion: true,
    async perform(parts, { client_id: id, ...members }) {
      const { caller } = parts;
      const given = Object.entries(members);
      const change = {
        members: Object.fromEntries(given.filter(([, value]) => value !== null)),
        unset: given.filter(([, value]) => value === null).map(([name]) => name),
      };
      const updated = await updateClient(parts, id, change, {
        requireVersion(before) {
          parts.requireVersion(versionOf(before));
          caller.requireClient(before);
        },
        requireResult: (after) => caller.requireClient(after),
        onUsers: (users) => parts.progress?.(`${users} users checked`),
      });
      return { document: changedView(updated), version: versionOf(updated.client) };
    },
  }),
  removeClient: operation({
    method: 'DELETE',
    path: '/clients/{client_id}',
    scope: 'grantd:clients:write',
    summary: 'Remove a client and revoke all its tokens at once',
    status: 204,
    async perform(parts, { client_id: id }) {
      await removeClient(parts, id);
      return { document: undefined };
    },
  }),
  disableClient: disabling('disable', 'Disable a client and revoke all its tokens at once'),
  enableClient: disabling(
    'enable',
    'Enable a disabled client. Tokens that were revoked when it was disabled stay revoked',
  ),
  rotateClientSecret: operation({
    method: 'POST',
    path: '/clients/{client_id}/rotate-secret',
    scope: 'grantd:clients:write',
    summary: 'Give a client a new secret. The old secret still works for a while, by default for one day',
    body: SECRET_ROTATION,
    isBodyOptional: true,
    status: 200,
    output: ROTATED_SECRET,
    async perform(parts, { client_id: id, client_secret: supplied, overlap = DEFAULT_OVERLAP }) {
      const wanted = supplied === undefined ? 'generate' : { supplied };
      const { secret, oldEndsAtMs } = await rotateSecret(parts, id, wanted, overlap, (client) =>
        parts.caller.requireClient(client),
      );
      return {
        document: {
          client_id: id,
          ...optional('client_secret', secret),
          ...optionalTime('old_secret_ends_at', oldEndsAtMs),
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
    async perform(parts, { unused_since: since }) {
      const unused = await listUnusedClients(parts, secondsAt(since, parts.clock));
      const items = unused.map(({ id, name, usedUntil }) => ({
        client_id: id,
        ...optional('client_name', name),
        unused_since: timeOf(usedUntil * 1000),
      }));
      return { document: { items } };
    },
  }),
  removeUnusedClients: operation({
    method: 'POST',
    path: '/unused-clients/remove',
    scope: 'grantd:clients:write',
    summary: 'Remove those of these clients that registered themselves and have not been used since a time',
    body: UNUSED_CLIENTS_ORDER,
    status: 200,
    output: REMOVED_CLIENTS,
    perform: async (parts, { client_ids: ids, unused_since: since }) => ({
      document: { removed: await removeUnusedClients(parts, ids, secondsAt(since, parts.clock)) },
    }),
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
    async perform(parts: AdminParts, { lifetime = DEFAULT_REGISTRATION_TOKEN_LIFETIME, once = false }) {
      const { token, expiresAtMs, warnings } = await newRegistrationToken(parts, lifetime, once);
      return { document: { token, expires_at: timeOf(expiresAtMs), once, warnings } };
    },
  }),
};
