import type { Command } from 'commander';
import { call } from '../admin/in_process.ts';
import type { GivenFlags } from '../config/configuration.ts';
import {
  type AdministrationParts,
  administrationFlags,
  printOne,
  warn,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';
import { operationCommands } from './operation_commands.ts';
import { userNamed } from './user_named.ts';

export function groupCommands(): Command {
  const group = operationCommands('group', 'manage groups of users', {
    updateGroup: {
      input(_, { description, sign_in_policy: policy }) {
        if (description === undefined && policy === undefined)
          throw new BadUsage('name what to change: --description, --sign-in-policy or --no-sign-in-policy');
        return {};
      },
    },
  });
  administrationFlags(
    group
      .command('add-member <GROUP> <USER...>')
      .description('add users to a group. UserInfo shows the new group at once, and new tokens contain it'),
  ).action((name: string, users: readonly string[], flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => changeMembers(parts, name, users, 'addMember')),
  );
  administrationFlags(
    group
      .command('remove-member <GROUP> <USER...>')
      .description(
        'remove users from a group, and revoke their tokens of the clients that they may no longer use',
      ),
  ).action((name: string, users: readonly string[], flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => changeMembers(parts, name, users, 'removeMember')),
  );
  return group;
}

/** Looks up every user before the first change. */
async function changeMembers(
  parts: AdministrationParts,
  typed: string,
  names: readonly string[],
  change: 'addMember' | 'removeMember',
): Promise<void> {
  const { name: group } = await call(parts.admin, 'getGroup', { group: typed });
  const users = [];
  for (const name of names) users.push(await userNamed(parts.admin, name));
  const members = [];
  for (const { sub, username } of users) {
    const { warnings, ...outcome } = await call(parts.admin, change, { group, sub });
    warn(warnings);
    members.push({ username, ...outcome });
  }
  const lines = members.map(({ username, changed, revoked }) => {
    if (!changed) return `${username} ${revoked === undefined ? 'is already in' : 'was not in'} ${group}`;
    if (revoked === undefined) return `added ${username} to ${group}`;
    const clients = revoked.length === 0 ? '' : ` and revoked their tokens of ${revoked.join(', ')}`;
    return `removed ${username} from ${group}${clients}`;
  });
  printOne(parts, { group, members }, lines);
}
