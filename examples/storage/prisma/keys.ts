import type { KeyRecord, KeyRepository } from '@grantd/core';
import type { Key } from './generated/client.ts';
import { type Db, prismaStatements } from './statements.ts';

/** The signing keys. A host that signs elsewhere passes a `JwtService` to the server instead. */
export function prismaKeys(db: Db, now: () => Date): KeyRepository {
  return {
    async get(kid) {
      // The name comes from a token of any sender. PostgreSQL rejects a text with this character.
      if (kid.includes('\0')) return undefined;
      const row = await db.key.findUnique({ where: { kid } });
      return row && keyOf(row);
    },
    async list() {
      return (await db.key.findMany({ orderBy: [{ createdAt: 'asc' }, { kid: 'asc' }] })).map(keyOf);
    },
    async currentKeyId(algorithm) {
      return (await db.key.findUnique({ where: { role: `current ${algorithm}` } }))?.kid;
    },
    async initialize(first) {
      await db.key.createMany({ data: first.map(rowOf), skipDuplicates: true });
    },
    rotate: (currentKid, next) =>
      prismaStatements.atOnce(db, async (tx) => {
        const current = `current ${next.algorithm}`;
        const where = { kid: currentKid, role: current };
        const retired = await tx.key.updateMany({ where, data: { role: null, retiredAt: now() } });
        if (retired.count === 0) return false;
        await tx.key.updateMany({ where: { role: `next ${next.algorithm}` }, data: { role: current } });
        await tx.key.create({ data: rowOf(next) });
        return true;
      }),
  };
}

function rowOf({ status, retiredAtMs: _, ...key }: KeyRecord) {
  const { kid, algorithm, createdAtMs } = key;
  const record = JSON.stringify(key);
  return { kid, role: `${status} ${algorithm}`, record, createdAt: new Date(createdAtMs) };
}

function keyOf({ record, role, retiredAt }: Key): KeyRecord {
  const key: Omit<KeyRecord, 'status' | 'retiredAtMs'> = JSON.parse(record);
  if (retiredAt) return { ...key, status: 'retired', retiredAtMs: retiredAt.getTime() };
  return { ...key, status: role === `current ${key.algorithm}` ? 'current' : 'next' };
}
