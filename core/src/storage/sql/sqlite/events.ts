import type { EventRecord, EventType } from '../../../protocol/records.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';

export const EVENTS_SQL = {
  add: 'INSERT INTO events (issuer_id, at_ms, type, target) VALUES (:issuerId, :nowMs, :type, :target)',
  after: `
    SELECT sequence, at_ms, type, target FROM events
    WHERE issuer_id = :issuerId AND sequence > :sequence ORDER BY sequence LIMIT :limit`,
};

/**
 * Not of the rows that are still there: an event may be written and swept between two looks. SQLite's own table has one
 * row for each table whose numbers are never given twice.
 */
const LAST_NUMBER = "SELECT seq FROM sqlite_sequence WHERE name = 'events'";

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
  /** The greatest number that an event of any issuer has ever had, be it swept or not; 0 where there was none. */
  lastNumber(): number;
}

export function sqliteEvents({ database, issuerId, clock }: SqliteHandle): Events {
  const sql = prepareAll(database, EVENTS_SQL);
  const lastNumber = database.prepare(LAST_NUMBER);
  return {
    add(type, target) {
      sql.add.run({ issuerId, nowMs: clock(), type, target });
    },
    lastNumber() {
      return Number(lastNumber.get()?.seq ?? 0);
    },
    after(sequence, limit) {
      const rows = sql.after.all({ issuerId, sequence, limit }) as EventRow[];
      return rows.map(({ at_ms, ...row }) => ({ ...row, atMs: at_ms }));
    },
  };
}
