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
    keepLastNumber(last) {
      sql.keepLastNumber.run({ issuerId, last });
    },
    after(sequence, limit) {
      const rows = sql.after.all({ issuerId, sequence, limit }) as EventRow[];
      return rows.map(({ at_ms, ...row }) => ({ ...row, atMs: at_ms }));
    },
  };
}
