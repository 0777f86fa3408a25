// Limits how often something happens in a minute, for each sender or host, in bounded memory (ADR 155).
import { type Clock, type RandomSource, systemRandom } from './environment.ts';

const WINDOW_MS = 60_000;

const ROWS = 4;

/** Counters in each row: a power of two. All rows together take 128 KiB. */
const WIDTH = 8192;

/**
 * Limits how often something may happen in a minute, for each key, such as `addressUnit` of an address.
 *
 * It counts in a fixed number of counters. A key has a counter in each row, which other keys may share, and its
 * count is the smallest of them. Nothing is evicted, so a sender with many keys cannot make the server forget a count.
 * @example
 * const rate = new RequestRate(1000);
 * const wait = rate.take(addressUnit(request.socket.remoteAddress ?? ''));
 * if (wait > 0) return response.writeHead(429, { 'retry-after': String(wait) }).end();
 */
export class RequestRate {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  /** Secret, so that no one can choose keys that share their counters with a key of someone else. */
  #seeds: Uint32Array | undefined;
  readonly #counts = new Uint32Array(ROWS * WIDTH);
  #endsAtMs = 0;

  /** @param most times in a minute; 0: no limit */
  constructor(most: number, clock: Clock = Date.now, random: RandomSource = systemRandom()) {
    this.#most = most;
    this.#clock = clock;
    this.#random = random;
  }

  /** Counts one more, unless the limit is reached. @returns seconds to wait; 0 to go on */
  take(key: string): number {
    const wait = this.secondsToWait(key);
    if (wait === 0) this.note(key);
    return wait;
  }

  /** @returns seconds until the next one may happen; 0 for now */
  secondsToWait(key: string): number {
    if (this.#most === 0) return 0;
    const nowMs = this.#clock();
    // A clock that was set back must not make a window longer.
    if (nowMs >= this.#endsAtMs || nowMs < this.#endsAtMs - WINDOW_MS) {
      this.#counts.fill(0);
      this.#endsAtMs = nowMs + WINDOW_MS;
    }
    if (this.#countAt(this.#countersOf(key)) < this.#most) return 0;
    return Math.ceil((this.#endsAtMs - nowMs) / 1000);
  }

  /** Counts one more. */
  note(key: string): void {
    const counters = this.#countersOf(key);
    const count = this.#countAt(counters) + 1;
    // Larger counters include other keys already.
    for (const counter of counters) this.#counts[counter] = Math.max(this.#counts[counter] ?? 0, count);
  }

  #countAt(counters: readonly number[]): number {
    return Math.min(...counters.map((counter) => this.#counts[counter] ?? 0));
  }

  #countersOf(key: string): readonly number[] {
    // Some runtimes have no random values while modules load.
    this.#seeds ??= new Uint32Array(Uint8Array.from(this.#random(ROWS * 4)).buffer);
    return Array.from(this.#seeds, (seed, row) => row * WIDTH + (hash(key, seed) & (WIDTH - 1)));
  }
}

/** A fast hash with a seed, after MurmurHash3. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let at = 0; at < text.length; at++) {
    const part = Math.imul(text.charCodeAt(at), 0xcc9e2d51);
    value ^= Math.imul((part << 15) | (part >>> 17), 0x1b873593);
    value = (Math.imul((value << 13) | (value >>> 19), 5) + 0xe6546b64) | 0;
  }
  value ^= value >>> 16;
  value = Math.imul(value, 0x85ebca6b);
  value ^= value >>> 13;
  value = Math.imul(value, 0xc2b2ae35);
  return value ^ (value >>> 16);
}
