import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { Group } from '../data/groups.ts';
import { nameProblem, type Person } from '../data/people.ts';
import { AccessEnding } from '../people/groups.ts';
import {
  type CommandParts,
  databaseFlags,
  labelled,
  printList,
  printOne,
  requirePerson,
  timeOf,
  withInstance,
} from './command.ts';
import { BadUsage } from './exit.ts';

interface DescriptionFlags extends GivenFlags {
  readonly description?: string;
}

interface GroupRemoveFlags extends GivenFlags {
  readonly yes?: true;
}

export function groupCommands(): Command {
  const commands = new Command('group').description('groups of users');
  databaseFlags(commands.command('add <NAME>').description('add a group. Its name is fixed'), ['create'])
    .option('--description <TEXT>', 'what the group is for')
    .addHelpText(
      'after',
      `
  grantd group add staff --description "Everyone on the payroll"
  grantd group add-member staff bob carol
  grantd client update payroll --allow-group staff`,
    )
    .action(async (name: string, { description = '', ...flags }: DescriptionFlags) => {
      requireGroupName(name);
      requireDescription(description);
      await withInstance(flags, 'may_create_database', (parts) => addGroup(parts, name, description));
    });
  databaseFlags(commands.command('update <NAME>').description('change the description of a group'))
    .requiredOption('--description <TEXT>', 'what the group is for')
    .action((name: string, { description = '', ...flags }: DescriptionFlags) => {
      requireDescription(description);
      return withInstance(flags, 'needs_database', (parts) => describeGroup(parts, name, description));
    });
  databaseFlags(commands.command('list').description('list all groups')).action((flags: GivenFlags) =>
    withInstance(flags, 'needs_database', listGroups),
  );
  databaseFlags(
    commands.command('show <NAME>').description('show a group with the clients that it may use'),
  ).action((name: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => showGroup(parts, name)),
  );
  databaseFlags(
    commands
      .command('remove <NAME>')
      .description('delete a group with its memberships. Refused while a client is for the group'),
  )
    .option('--yes', 'required, because this cannot be undone')
    .action((name: string, { yes, ...flags }: GroupRemoveFlags) => {
      if (!yes) throw new BadUsage('--yes: required, because a removal cannot be undone');
      return withInstance(flags, 'needs_database', (parts) => removeGroup(parts, name));
    });
  databaseFlags(
    commands
      .command('add-member <GROUP> <USER...>')
      .description('add users to a group. UserInfo shows it at once, and new tokens contain it'),
  ).action((name: string, users: readonly string[], flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => changeMembers(parts, name, users, joinGroup)),
  );
  databaseFlags(
    commands
      .command('remove-member <GROUP> <USER...>')
      .description(
        'remove users from a group, and revoke their tokens of the clients that they may no longer use',
      ),
  ).action((name: string, users: readonly string[], flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => changeMembers(parts, name, users, leaveGroup)),
  );
  return commands;
}

/** @throws {BadUsage} the text cannot name a group */
function requireGroupName(name: string): void {
  const expected = nameProblem(name);
  if (expected !== undefined) throw new BadUsage(`NAME: expected ${expected}, got ${JSON.stringify(name)}`);
}

const MAX_DESCRIPTION = 500;

function requireDescription(description: string): void {
  if (/^[^\p{C}]*$/u.test(description) && description.length <= MAX_DESCRIPTION) return;
  throw new BadUsage(`--description: expected visible characters, at most ${MAX_DESCRIPTION}`);
}

async function addGroup(parts: CommandParts, name: string, description: string): Promise<void> {
  if (!(await parts.groups.add({ name, description }, Date.now())))
    throw new Refused(
      `group ${name} already exists, or a group whose name differs only by case, width or look-alike letters: choose another name.`,
    );
  printOne(parts, { name, description, members: 0 }, [`added the group ${name}`]);
}

async function describeGroup(parts: CommandParts, name: string, description: string): Promise<void> {
  const group = await requireGroup(parts, name);
  if (!(await parts.groups.describe(group.name, description))) throw removedMeanwhile(group.name);
  printOne(parts, shown({ ...group, description }), [`updated the group ${group.name}`]);
}

async function listGroups(parts: CommandParts): Promise<void> {
  printList(parts, (await parts.groups.list()).map(shown), {
    NAME: ({ name }) => name,
    MEMBERS: ({ members }) => String(members),
    DESCRIPTION: ({ description }) => description,
  });
}

