import type { EventRecord, EventType } from '../../../protocol/records.ts';
import type { AdministrableStorage } from '../../contract.ts';
import { rowsOf } from './connections.ts';
import type { PostgresHandle } from './handle.ts';
import { namedStatements } from './statement.ts';

export const EVENTS_SQL = {
  lockNumbering: 'SELECT 1 FROM grantd.issuers WHERE id = $1 FOR UPDATE',

  // Only rows that are committed are seen here, by one reader at a time: what commits later gets a later number, and
  // what began after something was answered has the greater id.
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
      const [, , found] = await primary.write([
        [sql.lockNumbering, issuerId],
        [sql.number, issuerId, limit],
        [sql.after, issuerId, sequence, limit],
      ]);
      return rowsOf<EventRow>(found).map(({ at_ms: atMs, actor, ...row }) => ({
        ...row,
        atMs,
        ...(actor !== null && { actor }),
      }));
    },
  };
}
