import { Command } from 'commander';
import { labelled } from '../admin/command_form.ts';
import { endAccess, requirePerson } from '../admin/user_rules.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { OPTION_NAMES, type OptionName } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { isName, nameAsKept } from '../data/names.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import { type DirectoryEntry, DirectoryFault, type SearchableDirectory } from '../directory/contract.ts';
import { openDirectory } from '../directory/directory.ts';
import { refuseContradictoryDirectory } from '../serve/exposure.ts';
import { type CommandParts, databaseFlags, printOne, withInstance } from './command.ts';
import { BadUsage } from './exit.ts';

/** The options of the directory. */
const LDAP_OPTIONS: readonly OptionName[] = OPTION_NAMES.filter((name) => name.startsWith('ldap'));

export function directoryCommands(): Command {
  const group = new Command('directory').description(
    'test and link users of an LDAP directory or Active Directory',
  );
  databaseFlags(
    group
      .command('test <USERNAME>')
      .description(
        'look a user up in the directory, and print the claims and groups that a sign-in would set. You do not need the user’s password',
      ),
    LDAP_OPTIONS,
  )
    .addHelpText('after', '\n  grantd directory test bob --config /etc/grantd/grantd.json')
    .action((name: string, flags: GivenFlags) => {
      const wanted = typedName(name);
      return withInstance(flags, 'needs_database', (parts) => test(parts, wanted));
    });
  databaseFlags(
    group
      .command('link <USERNAME>')
      .description(
        'let the directory check the password of a local user from now on. Deletes the local password and ends the user’s sessions and tokens',
      ),
    LDAP_OPTIONS,
  )
    .option('--as <NAME>', 'the username in the directory; default: USERNAME')
    .addHelpText('after', '\n  grantd directory link bob --as bob.builder')
    .action((name: string, { as, ...flags }: GivenFlags) => {
      const wanted = typedName(typeof as === 'string' ? as : name);
      return withInstance(flags, 'needs_database', (parts) => link(parts, name, wanted));
    });
  return group;
}

function typedName(name: string): string {
  if (!isName(name)) throw new BadUsage(`USERNAME: expected a username, got ${JSON.stringify(name)}`);
  return nameAsKept(name);
}

/** @throws {Refused} the directory does not answer as expected */
async function inDirectory<T>(
  { configuration }: CommandParts,
  work: (directory: SearchableDirectory) => Promise<T>,
): Promise<T> {
  refuseContradictoryDirectory(configuration);
  const directory = await openDirectory(configuration, process.env);
  if (directory === undefined)
    throw new BadUsage(`${configuration.sourceOf('ldapUrl')}: required, as for the server itself`);
  try {
    return await work(directory);
  } catch (error) {
    if (error instanceof DirectoryFault) throw new Refused(`${error.message}.`, { cause: error });
    throw error;
  } finally {
    directory.close();
  }
}

/** @throws {Refused} the filter finds no entry, or several */
async function requireUser(directory: SearchableDirectory, name: string): Promise<DirectoryEntry> {
  const [user, other] = await directory.find(name);
  if (user === undefined)
    throw new Refused(
      `the directory has no user ${name}, or the server’s account cannot see them: check --ldap-base, --ldap-filter and the access rules of the directory.`,
    );
  if (other !== undefined)
    throw new Refused(
      `the filter finds several entries for ${name}, such as ${user.dn} and ${other.dn}: nobody could sign in with this name. Narrow --ldap-filter or --ldap-base.`,
    );
  return user;
}

async function test(parts: CommandParts, name: string): Promise<void> {
  await inDirectory(parts, async (directory) => {
    const user = await requireUser(directory, name);
    const linked = await parts.people.byDirectoryId(user.id);
    const named = linked ?? (await parts.people.byName(user.names[0]));
    const existing = new Set((await parts.groups.list()).map((group) => group.name));
    const missing = user.groups.filter((group) => !existing.has(group));
    const account =
      linked !== undefined
        ? `${linked.name}, sub ${linked.subject}`
        : named === undefined
          ? 'none yet; the first sign-in adds it'
          : named.passwordHash === NO_PASSWORD
            ? `none; ${named.name} is another user, so the sign-in is refused (grantd directory link)`
            : `none; ${named.name} is a local user, who signs in with the local password (grantd directory link)`;
    printOne(
      parts,
      {
        ...{ dn: user.dn, id: user.id, usernames: user.names, claims: user.claims, groups: user.groups },
        ...{ missingGroups: missing, directoryGroups: user.directoryGroups, disabled: user.isDisabled },
        ...(linked !== undefined && { sub: linked.subject }),
      },
      [
        ...labelled({
          entry: user.dn,
          id: user.id,
          username: user.names.join(', '),
          state: user.isDisabled ? 'disabled, so the sign-in is refused' : undefined,
          user: account,
          groups: user.groups.join(', ') || undefined,
        }),
        ...Object.entries(user.claims).map(([claim, value]) => `claim ${claim}: ${JSON.stringify(value)}`),
        ...user.directoryGroups.map((dn) => `group in the directory: ${dn}`),
        ...missing.map(
          (group) => `the group ${group} does not exist here: grantd group add ${JSON.stringify(group)}`,
        ),
      ],
    );
  });
}

async function link(parts: CommandParts, name: string, wanted: string): Promise<void> {
  const person = await requirePerson(parts, name);
  await inDirectory(parts, async (directory) => {
    const user = await requireUser(directory, wanted);
    const { subject } = person;
    if (!(await parts.people.setDirectoryId(subject, user.id))) {
      const other = await parts.people.byDirectoryId(user.id);
      throw new Refused(
        `the entry ${user.dn} belongs to ${other === undefined ? 'another user' : `the user ${other.name}`} already.`,
      );
    }
    // After the change, no session can start with the old password.
    const { ended } = await endAccess(parts, person, 'directory_linked');
    printOne(parts, { name: person.name, sub: subject, directoryId: user.id, sessionsEnded: ended }, [
      `${person.name} signs in through the directory as ${user.dn} from now on; deleted the local password and ended ${ended} sessions`,
    ]);
  });
}
