import type { KeyRecord, KeyRepository } from '@grantd/core';
import { and, eq } from 'drizzle-orm';
import { keys } from './schema.ts';
import { type Db, drizzleStatements } from './statements.ts';

/** The signing keys. A host that signs elsewhere passes a `JwtService` to the server instead. */
export function drizzleKeys(db: Db, now: () => Date): KeyRepository {
  return {
    async get(kid) {
      // The name comes from a token of any sender. PostgreSQL rejects a text with this character.
      if (kid.includes('\0')) return undefined;
      const [row] = await db.select().from(keys).where(eq(keys.kid, kid));
      return row && keyOf(row);
    },
    async list() {
      return (await db.select().from(keys).orderBy(keys.createdAt, keys.kid)).map(keyOf);
    },
    async currentKeyId(algorithm) {
      const isCurrent = and(eq(keys.algorithm, algorithm), eq(keys.status, 'current'));
      const [current] = await db.select().from(keys).where(isCurrent);
      return current?.kid;
    },
    async initialize(first) {
      // A unique index allows one current and one next key per algorithm.
      await db.insert(keys).values(first.map(rowOf)).onConflictDoNothing();
    },
    rotate: (currentKid, next) =>
      drizzleStatements.atOnce(db, async (tx) => {
        const isCurrent = and(eq(keys.kid, currentKid), eq(keys.status, 'current'));
        const retired = { status: 'retired', retiredAt: now() } as const;
        if ((await tx.update(keys).set(retired).where(isCurrent).returning()).length === 0) return false;
        const isNext = and(eq(keys.algorithm, next.algorithm), eq(keys.status, 'next'));
        await tx.update(keys).set({ status: 'current' }).where(isNext);
        await tx.insert(keys).values(rowOf(next));
        return true;
      }),
  };
}

function rowOf({ createdAtMs, retiredAtMs: _, ...key }: KeyRecord) {
  return { ...key, createdAt: new Date(createdAtMs) };
}

function keyOf({ createdAt, retiredAt, ...key }: typeof keys.$inferSelect): KeyRecord {
  const retired = retiredAt && { retiredAtMs: retiredAt.getTime() };
  return { ...key, createdAtMs: createdAt.getTime(), ...retired };
}
