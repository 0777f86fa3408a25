import type { EventRecord, EventType } from '../../../protocol/records.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';

/** Of an issuer's events. Not only of the rows that are still there: one may be written and swept between two looks. */
const LAST_NUMBER = `max(last_event_sequence,
      coalesce((SELECT max(sequence) FROM events WHERE issuer_id = :issuerId), 0))`;

export const EVENTS_SQL = {
  add: `
    INSERT INTO events (issuer_id, sequence, at_ms, type, target)
    SELECT id, 1 + ${LAST_NUMBER}, :nowMs, :type, :target FROM issuers WHERE id = :issuerId`,

  lastNumber: `SELECT ${LAST_NUMBER} AS last FROM issuers WHERE id = :issuerId`,

  keepLastNumber: 'UPDATE issuers SET last_event_sequence = :last WHERE id = :issuerId',

  // What a token alone stands for ends with nothing else. Of one that is gone, nobody knows.
  endedAlone: `
    SELECT e.target FROM events e JOIN tokens t ON t.issuer_id = e.issuer_id AND t.id = e.target
    WHERE e.issuer_id = :issuerId AND e.sequence > :after AND e.sequence <= :last AND e.type = 'token_revoked'
      AND t.pair_id IS NULL AND t.family_id IS NULL AND t.grant_id IS NULL`,

  after: `
    SELECT sequence, at_ms, type, target FROM events
    WHERE issuer_id = :issuerId AND sequence > :sequence ORDER BY sequence LIMIT :limit`,
};

type EventRow = {
  readonly sequence: number;
  readonly at_ms: number;
  readonly type: EventType;
  readonly target: string;
};

export interface Events {
  /** Writes an event as part of the caller's transaction. */
  add(type: EventType, target: string): void;
  after(sequence: number, limit: number): readonly EventRecord[];
  /** The greatest number that an event has ever had, be it swept or not; 0 where there was none. */
  lastNumber(): number;
  /**
   * The tokens that have ended after an event, until the last one, each by itself.
   * @returns `undefined` where anything else has ended, or what it was is not known any more
   */
  endedAlone(after: number, last: number): readonly string[] | undefined;
  /** Sees to it that numbers go on after this one, as part of the transaction that sweeps. */
  keepLastNumber(last: number): void;
}

export function sqliteEvents({ database, issuerId, clock }: SqliteHandle): Events {
  const sql = prepareAll(database, EVENTS_SQL);
  return {
    add(type, target) {
      sql.add.run({ issuerId, nowMs: clock(), type, target });
    },
    lastNumber() {
      return Number(sql.lastNumber.get({ issuerId })?.last ?? 0);
    },
    endedAlone(after, last) {
      const rows = sql.endedAlone.all({ issuerId, after, last });
      return rows.length === last - after ? rows.map(({ target }) => String(target)) : undefined;
    },
    keepLastNumber(last) {
      sql.keepLastNumber.run({ issuerId, last });
    },
    after(sequence, limit) {
      const rows = sql.after.all({ issuerId, sequence, limit }) as EventRow[];
      return rows.map(({ at_ms, ...row }) => ({ ...row, atMs: at_ms }));
    },
  };
}
