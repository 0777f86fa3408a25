import { Problem } from './problems.ts';

const WINDOW_MS = 60_000;

/** Maximum callers that are counted. Beyond it, all are forgotten. */
const MAX_CALLERS = 10_000;

interface Window {
  requests: number;
  readonly endsAtMs: number;
}

/** Limits the requests of each caller in a minute. */
export class RequestLimit {
  readonly #most: number;
  readonly #clock: () => number;
  readonly #windows = new Map<string, Window>();

  constructor(most: number, clock: () => number = Date.now) {
    this.#most = most;
    this.#clock = clock;
  }

  /** Counts a request. @throws {Problem} there were too many */
  count(caller: string): void {
    this.check(caller);
    this.note(caller);
  }

  /** @throws {Problem} there were too many requests */
  check(caller: string): void {
    const window = this.#windows.get(caller);
    const nowMs = this.#clock();
    if (window === undefined || window.endsAtMs <= nowMs || window.requests < this.#most) return;
    throw new Problem('too_many_requests', {
      detail: `expected at most ${this.#most} requests in a minute`,
      headers: { 'retry-after': String(Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1000))) },
    });
  }

  /** Counts a request that was not refused because of the limit. */
  note(caller: string): void {
    const nowMs = this.#clock();
    const window = this.#windows.get(caller);
    if (window !== undefined && window.endsAtMs > nowMs) {
      window.requests += 1;
      return;
    }
    if (this.#windows.size >= MAX_CALLERS) this.#windows.clear();
    this.#windows.set(caller, { requests: 1, endsAtMs: nowMs + WINDOW_MS });
  }
}
