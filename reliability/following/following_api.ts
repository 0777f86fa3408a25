import { setTimeout as pause } from 'node:timers/promises';
import { AccessTokenFollower, type AccessTokens } from '@grantd/protect';
import type { Cluster } from '../deployments/cluster.ts';
import { ISSUER } from '../deployments/identity.ts';
import { secretOf } from '../load/registrations.ts';
import { FaultyLine } from './faulty_line.ts';
import type { FollowingTally } from './tally.ts';
import { API } from './ways.ts';

export interface ApiOrder {
  /** Seconds. */
  readonly maxSilence: number;
  /** Replaces the follower, to show that the check can fail. */
  readonly instead?: ((line: FaultyLine) => AccessTokens) | undefined;
}

const RESTARTS = 0.1;
const LONGEST_FAULT_MS = 6000;
const LONGEST_REST_MS = 3000;

/** An API that follows, behind a line that fails. */
export class FollowingApi {
  readonly #line: FaultyLine;
  readonly #order: ApiOrder;
  #tokens: AccessTokens;

  constructor(cluster: Cluster, order: ApiOrder) {
    this.#line = new FaultyLine(cluster);
    this.#order = order;
    this.#tokens = this.#start();
  }

  get tokens(): AccessTokens {
    return this.#tokens;
  }

  get faults(): readonly string[] {
    return this.#line.faults;
  }

  /** Lets its line fail and heal, and restarts it now and then. */
  async disturb(tally: FollowingTally, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      tally.disturb(...this.#line.change());
      if (Math.random() < RESTARTS) {
        tally.disturb('a follower is restarted');
        await this.close();
        this.#tokens = this.#start();
      }
      await pause(Math.random() * LONGEST_FAULT_MS);
      this.#line.heal();
      await pause(Math.random() * LONGEST_REST_MS);
    }
  }

  async close(): Promise<void> {
    if (this.#tokens instanceof AccessTokenFollower) await this.#tokens.close();
  }

  #start(): AccessTokens {
    const { instead, maxSilence } = this.#order;
    if (instead !== undefined) return instead(this.#line);
    const { fetch, clock } = this.#line;
    const credentials = { clientId: API.id, clientSecret: secretOf(API.id) };
    const checkIssued = Math.random() < 0.3;
    return new AccessTokenFollower({
      ...{ issuer: ISSUER, audience: API.resource, credentials, fetch, clock, maxSilence, checkIssued },
      timeoutMs: 4000,
    });
  }
}
