import { type Claims, STANDARD_CLAIMS_BY_SCOPE } from '@grantd/core';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { Consent } from '../data/consents.ts';
import {
  claimsOf,
  type NewPerson,
  nameAsKept,
  nameProblem,
  type People,
  type Person,
} from '../data/people.ts';
import { counts } from '../people/consents.ts';
import { isPasswordHash, PasswordHasher } from '../people/password_hasher.ts';
import { PersonRemoval } from '../people/removal.ts';
import { SessionEnding } from '../people/sessions.ts';
import {
  type CommandParts,
  collect,
  databaseFlags,
  labelled,
  printList,
  printOne,
  readStandardInput,
  timeOf,
  withInstance,
} from './command.ts';
import { BadUsage } from './exit.ts';

const LEAST_PASSWORD_CHARACTERS = 8;

interface PasswordFlags extends GivenFlags {
  readonly passwordStdin?: true;
}

interface UserAddFlags extends PasswordFlags, ClaimFlags {}

interface UserRemoveFlags extends GivenFlags {
  readonly yes?: true;
}

export function userCommands(): Command {
  const group = new Command('user').description('people who sign in');
  const add = databaseFlags(group.command('add <NAME>').description('add a person'), ['create']).option(
    '--password-stdin',
    'take the password from standard input; required',
  );
  claimFlags(add)
    .addHelpText(
      'after',
      `
  grantd user add bob --password-stdin --claim name="Bob Builder" --email bob@example.com < password.txt`,
    )
    .action(async (name: string, flags: UserAddFlags) => {
      const person = await personFrom(name, flags);
      await withInstance(flags, 'may_make_database', (parts) => addPerson(parts, person));
    });
  const update = databaseFlags(
    group
      .command('update <NAME>')
      .description(
        'change a person’s claims or user name; UserInfo shows it at once, tokens from the next one on',
      ),
  )
    .option('--username <NEW>', 'the name to sign in with from now on')
    .option('--remove-claim <NAME>', 'a claim to remove; repeatable', collect);
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
      .description('delete a person’s data, and end all their tokens and sessions, for good'),
  )
    .option('--yes', 'required: nothing brings the person back')
    .action((name: string, { yes, ...flags }: UserRemoveFlags) => {
      if (!yes)
        throw new BadUsage('--yes: expected, since a removal cannot be undone (grantd user disable can)');
      return withInstance(flags, 'needs_database', (parts) => removePerson(parts, name));
    });
  databaseFlags(group.command('list').description('all people')).action((flags: GivenFlags) =>
    withInstance(flags, 'needs_database', listPeople),
  );
  databaseFlags(
    group.command('show <NAME>').description('a person, with their sessions and what they agreed to'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => showPerson(parts, name)),
  );
  databaseFlags(
    group
      .command('set-password <NAME>')
      .description('give a person another password, and end their sessions and all their tokens'),
  )
    .option('--password-stdin', 'take the password from standard input; required')
    .action(async (name: string, flags: PasswordFlags) => {
      const passwordHash = await typedPasswordHash(flags);
      await withInstance(flags, 'needs_database', (parts) => setPassword(parts, name, passwordHash));
    });
  databaseFlags(
    group
      .command('end-sessions <NAME>')
      .description('end all sessions of a person and revoke their tokens, at once'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => endSessions(parts, name)),
  );
  databaseFlags(
    group
      .command('disable <NAME>')
      .description('let a person sign in no more, and end all their tokens, at once'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => setDisabled(parts, name, true)),
  );
  databaseFlags(
    group.command('enable <NAME>').description('let a person sign in again; their former tokens stay dead'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => setDisabled(parts, name, false)),
  );
  return group;
}

async function personFrom(name: string, flags: UserAddFlags): Promise<NewPerson> {
  requireName('NAME', name);
  const claims = claimsAfter({}, changeOf(flags));
  return { name, claims, passwordHash: await typedPasswordHash(flags) };
}

/** The flag is asked for only after the name, which people forget rather. */
async function typedPasswordHash({ passwordStdin }: PasswordFlags): Promise<string> {
  if (!passwordStdin) throw new BadUsage('--password-stdin: expected, with the password on standard input');
  const password = await readStandardInput('the password');
  if (isPasswordHash(password))
    throw new BadUsage(
      '--password-stdin: expected a password, got the hash of one: the person could not sign in with what was hashed',
    );
  if (password.length < LEAST_PASSWORD_CHARACTERS)
    throw new BadUsage(`--password-stdin: expected at least ${LEAST_PASSWORD_CHARACTERS} characters`);
  return new PasswordHasher().hash(password);
}

async function addPerson(parts: CommandParts, newPerson: NewPerson): Promise<void> {
  const person = await parts.people.add(newPerson);
  if (person === undefined) throw nameTaken(newPerson.name);
  const { name, subject } = person;
  printOne(parts, { name, sub: subject }, [`added ${name}, sub ${subject}`]);
}

