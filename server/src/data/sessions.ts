import type { WriteCondition } from './conditions.ts';
import type { Person } from './people.ts';
import {
  type ActOfChange,
  newIdentifier,
  type ProgramTables,
  recorded,
  type TableRow,
  table,
} from './tables.ts';

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

  /**
   * Shortens sessions to these lifetimes, for all who list them, a thousand at a time in the order of their identifiers.
   * @param after the session to continue after. Default: begins with the first one
   * @returns the session to continue after; `undefined` if none is left
   */
  limit(lifetimes: SessionLifetimes, after?: string): Promise<string | undefined>;

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
   * Records that a client knows the session, and the identifiers for its logout notification, in the transactions that run
   * under the condition. It does not hold if the session has ended.
   */
  knownTo(issuer: string, id: string, clientId: string, names: ClientNames): WriteCondition;

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

export const SESSIONS = table(
  'sessions',
  {
    text: 'id subject user_agent',
    words: 'amr',
    'text?': 'network',
    integer: 'signed_in_at_ms last_seen_at_ms',
  },
  { text: 'secret_digest', integer: 'expires_at_ms', 'integer?': 'ended_at_ms' },
);

/** Of a failed sign-in, the session is empty, and of another one, the reason. */
export const SIGN_INS = table(
  'sign_ins',
  { text: 'subject session_id reason user_agent', integer: 'at_ms', words: 'amr', 'text?': 'network' },
  { text: 'id', integer: 'expires_at_ms' },
);

const OPEN = 'ended_at_ms IS NULL';
const ONE = `issuer = :issuer AND id = :id AND ${OPEN}` as const;

/** Deletes all but the newest sign-ins of a kind. */
function trimmed(kind: string, most: number) {
  return `
    DELETE FROM grantd.sign_ins WHERE issuer = :issuer AND subject = :subject AND ${kind} AND at_ms < (
      SELECT at_ms FROM grantd.sign_ins WHERE issuer = :issuer AND subject = :subject AND ${kind}
      ORDER BY at_ms DESC LIMIT 1 OFFSET ${most - 1})` as const;
}

/** Sessions that are shortened in one statement. */
const LIMITED_AT_ONCE = 1000;

/** Comes after every identifier. */
const AFTER_ALL = '~';

