import type { AdministrableStorage, AuthorizationServer } from '@grantd/core';
import {
  type ClientNames,
  type EndedSession,
  type LogoutDeliveries,
  type LogoutDelivery,
  MAX_CONCURRENT_CLIENTS,
  type Sessions,
  type SessionsOfPerson,
  type SessionsToEnd,
} from '../data/sessions.ts';
import { askStorage } from '../data/tables.ts';

/** Why access ends if it follows from another change: the reason of the events. */
export const ENDING_REASONS = [
  'password_set',
  'factors_reset',
  'factor_removed',
  'provider_unlinked',
  'provider_logout',
  'person_disabled',
  'person_removed',
  'person_imported',
  'directory_linked',
] as const;

export type EndingReason = (typeof ENDING_REASONS)[number];

/** After this time, a process that has not finished ending a session counts as dead. */
const MAX_END_MS = 30_000;

const BATCH_SIZE = 50;

/**
 * Ends sessions: invalidates them, revokes their tokens, then queues the logout notifications. This order leaves no
 * concurrently issued token alive: it is either issued before the revocation, or its issuer sees that the session has
 * ended. If a process dies midway, another one finishes.
 */
export class SessionEnding {
  readonly #begin: <T>(work: () => Promise<T>) => Promise<T>;
  readonly #sessions: Sessions;
  readonly #storage: Pick<AdministrableStorage, 'revokeAll' | 'grantsOf'>;
  readonly #clock: () => number;

