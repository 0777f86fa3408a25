import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { ProgramSecret, ProgramSecretUse } from '../instance/program_secret.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Values that a browser keeps and can neither read nor change: JSON under AES-256-GCM, with a key for this use alone.
 * Nonces are random; NIST SP 800-38D §8.3 allows four billion of them for a key.
 */
export class SealedValues {
  readonly #secret: ProgramSecret;
  readonly #use: ProgramSecretUse;

  constructor(secret: ProgramSecret, use: ProgramSecretUse) {
    this.#secret = secret;
    this.#use = use;
  }

  async seal(value: unknown): Promise<string> {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, await this.#secret.key(this.#use), nonce);
    const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url');
  }

  /** @returns `undefined` where the value was not sealed here */
  async open(sealed: string): Promise<unknown> {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    for (const key of await this.#secret.keys(this.#use)) {
      const text = decrypted(key, bytes);
      if (text !== undefined) return JSON.parse(text);
    }
    return undefined;
  }
}

function decrypted(key: Uint8Array, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    // The tag does not fit: the one way in which `final` can fail.
    return undefined;
  }
}
