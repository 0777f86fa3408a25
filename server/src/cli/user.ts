import { Command } from 'commander';
import type { FactorsView, LockView } from '../admin/factors.ts';
import { type AdminCalls, call } from '../admin/in_process.ts';
import type { Document, Input } from '../admin/table.ts';
import * as people from '../admin/user_rules.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { claimTypeOf, isOfClaimType } from '../people/import_lines.ts';
import { DEFAULT_LANGUAGE, languages } from '../texts/texts.ts';
import {
  type AdministrationParts,
  collect,
  databaseFlags,
  labelled,
  namingFlags,
  printOne,
  readStandardInput,
  warn,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';
import { addImportCommands } from './user_import.ts';
import { addListCommand } from './user_list.ts';
import { userNamed } from './user_named.ts';

interface PasswordFlags extends GivenFlags {
  readonly passwordStdin?: true;
}

interface UserAddFlags extends PasswordFlags, ClaimFlags {
  readonly addGroup?: readonly string[];
}

interface InviteFlags extends ClaimFlags {
  readonly language: string;
}

interface UserRemoveFlags extends GivenFlags {
  readonly yes?: true;
}

export function userCommands(): Command {
  const group = new Command('user').description('manage users');
  const add = databaseFlags(group.command('add <NAME>').description('add a user'), ['create'])
    .option('--password-stdin', 'read the password from standard input; required')
    .option('--add-group <NAME>', 'a group to which the user is added; repeatable', collect);
  claimFlags(add)
    .addHelpText(
      'after',
      `
  grantd user add bob --password-stdin --claim name="Bob Builder" --email bob@example.com < password.txt`,
    )
    .action(async (name: string, flags: UserAddFlags) => {
      const user = await userFrom(name, flags);
      await withAdministration(flags, 'may_create_database', (parts) => addUser(parts, user));
    });
  databaseFlags(
    group
      .command('invite <NAME>')
      .description(
        'add a user without a password, and email them a link at which they choose one. The link is valid for 7 days. A running server sends the email. If the user was invited before, they get another link',
      ),
    ['create'],
  )
    .requiredOption(
      '--email <ADDRESS>',
      'the address that receives the link. It counts as verified after the user has used the link',
    )
    .option(
      '--claim <NAME=VALUE>',
      'a claim for UserInfo. The value is JSON if it parses as JSON, else text; repeatable',
      collect,
    )
    .option(
      '--language <LANGUAGE>',
      `language of the email: ${languages().join(', ')}, or a language from the folder --languages`,
      DEFAULT_LANGUAGE,
    )
    .addHelpText('after', '\n  grantd user invite carol --email carol@example.com --claim name="Carol Jones"')
    .action(async (name: string, flags: InviteFlags) => {
      const { email: typed = '', language } = flags;
      const email = typed.trim();
      namingFlags(FLAGS, () => people.requireInvitation({ name, email, language }));
      const { claims } = changeOf({ ...flags, email: undefined });
      const invitation = { email, language };
      await withAdministration(flags, 'may_create_database', (parts) =>
        addUser(parts, { username: name, claims, invitation }),
      );
    });
  const update = databaseFlags(
    group
      .command('update <NAME>')
      .description(
        'change a user’s claims or username. UserInfo shows the change at once, and new tokens contain it',
      ),
  )
    .option('--username <NEW>', 'the new username')
    .option('--remove-claim <NAME>', 'a claim to remove; repeatable', collect)
    .option('--add-group <NAME>', 'a group to which the user is added; repeatable', collect)
    .option(
      '--remove-group <NAME>',
      'a group from which the user is removed, as with grantd group remove-member; repeatable',
      collect,
    );
  claimFlags(update)
    .addHelpText(
      'after',
      `
  grantd user update bob --claim name="Bob B. Builder" --email bob@example.org --email-verified --remove-claim nickname`,
    )
    .action(async (name: string, flags: UserUpdateFlags) => {
      const change = changeOf(flags);
      await withAdministration(flags, 'needs_database', (parts) => updatePerson(parts, name, change));
    });
  databaseFlags(
    group
      .command('remove <NAME>')
      .description('delete a user’s data permanently, revoke all their tokens and end all their sessions'),
  )
    .option('--yes', 'required, because this cannot be undone')
    .action((name: string, { yes, ...flags }: UserRemoveFlags) => {
      if (!yes)
        throw new BadUsage('--yes: required, because a removal cannot be undone (grantd user disable can)');
      return withAdministration(flags, 'needs_database', (parts) => removePerson(parts, name));
    });
  addListCommand(group);
  databaseFlags(
    group.command('show <NAME>').description('show a user with their sessions and consents'),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => showPerson(parts, name)),
  );
  databaseFlags(
    group
      .command('unlink <NAME> <LINK>')
      .description('remove a user’s link to an identity provider, and end the sessions that came through it')
      .addHelpText(
        'after',
        '\nLINK is the identifier of the link, which grantd user show prints.\n\n  grantd user unlink alice xT2kq0…',
      ),
  ).action((name: string, link: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => unlink(parts, name, link)),
  );
  databaseFlags(
    group
      .command('set-password <NAME>')
      .description('set a user’s password, end their sessions and revoke all their tokens'),
  )
    .option('--password-stdin', 'read the password from standard input; required')
    .action(async (name: string, flags: PasswordFlags) => {
      const password = await typedPassword(flags);
      await withAdministration(flags, 'needs_database', (parts) => setPassword(parts, name, password));
    });
  databaseFlags(
    group
      .command('end-sessions <NAME>')
      .description(
        'end all browser sessions of a user, and revoke the tokens that depend on them at once. Access with offline_access stays: grantd user end-access ends it too',
      ),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => endSessions(parts, name)),
  );
  databaseFlags(
    group
      .command('end-access <NAME>')
      .description(
        'end all access of a user at once: all sessions, and all tokens, including those with offline_access. The user can sign in again',
      ),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => endAccess(parts, name)),
  );
  databaseFlags(
    group
      .command('unlock <NAME>')
      .description(
        'let a user sign in again after too many attempts. The counts of wrong passwords and codes start again everywhere',
      ),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => unlock(parts, name)),
  );
  databaseFlags(
    group.command('disable <NAME>').description('disable a user and revoke all their tokens at once'),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => setDisabled(parts, name, true)),
  );
  databaseFlags(
    group.command('enable <NAME>').description('enable a user again. Their old tokens stay revoked'),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => setDisabled(parts, name, false)),
  );
  databaseFlags(
    group
      .command('reset-factors <NAME>')
      .description(
        'remove a user’s passkeys, authenticator app and recovery codes, end their sessions and revoke all their tokens. Afterwards, the user needs only the password to sign in and to add new factors',
      ),
  )
    .addHelpText(
      'after',
      '\n  grantd user reset-factors bob   # bob has lost his phone and his recovery codes',
    )
    .action((name: string, flags: GivenFlags) =>
      withAdministration(flags, 'needs_database', (parts) => resetFactors(parts, name)),
    );
  databaseFlags(
    group
      .command('confirm-factors <NAME>')
      .description(
        'let the factors of a user count at once that the user has added or removed with a recovery code. Make sure first that it was the user',
      ),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => confirmFactors(parts, name)),
  );
  addImportCommands(group);
  return group;
}

