// The table of all operations of the admin API. Routes, checks and the OpenAPI description derive from it.
import { EVENT_TYPES, type SigningAlgorithm } from '@grantd/core';
import packageJson from '../../package.json' with { type: 'json' };
import type { FurtherPolicy } from '../config/acr.ts';
import { OPTION_NAMES } from '../config/options.ts';
import type { Group } from '../data/groups.ts';
import { claimsAsKept, NO_PASSWORD } from '../data/people.ts';
import { auditBefore } from '../operations/audit.ts';
import {
  addClient,
  DEFAULT_OVERLAP,
  registrationFrom,
  removeClient,
  requireClient,
  rotateSecret,
  setClientDisabled,
  updateClient,
} from '../operations/clients.ts';
import { shownOption } from '../operations/configuration.ts';
import { eventsAfter } from '../operations/events.ts';
import {
  addGroup,
  changeGroup,
  includesAdminGroup,
  joinGroup,
  leaveAdministrators,
  leaveGroup,
  removeGroup,
  requireGroup,
  requireNotAdminGroup,
  requireNotAdministrator,
} from '../operations/groups.ts';
import { listKeys, rotateKeys } from '../operations/keys.ts';
import { InvalidInput } from '../operations/operation.ts';
import {
  addPerson,
  type ChangedPerson,
  claimsAfter,
  consentsOf,
  endAccess,
  endSessions,
  invitePerson,
  type Listed,
  pagesOf,
  passwordHashOf,
  removePerson,
  requireClaims,
  requireSubject,
  requireUsername,
  setPassword,
  setPersonDisabled,
  updatePerson,
  withState,
} from '../operations/people.ts';
import {
  addScopeTexts,
  changeScopeTexts,
  removeScopeTexts,
  requireScopeTexts,
} from '../operations/scopes.ts';
import { explainToken, type MassRevocation, revokeAll, revokeToken } from '../operations/tokens.ts';
import { validSessions } from '../people/sessions.ts';
import { DEFAULT_LANGUAGE } from '../texts/texts.ts';
import {
  API,
  type ApiCall,
  type ApiOperation,
  type ApiParts,
  type ApiStream,
  MAX_EVENTS_READ,
  PAGING,
  paged,
  pageOf,
  requireAnother,
  requireIfAdministrator,
  requireNoGroups,
  requireScopesOf,
  SEARCH,
} from './api_operation.ts';
import {
  clientVersion,
  shownAuditEvent,
  shownClient,
  shownConsent,
  shownEvent,
  shownExplanation,
  shownGroup,
  shownKey,
  shownScopeTexts,
  shownSession,
  shownUser,
} from './representations.ts';
import * as schemas from './schemas.ts';
import { STATE_OPERATIONS } from './state_operations.ts';
import { UPKEEP_OPERATIONS } from './upkeep_operations.ts';
import { USER_STREAMS } from './user_streams.ts';

const FILTER_TIME = { type: 'string', format: 'date-time', maxLength: 40 } as const;
const FILTER = { type: 'string', minLength: 1, maxLength: 300 } as const;

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────────

type Members = Readonly<Record<string, unknown>>;

