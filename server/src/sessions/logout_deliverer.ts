import type { AuthorizationServer } from '@grantd/core';
import type { LogoutDeliveries, LogoutDelivery } from './logout_deliveries.ts';

/** Milliseconds until the next attempt, after each that has failed; the last one comes about five hours after the first. */
const PAUSES_MS = [5_000, 25_000, 125_000, 625_000, 3_125_000, 15_625_000];

/** Longer than an attempt can take: whoever took a delivery and is silent for so long is dead. */
const LEASE_MS = 60_000;

const MOST_AT_ONCE = 10;

type Outcome = Awaited<ReturnType<AuthorizationServer['notifyLogout']>>;

export interface LogoutReport {
  readonly type: 'logout_delivered' | 'logout_postponed' | 'logout_given_up';
  readonly clientId: string;
  readonly subject: string;
  readonly sessionId: string;
  readonly attempts: number;
}

/**
 * Tells clients that sessions have ended (OpenID Connect Back-Channel Logout §2.5), and tells them again where they did
 * not hear it. Any number of processes may do so: each delivery is taken by one at a time.
 */
export class LogoutDeliverer {
  readonly #deliveries: LogoutDeliveries;
  readonly #server: Pick<AuthorizationServer, 'notifyLogout'>;
  readonly #report: (report: LogoutReport) => void;
  readonly #clock: () => number;

  constructor(parts: {
    readonly deliveries: LogoutDeliveries;
    readonly server: Pick<AuthorizationServer, 'notifyLogout'>;
    readonly report: (report: LogoutReport) => void;
    readonly clock?: () => number;
  }) {
    this.#deliveries = parts.deliveries;
    this.#server = parts.server;
    this.#report = parts.report;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * Makes one attempt for all that is due.
   * @returns how many attempts those were
   * @throws {StorageFault} the rest is due later
   */
  async deliverDue(signal?: AbortSignal): Promise<number> {
    for (let made = 0; ; ) {
      const taken = await this.#deliveries.take(this.#clock(), LEASE_MS, MOST_AT_ONCE);
      made += taken.length;
      await Promise.all(taken.map((delivery) => this.#attempt(delivery)));
      if (taken.length === 0 || signal?.aborted) return made;
    }
  }

  async #attempt(delivery: LogoutDelivery): Promise<void> {
    const { attempts, sid, sub, ...session } = delivery;
    const told = { sid, ...(sub !== undefined && { sub }) };
    const outcome = await this.#server.notifyLogout({ clientId: session.clientId, ...told });
    const pauseMs = outcome === 'failed' ? PAUSES_MS[attempts - 1] : undefined;
    if (pauseMs === undefined) await this.#deliveries.remove(delivery);
    else await this.#deliveries.postpone(delivery, this.#clock() + pauseMs);
    if (outcome !== 'not_wanted') this.#report({ type: reportOf(outcome, pauseMs), ...session, attempts });
  }
}

function reportOf(outcome: Outcome, pauseMs: number | undefined): LogoutReport['type'] {
  if (outcome === 'delivered') return 'logout_delivered';
  return pauseMs === undefined ? 'logout_given_up' : 'logout_postponed';
}
