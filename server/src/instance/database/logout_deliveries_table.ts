import { type LogoutDeliveries, MOST_CLIENTS_AT_ONCE } from '../../sessions/logout_deliveries.ts';
import type { ProgramTables } from './program_tables.ts';

const ONE = 'issuer = $1 AND session_id = $2 AND client_id = $3';

/** As a statement has them: a list of any length is none that both databases read alike. */
const EXCEPT = Array.from({ length: MOST_CLIENTS_AT_ONCE }, (_, index) => `$${index + 4}`).join(', ');
const [UNTIL, LIMIT] = [`$${MOST_CLIENTS_AT_ONCE + 4}`, `$${MOST_CLIENTS_AT_ONCE + 5}`];

const DUE = `issuer = $1 AND due_at_ms <= $2 AND ($3 = '' OR session_id = $3) AND client_id NOT IN (${EXCEPT})`;

const SQL = {
  isDue: `SELECT session_id FROM grantd.logout_deliveries WHERE ${DUE} LIMIT 1`,

  // What somebody else takes at the same time is not due any more when it is looked at again.
  take: `
    UPDATE grantd.logout_deliveries SET attempts = attempts + 1, due_at_ms = ${UNTIL}
    WHERE issuer = $1 AND due_at_ms <= $2 AND (session_id, client_id) IN (
      SELECT session_id, client_id FROM (
        SELECT session_id, client_id, due_at_ms,
          row_number() OVER (PARTITION BY client_id ORDER BY due_at_ms, session_id) AS place
        FROM grantd.logout_deliveries WHERE ${DUE}) AS due
      WHERE place = 1 ORDER BY due_at_ms LIMIT ${LIMIT})
    RETURNING session_id, client_id, subject, sid, sub, attempts`,

  remove: `DELETE FROM grantd.logout_deliveries WHERE ${ONE}`,
  postpone: `UPDATE grantd.logout_deliveries SET due_at_ms = $4 WHERE ${ONE}`,
};

export function logoutDeliveriesTable(tables: ProgramTables, issuer: string): LogoutDeliveries {
  return {
    async take(nowMs, leaseMs, { sessionId = '', exceptClients, limit }) {
      if (exceptClients.length > MOST_CLIENTS_AT_ONCE) throw new RangeError('more clients than there may be');
      const except = Array.from({ length: MOST_CLIENTS_AT_ONCE }, (_, index) => exceptClients[index] ?? '');
      const due = [issuer, nowMs, sessionId, ...except] as const;
      // Most of the time nothing is due, and a look is cheaper than a write.
      if ((await tables.read(SQL.isDue, ...due)).length === 0) return [];
      const [taken = []] = await tables.write([SQL.take, ...due, nowMs + leaseMs, limit]);
      return taken.map((row) => ({
        sessionId: String(row.session_id),
        clientId: String(row.client_id),
        subject: String(row.subject),
        // Those of an earlier version have the name that every client was told.
        sid: String(row.sid ?? row.session_id),
        ...(row.sub !== null && { sub: String(row.sub) }),
        attempts: Number(row.attempts),
      }));
    },
    async remove({ sessionId, clientId }) {
      await tables.write([SQL.remove, issuer, sessionId, clientId]);
    },
    async postpone({ sessionId, clientId }, dueAtMs) {
      await tables.write([SQL.postpone, issuer, sessionId, clientId, dueAtMs]);
    },
  };
}