const CLIENT_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'listClients',
    method: 'GET',
    path: '/clients',
    scope: 'grantd:clients:read',
    summary: 'List clients, sorted by client ID',
    query: { ...PAGING, search: { ...SEARCH, about: 'Only clients whose ID or name contains this text.' } },
    status: 200,
    response: schemas.CLIENTS,
    async perform({ parts, query }) {
      const search = query.search?.toLowerCase() ?? '';
      const clients = await parts.storage.clients.list();
      const found = clients.filter(
        ({ id, name = '' }) => id.toLowerCase().includes(search) || name.toLowerCase().includes(search),
      );
      return pageOf(found, query, ({ id }) => id, shownClient);
    },
  },
  {
    id: 'addClient',
    method: 'POST',
    path: '/clients',
    scope: 'grantd:clients:write',
    summary:
      'Add a client. If the server generates the client’s secret, only the response to this request shows it',
    body: schemas.NEW_CLIENT,
    status: 201,
    response: schemas.CHANGED_CLIENT,
    hasVersion: true,
    async perform(call) {
      const { parts, body } = call;
      const {
        client_id: id,
        client_secret: supplied,
        ...members
      } = body as {
        readonly client_id: string;
        readonly client_secret?: string;
      };
      const registration = await registrationFrom(await parts.server(), parts.configuration, id, members);
      requireScopesOf(call, registration);
      const wanted = supplied === undefined ? 'generate' : { supplied };
      const { client, secret, warnings } = await addClient(parts, registration, wanted);
      return {
        body: { ...shownClient(client), ...(secret !== undefined && { client_secret: secret }), warnings },
        version: clientVersion(client),
        location: `/clients/${encodeURIComponent(id)}`,
      };
    },
  },
  {
    id: 'getClient',
    method: 'GET',
    path: '/clients/{client_id}',
    scope: 'grantd:clients:read',
    summary: 'Show a client',
    status: 200,
    response: schemas.CLIENT,
    hasVersion: true,
    async perform({ parts, path: { client_id: id = '' } }) {
      const client = await requireClient(parts, id);
      return { body: shownClient(client), version: clientVersion(client) };
    },
  },
  {
    id: 'updateClient',
    method: 'PATCH',
    path: '/clients/{client_id}',
    scope: 'grantd:clients:write',
    summary:
      'Change settings of a client. Its tokens stay valid. But if some users may no longer use the client after the change, the server revokes their tokens for it',
    body: schemas.CLIENT_CHANGE,
    status: 200,
    response: schemas.CHANGED_CLIENT,
    hasVersion: true,
    needsVersion: true,
    async perform(call) {
      const { parts, path, body, requireVersion } = call;
      const { client_id: id = '' } = path;
      const given = Object.entries(body as Members);
      const change = {
        members: Object.fromEntries(given.filter(([, value]) => value !== null)),
        unset: given.filter(([, value]) => value === null).map(([name]) => name),
      };
      const { client, secret, warnings } = await updateClient(parts, id, change, {
        requireVersion(before) {
          requireVersion(clientVersion(before));
          requireScopesOf(call, before);
        },
        requireResult: (after) => requireScopesOf(call, after),
      });
      return {
        body: { ...shownClient(client), ...(secret !== undefined && { client_secret: secret }), warnings },
        version: clientVersion(client),
      };
    },
  },
  {
    id: 'removeClient',
    method: 'DELETE',
    path: '/clients/{client_id}',
    scope: 'grantd:clients:write',
    summary: 'Remove a client and revoke all its tokens at once',
    status: 204,
    async perform(call) {
      const { parts, path } = call;
      const { client_id: id = '' } = path;
      requireScopesOf(call, await requireClient(parts, id));
      await removeClient(parts, id);
      return {};
    },
  },
  ...(['disable', 'enable'] as const).map(
    (action): ApiOperation => ({
      id: `${action}Client`,
      method: 'POST',
      path: `/clients/{client_id}/${action}`,
      scope: 'grantd:clients:write',
      summary:
        action === 'disable'
          ? 'Disable a client and revoke all its tokens at once'
          : 'Enable a disabled client. Tokens that were revoked when it was disabled stay revoked',
      status: 200,
      response: schemas.CLIENT,
      hasVersion: true,
      async perform(call) {
        const { parts, path } = call;
        const { client_id: id = '' } = path;
        requireScopesOf(call, await requireClient(parts, id));
        const client = await setClientDisabled(parts, id, action === 'disable');
        return { body: shownClient(client), version: clientVersion(client) };
      },
    }),
  ),
  {
    id: 'rotateClientSecret',
    method: 'POST',
    path: '/clients/{client_id}/rotate-secret',
    scope: 'grantd:clients:write',
    summary: 'Give a client a new secret. The old secret still works for a while, by default for one day',
    body: schemas.SECRET_ROTATION,
    isBodyOptional: true,
    status: 200,
    response: schemas.ROTATED_SECRET,
    async perform(call) {
      const { parts, path, body } = call;
      const { client_id: id = '' } = path;
      const { client_secret: supplied, overlap = DEFAULT_OVERLAP } = (body ?? {}) as {
        readonly client_secret?: string;
        readonly overlap?: number;
      };
      const wanted = supplied === undefined ? 'generate' : { supplied };
      const { secret, oldEndsAtMs } = await rotateSecret(parts, id, wanted, overlap, (client) =>
        requireScopesOf(call, client),
      );
      return {
        body: {
          client_id: id,
          ...(secret !== undefined && { client_secret: secret }),
          ...(oldEndsAtMs !== undefined && { old_secret_ends_at: new Date(oldEndsAtMs).toISOString() }),
        },
      };
    },
  },
];

