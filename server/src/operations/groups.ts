import type { FurtherPolicy } from '../config/acr.ts';
import type { Configuration } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { Group, NewGroup } from '../data/groups.ts';
import { nameProblem, type Person } from '../data/people.ts';
import { AccessEnding, membersWhoSignIn } from '../people/groups.ts';
import {
  changedByOthers,
  InvalidInput,
  MAX_ATTEMPTS,
  type OperationParts,
  OperationRefused,
  requireReachable,
} from './operation.ts';

/** @throws {InvalidInput} the text cannot name a group */
export function requireGroupName(name: string): void {
  const expected = nameProblem(name);
  if (expected !== undefined)
    throw new InvalidInput('name', `expected ${expected}, got ${JSON.stringify(name)}`);
}

export const MAX_DESCRIPTION = 500;

/** @throws {InvalidInput} the text cannot describe a group */
export function requireDescription(description: string): void {
  if (/^[^\p{C}]*$/u.test(description) && description.length <= MAX_DESCRIPTION) return;
  throw new InvalidInput('description', `expected visible characters, at most ${MAX_DESCRIPTION}`);
}

/**
 * @throws {InvalidInput} a value is invalid
 * @throws {OperationRefused} the name is taken
 */
export async function addGroup(parts: OperationParts, group: NewGroup): Promise<Group> {
  const { name, description, signInPolicy } = group;
  requireGroupName(name);
  requireDescription(description);
  requireReachable(parts, signInPolicy);
  if (!(await parts.groups.add(group, parts.clock())))
    throw new OperationRefused(
      'conflict',
      `group ${name} already exists, or a group whose name differs only by case, width or look-alike letters`,
      'choose another name.',
    );
  return requireGroup(parts, name);
}

/** Changes to a group. `null` as the policy removes it. */
export interface GroupChange {
  readonly description?: string | undefined;
  readonly signInPolicy?: FurtherPolicy | null | undefined;
}

/**
 * Changes the description and policy of a group.
 * @param requireVersion throws if the change is meant for another version
 * @throws {InvalidInput} a value is invalid
 * @throws {OperationRefused} the group does not exist, or concurrent changes won every attempt
 */
export async function changeGroup(
  parts: OperationParts,
  name: string,
  change: GroupChange,
  requireVersion?: (group: Group) => void,
): Promise<Group> {
  const { description, signInPolicy } = change;
  if (description !== undefined) requireDescription(description);
  requireReachable(parts, signInPolicy ?? undefined);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const group = await requireGroup(parts, name);
    requireVersion?.(group);
    const changed = {
      ...group,
      description: description ?? group.description,
      signInPolicy: signInPolicy === undefined ? group.signInPolicy : (signInPolicy ?? undefined),
    };
    if (await parts.groups.change(group.name, changed, group)) return changed;
  }
  throw changedByOthers(`the group ${name}`);
}

/** @throws {OperationRefused} a client is for the group, or the group does not exist */
export async function removeGroup(parts: OperationParts, name: string): Promise<Group> {
  const group = await requireGroup(parts, name);
  const [client] = await clientsFor(parts, group.name);
  if (client !== undefined)
    throw new OperationRefused(
      'conflict',
      `the client ${client} is for the group ${group.name}`,
      `first run grantd client update ${client} with other groups (--allow-group) or with --allow-everyone.`,
    );
  if (!(await parts.groups.remove(group.name))) throw removedMeanwhile(group.name);
  return group;
}

export interface MemberOutcome {
  readonly name: string;
  readonly changed: boolean;
  /** Clients whose tokens for the user were revoked. */
  readonly revoked?: readonly string[];
}

/** Adds a user to a group. Warns if applications do not see the groups of the user. */
export async function joinGroup(
  parts: OperationParts,
  group: Group,
  person: Person,
  warn: (warning: string) => void,
): Promise<MemberOutcome> {
  const { name, subject } = person;
  const changed = await parts.groups.addMember({ subject, group: group.name }, parts.clock());
  if (Object.hasOwn(person.claims, 'groups'))
    warn(
      `applications do not see the groups of ${name}, because a claim groups is stored: grantd user update ${name} --remove-claim groups removes it`,
    );
  return { name, changed };
}

/** Removes a user from a group, and revokes the tokens of clients that the user may no longer use. */
export async function leaveGroup(
  parts: OperationParts,
  group: Group,
  person: Person,
): Promise<MemberOutcome> {
  const { name, subject } = person;
  const ended = await new AccessEnding(parts).leaveGroup({ subject, group: group.name });
  return { name, changed: ended !== undefined, revoked: ended?.clientIds ?? [] };
}

