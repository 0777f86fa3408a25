import { setTimeout as pause } from 'node:timers/promises';
import type { Fetch } from '@grantd/protect';
import type { Cluster } from '../deployments/cluster.ts';
import { oneOf } from '../load/choice.ts';

const STREAM_FAULTS = ['pass', 'stall', 'are half open', 'are slow'] as const;

const NONCE_FAULTS = ['pass', 'are lost', 'are slow', 'get an earlier answer'] as const;

const LINE_FAULTS = ['no connection is possible', 'the feed is lost'] as const;

/** Of changes, that let the whole line fail. Rare, because no history can begin or end meanwhile. */
const LINE_FAILURES = 0.1;

interface Faults {
  readonly streams: (typeof STREAM_FAULTS)[number];
  readonly nonces: (typeof NONCE_FAULTS)[number];
  readonly line?: (typeof LINE_FAULTS)[number];
}

const NO_FAULTS: Faults = { streams: 'pass', nonces: 'pass' };

/** Milliseconds for which a server does not learn that a half-open stream is gone. */
const HALF_OPEN_MS = 10_000;

/** Milliseconds by which a message or an answer is late at most. */
const MOST_LATE_MS = 2500;

/** Milliseconds by which a clock is wrong at most. */
const MOST_AHEAD_MS = 300_000;

/** Between a follower and a cluster, as a load balancer and a network. */
export class FaultyLine {
  readonly #cluster: Cluster;
  readonly #streams = new Set<AbortController>();
  #faults = NO_FAULTS;
  #answer = '';
  #lateMs = 0;
  /** By which the follower’s clock is wrong. */
  #aheadMs = 0;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  readonly clock = (): number => Date.now() + this.#aheadMs;

  /** What fails at present. */
  get faults(): readonly string[] {
    const { streams, nonces, line } = this.#faults;
    return line === undefined ? [`streams ${streams}, nonces ${nonces}`] : [line];
  }

  /**
   * Begins other faults, or ends them.
   * @returns what it did
   */
  change(): readonly string[] {
    this.#faults = {
      streams: oneOf(STREAM_FAULTS),
      nonces: oneOf(NONCE_FAULTS),
      ...(Math.random() < LINE_FAILURES && { line: oneOf(LINE_FAULTS) }),
    };
    this.#lateMs = Math.random() * MOST_LATE_MS;
    const [isSet, isCut] = [Math.random() < 0.2, Math.random() < 0.3];
    if (isSet) this.#aheadMs = (Math.random() * 2 - 1) * MOST_AHEAD_MS;
    if (isCut) for (const stream of this.#streams) stream.abort();
    return [...this.faults, ...(isSet ? ['a clock is set'] : []), ...(isCut ? ['streams are cut'] : [])];
  }

  heal(): void {
    this.#faults = NO_FAULTS;
  }

  readonly fetch: Fetch = async (url, init) => {
    const { pathname, search } = new URL(url);
    const target = `${oneOf(this.#cluster.servers).address}${pathname}${search}`;
    const isFeed = pathname.endsWith('/follow');
    const { line, nonces } = this.#faults;
    if (line === 'no connection is possible' || (isFeed && line !== undefined)) throw lost();
    if (!isFeed) return fetch(target, init);
    if (init.method === 'POST') return this.#stream(target, init);
    if (nonces === 'are lost') throw lost();
    if (nonces === 'get an earlier answer') return new Response(this.#answer);
    const response = await fetch(target, init);
    this.#answer = await response.clone().text();
    if (nonces === 'are slow') await pause(this.#lateMs);
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
        if (this.#faults.streams === 'are slow') await pause(this.#lateMs);
        // It stays so after the fault: neither side learns that the other one is gone.
        isHalfOpen ||= this.#faults.streams === 'are half open';
        while ((isHalfOpen || this.#faults.streams === 'stall') && !signal.aborted) await pause(20);
        controller.enqueue(chunk);
      },
    });
    const body = response.body?.pipeThrough(delaying, { signal });
    return new Response(body, response);
  }
}

function lost(): TypeError {
  return new TypeError('lost');
}
