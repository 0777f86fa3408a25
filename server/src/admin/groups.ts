// Groups of users, their members, and the group of administrators.
import { SIGN_IN_POLICIES } from '@grantd/core';
import type { Configuration } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { Group } from '../data/groups.ts';
import { nameProblem } from '../data/names.ts';
import type { Person } from '../data/people.ts';
import type { WaysToSignIn } from '../data/ways_to_sign_in.ts';
import { Administrators, NoAdministratorLeft } from '../people/administrators.ts';
import { AccessEnding } from '../people/groups.ts';
import { hasNoComma } from '../people/import_lines.ts';
import type { Caller } from './caller.ts';
import { labelled } from './command_form.ts';
import {
  type AdminParts,
  change,
  DESCENDING,
  type OperationParts,
  operation,
  PAGING,
  pageOf,
  requireReachable,
} from './operation.ts';
import { InvalidInput, ifGiven, OperationRefused, requireEachFits } from './operation_refused.ts';
import {
  count,
  flag,
  named,
  object,
  oneOf,
  optional,
  page,
  text,
  texts,
  time,
  timeOf,
  type ValueOf,
  WARNINGS,
} from './schema.ts';
import { type Warn, Warning } from './warning.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

export const MAX_DESCRIPTION = 500;

const name = text('The name of the group. It cannot be changed later.', { minLength: 1, maxLength: 128 });
const description = text('What the group is for.', { maxLength: MAX_DESCRIPTION });
const ABOUT_POLICY =
  'What a sign-in of a member needs, if that is stricter than the server’s option signInPolicy: a second factor if the user has added one, a second factor from everyone, or a passkey.';
const policy = oneOf(SIGN_IN_POLICIES, ABOUT_POLICY);

const group = {
  name,
  description,
  'sign_in_policy?': policy,
  members: count('Number of members.'),
  created_at: time('When the group was added.'),
} as const;
const GROUP = named('Group', object(group));
export type GroupView = ValueOf<typeof GROUP>;
const GROUPS = page('Groups', GROUP);
const SHOWN_GROUP = named(
  'ShownGroup',
  object({ ...group, clients: texts('IDs of the clients that are for members of the group.') }),
);
const NEW_GROUP = named('NewGroup', object({ name, 'description?': description, 'sign_in_policy?': policy }));
const GROUP_CHANGE = named(
  'GroupChange',
  object({
    'description?': description,
    'sign_in_policy?': oneOf(
      [...SIGN_IN_POLICIES, null],
      `${ABOUT_POLICY} With null, the option alone decides.`,
    ),
  }),
);
const REMOVED_GROUP = named(
  'RemovedGroup',
  object({ name, members: count('Number of members that the group had.') }),
);
const MEMBERSHIP = named(
  'Membership',
  object({
    changed: flag(
      'Whether the request changed anything. False if the user already was a member (PUT), or was none (DELETE).',
    ),
    'revoked?': texts(
      'IDs of the clients that the user may no longer use. The server has revoked the user’s tokens for them.',
    ),
    warnings: WARNINGS,
  }),
);

function groupView({ name, description, signInPolicy, members, createdAtMs }: Group): GroupView {
  return {
    ...{ name, description },
    ...optional('sign_in_policy', signInPolicy),
    ...{ members, created_at: timeOf(createdAtMs) },
  };
}

/** The version of a group. Other members make no other version. */
export function groupVersion({ name, description, signInPolicy }: Group): object {
  return { name, description, ...optional('sign_in_policy', signInPolicy) };
}

// ── Rules ─────────────────────────────────────────────────────────────────────────────────────────────────

/** @throws {InvalidInput} the text cannot name a group */
export function requireGroupName(name: string): void {
  const expected = nameProblem(name);
  if (expected !== undefined) throw new InvalidInput('name', ['name_form', JSON.stringify(name), expected]);
}

/** @throws {InvalidInput} the text cannot name a new group */
export function requireNewGroupName(name: string): void {
  requireGroupName(name);
  if (!hasNoComma(name)) throw new InvalidInput('name', ['group_comma']);
}

/** @throws {InvalidInput} the text cannot describe a group */
export function requireDescription(description: string): void {
  if (/^[^\p{C}]*$/u.test(description) && description.length <= MAX_DESCRIPTION) return;
  throw new InvalidInput('description', ['description_form', String(MAX_DESCRIPTION)]);
}

