import type { NewClient, PendingRow } from '@grantd/core';
import { and, arrayContains, eq, isNull, lte, type SQL } from 'drizzle-orm';
import { originsOf, pendingKey } from '../records.ts';
import { type HostStorage, tokensOfGrants } from '../tokens_of_grants.ts';
import { drizzleKeys } from './keys.ts';
import * as table from './schema.ts';
import { type Db, drizzleStatements } from './statements.ts';
import { sweepOnce } from './sweep.ts';

/**
 * grantd's storage in the host's PostgreSQL, through the host's Drizzle. With a transaction everything happens within
 * it.
 * @param clock milliseconds
 */
export function drizzleStorage(db: Db, clock: () => number = Date.now): HostStorage {
  const { clients, oneTimeIdentifiers, pending } = table;
  const now = () => new Date(clock());
  const dateOf = ({ expiresAt }: Pick<PendingRow, 'expiresAt'>) => new Date(expiresAt * 1000);
  const findPending = async (isIt: SQL): Promise<PendingRow | undefined> => {
    const [row] = await db.select().from(pending).where(isIt);
    return row && { ...row.record, version: row.version };
  };
  return {
    clients: {
      async get(id) {
        const [row] = await db.select().from(clients).where(eq(clients.id, id));
        return row && { ...row.record, ...(row.disabledAt && { disabledAtMs: row.disabledAt.getTime() }) };
      },
      async hasRedirectOrigin(origin) {
        const isOfOrigin = and(isNull(clients.disabledAt), arrayContains(clients.origins, [origin]));
        return (await db.$count(clients, isOfOrigin)) > 0;
      },
    },

    ...tokensOfGrants(db, drizzleStatements, clock),

    keys: drizzleKeys(db, now),

    oneTimeIdentifiers: {
      async take(id, seconds) {
        const row = { id, expiresAt: new Date(seconds * 1000) };
        const setWhere = lte(oneTimeIdentifiers.expiresAt, now());
        const taken = await db
          .insert(oneTimeIdentifiers)
          .values(row)
          .onConflictDoUpdate({ target: oneTimeIdentifiers.id, set: row, setWhere })
          .returning();
        return taken.length === 1;
      },
    },

    pending: {
      async add(row) {
        const { kind, id, otherId } = row;
        const key = pendingKey(kind, id);
        const other = otherId !== undefined && { otherId: pendingKey(kind, otherId) };
        const added = await db
          .insert(pending)
          .values({ id: key, ...other, record: row, version: 0, expiresAt: dateOf(row) })
          .onConflictDoNothing()
          .returning({ id: pending.id });
        return added.length === 1;
      },
      get: (kind, id) => findPending(eq(pending.id, pendingKey(kind, id))),
      getByOtherId: (kind, otherId) => findPending(eq(pending.otherId, pendingKey(kind, otherId))),
      async take(kind, id) {
        const isIt = eq(pending.id, pendingKey(kind, id));
        const [row] = await db.delete(pending).where(isIt).returning();
        return row && { ...row.record, version: row.version };
      },
      async change({ version, ...row }) {
        const isAsRead = and(eq(pending.id, pendingKey(row.kind, row.id)), eq(pending.version, version));
        const changed = await db
          .update(pending)
          .set({ record: row, version: version + 1, expiresAt: dateOf(row) })
          .where(isAsRead)
          .returning({ id: pending.id });
        return changed.length === 1;
      },
    },

    sweep: (limit) => sweepOnce(db, limit, now()),

    answersPlainRecords: true,
  };
}

/** Registers a client, or replaces its registration. */
export async function saveClient(db: Db, record: NewClient): Promise<void> {
  const origins = originsOf(record);
  const row = { id: record.id, record, origins };
  await db.insert(table.clients).values(row).onConflictDoUpdate({ target: table.clients.id, set: row });
}
