import { type ClientRecord, SIGN_IN_POLICIES } from '@grantd/core';
import type { FurtherPolicy } from '../config/acr.ts';
import { changesOf } from './changes.ts';
import { nameAsKept, nameKey, nameKeysOf } from './names.ts';
import {
  type ActOfChange,
  batch,
  type ProgramTables,
  type RecordedCall,
  recorded,
  statement,
  type TableCall,
  type TableRow,
  table,
} from './tables.ts';

/** A group of users. Groups contain no groups. */
export interface Group {
  /** Fixed, because APIs and clients know the group by it. */
  readonly name: string;
  readonly description: string;
  /** What a sign-in of a member needs; `undefined` for no more than others. */
  readonly signInPolicy?: FurtherPolicy | undefined;
  readonly createdAtMs: number;
  /** Number of members. */
  readonly members: number;
}

export type NewGroup = Pick<Group, 'name' | 'description'> & Partial<Pick<Group, 'signInPolicy'>>;

/** What an operator can change. */
export type GroupFacts = Pick<Group, 'description' | 'signInPolicy'>;

/** A user in a group. */
export interface Membership {
  readonly subject: string;
  readonly group: string;
}

/** The groups of one issuer. Every method rejects with a `StorageFault` if the database does not answer. */
export interface Groups {
  /** @returns `false` if the name is taken */
  add(group: NewGroup, nowMs: number): Promise<boolean>;
  /** The group with this name, or with a name that readers confuse with it. */
  byName(name: string): Promise<Group | undefined>;
  /** Sorted by name. */
  list(): Promise<readonly Group[]>;
  /**
   * Compare-and-set.
   * @returns `false` if the group does not exist, or is no longer as `before`
   */
  change(name: string, facts: GroupFacts, before: GroupFacts): Promise<boolean>;
  /** The policies of a user’s groups. */
  policiesOf(subject: string): Promise<readonly FurtherPolicy[]>;
  /** Deletes the group with its memberships. @returns `false` if the group does not exist */
  remove(name: string): Promise<boolean>;
  /** @returns `false` if nothing changed: the user is a member, or the user or the group does not exist */
  addMember(membership: Membership, nowMs: number): Promise<boolean>;
  /**
   * First step of ending a membership: the user is no longer a member.
   * @returns `false` if the user was not a member
   */
  beginEnd(membership: Membership, nowMs: number): Promise<boolean>;
  /** Last step: deletes the membership, unless the user was added again. */
  finishEnd(membership: Membership): Promise<void>;
  /** Memberships whose end was begun before a time and was not finished. */
  halfEnded(beforeMs: number, limit: number): Promise<readonly Membership[]>;
}

export const GROUPS = table(
  'groups',
  { text: 'name description', 'text?': 'sign_in_policy', integer: 'created_at_ms' },
  { text: 'name_key' },
);

const COLUMNS = `${GROUPS.list}, (
      SELECT count(*) FROM grantd.group_members AS m
      WHERE m.issuer = groups.issuer AND m.group_name = groups.name AND m.ended_at_ms IS NULL) AS members`;

const ONE = 'issuer = :issuer AND name = :name';

const GROUPS_SQL = GROUPS.statements({
  add: `${GROUPS.insert} WHERE TRUE ON CONFLICT DO NOTHING RETURNING name`,
  byName: `SELECT ${COLUMNS} FROM grantd.groups WHERE issuer = :issuer AND name_key IN (:nameKey, :formerKey)`,
  list: `SELECT ${COLUMNS} FROM grantd.groups WHERE issuer = :issuer ORDER BY name`,
  change: `
    UPDATE grantd.groups SET description = :description, sign_in_policy = :signInPolicy
    WHERE ${ONE} AND description = :descriptionBefore
      AND coalesce(sign_in_policy, '') = coalesce(CAST(:policyBefore AS text), '') RETURNING name`,
  policiesOf: `
    SELECT g.sign_in_policy FROM grantd.group_members AS m
    JOIN grantd.groups AS g ON g.issuer = m.issuer AND g.name = m.group_name
    WHERE m.issuer = :issuer AND m.subject = :subject AND m.ended_at_ms IS NULL AND g.sign_in_policy IS NOT NULL`,
  remove: `DELETE FROM grantd.groups WHERE ${ONE} RETURNING name`,
});

export const MEMBERS = table('group_members', { text: 'subject group_name' }, { integer: 'added_at_ms' });

const MEMBER = 'issuer = :issuer AND subject = :subject AND group_name = :groupName';

const MEMBERS_SQL = MEMBERS.statements({
  // Changes that depend on what the user is a member of wait for it, and it for them.
  holdPerson: 'UPDATE grantd.people SET name = name WHERE issuer = :issuer AND subject = :subject',
  // Of a user whose membership is just being ended, it ends the end.
  add: `
    ${MEMBERS.insert}
    FROM grantd.people JOIN grantd.groups ON groups.issuer = people.issuer AND groups.name = :groupName
    WHERE people.issuer = :issuer AND people.subject = :subject
      AND NOT EXISTS (SELECT 1 FROM grantd.removed_people AS r WHERE r.issuer = :issuer AND r.subject = :subject)
    ON CONFLICT (issuer, subject, group_name) DO UPDATE
    SET added_at_ms = excluded.added_at_ms, ended_at_ms = NULL WHERE group_members.ended_at_ms IS NOT NULL
    RETURNING subject`,
  beginEnd: `
    UPDATE grantd.group_members SET ended_at_ms = :nowMs WHERE ${MEMBER} AND ended_at_ms IS NULL
    RETURNING subject`,
  finishEnd: `DELETE FROM grantd.group_members WHERE ${MEMBER} AND ended_at_ms IS NOT NULL`,
  halfEnded: `
    SELECT ${MEMBERS.list} FROM grantd.group_members WHERE issuer = :issuer AND ended_at_ms < :beforeMs
    ORDER BY ended_at_ms LIMIT :limit`,
});

