// What the console does with several users, groups, clients or tokens at once. Each of them has a plan and an outcome of its own.
import type { SIGN_IN_POLICIES } from '@grantd/core';
import { type AdminCalls, requirePossible, type Versioned } from '../admin/in_process.ts';
import { MAX_LIMIT } from '../admin/operation.ts';
import { optional } from '../admin/schema.ts';
import type { Input, OperationId } from '../admin/table.ts';
import type { Visit } from './access.ts';
import { clientsCalled } from './names.ts';

/** A call of an operation. */
type Order = { readonly [Id in OperationId]: readonly [id: Id, input: Input<Id>] }[OperationId];

export interface BulkAct {
  /** Whether nothing can undo it. */
  readonly isFinal?: true;
  /** Whether what was selected is gone afterwards. */
  readonly removes?: true;
  /** The groups to choose from, if it needs one. */
  readonly groups?: (visit: Visit, keys: readonly string[]) => Promise<readonly string[]>;
  /** What it performs for one of them. */
  readonly order: (key: string, group: string) => Order;
  /** Whether it would change something. @returns also the number of sessions or tokens that it would end */
  readonly plan: (visit: Visit, key: string, group: string) => Promise<Change>;
}

export interface Change {
  readonly changes: boolean;
  readonly sessions?: number;
  readonly tokens?: { readonly active: number; readonly isLeast: boolean };
  /** Who leaves a group: their number, and the first names. */
  readonly members?: { readonly count: number; readonly names: readonly string[] };
  /** The sign-in policy that ends with a group. */
  readonly policy?: (typeof SIGN_IN_POLICIES)[number];
  /** Clients that only members of the group may use. */
  readonly clients?: readonly string[];
}

/** Members of a group whose names a plan shows. */
const MAX_NAMES = 5;

const userIsDisabled = async ({ call }: Visit, sub: string) =>
  (await call('getUser', { sub })).disabled_at !== undefined;

const clientIsDisabled = async ({ call }: Visit, id: string) =>
  (await call('getClient', { client_id: id })).disabled_at !== undefined;

const sessionsOf = async ({ call }: Visit, sub: string) => (await call('listSessions', { sub })).items.length;

export const BULK_ACTS = {
  users: {
    disable: {
      order: (sub) => ['disableUser', { sub }],
      plan: async (visit, sub) =>
        (await userIsDisabled(visit, sub))
          ? { changes: false }
          : { changes: true, sessions: await sessionsOf(visit, sub) },
    },
    enable: {
      order: (sub) => ['enableUser', { sub }],
      plan: async (visit, sub) => ({ changes: await userIsDisabled(visit, sub) }),
    },
    unlock: {
      order: (sub) => ['unlockUser', { sub }],
      plan: async ({ call }, sub) => ({ changes: (await call('listLocks', { sub })).items.length > 0 }),
    },
    end_sessions: {
      order: (sub) => ['endSessions', { sub }],
      async plan(visit, sub) {
        const sessions = await sessionsOf(visit, sub);
        return { changes: sessions > 0, sessions };
      },
    },
    join: {
      groups: async ({ call }) =>
        (await call('listGroups', { limit: MAX_LIMIT })).items.map(({ name }) => name),
      order: (sub, group) => ['addMember', { group, sub }],
      plan: async ({ call }, sub, group) => ({
        changes: !(await call('getUser', { sub })).groups.includes(group),
      }),
    },
    leave: {
      async groups({ call }, keys) {
        const users = await Promise.all(keys.map((sub) => call('getUser', { sub })));
        return [...new Set(users.flatMap(({ groups }) => groups))].toSorted();
      },
      order: (sub, group) => ['removeMember', { group, sub }],
      async plan(visit, sub, group) {
        const { groups } = await visit.call('getUser', { sub });
        if (!groups.includes(group)) return { changes: false };
        const { clients } = await visit.call('getGroup', { group });
        return { changes: true, clients: await clientsCalled(visit, clients) };
      },
    },
  },
  groups: {
    remove: {
      isFinal: true,
      removes: true,
      order: (group) => ['removeGroup', { group }],
      async plan({ call }, group) {
        const { members: count, sign_in_policy: policy } = await call('getGroup', { group });
        const { items } = await call('listUsers', { group, limit: MAX_NAMES });
        const members = { count, names: items.map(({ username }) => username) };
        return { changes: true, members, ...optional('policy', policy) };
      },
    },
  },
  clients: {
    disable: {
      order: (id) => ['disableClient', { client_id: id }],
      plan: async (visit, id) => ({ changes: !(await clientIsDisabled(visit, id)) }),
    },
    enable: {
      order: (id) => ['enableClient', { client_id: id }],
      plan: async (visit, id) => ({ changes: await clientIsDisabled(visit, id) }),
    },
    revoke_all: {
      isFinal: true,
      order: (id) => ['revokeAll', { client_id: id }],
      async plan({ call }, id) {
        const { active = 0, has_more: isLeast = false } = await call('revokeAll', {
          ...{ client_id: id, dry_run: true },
        });
        return { changes: active > 0, tokens: { active, isLeast } };
      },
    },
  },
  tokens: {
    revoke: {
      isFinal: true,
      order: (token) => ['revokeToken', { token }],
      plan: async ({ call }, token) => ({ changes: (await call('explainToken', { token })).active }),
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, BulkAct>>>>;

export type BulkList = keyof typeof BULK_ACTS;

/** @returns `undefined` if the list has no such act */
export function actNamed(list: BulkList, name: string | undefined): BulkAct | undefined {
  const acts: Readonly<Record<string, BulkAct>> = BULK_ACTS[list];
  return name !== undefined && Object.hasOwn(acts, name) ? acts[name] : undefined;
}

/** Performs the operation of an act. */
export function performOrder(versioned: AdminCalls['versioned'], order: Order): Promise<Versioned<unknown>> {
  // The types of the two agree.
  const [id, input] = order as readonly [OperationId, never];
  return versioned(id, input);
}

/** @throws {InvalidInput | OperationRefused} as the operation would now */
export function requirePossibleOrder({ console: parts, session }: Visit, order: Order): Promise<void> {
  const [id, input] = order as readonly [OperationId, never];
  return requirePossible(parts.partsOf(session.person.subject), id, input);
}
