import type { ClientRecord, NewClient, PushedRequest } from '@grantd/core';
import { originsOf } from '../records.ts';
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

    pushedRequests: {
      async add(request) {
        const row = { id: request.id, expiresAt: new Date(request.expiresAt * 1000) };
        await db.pushedRequest.create({ data: { ...row, record: JSON.stringify(request) } });
      },
      async get(id): Promise<PushedRequest | undefined> {
        const row = await db.pushedRequest.findUnique({ where: { id } });
        return row === null ? undefined : JSON.parse(row.record);
      },
      async remove(id) {
        await db.pushedRequest.deleteMany({ where: { id } });
      },
    },

    sweep: (limit) => sweepOnce(db, limit, now()),

    answersPlainRecords: true,
  };
}

/** Registers a client, or replaces its registration. */
export async function saveClient(db: Db, client: NewClient): Promise<void> {
  const origins = originsOf(client);
  const row = { id: client.id, record: JSON.stringify(client), origins };
  await db.client.upsert({ where: { id: client.id }, create: row, update: row });
}
