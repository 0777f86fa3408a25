// Events and sweeping in PostgreSQL.
import type { EventRecord, EventType } from '../../protocol/records.ts';
import type { AdministrableStorage } from '../contract.ts';
import { changesOf, ended, namedStatements, rowsOf } from './connections.ts';
import type { PostgresHandle } from './lookups.ts';

export const EVENTS_SQL = {
  lockNumbering: 'SELECT 1 FROM grantd.issuers WHERE id = $1 FOR UPDATE',

  // One reader at a time numbers the committed rows. Rows that commit later get higher numbers, and transactions that
  // begin after a response have higher ids.
  number: `
    WITH unnumbered AS (
      SELECT id, row_number() OVER (ORDER BY id) AS position FROM (
        SELECT id FROM grantd.events WHERE issuer_id = $1 AND sequence IS NULL ORDER BY id LIMIT $2) oldest),
    numbered AS (
      UPDATE grantd.events e SET sequence = i.last_event_sequence + u.position
      FROM unnumbered u, grantd.issuers i WHERE e.id = u.id AND i.id = $1
      RETURNING e.sequence)
    UPDATE grantd.issuers SET last_event_sequence = (SELECT max(sequence) FROM numbered)
    WHERE id = $1 AND EXISTS (SELECT 1 FROM numbered)`,

  after: `
    SELECT sequence, at_ms, type, target, actor FROM grantd.events
    WHERE issuer_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
};

type EventRow = {
  readonly sequence: number;
  readonly at_ms: number;
  readonly type: EventType;
  readonly target: string;
  readonly actor: string | null;
};

export async function postgresEvents({
  primary,
  issuerId,
}: PostgresHandle): Promise<Pick<AdministrableStorage, 'eventsAfter'>> {
  const sql = await namedStatements(EVENTS_SQL);
  return {
    async eventsAfter(sequence, limit): Promise<readonly EventRecord[]> {
      return primary.write(
        [
          [sql.lockNumbering, issuerId],
          [sql.number, issuerId, limit],
          [sql.after, issuerId, sequence, limit],
        ],
        ([, , found]) =>
          rowsOf<EventRow>(found).map(({ at_ms: atMs, actor, ...row }) => ({
            ...row,
            atMs,
            ...(actor !== null && { actor }),
          })),
      );
    },
  };
}

/**
 * Finds the oldest rows by an index, skips rows that are locked, and deletes up to a limit. The array keeps
 * PostgreSQL from searching again for each row.
 */
const oldest = (table: string, age: string) => `
  DELETE FROM grantd.${table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM grantd.${table} WHERE issuer_id = $1 AND ${age} <= $2
    ORDER BY ${age} LIMIT $3 FOR UPDATE SKIP LOCKED))`;

export const SWEEP_SQL = {
  // Only one process sweeps at a time.
  lock: 'SELECT 1 FROM grantd.sweeps WHERE issuer_id = $1 FOR UPDATE SKIP LOCKED',

  tokens: oldest('tokens', 'keep_until'),
  authorizationCodes: oldest('authorization_codes', 'keep_until'),
  // A grant goes with its principal.
  principals: `
    WITH overdue AS (
      SELECT ctid, kind, id FROM grantd.principals WHERE issuer_id = $1 AND keep_until <= $2
      ORDER BY keep_until LIMIT $3 FOR UPDATE SKIP LOCKED),
    principals AS (
      DELETE FROM grantd.principals WHERE ctid = ANY (ARRAY(SELECT ctid FROM overdue)) RETURNING 1),
    grants AS (
      DELETE FROM grantd.grants WHERE issuer_id = $1
        AND grant_id = ANY (ARRAY(SELECT id FROM overdue WHERE kind = 'grant')) RETURNING 1)
    SELECT 1 FROM principals UNION ALL SELECT 1 FROM grants`,

  oneTimeIdentifiers: oldest('one_time_identifiers', 'expires_at'),
  pushedRequests: oldest('pushed_requests', 'expires_at'),
  events: oldest('events', 'at_ms'),

  // Every row that a retired key signed is kept until its needed_until at the latest. There are few keys.
  keys: `
    DELETE FROM grantd.signing_keys k
    WHERE k.issuer_id = $1 AND k.status = 'retired' AND k.needed_until <= $2 AND NOT EXISTS (
      SELECT 1 FROM grantd.tokens t WHERE t.issuer_id = $1 AND t.keep_until <= k.needed_until)`,
};

/**
 * Deletes rows that are no longer needed, in one short transaction per call. Does nothing while another process
 * sweeps.
 * @param eventRetentionSeconds the age at which events are deleted
 */
export async function postgresSweep(
  { primary, issuerId, clock }: PostgresHandle,
  eventRetentionSeconds: number,
): Promise<(limit: number) => Promise<number>> {
  const sql = await namedStatements(SWEEP_SQL);
  return (limit) => {
    const nowMs = clock();
    const now = Math.floor(nowMs / 1000);
    const untilMs = nowMs - eventRetentionSeconds * 1000;
    return primary.transaction<number>([[sql.lock, issuerId]], ([locked]) => {
      if (rowsOf(locked).length === 0) return ended(0);
      return {
        calls: [
          [sql.tokens, issuerId, now, limit],
          [sql.authorizationCodes, issuerId, now, limit],
          [sql.principals, issuerId, now, limit],
          [sql.oneTimeIdentifiers, issuerId, now, limit],
          [sql.pushedRequests, issuerId, now, limit],
          [sql.keys, issuerId, now],
          [sql.events, issuerId, untilMs, limit],
        ],
        outcome: (results) => results.reduce((swept, result) => swept + changesOf(result), 0),
      };
    });
  };
}
