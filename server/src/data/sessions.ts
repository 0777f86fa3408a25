import type { Person } from './people.ts';
import { type ActOfChange, newIdentifier, type ProgramTables, recorded, type TableRow } from './tables.ts';

/** A user’s session in one browser, as stored. */
export interface StoredSession {
  /** The basis of `sid` in ID tokens. Not a secret. Tokens of the session refer to it. */
  readonly id: string;
  readonly subject: string;
  /** How the user signed in (RFC 8176). */
  readonly amr: readonly string[];
  /** The `User-Agent` header, shortened. */
  readonly userAgent: string;
  /** The network that the sign-in came from, such as `203.0.113.0/24`. Absent in sessions of earlier versions. */
  readonly network?: string | undefined;
  readonly signedInAtMs: number;
  /** Accurate to about a minute. */
  readonly lastSeenAtMs: number;
}

/** Something that a user sees in the history of their sign-ins. */
export interface RecordedSignIn {
  readonly atMs: number;
  readonly userAgent: string;
  readonly network?: string | undefined;
  /** The session that began or continued. Absent if the sign-in failed. */
  readonly session?: { readonly id: string; readonly amr: readonly string[] };
  /** Why the sign-in failed: a reason code of the pages. */
  readonly reason?: string;
}

/** A failed sign-in of a user. */
export interface FailedSignInOf {
  readonly subject: string;
  readonly reason: string;
  readonly clientId?: string | undefined;
  readonly userAgent: string;
  readonly network?: string | undefined;
}

/** How long the history keeps a sign-in. */
export const SIGN_IN_KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/**
 * How many sign-ins of a user the history keeps, the newest ones. Failed ones have a limit of their own, so that
 * guesses of a stranger push none of the others out (ADR 106).
 */
export const MAX_SIGN_INS = { successful: 50, failed: 20 } as const;

/** What changes when the user signs in again. */
type SignInOfSession = Pick<StoredSession, 'amr' | 'userAgent' | 'network' | 'signedInAtMs'> & {
  /** Default: the time of the sign-in. */
  readonly lastSeenAtMs?: number;
};

/** The user and the password that start a session. */
type ShownPassword = Pick<Person, 'subject' | 'passwordHash'>;

/** The sessions of one issuer. Every method rejects with a `StorageFault` if the database does not answer. */
export interface Sessions {
  /**
   * Adds a session. Atomic with password changes: a change either ends the session or prevents it.
   * @param secretDigest SHA-256 digest of the cookie’s secret
   * @param expiresAtMs when the session expires without further use
   * @param shown the user, with the hash of the verified password
   * @returns `false` if the password has changed or the user was removed
   */
  add(
    session: StoredSession,
    secretDigest: string,
    expiresAtMs: number,
    shown: ShownPassword,
  ): Promise<boolean>;

  /** @returns `undefined` if the session does not exist or has ended. The caller checks expiry. */
  bySecret(secretDigest: string): Promise<StoredSession | undefined>;

  /** A user’s sessions that have neither ended nor expired, last used first. */
  ofSubject(subject: string, nowMs: number): Promise<readonly StoredSession[]>;

  /** Shortens all sessions to these lifetimes, for all who list them. */
  limit(lifetimes: SessionLifetimes): Promise<void>;

  /**
   * Renews a session with a new secret and sign-in. Compare-and-set on the secret, and on the password as in `add`.
   * @returns `false` if the session has ended, the secret or password has changed, or the session belongs to another
   * user
   */
  renew(
    id: string,
    secrets: { readonly from: string; readonly to: string },
    signIn: SignInOfSession,
    expiresAtMs: number,
    shown: ShownPassword,
  ): Promise<boolean>;

  /** Records that the session was used. */
  touch(id: string, lastSeenAtMs: number, expiresAtMs: number): Promise<void>;

  /**
   * Records that a client knows the session, and the identifiers for its logout notification.
   * @returns `false` if the session has ended
   */
  addClient(id: string, clientId: string, names: ClientNames): Promise<boolean>;

  /** @returns `undefined` if the session does not exist or has ended. The caller checks expiry. */
  byId(id: string): Promise<StoredSession | undefined>;

  /** Whether the session exists and has not ended. */
  isOpen(id: string): Promise<boolean>;

  /**
   * First step of ending sessions: they become invalid for browsers and new tokens.
   * @returns the sessions that the caller must finish
   */
  beginEnd(of: SessionsToEnd, nowMs: number): Promise<readonly EndedSession[]>;

