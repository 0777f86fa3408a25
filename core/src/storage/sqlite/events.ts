// Events and sweeping in SQLite.
import type { StatementResultingChanges } from 'node:sqlite';
import type { EventFacts, EventOrigin, EventRecord, EventType } from '../../protocol/event_records.ts';
import type { Principal } from '../../protocol/records.ts';
import { endOfDay } from '../issuing.ts';
import { EVENT_COLUMNS, type EventList, type EventRow, eventOfList } from '../statements.ts';
import type { SqliteHandle } from './connection.ts';
import { prepareAll, returningLists } from './queues.ts';

/**
 * The number of an issuer's last event. The remaining rows are not enough: an event may be written and swept between
 * two reads.
 */
const LAST_NUMBER = `max(last_event_sequence,
      coalesce((SELECT max(sequence) FROM events WHERE issuer_id = :issuerId), 0))`;

/** The grant of a pair or family. NULL if there are several, which the contract forbids. */
const onlyGrantOf = (column: 'pair_id' | 'family_id', id: string) => `
  (SELECT CASE WHEN min(grant_id) = max(grant_id) AND count(grant_id) = count(*) THEN min(grant_id) END
    FROM tokens WHERE issuer_id = e.issuer_id AND ${column} = ${id})`;

/** The types of events that end tokens, or change whether they are alive. */
const ENDING_TYPES = [
  ...[
    'token_revoked',
    'family_revoked',
    'exchanges_revoked',
    'code_revoked',
    'grant_revoked',
    'session_revoked',
  ],
  ...['subject_revoked', 'subject_disabled', 'subject_enabled'],
  ...['client_revoked', 'client_disabled', 'client_enabled', 'issued_before_revoked'],
] as const satisfies readonly EventType[];

/** The maximum number of events that end tokens to read at once. */
const MAX_ENDINGS = 100;

const NO_ORIGIN: EventOrigin = {};

// ADR 31
export const EVENTS_SQL = {
  add: `
    INSERT INTO events
      (issuer_id, sequence, at_ms, type, target, actor, address, client_id, subject, reason, request_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,

  lastNumber: `SELECT ${LAST_NUMBER} AS last FROM issuers WHERE id = :issuerId`,

  position: `
    SELECT ${LAST_NUMBER} AS last_event,
      coalesce((SELECT swept_until FROM sweeps WHERE issuer_id = :issuerId), 0) AS swept_until
    FROM issuers WHERE id = :issuerId`,

  keepLastNumber: 'UPDATE issuers SET last_event_sequence = :last WHERE id = :issuerId',

  // Tokens that are tied to others end with their grant. If a row is gone, its grant is unknown.
  endings: `
    SELECT e.sequence, e.type, e.target,
      CASE WHEN t.pair_id IS NULL AND t.family_id IS NULL AND t.grant_id IS NULL THEN t.id END AS token_alone,
      CASE
        WHEN e.type = 'token_revoked'
          AND (t.pair_id IS NULL OR t.grant_id = ${onlyGrantOf('pair_id', 't.pair_id')})
          AND (t.family_id IS NULL OR t.grant_id = ${onlyGrantOf('family_id', 't.family_id')})
          THEN t.grant_id
        WHEN e.type = 'family_revoked' THEN ${onlyGrantOf('family_id', 'e.target')}
        WHEN e.type = 'code_revoked' THEN
          (SELECT grant_id FROM authorization_codes WHERE issuer_id = e.issuer_id AND id = e.target)
      END AS grant_id
    FROM events e
    LEFT JOIN tokens t ON e.type = 'token_revoked' AND t.issuer_id = e.issuer_id AND t.id = e.target
    WHERE e.issuer_id = :issuerId AND e.sequence > :after AND e.sequence <= :last
      AND e.type IN (${ENDING_TYPES.map((type) => `'${type}'`).join(', ')})`,

  count: `
    SELECT count(*) AS events, total(type IN (${ENDING_TYPES.map((type) => `'${type}'`).join(', ')})) AS endings
    FROM events WHERE issuer_id = :issuerId AND sequence > :after AND sequence <= :last`,

  after: `
    SELECT ${EVENT_COLUMNS} FROM events
    WHERE issuer_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
};

type EndingRow = Pick<EventRow, 'sequence' | 'type' | 'target'> & {
  readonly token_alone: string | null;
  readonly grant_id: string | null;
};

/** What an event ended or changed: a token alone, or all tokens of a principal. */
export interface Ending {
  readonly of: 'token' | Principal;
  readonly id: string;
  /** The number of the event. */
  readonly sequence: number;
}

/** The position of a file, as far as cached tokens depend on it. */
export interface Position {
  /** As `Events.lastNumber`. */
  readonly lastEvent: number;
  /** Seconds. Rows that were kept until then or earlier may have been swept; 0 if none was. */
  readonly sweptUntil: number;
}

