// Signing keys, one-time identifiers and pending rows in SQLite.

import type { KeyRecord } from '../../protocol/records.ts';
import { insertedNames, insertedRow, PENDING, type RowObject, SIGNING_KEYS } from '../columns.ts';
import type { KeyRepository, OneTimeIdentifiers, OneTimeUse, PendingRepository } from '../contract.ts';
import { ContractBreach } from '../faults.ts';
import { RETIRED_KEY_SECONDS } from '../issuing.ts';
import { forSqlite, KEYS, PENDING_ROWS, takeIdentifier, toKeyRecord, toPendingRow } from '../statements.ts';
import type { SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import { prepareAll } from './queues.ts';

const named = (column: string) => `:${column}`;

export const KEYS_SQL = {
  ...forSqlite(KEYS),

  currentAlgorithm: `
    SELECT algorithm FROM signing_keys WHERE issuer_id = :issuerId AND kid = :kid AND status = 'current'`,

  add: `
    INSERT INTO signing_keys (issuer_id, ${insertedNames(SIGNING_KEYS).join(', ')})
    VALUES (:issuerId, ${insertedNames(SIGNING_KEYS).map(named).join(', ')})`,

  // `needed_until` already covers the tokens that the key has signed: each issuance updates it.
  retire: `
    UPDATE signing_keys SET status = 'retired', retired_at_ms = :nowMs,
      needed_until = max(needed_until, :inFlightUntil)
    WHERE issuer_id = :issuerId AND kid = :kid AND status = 'current'`,
};

export function sqliteKeys(
  { database, issuerId, clock, transaction, reads }: SqliteHandle,
  events: Events,
): Required<KeyRepository> {
  const sql = prepareAll(database, KEYS_SQL);
  const add = (key: KeyRecord): void => {
    sql.add.run({ issuerId, ...insertedRow(SIGNING_KEYS, key) });
  };
  const currentKeyId = (algorithm: KeyRecord['algorithm']): string | undefined =>
    (sql.currentKeyId.get({ issuerId, algorithm }) as { readonly kid: string } | undefined)?.kid;

  return {
    currentKeyId: (algorithm) => reads.read(() => currentKeyId(algorithm)),
    get: (kid) =>
      reads.read(() => {
        const row = sql.get.get({ issuerId, kid }) as RowObject | undefined;
        return row && toKeyRecord(row);
      }),
    list: () => reads.read(() => (sql.list.all({ issuerId }) as RowObject[]).map(toKeyRecord)),
    initialize(keys) {
      return transaction(() => {
        const isNew = new Map(
          keys.map(({ algorithm }) => [algorithm, currentKeyId(algorithm) === undefined]),
        );
        for (const key of keys) if (isNew.get(key.algorithm)) add(key);
      });
    },
    rotate(currentKid, next) {
      return transaction((origin) => {
        const nowMs = clock();
        const current = sql.currentAlgorithm.get({ issuerId, kid: currentKid });
        if (current === undefined) return false;
        if (next.algorithm !== current.algorithm || next.status !== 'next') {
          throw new ContractBreach(
            `the key to follow ${currentKid} must be a next one for ${current.algorithm}`,
          );
        }
        const inFlightUntil = Math.floor(nowMs / 1000) + RETIRED_KEY_SECONDS;
        sql.retire.run({ issuerId, kid: currentKid, nowMs, inFlightUntil });
        const promoted = sql.promote.run({ issuerId, algorithm: next.algorithm }).changes;
        if (promoted !== 1) throw new Error(`no key is ready to follow ${currentKid}`);
        add(next);
        if (origin !== undefined) events.add('key_rotated', { target: currentKid }, origin);
        return true;
      });
    },
    reseal(kid, sealed, resealed) {
      return transaction(() => sql.reseal.run({ issuerId, kid, sealed, resealed }).changes === 1);
    },
  };
}

export const ONE_TIME_IDENTIFIERS_SQL = {
  take: forSqlite(
    takeIdentifier(
      'SELECT id, :id, :expiresAt FROM grantd.issuers WHERE id = :issuerId AND forgotten_until < :expiresAt',
      ':now',
    ),
  ),
};

/** Takes an identifier inside the caller's transaction. @returns `false` if it was used before, or may have been */
export type Take = (once: OneTimeUse) => boolean;

export function sqliteTake({ database, issuerId, clock }: SqliteHandle): Take {
  const sql = prepareAll(database, ONE_TIME_IDENTIFIERS_SQL);
  return (once) => sql.take.run({ issuerId, ...once, now: Math.floor(clock() / 1000) }).changes === 1;
}

export function sqliteOneTimeIdentifiers({ transaction }: SqliteHandle, take: Take): OneTimeIdentifiers {
  return { take: (id, expiresAt) => transaction(() => take({ id, expiresAt })) };
}

export const PENDING_SQL = {
  ...forSqlite(PENDING_ROWS),

  add: `
    INSERT INTO pending (issuer_id, ${insertedNames(PENDING).join(', ')})
    VALUES (:issuerId, ${insertedNames(PENDING).map(named).join(', ')})
    ON CONFLICT DO NOTHING`,
};

export function sqlitePending({ database, issuerId, transaction, reads }: SqliteHandle): PendingRepository {
  const sql = prepareAll(database, PENDING_SQL);
  const rowOf = (row: unknown) => (row === undefined ? undefined : toPendingRow(row as RowObject));
  return {
    add: (row) => transaction(() => sql.add.run({ issuerId, ...insertedRow(PENDING, row) }).changes === 1),
    get: (kind, id) => reads.read(() => rowOf(sql.get.get({ issuerId, kind, id }))),
    getByOtherId: (kind, otherId) =>
      reads.read(() => rowOf(sql.getByOtherId.get({ issuerId, kind, otherId }))),
    take: (kind, id) => transaction(() => rowOf(sql.take.get({ issuerId, kind, id }))),
    change: ({ kind, id, data, version, expiresAt }) =>
      transaction(() => {
        const row = { issuerId, kind, id, data: JSON.stringify(data), version, expiresAt };
        return sql.change.run(row).changes === 1;
      }),
  };
}
