// Events and sweeping in PostgreSQL.
import type { EventFacts, EventOrigin, EventRecord, EventType } from '../../protocol/event_records.ts';
import type { AdministrableStorage } from '../contract.ts';
import { EVENT_COLUMNS, type EventRow, toEventRecord } from '../statements.ts';
import { changesOf, ended, namedStatements, type PostgresCall, rowsOf } from './connections.ts';
import type { PostgresHandle } from './lookups.ts';
import { underLease } from './primary.ts';

/** Columns of events besides their issuer, number and id. */
export const DESCRIPTION = 'at_ms, type, target, actor, address, client_id, subject, reason, request_id';

/** So many events get their numbers in one statement: fewer statements pass by the entries of deleted rows. */
const NUMBERED_AT_ONCE = 5000;

/** SQL for parts of the insertion. */
export interface EventInsertion {
  /** A parameter with the URL of the issuer. Default: `$1` is its number. */
  readonly issuer?: string;
  /** A part of the statement; without it, the event is inserted once. */
  readonly each?: string;
  /** Values that come from that part. Default: from the event, `e`. */
  readonly target?: string;
  readonly clientId?: string;
  readonly subject?: string;
  readonly reason?: string;
  readonly actor?: string;
}

/**
 * Inserts the event that a parameter describes as JSON (`eventOf`), once for each row of a part of the statement. Inserts
 * nothing for NULL.
 */
export function insertEvent(
  parameter: string,
  {
    issuer,
    each,
    target = 'e.target',
    clientId = 'e.client_id',
    subject = 'e.subject',
    reason = 'e.reason',
    actor = 'e.actor',
  }: EventInsertion = {},
): string {
  const issuerId = issuer === undefined ? '$1' : `(SELECT id FROM grantd.issuers WHERE issuer = ${issuer})`;
  return `
  INSERT INTO grantd.unnumbered_events (issuer_id, ${DESCRIPTION})
  SELECT ${issuerId}, e.at_ms, e.type, ${target}, ${actor}, e.address, ${clientId}, ${subject}, ${reason}, e.request_id
  FROM json_to_record(${parameter}) AS e (at_ms bigint, type text, target text, actor text, address text,
    client_id text, subject text, reason text, request_id text)${each === undefined ? '' : `, ${each}`}
  WHERE e.type IS NOT NULL`;
}

/** An event as the parameter of `insertEvent`. */
export function eventOf(
  { clock }: Pick<PostgresHandle, 'clock'>,
  type: EventType,
  { target, clientId, subject, reason }: EventFacts,
  { actor, address, requestId }: EventOrigin = {},
): string {
  const facts = { type, target, client_id: clientId, subject, reason };
  const event = { at_ms: clock(), ...facts, actor, address, request_id: requestId };
  // PostgreSQL stores no NUL.
  return JSON.stringify(event, (_, value) =>
    typeof value === 'string' ? value.replaceAll('\0', '') : value,
  );
}

/** As `eventOf`, of an event that only audited stores record. @returns `null` without an origin */
export function auditedEventOf(
  handle: Pick<PostgresHandle, 'clock'>,
  type: EventType,
  facts: EventFacts,
  origin: EventOrigin | undefined,
): string | null {
  return origin === undefined ? null : eventOf(handle, type, facts, origin);
}

