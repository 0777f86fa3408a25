import type { KeyRecord, KeyRepository } from '@grantd/core';
import type { Kysely, Selectable } from 'kysely';
import { kyselyStatements } from './statements.ts';
import type { GrantdTables } from './tables.ts';

type Db = Kysely<GrantdTables>;

/** The signing keys. A host that signs elsewhere passes a `JwtService` to the server instead. */
export function kyselyKeys(db: Db, now: () => Date): KeyRepository {
  const keys = () => db.selectFrom('oauth_keys');
  return {
    async get(kid) {
      // The name comes from a token of any sender. PostgreSQL rejects a text with this character.
      if (kid.includes('\0')) return undefined;
      const row = await keys().selectAll().where('kid', '=', kid).executeTakeFirst();
      return row && keyOf(row);
    },
    async list() {
      return (await keys().selectAll().orderBy('created_at').orderBy('kid').execute()).map(keyOf);
    },
    async currentKeyId(algorithm) {
      const current = keys().select('kid').where('algorithm', '=', algorithm).where('status', '=', 'current');
      return (await current.executeTakeFirst())?.kid;
    },
    async initialize(first) {
      // A unique index allows one current and one next key per algorithm.
      const added = db.insertInto('oauth_keys').values(first.map(rowOf));
      await added.onConflict((conflict) => conflict.doNothing()).execute();
    },
    rotate: (currentKid, next) =>
      kyselyStatements.atOnce(db, async (trx) => {
        const update = trx.updateTable('oauth_keys');
        const { numUpdatedRows } = await update
          .set({ status: 'retired', retired_at: now() })
          .where('kid', '=', currentKid)
          .where('status', '=', 'current')
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return false;
        await update
          .set({ status: 'current' })
          .where('algorithm', '=', next.algorithm)
          .where('status', '=', 'next')
          .execute();
        await trx.insertInto('oauth_keys').values(rowOf(next)).execute();
        return true;
      }),
  };
}

function rowOf({ publicJwk, sealedPrivateKey, createdAtMs, kid, algorithm, status }: KeyRecord) {
  const created_at = new Date(createdAtMs);
  const public_jwk = JSON.stringify(publicJwk);
  return { kid, algorithm, status, public_jwk, sealed_private_key: sealedPrivateKey, created_at };
}

function keyOf(row: Selectable<GrantdTables['oauth_keys']>): KeyRecord {
  return {
    kid: row.kid,
    algorithm: row.algorithm,
    status: row.status,
    publicJwk: row.public_jwk,
    sealedPrivateKey: row.sealed_private_key,
    createdAtMs: row.created_at.getTime(),
    ...(row.retired_at && { retiredAtMs: row.retired_at.getTime() }),
  };
}
