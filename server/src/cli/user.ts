import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { claimsOf } from '../people/claims.ts';
import { isPasswordHash, PasswordHasher } from '../people/password_hasher.ts';
import type { NewPerson } from '../people/people.ts';
import { collect, databaseFlags } from './database_flags.ts';
import { BadUsage } from './exit.ts';
import { printList, printOne, timeOf } from './output.ts';
import { requirePerson } from './require_person.ts';
import { readStandardInput } from './standard_input.ts';
import {
  type ClaimFlags,
  changeOf,
  claimFlags,
  claimsAfter,
  nameTaken,
  requireName,
  type UserUpdateFlags,
  updatePerson,
} from './user_claims.ts';
import { endSessions, endSessionsOf, removePerson, setPassword, showPerson } from './user_sessions.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

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
