// What commands do through the admin API. The answers become the records that the database has, so that commands print
// them alike.
import {
  type ClientMetadata,
  type ClientRecord,
  type EventRecord,
  type Explanation,
  MEMBER_NAMES,
  memberOf,
} from '@grantd/core';
import { MAX_LINES } from '../admin/api_operation.ts';
import { Refused } from '../config/refused.ts';
import type { ScopeText } from '../data/consents.ts';
import type { Group } from '../data/groups.ts';
import { NO_PASSWORD, type Person } from '../data/people.ts';
import type { WantedSecret } from '../operations/clients.ts';
import type { ExportedState, StateProblems } from '../operations/desired_state.ts';
import { OperationRefused } from '../operations/operation.ts';
import type { Listed } from '../operations/people.ts';
import type { NamedScope } from '../operations/scopes.ts';
import type { ImportLine } from '../people/import_lines.ts';
import type { Lock } from '../people/locks.ts';
import type { Administration, StateOrder } from './administration.ts';
import { type AdminClient, InvalidValues } from './remote_call.ts';

// biome-ignore lint/suspicious/noExplicitAny: what the API answers; its tests compare it with the schemas
type Shown = any;

export function remoteAdministration(api: AdminClient): Administration {
  const byName = async (name: string): Promise<Listed> => {
    const { items } = await api.call('listUsers', { query: { username: name } });
    if (items.length === 0)
      throw new OperationRefused(
        'not_found',
        `there is no user ${name}`,
        'grantd user list shows all users.',
      );
    return personFrom(items[0]);
  };
  const userPath = ({ subject }: Pick<Person, 'subject'>) => ({ sub: subject });
  const scopePath = ({ scope, api: owner }: NamedScope) => ({ path: { scope }, query: { api: owner } });
  const membership = (group: Group, { subject }: Person) => ({ path: { group: group.name, sub: subject } });
  const explainToken = async (token: string) =>
    explanationFrom(await api.call('explainToken', { body: { token } }));

  return {
    async addClient(id, members, wanted) {
      const body = { client_id: id, ...suppliedIn(wanted), ...members };
      const { client_secret: secret, warnings } = await api.call('addClient', { body });
      return { secret, warnings };
    },
    async updateClient(id, { members, unset }) {
      const body = { ...members, ...Object.fromEntries(unset.map((name) => [name, null])) };
      const answer = await api.call('updateClient', { path: { client_id: id }, body });
      return { secret: answer.client_secret, warnings: answer.warnings };
    },
    removeClient: (id) => api.call('removeClient', { path: { client_id: id } }),
    async listUnusedClients(unusedSince) {
      const { items } = await api.call('listUnusedClients', { query: { unused_since: timeAt(unusedSince) } });
      return items.map((client: Shown) => ({
        id: client.client_id,
        name: client.client_name,
        usedUntil: Date.parse(client.unused_since) / 1000,
      }));
    },
    async removeUnusedClients(ids, unusedSince) {
      const body = { client_ids: ids, unused_since: timeAt(unusedSince) };
      return (await api.call('removeUnusedClients', { body })).removed;
    },
    listClients: async () => (await api.all('listClients')).map(clientFrom),
    requireClient: async (id) => clientFrom(await api.call('getClient', { path: { client_id: id } })),
    setClientDisabled: (id, disabled) =>
      api.call(disabled ? 'disableClient' : 'enableClient', { path: { client_id: id } }),
    async rotateSecret(id, wanted, overlap) {
      const body = { overlap, ...suppliedIn(wanted) };
      const answer = await api.call('rotateClientSecret', { path: { client_id: id }, body });
      return { secret: answer.client_secret, oldEndsAtMs: msOf(answer.old_secret_ends_at) };
    },
    async newRegistrationToken(lifetime, once) {
      const { token, expires_at, warnings } = await api.call('newRegistrationToken', {
        body: { lifetime, once },
      });
      return { token, expiresAtMs: Date.parse(expires_at), warnings };
    },

    listScopeTexts: async () => (await api.all('listScopeTexts')).map(scopeFrom),
    requireScopeTexts: async (named) => scopeFrom(await api.call('getScopeTexts', scopePath(named))),
    async addScopeTexts({ scope, api: owner }, given) {
      const texts = Object.fromEntries(Object.entries(given).filter(([, text]) => text !== ''));
      const body = { scope, texts, ...(owner !== undefined && { api: owner }) };
      return scopeFrom(await api.call('addScopeTexts', { body }));
    },
    async changeScopeTexts(named, changes) {
      const body = Object.fromEntries(Object.entries(changes).map(([name, text]) => [name, text || null]));
      return scopeFrom(await api.call('updateScopeTexts', { ...scopePath(named), body }));
    },
    removeScopeTexts: (named) => api.call('removeScopeTexts', scopePath(named)),

    requirePerson: byName,
    async personOf(subject) {
      try {
        return personFrom(await api.call('getUser', { path: { sub: subject } }));
      } catch (error) {
        // The name is an addition: an explanation also comes for removed users, and without the scope for users.
        if (error instanceof Refused) return undefined;
        throw error;
      }
    },
    async detailsOf(name) {
      const person = await byName(name);
      const path = userPath(person);
      const [sessions, consents, links, factors, locks] = await Promise.all(
        ['listSessions', 'listConsents', 'listLinks', 'getFactors', 'listLocks'].map((id) =>
          api.call(id, { path }),
        ),
      );
      return {
        person,
        sessions: sessions.items.map((one: Shown) => ({
          ...{ id: one.id, subject: person.subject, amr: [], userAgent: one.user_agent },
          ...{ signedInAtMs: Date.parse(one.signed_in_at), lastSeenAtMs: Date.parse(one.last_seen_at) },
        })),
        consents: consents.items.map(({ client_id, entries }: Shown) => ({
          clientId: client_id,
          entries: entries.map((entry: Shown) => ({
            ...{ scopes: entry.scopes, resources: entry.resources, claims: entry.claims },
            details: entry.authorization_details.map((detail: unknown) => JSON.stringify(detail)),
            givenAtMs: Date.parse(entry.given_at),
          })),
        })),
        links: links.items.map((one: Shown) => ({
          ...{
            id: one.id,
            provider: one.provider,
            upstreamIssuer: one.issuer,
            upstreamSub: one.upstream_sub,
          },
          ...{ label: one.label, linkedAtMs: Date.parse(one.linked_at) },
        })),
        factors: {
          passkeys: factors.passkeys.map((one: Shown) => ({
            ...{ name: one.name, isBackedUp: one.backed_up, createdAtMs: Date.parse(one.added_at) },
            lastUsedAtMs: msOf(one.last_used_at),
          })),
          authenticatorAppAddedAtMs: msOf(factors.authenticator_app_added_at),
          recoveryCodes: factors.recovery_codes,
          countFromMs: msOf(factors.count_from),
        },
        locks: locks.items.map(lockFrom),
      };
    },
    async listPeople({ search, group, state, limit, after }) {
      // A cursor is the last name of the page before.
      const cursor = after && Buffer.from(JSON.stringify(after)).toString('base64url');
      const query = { search, group, state, ...(cursor && { cursor }) };
      return (await api.all('listUsers', { query }, limit)).map(personFrom);
    },
    async addPerson({ name, password, claims }, groups) {
      const body = { username: name, password, claims, ...(groups.length > 0 && { groups }) };
      return changedFrom(await api.call('addUser', { body }));
    },
    async invitePerson({ name, claims, email, language }) {
      const { email: _, ...others } = claims;
      const body = { username: name, claims: others, invitation: { email, language } };
      const answer = await api.call('addUser', { body });
      return { ...changedFrom(answer), isAdded: answer.invitation.is_new, mailId: answer.invitation.mail_id };
    },
    async updatePerson(before, { username, claims, removed, joined, left }) {
      const path = userPath(before);
      for (const name of [...joined, ...left]) await api.call('getGroup', { path: { group: name } });
      const changes = { ...claims, ...Object.fromEntries(removed.map((name) => [name, null])) };
      const hasClaims = Object.keys(changes).length > 0;
      const body = { ...(username !== undefined && { username }), ...(hasClaims && { claims: changes }) };
      const warnings: string[] = [];
      if (Object.keys(body).length > 0)
        warnings.push(...(await api.call('updateUser', { path, body })).warnings);
      for (const group of joined)
        warnings.push(...(await api.call('addMember', { path: { ...path, group } })).warnings);
      for (const group of left) await api.call('removeMember', { path: { ...path, group } });
      return { person: personFrom(await api.call('getUser', { path })), warnings };
    },
    setPersonDisabled: (person, disabled) =>
      api.call(disabled ? 'disableUser' : 'enableUser', { path: userPath(person) }),
    async removePerson(person) {
      const path = userPath(person);
      const { items } = await api.call('listSessions', { path });
      await api.call('removeUser', { path });
      return items.length;
    },
    setPassword: async (person, password) =>
      (await api.call('setPassword', { path: userPath(person), body: { password } })).sessions_ended,
    async confirmFactors(person) {
      return (await api.call('confirmFactors', { path: userPath(person) })).factors_confirmed;
    },
    endAccess: async (person) => (await api.call('endAccess', { path: userPath(person) })).sessions_ended,
    async endSessions(person) {
      const answer = await api.call('endSessions', { path: userPath(person) });
      const remaining = answer.remaining_grants.map((one: Shown) => ({
        id: one.id,
        clientId: one.client_id,
      }));
      return { ended: answer.sessions_ended, remaining };
    },
    unlockPerson: async (person) =>
      (await api.call('unlockUser', { path: userPath(person) })).items.map(lockFrom),
    async resetFactors(person) {
      const answer = await api.call('resetFactors', { path: userPath(person) });
      return { wereThere: answer.factors_removed, ended: answer.sessions_ended };
    },
    async unlinkPerson(person, id) {
      const answer = await api.call('removeLink', { path: { ...userPath(person), link: id } });
      return { provider: answer.provider, label: answer.label, ended: answer.sessions_ended };
    },

    async importPeople(wish, lines, onLine) {
      const query = {
        dry_run: String(wish.isDryRun),
        update: String(wish.updates),
        create_groups: String(wish.createsGroups),
      };
      const ids: string[] = [];
      const send = async (some: readonly (readonly [number, ImportLine])[]) => {
        const body = some.map(([, line]) => JSON.stringify(importedLine(line))).join('\n');
        let isWhole = false;
        for await (const report of api.lines('importUsers', { query, body })) {
          isWhole = report.import !== undefined;
          if (isWhole) ids.push(report.import);
          else {
            const [line = 0, read] = some[report.line - 1] ?? [];
            onLine({ ...report, line, ...withWarnings(report, read) });
          }
        }
        if (!isWhole) throw new Refused('the server stopped during the import.');
      };
      let batch: (readonly [number, ImportLine])[] = [];
      for await (const { line, read } of lines) {
        if ('reason' in read) {
          const { isSkipped, ...problem } = read;
          onLine({ line, outcome: isSkipped ? 'skipped' : 'failed', ...problem });
        } else batch.push([line, read]);
        if (batch.length < MAX_LINES) continue;
        await send(batch);
        batch = [];
      }
      if (batch.length > 0 || ids.length === 0) await send(batch);
      return ids.join(' ');
    },
    exportPeople: ({ group, withHashes }) =>
      api.lines('exportUsers', { query: { group, with_password_hashes: String(withHashes) } }),

    listGroups: async () => (await api.all('listGroups')).map(groupFrom),
    requireGroup: async (name) => groupFrom(await api.call('getGroup', { path: { group: name } })),
    clientsFor: async (group) =>
      (await api.all('listClients'))
        .filter(({ allowed_groups: groups = [] }) => groups.includes(group))
        .map(({ client_id: id }) => id),
    addGroup: async ({ name, description, signInPolicy }) => {
      const policy = signInPolicy !== undefined && { sign_in_policy: signInPolicy };
      return groupFrom(await api.call('addGroup', { body: { name, description, ...policy } }));
    },
    changeGroup: async (name, { description, signInPolicy }) => {
      const body = {
        ...(description !== undefined && { description }),
        ...(signInPolicy !== undefined && { sign_in_policy: signInPolicy }),
      };
      return groupFrom(await api.call('updateGroup', { path: { group: name }, body }));
    },
    async removeGroup(name) {
      const group = groupFrom(await api.call('getGroup', { path: { group: name } }));
      await api.call('removeGroup', { path: { group: name } });
      return group;
    },
    async joinGroup(group, person, warn) {
      const { changed, warnings } = await api.call('addMember', membership(group, person));
      for (const warning of warnings) warn(warning);
      return { name: person.name, changed };
    },
    async leaveGroup(group, person) {
      const { changed, revoked } = await api.call('removeMember', membership(group, person));
      return { name: person.name, changed, revoked };
    },

    async planState(order) {
      const body = stateIn(order);
      const planned = await problemsIn(async () => api.versioned('planState', { body }));
      if ('problems' in planned) return planned;
      const { answer, version } = planned;
      return {
        ...answer,
        async perform({ warn }) {
          const { warnings } = await api.call('applyState', { body, version });
          for (const warning of warnings) warn(warning);
        },
      };
    },
    async applyState(order, { warn }) {
      const applied = await problemsIn(async () => api.call('applyState', { body: stateIn(order) }));
      if ('problems' in applied) return applied;
      const { warnings, ...plan } = applied;
      for (const warning of warnings) warn(warning);
      return plan;
    },
    async exportState(withMembers): Promise<ExportedState> {
      const { state, with_secret: withSecret } = await api.call('exportState');
      const groups: (readonly [name: string, Shown])[] = [];
      for (const [name, group] of Object.entries<Shown>(state.groups)) {
        const members = withMembers.has(name) ? await api.all('listUsers', { query: { group: name } }) : [];
        const names = withMembers.has(name) && { members: members.map(({ username }) => username) };
        groups.push([name, { ...group, ...names }]);
      }
      return { ...state, groups: Object.fromEntries(groups), withSecret: new Set(withSecret) };
    },

    async listMails(failed) {
      const { items } = await api.call('listMails', { query: { failed: String(failed) } });
      return items.map((mail: Shown) => ({
        ...{ id: mail.id, template: mail.template, recipient: mail.recipient, state: mail.state },
        ...{ attempts: mail.attempts, createdAtMs: Date.parse(mail.created_at), lastError: mail.last_error },
        ...{ dueAtMs: msOf(mail.due_at) ?? 0, failedAtMs: msOf(mail.failed_at) },
      }));
    },
    retryMail: (id) => api.call('retryMail', { path: { mail: id } }),
    testMail: (address) => api.call('testMail', { body: { address } }),

    explainToken,
    async revokeToken(token, isDryRun) {
      const before = await explainToken(token);
      if (isDryRun) return { before, result: undefined, revoked: false };
      const { revoked, token_id: tokenId, reason } = await api.call('revokeToken', { body: { token } });
      return { before, result: revoked ? { revoked, tokenId } : { revoked, reason }, revoked };
    },
    async revokeAll(wanted, { counts, isDryRun }) {
      const body = { ...targetIn(wanted), count: counts, dry_run: isDryRun };
      const { revoked, active } = await api.call('revokeAll', { body });
      return { revoked, alive: active };
    },

    listKeys: async () =>
      (await api.call('listKeys')).items.map(({ created_at, retired_at, ...key }: Shown) => ({
        ...{ ...key, createdAtMs: Date.parse(created_at) },
        ...(retired_at !== undefined && { retiredAtMs: Date.parse(retired_at) }),
      })),
    rotateKeys: async (algorithm, now) =>
      (await api.call('rotateKeys', { body: { ...(algorithm && { algorithm }), now } })).items,

    secretStatus: async () =>
      (await api.call('listSecrets')).items.map((one: Shown) => ({
        ...{ secret: one.secret, use: one.use, clients: one.clients, signingKeys: one.signing_keys },
        ...{ pairwiseSecret: one.pairwise_secret, authenticatorApps: one.authenticator_apps },
        auditTrail: one.audit_trail,
      })),
    rotateSecrets: async (generate, show) => show(await api.call('rotateSecrets', { body: { generate } })),
    async dropSecrets(force, show) {
      const { can_be_dropped: canBeDropped, ...outcome } = await api.call('dropSecrets', { body: { force } });
      show({ ...outcome, ...(canBeDropped !== undefined && { canBeDropped }) });
    },

    async listEvents(after, { type, target }) {
      const cursor = Buffer.from(JSON.stringify(after)).toString('base64url');
      const events = await api.all('listEvents', { query: { type, target, cursor } });
      return events.map(
        ({ number, at, ...event }): EventRecord => ({ sequence: number, atMs: Date.parse(at), ...event }),
      );
    },
  };
}

