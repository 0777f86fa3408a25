import type { Person } from './people.ts';
import type { ProgramTables, TableRow } from './tables.ts';

/** One sign-in of a person in one browser, as it is stored. */
export interface StoredSession {
  /** From it comes `sid` in ID tokens, and tokens end with it; no secret. */
  readonly id: string;
  readonly subject: string;
  /** How the person signed in (RFC 8176). */
  readonly amr: readonly string[];
  /** What the browser calls itself, shortened. */
  readonly userAgent: string;
  readonly signedInAtMs: number;
  /** As of about a minute ago. */
  readonly lastSeenAtMs: number;
}

/** What changes when the person signs in again. */
type SignInOfSession = Pick<StoredSession, 'amr' | 'userAgent' | 'signedInAtMs'>;

/** By whose password a session begins. */
type ShownPassword = Pick<Person, 'subject' | 'passwordHash'>;

/** The sessions of one issuer. Every method rejects with a `StorageFault` where the database cannot be asked. */
export interface Sessions {
  /**
   * Atomic with a change of the password: that one ends the session, or there is none.
   * @param secretDigest SHA-256 of what the browser's cookie says
   * @param expiresAtMs when nobody needs it any more, unless it is used meanwhile
   * @param shown the hash of the password that the person has shown
   * @returns `false` where the person has another one by now, or is gone
   */
  add(
    session: StoredSession,
    secretDigest: string,
    expiresAtMs: number,
    shown: ShownPassword,
  ): Promise<boolean>;

  /** @returns `undefined` where there is none, or it has ended; time is the caller's to judge */
  bySecret(secretDigest: string): Promise<StoredSession | undefined>;

  /** Those of a person that have not ended, the last used first; time is the caller's to judge. */
  ofSubject(subject: string): Promise<readonly StoredSession[]>;

  /**
   * The same session with another secret and a new sign-in. Compare-and-set on the secret, and on the password as `add`.
   * @returns `false` where it has ended, has another secret already, or is another person's, or they another password
   */
  renew(
    id: string,
    secrets: { readonly from: string; readonly to: string },
    signIn: SignInOfSession,
    expiresAtMs: number,
    shown: ShownPassword,
  ): Promise<boolean>;

  /** Remembers that it was used. */
  touch(id: string, lastSeenAtMs: number, expiresAtMs: number): Promise<void>;

  /**
   * Remembers that a client learns of the session, by which names, and is to be told of its end by the same.
   * @returns `false` where it has ended
   */
  addClient(id: string, clientId: string, told: ToldNames): Promise<boolean>;

  /** Whether it is there and has not ended. */
  isOpen(id: string): Promise<boolean>;

  /**
   * First step of ending: from now on no browser is signed in by it, and nothing is issued for it.
   * @returns which sessions are to be ended by the caller
   */
  beginEnd(of: SessionsToEnd, nowMs: number): Promise<readonly EndedSession[]>;

  /**
   * Last step of ending: the session goes, and the clients that know of it are to be told. One transaction.
   * @returns those clients
   */
  finishEnd(id: string, nowMs: number): Promise<readonly string[]>;

  /** Whose end was begun before a time and not finished: a process died in between. */
  halfEnded(beforeMs: number, limit: number): Promise<readonly EndedSession[]>;
}

/** What a client's ID tokens call a session and its person (`sid`, `sub`). */
export interface ToldNames {
  readonly sid: string;
  readonly sub: string;
}

export type EndedSession = Pick<StoredSession, 'id' | 'subject'>;

export type SessionsToEnd = { readonly id: string; readonly subject: string } | SessionsOfPerson;

/** All sessions of a person, or all but one. */
export interface SessionsOfPerson {
  readonly subject: string;
  readonly except?: string;
}

const COLUMNS = 'id, subject, amr, user_agent, signed_in_at_ms, last_seen_at_ms';

const OPEN = 'ended_at_ms IS NULL';