  constructor(parts: {
    readonly sessions: Sessions;
    readonly storage: Pick<AdministrableStorage, 'revokeAll' | 'grantsOf'>;
    readonly clock?: () => number;
    /** Makes the writes with which an ending begins, if they depend on something. The rest follows from them. */
    readonly begin?: <T>(work: () => Promise<T>) => Promise<T>;
  }) {
    this.#begin = parts.begin ?? ((work) => work());
    this.#sessions = parts.sessions;
    this.#storage = parts.storage;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * @returns the ended sessions with the clients to notify; empty if they had already ended
   * @throws {StorageFault} some may not have ended completely, but all are invalid
   */
  async end(of: SessionsToEnd, reason?: EndingReason): Promise<readonly SessionEnd[]> {
    const begun = await this.#begin(() => this.#sessions.beginEnd(of, this.#clock()));
    const ends: SessionEnd[] = [];
    for (const session of begun) ends.push(await this.#finish(session, reason));
    return 'id' in of ? ends : [...ends, ...(await this.#endExpired(of, reason))];
  }

  /**
   * Ends all access of a user: all sessions, and every token and code, including those with `offline_access`. In the other
   * order, a session could get a grant that outlives it between the two steps.
   * @returns also whether the store has recorded a new end of all tokens
   * @throws {StorageFault} as `end`
   */
  async endAccess(
    subject: string,
    reason?: EndingReason,
  ): Promise<{ readonly ends: readonly SessionEnd[]; readonly revoked: boolean }> {
    const ends = await this.end({ subject }, reason);
    const all = { principal: 'subject', id: subject, reason } as const;
    const revoked = await this.#begin(() => askStorage(() => this.#storage.revokeAll(all)));
    return { ends, revoked };
  }

  /** Finishes sessions that dead processes began to end. */
  async finishHalfEnded(): Promise<readonly SessionEnd[]> {
    const halfEnded = await this.#sessions.halfEnded(this.#clock() - MAX_END_MS, BATCH_SIZE);
    const ends: SessionEnd[] = [];
    for (const session of halfEnded) ends.push(await this.#finish(session));
    return ends;
  }

  /** Also revokes tokens from sessions that have timed out. Their rows are gone, and no client is notified. */
  async #endExpired(
    { subject, except }: SessionsOfPerson,
    reason: EndingReason | undefined,
  ): Promise<readonly SessionEnd[]> {
    const grants = await askStorage(() => this.#storage.grantsOf(subject));
    const ends: SessionEnd[] = [];
    for (const id of new Set(grants.map(({ sessionId }) => sessionId))) {
      if (id === undefined || id === except || (await this.#sessions.isOpen(id))) continue;
      await askStorage(() => this.#storage.revokeAll({ principal: 'session', id, subject, reason }));
      ends.push({ id, subject, clientIds: [] });
    }
    return ends;
  }

  async #finish(session: EndedSession, reason?: EndingReason): Promise<SessionEnd> {
    const { id, subject } = session;
    await askStorage(() => this.#storage.revokeAll({ principal: 'session', id, subject, reason }));
    return { ...session, clientIds: await this.#sessions.finishEnd(session.id, this.#clock()) };
  }
}

/** Notifies clients that sessions have ended. Resolves when all were notified or after a time limit. */
export type NotifyClients = (ends: readonly SessionEnd[]) => Promise<LogoutAnswers>;

/** Answers so far, by client ID. Other clients are still being notified, or never are. */
export type LogoutAnswers = ReadonlyMap<string, 'delivered' | 'refused'>;

/** An ended session. */
export interface SessionEnd extends EndedSession {
  /** The clients to notify. */
  readonly clientIds: readonly string[];
}

/** Milliseconds before each retry. The last retry is about five hours after the first attempt. */
const PAUSES_MS = [5_000, 25_000, 125_000, 625_000, 3_125_000, 15_625_000];

/** Longer than any attempt takes. A process that holds a delivery for longer counts as dead. */
const LEASE_MS = 60_000;

type LogoutAttempt = Awaited<ReturnType<AuthorizationServer['logout']['notify']>>;

export interface LogoutReport extends Omit<LogoutDelivery, keyof ClientNames> {
  readonly type: 'logout_delivered' | 'logout_postponed' | 'logout_given_up';
  /** The HTTP status of the client’s answer, if there was one. */
  readonly answeredStatus?: number;
  readonly cause?: unknown;
}

interface Parts {
  readonly deliveries: LogoutDeliveries;
  readonly server: { readonly logout: Pick<AuthorizationServer['logout'], 'notify'> };
  readonly report: (report: LogoutReport) => void;
  /** Receives faults. The delivery is due again when its lease ends. */
  readonly onFault: (error: unknown) => void;
  readonly clock?: () => number;
}

/**
 * Notifies clients that sessions have ended (OpenID Connect Back-Channel Logout §2.5), with retries. Several processes
 * can share the work, because each delivery goes to one of them. Each process notifies a client of one session at a
 * time, so that a slow client delays only itself.
 */
export class LogoutDeliverer {
  readonly #parts: Parts;
  readonly #clock: () => number;
  /** Pending attempts by client. */
  readonly #pending = new Map<string, Promise<void>>();
  #taking: Promise<unknown> = Promise.resolve();
  #isEnding = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * Starts an attempt for each due delivery. When the limit is reached, the rest follows automatically. Never rejects.
   */
  async begin(): Promise<void> {
    try {
      await this.#take();
    } catch (error) {
      this.#parts.onFault(error);
    }
  }

  /**
   * Makes the first attempt for each client of a session that has just ended. Resolves after the attempts, which wait
   * for pending notifications of the same clients. Never rejects.
   * @param onOutcome receives the outcome of each attempt by this process
   */
  async tell({ id, clientIds }: Pick<SessionEnd, 'id' | 'clientIds'>, onOutcome?: OnOutcome): Promise<void> {
    const attempts: Promise<void>[] = [];
    try {
      for (let waiting = clientIds; waiting.length > 0 && !this.#isEnding; ) {
        const { begun, busy, isFull } = await this.#take(id, onOutcome);
        attempts.push(...begun.values());
        // A client that is neither started nor busy is no longer due, because another process was faster.
        waiting = waiting.filter((clientId) => !begun.has(clientId) && (isFull || busy.has(clientId)));
        // Some of the attempts that were pending may have ended by now.
        const before = isFull ? [...busy.values(), ...begun.values()] : waiting.map((id) => busy.get(id));
        if (waiting.length > 0) await Promise.race(before);
      }
    } catch (error) {
      this.#parts.onFault(error);
    }
    await Promise.all(attempts);
  }

  /** Starts no more attempts. Resolves when none is pending. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#taking;
    await Promise.all(this.#pending.values());
  }

  /** Runs one take at a time, so that no client is taken twice. */
  #take(sessionId?: string, onOutcome?: OnOutcome): Promise<Taken> {
    const taken = this.#taking.then(async (): Promise<Taken> => {
      const busy = new Map(this.#pending);
      const limit = MAX_CONCURRENT_CLIENTS - busy.size;
      if (this.#isEnding || limit === 0) return { begun: new Map(), busy, isFull: limit === 0 };
      const wanted = { sessionId, exceptClients: [...busy.keys()], limit };
      const deliveries = await this.#parts.deliveries.take(this.#clock(), LEASE_MS, wanted);
      const begun = new Map(
        deliveries.map((delivery) => [delivery.clientId, this.#start(delivery, onOutcome)]),
      );
      return { begun, busy, isFull: begun.size === limit };
    });
    this.#taking = taken.catch(() => undefined);
    return taken;
  }

  /** Never rejects, so that a failure affects only its own delivery. */
  #start(delivery: LogoutDelivery, onOutcome: OnOutcome | undefined): Promise<void> {
    const { clientId } = delivery;
    const attempt = this.#attempt(delivery, onOutcome)
      .catch((error: unknown) => this.#parts.onFault(error))
      .then(() => {
        this.#pending.delete(clientId);
        void this.begin();
      });
    this.#pending.set(clientId, attempt);
    return attempt;
  }

  async #attempt(delivery: LogoutDelivery, onOutcome: OnOutcome | undefined): Promise<void> {
    const { deliveries, server, report } = this.#parts;
    const { attempts, sid, sub, ...session } = delivery;
    const notification = { clientId: session.clientId, sid, ...(sub !== undefined && { sub }) };
    const { outcome, ...known } = await server.logout.notify(notification);
    onOutcome?.(session.clientId, outcome);
    const pauseMs = outcome === 'failed' ? PAUSES_MS[attempts - 1] : undefined;
    if (pauseMs === undefined) await deliveries.remove(delivery);
    else await deliveries.postpone(delivery, this.#clock() + pauseMs);
    if (outcome !== 'not_wanted')
      report({ type: reportOf(outcome, pauseMs), ...session, attempts, ...known });
  }
}

type OnOutcome = (clientId: string, outcome: LogoutAttempt['outcome']) => void;

/** The result of one take. */
interface Taken {
  /** Started attempts by client. */
  readonly begun: ReadonlyMap<string, Promise<void>>;
  /** Attempts by client that were already pending. */
  readonly busy: ReadonlyMap<string, Promise<void>>;
  /** Whether more may be due than the limit allowed. */
  readonly isFull: boolean;
}

function reportOf(outcome: LogoutAttempt['outcome'], pauseMs: number | undefined): LogoutReport['type'] {
  if (outcome === 'delivered') return 'logout_delivered';
  return pauseMs === undefined ? 'logout_given_up' : 'logout_postponed';
}
