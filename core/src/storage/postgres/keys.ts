// Signing keys, one-time identifiers and pending rows in PostgreSQL.

import type { SigningAlgorithm } from '../../protocol/client_metadata.ts';
import type { PendingKind } from '../../protocol/pending.ts';
import type { KeyRecord } from '../../protocol/records.ts';
import {
  insertedNames,
  insertedRow,
  PENDING,
  postgresDefinitions,
  type RowObject,
  SIGNING_KEYS,
} from '../columns.ts';
import type { KeyRepository, OneTimeIdentifiers, PendingRepository } from '../contract.ts';
import { ContractBreach } from '../faults.ts';
import { RETIRED_KEY_SECONDS } from '../issuing.ts';
import { forPostgres, KEYS, PENDING_ROWS, takeIdentifier, toKeyRecord, toPendingRow } from '../statements.ts';
import {
  changesOf,
  ended,
  isStorable,
  namedStatements,
  type PostgresCall,
  type PostgresStatement,
  rowsOf,
} from './connections.ts';
import { auditedEventOf, insertEvent } from './events.ts';
import type { PostgresHandle } from './lookups.ts';
import { type Found, msLeftOf, type Term, termFromNow, underLease } from './primary.ts';

/**
 * Milliseconds for which a process remembers which key is current. A rotation waits for as long, so that no process
 * signs with the previous key afterwards. The same in every process of a cluster.
 */
const CURRENT_KEY_MS = 500;

interface CurrentKey extends Term {
  readonly kid: Promise<string | undefined>;
}

export const KEYS_SQL = {
  list: forPostgres(KEYS.list, 'issuerId'),

  get: underLease(forPostgres(KEYS.get, 'issuerId', 'kid')),

  currentKeyId: forPostgres(KEYS.currentKeyId, 'issuerId', 'algorithm'),

  // All keys of an algorithm or none: the unique indexes stop a second caller.
  add: `
    INSERT INTO grantd.signing_keys (issuer_id, ${insertedNames(SIGNING_KEYS).join(', ')})
    SELECT $1, n.* FROM json_to_recordset($2) AS n (${postgresDefinitions(SIGNING_KEYS)})
    ORDER BY n.algorithm, n.status
    ON CONFLICT DO NOTHING`,

  lockCurrent: `
    SELECT algorithm FROM grantd.signing_keys
    WHERE issuer_id = $1 AND kid = $2 AND status = 'current' FOR UPDATE`,

  // `needed_until` already covers the tokens that the key has signed: each issuance updates it.
  retire: `
    UPDATE grantd.signing_keys
    SET status = 'retired', retired_at_ms = $3, needed_until = greatest(needed_until, $4)
    WHERE issuer_id = $1 AND kid = $2`,

  record: insertEvent('$2'),

  promote: forPostgres(KEYS.promote, 'issuerId', 'algorithm'),

  reseal: forPostgres(KEYS.reseal, 'issuerId', 'kid', 'sealed', 'resealed'),
};

export async function postgresKeys(handle: PostgresHandle): Promise<Required<KeyRepository>> {
  const { primary, issuerId, clock, originOf } = handle;
  const sql = await namedStatements(KEYS_SQL);
  const asParameter = (keys: readonly KeyRecord[]) =>
    JSON.stringify(keys.map((key) => insertedRow(SIGNING_KEYS, key)));
  const current = new Map<SigningAlgorithm, CurrentKey>();

  const readCurrent = (algorithm: SigningAlgorithm): CurrentKey => {
    const term = termFromNow(CURRENT_KEY_MS);
    const kid = primary.read(
      [sql.currentKeyId, issuerId, algorithm],
      (found) => rowsOf<{ readonly kid: string }>(found)[0]?.kid,
    );
    const read = { ...term, kid };
    current.set(algorithm, read);
    // Neither a failure nor the lack of a key is remembered.
    const forget = () => current.get(algorithm) === read && current.delete(algorithm);
    kid.then((found) => found ?? forget(), forget);
    return read;
  };

  return {
    async get(kid) {
      if (!isStorable(kid)) return undefined;
      return primary.readUnderLease([sql.get, issuerId, kid], (row: Found<RowObject, 'kid'>) =>
        row.kid === null ? undefined : toKeyRecord(row),
      );
    },
    async list() {
      return primary.read([sql.list, issuerId], (found) => rowsOf<RowObject>(found).map(toKeyRecord));
    },
    async currentKeyId(algorithm) {
      const known = current.get(algorithm);
      return (known !== undefined && msLeftOf(known) > 0 ? known : readCurrent(algorithm)).kid;
    },
    async initialize(keys) {
      await primary.write([[sql.add, issuerId, asParameter(keys)]]);
    },
    async rotate(currentKid, next) {
      const nowMs = clock();
      const event = auditedEventOf(handle, 'key_rotated', { target: currentKid }, originOf());
      const inFlightUntil = Math.floor(nowMs / 1000) + RETIRED_KEY_SECONDS;
      const rotating = primary.transaction<boolean>([[sql.lockCurrent, issuerId, currentKid]], (found) => {
        const [current] = rowsOf<{ readonly algorithm: string }>(found[0]);
        if (current === undefined) return ended(false);
        if (next.algorithm !== current.algorithm || next.status !== 'next') {
          throw new ContractBreach(
            `the key to follow ${currentKid} must be a next one for ${current.algorithm}`,
          );
        }
        return {
          calls: [
            [sql.retire, issuerId, currentKid, nowMs, inFlightUntil],
            [sql.promote, issuerId, next.algorithm],
            [sql.add, issuerId, asParameter([next])],
            [sql.record, issuerId, event],
          ],
          outcome([, promoted, added]) {
            if (changesOf(promoted) !== 1 || changesOf(added) !== 1) {
              throw new Error(`no key was ready to follow ${currentKid}`);
            }
            return true;
          },
        };
      });
      const isRotated = await rotating.finally(() => current.clear());
      // Also if another process was faster, which may still be waiting.
      await new Promise((resolve) => setTimeout(resolve, CURRENT_KEY_MS));
      return isRotated;
    },
    async reseal(kid, sealed, resealed) {
      return primary.write(
        [[sql.reseal, issuerId, kid, sealed, resealed]],
        ([replaced]) => changesOf(replaced) === 1,
      );
    },
  };
}