/** Whether one of the groups is the group of administrators. */
export function includesAdminGroup(
  { configuration }: Pick<OperationParts, 'configuration'>,
  groups: readonly string[] = [],
): boolean {
  const { adminGroup } = configuration.settings;
  return adminGroup !== undefined && groups.includes(adminGroup);
}

/** Without its group of administrators, a server does not start. @throws {OperationRefused} it is this group */
export function requireNotAdminGroup(parts: Pick<OperationParts, 'configuration'>, name: string): void {
  if (includesAdminGroup(parts, [name]))
    throw new OperationRefused('conflict', 'the group of administrators cannot be removed');
}

/**
 * Leaving the group is the only step by which a server takes an administrator, because only there it can make sure that
 * one remains.
 * @throws {OperationRefused} they are an administrator
 */
export function requireNotAdministrator(
  parts: Pick<OperationParts, 'configuration'>,
  { groups }: Pick<Person, 'groups'>,
): void {
  if (includesAdminGroup(parts, groups))
    throw new OperationRefused(
      'conflict',
      'an administrator cannot be disabled: first remove them from the group of administrators',
    );
}

/**
 * Removes a user from the group of administrators while another administrator stays.
 * @throws {OperationRefused} there is no other one who can sign in
 */
export async function leaveAdministrators(
  parts: OperationParts,
  { name, subject }: Person,
): Promise<MemberOutcome> {
  const { adminGroup = '' } = parts.configuration.settings;
  const ended = await new AccessEnding(parts).leaveUnlessLast({ subject, group: adminGroup });
  if (ended === 'last')
    throw new OperationRefused(
      'conflict',
      `${name} is the last administrator who can sign in: first add another one to the group ${adminGroup}`,
    );
  return { name, changed: ended !== undefined, revoked: ended?.clientIds ?? [] };
}

/** What to tell an operator who has just removed the group of administrators. */
export const WITHOUT_GROUP =
  'it was the group of administrators: a server with --admin-group does not start without it';

/**
 * Commands may take the last administrator, because commands can also add one.
 * @returns what to tell an operator who has just done so
 */
export async function administratorWarnings(
  parts: Pick<OperationParts, 'configuration' | 'people' | 'storage'>,
): Promise<readonly string[]> {
  const { adminGroup } = parts.configuration.settings;
  if (adminGroup === undefined) return [];
  if ((await membersWhoSignIn(parts, adminGroup)).length > 0) return [];
  return [
    `no administrator is left who can sign in: grantd group add-member ${JSON.stringify(adminGroup)} USERNAME adds one`,
  ];
}

/**
 * Removes an administrator for another one, who stays. So one always remains, also if two remove each other at the same
 * time.
 * @param by subject of the other one
 * @throws {OperationRefused} they are the same, or the other one is no longer an administrator; nobody is removed
 */
export async function removeAdministrator(
  parts: OperationParts,
  group: Group,
  { name, subject }: Person,
  by: string,
): Promise<MemberOutcome> {
  if (subject === by)
    throw new OperationRefused('conflict', 'administrators cannot remove themselves: another one has to');
  const ended = await new AccessEnding(parts).leaveGroup({ subject, group: group.name }, by);
  if (ended === undefined && (await parts.people.bySubject(by))?.groups?.includes(group.name) !== true)
    throw new OperationRefused('changed', 'you are no longer an administrator');
  return { name, changed: ended !== undefined, revoked: ended?.clientIds ?? [] };
}

/** @throws {OperationRefused} the group does not exist */
export async function requireGroup({ groups }: Pick<OperationParts, 'groups'>, name: string): Promise<Group> {
  const group = await groups.byName(name);
  if (group === undefined)
    throw new OperationRefused(
      'not_found',
      `there is no group ${name}`,
      `grantd group list shows all groups, and grantd group add ${JSON.stringify(name)} adds it.`,
    );
  return group;
}

/** @throws {Refused} the group of administrators does not exist */
export async function requireAdminGroup(
  { groups }: Pick<OperationParts, 'groups'>,
  { settings: { adminGroup }, sourceOf }: Configuration,
): Promise<void> {
  if (adminGroup === undefined || (await groups.byName(adminGroup))?.name === adminGroup) return;
  throw new Refused(
    `${sourceOf('adminGroup')}: there is no group ${adminGroup}: add it first with grantd group add ${JSON.stringify(adminGroup)}.`,
  );
}

/** IDs of the clients that are for a group. */
export async function clientsFor(
  { storage }: Pick<OperationParts, 'storage'>,
  group: string,
): Promise<readonly string[]> {
  const clients = await storage.clients.list();
  return clients.filter(({ metadata }) => metadata?.allowed_groups?.includes(group)).map(({ id }) => id);
}

function removedMeanwhile(name: string): OperationRefused {
  return new OperationRefused('changed', `another command has just removed the group ${name}`);
}