  /**
   * Last step of ending a session: deletes it and queues its logout notifications, in one transaction.
   * @returns the clients to notify
   */
  finishEnd(id: string, nowMs: number): Promise<readonly string[]>;

  /**
   * First step of ending all sessions of all users. A server finishes them.
   * @returns how many
   */
  beginEndOfEveryone(nowMs: number): Promise<number>;

  /** The history of a user’s sign-ins, newest first. Each `add` and `renew` adds to it. */
  signInsOf(subject: string, nowMs: number): Promise<readonly RecordedSignIn[]>;

  /** Records a failed sign-in, also in the audit trail. @returns `false` if the user does not exist */
  addFailedSignIn(failed: FailedSignInOf, nowMs: number): Promise<boolean>;

  /** Sessions whose end started before a time and was not finished, because a process died. */
  halfEnded(beforeMs: number, limit: number): Promise<readonly EndedSession[]>;
}

/** The identifiers of a session and its user in a client’s ID tokens (`sid`, `sub`). */
export interface ClientNames {
  readonly sid: string;
  readonly sub: string;
}

export interface SessionLifetimes {
  /** Seconds since the last use. */
  readonly idle: number;
  /** Seconds since the sign-in. */
  readonly absolute: number;
}

export type EndedSession = Pick<StoredSession, 'id' | 'subject'>;

export type SessionsToEnd = { readonly id: string; readonly subject: string } | SessionsOfPerson;

/** All sessions of a user, or all but one. */
export interface SessionsOfPerson {
  readonly subject: string;
  readonly except?: string;
}

const COLUMNS = 'id, subject, amr, user_agent, signed_in_at_ms, last_seen_at_ms, network';

const OPEN = 'ended_at_ms IS NULL';

const SIGN_IN_COLUMNS =
  'issuer, id, subject, session_id, at_ms, amr, reason, user_agent, network, expires_at_ms';

/** Deletes all but the newest sign-ins of a kind. */
function trimmed(kind: string, most: number): string {
  return `
    DELETE FROM grantd.sign_ins WHERE issuer = $1 AND subject = $2 AND ${kind} AND at_ms < (
      SELECT at_ms FROM grantd.sign_ins WHERE issuer = $1 AND subject = $2 AND ${kind}
      ORDER BY at_ms DESC LIMIT 1 OFFSET ${most - 1})`;
}

