// How a group becomes as a file wants it.
import type { Group } from '../data/groups.ts';
import { nameKey } from '../data/names.ts';
import type { Person } from '../data/people.ts';
import type { DesiredGroup, FileProblem } from './desired_state.ts';
import {
  administratorsOf,
  administratorWarnings,
  joinGroup,
  leaveAdministrators,
  leaveGroup,
  requireNewGroupName,
} from './groups.ts';
import { type OperationParts, requireReachable } from './operation.ts';
import { refusedBy } from './operation_refused.ts';
import { optional } from './schema.ts';
import {
  type Change,
  changedMeanwhile,
  differencesOf,
  type MemberChange,
  type Planned,
  type Planning,
  type PlanParts,
} from './state_changes.ts';
import { pagesOf } from './user_rules.ts';
import { type Warn, Warning } from './warning.ts';

/**
 * Members are added. They are removed only with `prune`, because they may have been added elsewhere on purpose.
 * @param stored all groups, by the keys of their names
 */
export async function planGroup(
  parts: PlanParts,
  { name, description, signInPolicy, members }: DesiredGroup,
  stored: ReadonlyMap<string, Group>,
  { prune }: Planning,
): Promise<Planned | FileProblem[]> {
  const path = ['groups', name];
  const before = stored.get(nameKey(name));
  const wanted: Person[] = [];
  const isAnother = before !== undefined && before.name !== name;
  const unknown: FileProblem[] = isAnother ? [{ path, said: ['lookalike_group', before.name] }] : [];
  const refused = refusedBy([
    ...(before === undefined ? [() => requireNewGroupName(name)] : []),
    () => requireReachable(parts, signInPolicy),
  ]);
  for (const { member, said } of refused)
    unknown.push({ path: member === 'name' ? path : [...path, member], said });
  for (const username of members ?? []) {
    const person = await parts.people.byName(username);
    if (person !== undefined) wanted.push(person);
    else unknown.push({ path: [...path, 'members'], said: ['no_user', username] });
  }
  if (unknown.length > 0) return unknown;
  const joining = wanted.filter(({ groups = [] }) => !groups.includes(name));
  const leaving =
    prune && members !== undefined && before !== undefined ? await others(parts, name, wanted) : [];
  const namesOf = (people: readonly Person[]) => people.map((person) => person.name);
  const differences: MemberChange[] = [
    ...differencesOf(
      { description: before?.description || undefined, sign_in_policy: before?.signInPolicy },
      { description: description || undefined, sign_in_policy: signInPolicy },
    ),
    ...(joining.length > 0 ? [{ name: 'members added', after: namesOf(joining) }] : []),
    ...(leaving.length > 0 ? [{ name: 'members removed', after: namesOf(leaving) }] : []),
  ];
  if (before !== undefined && differences.length === 0) return { changes: [undefined] };
  // With its policy or members, others could become what only the members of a group are.
  if (differences.some((difference) => difference.name !== 'description')) parts.caller.requireGroup(name);
  if (joining.length + leaving.length > 0) parts.caller.warnIfAdminGroupUnknown();
  const isOfAdministrators = parts.caller.isAdminGroup(name);
  const takesAdministrators = leaving.length > 0 && isOfAdministrators;
  // If the file leaves one, a file that is applied at the same time does not take this one.
  const keepsOne =
    takesAdministrators && (await administratorsOf(parts).whoSignIn(wanted).next()).done !== true;
  if (takesAdministrators && !keepsOne && parts.caller.keepsAdministrator)
    return [{ path: [...path, 'members'], said: ['no_administrator_stays'] }];
  const perform = async (warn: Warn) => {
    const facts = { description, signInPolicy };
    const isDone = await (before === undefined
      ? parts.groups.add({ name, ...facts }, parts.clock())
      : parts.groups.change(name, facts, before));
    if (!isDone) throw changedMeanwhile(`the group ${name}`);
    const group = { ...(before ?? { createdAtMs: 0, members: 0 }), name, ...facts };
    for (const person of joining) await joinGroup(parts, group, person, warn);
    for (const person of leaving)
      await (keepsOne ? leaveAdministrators(parts, person, warn) : leaveGroup(parts, group, person, warn));
    if (takesAdministrators) for (const warning of await administratorWarnings(parts)) warn(warning);
  };
  const action = before === undefined ? 'add' : 'change';
  const administrators = isOfAdministrators
    ? { become: namesOf(joining), stop: namesOf(leaving) }
    : undefined;
  // A username can belong to another user by then.
  const covers = [...joining, ...leaving].map(({ subject }) => subject);
  const change = { action, kind: 'group', name, members: differences, covers, perform } as const;
  return { changes: [{ ...change, ...optional('administrators', administrators) }] };
}

/** Members of a group other than these users. */
async function others(
  parts: OperationParts,
  group: string,
  wanted: readonly Person[],
): Promise<readonly Person[]> {
  const found: Person[] = [];
  for await (const page of pagesOf(parts, { group }))
    found.push(...page.filter(({ subject }) => !wanted.some((member) => member.subject === subject)));
  return found;
}

export async function groupRemoval(parts: PlanParts, { name }: Group): Promise<Change> {
  const administrators = parts.caller.isAdminGroup(name)
    ? { become: [], stop: (await others(parts, name, [])).map((person) => person.name) }
    : undefined;
  return {
    ...{ action: 'remove', kind: 'group', name, members: [] },
    ...optional('administrators', administrators),
    async perform(warn) {
      if (!(await parts.groups.remove(name))) throw changedMeanwhile(`the group ${name}`);
      if (administrators !== undefined) warn(new Warning('admin_group_removed'));
    },
  };
}