export interface Events {
  /** Writes an event as part of the caller's transaction. */
  add(type: EventType, facts: EventFacts, origin: EventOrigin | undefined): void;
  after(sequence: number, limit: number): readonly EventRecord[];
  /** The highest number that an event has ever had, swept or not; 0 if there was none. */
  lastNumber(): number;
  position(): Position;
  /**
   * Reads what the events after a number have ended.
   * @returns `undefined` if one of them concerns all tokens, if the row of its target is gone, or if too many end tokens
   */
  endings(after: number, last: number): readonly Ending[] | undefined;
  /** Makes numbers continue after this one, as part of the transaction that sweeps. */
  keepLastNumber(last: number): void;
}

export function sqliteEvents({
  database,
  issuerId,
  clock,
  transactions,
}: Pick<SqliteHandle, 'database' | 'issuerId' | 'clock' | 'transactions'>): Events {
  const { add, after, ...others } = EVENTS_SQL;
  const sql = prepareAll(database, others);
  const insertion = database.prepare(add);
  const page = returningLists<EventList>(database.prepare(after));
  const lastNumber = (): number => Number(sql.lastNumber.get({ issuerId })?.last ?? 0);
  /** The number of the last event that this handle has written in the current transaction. */
  let last = 0;
  let current: number | undefined;
  return {
    add(type, { target, clientId, subject, reason }, { actor, address, requestId } = NO_ORIGIN) {
      if (!database.isTransaction) throw new Error('expected an event to be added within a write');
      const transaction = transactions?.commits;
      if (transaction === undefined || transaction !== current) last = lastNumber();
      current = transaction;
      last += 1;
      const others = [actor, address, clientId, subject, reason, requestId].map((value) => value ?? null);
      insertion.run(issuerId, last, clock(), type, target, ...others);
    },
    lastNumber,
    position() {
      const row = sql.position.get({ issuerId });
      return { lastEvent: Number(row?.last_event ?? 0), sweptUntil: Number(row?.swept_until ?? 0) };
    },
    endings(after, last) {
      const count = sql.count.get({ issuerId, after, last });
      // Rows may have been swept.
      if (count?.events !== last - after || Number(count.endings) > MAX_ENDINGS) return undefined;
      const rows = sql.endings.all({ issuerId, after, last }) as EndingRow[];
      const endings = rows.map(toEnding);
      return endings.includes(undefined) ? undefined : endings.filter((ending) => ending !== undefined);
    },
    keepLastNumber(last) {
      sql.keepLastNumber.run({ issuerId, last });
    },
    after: (sequence, limit) => page.all(issuerId, sequence, limit).map(eventOfList),
  };
}

function toEnding({ sequence, type, target, token_alone, grant_id }: EndingRow): Ending | undefined {
  switch (type) {
    case 'token_revoked':
    case 'family_revoked':
    case 'code_revoked':
      if (grant_id !== null) return { of: 'grant', id: grant_id, sequence };
      return token_alone === null ? undefined : { of: 'token', id: token_alone, sequence };
    case 'grant_revoked':
      return { of: 'grant', id: target, sequence };
    case 'session_revoked':
      return { of: 'session', id: target, sequence };
    case 'subject_revoked':
    case 'subject_disabled':
    case 'subject_enabled':
      return { of: 'subject', id: target, sequence };
    case 'client_revoked':
    case 'client_disabled':
    case 'client_enabled':
      return { of: 'client', id: target, sequence };
    default:
      return undefined;
  }
}

