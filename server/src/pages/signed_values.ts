import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ServerSecret } from '@grantd/core';

/** Values that a browser keeps and cannot change: JSON with an HMAC-SHA-256 under a key for this use alone. */
export class SignedValues {
  readonly #secret: ServerSecret;
  readonly #use: string;

  constructor(secret: ServerSecret, use: string) {
    this.#secret = secret;
    this.#use = use;
  }

  async seal(value: unknown): Promise<string> {
    const payload = Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${payload}.${mac(await this.#secret.key(this.#use), payload).toString('base64url')}`;
  }

  /** @returns `undefined` where the value was not sealed here */
  async open(sealed: string): Promise<unknown> {
    const [payload = '', signature = '', ...rest] = sealed.split('.');
    if (rest.length > 0 || !(await this.fits(payload, signature))) return undefined;
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  }

  /** The HMAC alone, of a text that is known to both sides. */
  async sign(text: string): Promise<string> {
    return mac(await this.#secret.key(this.#use), text).toString('base64url');
  }

  async fits(text: string, signature: string): Promise<boolean> {
    const given = Buffer.from(signature, 'base64url');
    const keys = await this.#secret.keys(this.#use);
    return keys.some((key) => {
      const expected = mac(key, text);
      return expected.length === given.length && timingSafeEqual(expected, given);
    });
  }
}

function mac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
