import { sha256 } from '#hashing';
import { RecentlyUsed } from '../memories/recently_used.ts';
import { anyValue, type KindsOf, requireKinds } from '../protocol/option_kinds.ts';
import { requireBetween } from './resource_options.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';

export interface CacheOptions {
  /** Seconds for which an active token is believed without asking, 3600 at most: so long a revocation may go unseen. */
  readonly maxSeconds: number;
  /** How many tokens are remembered at most, within a factor of two; a million at most. Default: 10000. */
  readonly maxTokens?: number;
}

const CACHE_OPTIONS: KindsOf<CacheOptions> = { maxSeconds: anyValue, maxTokens: anyValue };

interface Remembered {
  readonly token: VerifiedAccessToken;
  /** Milliseconds. */
  readonly untilMs: number;
}

/** Tokens that introspection has called active, by their digest; never those that it has not, and no outage. */
export class ActiveTokens {
  readonly #maxMs: number;
  readonly #tokens: RecentlyUsed<Remembered>;

  /** @throws {ConfigurationError} an option does not fit */
  constructor(options: CacheOptions) {
    requireKinds(options, CACHE_OPTIONS, 'cache');
    const { maxSeconds, maxTokens = 10_000 } = options;
    this.#maxMs = requireBetween('cache.maxSeconds', maxSeconds, 0, 3600) * 1000;
    this.#tokens = new RecentlyUsed(
      Math.ceil(requireBetween('cache.maxTokens', maxTokens, 1, 1_000_000) / 2),
    );
  }

  async find(token: string, nowMs: number): Promise<VerifiedAccessToken | undefined> {
    const remembered = this.#tokens.get(await sha256(token));
    return remembered !== undefined && nowMs < remembered.untilMs ? remembered.token : undefined;
  }

  /** @param askedAtMs milliseconds; when the question went out: what has happened since may not be in the answer */
  async remember(token: string, verified: VerifiedAccessToken, askedAtMs: number): Promise<void> {
    const expiresAtMs = (verified.expiresAt ?? Infinity) * 1000;
    const untilMs = Math.min(askedAtMs + this.#maxMs, expiresAtMs);
    this.#tokens.set(await sha256(token), { token: verified, untilMs });
  }
}
