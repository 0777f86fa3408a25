import type { NewClient } from '@grantd/core';
import { and, arrayContains, eq, isNull, lte } from 'drizzle-orm';
import { originsOf } from '../records.ts';
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
  const { clients, oneTimeIdentifiers, pushedRequests } = table;
  const now = () => new Date(clock());
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

    pushedRequests: {
      async add({ expiresAt, ...request }) {
        await db.insert(pushedRequests).values({ ...request, expiresAt: new Date(expiresAt * 1000) });
      },
      async get(id) {
        const [row] = await db.select().from(pushedRequests).where(eq(pushedRequests.id, id));
        return row && { ...row, expiresAt: row.expiresAt.getTime() / 1000 };
      },
      async remove(id) {
        await db.delete(pushedRequests).where(eq(pushedRequests.id, id));
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