export interface MemberOutcome {
  readonly name: string;
  readonly changed: boolean;
  /** Clients whose tokens for the user were revoked. */
  readonly revoked?: readonly string[];
}

type RightsParts = OperationParts & Pick<AdminParts, 'caller'>;

/** Adds a user to a group. Warns if the user becomes an administrator, or if applications do not see their groups. */
export async function joinGroup(
  parts: RightsParts,
  group: Group,
  person: Person,
  warn: Warn,
): Promise<MemberOutcome> {
  const { name, subject } = person;
  const changed = await parts.groups.addMember({ subject, group: group.name }, parts.clock());
  if (changed && parts.caller.isAdminGroup(group.name))
    warn(new Warning('administrator_added', name, group.name));
  if (Object.hasOwn(person.claims, 'groups')) warn(new Warning('groups_hidden', name));
  return { name, changed };
}

/**
 * Removes a user from a group, and revokes the tokens of clients that the user may no longer use. Warns if the user was
 * an administrator.
 */
export async function leaveGroup(
  parts: RightsParts,
  group: Group,
  person: Person,
  warn: Warn,
): Promise<MemberOutcome> {
  const { name, subject } = person;
  const ended = await new AccessEnding(parts).leaveGroup({ subject, group: group.name });
  if (ended !== undefined && parts.caller.isAdminGroup(group.name))
    warn(new Warning('administrator_removed', name, group.name));
  return { name, changed: ended !== undefined, revoked: ended?.clientIds ?? [] };
}

/** Without its group of administrators, a server does not start. @throws {OperationRefused} it is this group */
function requireNotAdminGroup(caller: Caller, name: string): void {
  if (caller.isAdminGroup(name)) throw new OperationRefused('conflict', ['administrators_stay']);
}

/** The administrators. Without the option `adminGroup` they are those of the group with the empty name, which has no members. */
export function administratorsOf(parts: OperationParts): Administrators {
  return new Administrators({ ...parts, group: parts.configuration.settings.adminGroup ?? '' });
}

/**
 * Removes a user from the group of administrators while another one who can sign in stays. Warns that it did.
 * @param by subject of another administrator, who does so and must stay one
 * @throws {OperationRefused} there is no other one, or `by` is no longer one. No user is removed
 */
export async function leaveAdministrators(
  parts: OperationParts,
  person: Person,
  warn: Warn,
  by?: string,
): Promise<MemberOutcome> {
  const { name } = person;
  const leave = () => administratorsOf(parts).leave(new AccessEnding(parts), person, by);
  const ended = await refusedIfLast(parts, person, leave);
  if (ended === 'actor_lost_right') throw new OperationRefused('changed', ['no_longer_administrator']);
  if (ended !== undefined)
    warn(new Warning('administrator_removed', name, parts.configuration.settings.adminGroup ?? ''));
  return { name, changed: ended !== undefined, revoked: ended?.clientIds ?? [] };
}

/**
 * Makes a change that may take ways to sign in from a user. Only a command may so take the last administrator.
 * @param after changes the ways that count to those that count afterwards
 * @param work one write
 * @throws {OperationRefused} no administrator who can sign in would be left. Nothing was changed
 */
export async function takingWays<T>(
  parts: OperationParts & Partial<Pick<AdminParts, 'caller'>>,
  person: Person,
  after: (ways: WaysToSignIn) => WaysToSignIn,
  work: () => Promise<T>,
): Promise<T> {
  const { caller } = parts;
  if (caller?.keepsAdministrator === true)
    return refusedIfLast(parts, person, () => administratorsOf(parts).keepOne(person, after, work));
  const outcome = await work();
  if (caller !== undefined) await warnIfNoneIsLeft({ ...parts, caller }, person.groups);
  return outcome;
}

/**
 * Begins the removal of a user. An administrator leaves their group first.
 * @param work one write
 * @throws {OperationRefused} no administrator who can sign in would be left, or the caller may not. Nothing was changed
 */
