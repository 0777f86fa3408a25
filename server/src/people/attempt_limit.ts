import { createHmac } from 'node:crypto';
import type { ProgramSecret } from '../instance/program_secret.ts';
import type { Attempts } from './attempts.ts';

const MOST_ATTEMPTS = 10;
const WINDOW_MS = 5 * 60 * 1000;

/**
 * Counts attempts to sign in by name and place, for all processes together. A place is an IPv4 address, an IPv6 /64, or a browser that
 * the person is known to use; such a browser keeps attempts of its own. An address is shared by all behind it: by a
 * household, and, where the option `trustedProxies` does not name it, by everyone behind a proxy. Ten guesses from
 * there keep the name from every new browser at the same address until the window ends. Strangers at other addresses
 * use up their own attempts only; someone with many addresses has as many times ten.
 */
export class AttemptLimit {
  readonly #attempts: Attempts;
  readonly #secret: ProgramSecret;
  readonly #clock: () => number;

  constructor(attempts: Attempts, secret: ProgramSecret, clock: () => number = Date.now) {
    this.#attempts = attempts;
    this.#secret = secret;
    this.#clock = clock;
  }

  /**
   * Counts an attempt before its password is looked at, so that many at once are counted as well.
   * @returns seconds to wait where there were too many; 0 where it may go on
   */
  async begin(name: string, place: string): Promise<number> {
    const nowMs = this.#clock();
    const key = await this.#keyOf(name, place);
    const { attempts, endsAtMs } = await this.#attempts.count(key, nowMs, WINDOW_MS);
    return attempts > MOST_ATTEMPTS ? Math.max(1, Math.ceil((endsAtMs - nowMs) / 1000)) : 0;
  }

  async succeeded(name: string, place: string): Promise<void> {
    await this.#attempts.forget(await this.#keyOf(name, place));
  }

  /** Under a key, so that whoever reads the table learns neither names nor addresses by guessing. */
  async #keyOf(name: string, place: string): Promise<string> {
    const key = await this.#secret.key('sign_in_attempt');
    return createHmac('sha256', key)
      .update(JSON.stringify([name, place]))
      .digest('base64url');
  }
}