async function userFrom(name: string, flags: UserAddFlags): Promise<Input<'addUser'>> {
  namingFlags(FLAGS, () => people.requireUsername(name));
  const { claims, joined: groups } = changeOf(flags);
  const password = await typedPassword(flags);
  return { username: name, password, claims, ...(groups.length > 0 && { groups }) };
}

/** Names of values of the operations, as users of the command line know them. */
const FLAGS = { username: 'NAME', email: '--email', language: '--language' };

/** Comes after the check of the name, which users forget more often than the flag. */
async function typedPassword({ passwordStdin }: PasswordFlags): Promise<string> {
  if (!passwordStdin) throw new BadUsage('--password-stdin: required, with the password on standard input');
  const password = await readStandardInput('the password');
  const expected = people.passwordProblem(password);
  if (expected !== undefined) throw new BadUsage(`--password-stdin: expected ${expected}`);
  return password;
}

/** @throws {Refused} the user exists and has a password, or has another address than in the invitation */
async function addUser(parts: AdministrationParts, order: Input<'addUser'>): Promise<void> {
  const added = await call(parts.admin, 'addUser', order);
  warn(added.warnings);
  const { username, sub } = added.user;
  const done = added.invitation
    ? `${added.invitation.is_new ? 'added and invited' : 'invited'} ${username}, sub ${sub}; the link goes to ${order.invitation?.email}`
    : `added ${username}, sub ${sub}`;
  printOne(parts, added, [done]);
}

