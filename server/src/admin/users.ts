// Users. Their rules are in user_rules.ts.
import type { Group } from '../data/groups.ts';
import { nameAsKept, trimmed } from '../data/names.ts';
import { claimsAsKept } from '../data/people.ts';
import {
  type Activity,
  isPlaceOfPerson,
  LISTED_FACTORS,
  PEOPLE_ORDERS,
  PEOPLE_STATES,
  placeOfPerson,
} from '../data/people_list.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import { isAddress } from '../people/mailing.ts';
import { PasswordHasher } from '../people/password_hasher.ts';
import { underName } from '../people/ways_to_sign_in.ts';
import { DEFAULT_LANGUAGE, LANGUAGE_FORM } from '../texts/texts.ts';
import {
  joinedGroups,
  joinGroup,
  requireGroup,
  requireSubject,
  takingPerson,
  takingWays,
  warnIfNoneIsLeft,
} from './groups.ts';
import { invitePerson, requireLanguage } from './invitations.ts';
import {
  change,
  DEFAULT_LIMIT,
  DESCENDING,
  operation,
  PAGING,
  pageAt,
  paged,
  pagePlace,
} from './operation.ts';
import {
  InvalidInput,
  ifGiven,
  OperationRefused,
  requireEach,
  requireEachFits,
} from './operation_refused.ts';
import {
  anyObject,
  count,
  flag,
  integer,
  named,
  object,
  oneOf,
  optional,
  optionalTime,
  pageMembers,
  type Schema,
  text,
  texts,
  time,
  timeOf,
  type ValueOf,
  WARNINGS,
} from './schema.ts';
import { ENDED_SESSIONS, sessionsInWords } from './sessions.ts';
import {
  asPermitted,
  type ClaimsChange,
  changeable,
  claimsAfter,
  type Listed,
  nameTaken,
  removePerson,
  requireClaims,
  requireNoGroups,
  requirePassword,
  requireUsername,
  setPassword,
  setPersonDisabled,
  withState,
  withStates,
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
    'activity?': object(
      {
        passkeys: count('Number of passkeys.'),
        security_keys: count('Number of security keys.'),
        has_totp: flag('Whether the user has an authenticator app.'),
        'last_sign_in_at?': time('The last sign-in that the server remembers.'),
        'locked_until?': time(
          'When the last lock after too many attempts ends. Present if the user is locked somewhere.',
        ),
      },
      { description: 'Present in lists with the parameter activity.' },
    ),
  }),
);
export type User = ValueOf<typeof USER>;
const USERS = named(
  'Users',
  object({
    ...pageMembers(USER),
    'looked_at?': count(
      'How many users the server has looked at. Present if the time of within_ms was over.',
    ),
  }),
);
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
type Invitation = NonNullable<NewUser['invitation']>;

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

export function userView({ subject, name, claims, groups = [], activity, ...person }: Listed): User {
  return {
    sub: subject,
    username: name,
    claims,
    groups,
    created_at: timeOf(person.createdAtMs),
    ...optionalTime('disabled_at', person.disabledAtMs),
    ...optional('directory_id', person.directoryId),
    has_password: person.passwordHash !== NO_PASSWORD,
    ...optional('activity', activity && activityView(activity)),
  };
}

function activityView({
  passkeys,
  securityKeys,
  hasTotp,
  lastSignInAtMs,
  lockedUntilMs,
}: Activity): NonNullable<User['activity']> {
  return {
    passkeys,
    security_keys: securityKeys,
    has_totp: hasTotp,
    ...optionalTime('last_sign_in_at', lastSignInAtMs),
    ...optionalTime('locked_until', lockedUntilMs),
  };
}