async function listPeople(parts: CommandParts): Promise<void> {
  const people = await Promise.all(
    (await parts.people.list()).map(async (person) => {
      const state = await parts.storage.getPrincipalState('subject', person.subject);
      const disabledAt = timeOf(state?.disabledAtMs);
      return {
        name: person.name,
        sub: person.subject,
        claims: claimsOf(person),
        createdAt: timeOf(person.createdAtMs),
        ...(disabledAt !== undefined && { disabledAt }),
      };
    }),
  );
  printList(parts, people, {
    NAME: ({ name }) => name,
    SUB: ({ sub }) => sub,
    ADDED: ({ createdAt }) => createdAt ?? '',
    DISABLED: ({ disabledAt }) => disabledAt ?? '',
  });
}

async function setDisabled(parts: CommandParts, name: string, disabled: boolean): Promise<void> {
  const person = await requirePerson(parts, name);
  await parts.storage.setDisabled('subject', person.subject, disabled);
  if (disabled) await endSessionsOf(parts, person);
  const done = disabled ? `${name} is disabled; all their tokens are dead` : `${name} is enabled`;
  printOne(parts, { name, sub: person.subject, disabled }, [done]);
}

interface ClaimFlags extends GivenFlags {
  readonly claim?: readonly string[];
  readonly email?: string;
  readonly emailVerified?: boolean;
}

interface UserUpdateFlags extends ClaimFlags {
  readonly username?: string;
  readonly removeClaim?: readonly string[];
}

/** What flags say about a person. */
interface PersonChange {
  readonly username?: string;
  readonly claims: Claims;
  readonly removed: readonly string[];
}

function claimFlags(command: Command): Command {
  return command
    .option(
      '--claim <NAME=VALUE>',
      'what UserInfo tells about them: JSON if it is JSON, else text; repeatable',
      collect,
    )
    .option('--email <ADDRESS>', 'the claim email; another address is not verified unless a flag says so')
    .option('--email-verified', 'the claim email_verified: true')
    .option('--no-email-verified', 'the claim email_verified: false');
}

/** @throws {BadUsage} flags contradict each other, or name a claim that nobody can choose */
export function changeOf({ claim = [], removeClaim = [], ...flags }: UserUpdateFlags): PersonChange {
  const { username, email, emailVerified } = flags;
  if (username !== undefined) requireName('--username', username);
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new BadUsage(`--email: expected an address such as bob@example.com, got ${JSON.stringify(email)}`);
  const set = [
    ...claim.map(claimFrom),
    ...(email === undefined ? [] : [['email', email] as const]),
    ...(emailVerified === undefined ? [] : [['email_verified', emailVerified] as const]),
  ];
  const names = [...set.map(([name]) => name), ...removeClaim];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new BadUsage(`the claim ${twice} is set or removed by two flags: choose one`);
  return {
    ...(username !== undefined && { username }),
    claims: Object.fromEntries(set),
    removed: removeClaim,
  };
}

/** Claims with a change. A new e-mail address is not the one that was verified. */
function claimsAfter(before: Claims, { claims, removed }: PersonChange): Claims {
  const isNewAddress = claims.email !== undefined && claims.email !== before.email;
  const kept = Object.entries(before).filter(
    ([name]) => !removed.includes(name) && !(isNewAddress && name === 'email_verified'),
  );
  return { ...Object.fromEntries(kept), ...claims };
}

/** @throws {BadUsage} no person can have it */
function requireName(flag: string, name: string): void {
  const expected = nameProblem(name);
  if (expected !== undefined)
    throw new BadUsage(`${flag}: expected ${expected}, got ${JSON.stringify(name)}`);
}

function nameTaken(name: string): Refused {
  return new Refused(
    `there is a person ${name} already, or one whose name differs only by case, width or look-alike letters: choose another name.`,
  );
}

const MOST_ATTEMPTS = 5;

/**
 * Changes what is said and keeps everything else, also what others change at the same time.
 * @throws {Refused} there is no such person, the new name is taken, or others change the person again and again
 */
async function updatePerson(parts: CommandParts, name: string, change: PersonChange): Promise<void> {
  if (change.username === undefined && Object.keys(change.claims).length + change.removed.length === 0)
    throw new BadUsage('nothing to update: grantd user update --help tells what there is');
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const person = await requirePerson(parts, name);
    const missing = change.removed.find((claim) => !Object.hasOwn(person.claims, claim));
    if (missing !== undefined)
      throw new Refused(
        `--remove-claim: ${person.name} has no claim ${missing}: grantd user show ${person.name} shows all.`,
      );
    const updated = {
      ...person,
      name: nameAsKept(change.username ?? person.name),
      claims: claimsAfter(person.claims, change),
    };
    const outcome = await parts.people.update(updated);
    if (outcome === 'name_taken') throw nameTaken(updated.name);
    if (outcome === 'updated') {
      const shown = { name: updated.name, sub: person.subject, claims: claimsOf(updated) };
      const renamed = updated.name === person.name ? '' : `; the name is ${updated.name} from now on`;
      return printOne(parts, shown, [`updated ${person.name}${renamed}`]);
    }
  }
  throw new Refused(`${name} is being changed by others; nothing was updated: try again.`);
}

