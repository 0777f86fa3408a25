import type { Command } from 'commander';
import { all } from '../admin/in_process.ts';
import { cursorOf } from '../admin/operation.ts';
import type { Input } from '../admin/table.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { nameAsKept } from '../data/people.ts';
import { type AdministrationParts, databaseFlags, printList, withAdministration } from './command.ts';
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
    input: {
      ...(search !== undefined && { search }),
      ...(group !== undefined && { group }),
      ...(state !== undefined && { state }),
      // A cursor is the last name of the page before.
      ...(after !== undefined && { cursor: cursorOf(nameAsKept(after)) }),
    },
    most,
  };
}

interface ListWish {
  readonly input: Input<'listUsers'>;
  readonly most: number | undefined;
}

async function listPeople(parts: AdministrationParts, { input, most }: ListWish): Promise<void> {
  printList(parts, await all(parts.admin, 'listUsers', input, most), {
    NAME: ({ username }) => username,
    SUB: ({ sub }) => sub,
    ADDED: ({ created_at: createdAt }) => createdAt,
    DISABLED: ({ disabled_at: disabledAt = '' }) => disabledAt,
  });
}