/** The target is `GROUP/SUBJECT`. Both parts may contain slashes, so readers take the end that is the subject. */
function memberAct(
  type: 'group_member_added' | 'group_member_removed',
  { group, subject }: Membership,
): ActOfChange {
  return { type, target: `${group}/${subject}`, subject };
}

function rowOf({ subject, group: groupName }: Membership) {
  return { subject, groupName };
}

/** Members that an import adds in one transaction, at most. */
export const MEMBERS_AT_ONCE = 500;

const MEMBERS_BATCH = batch(MEMBERS_AT_ONCE);

// Only people whom the same transaction has added. A scalar subquery is one indexed lookup for each of them: PostgreSQL
// plans a join while the table is empty, and would read the whole table for every later batch.
const addMembers = statement(`
    INSERT INTO grantd.group_members (issuer, subject, group_name, added_at_ms)
    SELECT :issuer, column1, :group, CAST(:addedAtMs AS bigint) FROM (VALUES ${MEMBERS_BATCH.rows}) AS joining
    WHERE EXISTS (SELECT 1 FROM grantd.groups WHERE issuer = :issuer AND name = :group)
      AND (SELECT created_at_ms FROM grantd.people
        WHERE issuer = :issuer AND subject = column1 AND import_digest IS NOT NULL) = CAST(:addedAtMs AS bigint)
    ON CONFLICT DO NOTHING RETURNING subject, group_name || '/' || subject AS member`);

/** Adds users to a group whom an import adds in the same transaction. @param subjects at most `MEMBERS_AT_ONCE` */
export function newMembersCall(group: string, subjects: readonly string[], addedAtMs: number): RecordedCall {
  return recorded(addMembers({ group, addedAtMs, ...MEMBERS_BATCH.valuesOf(subjects) }), {
    type: 'group_member_added',
    target: { column: 'member' },
    subject: { column: 'subject' },
  });
}

/** Members as the API names them. */
function documentOf({ description, signInPolicy }: GroupFacts): object {
  return { description, sign_in_policy: signInPolicy };
}

export function groupsTable(tables: ProgramTables): Groups {
  /** @returns whether the statement changed a row */
  const change = (act: ActOfChange, call: TableCall, ...before: readonly TableCall[]): Promise<boolean> =>
    tables.changes(...before, recorded(call, act));

  return {
    add({ name: newName, description, signInPolicy }, createdAtMs) {
      const name = nameAsKept(newName);
      const row = { name, nameKey: nameKey(newName), description, signInPolicy, createdAtMs };
      return change({ type: 'group_added', target: name }, GROUPS_SQL.add(row));
    },
    byName: (name) => tables.first(GROUPS_SQL.byName(nameKeysOf(name)), groupOf),
    list: () => tables.list(GROUPS_SQL.list(), groupOf),
    change(name, { description, signInPolicy }, before) {
      const basis = {
        descriptionBefore: before.description,
        policyBefore: before.signInPolicy ?? null,
      };
      const call = GROUPS_SQL.change({ name, description, signInPolicy, ...basis });
      const reason = changesOf(documentOf(before), documentOf({ description, signInPolicy }));
      return change({ type: 'group_changed', target: name, reason }, call);
    },
    policiesOf: async (subject) =>
      (await tables.list(GROUPS_SQL.policiesOf({ subject }), policyIn)).filter((it) => it !== undefined),
    remove: (name) => change({ type: 'group_removed', target: name }, GROUPS_SQL.remove({ name })),
    addMember: (membership, addedAtMs) =>
      change(
        memberAct('group_member_added', membership),
        MEMBERS_SQL.add({ ...rowOf(membership), addedAtMs }),
        MEMBERS_SQL.holdPerson(membership),
      ),
    beginEnd: (membership, nowMs) =>
      change(
        memberAct('group_member_removed', membership),
        MEMBERS_SQL.beginEnd({ ...rowOf(membership), nowMs }),
      ),
    finishEnd: (membership) => tables.run(MEMBERS_SQL.finishEnd(rowOf(membership))),
    halfEnded: (beforeMs, limit) =>
      tables.list(MEMBERS_SQL.halfEnded({ beforeMs, limit }), (row) => {
        const { subject, groupName: group } = MEMBERS.recordOf(row);
        return { subject, group };
      }),
  };
}

function groupOf(row: TableRow): Group {
  return { ...GROUPS.recordOf(row), signInPolicy: policyIn(row), members: Number(row.members) };
}

function policyIn({ sign_in_policy: stored }: TableRow): FurtherPolicy | undefined {
  return SIGN_IN_POLICIES.find((policy) => policy === stored);
}

/** Whether members of these groups may use a client. */
export function admits(
  { metadata }: Pick<ClientRecord, 'metadata'>,
  groups: readonly string[] = [],
): boolean {
  const allowed = metadata?.allowed_groups;
  return allowed === undefined || groups.some((group) => allowed.includes(group));
}