async function setDisabled(parts: AdministrationParts, typed: string, disabled: boolean): Promise<void> {
  const { username, sub } = await userNamed(parts.admin, typed);
  const user = await call(parts.admin, disabled ? 'disableUser' : 'enableUser', { sub });
  printOne(parts, user, [
    disabled ? `disabled ${username} and revoked all their tokens` : `enabled ${username}`,
  ]);
}

interface ClaimFlags extends GivenFlags {
  readonly claim?: readonly string[];
  readonly email?: string | undefined;
  readonly emailVerified?: boolean;
  readonly phone?: string;
  readonly phoneVerified?: boolean;
}

interface UserUpdateFlags extends ClaimFlags {
  readonly username?: string;
  readonly removeClaim?: readonly string[];
  readonly addGroup?: readonly string[];
  readonly removeGroup?: readonly string[];
}

function claimFlags(command: Command): Command {
  return command
    .option(
      '--claim <NAME=VALUE>',
      'a claim for UserInfo. The value is JSON if it parses as JSON, else text; repeatable',
      collect,
    )
    .option(
      '--email <ADDRESS>',
      'the claim email. A new address is unverified unless --email-verified is set',
    )
    .option('--email-verified', 'set the claim email_verified to true')
    .option('--no-email-verified', 'set the claim email_verified to false')
    .option(
      '--phone <NUMBER>',
      'the claim phone_number, such as +441865000000. A new number is unverified unless --phone-verified is set',
    )
    .option('--phone-verified', 'set the claim phone_number_verified to true')
    .option('--no-phone-verified', 'set the claim phone_number_verified to false');
}

/** @throws {BadUsage} flags contradict each other, or name a claim that cannot be set */
export function changeOf({ claim = [], removeClaim = [], ...flags }: UserUpdateFlags): people.PersonChange {
  const { username, email, emailVerified, phone, phoneVerified, addGroup = [], removeGroup = [] } = flags;
  if (username !== undefined) namingFlags({ username: '--username' }, () => people.requireUsername(username));
  for (const [flag, claim, value] of [
    ['--email', 'email', email],
    ['--phone', 'phone_number', phone],
  ] as const) {
    const expected = value === undefined ? undefined : people.addressProblem(claim, value);
    if (expected !== undefined) throw new BadUsage(`${flag}: expected ${expected}`);
  }
  const both = addGroup.find((name) => removeGroup.includes(name));
  if (both !== undefined) throw new BadUsage(`--add-group and --remove-group both name ${both}`);
  const set = [
    ...claim.map(claimFrom),
    ...(email === undefined ? [] : [['email', email] as const]),
    ...(emailVerified === undefined ? [] : [['email_verified', emailVerified] as const]),
    ...(phone === undefined ? [] : [['phone_number', phone] as const]),
    ...(phoneVerified === undefined ? [] : [['phone_number_verified', phoneVerified] as const]),
  ];
  const names = [...set.map(([name]) => name), ...removeClaim];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new BadUsage(`the claim ${twice} is set or removed by two flags: use only one`);
  return {
    ...(username !== undefined && { username }),
    claims: Object.fromEntries(set),
    removed: removeClaim,
    joined: addGroup,
    left: removeGroup,
  };
}

/** @throws {Refused} the user does not exist, the new name is taken, or concurrent changes won every attempt */
async function updatePerson(
  parts: AdministrationParts,
  name: string,
  { username, claims: set, removed, joined, left }: people.PersonChange,
): Promise<void> {
  const { admin } = parts;
  const claims = { ...set, ...Object.fromEntries(removed.map((claim) => [claim, null])) };
  const changes = {
    ...(username !== undefined && { username }),
    ...(Object.keys(claims).length > 0 && { claims }),
  };
  if (Object.keys(changes).length + joined.length + left.length === 0)
    throw new BadUsage('nothing to update: grantd user update --help lists the settings');
  const before = await userNamed(admin, name);
  const { sub } = before;
  for (const group of [...joined, ...left]) await call(admin, 'getGroup', { group });
  if (Object.keys(changes).length > 0) warn((await call(admin, 'updateUser', { sub, ...changes })).warnings);
  for (const group of joined) warn((await call(admin, 'addMember', { group, sub })).warnings);
  for (const group of left) await call(admin, 'removeMember', { group, sub });
  const user = await call(admin, 'getUser', { sub });
  const renamed = user.username === before.username ? '' : `; the new username is ${user.username}`;
  printOne(parts, user, [`updated ${before.username}${renamed}`]);
}

