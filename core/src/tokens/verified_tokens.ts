import type { Claims } from '../protocol/claims.ts';
import { frozen } from '../protocol/frozen.ts';
import { RecentlyUsed } from '../protocol/recently_used.ts';

/** What a token says whose signature has verified. */
export interface VerifiedToken {
  readonly keyId: string;
  readonly type: string | undefined;
  readonly claims: Claims;
}

/** Some 300 bytes each; twice as many at most. */
const MOST_TOKENS = 100_000;

/** Characters. Longer ones, with many claims of a host's own, are checked each time: so many would not fit into memory. */
const LONGEST_TOKEN = 2048;

/** Values that many tokens have in common: issuer, audience, client, scopes. */
const MOST_COMMON_VALUES = 1000;

/** Which exact tokens have verified, by their digest, and what they say; never whether one is active. */
export class VerifiedTokens {
  readonly #tokens = new RecentlyUsed<VerifiedToken>(MOST_TOKENS);
  readonly #values = new Map<string, string>();

  get(digest: string): VerifiedToken | undefined {
    return this.#tokens.get(digest);
  }

  /** @returns the same, which nobody can change; remembered unless the token is too long for that */
  remember(text: string, digest: string, { keyId, type, claims }: VerifiedToken): VerifiedToken {
    const token = {
      keyId: this.#shared(keyId),
      type: type && this.#shared(type),
      claims: this.#kept(claims),
    };
    if (text.length <= LONGEST_TOKEN) this.#tokens.set(digest, token);
    return token;
  }

  clear(): void {
    this.#tokens.clear();
  }

  #kept(claims: Claims): Claims {
    const kept = Object.entries(claims).map(([name, value]) => [name, this.#keptValue(name, value)] as const);
    return Object.freeze(Object.fromEntries(kept));
  }

  #keptValue(name: string, value: unknown): unknown {
    return typeof value === 'string' && name !== 'jti' ? this.#shared(value) : frozen(value);
  }

  /** One text in memory for all that are equal. */
  #shared(value: string): string {
    const known = this.#values.get(value);
    if (known !== undefined) return known;
    if (this.#values.size < MOST_COMMON_VALUES) this.#values.set(value, value);
    return value;
  }
}
