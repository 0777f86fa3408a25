// Users. Their rules are in user_rules.ts.
import { claimsAsKept } from '../data/people.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import { DEFAULT_LANGUAGE, LANGUAGE_FORM } from '../texts/texts.ts';
import { leaveAdministrators, requireGroup, requireSubject, warnIfNoneIsLeft } from './groups.ts';
import { type AdminParts, change, DEFAULT_LIMIT, operation, PAGING, paged, placeOf } from './operation.ts';
import { InvalidInput, OperationRefused } from './operation_refused.ts';
import {
  anyObject,
  flag,
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
} from './schema.ts';
import { ENDED_SESSIONS } from './sessions.ts';
import {
  addPerson,
  type ChangedPerson,
  claimsAfter,
  invitePerson,
  type Listed,
  pagesOf,
  passwordHashOf,
  removePerson,
  requireClaims,
  requireNoGroups,
  requireUsername,
  setPassword,
  setPersonDisabled,
  updatePerson,
  withState,
} from './user_rules.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

export const sub = text('The subject identifier of the user.');
export const username = text('The username.', { minLength: 1, maxLength: 128 });
export const claims = anyObject('The user’s claims, such as name and email.');
const password = text('The password, at least 8 characters.', { minLength: 8, maxLength: 1024 });

/** Names of groups in an input. */
export function groupNames(description: string) {
  return texts(description, { maxItems: 100 });
}

const USER = named(
  'User',
  object({
    sub,
    username,
    claims,
    groups: texts('Names of the user’s groups.'),
    created_at: time('When the user was added.'),
    'disabled_at?': time('When the user was disabled.'),
    'directory_id?': text('For a user of an LDAP directory: the identifier of the user’s entry.'),
    has_password: flag('Whether the user has a password.'),
  }),
);
export type User = ValueOf<typeof USER>;
const USERS = page('Users', USER);
const CHANGED_USER = named(
  'ChangedUser',
  object({
    user: USER,
    warnings: WARNINGS,
    'invitation?': object(
      {
        is_new: flag('Whether the request added the user.'),
        mail_id: text('The ID of the email with the invitation, which waits to be sent.'),
      },
      { description: 'Present if the request invited the user by email.' },
    ),
  }),
);

const newUser = object({
  username,
  'password?': password,
  'invitation?': object(
    {
      email: text('The address that receives the link.'),
      'language?': text('The language of the email, such as de. It must be a language of the pages.', {
        pattern: LANGUAGE_FORM.source,
      }),
    },
    {
      description: 'Sends the user a link to choose a password. The address becomes the user’s claim email.',
    },
  ),
  'claims?': claims,
  'groups?': groupNames('Names of groups to join.'),
});
type NewUser = ValueOf<typeof newUser>;

const NEW_USER = named<Schema<NewUser>>('NewUser', {
  ...newUser,
  description:
    'A new user. Set either password or invitation. With an invitation, the user chooses the password.',
  oneOf: [{ required: ['password'] }, { required: ['invitation'] }],
});

const USER_CHANGE = named(
  'UserChange',
  object(
    {
      'username?': username,
      'claims?': anyObject('Claims of the user to set. A claim that is null is removed.'),
    },
    { minProperties: 1 },
  ),
);

const PASSWORD = named('Password', object({ password }));

/** Shared by lists and exports. */
export const GROUP_FILTER = {
  schema: text(undefined, { minLength: 1, maxLength: 128 }),
  about: 'Only members of this group.',
};

// ── Documents ─────────────────────────────────────────────────────────────────────────────────────────────

