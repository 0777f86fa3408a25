import type { EndedSession, Sessions, StoredSession } from '../../sessions/sessions.ts';
import type { ProgramTables, TableRow } from './program_tables.ts';

const COLUMNS = 'id, subject, amr, user_agent, signed_in_at_ms, last_seen_at_ms';

const OPEN = 'ended_at_ms IS NULL';

const SQL = {
  // Keeps whoever changes the password waiting until the session is among those that end with it.
  holdPassword: `
    UPDATE grantd.people SET password_hash = password_hash
    WHERE issuer = $1 AND subject = $2 AND password_hash = $3`,
  add: `
    INSERT INTO grantd.sessions (issuer, ${COLUMNS}, secret_digest, expires_at_ms)
    SELECT issuer, $2, subject, $4, $5, $6, $7, $8, $9 FROM grantd.people
    WHERE issuer = $1 AND subject = $3 AND password_hash = $10 RETURNING id`,

  bySecret: `SELECT ${COLUMNS} FROM grantd.sessions WHERE issuer = $1 AND secret_digest = $2 AND ${OPEN}`,

  ofSubject: `
    SELECT ${COLUMNS} FROM grantd.sessions WHERE issuer = $1 AND subject = $2 AND ${OPEN}
    ORDER BY last_seen_at_ms DESC, id`,

  renew: `
    UPDATE grantd.sessions
    SET secret_digest = $4, amr = $5, user_agent = $6, signed_in_at_ms = $7, last_seen_at_ms = $7, expires_at_ms = $8
    WHERE issuer = $1 AND id = $2 AND secret_digest = $3 AND ${OPEN}
      AND subject IN (SELECT subject FROM grantd.people WHERE issuer = $1 AND subject = $9 AND password_hash = $10)
    RETURNING id`,

  touch: `
    UPDATE grantd.sessions SET last_seen_at_ms = $3, expires_at_ms = $4
    WHERE issuer = $1 AND id = $2 AND last_seen_at_ms < $3 AND ${OPEN}`,

  // Keeps whoever ends the session waiting until the client is among those that are told of it.
  hold: `
    UPDATE grantd.sessions SET expires_at_ms = expires_at_ms
    WHERE issuer = $1 AND id = $2 AND ${OPEN} RETURNING id`,
  addClient: `
    INSERT INTO grantd.session_clients (issuer, session_id, client_id, sid, sub)
    SELECT issuer, id, $3, $4, $5 FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND ${OPEN}
    ON CONFLICT (issuer, session_id, client_id) DO UPDATE SET sid = excluded.sid, sub = excluded.sub`,

  isOpen: `SELECT id FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND ${OPEN}`,

  beginEnd: `
    UPDATE grantd.sessions SET ended_at_ms = $4
    WHERE issuer = $1 AND subject = $2 AND id = $3 AND ${OPEN} RETURNING id, subject`,
  beginEndOfAll: `
    UPDATE grantd.sessions SET ended_at_ms = $4
    WHERE issuer = $1 AND subject = $2 AND id <> $3 AND ${OPEN} RETURNING id, subject`,

  // At once, with no attempt made yet.
  queueDeliveries: `
    INSERT INTO grantd.logout_deliveries (issuer, session_id, client_id, subject, sid, sub, attempts, due_at_ms)
    SELECT c.issuer, c.session_id, c.client_id, s.subject, c.sid, c.sub, 0, $3
    FROM grantd.session_clients c JOIN grantd.sessions s ON s.issuer = c.issuer AND s.id = c.session_id
    WHERE c.issuer = $1 AND c.session_id = $2 AND s.ended_at_ms IS NOT NULL
    ON CONFLICT DO NOTHING RETURNING client_id`,
  remove: 'DELETE FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND ended_at_ms IS NOT NULL',

  halfEnded: `
    SELECT id, subject FROM grantd.sessions WHERE issuer = $1 AND ended_at_ms < $2
    ORDER BY ended_at_ms LIMIT $3`,
};

export function sessionsTable(tables: ProgramTables, issuer: string): Sessions {
  const endedOf = ({ id, subject }: TableRow): EndedSession => ({ id: String(id), subject: String(subject) });

  return {
    async add(session, secretDigest, expiresAtMs, { subject, passwordHash }) {
      const { id, amr, userAgent, signedInAtMs, lastSeenAtMs } = session;
      const values = [id, subject, amr.join(' '), userAgent, signedInAtMs, lastSeenAtMs];
      const [, added] = await tables.write(
        [SQL.holdPassword, issuer, subject, passwordHash],
        [SQL.add, issuer, ...values, secretDigest, expiresAtMs, passwordHash],
      );
      return added?.length === 1;
    },
    async bySecret(secretDigest) {
      const [row] = await tables.read(SQL.bySecret, issuer, secretDigest);
      return row && sessionOf(row);
    },
    ofSubject: async (subject) => (await tables.read(SQL.ofSubject, issuer, subject)).map(sessionOf),
    async renew(id, { from, to }, { amr, userAgent, signedInAtMs }, expiresAtMs, { subject, passwordHash }) {
      const values = [id, from, to, amr.join(' '), userAgent, signedInAtMs, expiresAtMs];
      const [, renewed] = await tables.write(
        [SQL.holdPassword, issuer, subject, passwordHash],
        [SQL.renew, issuer, ...values, subject, passwordHash],
      );
      return renewed?.length === 1;
    },
    async touch(id, lastSeenAtMs, expiresAtMs) {
      await tables.write([SQL.touch, issuer, id, lastSeenAtMs, expiresAtMs]);
    },
    async addClient(id, clientId, { sid, sub }) {
      const add = [SQL.addClient, issuer, id, clientId, sid, sub] as const;
      const [held] = await tables.write([SQL.hold, issuer, id], add);
      return held?.length === 1;
    },
    isOpen: async (id) => (await tables.read(SQL.isOpen, issuer, id)).length === 1,
    async beginEnd(of, nowMs) {
      const call =
        'id' in of
          ? ([SQL.beginEnd, issuer, of.subject, of.id, nowMs] as const)
          : ([SQL.beginEndOfAll, issuer, of.subject, of.except ?? '', nowMs] as const);
      const [ended = []] = await tables.write(call);
      return ended.map(endedOf);
    },
    async finishEnd(id, nowMs) {
      const [queued = []] = await tables.write(
        [SQL.queueDeliveries, issuer, id, nowMs],
        [SQL.remove, issuer, id],
      );
      return queued.map((row) => String(row.client_id)).sort();
    },
    halfEnded: async (beforeMs, limit) =>
      (await tables.read(SQL.halfEnded, issuer, beforeMs, limit)).map(endedOf),
  };
}

function sessionOf(row: TableRow): StoredSession {
  return {
    id: String(row.id),
    subject: String(row.subject),
    amr: String(row.amr).split(' '),
    userAgent: String(row.user_agent),
    signedInAtMs: Number(row.signed_in_at_ms),
    lastSeenAtMs: Number(row.last_seen_at_ms),
  };
}