// ADR 11
export const EVENTS_SQL = {
  lockNumbering: 'SELECT 1 FROM grantd.issuers WHERE id = $1 FOR UPDATE',

  // One reader at a time numbers the committed rows. Rows that commit later get higher numbers, and transactions that
  // begin after a response have higher ids.
  number: `
    WITH taken AS (
      DELETE FROM grantd.unnumbered_events WHERE issuer_id = $1 AND id = ANY (ARRAY(
        SELECT id FROM grantd.unnumbered_events WHERE issuer_id = $1 ORDER BY id LIMIT $2))
      RETURNING id, ${DESCRIPTION}),
    numbered AS (
      INSERT INTO grantd.events (issuer_id, sequence, ${DESCRIPTION})
      SELECT $1, i.last_event_sequence + row_number() OVER (ORDER BY t.id), ${DESCRIPTION}
      FROM taken t, grantd.issuers i WHERE i.id = $1
      RETURNING sequence)
    UPDATE grantd.issuers SET last_event_sequence = (SELECT max(sequence) FROM numbered)
    WHERE id = $1 AND EXISTS (SELECT 1 FROM numbered)`,

  after: `
    SELECT ${EVENT_COLUMNS} FROM grantd.events
    WHERE issuer_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,

  numberedAfter: underLease(`
    SELECT e.*, (SELECT true FROM grantd.unnumbered_events WHERE issuer_id = i.id ORDER BY id LIMIT 1) AS has_others
    FROM (VALUES (1)) AS one LEFT JOIN (
      SELECT ${EVENT_COLUMNS} FROM grantd.events
      WHERE issuer_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3) e ON true`),
};

/** An event with a number, or none, and whether other events wait for one. */
type FoundRow = (EventRow | { readonly sequence: null }) & {
  readonly has_others: true | null;
  readonly epoch: number | null;
};

export async function postgresEvents({
  primary,
  issuerId,
}: PostgresHandle): Promise<Pick<AdministrableStorage, 'eventsAfter'>> {
  const sql = await namedStatements(EVENTS_SQL);
  return {
    // Followers read often, and most reads find nothing new. Those lock and commit nothing.
    async eventsAfter(sequence, limit): Promise<readonly EventRecord[]> {
      const numbered = await primary.readAllUnderLease(
        () => [sql.numberedAfter, issuerId, sequence, limit],
        (rows: readonly FoundRow[]) => {
          const events = rows.filter((row) => row.sequence !== null);
          return { events, isWhole: events.length === limit || rows[0]?.has_others !== true };
        },
      );
      if (numbered.isWhole) return numbered.events.map(toEventRecord);
      const calls: readonly PostgresCall[] = [
        [sql.lockNumbering, issuerId],
        [sql.number, issuerId, Math.max(limit, NUMBERED_AT_ONCE)],
        [sql.after, issuerId, sequence, limit],
      ];
      return primary.write(calls, ([, , found]) => rowsOf<EventRow>(found).map(toEventRecord));
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

/**
 * Deletes old events in the order of their numbers or ids, which is that of age unless a clock was set,
 * without an index of ages. Rows that are not old enough are checked again.
 */
const oldestEvents = (table: string, key: string) => `
  DELETE FROM grantd.${table} WHERE issuer_id = $1 AND at_ms <= $2 AND ${key} = ANY (ARRAY(
    SELECT ${key} FROM grantd.${table} WHERE issuer_id = $1 AND ${key} > 0 ORDER BY ${key} LIMIT $3)) RETURNING 1`;

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

  // The end of the last identifier that was forgotten, and not the time of the clock that said so: it may be ahead.
  oneTimeIdentifiers: `
    WITH forgotten AS (${oldest('one_time_identifiers', 'expires_at')} RETURNING expires_at),
    noted AS (
      UPDATE grantd.issuers SET forgotten_until = greatest(forgotten_until, (SELECT max(expires_at) FROM forgotten))
      WHERE id = $1 AND EXISTS (SELECT 1 FROM forgotten))
    SELECT 1 FROM forgotten`,
  pending: oldest('pending', 'expires_at'),
  exchangeEnds: oldest('exchange_ends', 'keep_until'),
  // Hosts that read no events have only unnumbered ones.
  events: `
    WITH numbered AS (${oldestEvents('events', 'sequence')}),
    unnumbered AS (${oldestEvents('unnumbered_events', 'id')})
    SELECT 1 FROM numbered UNION ALL SELECT 1 FROM unnumbered`,

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
): Promise<(limit: number, untilMs?: number) => Promise<number>> {
  const sql = await namedStatements(SWEEP_SQL);
  return (limit, untilMs = Infinity) => {
    const nowMs = Math.min(clock(), untilMs);
    const now = Math.floor(nowMs / 1000);
    const eventsUntilMs = nowMs - eventRetentionSeconds * 1000;
    return primary.transaction<number>([[sql.lock, issuerId]], ([locked]) => {
      if (rowsOf(locked).length === 0) return ended(0);
      return {
        calls: [
          [sql.tokens, issuerId, now, limit],
          [sql.authorizationCodes, issuerId, now, limit],
          [sql.principals, issuerId, now, limit],
          [sql.oneTimeIdentifiers, issuerId, now, limit],
          [sql.pending, issuerId, now, limit],
          [sql.exchangeEnds, issuerId, now, limit],
          [sql.keys, issuerId, now],
          [sql.events, issuerId, eventsUntilMs, limit],
        ],
        outcome: (results) => results.reduce((swept, result) => swept + changesOf(result), 0),
      };
    });
  };
}