const SESSIONS_SQL = SESSIONS.statements({
  // Blocks a concurrent password change, so that it ends the new session too.
  holdPassword: `
    UPDATE grantd.people SET password_hash = password_hash
    WHERE issuer = :issuer AND subject = :subject AND password_hash = :passwordHash`,
  add: `
    ${SESSIONS.insert} FROM grantd.people
    WHERE issuer = :issuer AND subject = :subject AND password_hash = :passwordHash RETURNING id`,

  bySecret: `
    SELECT ${SESSIONS.list} FROM grantd.sessions
    WHERE issuer = :issuer AND secret_digest = :secretDigest AND ${OPEN}`,

  ofSubject: `
    SELECT ${SESSIONS.list} FROM grantd.sessions
    WHERE issuer = :issuer AND subject = :subject AND expires_at_ms > :nowMs AND ${OPEN}
    ORDER BY last_seen_at_ms DESC, id`,

  renew: `
    UPDATE grantd.sessions
    SET secret_digest = :secretDigest, amr = :amr, user_agent = :userAgent, network = :network,
      signed_in_at_ms = :signedInAtMs, last_seen_at_ms = :lastSeenAtMs, expires_at_ms = :expiresAtMs
    WHERE ${ONE} AND secret_digest = :from AND subject IN (
      SELECT subject FROM grantd.people
      WHERE issuer = :issuer AND subject = :subject AND password_hash = :passwordHash)
    RETURNING id`,

  touch: `
    UPDATE grantd.sessions SET last_seen_at_ms = :lastSeenAtMs, expires_at_ms = :expiresAtMs
    WHERE ${ONE} AND last_seen_at_ms < :lastSeenAtMs`,

  limit: `
    UPDATE grantd.sessions
    SET expires_at_ms = CASE WHEN signed_in_at_ms + :absoluteMs < last_seen_at_ms + :idleMs
      THEN signed_in_at_ms + :absoluteMs ELSE last_seen_at_ms + :idleMs END
    WHERE issuer = :issuer AND id > :after AND id <= :last
      AND (expires_at_ms > signed_in_at_ms + :absoluteMs OR expires_at_ms > last_seen_at_ms + :idleMs)`,

  lastToLimit: `
    SELECT id FROM grantd.sessions WHERE issuer = :issuer AND id > :after
    ORDER BY id LIMIT 1 OFFSET ${LIMITED_AT_ONCE - 1}`,

  // Blocks a concurrent end of the session, so that it notifies the new client too.
  hold: `UPDATE grantd.sessions SET expires_at_ms = expires_at_ms WHERE ${ONE}`,
  isOver: `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM grantd.sessions WHERE ${ONE})`,

  byId: `SELECT ${SESSIONS.list} FROM grantd.sessions WHERE ${ONE}`,

  isOpen: `SELECT id FROM grantd.sessions WHERE ${ONE}`,

  beginEnd: `
    UPDATE grantd.sessions SET ended_at_ms = :nowMs WHERE ${ONE} AND subject = :subject RETURNING id, subject`,
  beginEndOfAll: `
    UPDATE grantd.sessions SET ended_at_ms = :nowMs
    WHERE issuer = :issuer AND subject = :subject AND id <> :except AND ${OPEN} RETURNING id, subject`,

  beginEndOfEveryone: `
    UPDATE grantd.sessions SET ended_at_ms = :nowMs WHERE issuer = :issuer AND ${OPEN} RETURNING id, subject`,

  remove: 'DELETE FROM grantd.sessions WHERE issuer = :issuer AND id = :id AND ended_at_ms IS NOT NULL',

  halfEnded: `
    SELECT id, subject FROM grantd.sessions WHERE issuer = :issuer AND ended_at_ms < :beforeMs
    ORDER BY ended_at_ms LIMIT :limit`,
});

