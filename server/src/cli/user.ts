import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../instance/refused.ts';
import { claimsOf } from '../people/claims.ts';
import { isName } from '../people/names.ts';
import { PasswordHasher } from '../people/password_hasher.ts';
import type { NewPerson } from '../people/people.ts';
import { collect, databaseFlags } from './database_flags.ts';
import { BadUsage } from './exit.ts';
import { printList, printOne, timeOf } from './output.ts';
import { requirePerson } from './require_person.ts';
import { readStandardInput } from './standard_input.ts';
import { endSessions, endSessionsOf, setPassword, showPerson } from './user_sessions.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

const LEAST_PASSWORD_CHARACTERS = 8;

interface UserAddFlags extends GivenFlags {
  readonly passwordStdin?: true;
  readonly claim?: readonly string[];
}

export function userCommands(): Command {
  const group = new Command('user').description('people who sign in');
  databaseFlags(group.command('add <NAME>').description('add a person'), ['create'])
    .option('--password-stdin', 'take the password from standard input; required')
    .option(
      '--claim <NAME=VALUE>',
      'what UserInfo tells about them: JSON where it is JSON, else text; repeatable',
      collect,
    )
    .addHelpText(
      'after',
      `
  grantd user add bob --password-stdin --claim name="Bob Builder" --claim email_verified=true < password.txt`,
    )
    .action(async (name: string, flags: UserAddFlags) => {
      const person = await personFrom(name, flags);
      await withInstance(flags, 'may_make_database', (parts) => addPerson(parts, person));
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
    .action(async (name: string, flags: UserAddFlags) => {
      const passwordHash = await typedPasswordHash(flags);
      await withInstance(flags, 'needs_database', (parts) => setPassword(parts, name, passwordHash));
    });
  databaseFlags(
    group
      .command('end-sessions <NAME>')
      .description('sign a person out of all browsers, and end what rests upon their sessions, at once'),
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

async function personFrom(name: string, { claim = [], ...flags }: UserAddFlags): Promise<NewPerson> {
  if (!isName(name))
    throw new BadUsage('NAME: expected visible characters, at most 128, without space around them');
  const claims = Object.fromEntries(claim.map(claimFrom));
  return { name, claims, passwordHash: await typedPasswordHash(flags) };
}

/** The flag is asked for only after the name, which people forget rather. */
async function typedPasswordHash({ passwordStdin }: UserAddFlags): Promise<string> {
  if (!passwordStdin) throw new BadUsage('--password-stdin: expected, with the password on standard input');
  const password = await readStandardInput('the password');
  if (password.length < LEAST_PASSWORD_CHARACTERS)
    throw new BadUsage(`--password-stdin: expected at least ${LEAST_PASSWORD_CHARACTERS} characters`);
  return new PasswordHasher().hash(password);
}

async function addPerson(parts: CommandParts, newPerson: NewPerson): Promise<void> {
  const person = await parts.people.add(newPerson);
  if (person === undefined)
    throw new Refused(`there is a person ${newPerson.name} already: choose another name.`);
  const { name, subject } = person;
  printOne(parts, { name, sub: subject }, [`added ${name}, sub ${subject}`]);
}

/** `name=value`, the value as JSON where it is JSON. */
function claimFrom(text: string): [string, unknown] {
  const [name, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
  if (!text.includes('=') || name === '') throw new BadUsage('--claim: expected NAME=VALUE');
  if (name === 'sub') throw new BadUsage('--claim: sub is random and cannot be chosen');
  try {
    return [name, JSON.parse(value)];
  } catch {
    return [name, value];
  }
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
