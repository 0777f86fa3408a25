import type { EventRecord, EventType } from '../../../protocol/records.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';

export const EVENTS_SQL = {
  add: 'INSERT INTO events (issuer_id, at_ms, type, target) VALUES (:issuerId, :nowMs, :type, :target)',
  last: 'SELECT sequence FROM events WHERE issuer_id = :issuerId ORDER BY sequence DESC LIMIT 1',
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
  /** The number of the last event; 0 where there is none. */
  last(): number;
}

export function sqliteEvents({ database, issuerId, clock }: SqliteHandle): Events {
  const sql = prepareAll(database, EVENTS_SQL);
  return {
    add(type, target) {
      sql.add.run({ issuerId, nowMs: clock(), type, target });
    },
    last() {
      return Number(sql.last.get({ issuerId })?.sequence ?? 0);
    },
    after(sequence, limit) {
      const rows = sql.after.all({ issuerId, sequence, limit }) as EventRow[];
      return rows.map(({ at_ms, ...row }) => ({ ...row, atMs: at_ms }));
    },
  };
}
