import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';

/**
 * Cookies that scripts cannot read and other sites cannot send along with a form. Where the issuer is https they are
 * bound to its host by their name (RFC 6265bis §4.1.3.2).
 */
export class Cookies {
  readonly #isSecure: boolean;

  constructor(issuer: string) {
    this.#isSecure = issuer.startsWith('https:');
  }

  get(c: Context, name: string): string | undefined {
    return this.#isSecure ? getCookie(c, name, 'host') : getCookie(c, name);
  }

  /** @param maxAge seconds */
  set(c: Context, name: string, value: string, maxAge: number): void {
    setCookie(c, name, value, { httpOnly: true, sameSite: 'Lax', maxAge, ...this.#scope });
  }

  remove(c: Context, name: string): void {
    deleteCookie(c, name, this.#scope);
  }

  get #scope() {
    return { path: '/', ...(this.#isSecure && { secure: true, prefix: 'host' as const }) };
  }
}
