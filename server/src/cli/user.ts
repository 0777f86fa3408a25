import type { Claims } from '@grantd/core';
import type { Command } from 'commander';
import { labelled } from '../admin/command_form.ts';
import { type FactorsView, type LockView, lockInWords } from '../admin/factors.ts';
import { type AdminCalls, call } from '../admin/in_process.ts';
import { InvalidInput } from '../admin/operation_refused.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { claimTypeOf, isOfClaimType } from '../people/claim_forms.ts';
import { DEFAULT_LANGUAGE, languages } from '../texts/texts.ts';
import {
  type AdministrationParts,
  administrationFlags,
  collect,
  printOne,
  warn,
  withAdministration,
} from './command.ts';
import { BadUsage, usageOf } from './exit.ts';
import { operationCommand, operationCommands } from './operation_commands.ts';
import { addImportCommands } from './user_import.ts';
import { userNamed } from './user_named.ts';

export function userCommands(): Command {
  const group = operationCommands('user', 'manage users', {
    addUser: { flags: claimFlags, input: (flags) => ({ claims: changeOf(flags).claims }), inWords },
    setPassword: { inWords },
  });
  addInviteCommand(group);
  addUpdateCommand(group);
  administrationFlags(
    group.command('show <NAME>').description('show a user with their sessions and consents'),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => showPerson(parts, name)),
  );
  addImportCommands(group);
  return group;
}

/** Names of values of the operations, as users of the command line know them. */
const FLAGS: Readonly<Record<string, string>> = {
  username: 'NAME',
  password: '--password-stdin',
  'invitation.email': '--email',
  'invitation.language': '--language',
  'claims.email': '--email',
  'claims.phone_number': '--phone',
};

function inWords({ member, problem }: InvalidInput, own: Readonly<Record<string, string>> = {}): string {
  return `${own[member] ?? FLAGS[member] ?? member}: ${problem}`;
}

function addInviteCommand(group: Command): void {
  const language = `language of the email: ${languages().join(', ')}, or a language from the folder --languages`;
  group.addCommand(
    operationCommand(
      'addUser',
      {
        line: 'user invite <username>',
        about:
          'add a user without a password, and email them a link at which they choose one. The link is valid for 7 days. A running server sends the email. If the user was invited before, they get another link',
        createsDatabase: true,
        notes: '  grantd user invite carol --email carol@example.com --claim name="Carol Jones"',
        lines({ user: { username, sub, claims }, invitation }) {
          const done = invitation?.is_new ? 'added and invited' : 'invited';
          return `${done} ${username}, sub ${sub}; the link goes to ${claims.email}`;
        },
      },
      {
        flags: (command) =>
          command
            .requiredOption(
              '--email <ADDRESS>',
              'the address that receives the link. It counts as verified after the user has used the link',
            )
            .option('--claim <NAME=VALUE>', CLAIM, collect)
            .option('--language <LANGUAGE>', language, DEFAULT_LANGUAGE),
        input: ({ email, language: chosen, ...flags }) => ({
          claims: changeOf(flags).claims,
          invitation: { email: String(email).trim(), language: chosen },
        }),
        inWords,
      },
    ),
  );
}

