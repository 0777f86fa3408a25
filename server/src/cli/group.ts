import { SIGN_IN_POLICIES } from '@grantd/core';
import { Command, Option } from 'commander';
import * as groups from '../admin/groups.ts';
import { all, call } from '../admin/in_process.ts';
import type { Input } from '../admin/table.ts';
import type { FurtherPolicy } from '../config/acr.ts';
import type { GivenFlags } from '../config/configuration.ts';
import {
  type AdministrationParts,
  databaseFlags,
  labelled,
  namingFlags,
  printList,
  printOne,
  warn,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';
import { userNamed } from './user_named.ts';

interface FactFlags extends GivenFlags {
  readonly description?: string;
  /** `false` with `--no-sign-in-policy`. */
  readonly signInPolicy?: string | false;
}

interface GroupRemoveFlags extends GivenFlags {
  readonly yes?: true;
}

export function groupCommands(): Command {
  const commands = new Command('group').description('manage groups of users');
  databaseFlags(commands.command('add <NAME>').description('add a group. Its name cannot be changed later'), [
    'create',
  ])
    .option('--description <TEXT>', 'what the group is for, as a text')
    .addOption(policyOption())
    .addHelpText(
      'after',
      `
  grantd group add staff --description "Everyone on the payroll"
  grantd group add-member staff bob carol
  grantd client update payroll --allow-group staff`,
    )
    .action(async (name: string, { description = '', signInPolicy, ...flags }: FactFlags) => {
      namingFlags(FLAGS, () => groups.requireGroupName(name));
      namingFlags(FLAGS, () => groups.requireDescription(description));
      const policy = policyIn(signInPolicy);
      const group = { name, description, ...(policy && { sign_in_policy: policy }) };
      await withAdministration(flags, 'may_create_database', (parts) =>
        namingFlags(FLAGS, () => addGroup(parts, group)),
      );
    });
  databaseFlags(
    commands.command('update <NAME>').description('change the description or the sign-in policy of a group'),
  )
    .option('--description <TEXT>', 'what the group is for, as a text')
    .addOption(policyOption())
    .option(
      '--no-sign-in-policy',
      'remove the sign-in policy of the group. The policies of the server, of clients and of a member’s other groups still apply',
    )
    .action((name: string, { description, signInPolicy, ...flags }: FactFlags) => {
      if (description === undefined && signInPolicy === undefined)
        throw new BadUsage('name what to change: --description, --sign-in-policy or --no-sign-in-policy');
      if (description !== undefined) namingFlags(FLAGS, () => groups.requireDescription(description));
      const policy = policyIn(signInPolicy);
      const change = {
        ...(description !== undefined && { description }),
        ...(policy !== undefined && { sign_in_policy: policy }),
      };
      return withAdministration(flags, 'needs_database', (parts) =>
        namingFlags(FLAGS, () => changeGroup(parts, name, change)),
      );
    });
  databaseFlags(commands.command('list').description('list all groups')).action((flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', listGroups),
  );
  databaseFlags(
    commands.command('show <NAME>').description('show a group with the clients that it may use'),
  ).action((name: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => showGroup(parts, name)),
  );
  databaseFlags(
    commands
      .command('remove <NAME>')
      .description('delete a group with its memberships. Fails while a client is restricted to the group'),
  )
    .option('--yes', 'required, because this cannot be undone')
    .action((name: string, { yes, ...flags }: GroupRemoveFlags) => {
      if (!yes) throw new BadUsage('--yes: required, because a removal cannot be undone');
      return withAdministration(flags, 'needs_database', (parts) => removeGroup(parts, name));
    });
  databaseFlags(
    commands
      .command('add-member <GROUP> <USER...>')
      .description('add users to a group. UserInfo shows the new group at once, and new tokens contain it'),
  ).action((name: string, users: readonly string[], flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => changeMembers(parts, name, users, 'addMember')),
  );
  databaseFlags(
    commands
      .command('remove-member <GROUP> <USER...>')
      .description(
        'remove users from a group, and revoke their tokens of the clients that they may no longer use',
      ),
  ).action((name: string, users: readonly string[], flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => changeMembers(parts, name, users, 'removeMember')),
  );
  return commands;
}

/** Names of values of the operations, as users of the command line know them. */
const FLAGS = { name: 'NAME', description: '--description', sign_in_policy: '--sign-in-policy' };

function policyOption(): Option {
  const about = 'what members need to sign in, if it is more than the server requires of all users';
  return new Option('--sign-in-policy <POLICY>', about).choices(SIGN_IN_POLICIES);
}

/** @returns `null` if the flag removes the policy */
function policyIn(given: string | false | undefined): FurtherPolicy | null | undefined {
  return given === false ? null : SIGN_IN_POLICIES.find((one) => one === given);
}

async function addGroup(parts: AdministrationParts, group: Input<'addGroup'>): Promise<void> {
  printOne(parts, await call(parts.admin, 'addGroup', group), [`added the group ${group.name}`]);
}

async function changeGroup(
  parts: AdministrationParts,
  name: string,
  change: Omit<Input<'updateGroup'>, 'group'>,
): Promise<void> {
  const group = await call(parts.admin, 'updateGroup', { ...change, group: name });
  printOne(parts, group, [`updated the group ${group.name}`]);
}

async function listGroups(parts: AdministrationParts): Promise<void> {
  printList(parts, await all(parts.admin, 'listGroups', {}), {
    NAME: ({ name }) => name,
    MEMBERS: ({ members }) => String(members),
    DESCRIPTION: ({ description }) => description,
  });
}

async function showGroup(parts: AdministrationParts, name: string): Promise<void> {
  const group = await call(parts.admin, 'getGroup', { group: name });
  const clients = (await all(parts.admin, 'listClients', {}))
    .filter(({ allowed_groups: allowed = [] }) => allowed.includes(group.name))
    .map(({ client_id: id }) => id);
  printOne(
    parts,
    { ...group, clients },
    labelled({
      name: group.name,
      description: group.description || undefined,
      'sign-in policy': group.sign_in_policy,
      members: `${group.members} (grantd user list --group ${JSON.stringify(group.name)})`,
      clients: clients.join(' ') || undefined,
      added: group.created_at,
    }),
  );
}

async function removeGroup(parts: AdministrationParts, given: string): Promise<void> {
  const { name, members } = await call(parts.admin, 'getGroup', { group: given });
  await call(parts.admin, 'removeGroup', { group: name });
  printOne(parts, { name, removed: true, members }, [
    `removed the group ${name}, which had ${inWords(members)}`,
  ]);
}

/** Looks up every user before the first change. */
async function changeMembers(
  parts: AdministrationParts,
  given: string,
  names: readonly string[],
  change: 'addMember' | 'removeMember',
): Promise<void> {
  const { name: group } = await call(parts.admin, 'getGroup', { group: given });
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

function inWords(members: number): string {
  return members === 1 ? '1 member' : `${members} members`;
}