// ── Users ─────────────────────────────────────────────────────────────────────────────────────────────────

interface NewUser {
  readonly username: string;
  readonly password?: string;
  readonly invitation?: { readonly email: string; readonly language?: string };
  readonly claims?: Members;
  readonly groups?: readonly string[];
}

async function addUser(
  call: ApiCall,
  user: NewUser,
): Promise<ChangedPerson | Awaited<ReturnType<typeof invitePerson>>> {
  const { parts } = call;
  const { username, password, invitation, claims: typed = {}, groups: given = [] } = user;
  requireUsername(username);
  requireClaims(typed);
  const claims = claimsAsKept(typed);
  requireNoGroups(claims);
  if (invitation === undefined) {
    if (given.length > 0) call.requireScopes(['grantd:groups:write']);
    // Several spellings lead to a group, so the check is of the names that are stored.
    const groups: string[] = [];
    for (const name of given) groups.push((await requireGroup(parts, name)).name);
    requireIfAdministrator(call, groups);
    const passwordHash = password === undefined ? NO_PASSWORD : await passwordHashOf(password);
    return addPerson(parts, { name: username, claims, passwordHash }, groups);
  }
  if (given.length > 0) throw new InvalidInput('groups', 'expected none with an invitation: add them later');
  const { email: typedEmail, language = DEFAULT_LANGUAGE } = invitation;
  const email = typedEmail.trim();
  const whole = claimsAfter(claims, { claims: { email }, removed: [] });
  return invitePerson(parts, { name: username, claims: whole, email, language });
}

