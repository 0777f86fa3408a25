// Checks the proofs of tokens that are bound to a key. § refers to RFC 9449.
import { RecentlyUsed } from '@grantd/core/internal/cache';
import {
  type DpopProof,
  isForToken,
  proofAlgorithms,
  refusedProof,
  verifyDpopProof,
} from '@grantd/core/internal/confirmation/dpop_proof';
import { CLIENT_CLOCK_AHEAD, type Clock } from '@grantd/core/internal/environment';
import { ConfigurationError, OAuthError } from '@grantd/core/internal/http/errors';
import { type HttpRequest, headerValue, pathOf } from '@grantd/core/internal/http/http';
import {
  anyFunction,
  anyText,
  anyTexts,
  anyValue,
  type KindsOf,
  requireKinds,
} from '@grantd/core/internal/option_kinds';
import { dpopKeyOf } from '@grantd/core/internal/protocol/claims';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '@grantd/core/internal/protocol/client_metadata';
import { sha256 } from '#crypto';
import { requireAlgorithms, requireBetween, requireUrl } from './issuer_metadata.ts';
import { AuthorizationServerFault, type VerifiedAccessToken } from './verified_access_token.ts';

export interface DpopOptions {
  /**
   * Public URL below which the API's clients see its paths, such as `https://api.example`. A proof names the URL that
   * the client requested, which a proxy may have changed, and the `Host` header cannot be trusted.
   */
  readonly baseUrl: string;
  /** Accepted `alg` values of proofs. Default: RS256, PS256, ES256, EdDSA. */
  readonly algorithms?: readonly SigningAlgorithm[];
  /** Seconds for which a proof is accepted after its time of issue, from 1 to 3600. Default: 120. */
  readonly proofLifetime?: number;
  /**
   * Used proofs that are remembered at least, so that none is accepted twice, from 1 to 1000000. Each call of `protect`
   * remembers its own, and if there are more, forgets the oldest ones first. Default: 100000.
   */
  readonly maxProofs?: number;
  /**
   * Remembers used proofs for all processes of the API, instead of each for itself. Stores the identifier until
   * `keepUntil` (seconds since 1970) and returns whether it was not stored before, in one atomic step. If it rejects, the
   * request gets 503. A request can pass only one `protect` with this option.
   * @example
   * takeOnce: async (id, keepUntil) => (await redis.set(id, 1, { NX: true, EXAT: keepUntil })) === 'OK'
   */
  readonly takeOnce?: (id: string, keepUntil: number) => boolean | Promise<boolean>;
}

const DPOP_OPTIONS: KindsOf<DpopOptions> = {
  baseUrl: anyText,
  algorithms: anyTexts,
  proofLifetime: anyValue,
  maxProofs: anyValue,
  takeOnce: anyFunction,
};

/** Checks proofs, and accepts each of them once. */
export class DpopProofs {
  /** `alg` values of proofs. */
  readonly algorithms: readonly string[];
  readonly #algorithms: readonly SigningAlgorithm[];
  readonly #baseUrl: string;
  readonly #lifetime: number;
  readonly #clock: Clock;
  readonly #takeOnce: NonNullable<DpopOptions['takeOnce']>;

  /** @throws {ConfigurationError} an option is wrong; the message names it */
  constructor(options: DpopOptions, clock: Clock) {
    requireKinds(options, DPOP_OPTIONS, 'dpop');
    const { algorithms = SIGNING_ALGORITHMS, proofLifetime = 120, maxProofs = 100_000 } = options;
    this.#algorithms = requireAlgorithms('dpop.algorithms', algorithms);
    this.algorithms = proofAlgorithms(this.#algorithms);
    this.#baseUrl = requireBaseUrl(options.baseUrl);
    this.#lifetime = requireBetween('dpop.proofLifetime', proofLifetime, 1, 3600);
    this.#clock = clock;
    const keptMs = (this.#lifetime + CLIENT_CLOCK_AHEAD) * 1000;
    const used = new UsedProofs(requireBetween('dpop.maxProofs', maxProofs, 1, 1_000_000), keptMs);
    this.#takeOnce = options.takeOnce?.bind(options) ?? ((id) => used.add(id, clock()));
  }

  /**
   * Requires a proof for this request and token (§7.1), by the key that the token is bound to, and uses it up.
   * @throws {OAuthError} `invalid_dpop_proof`; `invalid_token`: the token is bound to another key
   * @throws {AuthorizationServerFault} `takeOnce` fails
   */
  async requireProof(
    request: Pick<HttpRequest, 'method' | 'url' | 'headers'>,
    token: string,
    { claims, clientId }: VerifiedAccessToken,
  ): Promise<void> {
    const header = headerValue(request, 'dpop');
    if (header === undefined) throw refusedProof({ reason: 'dpop_proof_missing' }, 401);
    const nowMs = this.#clock();
    const proof = await verifyDpopProof(header, {
      method: request.method,
      urls: [this.#baseUrl + pathOf(request)],
      algorithms: this.#algorithms,
      lifetime: this.#lifetime,
      nowMs,
    });
    if ('reason' in proof) throw refusedProof(proof, 401);
    if (!(await isForToken(proof, token))) throw refusedProof({ reason: 'dpop_token_wrong' }, 401);
    if (proof.jkt !== dpopKeyOf(claims.cnf))
      throw new OAuthError('invalid_token', 'the access token is bound to another key', {
        reason: 'dpop_key_wrong',
        clientId,
      });
    if (!(await this.#isFirstUse(proof))) throw refusedProof({ reason: 'dpop_proof_replayed' }, 401);
  }

  /** Keeps the identifier longer than the proof lives, because a process with a slower clock would still accept it. */
  async #isFirstUse({ jkt, jti, iat }: DpopProof): Promise<boolean> {
    const id = await sha256(JSON.stringify([jkt, jti]));
    try {
      const isFirst: unknown = await this.#takeOnce(id, Math.ceil(iat) + this.#lifetime + CLIENT_CLOCK_AHEAD);
      if (typeof isFirst === 'boolean') return isFirst;
    } catch (cause) {
      const failure = new Error('dpop.takeOnce failed', { cause });
      throw new AuthorizationServerFault(failure, 'the use of a proof cannot be recorded');
    }
    throw new TypeError('dpop.takeOnce must resolve to true or false');
  }
}

/** @throws {ConfigurationError} not an http or https URL, or with query or fragment, which proofs do not have (§4.2) */
function requireBaseUrl(url: string): string {
  if (typeof url === 'string' && !/[?#]/.test(url)) return requireUrl('dpop.baseUrl', url).replace(/\/$/, '');
  throw new ConfigurationError('dpop.baseUrl', 'an http or https URL without query and fragment');
}

/** Remembers used proofs (§11.1) as long as they would be accepted, within a limit. */
class UsedProofs {
  readonly #keptMs: number;
  readonly #used: RecentlyUsed<true>;
  #tidiedAtMs = Number.NEGATIVE_INFINITY;

  constructor(limit: number, keptMs: number) {
    this.#keptMs = keptMs;
    this.#used = new RecentlyUsed(2 * limit); // of which it keeps at least half
  }

  /** @returns `false` if the proof was used before */
  add(id: string, nowMs: number): boolean {
    this.#tidy(nowMs);
    if (this.#used.get(id) !== undefined) return false;
    this.#used.set(id, true);
    return true;
  }

  /** Forgets proofs after one to two times that they are accepted for. */
  #tidy(nowMs: number): void {
    if (Math.abs(nowMs - this.#tidiedAtMs) < this.#keptMs) return;
    this.#used.forgetUnused();
    this.#tidiedAtMs = nowMs;
  }
}
