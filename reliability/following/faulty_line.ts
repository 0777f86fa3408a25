import { setTimeout as pause } from 'node:timers/promises';
import type { Fetch } from '@grantd/protect';
import type { Cluster } from '../deployments/cluster.ts';
import { oneOf } from '../load/choice.ts';

const FAULTS = [
  'none',
  'streams stall',
  'nonces are lost',
  'answers are repeated',
  'all is late',
  'all is lost',
] as const;

/** Between a follower and a cluster, as a load balancer and a network. Only what follows endings can fail. */
export class FaultyLine {
  readonly #cluster: Cluster;
  readonly #streams = new Set<AbortController>();
  #fault: (typeof FAULTS)[number] = 'none';
  #answer = '';
  #lateMs = 0;
  /** By which the follower’s clock is wrong. */
  aheadMs = 0;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  readonly clock = (): number => Date.now() + this.aheadMs;

  /** Begins another fault, or ends one. */
  change(): void {
    this.#fault = oneOf(FAULTS);
    this.#lateMs = Math.random() * 2500;
    this.aheadMs = Math.random() < 0.2 ? (Math.random() - 0.5) * 600_000 : this.aheadMs;
    if (Math.random() < 0.3) this.#cut();
  }

  heal(): void {
    this.#fault = 'none';
  }

  readonly fetch: Fetch = async (url, init) => {
    const { pathname } = new URL(url);
    const target = `${oneOf(this.#cluster.servers).address}${pathname}`;
    if (!pathname.endsWith('/follow')) return fetch(target, init);
    const isNonce = String(init.body).includes('nonce=');
    if (this.#fault === 'all is lost' || (isNonce && this.#fault === 'nonces are lost'))
      throw new TypeError('lost');
    if (isNonce && this.#fault === 'answers are repeated') return new Response(this.#answer);
    if (!isNonce) return this.#stream(target, init);
    if (this.#fault === 'all is late') await pause(this.#lateMs * Math.random());
    const response = await fetch(target, init);
    if (this.#fault === 'all is late') await pause(this.#lateMs * Math.random());
    this.#answer = await response.clone().text();
    return response;
  };

  async #stream(target: string, init: RequestInit): Promise<Response> {
    const cut = new AbortController();
    this.#streams.add(cut);
    const signal = AbortSignal.any([cut.signal, ...(init.signal ? [init.signal] : [])]);
    signal.addEventListener('abort', () => this.#streams.delete(cut));
    const response = await fetch(target, { ...init, signal });
    const delaying = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        if (this.#fault === 'all is late') await pause(this.#lateMs);
        while (this.#fault === 'streams stall' && !signal.aborted) await pause(20);
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body?.pipeThrough(delaying), response);
  }

  #cut(): void {
    for (const stream of this.#streams) stream.abort();
  }
}