function addUpdateCommand(group: Command): void {
  const update = administrationFlags(
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
}

/** @throws {Refused} the user does not exist, the new name is taken, or concurrent changes won every attempt */
async function updatePerson(
  parts: AdministrationParts,
  name: string,
  { username, claims: set, removed, joined, left }: UserChange,
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
  if (Object.keys(changes).length > 0) {
    const made = await call(admin, 'updateUser', { sub, ...changes }).catch((error: unknown) => {
      if (!(error instanceof InvalidInput)) throw error;
      throw usageOf(error, (one) => inWords(one, { username: '--username' }));
    });
    warn(made.warnings);
  }
  for (const group of joined) warn((await call(admin, 'addMember', { group, sub })).warnings);
  for (const group of left) await call(admin, 'removeMember', { group, sub });
  const user = await call(admin, 'getUser', { sub });
  const renamed = user.username === before.username ? '' : `; the new username is ${user.username}`;
  printOne(parts, user, [`updated ${before.username}${renamed}`]);
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

/** Changes to a user. */
interface UserChange {
  readonly username?: string;
  readonly claims: Claims;
  /** Names of claims to remove. */
  readonly removed: readonly string[];
  /** Names of groups. */
  readonly joined: readonly string[];
  readonly left: readonly string[];
}

const CLAIM = 'a claim for UserInfo. The value is JSON if it parses as JSON, else text; repeatable';

function claimFlags(command: Command): Command {
  return command
    .option('--claim <NAME=VALUE>', CLAIM, collect)
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
function changeOf({ claim = [], removeClaim = [], ...flags }: UserUpdateFlags): UserChange {
  const { username, email, emailVerified, phone, phoneVerified, addGroup = [], removeGroup = [] } = flags;
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
  const [{ items: sessions }, { items: grants }, { items: acting }, { items: consents }, { items: links }] =
    await Promise.all([
      call(admin, 'listSessions', { sub }),
      call(admin, 'listGrants', { sub }),
      call(admin, 'listActing', { sub }),
      call(admin, 'listConsents', { sub }),
      call(admin, 'listLinks', { sub }),
    ]);
  const { items: tokens } = await call(admin, 'listUserTokens', { sub });
  const [factors, locks] = await Promise.all([call(admin, 'getFactors', { sub }), locksOf(admin, sub)]);
  const access = { sessions, grants, acting, consents, links, personal_tokens: tokens };
  printOne(parts, { ...user, ...access, factors, locks: locks ?? 'unknown' }, [
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
    ...grants.map(({ id, client_id: clientId, scopes, resources, created_at: createdAt }) =>
      [
        `grant ${id}: ${clientId} since ${createdAt}`,
        scopes.join(' '),
        ...resources.map((uri) => `for ${uri}`),
      ]
        .filter((part) => part !== '')
        .join(', '),
    ),
    ...tokens.map(
      ({ id, name, resource, scopes, expires_at: expiresAt, last_used_at: usedAt }) =>
        `personal token ${id}: ${JSON.stringify(name)} for ${resource}, ${[scopes.join(' '), `until ${expiresAt}`, usedAt === undefined ? 'never used' : hourOfUse(usedAt)].filter((part) => part !== '').join(', ')}`,
    ),
    ...acting.map(
      ({ client_id: clientId, applications, agent, active, scopes, resources, ...times }) =>
        `acting: ${clientId}${agent ? ' (agent)' : ''} through ${applications.join(' ')} since ${times.since}, ${hourOfUse(times.last_used_at)}, ${[active ? 'active' : 'nothing active', scopes.join(' '), ...resources.map((uri) => `for ${uri}`)].filter((part) => part !== '').join(', ')}`,
    ),
    ...consents.flatMap(({ client_id: clientId, entries }) =>
      entries.map(({ scopes, resources, authorization_details: details, given_at: givenAt }) => {
        const rights = [...scopes, ...details.map(({ type }) => String(type))].join(' ');
        return [`${clientId} since ${givenAt}: ${rights}`, ...resources].join(', for ');
      }),
    ),
  ]);
}

/** @param startsAt when the hour began, which is all that is known of a use */
function hourOfUse(startsAt: string): string {
  return `last used between ${startsAt} and ${new Date(Date.parse(startsAt) + 60 * 60 * 1000).toISOString()}`;
}

/** What a user signs in with besides the password. */
function factorLines(factors: FactorsView): readonly string[] {
  const { authenticator_app_added_at: addedAt, recovery_codes: codes, count_from: from } = factors;
  const keyLine = (kind: string) => (one: FactorsView['security_keys'][number]) => {
    const use = one.last_used_at === undefined ? 'never used' : `last used ${one.last_used_at}`;
    return `${kind} ${one.id} ${JSON.stringify(one.name)}: added ${one.added_at}, ${use}`;
  };
  const lines = [
    ...factors.passkeys.map(keyLine('passkey')),
    ...factors.security_keys.map(keyLine('security key')),
  ];
  if (addedAt !== undefined) lines.push(`authenticator app: added ${addedAt}`);
  if (from !== undefined) lines.push(`changed with a recovery code: counts in full from ${from}`);
  return lines.length === 0 ? [] : [...lines, `recovery codes: ${codes} unused`];
}

function lockLines(locks: readonly LockView[] | undefined, name: string): readonly string[] {
  if (locks === undefined)
    return [
      'locked: unknown, because this command does not have the secret of the server (--secret-file or GRANTD_SECRET)',
    ];
  return locks.map((lock) => `locked: ${lockInWords(lock, name)}`);
}
