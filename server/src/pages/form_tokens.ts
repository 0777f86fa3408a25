import { randomBytes } from 'node:crypto';
import type { ServerSecret } from '@grantd/core';
import type { Context } from 'hono';
import type { Cookies } from './cookies.ts';
import { SignedValues } from './signed_values.ts';

const COOKIE = 'grantd_browser';
const COOKIE_SECONDS = 90 * 24 * 60 * 60;

/**
 * Tokens against forged forms. A form is bound to the browser that it was made for, and to what it is about, so that
 * an answer to one question cannot be an answer to another.
 */
export class FormTokens {
  readonly #cookies: Cookies;
  readonly #values: SignedValues;

  constructor(cookies: Cookies, secret: ServerSecret) {
    this.#cookies = cookies;
    this.#values = new SignedValues(secret, 'form_token');
  }

  async make(c: Context, ...about: readonly string[]): Promise<string> {
    let browser = this.#cookies.get(c, COOKIE);
    if (browser === undefined) {
      browser = randomBytes(16).toString('base64url');
      this.#cookies.set(c, COOKIE, browser, COOKIE_SECONDS);
    }
    return this.#values.sign(JSON.stringify([browser, ...about]));
  }

  async isFrom(c: Context, token: string | undefined, ...about: readonly string[]): Promise<boolean> {
    const browser = this.#cookies.get(c, COOKIE);
    if (browser === undefined || token === undefined) return false;
    return this.#values.fits(JSON.stringify([browser, ...about]), token);
  }
}
