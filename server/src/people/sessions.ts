import type { AdministrableStorage, AuthorizationServer } from '@grantd/core';
import {
  type EndedSession,
  type LogoutDeliveries,
  type LogoutDelivery,
  MOST_CLIENTS_AT_ONCE,
  type Sessions,
  type SessionsOfPerson,
  type SessionsToEnd,
  type ToldNames,
} from '../data/sessions.ts';
import { askStorage } from '../data/tables.ts';

/** After which whoever has begun to end a session is taken for dead. */
const LONGEST_END_MS = 30_000;

const MOST_AT_ONCE = 50;

/**
 * Ends sessions: first they count no more, then every token that rests upon them is revoked, then the clients that know
 * of them are to be told. In this order nothing that is issued at the same time outlives a session: it was issued
 * before the revocation, or sees afterwards that the session has ended. What a process leaves half-done when it dies is
 * finished by the next one.
 */
export class SessionEnding {
  readonly #sessions: Sessions;
  readonly #storage: Pick<AdministrableStorage, 'revokeAll' | 'grantsOf'>;
  readonly #clock: () => number;

  constructor(parts: {
    readonly sessions: Sessions;
    readonly storage: Pick<AdministrableStorage, 'revokeAll' | 'grantsOf'>;
    readonly clock?: () => number;
  }) {
    this.#sessions = parts.sessions;
    this.#storage = parts.storage;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * @returns those that were ended, with the clients that are to be told; empty where they had ended before
   * @throws {StorageFault} some may not have ended; they count no more in any case
   */
  async end(of: SessionsToEnd): Promise<readonly SessionEnd[]> {
    const begun = await this.#sessions.beginEnd(of, this.#clock());
    const ends: SessionEnd[] = [];
    for (const session of begun) ends.push(await this.#finish(session));
    return 'id' in of ? ends : [...ends, ...(await this.#endOver(of))];
  }

  /** Ends what others have begun to end, and never finished. */
  async finishHalfEnded(): Promise<readonly SessionEnd[]> {
    const halfEnded = await this.#sessions.halfEnded(this.#clock() - LONGEST_END_MS, MOST_AT_ONCE);
    const ends: SessionEnd[] = [];
    for (const session of halfEnded) ends.push(await this.#finish(session));
    return ends;
  }

  /** Ends what rests upon sessions of a person that were over by time: their rows are gone, and nobody is to be told. */
  async #endOver({ subject, except }: SessionsOfPerson): Promise<readonly SessionEnd[]> {
    const grants = await askStorage(() => this.#storage.grantsOf(subject));
    const ends: SessionEnd[] = [];
    for (const id of new Set(grants.map(({ sessionId }) => sessionId))) {
      if (id === undefined || id === except || (await this.#sessions.isOpen(id))) continue;
      await askStorage(() => this.#storage.revokeAll({ principal: 'session', id }));
      ends.push({ id, subject, clientIds: [] });
    }
    return ends;
  }

  async #finish(session: EndedSession): Promise<SessionEnd> {
    await askStorage(() => this.#storage.revokeAll({ principal: 'session', id: session.id }));
    return { ...session, clientIds: await this.#sessions.finishEnd(session.id, this.#clock()) };
  }
}

/** Tells the clients of sessions that have ended; resolves when they were told, or it takes too long to wait for. */
export type NotifyClients = (ends: readonly SessionEnd[]) => Promise<LogoutAnswers>;

/** What clients have answered so far, by identifier; the others are still being told, or never are. */
export type LogoutAnswers = ReadonlyMap<string, 'delivered' | 'refused'>;

/** A session that has ended. */
export interface SessionEnd extends EndedSession {
  /** Who is to be told. */
  readonly clientIds: readonly string[];
}

/** Milliseconds until the next attempt, after each that has failed; the last one comes about five hours after the first. */
const PAUSES_MS = [5_000, 25_000, 125_000, 625_000, 3_125_000, 15_625_000];

/** Longer than an attempt can take: whoever took a delivery and is silent for so long is dead. */
const LEASE_MS = 60_000;

type LogoutAttempt = Awaited<ReturnType<AuthorizationServer['notifyLogout']>>;

export interface LogoutReport extends Omit<LogoutDelivery, keyof ToldNames> {
  readonly type: 'logout_delivered' | 'logout_postponed' | 'logout_given_up';
  /** What the client answered, where it did. */
  readonly answeredStatus?: number;
  readonly cause?: unknown;
}

interface Parts {
  readonly deliveries: LogoutDeliveries;
  readonly server: Pick<AuthorizationServer, 'notifyLogout'>;
  readonly report: (report: LogoutReport) => void;
  /** Told of what went wrong here: the delivery is due again when its lease ends. */
  readonly onFault: (error: unknown) => void;
  readonly clock?: () => number;
}

/**
 * Tells clients that sessions have ended (OpenID Connect Back-Channel Logout §2.5), and tells them again where they did
 * not hear it. Any number of processes may do so: each delivery is taken by one at a time. Of one process each client
 * is told one thing at a time, so that one that is slow keeps nobody waiting but itself.
 */
export class LogoutDeliverer {
  readonly #parts: Parts;
  readonly #clock: () => number;
  /** Attempts under way, by client. */
  readonly #underWay = new Map<string, Promise<void>>();
  #taking: Promise<unknown> = Promise.resolve();
  #isEnding = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? Date.now;
  }

  /** Begins an attempt for all that is due. What there is no room for yet follows by itself. Never rejects. */
  async begin(): Promise<void> {
    try {
      await this.#take();
    } catch (error) {
      this.#parts.onFault(error);
    }
  }

  /**
   * Makes the first attempt for each client of a session that has just ended. Never rejects.
   * Resolves when it was made; not before a client that is being told something else has heard that.
   * @param onOutcome receives what comes of each attempt that this process makes
   */
  async tell({ id, clientIds }: Pick<SessionEnd, 'id' | 'clientIds'>, onOutcome?: OnOutcome): Promise<void> {
    const attempts: Promise<void>[] = [];
    try {
      for (let waiting = clientIds; waiting.length > 0 && !this.#isEnding; ) {
        const { begun, busy, isFull } = await this.#take(id, onOutcome);
        attempts.push(...begun.values());
        // Whoever is neither begun nor busy is not due any more: somebody else was quicker.
        waiting = waiting.filter((clientId) => !begun.has(clientId) && (isFull || busy.has(clientId)));
        // Of what was under way when it was looked, some may have ended meanwhile.
        const before = isFull ? [...busy.values(), ...begun.values()] : waiting.map((id) => busy.get(id));
        if (waiting.length > 0) await Promise.race(before);
      }
    } catch (error) {
      this.#parts.onFault(error);
    }
    await Promise.all(attempts);
  }

  /** Begins nothing any more. Resolves when nothing is under way. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#taking;
    await Promise.all(this.#underWay.values());
  }

  /** One after another, so that no client is taken twice. */
  #take(sessionId?: string, onOutcome?: OnOutcome): Promise<Taken> {
    const taken = this.#taking.then(async (): Promise<Taken> => {
      const busy = new Map(this.#underWay);
      const limit = MOST_CLIENTS_AT_ONCE - busy.size;
      if (this.#isEnding || limit === 0) return { begun: new Map(), busy, isFull: limit === 0 };
      const wanted = { sessionId, exceptClients: [...busy.keys()], limit };
      const deliveries = await this.#parts.deliveries.take(this.#clock(), LEASE_MS, wanted);
      const begun = new Map(deliveries.map((one) => [one.clientId, this.#start(one, onOutcome)]));
      return { begun, busy, isFull: begun.size === limit };
    });
    this.#taking = taken.catch(() => undefined);
    return taken;
  }

  /** Never rejects: what went wrong with one is none of the others'. */
  #start(delivery: LogoutDelivery, onOutcome: OnOutcome | undefined): Promise<void> {
    const { clientId } = delivery;
    const attempt = this.#attempt(delivery, onOutcome)
      .catch((error: unknown) => this.#parts.onFault(error))
      .then(() => {
        this.#underWay.delete(clientId);
        void this.begin();
      });
    this.#underWay.set(clientId, attempt);
    return attempt;
  }

  async #attempt(delivery: LogoutDelivery, onOutcome: OnOutcome | undefined): Promise<void> {
    const { deliveries, server, report } = this.#parts;
    const { attempts, sid, sub, ...session } = delivery;
    const told = { clientId: session.clientId, sid, ...(sub !== undefined && { sub }) };
    const { outcome, ...known } = await server.notifyLogout(told);
    onOutcome?.(session.clientId, outcome);
    const pauseMs = outcome === 'failed' ? PAUSES_MS[attempts - 1] : undefined;
    if (pauseMs === undefined) await deliveries.remove(delivery);
    else await deliveries.postpone(delivery, this.#clock() + pauseMs);
    if (outcome !== 'not_wanted')
      report({ type: reportOf(outcome, pauseMs), ...session, attempts, ...known });
  }
}

type OnOutcome = (clientId: string, outcome: LogoutAttempt['outcome']) => void;

/** What one look has led to. */
interface Taken {
  /** The attempts, by client. */
  readonly begun: ReadonlyMap<string, Promise<void>>;
  /** The attempts, by client, of those that were being told something else. */
  readonly busy: ReadonlyMap<string, Promise<void>>;
  /** Whether there may be more, for which there was no room. */
  readonly isFull: boolean;
}

function reportOf(outcome: LogoutAttempt['outcome'], pauseMs: number | undefined): LogoutReport['type'] {
  if (outcome === 'delivered') return 'logout_delivered';
  return pauseMs === undefined ? 'logout_given_up' : 'logout_postponed';
}
