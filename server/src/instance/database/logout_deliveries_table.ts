import type { LogoutDeliveries } from '../../sessions/logout_deliveries.ts';
import type { ProgramTables } from './program_tables.ts';

const ONE = 'issuer = $1 AND session_id = $2 AND client_id = $3';

const SQL = {
  isDue: 'SELECT session_id FROM grantd.logout_deliveries WHERE issuer = $1 AND due_at_ms <= $2 LIMIT 1',

  // What somebody else takes at the same time is not due any more when it is looked at again.
  take: `
    UPDATE grantd.logout_deliveries SET attempts = attempts + 1, due_at_ms = $3
    WHERE issuer = $1 AND due_at_ms <= $2 AND (session_id, client_id) IN (
      SELECT session_id, client_id FROM grantd.logout_deliveries
      WHERE issuer = $1 AND due_at_ms <= $2 ORDER BY due_at_ms LIMIT $4)
    RETURNING session_id, client_id, subject, sid, sub, attempts`,

  remove: `DELETE FROM grantd.logout_deliveries WHERE ${ONE}`,
  postpone: `UPDATE grantd.logout_deliveries SET due_at_ms = $4 WHERE ${ONE}`,
};

export function logoutDeliveriesTable(tables: ProgramTables, issuer: string): LogoutDeliveries {
  return {
    async take(nowMs, leaseMs, limit) {
      // Most of the time nothing is due, and a look is cheaper than a write.
      if ((await tables.read(SQL.isDue, issuer, nowMs)).length === 0) return [];
      const [taken = []] = await tables.write([SQL.take, issuer, nowMs, nowMs + leaseMs, limit]);
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
