import type { Claims } from '../protocol/claims.ts';
import { CommonValues } from '../protocol/common_values.ts';
import { RecentlyUsed } from '../protocol/recently_used.ts';

/** What a token says whose signature has verified. */
export interface VerifiedToken {
  readonly keyId: string;
  readonly type: string | undefined;
  readonly claims: Claims;
}

/** Some 300 bytes each; twice as many at most. */
const MOST_TOKENS = 100_000;

/** Which exact tokens have verified, by their digest, and what they say; never whether one is active. */
export class VerifiedTokens {
  readonly #tokens = new RecentlyUsed<VerifiedToken>(MOST_TOKENS);
  readonly #values = new CommonValues();

  get(digest: string): VerifiedToken | undefined {
    return this.#tokens.get(digest);
  }

  /** @returns what is remembered, which nobody can change */
  remember(digest: string, { keyId, type, claims }: VerifiedToken): VerifiedToken {
    const token = {
      keyId: this.#values.of(keyId),
      type: this.#values.of(type),
      claims: this.#kept(claims),
    };
    this.#tokens.set(digest, token);
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
    return name === 'jti' ? value : this.#values.of(value);
  }
}