const SESSIONS_SQL = {
  // Blocks a concurrent password change, so that it ends the new session too.
  holdPassword: `
    UPDATE grantd.people SET password_hash = password_hash
    WHERE issuer = $1 AND subject = $2 AND password_hash = $3`,
  add: `
    INSERT INTO grantd.sessions (issuer, ${COLUMNS}, secret_digest, expires_at_ms)
    SELECT issuer, $2, subject, $4, $5, $6, $7, $11, $8, $9 FROM grantd.people
    WHERE issuer = $1 AND subject = $3 AND password_hash = $10 RETURNING id`,

  bySecret: `SELECT ${COLUMNS} FROM grantd.sessions WHERE issuer = $1 AND secret_digest = $2 AND ${OPEN}`,

  ofSubject: `
    SELECT ${COLUMNS} FROM grantd.sessions WHERE issuer = $1 AND subject = $2 AND expires_at_ms > $3 AND ${OPEN}
    ORDER BY last_seen_at_ms DESC, id`,

  renew: `
    UPDATE grantd.sessions
    SET secret_digest = $4, amr = $5, user_agent = $6, signed_in_at_ms = $7, last_seen_at_ms = $11, expires_at_ms = $8,
      network = $12
    WHERE issuer = $1 AND id = $2 AND secret_digest = $3 AND ${OPEN}
      AND subject IN (SELECT subject FROM grantd.people WHERE issuer = $1 AND subject = $9 AND password_hash = $10)
    RETURNING id`,

  touch: `
    UPDATE grantd.sessions SET last_seen_at_ms = $3, expires_at_ms = $4
    WHERE issuer = $1 AND id = $2 AND last_seen_at_ms < $3 AND ${OPEN}`,

  limit: `
    UPDATE grantd.sessions
    SET expires_at_ms = CASE WHEN signed_in_at_ms + $2 < last_seen_at_ms + $3 THEN signed_in_at_ms + $2
      ELSE last_seen_at_ms + $3 END
    WHERE issuer = $1 AND (expires_at_ms > signed_in_at_ms + $2 OR expires_at_ms > last_seen_at_ms + $3)`,

  // Blocks a concurrent end of the session, so that it notifies the new client too.
  hold: `
    UPDATE grantd.sessions SET expires_at_ms = expires_at_ms
    WHERE issuer = $1 AND id = $2 AND ${OPEN} RETURNING id`,
  addClient: `
    INSERT INTO grantd.session_clients (issuer, session_id, client_id, sid, sub)
    SELECT issuer, id, $3, $4, $5 FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND ${OPEN}
    ON CONFLICT (issuer, session_id, client_id) DO UPDATE SET sid = excluded.sid, sub = excluded.sub`,

  byId: `SELECT ${COLUMNS} FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND ${OPEN}`,

  isOpen: `SELECT id FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND ${OPEN}`,

  beginEnd: `
    UPDATE grantd.sessions SET ended_at_ms = $4
    WHERE issuer = $1 AND subject = $2 AND id = $3 AND ${OPEN} RETURNING id, subject`,
  beginEndOfAll: `
    UPDATE grantd.sessions SET ended_at_ms = $4
    WHERE issuer = $1 AND subject = $2 AND id <> $3 AND ${OPEN} RETURNING id, subject`,

  beginEndOfEveryone: `
    UPDATE grantd.sessions SET ended_at_ms = $2 WHERE issuer = $1 AND ${OPEN} RETURNING id, subject`,

  // Due at once, before the first attempt.
  queueDeliveries: `
    INSERT INTO grantd.logout_deliveries (issuer, session_id, client_id, subject, sid, sub, attempts, due_at_ms)
    SELECT c.issuer, c.session_id, c.client_id, s.subject, c.sid, c.sub, 0, $3
    FROM grantd.session_clients c JOIN grantd.sessions s ON s.issuer = c.issuer AND s.id = c.session_id
    WHERE c.issuer = $1 AND c.session_id = $2 AND s.ended_at_ms IS NOT NULL
    ON CONFLICT DO NOTHING RETURNING client_id`,
  remove: 'DELETE FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND ended_at_ms IS NOT NULL',

  // Only if the session has just got this secret.
  recordSignIn: `
    INSERT INTO grantd.sign_ins (${SIGN_IN_COLUMNS})
    SELECT issuer, CAST($4 AS text), subject, id, last_seen_at_ms, amr, '', user_agent, network,
      last_seen_at_ms + ${SIGN_IN_KEPT_MS}
    FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND secret_digest = $3`,
  recordFailure: `
    INSERT INTO grantd.sign_ins (${SIGN_IN_COLUMNS})
    SELECT issuer, CAST($3 AS text), subject, '', CAST($4 AS bigint), '', CAST($5 AS text), CAST($6 AS text),
      CAST($7 AS text), CAST($4 AS bigint) + ${SIGN_IN_KEPT_MS}
    FROM grantd.people WHERE issuer = $1 AND subject = $2 RETURNING id`,
  trimSignIns: trimmed("reason = ''", MAX_SIGN_INS.successful),
  trimFailures: trimmed("reason <> ''", MAX_SIGN_INS.failed),
  signInsOf: `
    SELECT session_id, at_ms, amr, reason, user_agent, network FROM grantd.sign_ins
    WHERE issuer = $1 AND subject = $2 AND expires_at_ms > $3 ORDER BY at_ms DESC, id`,

  halfEnded: `
    SELECT id, subject FROM grantd.sessions WHERE issuer = $1 AND ended_at_ms < $2
    ORDER BY ended_at_ms LIMIT $3`,
};

/** The target is the session, and the reason how the user signed in. */
function signedIn(id: string, subject: string, amr: readonly string[]): ActOfChange {
  return { type: 'signed_in', target: id, subject, reason: amr.join(' '), by: 'user' };
}

const SESSION_ENDED: ActOfChange = {
  type: 'session_ended',
  target: { column: 'id' },
  subject: { column: 'subject' },
  by: 'user',
};

