import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { claimsOf, NO_PASSWORD } from '../data/people.ts';
import type { ListedFactors } from '../operations/factors.ts';
import * as people from '../operations/people.ts';
import { DEFAULT_LANGUAGE, languages } from '../texts/texts.ts';
import type { UserToAdd } from './administration.ts';
import {
  type AdministrationParts,
  collect,
  databaseFlags,
  labelled,
  namingFlags,
  printOne,
  readStandardInput,
  timeOf,
  warn,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';
import { addImportCommands } from './user_import.ts';
import { addListCommand } from './user_list.ts';

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
      const person = await personFrom(name, flags);
      await withAdministration(flags, 'may_create_database', (parts) =>
        addPerson(parts, person, flags.addGroup ?? []),
      );
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
      const { email = '', language } = flags;
      namingFlags(FLAGS, () => people.requireInvitation({ name, email, language }));
      const claims = people.claimsAfter({}, changeOf(flags));
      await withAdministration(flags, 'may_create_database', (parts) =>
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
      .description('end all sessions of a user and revoke their tokens at once'),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => endSessions(parts, name)),
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

async function personFrom(name: string, flags: UserAddFlags): Promise<UserToAdd> {
  namingFlags(FLAGS, () => people.requireUsername(name));
  const claims = people.claimsAfter({}, changeOf(flags));
  return { name, claims, password: await typedPassword(flags) };
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

async function addPerson(
  parts: AdministrationParts,
  newPerson: UserToAdd,
  groupNames: readonly string[],
): Promise<void> {
  const { person, warnings } = await parts.admin.addPerson(newPerson, groupNames);
  warn(warnings);
  const { name, subject } = person;
  printOne(parts, { name, sub: subject }, [`added ${name}, sub ${subject}`]);
}

/** @throws {Refused} the user exists and has a password, or has another address */
async function invite(parts: AdministrationParts, invitation: people.Invitation): Promise<void> {
  const { person, isAdded, mailId, warnings } = await parts.admin.invitePerson(invitation);
  warn(warnings);
  const { name, subject } = person;
  printOne(parts, { name, sub: subject, mailId }, [
    `${isAdded ? 'added and invited' : 'invited'} ${name}, sub ${subject}; the link goes to ${invitation.email}`,
  ]);
}

async function setDisabled(parts: AdministrationParts, name: string, disabled: boolean): Promise<void> {
  const person = await parts.admin.requirePerson(name);
  await parts.admin.setPersonDisabled(person, disabled);
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
  change: people.PersonChange,
): Promise<void> {
  const { username, claims, removed, joined, left } = change;
  if (username === undefined && [...Object.keys(claims), ...removed, ...joined, ...left].length === 0)
    throw new BadUsage('nothing to update: grantd user update --help lists the settings');
  const before = await parts.admin.requirePerson(name);
  const { person, warnings } = await parts.admin.updatePerson(before, change);
  warn(warnings);
  const shown = {
    name: person.name,
    sub: person.subject,
    claims: claimsOf(person),
    ...(person.groups !== undefined && { groups: person.groups }),
  };
  const renamed = person.name === before.name ? '' : `; the new username is ${person.name}`;
  printOne(parts, shown, [`updated ${before.name}${renamed}`]);
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
  const kind = people.claimTypeOf(name);
  if (kind === undefined || people.isOfClaimType(read, kind.type)) return [name, read];
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

async function endSessions(parts: AdministrationParts, name: string): Promise<void> {
  const person = await parts.admin.requirePerson(name);
  const ended = await parts.admin.endSessionsOf(person);
  const lines = [
    ended === 0 ? `${name} was not signed in anywhere` : `ended ${sessionsInWords(ended)} of ${name}`,
  ];
  printOne(parts, { name, sub: person.subject, sessionsEnded: ended }, lines);
}

export async function setPassword(parts: AdministrationParts, name: string, password: string): Promise<void> {
  const person = await parts.admin.requirePerson(name);
  const ended = await parts.admin.setPassword(person, password);
  printOne(parts, { name, sub: person.subject, sessionsEnded: ended }, [
    `changed the password of ${name}, ended ${sessionsInWords(ended)} and revoked all their tokens`,
  ]);
}

/** @throws {Refused} there is no such person */
async function resetFactors(parts: AdministrationParts, name: string): Promise<void> {
  const person = await parts.admin.requirePerson(name);
  const { name: kept, subject } = person;
  const { wereThere, ended } = await parts.admin.resetFactors(person);
  const done = wereThere ? 'removed the passkeys, authenticator app and recovery codes' : 'found no factors';
  printOne(parts, { name: kept, sub: subject, factorsRemoved: wereThere, sessionsEnded: ended }, [
    `${done} of ${kept}, ended ${sessionsInWords(ended)} and revoked all their tokens`,
  ]);
}

/** @throws {Refused} there is no such person */
async function confirmFactors(parts: AdministrationParts, name: string): Promise<void> {
  const person = await parts.admin.requirePerson(name);
  const { name: kept, subject } = person;
  const factorsConfirmed = await parts.admin.confirmFactors(person);
  printOne(parts, { name: kept, sub: subject, factorsConfirmed }, [
    factorsConfirmed ? `the factors of ${kept} count now` : `${kept} has no factors that wait`,
  ]);
}

/** @throws {Refused} there is no such person */
async function removePerson(parts: AdministrationParts, name: string): Promise<void> {
  const person = await parts.admin.requirePerson(name);
  const { name: kept, subject } = person;
  const ended = await parts.admin.removePerson(person);
  printOne(parts, { name: kept, sub: subject, removed: true, sessionsEnded: ended }, [
    `removed ${kept}, ended ${sessionsInWords(ended)} and revoked all their tokens; sub ${subject} is never reused`,
  ]);
}

async function unlink(parts: AdministrationParts, name: string, id: string): Promise<void> {
  const person = await parts.admin.requirePerson(name);
  const { provider, label, ended } = await parts.admin.unlinkPerson(person, id);
  printOne(parts, { name, sub: person.subject, provider, label, sessionsEnded: ended }, [
    `removed the link of ${name} to ${label} at ${provider}, and ended ${sessionsInWords(ended)}`,
  ]);
}

async function showPerson(parts: AdministrationParts, name: string): Promise<void> {
  const { person, sessions, consents, links, factors: ownFactors } = await parts.admin.detailsOf(name);
  const { subject } = person;
  const factorsInUse = shownFactors(ownFactors);
  const shown = {
    name: person.name,
    sub: subject,
    claims: claimsOf(person),
    ...(person.groups !== undefined && { groups: person.groups }),
    createdAt: timeOf(person.createdAtMs),
    disabledAt: timeOf(person.disabledAtMs),
    ...(person.passwordHash === NO_PASSWORD && { hasPassword: false }),
    ...(person.directoryId !== undefined && { directoryId: person.directoryId }),
    ...(links.length > 0 && {
      links: links.map(({ id, provider, upstreamIssuer, upstreamSub, label, linkedAtMs }) => ({
        ...{ id, provider, issuer: upstreamIssuer, sub: upstreamSub, label },
        linkedAt: timeOf(linkedAtMs),
      })),
    }),
    ...(factorsInUse !== undefined && { factors: factorsInUse }),
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
    ...(factorsInUse === undefined ? [] : factorLines(factorsInUse)),
    ...Object.entries(shown.claims).map(([claim, value]) => `claim ${claim}: ${JSON.stringify(value)}`),
    ...(shown.links ?? []).map(
      ({ id, provider, label, linkedAt }) => `link ${id}: ${label} at ${provider}, since ${linkedAt}`,
    ),
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

interface FactorsShown {
  readonly passkeys: readonly {
    readonly name: string;
    readonly addedAt: string | undefined;
    readonly lastUsedAt: string | undefined;
    readonly backedUp: boolean;
  }[];
  readonly authenticatorAppAddedAt: string | undefined;
  readonly recoveryCodes: number;
  readonly countFrom: string | undefined;
}

/** What a user signs in with besides the password; `undefined` for nothing. */
function shownFactors({
  passkeys,
  authenticatorAppAddedAtMs,
  recoveryCodes,
  countFromMs,
}: ListedFactors): FactorsShown | undefined {
  if ([passkeys[0], authenticatorAppAddedAtMs, countFromMs].every((one) => one === undefined))
    return undefined;
  return {
    passkeys: passkeys.map(({ name, createdAtMs, lastUsedAtMs, isBackedUp }) => ({
      ...{ name, addedAt: timeOf(createdAtMs), lastUsedAt: timeOf(lastUsedAtMs), backedUp: isBackedUp },
    })),
    authenticatorAppAddedAt: timeOf(authenticatorAppAddedAtMs),
    recoveryCodes,
    countFrom: timeOf(countFromMs),
  };
}

function factorLines(factors: FactorsShown): readonly string[] {
  const { passkeys, authenticatorAppAddedAt, recoveryCodes, countFrom } = factors;
  const lines = passkeys.map(
    ({ name, addedAt, lastUsedAt }) =>
      `passkey ${JSON.stringify(name)}: added ${addedAt}, ${lastUsedAt === undefined ? 'never used' : `last used ${lastUsedAt}`}`,
  );
  if (authenticatorAppAddedAt !== undefined)
    lines.push(`authenticator app: added ${authenticatorAppAddedAt}`);
  if (countFrom !== undefined) lines.push(`changed with a recovery code: counts in full from ${countFrom}`);
  return [...lines, `recovery codes: ${recoveryCodes} unused`];
}

function sessionsInWords(count: number): string {
  return count === 1 ? '1 session' : `${count} sessions`;
}