export function userView({ subject, name, claims, groups = [], ...person }: Listed): User {
  return {
    sub: subject,
    username: name,
    claims,
    groups,
    created_at: timeOf(person.createdAtMs),
    ...optionalTime('disabled_at', person.disabledAtMs),
    ...optional('directory_id', person.directoryId),
    has_password: person.passwordHash !== NO_PASSWORD,
  };
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

async function addUser(
  parts: AdminParts,
  given: NewUser,
): Promise<ChangedPerson & { readonly isAdded?: boolean; readonly mailId?: string }> {
  const { username: name, password: typed, invitation, claims: typedClaims = {}, groups = [] } = given;
  requireUsername(name);
  requireClaims(typedClaims);
  if (!parts.caller.isOnMachine) requireNoGroups(typedClaims);
  const kept = claimsAsKept(typedClaims);
  if (invitation === undefined) {
    if (groups.length > 0) parts.caller.requireScopes(['grantd:groups:write']);
    // Several spellings lead to a group, so the check is of the names that are stored.
    const joined: string[] = [];
    for (const group of groups) joined.push((await requireGroup(parts, group)).name);
    for (const group of joined) parts.caller.requireGroup(group);
    const passwordHash = typed === undefined ? NO_PASSWORD : await passwordHashOf(typed);
    return addPerson(parts, { name, claims: kept, passwordHash }, joined);
  }
  if (groups.length > 0) throw new InvalidInput('groups', 'expected none with an invitation: add them later');
  const { email: typedEmail, language = DEFAULT_LANGUAGE } = invitation;
  const email = typedEmail.trim();
  const all = claimsAfter(kept, { claims: { email }, removed: [] });
  return invitePerson(parts, { name, claims: all, email, language });
}

/** Disables or enables a user. */
function disabling(action: 'disable' | 'enable', summary: string) {
  return change({
    method: 'POST',
    path: `/users/{sub}/${action}`,
    scope: 'grantd:users:write',
    summary,
    status: 200,
    output: USER,
    hasVersion: true,
    async prepare(parts, { sub: subject }) {
      const { caller } = parts;
      const person = await requireSubject(parts, subject);
      caller.requirePerson(person);
      // Leaving the group is the only step by which a server takes an administrator, because only there it can make sure
      // that one remains.
      if (action === 'disable' && caller.keepsAdministrator && caller.isAdministrator(person))
        throw new OperationRefused(
          'conflict',
          'an administrator cannot be disabled: first remove them from the group of administrators',
        );
      return person;
    },
    async write(parts, person) {
      await setPersonDisabled(parts, person, action === 'disable');
      if (action === 'disable') await warnIfNoneIsLeft(parts, person.groups);
      const user = userView(await withState(parts, person));
      return { document: user, version: user };
    },
  });
}

export const USER_OPERATIONS = {
  listUsers: operation({
    method: 'GET',
    path: '/users',
    scope: 'grantd:users:read',
    summary: 'List users, sorted by username',
    query: {
      ...PAGING,
      search: {
        schema: text(undefined, { minLength: 1, maxLength: 200 }),
        about: 'Only users whose username, email address, name or phone number contains this text.',
      },
      username: {
        schema: text(undefined, { minLength: 1, maxLength: 128 }),
        about: 'Only users with this username, or with one that looks the same.',
      },
      group: GROUP_FILTER,
      state: { schema: oneOf(['active', 'disabled']), about: 'Only users in this state.' },
    },
    status: 200,
    output: USERS,
    async perform(parts, { limit = DEFAULT_LIMIT, cursor, search, username: name, group, state }) {
      if (name !== undefined) {
        const person = await parts.people.byName(name);
        return paged(person ? [userView(await withState(parts, person))] : [], undefined);
      }
      const groupName = group === undefined ? undefined : (await requireGroup(parts, group)).name;
      const place = placeOf({ ...optional('cursor', cursor) });
      const wish = {
        ...optional('search', search),
        ...optional('group', groupName),
        ...optional('state', state),
        ...optional('after', place === undefined ? undefined : String(place)),
        limit: limit + 1,
      };
      const users: Listed[] = [];
      for await (const some of pagesOf(parts, wish)) users.push(...some);
      const items = users.slice(0, limit);
      return paged(items.map(userView), users.length > limit ? items.at(-1)?.name : undefined);
    },
  }),
  addUser: operation({
    method: 'POST',
    path: '/users',
    scope: 'grantd:users:write',
    summary: 'Add a user with a password, or invite one by email',
    body: NEW_USER,
    status: 201,
    output: CHANGED_USER,
    hasVersion: true,
    async perform(parts, input) {
      const { person, warnings, isAdded = false, mailId } = await addUser(parts, input);
      const user = userView(await withState(parts, person));
      const invitation = mailId === undefined ? undefined : { is_new: isAdded, mail_id: mailId };
      return {
        document: { user, warnings, ...optional('invitation', invitation) },
        version: user,
        location: `/users/${person.subject}`,
      };
    },
  }),
  getUser: operation({
    method: 'GET',
    path: '/users/{sub}',
    scope: 'grantd:users:read',
    summary: 'Show a user',
    status: 200,
    output: USER,
    hasVersion: true,
    async perform(parts, { sub: subject }) {
      const user = userView(await withState(parts, await requireSubject(parts, subject)));
      return { document: user, version: user };
    },
  }),
  updateUser: operation({
    method: 'PATCH',
    path: '/users/{sub}',
    scope: 'grantd:users:write',
    summary: 'Change the username or claims of a user. UserInfo shows the change at once',
    body: USER_CHANGE,
    status: 200,
    output: CHANGED_USER,
    hasVersion: true,
    needsVersion: true,
    async perform(parts, { sub: subject, username: name, claims: changed = {} }) {
      const { caller } = parts;
      const given = Object.entries(changed);
      const set = Object.fromEntries(given.filter(([, value]) => value !== null));
      if (name !== undefined) requireUsername(name);
      requireClaims(set);
      if (!caller.isOnMachine) requireNoGroups(set);
      const before = await withState(parts, await requireSubject(parts, subject));
      const state = optional('disabledAtMs', before.disabledAtMs);
      const wanted = {
        ...optional('username', name),
        claims: set,
        removed: given.filter(([, value]) => value === null).map(([claim]) => claim),
        ...{ joined: [], left: [] },
      };
      const { person, warnings } = await updatePerson(parts, before, wanted, (one) => {
        parts.requireVersion(userView({ ...one, ...state }));
        caller.requirePerson(one);
        if (given.some(([claim]) => claim === 'email' || claim === 'email_verified'))
          caller.requireAnother(one);
      });
      const user = userView({ ...person, ...state });
      return { document: { user, warnings }, version: user };
    },
  }),
  removeUser: change({
    method: 'DELETE',
    path: '/users/{sub}',
    scope: 'grantd:users:write',
    summary: 'Delete a user’s data permanently, revoke all their tokens and end all their sessions',
    status: 200,
    output: ENDED_SESSIONS,
    async prepare(parts, { sub: subject }) {
      const person = await requireSubject(parts, subject);
      parts.caller.requirePerson(person);
      parts.caller.requireAnother(person);
      return person;
    },
    async write(parts, person) {
      const { caller } = parts;
      if (caller.keepsAdministrator && caller.isAdministrator(person))
        await leaveAdministrators(parts, person);
      const ended = await removePerson(parts, person);
      await warnIfNoneIsLeft(parts, person.groups);
      return { document: { sessions_ended: ended } };
    },
  }),
  disableUser: disabling('disable', 'Disable a user, revoke all their tokens and end their sessions at once'),
  enableUser: disabling(
    'enable',
    'Enable a disabled user. Tokens that were revoked when the user was disabled stay revoked',
  ),
  setPassword: change({
    method: 'PUT',
    path: '/users/{sub}/password',
    scope: 'grantd:users:write',
    summary: 'Set a user’s password, end their sessions and revoke all their tokens',
    body: PASSWORD,
    status: 200,
    output: ENDED_SESSIONS,
    async prepare(parts, { sub: subject, password: typed }) {
      const person = await requireSubject(parts, subject);
      parts.caller.requirePerson(person);
      parts.caller.requireAnother(person);
      return { person, hash: await passwordHashOf(typed) };
    },
    write: async (parts, { person, hash }) => ({
      document: { sessions_ended: await setPassword(parts, person, hash) },
    }),
  }),
};
