import { type Claims, STANDARD_CLAIMS_BY_SCOPE } from '@grantd/core';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { Consent } from '../data/consents.ts';
import type { Group } from '../data/groups.ts';
import {
  claimsOf,
  type NewPerson,
  NO_PASSWORD,
  nameAsKept,
  nameProblem,
  type Person,
} from '../data/people.ts';
import { counts } from '../people/consents.ts';
import { CLAIM_TYPES } from '../people/import_lines.ts';
import { isAddress, MailQueue } from '../people/mailing.ts';
import { isPasswordHash, PasswordHasher } from '../people/password_hasher.ts';
import { PersonRemoval } from '../people/removal.ts';
import { SessionEnding } from '../people/sessions.ts';
import { DEFAULT_LANGUAGE, LANGUAGES } from '../texts/texts.ts';
import {
  type CommandParts,
  collect,
  databaseFlags,
  labelled,
  printOne,
  readStandardInput,
  requirePerson,
  timeOf,
  withInstance,
} from './command.ts';
import { BadUsage } from './exit.ts';
import { joinGroup, leaveGroup, requireGroup } from './group.ts';
import { addImportCommands } from './user_import.ts';
import { addListCommand } from './user_list.ts';

const MIN_PASSWORD_CHARACTERS = 8;

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
    .option('--add-group <NAME>', 'a group to join; repeatable', collect);
  claimFlags(add)
    .addHelpText(
      'after',
      `
  grantd user add bob --password-stdin --claim name="Bob Builder" --email bob@example.com < password.txt`,
    )
    .action(async (name: string, flags: UserAddFlags) => {
      const person = await personFrom(name, flags);
      await withInstance(flags, 'may_create_database', (parts) =>
        addPerson(parts, person, flags.addGroup ?? []),
      );
    });
  databaseFlags(
    group
      .command('invite <NAME>')
      .description(
        'add a user without a password, and send them a link of 7 days to choose one. A running server with mail sends it; for an invited user, sends another link',
      ),
    ['create'],
  )
    .requiredOption(
      '--email <ADDRESS>',
      'the address that receives the link; it is verified when the link is used',
    )
    .option(
      '--claim <NAME=VALUE>',
      'a claim for UserInfo. The value is JSON if it parses as JSON, else text; repeatable',
      collect,
    )
    .option('--language <LANGUAGE>', `language of the email: ${LANGUAGES.join(' or ')}`, DEFAULT_LANGUAGE)
    .addHelpText('after', '\n  grantd user invite carol --email carol@example.com --claim name="Carol Jones"')
    .action(async (name: string, flags: InviteFlags) => {
      requireName('NAME', name);
      const { email = '', language } = flags;
      if (!isAddress(email))
        throw new BadUsage(
          `--email: expected an address such as bob@example.com, got ${JSON.stringify(email)}`,
        );
      if (!LANGUAGES.some((one) => one === language))
        throw new BadUsage(`--language: expected ${LANGUAGES.join(' or ')}, got ${JSON.stringify(language)}`);
      const claims = claimsAfter({}, changeOf(flags));
      await withInstance(flags, 'may_create_database', (parts) =>
        invite(parts, { name, claims, email, language }),
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
    .option('--add-group <NAME>', 'a group to join; repeatable', collect)
    .option(
      '--remove-group <NAME>',
      'a group to leave, as with grantd group remove-member; repeatable',
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
      await withInstance(flags, 'needs_database', (parts) => updatePerson(parts, name, change));
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
      return withInstance(flags, 'needs_database', (parts) => removePerson(parts, name));
    });
  addListCommand(group);
  databaseFlags(
    group.command('show <NAME>').description('show a user with their sessions and consents'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => showPerson(parts, name)),
  );
  databaseFlags(
    group
      .command('set-password <NAME>')
      .description('set a user’s password, end their sessions and revoke all their tokens'),
  )
    .option('--password-stdin', 'read the password from standard input; required')
    .action(async (name: string, flags: PasswordFlags) => {
      const passwordHash = await typedPasswordHash(flags);
      await withInstance(flags, 'needs_database', (parts) => setPassword(parts, name, passwordHash));
    });
  databaseFlags(
    group
      .command('end-sessions <NAME>')
      .description('end all sessions of a user and revoke their tokens at once'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => endSessions(parts, name)),
  );
  databaseFlags(
    group.command('disable <NAME>').description('disable a user and revoke all their tokens at once'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => setDisabled(parts, name, true)),
  );
  databaseFlags(
    group.command('enable <NAME>').description('enable a user again. Their old tokens stay revoked'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => setDisabled(parts, name, false)),
  );
  addImportCommands(group);
  return group;
}

async function personFrom(name: string, flags: UserAddFlags): Promise<NewPerson> {
  requireName('NAME', name);
  const claims = claimsAfter({}, changeOf(flags));
  return { name, claims, passwordHash: await typedPasswordHash(flags) };
}

/** Comes after the check of the name, which users forget more often than the flag. */
async function typedPasswordHash({ passwordStdin }: PasswordFlags): Promise<string> {
  if (!passwordStdin) throw new BadUsage('--password-stdin: required, with the password on standard input');
  const password = await readStandardInput('the password');
  if (isPasswordHash(password))
    throw new BadUsage(
      '--password-stdin: expected a password, got a password hash, with which the user could not sign in',
    );
  if (password.length < MIN_PASSWORD_CHARACTERS)
    throw new BadUsage(`--password-stdin: expected at least ${MIN_PASSWORD_CHARACTERS} characters`);
  return new PasswordHasher().hash(password);
}

async function addPerson(
  parts: CommandParts,
  newPerson: NewPerson,
  groupNames: readonly string[],
): Promise<void> {
  const groups: Group[] = [];
  for (const name of groupNames) groups.push(await requireGroup(parts, name));
  const person = await parts.people.add(newPerson);
  if (person === undefined) throw nameTaken(newPerson.name);
  for (const group of groups) await joinGroup(parts, group, person);
  const { name, subject } = person;
  printOne(parts, { name, sub: subject }, [`added ${name}, sub ${subject}`]);
}

interface Invitation {
  readonly name: string;
  readonly claims: Claims;
  readonly email: string;
  readonly language: string;
}

/** @throws {Refused} the user exists and has a password, or has another address */
async function invite(parts: CommandParts, { name, claims, email, language }: Invitation): Promise<void> {
  const added = await parts.people.add({ name, claims, passwordHash: NO_PASSWORD });
  const person = added ?? (await parts.people.byName(name));
  if (person === undefined) throw nameTaken(name);
  if (added === undefined && (person.name !== nameAsKept(name) || person.passwordHash !== NO_PASSWORD))
    throw nameTaken(name);
  if (person.directoryId !== undefined)
    throw new Refused(`${name} signs in through the directory, so there is no password to choose.`);
  if (person.claims.email !== email)
    throw new Refused(
      `${name} was invited with another address. To change it, run grantd user update ${name} --email ${email}, then invite them again.`,
    );
  const { subject } = person;
  const queue = new MailQueue({ mails: parts.mails, secret: parts.secret() });
  const mailId = await queue.add({ template: 'invite', to: email, subject, language, parameters: {} });
  const { smtpUrl, demo } = parts.configuration.settings;
  if (smtpUrl === undefined && !demo)
    console.error('grantd: the email waits until a server with --smtp-url (or --demo) runs on this database');
  printOne(parts, { name: person.name, sub: subject, mailId }, [
    `${added === undefined ? 'invited' : 'added and invited'} ${person.name}, sub ${subject}; the link goes to ${email}`,
  ]);
}

async function setDisabled(parts: CommandParts, name: string, disabled: boolean): Promise<void> {
  const person = await requirePerson(parts, name);
  await parts.storage.setDisabled('subject', person.subject, disabled);
  if (disabled) await endSessionsOf(parts, person);
  const done = disabled ? `disabled ${name} and revoked all their tokens` : `enabled ${name}`;
  printOne(parts, { name, sub: person.subject, disabled }, [done]);
}

interface ClaimFlags extends GivenFlags {
  readonly claim?: readonly string[];
  readonly email?: string;
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

/** Changes to a user, from flags. */
interface PersonChange {
  readonly username?: string;
  readonly claims: Claims;
  readonly removed: readonly string[];
  readonly joined: readonly string[];
  readonly left: readonly string[];
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
    .option('--email-verified', 'the claim email_verified: true')
    .option('--no-email-verified', 'the claim email_verified: false')
    .option(
      '--phone <NUMBER>',
      'the claim phone_number, such as +441865000000. A new number is unverified unless --phone-verified is set',
    )
    .option('--phone-verified', 'the claim phone_number_verified: true')
    .option('--no-phone-verified', 'the claim phone_number_verified: false');
}

/** @throws {BadUsage} flags contradict each other, or name a claim that cannot be set */
export function changeOf({ claim = [], removeClaim = [], ...flags }: UserUpdateFlags): PersonChange {
  const { username, email, emailVerified, phone, phoneVerified, addGroup = [], removeGroup = [] } = flags;
  if (username !== undefined) requireName('--username', username);
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new BadUsage(`--email: expected an address such as bob@example.com, got ${JSON.stringify(email)}`);
  if (phone !== undefined && !/^\+?[\d ().-]{3,40}$/.test(phone))
    throw new BadUsage(`--phone: expected a number such as +441865000000, got ${JSON.stringify(phone)}`);
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

/** Claims with the claim that says whether they are verified. */
const VERIFIED_BY = { email: 'email_verified', phone_number: 'phone_number_verified' };

/** Applies a change to claims. A new e-mail address or phone number is unverified. */
function claimsAfter(before: Claims, { claims, removed }: Pick<PersonChange, 'claims' | 'removed'>): Claims {
  const changed = Object.entries(VERIFIED_BY).filter(
    ([name]) => claims[name] !== undefined && claims[name] !== before[name],
  );
  const outdated = changed.map(([, verified]) => verified);
  const kept = Object.entries(before).filter(([name]) => !removed.includes(name) && !outdated.includes(name));
  return { ...Object.fromEntries(kept), ...claims };
}

/** @throws {BadUsage} the name is invalid */
function requireName(flag: string, name: string): void {
  const expected = nameProblem(name);
  if (expected !== undefined)
    throw new BadUsage(`${flag}: expected ${expected}, got ${JSON.stringify(name)}`);
}

function nameTaken(name: string): Refused {
  return new Refused(
    `user ${name} already exists, or a user whose name differs only by case, width or look-alike letters: choose another name.`,
  );
}

const MAX_ATTEMPTS = 5;

/**
 * Applies a change and keeps everything else, including concurrent changes.
 * @throws {Refused} the user does not exist, the new name is taken, or concurrent changes won every attempt
 */
async function updatePerson(parts: CommandParts, name: string, change: PersonChange): Promise<void> {
  const { username, claims, removed, joined, left } = change;
  const changesRow = username !== undefined || Object.keys(claims).length + removed.length > 0;
  if (!changesRow && joined.length + left.length === 0)
    throw new BadUsage('nothing to update: grantd user update --help lists the settings');
  const [joinedGroups, leftGroups]: [Group[], Group[]] = [[], []];
  for (const one of joined) joinedGroups.push(await requireGroup(parts, one));
  for (const one of left) leftGroups.push(await requireGroup(parts, one));
  const before = await requirePerson(parts, name);
  const updated = changesRow ? await changeRow(parts, before, change) : before;
  for (const group of joinedGroups) await joinGroup(parts, group, updated);
  for (const group of leftGroups) await leaveGroup(parts, group, updated);
  const groups =
    changesRow && joined.length + left.length === 0 ? before.groups : await groupsOf(parts, updated);
  const shown = {
    name: updated.name,
    sub: updated.subject,
    claims: claimsOf(updated),
    ...(groups !== undefined && { groups }),
  };
  const renamed = updated.name === before.name ? '' : `; the new username is ${updated.name}`;
  printOne(parts, shown, [`updated ${before.name}${renamed}`]);
}

async function groupsOf({ people }: CommandParts, { subject }: Person) {
  return (await people.bySubject(subject))?.groups;
}

/** Changes name and claims. @throws {Refused} as `updatePerson` */
async function changeRow(parts: CommandParts, found: Person, change: PersonChange): Promise<Person> {
  let person: Person | undefined = found;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS && person !== undefined; attempt++) {
    const { name, claims } = person;
    const missing = change.removed.find((claim) => !Object.hasOwn(claims, claim));
    if (missing !== undefined)
      throw new Refused(
        `--remove-claim: ${name} has no claim ${missing}: grantd user show ${name} shows all claims.`,
      );
    const updated = {
      ...person,
      name: nameAsKept(change.username ?? name),
      claims: claimsAfter(claims, change),
    };
    const outcome = await parts.people.update(updated);
    if (outcome === 'name_taken') throw nameTaken(updated.name);
    if (outcome === 'updated') return updated;
    person = await parts.people.bySubject(found.subject);
  }
  if (person === undefined) throw new Refused(`there is no user ${found.name} any more.`);
  throw new Refused(`other commands keep changing ${found.name}. Nothing was updated: try again.`);
}

const STANDARD_CLAIMS = new Set(Object.values(STANDARD_CLAIMS_BY_SCOPE).flat());

/**
 * Parses `name=value`. The value is JSON if it parses as JSON. A standard claim gets the type that clients expect:
 * `phone_number=5551234` is text.
 */
function claimFrom(text: string): [string, unknown] {
  const [name, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
  if (!text.includes('=') || name === '') throw new BadUsage('--claim: expected NAME=VALUE');
  if (name === 'sub') throw new BadUsage('--claim: sub is random and cannot be chosen');
  const read = asJson(value);
  const kind = CLAIM_TYPES.get(name);
  if (kind === undefined) return [name, STANDARD_CLAIMS.has(name) && typeof read !== 'string' ? value : read];
  if (typeof read === kind.type && read !== null && !Array.isArray(read)) return [name, read];
  throw new BadUsage(`--claim: ${name}: expected ${kind.expected}, got ${JSON.stringify(value)}`);
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Ends all sessions of a user. A running server notifies the applications. @returns the number of sessions */
export async function endSessionsOf(
  { sessions, storage }: CommandParts,
  { subject }: Person,
): Promise<number> {
  return (await new SessionEnding({ sessions, storage }).end({ subject })).length;
}

async function endSessions(parts: CommandParts, name: string): Promise<void> {
  const person = await requirePerson(parts, name);
  const ended = await endSessionsOf(parts, person);
  const lines = [
    ended === 0 ? `${name} was not signed in anywhere` : `ended ${sessionsInWords(ended)} of ${name}`,
  ];
  printOne(parts, { name, sub: person.subject, sessionsEnded: ended }, lines);
}

export async function setPassword(parts: CommandParts, name: string, passwordHash: string): Promise<void> {
  const person = await requirePerson(parts, name);
  if (!(await parts.people.setPasswordHash(person.subject, passwordHash)))
    throw new Refused(`there is no user ${name} any more.`);
  // After the change, no session can start with the old password.
  const ended = await endSessionsOf(parts, person);
  // Someone with the old password may have granted access that outlives sessions.
  await parts.storage.revokeAll({ principal: 'subject', id: person.subject });
  printOne(parts, { name, sub: person.subject, sessionsEnded: ended }, [
    `changed the password of ${name}, ended ${sessionsInWords(ended)} and revoked all their tokens`,
  ]);
}

/** @throws {Refused} there is no such person */
async function removePerson(parts: CommandParts, name: string): Promise<void> {
  const { name: kept, subject } = await requirePerson(parts, name);
  const { people, consents, storage } = parts;
  const ending = new SessionEnding(parts);
  const ended = await new PersonRemoval({ people, consents, ending, storage }).remove(subject);
  printOne(parts, { name: kept, sub: subject, removed: true, sessionsEnded: ended }, [
    `removed ${kept}, ended ${sessionsInWords(ended)} and revoked all their tokens; sub ${subject} is never reused`,
  ]);
}

async function showPerson(parts: CommandParts, name: string): Promise<void> {
  const person = await requirePerson(parts, name);
  const { subject } = person;
  const [state, sessions, consents] = await Promise.all([
    parts.storage.getPrincipalState('subject', subject),
    parts.sessions.ofSubject(subject),
    consentsOf(parts, subject),
  ]);
  const shown = {
    name: person.name,
    sub: subject,
    claims: claimsOf(person),
    ...(person.groups !== undefined && { groups: person.groups }),
    createdAt: timeOf(person.createdAtMs),
    disabledAt: timeOf(state?.disabledAtMs),
    ...(person.passwordHash === NO_PASSWORD && { hasPassword: false }),
    ...(person.directoryId !== undefined && { directoryId: person.directoryId }),
    sessions: sessions.map(({ id, userAgent, signedInAtMs, lastSeenAtMs }) => ({
      id,
      userAgent,
      signedInAt: timeOf(signedInAtMs),
      lastSeenAt: timeOf(lastSeenAtMs),
    })),
    consents: consents.map(({ clientId, entries }) => ({
      clientId,
      entries: entries.map(({ scopes, resources, claims, details, givenAtMs }) => ({
        ...{ scopes, resources, claims },
        authorizationDetails: details.map((detail): { readonly type: string } => JSON.parse(detail)),
        givenAt: timeOf(givenAtMs),
      })),
    })),
  };
  printOne(parts, shown, [
    ...labelled({
      name: shown.name,
      sub: subject,
      added: shown.createdAt,
      disabled: shown.disabledAt,
      groups: person.groups?.join(', '),
      password: person.passwordHash === NO_PASSWORD ? 'none' : undefined,
      directory: person.directoryId,
    }),
    ...Object.entries(shown.claims).map(([claim, value]) => `claim ${claim}: ${JSON.stringify(value)}`),
    ...shown.sessions.map(
      (one) =>
        `session ${one.id}: signed in ${one.signedInAt}, last seen ${one.lastSeenAt}, ${one.userAgent}`,
    ),
    ...shown.consents.flatMap(({ clientId, entries }) =>
      entries.map(({ scopes, resources, authorizationDetails, givenAt }) => {
        const rights = [...scopes, ...authorizationDetails.map(({ type }) => type)].join(' ');
        return [`${clientId} since ${givenAt}: ${rights}`, ...resources].join(', for ');
      }),
    ),
  ]);
}

/** The valid consents of a user. */
async function consentsOf({ consents, storage }: CommandParts, subject: string): Promise<readonly Consent[]> {
  const given = await consents.ofSubject(subject);
  const clients = await Promise.all(given.map(({ clientId }) => storage.clients.get(clientId)));
  return given.filter((consent, index) => counts(consent, clients[index]));
}

function sessionsInWords(count: number): string {
  return count === 1 ? '1 session' : `${count} sessions`;
}
