import type { ProgramSecret, ProgramSecretUse } from '../instance/program_secret.ts';
import { seal, unseal } from '../instance/sealing.ts';

/** Values that a browser keeps and can neither read nor change: sealed JSON, with a key for this use alone. */
export class SealedValues {
  readonly #secret: ProgramSecret;
  readonly #use: ProgramSecretUse;

  constructor(secret: ProgramSecret, use: ProgramSecretUse) {
    this.#secret = secret;
    this.#use = use;
  }

  async seal(value: unknown): Promise<string> {
    return seal(await this.#secret.key(this.#use), JSON.stringify(value));
  }

  /** @returns `undefined` where the value was not sealed here */
  async open(sealed: string): Promise<unknown> {
    for (const key of await this.#secret.keys(this.#use)) {
      const text = unseal(key, sealed);
      if (text !== undefined) return JSON.parse(text);
    }
    return undefined;
  }
}
