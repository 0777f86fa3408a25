const MOST_ATTEMPTS = 10;
const WINDOW_MS = 5 * 60 * 1000;
const MOST_KEYS = 10_000;

interface Attempts {
  readonly count: number;
  readonly endsAtMs: number;
}

/**
 * Counts attempts to sign in by name and place. A place is an address, or a browser that the person is known to use;
 * such a browser keeps attempts of its own. An address is shared by all behind it: by a household, and, where the
 * option `trustedProxies` does not name it, by everyone behind a proxy. Ten guesses from there keep the name from
 * every new browser at the same address until the window ends. Strangers at other addresses use up their own attempts
 * only; someone with many addresses has as many times ten.
 */
export class AttemptLimit {
  readonly #attempts = new Map<string, Attempts>();
  readonly #clock: () => number;

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /**
   * Counts an attempt before its password is looked at, so that many at once are counted as well.
   * @returns seconds to wait where there were too many; 0 where it may go on
   */
  begin(name: string, place: string): number {
    const key = keyOf(name, place);
    const nowMs = this.#clock();
    const known = this.#attempts.get(key);
    if (known === undefined || known.endsAtMs <= nowMs) {
      // Windows are as long as each other: those that end first stay at the front of the map.
      this.#attempts.delete(key);
      this.#attempts.set(key, { count: 1, endsAtMs: nowMs + WINDOW_MS });
      this.#forgetOldest();
      return 0;
    }
    if (known.count >= MOST_ATTEMPTS) return Math.ceil((known.endsAtMs - nowMs) / 1000);
    this.#attempts.set(key, { ...known, count: known.count + 1 });
    return 0;
  }

  succeeded(name: string, place: string): void {
    this.#attempts.delete(keyOf(name, place));
  }

  #forgetOldest(): void {
    const [oldest] = this.#attempts.keys();
    if (oldest !== undefined && this.#attempts.size > MOST_KEYS) this.#attempts.delete(oldest);
  }
}

function keyOf(name: string, place: string): string {
  return JSON.stringify([name, place]);
}