async function showGroup(parts: CommandParts, name: string): Promise<void> {
  const group = await requireGroup(parts, name);
  const clients = await clientsFor(parts, group.name);
  printOne(
    parts,
    { ...shown(group), clients },
    labelled({
      name: group.name,
      description: group.description || undefined,
      members: `${group.members} (grantd user list --group ${JSON.stringify(group.name)})`,
      clients: clients.join(' ') || undefined,
      added: timeOf(group.createdAtMs),
    }),
  );
}

async function removeGroup(parts: CommandParts, name: string): Promise<void> {
  const group = await requireGroup(parts, name);
  const [client] = await clientsFor(parts, group.name);
  if (client !== undefined)
    throw new Refused(
      `the client ${client} is for the group ${group.name}: first run grantd client update ${client} with other groups (--allow-group) or with --allow-everyone.`,
    );
  if (!(await parts.groups.remove(group.name))) throw removedMeanwhile(group.name);
  printOne(parts, { name: group.name, removed: true, members: group.members }, [
    `removed the group ${group.name}, which had ${inWords(group.members)}`,
  ]);
}

type MemberChange = (parts: CommandParts, group: Group, person: Person) => Promise<MemberOutcome>;

interface MemberOutcome {
  readonly name: string;
  readonly changed: boolean;
  /** Clients whose tokens for the user were revoked. */
  readonly revoked?: readonly string[];
}

/** Looks up every user before the first change. */
async function changeMembers(
  parts: CommandParts,
  name: string,
  users: readonly string[],
  change: MemberChange,
): Promise<void> {
  const group = await requireGroup(parts, name);
  const people: Person[] = [];
  for (const user of users) people.push(await requirePerson(parts, user));
  const outcomes: MemberOutcome[] = [];
  for (const person of people) outcomes.push(await change(parts, group, person));
  const lines = outcomes.map(({ name: user, changed, revoked }) => {
    if (!changed) return `${user} ${revoked === undefined ? 'is already in' : 'was not in'} ${group.name}`;
    if (revoked === undefined) return `added ${user} to ${group.name}`;
    const clients = revoked.length === 0 ? '' : ` and revoked their tokens of ${revoked.join(', ')}`;
    return `removed ${user} from ${group.name}${clients}`;
  });
  printOne(parts, { group: group.name, members: outcomes }, lines);
}

/** Adds a user to a group. */
export async function joinGroup(parts: CommandParts, group: Group, person: Person): Promise<MemberOutcome> {
  const { name, subject } = person;
  const changed = await parts.groups.addMember({ subject, group: group.name }, Date.now());
  if (Object.hasOwn(person.claims, 'groups'))
    console.error(
      `grantd: applications do not see the groups of ${name}, because a claim groups is stored: grantd user update ${name} --remove-claim groups removes it`,
    );
  return { name, changed };
}

/** Removes a user from a group, and revokes the tokens of clients that the user may no longer use. */
export async function leaveGroup(parts: CommandParts, group: Group, person: Person): Promise<MemberOutcome> {
  const { name, subject } = person;
  const ended = await new AccessEnding(parts).leaveGroup({ subject, group: group.name });
  return { name, changed: ended !== undefined, revoked: ended?.clientIds ?? [] };
}

/** @throws {Refused} the group does not exist */
export async function requireGroup({ groups }: Pick<CommandParts, 'groups'>, name: string): Promise<Group> {
  const group = await groups.byName(name);
  if (group === undefined)
    throw new Refused(
      `there is no group ${name}: grantd group list shows all groups, and grantd group add ${JSON.stringify(name)} adds it.`,
    );
  return group;
}

/** IDs of the clients that are for a group. */
async function clientsFor({ storage }: CommandParts, group: string): Promise<readonly string[]> {
  const clients = await storage.clients.list();
  return clients.filter(({ metadata }) => metadata?.allowed_groups?.includes(group)).map(({ id }) => id);
}

function shown({ name, description, members, createdAtMs }: Group) {
  return { name, description, members, createdAt: timeOf(createdAtMs) };
}

function removedMeanwhile(name: string): Refused {
  return new Refused(`another command has just removed the group ${name}.`);
}

function inWords(members: number): string {
  return members === 1 ? '1 member' : `${members} members`;
}