/**
 * Whether a row of a one-time identifier was not there before, and was not forgotten by a sweep, as a value of RETURNING:
 * the insertion waits for a sweep that deletes the same identifier, and what that has forgotten is asked for afterwards.
 */
export const IS_FIRST_USE = 'expires_at > grantd.forgotten_until(issuer_id) AS is_first';

export const ONE_TIME_IDENTIFIERS_SQL = {
  take: `${takeIdentifier('VALUES ($1, $2, $3::bigint)', '$4::bigint')} RETURNING ${IS_FIRST_USE}`,
};

export async function postgresOneTimeIdentifiers({
  primary,
  issuerId,
  clock,
}: PostgresHandle): Promise<OneTimeIdentifiers> {
  const sql = await namedStatements(ONE_TIME_IDENTIFIERS_SQL);
  return {
    async take(id, expiresAt) {
      const now = Math.floor(clock() / 1000);
      return primary.write(
        [[sql.take, issuerId, id, expiresAt, now]],
        ([taken]) => rowsOf<{ is_first: boolean }>(taken)[0]?.is_first === true,
      );
    },
  };
}

export const PENDING_SQL = {
  add: `
    INSERT INTO grantd.pending (issuer_id, ${insertedNames(PENDING).join(', ')})
    SELECT $1, n.* FROM json_to_record($2) AS n (${postgresDefinitions(PENDING)})
    ON CONFLICT DO NOTHING`,

  get: underLease(forPostgres(PENDING_ROWS.get, 'issuerId', 'kind', 'id')),

  getByOtherId: underLease(forPostgres(PENDING_ROWS.getByOtherId, 'issuerId', 'kind', 'otherId')),

  take: forPostgres(PENDING_ROWS.take, 'issuerId', 'kind', 'id'),

  change: forPostgres(PENDING_ROWS.change, 'issuerId', 'kind', 'id', 'version', 'data', 'expiresAt'),
};

export async function postgresPending({ primary, issuerId }: PostgresHandle): Promise<PendingRepository> {
  const sql = await namedStatements(PENDING_SQL);
  const find = async (statement: PostgresStatement, kind: PendingKind, key: string) => {
    if (!isStorable(key)) return undefined;
    return primary.readUnderLease([statement, issuerId, kind, key], (row: Found<RowObject, 'id'>) =>
      row.id === null ? undefined : toPendingRow(row),
    );
  };
  return {
    async add(row) {
      const stored = JSON.stringify(insertedRow(PENDING, row));
      return primary.write([[sql.add, issuerId, stored]], ([added]) => changesOf(added) === 1);
    },
    get: (kind, id) => find(sql.get, kind, id),
    getByOtherId: (kind, otherId) => find(sql.getByOtherId, kind, otherId),
    async take(kind, id) {
      if (!isStorable(id)) return undefined;
      return primary.write([[sql.take, issuerId, kind, id]], ([taken]) =>
        rowsOf<RowObject>(taken).map(toPendingRow).at(0),
      );
    },
    async change({ kind, id, data, version, expiresAt }) {
      const call: PostgresCall = [sql.change, issuerId, kind, id, version, JSON.stringify(data), expiresAt];
      return isStorable(id) && primary.write([call], ([changed]) => changesOf(changed) === 1);
    },
  };
}