const SESSIONS_SQL = {
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
        [SESSIONS_SQL.holdPassword, issuer, subject, passwordHash],
        [SESSIONS_SQL.add, issuer, ...values, secretDigest, expiresAtMs, passwordHash],
      );
      return added?.length === 1;
    },
    async bySecret(secretDigest) {
      const [row] = await tables.read(SESSIONS_SQL.bySecret, issuer, secretDigest);
      return row && sessionOf(row);
    },
    ofSubject: async (subject) => (await tables.read(SESSIONS_SQL.ofSubject, issuer, subject)).map(sessionOf),
    async renew(id, { from, to }, { amr, userAgent, signedInAtMs }, expiresAtMs, { subject, passwordHash }) {
      const values = [id, from, to, amr.join(' '), userAgent, signedInAtMs, expiresAtMs];
      const [, renewed] = await tables.write(
        [SESSIONS_SQL.holdPassword, issuer, subject, passwordHash],
        [SESSIONS_SQL.renew, issuer, ...values, subject, passwordHash],
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
    isOpen: async (id) => (await tables.read(SESSIONS_SQL.isOpen, issuer, id)).length === 1,
    async beginEnd(of, nowMs) {
      const call =
        'id' in of
          ? ([SESSIONS_SQL.beginEnd, issuer, of.subject, of.id, nowMs] as const)
          : ([SESSIONS_SQL.beginEndOfAll, issuer, of.subject, of.except ?? '', nowMs] as const);
      const [ended = []] = await tables.write(call);
      return ended.map(endedOf);
    },
    async finishEnd(id, nowMs) {
      const [queued = []] = await tables.write(
        [SESSIONS_SQL.queueDeliveries, issuer, id, nowMs],
        [SESSIONS_SQL.remove, issuer, id],
      );
      return queued.map((row) => String(row.client_id)).sort();
    },
    halfEnded: async (beforeMs, limit) =>
      (await tables.read(SESSIONS_SQL.halfEnded, issuer, beforeMs, limit)).map(endedOf),
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

/** A client that is to be told that a session has ended (OpenID Connect Back-Channel Logout §2.5). */
export interface LogoutDelivery {
  readonly sessionId: string;
  readonly clientId: string;
  readonly subject: string;
  /** As the client was told. */
  readonly sid: string;
  readonly sub?: string;
  /** This one included. */
  readonly attempts: number;
}

/** Which deliveries are wanted, of those that are due. */
interface DeliveriesToTake {
  /** Of this session alone. */
  readonly sessionId?: string | undefined;
  /** Of none of these, `MOST_CLIENTS_AT_ONCE` of them at most. */
  readonly exceptClients: readonly string[];
  readonly limit: number;
}

/** How many clients are told at the same time by one process. */
export const MOST_CLIENTS_AT_ONCE = 20;

/** Deliveries that wait for their next attempt. Every method rejects with a `StorageFault`. */
export interface LogoutDeliveries {
  /**
   * Takes what is due, the longest due first and one for each client, and keeps it from everyone else until the lease
   * ends. Atomic: of several processes one gets each.
   */
  take(nowMs: number, leaseMs: number, wanted: DeliveriesToTake): Promise<readonly LogoutDelivery[]>;
  /** It was delivered, or never will be. */
  remove(delivery: LogoutDelivery): Promise<void>;
  /** It is due again at another time. */
  postpone(delivery: LogoutDelivery, dueAtMs: number): Promise<void>;
}

const ONE = 'issuer = $1 AND session_id = $2 AND client_id = $3';

/** As a statement has them: a list of any length is none that both databases read alike. */
const EXCEPT = Array.from({ length: MOST_CLIENTS_AT_ONCE }, (_, index) => `$${index + 4}`).join(', ');
const [UNTIL, LIMIT] = [`$${MOST_CLIENTS_AT_ONCE + 4}`, `$${MOST_CLIENTS_AT_ONCE + 5}`];

const DUE = `issuer = $1 AND due_at_ms <= $2 AND ($3 = '' OR session_id = $3) AND client_id NOT IN (${EXCEPT})`;

const LOGOUT_DELIVERIES_SQL = {
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
      if ((await tables.read(LOGOUT_DELIVERIES_SQL.isDue, ...due)).length === 0) return [];
      const [taken = []] = await tables.write([LOGOUT_DELIVERIES_SQL.take, ...due, nowMs + leaseMs, limit]);
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
      await tables.write([LOGOUT_DELIVERIES_SQL.remove, issuer, sessionId, clientId]);
    },
    async postpone({ sessionId, clientId }, dueAtMs) {
      await tables.write([LOGOUT_DELIVERIES_SQL.postpone, issuer, sessionId, clientId, dueAtMs]);
    },
  };
}