/** Each statement finds its oldest rows by an index and deletes no more than `limit` of them. */
export const SWEEP_SQL = {
  tokens: `
    DELETE FROM tokens WHERE rowid IN (
      SELECT rowid FROM tokens WHERE issuer_id = :issuerId AND keep_until <= :now ORDER BY keep_until LIMIT :limit)
    RETURNING grant_id`,

  authorizationCodes: `
    DELETE FROM authorization_codes WHERE rowid IN (
      SELECT rowid FROM authorization_codes
      WHERE issuer_id = :issuerId AND keep_until <= :now ORDER BY keep_until LIMIT :limit)
    RETURNING grant_id`,

  // Without an index of their time: a grant is kept to the end of the day of its last token or code, and goes with that.
  // Tokens that were superseded or revoked may remain. They stay dead without their grant.
  grantPrincipal: `
    DELETE FROM principals
    WHERE issuer_id = :issuerId AND kind = 'grant' AND id = :grantId AND keep_until <= :endOfDay
      AND NOT EXISTS (
        SELECT 1 FROM tokens t WHERE t.issuer_id = principals.issuer_id AND t.grant_id = principals.id
          AND t.superseded_at_ms IS NULL AND t.revoked_at_ms IS NULL)
      AND NOT EXISTS (
        SELECT 1 FROM authorization_codes c WHERE c.issuer_id = principals.issuer_id AND c.grant_id = principals.id)`,

  grant: 'DELETE FROM grants WHERE issuer_id = :issuerId AND grant_id = :grantId',

  sessions: `
    DELETE FROM principals WHERE issuer_id = :issuerId AND kind = 'session' AND id IN (
      SELECT id FROM principals
      WHERE issuer_id = :issuerId AND kind = 'session' AND keep_until <= :now ORDER BY keep_until LIMIT :limit)`,

  oneTimeIdentifiers: `
    DELETE FROM one_time_identifiers WHERE rowid IN (
      SELECT rowid FROM one_time_identifiers
      WHERE issuer_id = :issuerId AND expires_at <= :now ORDER BY expires_at LIMIT :limit)
    RETURNING expires_at`,

  // The end of the last identifier that was forgotten, and not the time of the clock that said so: it may be ahead.
  keepForgotten: 'UPDATE issuers SET forgotten_until = max(forgotten_until, :until) WHERE id = :issuerId',

  pending: `
    DELETE FROM pending WHERE rowid IN (
      SELECT rowid FROM pending
      WHERE issuer_id = :issuerId AND expires_at <= :now ORDER BY expires_at LIMIT :limit)`,

  exchangeEnds: `
    DELETE FROM exchange_ends WHERE (issuer_id, client_id, subject) IN (
      SELECT issuer_id, client_id, subject FROM exchange_ends
      WHERE issuer_id = :issuerId AND keep_until <= :now ORDER BY keep_until LIMIT :limit)`,

  // Cached tokens that expired by then are read again: their rows, or rows that they depend on, may be gone.
  keepTime: `
    INSERT INTO sweeps (issuer_id, swept_until) VALUES (:issuerId, :now)
    ON CONFLICT (issuer_id) DO UPDATE SET swept_until = excluded.swept_until
    WHERE excluded.swept_until > sweeps.swept_until`,

  // Every row that a retired key signed is kept until its needed_until at the latest.
  keys: `
    DELETE FROM signing_keys WHERE issuer_id = :issuerId AND kid IN (
      SELECT kid FROM signing_keys k
      WHERE k.issuer_id = :issuerId AND k.status = 'retired' AND k.needed_until <= :now AND NOT EXISTS (
        SELECT 1 FROM tokens t WHERE t.issuer_id = k.issuer_id AND t.keep_until <= k.needed_until)
      ORDER BY k.needed_until LIMIT :limit)`,

  // In the order of numbers, which is that of age unless a clock was set. Rows that are not old enough are checked
  // again.
  events: `
    DELETE FROM events WHERE issuer_id = :issuerId AND at_ms <= :untilMs AND sequence IN (
      SELECT sequence FROM events WHERE issuer_id = :issuerId ORDER BY sequence LIMIT :limit)`,
};

/** The part of a swept token or code that tells its grant. */
type GrantOfRow = { readonly grant_id: string | null };

/**
 * Deletes rows that are no longer needed, in one short transaction per call.
 * @param eventRetentionSeconds the age at which events are deleted
 */
export function sqliteSweep(
  handle: SqliteHandle,
  events: Events,
  eventRetentionSeconds: number,
): (limit: number, untilMs?: number) => Promise<number> {
  const { database, issuerId, clock, transaction } = handle;
  const sql = prepareAll(database, SWEEP_SQL);
  const sweepEvents = (untilMs: number, limit: number) => {
    const last = events.lastNumber();
    const swept = sql.events.run({ issuerId, untilMs, limit });
    if (swept.changes !== 0) events.keepLastNumber(last);
    return swept;
  };
  const sweepGrant = (grantId: string, now: number): readonly StatementResultingChanges[] => {
    const principal = sql.grantPrincipal.run({ issuerId, grantId, endOfDay: endOfDay(now) });
    return principal.changes === 0 ? [] : [principal, sql.grant.run({ issuerId, grantId })];
  };
  /** @returns how many identifiers were deleted. They can never be taken again. */
  const sweepIdentifiers = (now: number, limit: number): number => {
    const ends = sql.oneTimeIdentifiers
      .all({ issuerId, now, limit })
      .map(({ expires_at }) => Number(expires_at));
    if (ends.length > 0) sql.keepForgotten.run({ issuerId, until: Math.max(...ends) });
    return ends.length;
  };
  return (limit, untilMs = Infinity) =>
    transaction(() => {
      const nowMs = Math.min(clock(), untilMs);
      const now = Math.floor(nowMs / 1000);
      const eventsUntilMs = nowMs - eventRetentionSeconds * 1000;
      const dependents = [
        ...sql.tokens.all({ issuerId, now, limit }),
        ...sql.authorizationCodes.all({ issuerId, now, limit }),
      ] as GrantOfRow[];
      const grants = new Set(dependents.map(({ grant_id }) => grant_id));
      const swept = [
        ...[...grants].flatMap((grantId) => (grantId === null ? [] : sweepGrant(grantId, now))),
        sql.sessions.run({ issuerId, now, limit }),
        { changes: sweepIdentifiers(now, limit) },
        sql.pending.run({ issuerId, now, limit }),
        sql.exchangeEnds.run({ issuerId, now, limit }),
        sql.keys.run({ issuerId, now, limit }),
        sweepEvents(eventsUntilMs, limit),
      ].reduce((sum, { changes }) => sum + Number(changes), dependents.length);
      if (swept > 0) sql.keepTime.run({ issuerId, now });
      return swept;
    });
}