/** OpenID Connect Core §5.1: standard claims that are no text. A client takes the text `no` for true. */
const KINDS_OF_CLAIMS: ReadonlyMap<string, { readonly type: string; readonly expected: string }> = new Map([
  ['email_verified', { type: 'boolean', expected: 'true or false' }],
  ['phone_number_verified', { type: 'boolean', expected: 'true or false' }],
  ['updated_at', { type: 'number', expected: 'seconds since 1970, as a number' }],
  ['address', { type: 'object', expected: 'a JSON object such as {"locality": "Paris"}' }],
]);

const STANDARD_CLAIMS = new Set(Object.values(STANDARD_CLAIMS_BY_SCOPE).flat());

/**
 * `name=value`, the value as JSON if it is JSON. A standard claim has the type that clients expect: `phone_number=5551234`
 * is text.
 */
function claimFrom(text: string): [string, unknown] {
  const [name, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
  if (!text.includes('=') || name === '') throw new BadUsage('--claim: expected NAME=VALUE');
  if (name === 'sub') throw new BadUsage('--claim: sub is random and cannot be chosen');
  const read = asJson(value);
  const kind = KINDS_OF_CLAIMS.get(name);
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

/** Ends all sessions of a person; a server that runs on the database tells the applications. @returns how many */
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
    throw new Refused(`there is no person ${name} any more.`);
  // After it: no session begins with the former one any more.
  const ended = await endSessionsOf(parts, person);
  // Whoever had the former one may have granted themselves what outlives every session.
  await parts.storage.revokeAll({ principal: 'subject', id: person.subject });
  printOne(parts, { name, sub: person.subject, sessionsEnded: ended }, [
    `${name} has another password; ${sessionsInWords(ended)} ended, and all their tokens are dead`,
  ]);
}

/** @throws {Refused} there is no such person */
async function removePerson(parts: CommandParts, name: string): Promise<void> {
  const { name: kept, subject } = await requirePerson(parts, name);
  const { people, consents, storage } = parts;
  const ending = new SessionEnding(parts);
  const ended = await new PersonRemoval({ people, consents, ending, storage }).remove(subject);
  printOne(parts, { name: kept, sub: subject, removed: true, sessionsEnded: ended }, [
    `removed ${kept}; ${sessionsInWords(ended)} ended, and all their tokens are dead; sub ${subject} is never given again`,
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
    createdAt: timeOf(person.createdAtMs),
    disabledAt: timeOf(state?.disabledAtMs),
    sessions: sessions.map(({ id, userAgent, signedInAtMs, lastSeenAtMs }) => ({
      id,
      userAgent,
      signedInAt: timeOf(signedInAtMs),
      lastSeenAt: timeOf(lastSeenAtMs),
    })),
    consents: consents.map(({ clientId, entries }) => ({
      clientId,
      entries: entries.map(({ scopes, resources, claims, givenAtMs }) => ({
        ...{ scopes, resources, claims },
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
    }),
    ...Object.entries(shown.claims).map(([claim, value]) => `claim ${claim}: ${JSON.stringify(value)}`),
    ...shown.sessions.map(
      (one) =>
        `session ${one.id}: signed in ${one.signedInAt}, last seen ${one.lastSeenAt}, ${one.userAgent}`,
    ),
    ...shown.consents.flatMap(({ clientId, entries }) =>
      entries.map(({ scopes, resources, givenAt }) =>
        [`${clientId} since ${givenAt}: ${scopes.join(' ')}`, ...resources].join(', for '),
      ),
    ),
  ]);
}

/** Those that count. */
async function consentsOf({ consents, storage }: CommandParts, subject: string): Promise<readonly Consent[]> {
  const given = await consents.ofSubject(subject);
  const clients = await Promise.all(given.map(({ clientId }) => storage.clients.get(clientId)));
  return given.filter((consent, index) => counts(consent, clients[index]));
}

function sessionsInWords(count: number): string {
  return count === 1 ? '1 session' : `${count} sessions`;
}

/** @throws {Refused} there is nobody of that name */
export async function requirePerson({ people }: { readonly people: People }, name: string): Promise<Person> {
  const person = await people.byName(name);
  if (person === undefined) throw new Refused(`there is no person ${name}: grantd user list shows all.`);
  return person;
}