const USER_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'listUsers',
    method: 'GET',
    path: '/users',
    scope: 'grantd:users:read',
    summary: 'List users, sorted by username',
    query: {
      ...PAGING,
      search: SEARCH,
      username: {
        schema: { type: 'string', minLength: 1, maxLength: 128 },
        about: 'Only users with this username, or with one that looks the same.',
      },
      group: {
        schema: { type: 'string', minLength: 1, maxLength: 128 },
        about: 'Only members of this group.',
      },
      state: { schema: { enum: ['active', 'disabled'] }, about: 'Only users in this state.' },
    },
    status: 200,
    response: schemas.USERS,
    async perform({ parts, query: { limit, cursor, search, username, group, state } }) {
      if (username !== undefined) {
        const person = await parts.people.byName(username);
        return paged(person ? [shownUser(await withState(parts, person))] : [], undefined);
      }
      const name = group === undefined ? undefined : (await requireGroup(parts, group)).name;
      const wish = {
        ...(search !== undefined && { search }),
        ...(name !== undefined && { group: name }),
        ...(state !== undefined && { state }),
        ...(cursor !== undefined && { after: String(cursor) }),
        limit: limit + 1,
      };
      const users: Listed[] = [];
      for await (const page of pagesOf(parts, wish)) users.push(...page);
      const items = users.slice(0, limit);
      return paged(items.map(shownUser), users.length > limit ? items.at(-1)?.name : undefined);
    },
  },
  {
    id: 'addUser',
    method: 'POST',
    path: '/users',
    scope: 'grantd:users:write',
    summary: 'Add a user with a password, or invite one by email',
    body: schemas.NEW_USER,
    status: 201,
    response: schemas.CHANGED_USER,
    hasVersion: true,
    async perform(call) {
      const { parts, body } = call;
      const { person, warnings, ...invited } = await addUser(call, body as NewUser);
      const user = shownUser(await withState(parts, person));
      const invitation = 'mailId' in invited && { is_new: invited.isAdded, mail_id: invited.mailId };
      return {
        body: { user, warnings, ...(invitation && { invitation }) },
        version: user,
        location: `/users/${person.subject}`,
      };
    },
  },
  {
    id: 'getUser',
    method: 'GET',
    path: '/users/{sub}',
    scope: 'grantd:users:read',
    summary: 'Show a user',
    status: 200,
    response: schemas.USER,
    hasVersion: true,
    async perform({ parts, path: { sub = '' } }) {
      const user = shownUser(await withState(parts, await requireSubject(parts, sub)));
      return { body: user, version: user };
    },
  },
  {
    id: 'updateUser',
    method: 'PATCH',
    path: '/users/{sub}',
    scope: 'grantd:users:write',
    summary: 'Change the username or claims of a user. UserInfo shows the change at once',
    body: schemas.USER_CHANGE,
    status: 200,
    response: schemas.CHANGED_USER,
    hasVersion: true,
    needsVersion: true,
    async perform(call) {
      const { parts, path, body, requireVersion } = call;
      const { sub = '' } = path;
      const { username, claims = {} } = body as { readonly username?: string; readonly claims?: Members };
      const given = Object.entries(claims);
      const set = Object.fromEntries(given.filter(([, value]) => value !== null));
      if (username !== undefined) requireUsername(username);
      requireClaims(set);
      requireNoGroups(set);
      const before = await withState(parts, await requireSubject(parts, sub));
      const { disabledAtMs } = before;
      const state = disabledAtMs === undefined ? {} : { disabledAtMs };
      const change = {
        ...(username !== undefined && { username }),
        claims: set,
        removed: given.filter(([, value]) => value === null).map(([name]) => name),
        ...{ joined: [], left: [] },
      };
      const { person, warnings } = await updatePerson(parts, before, change, (one) => {
        requireVersion(shownUser({ ...one, ...state }));
        requireIfAdministrator(call, one.groups);
        if (given.some(([name]) => name === 'email' || name === 'email_verified')) requireAnother(call, one);
      });
      const user = shownUser({ ...person, ...state });
      return { body: { user, warnings }, version: user };
    },
  },
  {
    id: 'removeUser',
    method: 'DELETE',
    path: '/users/{sub}',
    scope: 'grantd:users:write',
    summary: 'Delete a user’s data permanently, revoke all their tokens and end all their sessions',
    status: 204,
    async perform(call) {
      const { parts, path } = call;
      const person = await requireSubject(parts, path.sub ?? '');
      requireIfAdministrator(call, person.groups);
      requireAnother(call, person);
      if (includesAdminGroup(parts, person.groups)) await leaveAdministrators(parts, person);
      await removePerson(parts, person);
      return {};
    },
  },
  ...(['disable', 'enable'] as const).map(
    (action): ApiOperation => ({
      id: `${action}User`,
      method: 'POST',
      path: `/users/{sub}/${action}`,
      scope: 'grantd:users:write',
      summary:
        action === 'disable'
          ? 'Disable a user, revoke all their tokens and end their sessions at once'
          : 'Enable a disabled user. Tokens that were revoked when the user was disabled stay revoked',
      status: 200,
      response: schemas.USER,
      hasVersion: true,
      async perform(call) {
        const { parts, path } = call;
        const person = await requireSubject(parts, path.sub ?? '');
        requireIfAdministrator(call, person.groups);
        if (action === 'disable') requireNotAdministrator(parts, person);
        await setPersonDisabled(parts, person, action === 'disable');
        const user = shownUser(await withState(parts, person));
        return { body: user, version: user };
      },
    }),
  ),
  {
    id: 'setPassword',
    method: 'PUT',
    path: '/users/{sub}/password',
    scope: 'grantd:users:write',
    summary: 'Set a user’s password, end their sessions and revoke all their tokens',
    body: schemas.PASSWORD,
    status: 200,
    response: schemas.ENDED_SESSIONS,
    async perform(call) {
      const { parts, path, body } = call;
      const person = await requireSubject(parts, path.sub ?? '');
      requireIfAdministrator(call, person.groups);
      requireAnother(call, person);
      const hash = await passwordHashOf((body as { readonly password: string }).password);
      return { body: { sessions_ended: await setPassword(parts, person, hash) } };
    },
  },
  {
    id: 'listSessions',
    method: 'GET',
    path: '/users/{sub}/sessions',
    scope: 'grantd:users:read',
    summary: 'List the browser sessions of a user, the most recently used first',
    status: 200,
    response: schemas.SESSIONS,
    async perform({ parts, path: { sub = '' } }) {
      const { subject } = await requireSubject(parts, sub);
      return { body: { items: (await validSessions(parts, subject, parts.clock())).map(shownSession) } };
    },
  },
  {
    id: 'endSessions',
    method: 'DELETE',
    path: '/users/{sub}/sessions',
    scope: 'grantd:users:write',
    summary:
      'End all browser sessions of a user, and revoke the tokens that depend on them at once. Grants that no session ends stay, such as those with offline_access: the response lists them, and POST /users/{sub}/end-access ends them too',
    status: 200,
    response: schemas.SESSIONS_END,
    async perform(call) {
      const { parts, path } = call;
      const person = await requireSubject(parts, path.sub ?? '');
      requireIfAdministrator(call, person.groups);
      const { ended, remaining } = await endSessions(parts, person);
      const grants = remaining.map(({ id, clientId }) => ({ id, client_id: clientId }));
      return { body: { sessions_ended: ended, remaining_grants: grants } };
    },
  },
  {
    id: 'endAccess',
    method: 'POST',
    path: '/users/{sub}/end-access',
    scope: 'grantd:users:write',
    summary:
      'End all access of a user at once: all sessions, and all tokens and codes, including those with offline_access. The user can sign in again',
    status: 200,
    response: schemas.ENDED_SESSIONS,
    async perform(call) {
      const { parts, path } = call;
      const person = await requireSubject(parts, path.sub ?? '');
      requireIfAdministrator(call, person.groups);
      return { body: { sessions_ended: (await endAccess(parts, person)).ended } };
    },
  },
  {
    id: 'listConsents',
    method: 'GET',
    path: '/users/{sub}/consents',
    scope: 'grantd:users:read',
    summary:
      'List the consents of a user: the access that the user has allowed to clients, as far as it is still valid',
    status: 200,
    response: schemas.CONSENTS,
    async perform({ parts, path: { sub = '' } }) {
      const { subject } = await requireSubject(parts, sub);
      return { body: { items: (await consentsOf(parts, subject)).map(shownConsent) } };
    },
  },
];