function stateIn({ document, secrets, prune }: StateOrder): object {
  return { state: document, secrets: Object.fromEntries(secrets), prune };
}

/** Problems of a file, in the form in which the command finds their lines. */
async function problemsIn(call: () => Promise<Shown>): Promise<Shown | StateProblems> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof InvalidValues)) throw error;
    return {
      problems: error.errors.map(({ in: pointer, detail }) => ({ path: pathIn(pointer), problem: detail })),
    };
  }
}

/** The place in the file that a JSON Pointer in the request refers to. */
function pathIn(pointer: string): readonly string[] {
  const names = pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const [member, ...path] = names;
  if (member === 'state') return path;
  return member === 'secrets' && path[0] !== undefined ? ['clients', path[0], 'secret'] : names;
}

function importedLine({ digest: _, warnings: __, passwordHash, directoryId, links, ...line }: ImportLine) {
  return {
    ...line,
    ...(passwordHash !== undefined && { password_hash: passwordHash }),
    ...(directoryId !== undefined && { directory_id: directoryId }),
    ...(links !== undefined && {
      links: links.map(({ provider, upstreamIssuer, upstreamSub, label }) => ({
        ...{ provider, issuer: upstreamIssuer, sub: upstreamSub, label },
      })),
    }),
  };
}

function msOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}

function suppliedIn(wanted: WantedSecret): { readonly client_secret?: string } {
  return wanted === 'generate' ? {} : { client_secret: wanted.supplied };
}

function targetIn(wanted: Parameters<Administration['revokeAll']>[0]) {
  if ('person' in wanted) return { sub: wanted.person.subject };
  if ('clientId' in wanted) return { client_id: wanted.clientId };
  if ('grantId' in wanted) return { grant_id: wanted.grantId };
  return { issued_before: new Date(wanted.issuedBeforeMs).toISOString() };
}

/** The inverse of `shownClient`. */
function clientFrom(shown: Shown): ClientRecord {
  const { client_id: id, type: _, registered_itself: isOwn, disabled_at, secrets, ...rest } = shown;
  const { response_types: __, scope, ...document } = rest;
  const fields = new Map(
    MEMBER_NAMES.flatMap((name) => {
      const { field } = memberOf(name);
      return field === undefined ? [] : [[name as string, field] as const];
    }),
  );
  const own = Object.entries(document).flatMap(([name, value]) => {
    const field = fields.get(name);
    return field === undefined ? [] : [[field, value]];
  });
  const metadata = Object.fromEntries(Object.entries(document).filter(([name]) => !fields.has(name)));
  return {
    id,
    ...{ grantTypes: [], redirectUris: [], ...Object.fromEntries(own) },
    scopes: typeof scope === 'string' ? scope.split(' ') : [],
    ...(Object.keys(metadata).length > 0 && { metadata: metadata as ClientMetadata }),
    ...(isOwn && { registrationTokenDigest: '' }),
    ...(disabled_at !== undefined && { disabledAtMs: Date.parse(disabled_at) }),
    ...(secrets !== undefined && { secrets: secrets.map(secretFrom) }),
  };
}