const SIGN_INS_SQL = SIGN_INS.statements({
  // Only if the session has just got this secret.
  record: `
    INSERT INTO grantd.sign_ins (issuer, id, subject, session_id, at_ms, amr, reason, user_agent, network, expires_at_ms)
    SELECT issuer, CAST(:id AS text), subject, id, last_seen_at_ms, amr, '', user_agent, network,
      last_seen_at_ms + ${SIGN_IN_KEPT_MS}
    FROM grantd.sessions WHERE issuer = :issuer AND id = :sessionId AND secret_digest = :secretDigest`,
  recordFailure: `
    ${SIGN_INS.insert} FROM grantd.people WHERE issuer = :issuer AND subject = :subject RETURNING id`,
  trim: trimmed("reason = ''", MAX_SIGN_INS.successful),
  trimFailures: trimmed("reason <> ''", MAX_SIGN_INS.failed),
  ofSubject: `
    SELECT ${SIGN_INS.list} FROM grantd.sign_ins
    WHERE issuer = :issuer AND subject = :subject AND expires_at_ms > :nowMs ORDER BY at_ms DESC, id`,
});

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
export function sessionsTable(tables: ProgramTables): Sessions {
  const { recordOf: sessionOf } = SESSIONS;
  /** The end of a transaction that gives a session a secret. */
  const historyCalls = (sessionId: string, secretDigest: string, subject: string) => [
    SIGN_INS_SQL.record({ id: newIdentifier(), sessionId, secretDigest }),
    SIGN_INS_SQL.trim({ subject }),
  ];
  const endedOf = ({ id, subject }: TableRow): EndedSession => ({ id: String(id), subject: String(subject) });

  return {
    add: (session, secretDigest, expiresAtMs, { subject, passwordHash }) =>
      tables.changes(
        SESSIONS_SQL.holdPassword({ subject, passwordHash }),
        recorded(
          SESSIONS_SQL.add({ ...session, subject, secretDigest, expiresAtMs, passwordHash }),
          signedIn(session.id, subject, session.amr),
        ),
        ...historyCalls(session.id, secretDigest, subject),
      ),
    bySecret: (secretDigest) => tables.first(SESSIONS_SQL.bySecret({ secretDigest }), sessionOf),
    ofSubject: (subject, nowMs) => tables.list(SESSIONS_SQL.ofSubject({ subject, nowMs }), sessionOf),
    async limit({ idle, absolute }, after = '') {
      const next = await tables.first(SESSIONS_SQL.lastToLimit({ after }), ({ id }) => String(id));
      const lifetimes = { absoluteMs: absolute * 1000, idleMs: idle * 1000 };
      await tables.run(SESSIONS_SQL.limit({ ...lifetimes, after, last: next ?? AFTER_ALL }));
      return next;
    },
    renew(id, { from, to: secretDigest }, signIn, expiresAtMs, { subject, passwordHash }) {
      const session = { lastSeenAtMs: signIn.signedInAtMs, ...signIn, subject };
      return tables.changes(
        SESSIONS_SQL.holdPassword({ subject, passwordHash }),
        recorded(
          SESSIONS_SQL.renew({ ...session, id, from, secretDigest, expiresAtMs, passwordHash }),
          signedIn(id, subject, signIn.amr),
        ),
        ...historyCalls(id, secretDigest, subject),
      );
    },
    touch: (id, lastSeenAtMs, expiresAtMs) =>
      tables.run(SESSIONS_SQL.touch({ id, lastSeenAtMs, expiresAtMs })),
    knownTo(issuer, sessionId, clientId, { sid, sub }) {
      const change = recorded(DELIVERIES_SQL.addClient({ sessionId, clientId, sid, sub }));
      const [lock, breach] = [SESSIONS_SQL.hold({ id: sessionId }), SESSIONS_SQL.isOver({ id: sessionId })];
      return { issuer, lock, breach, writes: [{ change, cause: {} }] };
    },
    byId: (id) => tables.first(SESSIONS_SQL.byId({ id }), sessionOf),
    isOpen: (id) => tables.has(SESSIONS_SQL.isOpen({ id })),
    async beginEnd(of, nowMs) {
      const { subject } = of;
      const call =
        'id' in of
          ? SESSIONS_SQL.beginEnd({ id: of.id, subject, nowMs })
          : SESSIONS_SQL.beginEndOfAll({ except: of.except ?? '', subject, nowMs });
      return (await tables.change(recorded(call, SESSION_ENDED))).map(endedOf);
    },
    async finishEnd(sessionId, nowMs) {
      const queued = await tables.change(
        DELIVERIES_SQL.queue({ sessionId, nowMs }),
        SESSIONS_SQL.remove({ id: sessionId }),
      );
      return queued.map((row) => String(row.client_id)).sort();
    },
    async beginEndOfEveryone(nowMs) {
      return (await tables.change(recorded(SESSIONS_SQL.beginEndOfEveryone({ nowMs }), SESSION_ENDED)))
        .length;
    },
    signInsOf: (subject, nowMs) => tables.list(SIGN_INS_SQL.ofSubject({ subject, nowMs }), signInOf),
    addFailedSignIn({ clientId, ...failed }, nowMs) {
      const { subject, reason } = failed;
      const times = { atMs: nowMs, expiresAtMs: nowMs + SIGN_IN_KEPT_MS };
      const row = { id: newIdentifier(), sessionId: '', amr: [], ...failed, ...times };
      return tables.changes(
        recorded(SIGN_INS_SQL.recordFailure(row), {
          ...{ type: 'sign_in_failed', target: subject, subject, clientId, reason, by: 'anonymous' },
        }),
        SIGN_INS_SQL.trimFailures({ subject }),
      );
    },
    halfEnded: (beforeMs, limit) => tables.list(SESSIONS_SQL.halfEnded({ beforeMs, limit }), endedOf),
  };
}

