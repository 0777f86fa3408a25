import { prepareAll, type SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';

/** The oldest principals that are over; the same ones for both statements of a transaction. */
const OVER = `FROM principals
      WHERE issuer_id = :issuerId AND keep_until <= :now ORDER BY keep_until, kind, id LIMIT :limit`;

/** Each statement finds its oldest rows by an index and deletes no more than `limit` of them. */
export const SWEEP_SQL = {
  tokens: `
    DELETE FROM tokens WHERE rowid IN (
      SELECT rowid FROM tokens WHERE issuer_id = :issuerId AND keep_until <= :now ORDER BY keep_until LIMIT :limit)`,

  authorizationCodes: `
    DELETE FROM authorization_codes WHERE rowid IN (
      SELECT rowid FROM authorization_codes
      WHERE issuer_id = :issuerId AND keep_until <= :now ORDER BY keep_until LIMIT :limit)`,

  // Those of the principals that go next.
  grants: `
    DELETE FROM grants WHERE issuer_id = :issuerId AND grant_id IN (
      SELECT CASE kind WHEN 'grant' THEN id END ${OVER})`,

  principals: `DELETE FROM principals WHERE issuer_id = :issuerId AND (kind, id) IN (SELECT kind, id ${OVER})`,

  oneTimeIdentifiers: `
    DELETE FROM one_time_identifiers WHERE issuer_id = :issuerId AND id IN (
      SELECT id FROM one_time_identifiers
      WHERE issuer_id = :issuerId AND expires_at <= :now ORDER BY expires_at LIMIT :limit)`,

  pushedRequests: `
    DELETE FROM pushed_requests WHERE rowid IN (
      SELECT rowid FROM pushed_requests
      WHERE issuer_id = :issuerId AND expires_at <= :now ORDER BY expires_at LIMIT :limit)`,

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

  // By number, which is by age but for clocks that were set. What is not old enough yet is looked at again.
  events: `
    DELETE FROM events WHERE issuer_id = :issuerId AND at_ms <= :untilMs AND sequence IN (
      SELECT sequence FROM events WHERE issuer_id = :issuerId ORDER BY sequence LIMIT :limit)`,
};

/**
 * Deletion of what nothing needs any more, one short transaction a call.
 * @param eventRetentionSeconds age at which events go
 */
export function sqliteSweep(
  handle: SqliteHandle,
  events: Events,
  eventRetentionSeconds: number,
): (limit: number) => Promise<number> {
  const { database, issuerId, clock, transaction } = handle;
  const sql = prepareAll(database, SWEEP_SQL);
  const sweepEvents = (untilMs: number, limit: number) => {
    const last = events.lastNumber();
    const swept = sql.events.run({ issuerId, untilMs, limit });
    if (swept.changes !== 0) events.keepLastNumber(last);
    return swept;
  };
  return (limit) =>
    transaction(() => {
      const nowMs = clock();
      const now = Math.floor(nowMs / 1000);
      const untilMs = nowMs - eventRetentionSeconds * 1000;
      const swept = [
        sql.tokens.run({ issuerId, now, limit }),
        sql.authorizationCodes.run({ issuerId, now, limit }),
        sql.grants.run({ issuerId, now, limit }),
        sql.principals.run({ issuerId, now, limit }),
        sql.oneTimeIdentifiers.run({ issuerId, now, limit }),
        sql.pushedRequests.run({ issuerId, now, limit }),
        sql.keys.run({ issuerId, now, limit }),
        sweepEvents(untilMs, limit),
      ].reduce((sum, { changes }) => sum + Number(changes), 0);
      if (swept > 0) sql.keepTime.run({ issuerId, now });
      return swept;
    });
}
