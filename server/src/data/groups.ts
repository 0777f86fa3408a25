import { type ClientRecord, type MayUseClient, SIGN_IN_POLICIES } from '@grantd/core';
import type { FurtherPolicy } from '../config/acr.ts';
import { nameAsKept, nameKey, type People } from './people.ts';
import { type ActOfChange, type ProgramTables, recorded, type TableRow } from './tables.ts';

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

const COLUMNS = `name, description, sign_in_policy, created_at_ms, (
      SELECT count(*) FROM grantd.group_members AS m
      WHERE m.issuer = groups.issuer AND m.group_name = groups.name AND m.ended_at_ms IS NULL) AS members`;

const ONE_MEMBERSHIP = 'issuer = $1 AND subject = $2 AND group_name = $3';

const GROUPS_SQL = {
  add: `
    INSERT INTO grantd.groups (issuer, name, name_key, description, sign_in_policy, created_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT DO NOTHING RETURNING name`,
  byName: `SELECT ${COLUMNS} FROM grantd.groups WHERE issuer = $1 AND name_key = $2`,
  list: `SELECT ${COLUMNS} FROM grantd.groups WHERE issuer = $1 ORDER BY name`,
  change: `
    UPDATE grantd.groups SET description = $3, sign_in_policy = $4
    WHERE issuer = $1 AND name = $2
      AND description = $5 AND coalesce(sign_in_policy, '') = coalesce(CAST($6 AS text), '') RETURNING name`,
  policiesOf: `
    SELECT g.sign_in_policy FROM grantd.group_members AS m
    JOIN grantd.groups AS g ON g.issuer = m.issuer AND g.name = m.group_name
    WHERE m.issuer = $1 AND m.subject = $2 AND m.ended_at_ms IS NULL AND g.sign_in_policy IS NOT NULL`,
  remove: 'DELETE FROM grantd.groups WHERE issuer = $1 AND name = $2 RETURNING name',

  // Changes that depend on what the user is a member of wait for it, and it for them.
  holdPerson: 'UPDATE grantd.people SET name = name WHERE issuer = $1 AND subject = $2',
  // Of a user whose membership is just being ended, it ends the end.
  addMember: `
    INSERT INTO grantd.group_members (issuer, subject, group_name, added_at_ms)
    SELECT people.issuer, people.subject, groups.name, CAST($4 AS bigint)
    FROM grantd.people JOIN grantd.groups ON groups.issuer = people.issuer AND groups.name = $3
    WHERE people.issuer = $1 AND people.subject = $2
      AND NOT EXISTS (SELECT 1 FROM grantd.removed_people AS r WHERE r.issuer = $1 AND r.subject = $2)
    ON CONFLICT (issuer, subject, group_name) DO UPDATE
    SET added_at_ms = excluded.added_at_ms, ended_at_ms = NULL WHERE group_members.ended_at_ms IS NOT NULL
    RETURNING subject`,
  beginEnd: `
    UPDATE grantd.group_members SET ended_at_ms = $4 WHERE ${ONE_MEMBERSHIP} AND ended_at_ms IS NULL
    RETURNING subject`,
  finishEnd: `DELETE FROM grantd.group_members WHERE ${ONE_MEMBERSHIP} AND ended_at_ms IS NOT NULL`,
  halfEnded: `
    SELECT subject, group_name FROM grantd.group_members WHERE issuer = $1 AND ended_at_ms < $2
    ORDER BY ended_at_ms LIMIT $3`,
};

/** The target is `GROUP/SUBJECT`. Both parts may contain slashes, so readers take the end that is the subject. */
function memberAct(
  type: 'group_member_added' | 'group_member_removed',
  { group, subject }: Membership,
): ActOfChange {
  return { type, target: `${group}/${subject}`, subject };
}

export function groupsTable(tables: ProgramTables, issuer: string): Groups {
  /** @returns whether the statement changed a row */
  const change = async (
    act: ActOfChange,
    sql: string,
    ...values: readonly (string | number | null)[]
  ): Promise<boolean> => {
    const [changed] = await tables.write(recorded([sql, issuer, ...values], act));
    return changed?.length === 1;
  };

  return {
    add: ({ name, description, signInPolicy = null }, nowMs) =>
      change(
        { type: 'group_added', target: nameAsKept(name) },
        GROUPS_SQL.add,
        nameAsKept(name),
        nameKey(name),
        description,
        signInPolicy,
        nowMs,
      ),
    async byName(name) {
      const [row] = await tables.read(GROUPS_SQL.byName, issuer, nameKey(name));
      return row && groupOf(row);
    },
    list: async () => (await tables.read(GROUPS_SQL.list, issuer)).map(groupOf),
    change: (name, ...versions) => {
      const values = versions.flatMap(({ description, signInPolicy = null }) => [description, signInPolicy]);
      return change({ type: 'group_changed', target: name }, GROUPS_SQL.change, name, ...values);
    },
    policiesOf: async (subject) =>
      (await tables.read(GROUPS_SQL.policiesOf, issuer, subject))
        .map(policyIn)
        .filter((one) => one !== undefined),
    remove: (name) => change({ type: 'group_removed', target: name }, GROUPS_SQL.remove, name),
    async addMember(membership, nowMs) {
      const { subject, group } = membership;
      const [, added] = await tables.write(
        [GROUPS_SQL.holdPerson, issuer, subject],
        recorded(
          [GROUPS_SQL.addMember, issuer, subject, group, nowMs],
          memberAct('group_member_added', membership),
        ),
      );
      return added?.length === 1;
    },
    beginEnd(membership, nowMs) {
      const { subject, group } = membership;
      const act = memberAct('group_member_removed', membership);
      return change(act, GROUPS_SQL.beginEnd, subject, group, nowMs);
    },
    async finishEnd({ subject, group }) {
      await tables.write([GROUPS_SQL.finishEnd, issuer, subject, group]);
    },
    halfEnded: async (beforeMs, limit) =>
      (await tables.read(GROUPS_SQL.halfEnded, issuer, beforeMs, limit)).map((row) => ({
        subject: String(row.subject),
        group: String(row.group_name),
      })),
  };
}

function groupOf(row: TableRow): Group {
  return {
    name: String(row.name),
    description: String(row.description),
    signInPolicy: policyIn(row),
    createdAtMs: Number(row.created_at_ms),
    members: Number(row.members),
  };
}

function policyIn({ sign_in_policy: stored }: TableRow): FurtherPolicy | undefined {
  return SIGN_IN_POLICIES.find((one) => one === stored);
}

/** Whether members of these groups may use a client. */
export function admits(
  { metadata }: Pick<ClientRecord, 'metadata'>,
  groups: readonly string[] = [],
): boolean {
  const allowed = metadata?.allowed_groups;
  return allowed === undefined || groups.some((group) => allowed.includes(group));
}

/** Whether a user may use a client: everyone may, or the members of the client’s groups. For the library and the pages. */
export function clientAccess(people: Pick<People, 'bySubject'>): MayUseClient {
  return async (subject, client) => admits(client, (await people.bySubject(subject))?.groups);
}
