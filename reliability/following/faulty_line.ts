import { setTimeout as pause } from 'node:timers/promises';
import type { Fetch } from '@grantd/protect';
import type { Cluster } from '../deployments/cluster.ts';
import { oneOf } from '../load/choice.ts';

const FAULTS = [
  'nothing fails',
  'streams stall',
  'streams are half open',
  'nonces are lost',
  'answers are repeated',
  'the feed is slow',
  'the feed is lost',
] as const;

/** Rare, because no history can begin or end meanwhile. */
const OUTAGE = 'all is lost';
const OUTAGES = 0.05;

/** Milliseconds for which a server does not learn that a half-open stream is gone. */
const HALF_OPEN_MS = 10_000;

/** Milliseconds by which a clock is wrong at most. */
const MOST_AHEAD_MS = 300_000;

/** Between a follower and a cluster, as a load balancer and a network. */
export class FaultyLine {
  readonly #cluster: Cluster;
  readonly #streams = new Set<AbortController>();
  #fault: (typeof FAULTS)[number] | typeof OUTAGE = 'nothing fails';
  #answer = '';
  #lateMs = 0;
  /** By which the follower’s clock is wrong. */
  #aheadMs = 0;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  readonly clock = (): number => Date.now() + this.#aheadMs;

  get fault(): string {
    return this.#fault;
  }

  /**
   * Begins another fault, or ends one.
   * @returns what it did
   */
  change(): readonly string[] {
    this.#fault = Math.random() < OUTAGES ? OUTAGE : oneOf(FAULTS);
    this.#lateMs = Math.random() * 2500;
    const [isSet, isCut] = [Math.random() < 0.2, Math.random() < 0.3];
    if (isSet) this.#aheadMs = (Math.random() * 2 - 1) * MOST_AHEAD_MS;
    if (isCut) for (const stream of this.#streams) stream.abort();
    return [this.#fault, ...(isSet ? ['a clock is set'] : []), ...(isCut ? ['streams are cut'] : [])];
  }

  heal(): void {
    this.#fault = 'nothing fails';
  }

  readonly fetch: Fetch = async (url, init) => {
    const { pathname, search } = new URL(url);
    const target = `${oneOf(this.#cluster.servers).address}${pathname}${search}`;
    const isFeed = pathname.endsWith('/follow');
    if (this.#fault === OUTAGE || (isFeed && this.#fault === 'the feed is lost')) throw lost();
    if (!isFeed) return fetch(target, init);
    if (init.method === 'POST') return this.#stream(target, init);
    if (this.#fault === 'nonces are lost') throw lost();
    if (this.#fault === 'answers are repeated') return new Response(this.#answer);
    await this.#beLate();
    const response = await fetch(target, init);
    await this.#beLate();
    this.#answer = await response.clone().text();
    return response;
  };

  async #stream(target: string, init: RequestInit): Promise<Response> {
    const [cut, gone] = [new AbortController(), new AbortController()];
    this.#streams.add(cut);
    const signal = AbortSignal.any([cut.signal, ...(init.signal ? [init.signal] : [])]);
    let isHalfOpen = false;
    signal.addEventListener('abort', () => {
      this.#streams.delete(cut);
      if (isHalfOpen) setTimeout(() => gone.abort(), HALF_OPEN_MS).unref();
      else gone.abort();
    });
    const response = await fetch(target, { ...init, signal: gone.signal });
    const delaying = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        await this.#beLate();
        // It stays so after the fault: neither side learns that the other one is gone.
        isHalfOpen ||= this.#fault === 'streams are half open';
        while ((isHalfOpen || this.#fault === 'streams stall') && !signal.aborted) await pause(20);
        controller.enqueue(chunk);
      },
    });
    const body = response.body?.pipeThrough(delaying, { signal });
    return new Response(body, response);
  }

  async #beLate(): Promise<void> {
    if (this.#fault === 'the feed is slow') await pause(this.#lateMs * Math.random());
  }
}

function lost(): TypeError {
  return new TypeError('lost');
}