// ── Groups and scopes ─────────────────────────────────────────────────────────────────────────────────────

interface GroupBody {
  readonly name: string;
  readonly description?: string;
  readonly sign_in_policy?: FurtherPolicy;
}

interface GroupChangeBody {
  readonly description?: string;
  readonly sign_in_policy?: FurtherPolicy | null;
}

const GROUP_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'listGroups',
    method: 'GET',
    path: '/groups',
    scope: 'grantd:groups:read',
    summary: 'List groups, sorted by name',
    query: PAGING,
    status: 200,
    response: schemas.GROUPS,
    perform: async ({ parts, query }) =>
      pageOf(await parts.groups.list(), query, ({ name }) => name, shownGroup),
  },
  {
    id: 'addGroup',
    method: 'POST',
    path: '/groups',
    scope: 'grantd:groups:write',
    summary: 'Add a group. Its name cannot be changed later',
    body: schemas.NEW_GROUP,
    status: 201,
    response: schemas.GROUP,
    hasVersion: true,
    async perform({ parts, body }) {
      const { name, description = '', sign_in_policy: signInPolicy } = body as GroupBody;
      const group = shownGroup(await addGroup(parts, { name, description, signInPolicy }));
      return { body: group, version: group, location: `/groups/${encodeURIComponent(String(group.name))}` };
    },
  },
  {
    id: 'getGroup',
    method: 'GET',
    path: '/groups/{group}',
    scope: 'grantd:groups:read',
    summary: 'Show a group',
    status: 200,
    response: schemas.GROUP,
    hasVersion: true,
    async perform({ parts, path: { group: name = '' } }) {
      const group = shownGroup(await requireGroup(parts, name));
      return { body: group, version: group };
    },
  },
  {
    id: 'updateGroup',
    method: 'PATCH',
    path: '/groups/{group}',
    scope: 'grantd:groups:write',
    summary: 'Change the description and policy of a group',
    body: schemas.GROUP_CHANGE,
    status: 200,
    response: schemas.GROUP,
    hasVersion: true,
    needsVersion: true,
    async perform(call) {
      const { parts, path, body, requireVersion } = call;
      const { description, sign_in_policy: signInPolicy } = body as GroupChangeBody;
      // A weaker policy for administrators could let others take over their accounts.
      const requireAllowed = (before: Group) => {
        if (signInPolicy !== undefined) requireIfAdministrator(call, [before.name]);
        requireVersion(shownGroup(before));
      };
      const change = { description, signInPolicy };
      const group = shownGroup(await changeGroup(parts, path.group ?? '', change, requireAllowed));
      return { body: group, version: group };
    },
  },
  {
    id: 'removeGroup',
    method: 'DELETE',
    path: '/groups/{group}',
    scope: 'grantd:groups:write',
    summary:
      'Delete a group with its memberships. If a client is restricted to the group, the server rejects the request',
    status: 204,
    async perform(call) {
      const { parts, path } = call;
      const { name } = await requireGroup(parts, path.group ?? '');
      requireIfAdministrator(call, [name]);
      requireNotAdminGroup(parts, name);
      await removeGroup(parts, name);
      return {};
    },
  },
  {
    id: 'addMember',
    method: 'PUT',
    path: '/groups/{group}/members/{sub}',
    scope: 'grantd:groups:write',
    summary: 'Add a user to a group. UserInfo shows the new group at once',
    status: 200,
    response: schemas.MEMBERSHIP,
    async perform(call) {
      const { parts, path } = call;
      const group = await requireGroup(parts, path.group ?? '');
      requireIfAdministrator(call, [group.name]);
      const person = await requireSubject(parts, path.sub ?? '');
      const warnings: string[] = [];
      const { changed } = await joinGroup(parts, group, person, (warning) => warnings.push(warning));
      return { body: { changed, warnings } };
    },
  },
  {
    id: 'removeMember',
    method: 'DELETE',
    path: '/groups/{group}/members/{sub}',
    scope: 'grantd:groups:write',
    summary:
      'Remove a user from a group. If the user may then no longer use a client, the server revokes the user’s tokens for it',
    status: 200,
    response: schemas.MEMBERSHIP,
    async perform(call) {
      const { parts, path } = call;
      const group = await requireGroup(parts, path.group ?? '');
      requireIfAdministrator(call, [group.name]);
      const person = await requireSubject(parts, path.sub ?? '');
      const { changed, revoked } = includesAdminGroup(parts, [group.name])
        ? await leaveAdministrators(parts, person)
        : await leaveGroup(parts, group, person);
      return { body: { changed, revoked, warnings: [] } };
    },
  },
];

