import type { NewClient } from '@grantd/core';
import type { Kysely } from 'kysely';
import { originsOf } from '../records.ts';
import { type HostStorage, tokensOfGrants } from '../tokens_of_grants.ts';
import { kyselyKeys } from './keys.ts';
import { kyselyStatements } from './statements.ts';
import { sweepOnce } from './sweep.ts';
import type { GrantdTables } from './tables.ts';

type Db = Kysely<GrantdTables>;

/**
 * grantd's storage in the host's PostgreSQL, through the host's Kysely. With a `Transaction` everything happens within
 * it.
 * @param clock milliseconds
 */
export function kyselyStorage(db: Db, clock: () => number = Date.now): HostStorage {
  const now = () => new Date(clock());
  return {
    clients: {
      async get(id) {
        const row = await db.selectFrom('oauth_clients').selectAll().where('id', '=', id).executeTakeFirst();
        return row && { ...row.record, ...(row.disabled_at && { disabledAtMs: row.disabled_at.getTime() }) };
      },
      async hasRedirectOrigin(origin) {
        const enabled = db.selectFrom('oauth_clients').select('id').where('disabled_at', 'is', null);
        return (await enabled.where('origins', '@>', [[origin]]).executeTakeFirst()) !== undefined;
      },
    },

    ...tokensOfGrants(db, kyselyStatements, clock),

    keys: kyselyKeys(db, now),

    oneTimeIdentifiers: {
      async take(id, expiresAt) {
        const row = { id, expires_at: new Date(expiresAt * 1000) };
        const taken = db.insertInto('oauth_one_time_identifiers').values(row).returning('id');
        const renewed = taken.onConflict((conflict) =>
          conflict.column('id').doUpdateSet(row).where('oauth_one_time_identifiers.expires_at', '<=', now()),
        );
        return (await renewed.executeTakeFirst()) !== undefined;
      },
    },

    pushedRequests: {
      async add({ id, clientId, parameters, expiresAt }) {
        const row = { id, client_id: clientId, parameters: JSON.stringify(parameters) };
        const expires_at = new Date(expiresAt * 1000);
        await db
          .insertInto('oauth_pushed_requests')
          .values({ ...row, expires_at })
          .execute();
      },
      async get(id) {
        const found = db.selectFrom('oauth_pushed_requests').selectAll().where('id', '=', id);
        const row = await found.executeTakeFirst();
        if (row === undefined) return undefined;
        const { client_id: clientId, parameters, expires_at } = row;
        return { id, clientId, parameters, expiresAt: expires_at.getTime() / 1000 };
      },
      async remove(id) {
        await db.deleteFrom('oauth_pushed_requests').where('id', '=', id).execute();
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
  const added = db.insertInto('oauth_clients').values(row);
  await added.onConflict((conflict) => conflict.column('id').doUpdateSet(row)).execute();
}