export function takingPerson<T>(parts: RightsParts, person: Person, work: () => Promise<T>): Promise<T> {
  const { caller, issuer } = parts;
  // Without every scope, the caller may not change the group either.
  if (!caller.keepsAdministrator || !caller.hasEveryScope) return caller.changePerson(issuer, person, work);
  const access = new AccessEnding(parts);
  return refusedIfLast(parts, person, () => administratorsOf(parts).take(access, person, work));
}

async function refusedIfLast<T>(
  { configuration }: OperationParts,
  { name }: Person,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NoAdministratorLeft)) throw error;
    const { adminGroup = '' } = configuration.settings;
    throw new OperationRefused('conflict', ['last_administrator', name, adminGroup]);
  }
}

/**
 * Commands may take the last administrator, because commands can also add one.
 * @returns what to tell an operator who has just done so
 */
export async function administratorWarnings(parts: OperationParts): Promise<readonly Warning[]> {
  const { adminGroup } = parts.configuration.settings;
  if (adminGroup === undefined || (await administratorsOf(parts).canSignIn())) return [];
  return [new Warning('no_administrator_left', adminGroup)];
}

/** Warns a caller who has perhaps just taken the last administrator. @param left groups that have lost a member */
export async function warnIfNoneIsLeft(parts: RightsParts, left: readonly string[] = []): Promise<void> {
  const { caller } = parts;
  if (caller.keepsAdministrator || !left.some((group) => caller.isAdminGroup(group))) return;
  for (const warning of await administratorWarnings(parts)) caller.warn(warning);
}

/** @throws {OperationRefused} the user does not exist */
export async function requireSubject(
  { people }: Pick<OperationParts, 'people'>,
  subject: string,
): Promise<Person> {
  const person = await people.bySubject(subject);
  if (person === undefined) throw new OperationRefused('not_found', ['no_subject', subject]);
  return person;
}

/** @throws {OperationRefused} the group does not exist */
export async function requireGroup({ groups }: Pick<OperationParts, 'groups'>, name: string): Promise<Group> {
  const group = await groups.byName(name);
  if (group === undefined) throw noGroup('not_found', name);
  return group;
}

/** @param member of an input that names the group */
function noGroup(kind: 'not_found' | 'conflict', name: string, member?: string): OperationRefused {
  const advice = `grantd group list shows all groups, and grantd group add ${JSON.stringify(name)} adds it.`;
  return new OperationRefused(kind, ['no_group', name], advice, member);
}