// ADR 24
export function sessionsTable(tables: ProgramTables, issuer: string): Sessions {
  const history = (id: string, secretDigest: string, subject: string) =>
    [
      [SESSIONS_SQL.recordSignIn, issuer, id, secretDigest, newIdentifier()],
      [SESSIONS_SQL.trimSignIns, issuer, subject],
    ] as const;
  const endedOf = ({ id, subject }: TableRow): EndedSession => ({ id: String(id), subject: String(subject) });

  return {
    async add(session, secretDigest, expiresAtMs, { subject, passwordHash }) {
      const { id, amr, userAgent, network = null, signedInAtMs, lastSeenAtMs } = session;
      const values = [id, subject, amr.join(' '), userAgent, signedInAtMs, lastSeenAtMs];
      const [, added] = await tables.write(
        [SESSIONS_SQL.holdPassword, issuer, subject, passwordHash],
        recorded(
          [SESSIONS_SQL.add, issuer, ...values, secretDigest, expiresAtMs, passwordHash, network],
          signedIn(id, subject, amr),
        ),
        ...history(id, secretDigest, subject),
      );
      return added?.length === 1;
    },
    async bySecret(secretDigest) {
      const [row] = await tables.read(SESSIONS_SQL.bySecret, issuer, secretDigest);
      return row && sessionOf(row);
    },
    ofSubject: async (subject, nowMs) =>
      (await tables.read(SESSIONS_SQL.ofSubject, issuer, subject, nowMs)).map(sessionOf),
    async limit({ idle, absolute }) {
      await tables.write([SESSIONS_SQL.limit, issuer, absolute * 1000, idle * 1000]);
    },
    async renew(id, { from, to }, signIn, expiresAtMs, { subject, passwordHash }) {
      const { amr, userAgent, network = null, signedInAtMs, lastSeenAtMs = signedInAtMs } = signIn;
      const values = [id, from, to, amr.join(' '), userAgent, signedInAtMs, expiresAtMs];
      const [, renewed] = await tables.write(
        [SESSIONS_SQL.holdPassword, issuer, subject, passwordHash],
        recorded(
          [SESSIONS_SQL.renew, issuer, ...values, subject, passwordHash, lastSeenAtMs, network],
          signedIn(id, subject, amr),
        ),
        ...history(id, to, subject),
      );
      return renewed?.length === 1;
    },
    async touch(id, lastSeenAtMs, expiresAtMs) {
      await tables.write([SESSIONS_SQL.touch, issuer, id, lastSeenAtMs, expiresAtMs]);
    },
    async addClient(id, clientId, { sid, sub }) {
      const add = [SESSIONS_SQL.addClient, issuer, id, clientId, sid, sub] as const;
      const [held] = await tables.write([SESSIONS_SQL.hold, issuer, id], add);
      return held?.length === 1;
    },
    async byId(id) {
      const [row] = await tables.read(SESSIONS_SQL.byId, issuer, id);
      return row && sessionOf(row);
    },
    isOpen: async (id) => (await tables.read(SESSIONS_SQL.isOpen, issuer, id)).length === 1,
    async beginEnd(of, nowMs) {
      const call =
        'id' in of
          ? ([SESSIONS_SQL.beginEnd, issuer, of.subject, of.id, nowMs] as const)
          : ([SESSIONS_SQL.beginEndOfAll, issuer, of.subject, of.except ?? '', nowMs] as const);
      const [ended = []] = await tables.write(recorded(call, SESSION_ENDED));
      return ended.map(endedOf);
    },
    async finishEnd(id, nowMs) {
      const [queued = []] = await tables.write(
        [SESSIONS_SQL.queueDeliveries, issuer, id, nowMs],
        [SESSIONS_SQL.remove, issuer, id],
      );
      return queued.map((row) => String(row.client_id)).sort();
    },
    async beginEndOfEveryone(nowMs) {
      const [ended = []] = await tables.write(
        recorded([SESSIONS_SQL.beginEndOfEveryone, issuer, nowMs], SESSION_ENDED),
      );
      return ended.length;
    },
    signInsOf: async (subject, nowMs) =>
      (await tables.read(SESSIONS_SQL.signInsOf, issuer, subject, nowMs)).map(signInOf),
    async addFailedSignIn({ subject, reason, clientId, userAgent, network = null }, nowMs) {
      const values = [subject, newIdentifier(), nowMs, reason, userAgent, network] as const;
      const [added] = await tables.write(
        recorded([SESSIONS_SQL.recordFailure, issuer, ...values], {
          ...{ type: 'sign_in_failed', target: subject, subject, clientId, reason, by: 'anonymous' },
        }),
        [SESSIONS_SQL.trimFailures, issuer, subject],
      );
      return added?.length === 1;
    },
    halfEnded: async (beforeMs, limit) =>
      (await tables.read(SESSIONS_SQL.halfEnded, issuer, beforeMs, limit)).map(endedOf),
  };
}