function signInOf(row: TableRow): RecordedSignIn {
  const { subject: _, sessionId: id, amr, reason, ...signIn } = SIGN_INS.recordOf(row);
  return { ...signIn, ...(reason === '' ? { session: { id, amr } } : { reason }) };
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

export const DELIVERIES = table(
  'logout_deliveries',
  { text: 'session_id client_id subject', 'text?': 'sid sub', integer: 'attempts' },
  { integer: 'due_at_ms' },
);

const ONE_DELIVERY = 'issuer = :issuer AND session_id = :sessionId AND client_id = :clientId';

/** Parameters for a fixed number of values, because SQLite and PostgreSQL share no syntax for lists of any length. */
const EXCEPT = Array.from({ length: MAX_CONCURRENT_CLIENTS }, (_, index) => `except${index}`);

const DUE = `issuer = :issuer AND due_at_ms <= :nowMs AND (:sessionId = '' OR session_id = :sessionId)
      AND client_id NOT IN (${EXCEPT.map((name) => `:${name}`).join(', ')})`;

const DELIVERIES_SQL = DELIVERIES.statements({
  addClient: `
    INSERT INTO grantd.session_clients (issuer, session_id, client_id, sid, sub)
    SELECT issuer, id, :clientId, :sid, :sub FROM grantd.sessions
    WHERE issuer = :issuer AND id = :sessionId AND ${OPEN}
    ON CONFLICT (issuer, session_id, client_id) DO UPDATE SET sid = excluded.sid, sub = excluded.sub`,

  // Due at once, before the first attempt.
  queue: `
    INSERT INTO grantd.logout_deliveries (issuer, session_id, client_id, subject, sid, sub, attempts, due_at_ms)
    SELECT c.issuer, c.session_id, c.client_id, s.subject, c.sid, c.sub, 0, :nowMs
    FROM grantd.session_clients c JOIN grantd.sessions s ON s.issuer = c.issuer AND s.id = c.session_id
    WHERE c.issuer = :issuer AND c.session_id = :sessionId AND s.ended_at_ms IS NOT NULL
    ON CONFLICT DO NOTHING RETURNING client_id`,

  remove: `DELETE FROM grantd.logout_deliveries WHERE ${ONE_DELIVERY}`,
  postpone: `UPDATE grantd.logout_deliveries SET due_at_ms = :dueAtMs WHERE ${ONE_DELIVERY}`,
});

const IS_DUE = `SELECT session_id FROM grantd.logout_deliveries WHERE ${DUE} LIMIT 1`;

/** After a concurrent take, the row is no longer due when the condition is checked again. */
const TAKE = `
    UPDATE grantd.logout_deliveries SET attempts = attempts + 1, due_at_ms = :dueAtMs
    WHERE issuer = :issuer AND due_at_ms <= :nowMs AND (session_id, client_id) IN (
      SELECT session_id, client_id FROM (
        SELECT session_id, client_id, due_at_ms,
          row_number() OVER (PARTITION BY client_id ORDER BY due_at_ms, session_id) AS place
        FROM grantd.logout_deliveries WHERE ${DUE}) AS due
      WHERE place = 1 ORDER BY due_at_ms LIMIT :limit)
    RETURNING ${DELIVERIES.list}`;

export function logoutDeliveriesTable(tables: ProgramTables): LogoutDeliveries {
  return {
    async take(nowMs, leaseMs, { sessionId = '', exceptClients, limit }) {
      if (exceptClients.length > MAX_CONCURRENT_CLIENTS)
        throw new RangeError(`expected at most ${MAX_CONCURRENT_CLIENTS} excluded clients`);
      const except = EXCEPT.map((name, index) => [name, exceptClients[index] ?? '']);
      const due = { nowMs, sessionId, ...Object.fromEntries(except) };
      // Usually nothing is due, and a read is cheaper than a write.
      if (!(await tables.has(DELIVERIES.dynamic(IS_DUE, due)))) return [];
      const take = DELIVERIES.dynamic(TAKE, { ...due, dueAtMs: nowMs + leaseMs, limit });
      const taken = (await tables.change(take)).map(DELIVERIES.recordOf);
      // Rows of an earlier version use the session ID for every client.
      return taken.map(({ sid, ...delivery }) => ({ ...delivery, sid: sid ?? delivery.sessionId }));
    },
    remove: ({ sessionId, clientId }) => tables.run(DELIVERIES_SQL.remove({ sessionId, clientId })),
    postpone: ({ sessionId, clientId }, dueAtMs) =>
      tables.run(DELIVERIES_SQL.postpone({ sessionId, clientId, dueAtMs })),
  };
}
