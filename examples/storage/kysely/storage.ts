import type { NewClient, NewPendingRow, PendingRow } from '@grantd/core';
import type { Kysely } from 'kysely';
import { originsOf, pendingKey } from '../records.ts';
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
  const findPending = async (column: 'id' | 'other_id', key: string) =>
    pendingFrom(await db.selectFrom('oauth_pending').selectAll().where(column, '=', key).executeTakeFirst());
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

    pending: {
      async add(row) {
        const { kind, id, otherId } = row;
        const other = { other_id: otherId === undefined ? null : pendingKey(kind, otherId) };
        const columns = { id: pendingKey(kind, id), ...other, version: 0, ...recordOf(row) };
        const added = db.insertInto('oauth_pending').values(columns).returning('id');
        return (await added.onConflict((conflict) => conflict.doNothing()).execute()).length === 1;
      },
      get: (kind, id) => findPending('id', pendingKey(kind, id)),
      getByOtherId: (kind, otherId) => findPending('other_id', pendingKey(kind, otherId)),
      async take(kind, id) {
        const taken = db.deleteFrom('oauth_pending').where('id', '=', pendingKey(kind, id)).returningAll();
        return pendingFrom(await taken.executeTakeFirst());
      },
      async change({ version, ...row }) {
        const columns = { ...recordOf(row), version: version + 1 };
        const changed = db.updateTable('oauth_pending').set(columns).returning('id');
        const asRead = changed.where('id', '=', pendingKey(row.kind, row.id)).where('version', '=', version);
        return (await asRead.execute()).length === 1;
      },
    },

    sweep: (limit) => sweepOnce(db, limit, now()),

    answersPlainRecords: true,
  };
}

function recordOf(row: NewPendingRow) {
  return { record: JSON.stringify(row), expires_at: new Date(row.expiresAt * 1000) };
}

function pendingFrom(row: { record: NewPendingRow; version: number } | undefined): PendingRow | undefined {
  return row && { ...row.record, version: row.version };
}

/** Registers a client, or replaces its registration. */
export async function saveClient(db: Db, client: NewClient): Promise<void> {
  const origins = originsOf(client);
  const row = { id: client.id, record: JSON.stringify(client), origins };
  const added = db.insertInto('oauth_clients').values(row);
  await added.onConflict((conflict) => conflict.column('id').doUpdateSet(row)).execute();
}