type Texts = Readonly<Record<string, string>>;

const SCOPE_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'listScopeTexts',
    method: 'GET',
    path: '/scopes',
    scope: 'grantd:scopes:read',
    summary: 'List the scopes that have texts. Pages such as the consent page show these texts to users',
    query: PAGING,
    status: 200,
    response: schemas.ALL_SCOPE_TEXTS,
    perform: async ({ parts, query }) =>
      pageOf(
        await parts.scopeTexts.list(),
        query,
        ({ scope, api = '' }) => JSON.stringify([scope, api]),
        shownScopeTexts,
      ),
  },
  {
    id: 'addScopeTexts',
    method: 'POST',
    path: '/scopes',
    scope: 'grantd:scopes:write',
    summary:
      'Add texts to a scope. Pages such as the consent page then show them to users instead of the scope’s name',
    body: schemas.NEW_SCOPE_TEXTS,
    status: 201,
    response: schemas.SCOPE_TEXTS,
    hasVersion: true,
    async perform({ parts, body }) {
      const { scope, api, texts } = body as {
        readonly scope: string;
        readonly api?: string;
        readonly texts: Texts;
      };
      const shown = shownScopeTexts(await addScopeTexts(parts, { scope, api }, texts));
      const query = api === undefined ? '' : `?api=${encodeURIComponent(api)}`;
      return { body: shown, version: shown, location: `/scopes/${encodeURIComponent(scope)}${query}` };
    },
  },
  {
    id: 'getScopeTexts',
    method: 'GET',
    path: '/scopes/{scope}',
    scope: 'grantd:scopes:read',
    summary: 'Show the texts with which pages describe a scope to users',
    query: { api: API },
    status: 200,
    response: schemas.SCOPE_TEXTS,
    hasVersion: true,
    async perform({ parts, path: { scope = '' }, query: { api } }) {
      const shown = shownScopeTexts(await requireScopeTexts(parts, { scope, api }));
      return { body: shown, version: shown };
    },
  },
  {
    id: 'updateScopeTexts',
    method: 'PATCH',
    path: '/scopes/{scope}',
    scope: 'grantd:scopes:write',
    summary: 'Change the texts with which pages describe a scope to users',
    query: { api: API },
    body: schemas.SCOPE_TEXTS_CHANGE,
    status: 200,
    response: schemas.SCOPE_TEXTS,
    hasVersion: true,
    needsVersion: true,
    async perform({ parts, path: { scope = '' }, query: { api }, body, requireVersion }) {
      const given = Object.entries(body as Readonly<Record<string, string | null>>);
      const changes = Object.fromEntries(given.map(([name, text]) => [name, text ?? '']));
      const shown = shownScopeTexts(
        await changeScopeTexts(parts, { scope, api }, changes, (before) =>
          requireVersion(shownScopeTexts(before)),
        ),
      );
      return { body: shown, version: shown };
    },
  },
  {
    id: 'removeScopeTexts',
    method: 'DELETE',
    path: '/scopes/{scope}',
    scope: 'grantd:scopes:write',
    summary:
      'Remove the texts with which pages describe a scope to users. Pages then show only the scope’s name',
    query: { api: API },
    status: 204,
    async perform({ parts, path: { scope = '' }, query: { api } }) {
      await removeScopeTexts(parts, { scope, api });
      return {};
    },
  },
];