/** The groups that a new user joins. @throws {OperationRefused} one does not exist, or the caller may not */
export async function joinedGroups(parts: AdminParts, names: readonly string[]): Promise<readonly Group[]> {
  if (names.length > 0) parts.caller.requireScopes(['grantd:groups:write']);
  const groups: Group[] = [];
  await requireEachFits(
    names.map((name, index) => async () => {
      const group = await parts.groups.byName(name);
      if (group === undefined) throw noGroup('conflict', name, `groups.${index}`);
      groups.push(group);
    }),
  );
  // Several spellings lead to a group, so the check is of the names that are stored.
  for (const { name } of groups) parts.caller.requireGroup(name);
  return groups;
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

/**
 * Removes an administrator. A user who does so stays one, so that one always remains. A command may take the last one.
 * @throws {OperationRefused} no administrator would remain
 */
async function leaveAdminGroup(
  parts: AdminParts,
  group: Group,
  person: Person,
  warn: Warn,
): Promise<MemberOutcome> {
  const { keepsAdministrator, subject } = parts.caller;
  return keepsAdministrator
    ? leaveAdministrators(parts, person, warn, subject)
    : leaveGroup(parts, group, person, warn);
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

const FACT_FLAGS = {
  description: { about: 'what the group is for, as a text', placeholder: 'TEXT' },
  sign_in_policy: {
    about: 'what members need to sign in, if it is more than the server requires of all users',
  },
} as const;

/** @throws {InvalidInput} no sign-in can meet the policy */
async function requirePolicy(
  parts: AdminParts,
  { sign_in_policy: policy }: { readonly sign_in_policy?: (typeof SIGN_IN_POLICIES)[number] | null },
): Promise<void> {
  requireReachable(parts, policy ?? undefined);
}

/** A group and a user that the caller may add to it or remove from it. */
async function membership(
  parts: AdminParts,
  { group: typed, sub }: { readonly group: string; readonly sub: string },
) {
  const found = await requireGroup(parts, typed);
  parts.caller.requireGroup(found.name);
  return { found, person: await requireSubject(parts, sub) };
}

/** A group and a user that the caller may remove from it. @throws {OperationRefused} administrators stay administrators themselves */
async function leaving(parts: AdminParts, input: Parameters<typeof membership>[1]) {
  const { found, person } = await membership(parts, input);
  const { keepsAdministrator, subject } = parts.caller;
  if (keepsAdministrator && parts.caller.isAdminGroup(found.name) && person.subject === subject)
    throw new OperationRefused('conflict', ['not_oneself']);
  return { found, person };
}

export const GROUP_OPERATIONS = {
  listGroups: operation({
    method: 'GET',
    path: '/groups',
    scope: 'grantd:groups:read',
    summary: 'List groups, sorted by name',
    query: {
      ...PAGING,
      search: {
        schema: text(undefined, { minLength: 1, maxLength: 200 }),
        about: 'Only groups whose name or description contains this text.',
      },
      descending: DESCENDING,
    },
    status: 200,
    output: GROUPS,
    command: {
      line: 'group list',
      about: 'list all groups',
      flags: { search: { placeholder: 'TEXT' }, descending: {} },
      columns: {
        NAME: ({ name }) => name,
        MEMBERS: ({ members }) => String(members),
        DESCRIPTION: ({ description }) => description,
      },
    },
    async perform({ groups }, { search: part = '', ...paging }) {
      const search = part.toLowerCase();
      const found = (await groups.list()).filter((one) =>
        [one.name, one.description].some((text) => text.toLowerCase().includes(search)),
      );
      return pageOf(found, paging, (one) => one.name, groupView);
    },
  }),
  addGroup: change({
    method: 'POST',
    path: '/groups',
    scope: 'grantd:groups:write',
    summary: 'Add a group. Its name cannot be changed later',
    body: NEW_GROUP,
    status: 201,
    output: GROUP,
    hasVersion: true,
    command: {
      line: 'group add <name>',
      flags: FACT_FLAGS,
      createsDatabase: true,
      notes: `  grantd group add staff --description "Everyone on the payroll"
  grantd group add-member staff bob carol
  grantd client update payroll --allow-group staff`,
      lines: (_, { name }) => `added the group ${name}`,
    },
    checks: ({ name: wanted, description: about }) => [
      ifGiven(wanted, requireNewGroupName),
      ifGiven(about, requireDescription),
    ],
    examine: requirePolicy,
    prepare: requirePolicy,
    async write(parts, _, { name: wanted, description: about = '', sign_in_policy: signInPolicy }) {
      const facts = { name: wanted, description: about, ...optional('signInPolicy', signInPolicy) };
      if (!(await parts.groups.add(facts, parts.clock())))
        throw new OperationRefused('conflict', ['group_exists', wanted], 'choose another name.', 'name');
      const added = await requireGroup(parts, wanted);
      const location = `/groups/${encodeURIComponent(added.name)}`;
      return { document: groupView(added), version: groupVersion(added), location };
    },
  }),
  getGroup: operation({
    method: 'GET',
    path: '/groups/{group}',
    scope: 'grantd:groups:read',
    summary: 'Show a group',
    status: 200,
    output: SHOWN_GROUP,
    hasVersion: true,
    command: {
      line: 'group show <group>',
      about: 'show a group with the clients that it may use',
      lines: (shown) =>
        labelled({
          name: shown.name,
          description: shown.description || undefined,
          'sign-in policy': shown.sign_in_policy,
          members: `${shown.members} (grantd user list --group ${JSON.stringify(shown.name)})`,
          clients: shown.clients.join(' ') || undefined,
          added: shown.created_at,
        }),
    },
    async perform(parts, { group: typed }) {
      const found = await requireGroup(parts, typed);
      const clients = await clientsFor(parts, found.name);
      return { document: { ...groupView(found), clients }, version: groupVersion(found) };
    },
  }),
  updateGroup: change({
    method: 'PATCH',
    path: '/groups/{group}',
    scope: 'grantd:groups:write',
    summary: 'Change the description and policy of a group',
    body: GROUP_CHANGE,
    status: 200,
    output: GROUP,
    hasVersion: true,
    needsVersion: true,
    command: {
      line: 'group update <group>',
      about: 'change the description or the sign-in policy of a group',
      flags: {
        ...FACT_FLAGS,
        sign_in_policy: {
          ...FACT_FLAGS.sign_in_policy,
          negated:
            'remove the sign-in policy of the group. The policies of the server, of clients and of a member’s other groups still apply',
        },
      },
      lines: (changed) => `updated the group ${changed.name}`,
    },
    checks: ({ description: about }) => [ifGiven(about, requireDescription)],
    examine: requirePolicy,
    async prepare(parts, input) {
      await requirePolicy(parts, input);
      const { group: typed, sign_in_policy: signInPolicy } = input;
      const before = await requireGroup(parts, typed);
      // A weaker policy for administrators could let others take over their accounts.
      if (signInPolicy !== undefined) parts.caller.requireGroup(before.name);
      parts.requireVersion(groupVersion(before));
      return before;
    },
    async write(parts, before, { description: about, sign_in_policy: signInPolicy }) {
      const changed = {
        ...before,
        description: about ?? before.description,
        signInPolicy: signInPolicy === undefined ? before.signInPolicy : (signInPolicy ?? undefined),
      };
      if (!(await parts.groups.change(before.name, changed, before))) return undefined;
      return { document: groupView(changed), version: groupVersion(changed) };
    },
  }),
  removeGroup: change({
    method: 'DELETE',
    path: '/groups/{group}',
    scope: 'grantd:groups:write',
    summary:
      'Delete a group with its memberships. If a client is restricted to the group, the server rejects the request',
    query: {
      dry_run: {
        schema: flag(),
        about: 'Whether to remove nothing, and only check whether the group can be removed. Default: false.',
      },
    },
    status: 200,
    output: REMOVED_GROUP,
    command: {
      line: 'group remove <group>',
      about: 'delete a group with its memberships. Fails while a client is restricted to the group',
      isFinal: '',
      lines: ({ name, members }) =>
        `removed the group ${name}, which had ${members === 1 ? '1 member' : `${members} members`}`,
    },
    async prepare(parts, { group: typed }) {
      const { caller } = parts;
      const found = await requireGroup(parts, typed);
      caller.requireGroup(found.name);
      if (caller.keepsAdministrator) requireNotAdminGroup(caller, found.name);
      const [client] = await clientsFor(parts, found.name);
      if (client !== undefined)
        throw new OperationRefused(
          'conflict',
          ['client_for_group', client, found.name],
          `first run grantd client update ${client} with other groups (--allow-group) or with --allow-everyone.`,
        );
      return found;
    },
    async write(parts, { name: stored, members }, { dry_run: isDryRun = false }) {
      if (isDryRun) return { document: { name: stored, members } };
      if (!(await parts.groups.remove(stored))) throw new OperationRefused('changed', ['group_gone', stored]);
      if (parts.caller.isAdminGroup(stored)) parts.caller.warn(new Warning('admin_group_removed'));
      return { document: { name: stored, members } };
    },
  }),
  addMember: change({
    method: 'PUT',
    path: '/groups/{group}/members/{sub}',
    scope: 'grantd:groups:write',
    summary: 'Add a user to a group. UserInfo shows the new group at once',
    status: 200,
    output: MEMBERSHIP,
    prepare: membership,
    async write(parts, { found, person }) {
      const warnings: Warning[] = [];
      const { changed } = await joinGroup(parts, found, person, (warning) => warnings.push(warning));
      return { document: { changed, warnings } };
    },
  }),
  removeMember: change({
    method: 'DELETE',
    path: '/groups/{group}/members/{sub}',
    scope: 'grantd:groups:write',
    summary:
      'Remove a user from a group. If the user may then no longer use a client, the server revokes the user’s tokens for it',
    status: 200,
    output: MEMBERSHIP,
    prepare: leaving,
    async write(parts, { found, person }) {
      const warnings: Warning[] = [];
      const leave = parts.caller.isAdminGroup(found.name) ? leaveAdminGroup : leaveGroup;
      const { changed, revoked = [] } = await leave(parts, found, person, (warning) =>
        warnings.push(warning),
      );
      await warnIfNoneIsLeft(parts, [found.name]);
      return { document: { changed, revoked, warnings } };
    },
  }),
};