function timeAt(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

/** Without the hash, which the API never shows. */
function secretFrom(shown: Shown) {
  return {
    hash: '',
    createdAtMs: msOf(shown.created_at),
    expiresAt: shown.ends_at === undefined ? undefined : Date.parse(shown.ends_at) / 1000,
    lastUsedAtMs: msOf(shown.last_used_at),
    serverSecret: shown.server_secret,
  };
}

function personFrom(shown: Shown): Listed {
  return {
    subject: shown.sub,
    name: shown.username,
    claims: shown.claims,
    createdAtMs: Date.parse(shown.created_at),
    revision: 0,
    passwordHash: shown.has_password ? 'set' : NO_PASSWORD,
    ...(shown.groups.length > 0 && { groups: shown.groups }),
    ...(shown.directory_id !== undefined && { directoryId: shown.directory_id }),
    ...(shown.disabled_at !== undefined && { disabledAtMs: Date.parse(shown.disabled_at) }),
  };
}

function changedFrom({ user, warnings }: Shown) {
  return { person: personFrom(user), warnings };
}

function groupFrom({ created_at, sign_in_policy: signInPolicy, ...group }: Shown): Group {
  return { ...group, signInPolicy, createdAtMs: Date.parse(created_at) };
}

function scopeFrom({ scope, api, texts }: Shown): ScopeText {
  return { scope, api, texts };
}

function explanationFrom({ kind, active, since, record, ...rest }: Shown): Explanation {
  return {
    ...{ kind, alive: active },
    ...rest,
    ...(since !== undefined && { sinceMs: Date.parse(since) }),
    ...(record !== undefined && { record: recordFrom(record) }),
  };
}

function recordFrom({ issued_at, expires_at, username, ...shown }: Shown): Explanation['record'] {
  const record = {
    id: shown.id,
    clientId: shown.client_id,
    subject: shown.sub,
    scopes: shown.scopes,
    resources: shown.resources,
    confirmation: shown.cnf,
    grantId: shown.grant_id,
    sessionId: shown.session_id,
    familyId: shown.family_id,
    pairId: shown.pair_id,
    successorId: shown.successor_id,
    issuedAtMs: Date.parse(issued_at),
    expiresAt: expires_at === undefined ? undefined : Date.parse(expires_at) / 1000,
    supersededAtMs: msOf(shown.superseded_at),
    redeemedAtMs: msOf(shown.redeemed_at),
    revokedAtMs: msOf(shown.revoked_at),
    ...(username !== undefined && { claims: { username } }),
  };
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  ) as unknown as Explanation['record'];
}

function lockFrom({ step, places, ends_at }: Shown): Lock {
  return { step, places, endsAtMs: Date.parse(ends_at) };
}

/** The server sees the converted line, and does not know what the command has left out. */
function withWarnings({ outcome, warnings = [] }: Shown, read: ImportLine | undefined) {
  const own = ['failed', 'unchanged'].includes(outcome) ? [] : (read?.warnings ?? []);
  const all = [...new Set([...own, ...warnings])];
  return all.length > 0 ? { warnings: all } : {};
}