// ── Keys, tokens, events, configuration ───────────────────────────────────────────────────────────────────

interface MassRevocationBody {
  readonly sub?: string;
  readonly client_id?: string;
  readonly grant_id?: string;
  readonly issued_before?: string;
  readonly dry_run?: boolean;
  readonly count?: boolean;
}

async function massRevocationOf(parts: ApiParts, body: MassRevocationBody): Promise<MassRevocation> {
  const { sub, client_id: clientId, grant_id: grantId, issued_before: before = '' } = body;
  if (sub !== undefined) return { person: await requireSubject(parts, sub) };
  if (clientId !== undefined) return { clientId };
  if (grantId !== undefined) return { grantId };
  return { issuedBeforeMs: timeIn('issued_before', before) };
}

/** @throws {InvalidInput} it is no time */
function timeIn(member: string, text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidInput(member, 'expected a time such as 2026-01-31T12:00:00Z');
  return time;
}

const OTHER_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'listKeys',
    method: 'GET',
    path: '/keys',
    scope: 'grantd:keys:read',
    summary:
      'List the signing keys. Each algorithm has a current key, which signs, a next key, which will replace it, and retired keys, which only verify earlier signatures',
    status: 200,
    response: schemas.KEYS,
    perform: async ({ parts }) => ({ body: { items: (await listKeys(parts)).map(shownKey) } }),
  },
  {
    id: 'rotateKeys',
    method: 'POST',
    path: '/keys/rotate',
    scope: 'grantd:keys:write',
    summary: 'Start signing with the next keys. Tokens that the old keys signed stay valid',
    body: schemas.KEY_ROTATION,
    isBodyOptional: true,
    status: 200,
    response: schemas.ROTATED_KEYS,
    async perform({ parts, body }) {
      const { algorithm, now = false } = (body ?? {}) as {
        readonly algorithm?: SigningAlgorithm;
        readonly now?: boolean;
      };
      return { body: { items: await rotateKeys({ server: parts.ownServer }, algorithm, now) } };
    },
  },
  {
    id: 'explainToken',
    method: 'POST',
    path: '/tokens/explain',
    scope: 'grantd:tokens:read',
    summary: 'Show what a token is, whether it is active, and if not, why and since when',
    body: schemas.TOKEN,
    status: 200,
    response: schemas.EXPLANATION,
    async perform({ parts, body }) {
      const { token } = body as { readonly token: string };
      return { body: shownExplanation(await explainToken(parts, token)) };
    },
  },
  {
    id: 'revokeToken',
    method: 'POST',
    path: '/tokens/revoke',
    scope: 'grantd:tokens:write',
    summary:
      'Revoke a token. For an access token, the server also revokes the tokens that were issued with it, and the current refresh token that replaced theirs. For a refresh token, it also revokes all other tokens of the grant',
    body: schemas.REVOCATION,
    status: 200,
    response: schemas.REVOKED_TOKEN,
    async perform({ parts, body }) {
      const { token, dry_run: isDryRun = false } = body as {
        readonly token: string;
        readonly dry_run?: boolean;
      };
      const { revoked, before, result } = await revokeToken(parts, token, isDryRun);
      const { tokenId, reason } = { tokenId: undefined, reason: undefined, ...result };
      return {
        body: {
          ...{ revoked, was_active: before.alive },
          ...(tokenId !== undefined && { token_id: tokenId }),
          ...(reason !== undefined && { reason }),
        },
      };
    },
  },
  {
    id: 'revokeAll',
    method: 'POST',
    path: '/tokens/revoke-all',
    scope: 'grantd:tokens:write',
    summary:
      'Revoke many tokens: all of a user, of a client or of a grant, or all that were issued before a given time. With dry_run, the server only counts them',
    body: schemas.MASS_REVOCATION,
    status: 200,
    response: schemas.REVOKED_TOKENS,
    async perform({ parts, body }) {
      const { dry_run: isDryRun = false, count: counts = false } = body as MassRevocationBody;
      const wanted = await massRevocationOf(parts, body as MassRevocationBody);
      const { revoked, alive } = await revokeAll(parts, wanted, { counts, isDryRun });
      return { body: { revoked, ...(alive !== undefined && { active: alive }) } };
    },
  },
  {
    id: 'listEvents',
    method: 'GET',
    path: '/events',
    scope: 'grantd:events:read',
    summary: 'List events, the oldest first. Each event records a change of a client, user, key or token',
    query: {
      ...PAGING,
      type: { schema: schemas.EVENT_TYPE, about: 'Only events of this type.' },
      target: {
        schema: { type: 'string', minLength: 1, maxLength: 300 },
        about: 'Only events about the client, subject (user), key, session, grant or token with this ID.',
      },
    },
    status: 200,
    response: schemas.EVENTS,
    async perform({ parts, query: { limit, cursor = 0, type, target } }) {
      const most = { most: limit, mostRead: MAX_EVENTS_READ };
      const { events, next } = await eventsAfter(parts, Number(cursor), { type, target }, most);
      return paged(events.map(shownEvent), next);
    },
  },
  {
    id: 'listAudit',
    method: 'GET',
    path: '/audit',
    scope: 'grantd:events:read',
    summary: 'List events of the audit trail, the newest first',
    query: {
      ...PAGING,
      type: { schema: schemas.EVENT_TYPE, about: 'Only events of this type.' },
      actor: { schema: FILTER, about: 'Only events by this actor, such as cli, user:SUBJECT or client:ID.' },
      target: {
        schema: FILTER,
        about:
          'Only events about the client, subject (user), key, session, grant, token or group with this ID.',
      },
      subject: { schema: FILTER, about: 'Only events that concern this user.' },
      client_id: { schema: FILTER, about: 'Only events that concern this client.' },
      address: { schema: FILTER, about: 'Only events of requests from this IP address.' },
      request_id: {
        schema: FILTER,
        about: 'Only events of the request with this ID, which its response had in the header X-Request-Id.',
      },
      since: { schema: FILTER_TIME, about: 'Only events at or after this time.' },
      until: { schema: FILTER_TIME, about: 'Only events before this time.' },
    },
    status: 200,
    response: schemas.AUDIT_EVENTS,
    async perform({ parts, query: { limit, cursor, type, since, until, ...query } }) {
      const { actor, target, subject, address, client_id: clientId, request_id: requestId } = query;
      const filter = {
        ...{ type: EVENT_TYPES.find((one) => one === type), actor, target, subject },
        ...{ clientId, address, requestId },
        ...(since !== undefined && { sinceMs: timeIn('since', since) }),
        ...(until !== undefined && { untilMs: timeIn('until', until) }),
      };
      const before = cursor === undefined ? undefined : Number(cursor);
      const most = { most: limit, mostRead: MAX_EVENTS_READ };
      const { events, next } = await auditBefore(parts, before, filter, most);
      return paged(events.map(shownAuditEvent), next);
    },
  },
  {
    id: 'showConfiguration',
    method: 'GET',
    path: '/config',
    scope: 'grantd:config:read',
    summary: 'Show every option of the server with its value. Secrets are left out',
    status: 200,
    response: schemas.CONFIGURATION,
    async perform({ parts: { configuration } }) {
      const options = OPTION_NAMES.map((name) => ({ name, value: configuration.settings[name] }));
      return { body: { items: options.map(shownOption) } };
    },
  },
  {
    id: 'showHealth',
    method: 'GET',
    path: '/health',
    scope: 'grantd:config:read',
    summary: 'Show whether the server can answer requests',
    status: 200,
    response: schemas.HEALTH,
    async perform({ parts: { isReady, issuer, database } }) {
      const status = (await isReady()) ? 'ok' : 'unavailable';
      return { body: { status, issuer, database: database.name, version: packageJson.version } };
    },
  },
];

export const API_OPERATIONS: readonly ApiOperation[] = [
  ...CLIENT_OPERATIONS,
  ...USER_OPERATIONS,
  ...GROUP_OPERATIONS,
  ...SCOPE_OPERATIONS,
  ...OTHER_OPERATIONS,
  ...UPKEEP_OPERATIONS,
  ...STATE_OPERATIONS,
];

export const API_STREAMS: readonly ApiStream[] = USER_STREAMS;