function signInOf(row: TableRow): RecordedSignIn {
  const reason = String(row.reason);
  return {
    atMs: Number(row.at_ms),
    userAgent: String(row.user_agent),
    ...(row.network !== null && { network: String(row.network) }),
    ...(reason === ''
      ? { session: { id: String(row.session_id), amr: String(row.amr).split(' ') } }
      : { reason }),
  };
}

function sessionOf(row: TableRow): StoredSession {
  return {
    id: String(row.id),
    subject: String(row.subject),
    amr: String(row.amr).split(' '),
    userAgent: String(row.user_agent),
    ...(row.network !== null && { network: String(row.network) }),
    signedInAtMs: Number(row.signed_in_at_ms),
    lastSeenAtMs: Number(row.last_seen_at_ms),
  };
}

/** A pending notification of a client that a session has ended (OpenID Connect Back-Channel Logout §2.5). */
export interface LogoutDelivery {
  readonly sessionId: string;
  readonly clientId: string;
  readonly subject: string;
  /** As in the client’s ID tokens. */
  readonly sid: string;
  readonly sub?: string;
  /** Number of attempts, including this one. */
  readonly attempts: number;
}

/** Selects due deliveries. */
interface DeliveriesToTake {
  /** Only of this session. */
  readonly sessionId?: string | undefined;
  /** Excludes these clients, at most `MAX_CONCURRENT_CLIENTS`. */
  readonly exceptClients: readonly string[];
  readonly limit: number;
}

/** Maximum clients that one process notifies concurrently. */
export const MAX_CONCURRENT_CLIENTS = 20;

/** Queue of pending deliveries. Every method rejects with a `StorageFault`. */
export interface LogoutDeliveries {
  /**
   * Takes due deliveries, oldest first and one per client, and hides them from other processes until the lease ends.
   * Atomic: each delivery goes to one process.
   */
  take(nowMs: number, leaseMs: number, wanted: DeliveriesToTake): Promise<readonly LogoutDelivery[]>;
  /** Removes a delivery that succeeded or was given up. */
  remove(delivery: LogoutDelivery): Promise<void>;
  /** Reschedules a delivery. */
  postpone(delivery: LogoutDelivery, dueAtMs: number): Promise<void>;
}

const ONE = 'issuer = $1 AND session_id = $2 AND client_id = $3';

/** Placeholders for a fixed number of values, because SQLite and PostgreSQL share no syntax for lists of any length. */
const EXCEPT = Array.from({ length: MAX_CONCURRENT_CLIENTS }, (_, index) => `$${index + 4}`).join(', ');
const [UNTIL, LIMIT] = [`$${MAX_CONCURRENT_CLIENTS + 4}`, `$${MAX_CONCURRENT_CLIENTS + 5}`];

const DUE = `issuer = $1 AND due_at_ms <= $2 AND ($3 = '' OR session_id = $3) AND client_id NOT IN (${EXCEPT})`;

const LOGOUT_DELIVERIES_SQL = {
  isDue: `SELECT session_id FROM grantd.logout_deliveries WHERE ${DUE} LIMIT 1`,

  // After a concurrent take, the row is no longer due when the condition is checked again.
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
      if (exceptClients.length > MAX_CONCURRENT_CLIENTS)
        throw new RangeError(`expected at most ${MAX_CONCURRENT_CLIENTS} excluded clients`);
      const except = Array.from({ length: MAX_CONCURRENT_CLIENTS }, (_, index) => exceptClients[index] ?? '');
      const due = [issuer, nowMs, sessionId, ...except] as const;
      // Usually nothing is due, and a read is cheaper than a write.
      if ((await tables.read(LOGOUT_DELIVERIES_SQL.isDue, ...due)).length === 0) return [];
      const [taken = []] = await tables.write([LOGOUT_DELIVERIES_SQL.take, ...due, nowMs + leaseMs, limit]);
      return taken.map((row) => ({
        sessionId: String(row.session_id),
        clientId: String(row.client_id),
        subject: String(row.subject),
        // Rows of an earlier version use the session ID for every client.
        sid: String(row.sid ?? row.session_id),
        ...(row.sub !== null && { sub: String(row.sub) }),
        attempts: Number(row.attempts),
      }));
    },
    async remove({ sessionId, clientId }) {
      await tables.write([LOGOUT_DELIVERIES_SQL.remove, issuer, sessionId, clientId]);
    },
    async postpone({ sessionId, clientId }, dueAtMs) {
      await tables.write([LOGOUT_DELIVERIES_SQL.postpone, issuer, sessionId, clientId, dueAtMs]);
    },
  };
}
