import type { AuthorizationServer } from '@grantd/core';
import { type LogoutDeliveries, type LogoutDelivery, MOST_CLIENTS_AT_ONCE } from './logout_deliveries.ts';
import type { SessionEnd } from './session_ending.ts';
import type { ToldNames } from './sessions.ts';

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
