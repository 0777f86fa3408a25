import type { ClientRecord, NewClient, NewPendingRow, PendingRow } from '@grantd/core';
import { originsOf, pendingKey } from '../records.ts';
import { type HostStorage, tokensOfGrants } from '../tokens_of_grants.ts';
import { prismaKeys } from './keys.ts';
import { type Db, prismaStatements } from './statements.ts';
import { sweepOnce } from './sweep.ts';

/**
 * grantd's storage in the host's PostgreSQL, through the host's Prisma. With the client of an interactive transaction
 * everything happens within it.
 * @param clock milliseconds
 */
export function prismaStorage(db: Db, clock: () => number = Date.now): HostStorage {
  const now = () => new Date(clock());
  return {
    clients: {
      async get(id) {
        const row = await db.client.findUnique({ where: { id } });
        if (row === null) return undefined;
        const record: ClientRecord = JSON.parse(row.record);
        return { ...record, ...(row.disabledAt && { disabledAtMs: row.disabledAt.getTime() }) };
      },
      async hasRedirectOrigin(origin) {
        return (await db.client.count({ where: { disabledAt: null, origins: { has: origin } } })) > 0;
      },
    },

    ...tokensOfGrants(db, prismaStatements, clock),

    keys: prismaKeys(db, now),

    oneTimeIdentifiers: {
      async take(id, seconds) {
        const row = { id, expiresAt: new Date(seconds * 1000) };
        const added = await db.oneTimeIdentifier.createMany({ data: row, skipDuplicates: true });
        if (added.count === 1) return true;
        const isOver = { id, expiresAt: { lte: now() } };
        return (await db.oneTimeIdentifier.updateMany({ where: isOver, data: row })).count === 1;
      },
    },

    pending: {
      async add(row) {
        const { kind, id, otherId } = row;
        const other = otherId !== undefined && { otherId: pendingKey(kind, otherId) };
        const data = { id: pendingKey(kind, id), ...other, ...recordOf(row), version: 0 };
        return (await db.pending.createMany({ data, skipDuplicates: true })).count === 1;
      },
      get: async (kind, id) =>
        pendingFrom(await db.pending.findUnique({ where: { id: pendingKey(kind, id) } })),
      getByOtherId: async (kind, otherId) =>
        pendingFrom(await db.pending.findUnique({ where: { otherId: pendingKey(kind, otherId) } })),
      async take(kind, id) {
        const [row = null] = await db.$queryRaw<PendingColumns[]>`
          DELETE FROM oauth_pending WHERE id = ${pendingKey(kind, id)} RETURNING record, version`;
        return pendingFrom(row);
      },
      async change({ version, ...row }) {
        const where = { id: pendingKey(row.kind, row.id), version };
        const data = { ...recordOf(row), version: version + 1 };
        return (await db.pending.updateMany({ where, data })).count === 1;
      },
    },

    sweep: (limit) => sweepOnce(db, limit, now()),

    answersPlainRecords: true,
  };
}

interface PendingColumns {
  readonly record: string;
  readonly version: number;
}

function recordOf(row: NewPendingRow) {
  return { record: JSON.stringify(row), expiresAt: new Date(row.expiresAt * 1000) };
}

function pendingFrom(row: PendingColumns | null): PendingRow | undefined {
  return row === null ? undefined : { ...JSON.parse(row.record), version: row.version };
}

/** Registers a client, or replaces its registration. */
export async function saveClient(db: Db, client: NewClient): Promise<void> {
  const origins = originsOf(client);
  const row = { id: client.id, record: JSON.stringify(client), origins };
  await db.client.upsert({ where: { id: client.id }, create: row, update: row });
}