function claimsChange(given: Readonly<Record<string, unknown>>): ClaimsChange {
  const entries = Object.entries(given);
  return {
    claims: Object.fromEntries(entries.filter(([, value]) => value !== null)),
    removed: entries.filter(([, value]) => value === null).map(([claim]) => claim),
  };
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

/** @throws {InvalidInput} the invitation cannot be sent */
function requireInvitation({ email, language = DEFAULT_LANGUAGE }: Invitation): void {
  requireEach([
    () => {
      if (!isAddress(trimmed(email)))
        throw new InvalidInput('invitation.email', ['email_form', JSON.stringify(email)]);
    },
    () => requireLanguage(language),
  ]);
}

/** Disables or enables a user. */
function disabling(action: 'disable' | 'enable', summary: string, about: string) {
  return change({
    method: 'POST',
    path: `/users/{sub}/${action}`,
    scope: 'grantd:users:write',
    summary,
    status: 200,
    output: USER,
    hasVersion: true,
    command: {
      line: `user ${action} <sub>`,
      about,
      lines: ({ username: name }) =>
        action === 'disable' ? `disabled ${name} and revoked all their tokens` : `enabled ${name}`,
    },
    async prepare(parts, { sub: subject }) {
      const { caller } = parts;
      const person = await requireSubject(parts, subject);
      caller.requirePerson(person);
      // Leaving the group is the only step by which a server takes an administrator, because only there it can make sure
      // that one remains.
      if (action === 'disable' && caller.keepsAdministrator && caller.isAdministrator(person))
        throw new OperationRefused('conflict', ['administrator_not_disabled']);
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
    summary: 'List users, sorted by username or by when they were added',
    query: {
      ...PAGING,
      search: {
        schema: text(undefined, { minLength: 1, maxLength: 200 }),
        about:
          'Only users whose username, email address, name or phone number has words that begin with each word of this text, or whose subject identifier it is.',
      },
      username: {
        schema: text(undefined, { minLength: 1, maxLength: 128 }),
        about: 'Only users with this username, or with one that looks the same.',
      },
      email: {
        schema: text(undefined, { minLength: 1, maxLength: 320 }),
        about: 'Only users whose verified email address this is.',
      },
      group: GROUP_FILTER,
      state: {
        schema: oneOf(PEOPLE_STATES),
        about:
          'Only users in this state. A locked user cannot sign in from somewhere, after too many attempts.',
      },
      factor: {
        schema: oneOf(LISTED_FACTORS),
        about: 'Only users with this second factor, or with none.',
      },
      sort: { schema: oneOf(PEOPLE_ORDERS), about: 'The order of the list. Default: username.' },
      descending: DESCENDING,
      activity: {
        schema: flag(),
        about:
          'Whether to add the second factors, the last sign-in and the lock of each user. Default: false.',
      },
      within_ms: {
        schema: integer(undefined, { minimum: 0, maximum: 60_000 }),
        about:
          'Milliseconds after which the server stops to look for users. The page then has looked_at, and continues with next_cursor or previous_cursor. Default: no limit.',
      },
    },
    status: 200,
    output: USERS,
    command: {
      line: 'user list',
      flags: {
        search: {
          about: 'only users whose username, e-mail address, name or phone has words that begin so',
          placeholder: 'TEXT',
        },
        email: { about: 'only users with this verified e-mail address', placeholder: 'ADDRESS' },
        group: { placeholder: 'NAME' },
        state: { about: 'only users in this state: active, disabled or locked after too many attempts' },
        factor: { about: 'only users with this second factor: none, totp, passkey or security_key' },
        sort: { about: 'order: username or created_at' },
        descending: { about: 'sort in descending order' },
      },
      pages: {
        begin: {
          flag: 'after',
          about:
            'only users whose names come after this one. For the next page, pass the last name of the previous page',
          placeholder: 'NAME',
          // A cursor is the last name of the page before.
          place: nameAsKept,
        },
        limit: { about: 'maximum number of users to print' },
      },
      notes: `  grantd user list --search example.com --state disabled
  grantd user list --group staff --limit 100 --after bob`,
      columns: {
        NAME: ({ username: name }) => name,
        SUB: (user) => user.sub,
        ADDED: ({ created_at: createdAt }) => createdAt,
        DISABLED: ({ disabled_at: disabledAt = '' }) => disabledAt,
      },
    },
    async perform(parts, { limit = DEFAULT_LIMIT, username: name, email, group, ...input }) {
      if (email !== undefined) {
        const people = await parts.people.byVerifiedEmail(email, limit);
        const users = await Promise.all(
          people.map(async (person) => userView(await withState(parts, person))),
        );
        return paged(users, undefined);
      }
      if (name !== undefined) {
        const person = await parts.people.byName(name);
        return paged(person ? [userView(await withState(parts, person))] : [], undefined);
      }
      const groupName = group === undefined ? undefined : (await requireGroup(parts, group)).name;
      const { search, state, factor, sort, descending = false, activity, within_ms: withinMs } = input;
      const place = pagePlace(input, (at) => typeof at === 'string' && isPlaceOfPerson(at, sort));
      const { people, stopped } = await parts.people.page({
        ...optional('search', search),
        ...optional('group', groupName),
        ...(state === 'locked' ? { lockedAtMs: parts.clock() } : optional('state', state)),
        ...optional('factor', factor),
        ...optional('sort', sort),
        ...optional('after', place && String(place.at)),
        ...(activity === true && { activityAtMs: parts.clock() }),
        ...optional('withinMs', withinMs),
        descending: descending !== (place?.isBefore ?? false),
        limit: limit + 1,
      });
      const users = await withStates(parts, people);
      const found = { limit, place, stoppedAt: stopped?.place };
      const { document } = pageAt(users, found, (user) => placeOfPerson(user, sort), userView);
      return { document: { ...document, ...optional('looked_at', stopped?.lookedAt) } };
    },
  }),
  addUser: change({
    method: 'POST',
    path: '/users',
    scope: 'grantd:users:write',
    summary: 'Add a user with a password, or invite one by email',
    body: NEW_USER,
    status: 201,
    output: CHANGED_USER,
    hasVersion: true,
    command: {
      line: 'user add <username>',
      about: 'add a user',
      flags: {
        password: {
          flag: 'password-stdin',
          about: 'read the password from standard input; required',
          isOnInput: true,
        },
        groups: {
          flag: 'add-group',
          about: 'a group to which the user is added; repeatable',
          placeholder: 'NAME',
        },
      },
      createsDatabase: true,
      notes:
        '  grantd user add bob --password-stdin --claim name="Bob Builder" --email bob@example.com < password.txt',
      lines: ({ user }) => `added ${user.username}, sub ${user.sub}`,
    },
    checks: ({ username: name, claims: given, password: typed, invitation, groups = [] }) => [
      ifGiven(name, requireUsername),
      ifGiven(given, requireClaims),
      ifGiven(typed, requirePassword),
      ifGiven(invitation, requireInvitation),
      () => {
        if (invitation !== undefined && groups.length > 0)
          throw new InvalidInput('groups', ['groups_of_invited']);
      },
    ],
    async prepare(parts, { username: name, password: typed, invitation, claims: given = {}, groups = [] }) {
      if (!parts.caller.isOnMachine) requireNoGroups(given);
      const kept = claimsAsKept(given);
      await parts.caller.requireAddress(parts.people, kept);
      const { email = '', language = DEFAULT_LANGUAGE } = invitation ?? {};
      const address = trimmed(email);
      let joined: readonly Group[] = [];
      await requireEachFits([
        async () => {
          // An invitation can be sent again.
          if (invitation === undefined && (await parts.people.byName(name)) !== undefined)
            throw nameTaken(name);
        },
        async () => {
          joined = await joinedGroups(parts, groups);
        },
      ]);
      return {
        name,
        claims: invitation ? claimsAfter(kept, { claims: { email: address }, removed: [] }) : kept,
        invitation: invitation && { email: address, language },
        joined,
        passwordHash: typed === undefined ? NO_PASSWORD : await new PasswordHasher().hash(typed),
      };
    },
    async write(parts, { joined, invitation, passwordHash, ...facts }) {
      const invited = invitation && (await invitePerson(parts, { ...facts, ...invitation }));
      const added = invited?.person ?? (await parts.people.add({ ...facts, passwordHash }));
      if (added === undefined) throw nameTaken(facts.name);
      const warnings = [...(invited?.warnings ?? [])];
      for (const group of joined) await joinGroup(parts, group, added, (warning) => warnings.push(warning));
      const person = joined.length === 0 ? added : await requireSubject(parts, added.subject);
      const user = userView(await withState(parts, person));
      const shown = invited && { is_new: invited.isAdded, mail_id: invited.mailId };
      return {
        document: { user, warnings, ...optional('invitation', shown) },
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
  updateUser: change({
    method: 'PATCH',
    path: '/users/{sub}',
    scope: 'grantd:users:write',
    summary: 'Change the username or claims of a user. UserInfo shows the change at once',
    body: USER_CHANGE,
    status: 200,
    output: CHANGED_USER,
    hasVersion: true,
    needsVersion: true,
    checks: ({ username: name, claims: given }) => [
      ifGiven(name, requireUsername),
      ifGiven(given && claimsChange(given).claims, requireClaims),
    ],
    async prepare(parts, { sub: subject, username: name, claims: given = {} }) {
      const { caller } = parts;
      const wanted = claimsChange(given);
      if (!caller.isOnMachine) requireNoGroups(wanted.claims);
      const before = await withState(parts, await requireSubject(parts, subject));
      parts.requireVersion(userView(before));
      caller.requirePerson(before);
      if (['email', 'email_verified'].some((claim) => Object.hasOwn(given, claim)))
        caller.requireAnother(before);
      const missing = wanted.removed.find((claim) => !Object.hasOwn(before.claims, claim));
      if (missing !== undefined)
        throw new OperationRefused(
          'conflict',
          ['no_claim', before.name, missing],
          `grantd user show ${before.name} shows all claims.`,
        );
      const changed = {
        ...before,
        name: nameAsKept(name ?? before.name),
        claims: claimsAfter(before.claims, wanted),
      };
      await caller.requireAddress(parts.people, changed.claims);
      return { before, changed };
    },
    async write(parts, { before, changed }) {
      const update = () => asPermitted(parts, before, () => parts.people.update(changed, before));
      const outcome = await (changed.name === before.name
        ? update()
        : takingWays(parts, before, underName(parts.openWays(), changed.name), update));
      if (outcome === 'name_taken') throw nameTaken(changed.name);
      if (outcome !== 'updated') return undefined;
      const user = userView(changed);
      return { document: { user, warnings: [] }, version: user };
    },
  }),
  removeUser: change({
    method: 'DELETE',
    path: '/users/{sub}',
    scope: 'grantd:users:write',
    summary: 'Delete a user’s data permanently, revoke all their tokens and end all their sessions',
    status: 200,
    output: ENDED_SESSIONS,
    command: {
      line: 'user remove <sub>',
      about: 'delete a user’s data permanently, revoke all their tokens and end all their sessions',
      isFinal: 'grantd user disable can',
      lines: ({ sessions_ended: ended }, user) =>
        `removed ${user.username}, ended ${sessionsInWords(ended)} and revoked all their tokens; sub ${user.sub} is never reused`,
    },
    prepare: changeable,
    async write(parts, person) {
      const ended = await removePerson(parts, person, (work) => takingPerson(parts, person, work));
      await warnIfNoneIsLeft(parts, person.groups);
      return { document: { sessions_ended: ended } };
    },
  }),
  disableUser: disabling(
    'disable',
    'Disable a user, revoke all their tokens and end their sessions at once',
    'disable a user and revoke all their tokens at once',
  ),
  enableUser: disabling(
    'enable',
    'Enable a disabled user. Tokens that were revoked when the user was disabled stay revoked',
    'enable a user again. Their old tokens stay revoked',
  ),
  setPassword: change({
    method: 'PUT',
    path: '/users/{sub}/password',
    scope: 'grantd:users:write',
    summary: 'Set a user’s password, end their sessions and revoke all their tokens',
    body: PASSWORD,
    status: 200,
    output: ENDED_SESSIONS,
    command: {
      line: 'user set-password <sub>',
      flags: {
        password: {
          flag: 'password-stdin',
          about: 'read the password from standard input; required',
          isOnInput: true,
        },
      },
      lines: ({ sessions_ended: ended }, user) =>
        `changed the password of ${user.username}, ended ${sessionsInWords(ended)} and revoked all their tokens`,
    },
    checks: ({ password: typed }) => [ifGiven(typed, requirePassword)],
    prepare: async (parts, input) => ({
      person: await changeable(parts, input),
      hash: await new PasswordHasher().hash(input.password),
    }),
    write: async (parts, { person, hash }) => ({
      document: { sessions_ended: await setPassword(parts, person, hash) },
    }),
  }),
};
