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

/** Characters. Longer ones, with many claims of a host's own, are checked each time: so many would not fit into memory. */
const LONGEST_TOKEN = 2048;

/** Which exact tokens have verified, by their digest, and what they say; never whether one is active. */
export class VerifiedTokens {
  readonly #tokens = new RecentlyUsed<VerifiedToken>(MOST_TOKENS);
  readonly #values = new CommonValues();

  get(digest: string): VerifiedToken | undefined {
    return this.#tokens.get(digest);
  }

  /** @returns the same, which nobody can change; remembered unless the token is too long for that */
  remember(text: string, digest: string, { keyId, type, claims }: VerifiedToken): VerifiedToken {
    const token = {
      keyId: this.#values.of(keyId),
      type: this.#values.of(type),
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
    return name === 'jti' ? value : this.#values.of(value);
  }
}
