import { Connection } from '../load/connection.ts';
import { requestTokens } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';

const EVERY_MS = 250;
/** More than can be pending during an outage: a request ends within seconds. */
const SOCKETS = 64;

/** Requests a token from a server four times per second, and remembers when that succeeded. */
export class Availability {
  readonly address: string;
  readonly #connection: Connection;
  readonly #timer: NodeJS.Timeout;
  readonly #successes: { readonly startMs: number; readonly endMs: number }[] = [];
  #pending = 0;

  constructor(address: string) {
    this.address = address;
    this.#connection = new Connection(address, { sockets: SOCKETS });
    this.#timer = setInterval(() => void this.#attempt(), EVERY_MS);
  }

  /** Whether a request that was sent after this time has succeeded. */
  hasServedSince(timeMs: number): boolean {
    return this.#successes.some(({ startMs }) => startMs >= timeMs);
  }

  /** The longest time after `sinceMs` in which no request succeeded, in milliseconds. */
  longestGapMs(sinceMs: number): number {
    const ends = this.#successes.map(({ endMs }) => endMs).filter((endMs) => endMs > sinceMs);
    const times = [sinceMs, ...ends.toSorted((a, b) => a - b), performance.now()];
    return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? time)));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#connection.close();
  }

  async #attempt(): Promise<void> {
    if (this.#pending === SOCKETS) return;
    this.#pending += 1;
    const startMs = performance.now();
    const form = { grant_type: 'client_credentials' };
    const outcome = await requestTokens(this.#connection, form, CLIENTS.opaque.id).finally(() => {
      this.#pending -= 1;
    });
    if (typeof outcome !== 'string') this.#successes.push({ startMs, endMs: performance.now() });
  }
}
