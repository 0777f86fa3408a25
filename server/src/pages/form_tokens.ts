import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import type { ProgramSecret } from '../instance/program_secret.ts';
import type { Cookies } from './cookies.ts';

const COOKIE = 'grantd_browser';
const COOKIE_SECONDS = 90 * 24 * 60 * 60;

/**
 * Tokens against forged forms: an HMAC-SHA-256 over the browser that a form was made for and what it is about, so that
 * an answer to one question cannot be an answer to another.
 */
export class FormTokens {
  readonly #cookies: Cookies;
  readonly #secret: ProgramSecret;

  constructor(cookies: Cookies, secret: ProgramSecret) {
    this.#cookies = cookies;
    this.#secret = secret;
  }

  async make(c: Context, ...about: readonly string[]): Promise<string> {
    let browser = this.#cookies.get(c, COOKIE);
    if (browser === undefined) {
      browser = randomBytes(16).toString('base64url');
      this.#cookies.set(c, COOKIE, browser, COOKIE_SECONDS);
    }
    return mac(await this.#secret.key('form_token'), [browser, ...about]).toString('base64url');
  }

  async isFrom(c: Context, token: string | undefined, ...about: readonly string[]): Promise<boolean> {
    const browser = this.#cookies.get(c, COOKIE);
    if (browser === undefined || token === undefined) return false;
    const given = Buffer.from(token, 'base64url');
    const keys = await this.#secret.keys('form_token');
    return keys.some((key) => {
      const expected = mac(key, [browser, ...about]);
      return expected.length === given.length && timingSafeEqual(expected, given);
    });
  }
}

function mac(key: Uint8Array, about: readonly string[]): Buffer {
  return createHmac('sha256', key).update(JSON.stringify(about)).digest();
}
