import type { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { claimsOf, nameAsKept } from '../data/people.ts';
import type { Listed, ListWish } from '../operations/people.ts';
import { type AdministrationParts, databaseFlags, printList, timeOf, withAdministration } from './command.ts';
import { BadUsage } from './exit.ts';

/** Adds the command `list`. */
export function addListCommand(group: Command): void {
  databaseFlags(group.command('list').description('list users, sorted by name'))
    .option('--search <TEXT>', 'only users with this text in the username, e-mail address, name or phone')
    .option('--group <NAME>', 'only members of this group')
    .option('--state <STATE>', 'only users in this state: active or disabled')
    .option('--limit <N>', 'maximum number of users to print')
    .option(
      '--after <NAME>',
      'only users whose names come after this one. For the next page, pass the last name of the previous page',
    )
    .addHelpText(
      'after',
      `
  grantd user list --search example.com --state disabled
  grantd user list --group staff --limit 100 --after bob`,
    )
    .action((flags: UserListFlags) => {
      const wish = listWishOf(flags);
      return withAdministration(flags, 'needs_database', (parts) => listPeople(parts, wish));
    });
}

interface UserListFlags extends GivenFlags {
  readonly search?: string;
  readonly group?: string;
  readonly state?: string;
  readonly limit?: string;
  readonly after?: string;
}

/** @throws {BadUsage} a value is invalid */
function listWishOf({ search, group, state, limit, after }: UserListFlags): ListWish {
  if (state !== undefined && state !== 'active' && state !== 'disabled')
    throw new BadUsage(`--state: expected active or disabled, got ${JSON.stringify(state)}`);
  const most = limit === undefined ? undefined : Number(limit);
  if (most !== undefined && !(Number.isSafeInteger(most) && most >= 1))
    throw new BadUsage(`--limit: expected a whole number from 1, got ${JSON.stringify(limit)}`);
  if (search === '') throw new BadUsage('--search: expected a part of a name or address');
  return {
    ...(search !== undefined && { search }),
    ...(group !== undefined && { group }),
    ...(state !== undefined && { state }),
    ...(most !== undefined && { limit: most }),
    ...(after !== undefined && { after: nameAsKept(after) }),
  };
}

async function listPeople(parts: AdministrationParts, wish: ListWish): Promise<void> {
  const people = (await parts.admin.listPeople(wish)).map(describedPerson);
  printList(parts, people, {
    NAME: ({ name }) => name,
    SUB: ({ sub }) => sub,
    ADDED: ({ createdAt }) => createdAt ?? '',
    DISABLED: ({ disabledAt }) => disabledAt ?? '',
  });
}

function describedPerson(person: Listed) {
  const disabledAt = timeOf(person.disabledAtMs);
  return {
    name: person.name,
    sub: person.subject,
    claims: claimsOf(person),
    ...(person.groups !== undefined && { groups: person.groups }),
    createdAt: timeOf(person.createdAtMs),
    ...(disabledAt !== undefined && { disabledAt }),
  };
}