/**
 * Parses `name=value`. The value is JSON if it parses as JSON. A standard claim gets the type that clients expect:
 * `phone_number=5551234` is text.
 */
function claimFrom(text: string): [string, unknown] {
  const [name, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
  if (!text.includes('=') || name === '') throw new BadUsage('--claim: expected NAME=VALUE');
  if (name === 'sub') throw new BadUsage('--claim: sub is random and cannot be chosen');
  const read = asJson(value);
  const kind = claimTypeOf(name);
  if (kind === undefined || isOfClaimType(read, kind.type)) return [name, read];
  if (kind.type === 'string') return [name, value];
  throw new BadUsage(`--claim: ${name}: expected ${kind.expected}, got ${JSON.stringify(value)}`);
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Prints what an operation has done to a user. */
function printDone(
  parts: AdministrationParts,
  { username, sub }: Pick<Document<'getUser'>, 'username' | 'sub'>,
  document: object,
  lines: readonly string[],
): void {
  printOne(parts, { username, sub, ...document }, lines);
}

async function endSessions(parts: AdministrationParts, typed: string): Promise<void> {
  const user = await userNamed(parts.admin, typed);
  const { username, sub } = user;
  const document = await call(parts.admin, 'endSessions', { sub });
  const { sessions_ended: ended, remaining_grants: remaining } = document;
  const clients = [...new Set(remaining.map(({ client_id: id }) => id))].sort();
  printDone(parts, user, document, [
    ended === 0 ? `${username} was not signed in anywhere` : `ended ${sessionsInWords(ended)} of ${username}`,
    ...(remaining.length === 0
      ? []
      : [
          `${clients.join(', ')} still ${clients.length === 1 ? 'has' : 'have'} tokens that do not depend on a session (offline_access): grantd user end-access ${username} ends them too`,
        ]),
  ]);
}

async function endAccess(parts: AdministrationParts, typed: string): Promise<void> {
  const user = await userNamed(parts.admin, typed);
  const document = await call(parts.admin, 'endAccess', { sub: user.sub });
  printDone(parts, user, document, [
    `ended ${sessionsInWords(document.sessions_ended)} of ${user.username} and revoked all their tokens`,
  ]);
}

async function unlock(parts: AdministrationParts, typed: string): Promise<void> {
  const user = await userNamed(parts.admin, typed);
  const { items } = await call(parts.admin, 'unlockUser', { sub: user.sub });
  printDone(parts, user, { were_locked: items }, [
    items.length === 0 ? `${user.username} was not locked` : `unlocked ${user.username}`,
  ]);
}

const STEPS_IN_WORDS: Readonly<Record<LockView['step'], string>> = {
  password: 'the password',
  code: 'codes',
  mailed_link: 'mailed links',
};

export async function setPassword(
  parts: AdministrationParts,
  typed: string,
  password: string,
): Promise<void> {
  const user = await userNamed(parts.admin, typed);
  const document = await call(parts.admin, 'setPassword', { sub: user.sub, password });
  const ended = sessionsInWords(document.sessions_ended);
  printDone(parts, user, document, [
    `changed the password of ${user.username}, ended ${ended} and revoked all their tokens`,
  ]);
}

/** @throws {Refused} there is no such user */
async function resetFactors(parts: AdministrationParts, typed: string): Promise<void> {
  const user = await userNamed(parts.admin, typed);
  const document = await call(parts.admin, 'resetFactors', { sub: user.sub });
  const { factors_removed: wereThere, sessions_ended: ended } = document;
  const done = wereThere ? 'removed the passkeys, authenticator app and recovery codes' : 'found no factors';
  printDone(parts, user, document, [
    `${done} of ${user.username}, ended ${sessionsInWords(ended)} and revoked all their tokens`,
  ]);
}

/** @throws {Refused} there is no such user */
async function confirmFactors(parts: AdministrationParts, typed: string): Promise<void> {
  const user = await userNamed(parts.admin, typed);
  const document = await call(parts.admin, 'confirmFactors', { sub: user.sub });
  printDone(parts, user, document, [
    document.factors_confirmed
      ? `the factors of ${user.username} count now`
      : `${user.username} has no factors that wait`,
  ]);
}

/** @throws {Refused} there is no such user */
async function removePerson(parts: AdministrationParts, typed: string): Promise<void> {
  const user = await userNamed(parts.admin, typed);
  const document = await call(parts.admin, 'removeUser', { sub: user.sub });
  const ended = sessionsInWords(document.sessions_ended);
  printDone(parts, user, { removed: true, ...document }, [
    `removed ${user.username}, ended ${ended} and revoked all their tokens; sub ${user.sub} is never reused`,
  ]);
}

async function unlink(parts: AdministrationParts, typed: string, link: string): Promise<void> {
  const user = await userNamed(parts.admin, typed);
  const document = await call(parts.admin, 'removeLink', { sub: user.sub, link });
  const { provider, label, sessions_ended: ended } = document;
  printDone(parts, user, document, [
    `removed the link of ${user.username} to ${label} at ${provider}, and ended ${sessionsInWords(ended)}`,
  ]);
}

/** @returns `undefined` if a command does not have the secret with which the server counts attempts */
async function locksOf(admin: AdminCalls, sub: string): Promise<readonly LockView[] | undefined> {
  try {
    return (await call(admin, 'listLocks', { sub })).items;
  } catch (error) {
    // Commands that only read need no secret, so one on PostgreSQL may not have it.
    if (error instanceof Refused || error instanceof ConfigurationRefused) return undefined;
    throw error;
  }
}

async function showPerson(parts: AdministrationParts, name: string): Promise<void> {
  const { admin } = parts;
  const user = await userNamed(admin, name);
  const { sub, claims } = user;
  const [{ items: sessions }, { items: consents }, { items: links }, factors, locks] = await Promise.all([
    call(admin, 'listSessions', { sub }),
    call(admin, 'listConsents', { sub }),
    call(admin, 'listLinks', { sub }),
    call(admin, 'getFactors', { sub }),
    locksOf(admin, sub),
  ]);
  printOne(parts, { ...user, sessions, consents, links, factors, locks: locks ?? 'unknown' }, [
    ...labelled({
      name: user.username,
      sub,
      added: user.created_at,
      disabled: user.disabled_at,
      groups: user.groups.join(', ') || undefined,
      password: user.has_password ? undefined : 'none',
      directory: user.directory_id,
    }),
    ...factorLines(factors),
    ...lockLines(locks, user.username),
    ...Object.entries({ preferred_username: user.username, ...claims }).map(
      ([claim, value]) => `claim ${claim}: ${JSON.stringify(value)}`,
    ),
    ...links.map(
      ({ id, provider, label, linked_at: linkedAt }) =>
        `link ${id}: ${label} at ${provider}, since ${linkedAt}`,
    ),
    ...sessions.map(
      (one) =>
        `session ${one.id}: signed in ${one.signed_in_at}, last seen ${one.last_seen_at}, ${one.user_agent}`,
    ),
    ...consents.flatMap(({ client_id: clientId, entries }) =>
      entries.map(({ scopes, resources, authorization_details: details, given_at: givenAt }) => {
        const rights = [...scopes, ...details.map(({ type }) => String(type))].join(' ');
        return [`${clientId} since ${givenAt}: ${rights}`, ...resources].join(', for ');
      }),
    ),
  ]);
}

/** What a user signs in with besides the password. */
function factorLines(factors: FactorsView): readonly string[] {
  const { passkeys, authenticator_app_added_at: addedAt, recovery_codes: codes, count_from: from } = factors;
  const lines = passkeys.map((one) => {
    const use = one.last_used_at === undefined ? 'never used' : `last used ${one.last_used_at}`;
    return `passkey ${JSON.stringify(one.name)}: added ${one.added_at}, ${use}`;
  });
  if (addedAt !== undefined) lines.push(`authenticator app: added ${addedAt}`);
  if (from !== undefined) lines.push(`changed with a recovery code: counts in full from ${from}`);
  return lines.length === 0 ? [] : [...lines, `recovery codes: ${codes} unused`];
}

function lockLines(locks: readonly LockView[] | undefined, name: string): readonly string[] {
  if (locks === undefined)
    return ['locked: unknown, because this command does not have the secret of the server (GRANTD_SECRET)'];
  return locks.map(
    ({ step, places, ends_at: endsAt }) =>
      `locked: too many attempts for ${STEPS_IN_WORDS[step]} from ${places === 1 ? '1 place' : `${places} places`}, until ${endsAt} (grantd user unlock ${name})`,
  );
}

function sessionsInWords(count: number): string {
  return count === 1 ? '1 session' : `${count} sessions`;
}
