// Checks the proofs of tokens that are bound to a key. § refers to RFC 9449.

import {
  currentNonce,
  type DpopProof,
  isForToken,
  type NonceSource,
  proofAlgorithms,
  refusedProof,
  requireNonce,
  verifyDpopProof,
} from '@grantd/core/internal/confirmation/dpop_proof';
import { ConfigurationError, OAuthError } from '@grantd/core/internal/http/errors';
import { type HttpRequest, headerValue, pathOf } from '@grantd/core/internal/http/http';
import { RecentlyUsed } from '@grantd/core/internal/platform/cache';
import { CLIENT_CLOCK_AHEAD, type Clock } from '@grantd/core/internal/platform/environment';
import { dpopKeyOf } from '@grantd/core/internal/protocol/claims';
import { CLIENT_ALGORITHMS, type ClientAlgorithm } from '@grantd/core/internal/protocol/client_metadata';
import {
  anyFunction,
  anyText,
  anyTexts,
  anyValue,
  type KindsOf,
  requireKinds,
} from '@grantd/core/internal/protocol/option_kinds';
import { derivedKey, sha256 } from '#crypto';
import { requireAlgorithms, requireBetween, requireUrl } from './issuer_metadata.ts';
import { AuthorizationServerFault, type VerifiedAccessToken } from './verified_access_token.ts';

export interface DpopOptions {
  /**
   * Public URL below which the API's clients see its paths, such as `https://api.example`. A proof names the URL that
   * the client requested, which a proxy may have changed, and the `Host` header cannot be trusted.
   */
  readonly baseUrl: string;
  /** Accepted `alg` values of proofs. Default: RS, PS and ES with 256, 384 and 512, and EdDSA by both names. */
  readonly algorithms?: readonly ClientAlgorithm[];
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
  /**
   * Requires a nonce of this API in each proof (RFC 9449 §9), so that proofs cannot be made in advance. Nonces derive
   * from this secret of at least 32 characters, which all processes of the API share. In a list of secrets, newest first,
   * the first one makes nonces and all are accepted. Responses to requests with a proof have a nonce for the next one.
   * Default: no nonces.
   */
  readonly nonceSecret?: string | readonly string[];
}

const DPOP_OPTIONS: KindsOf<DpopOptions> = {
  baseUrl: anyText,
  algorithms: anyTexts,
  proofLifetime: anyValue,
  maxProofs: anyValue,
  takeOnce: anyFunction,
  nonceSecret: anyValue,
};

/** Checks proofs, and accepts each of them once. */
export class DpopProofs {
  /** `alg` values of proofs. */
  readonly algorithms: readonly string[];
  readonly #algorithms: readonly ClientAlgorithm[];
  readonly #baseUrl: string;
  readonly #origin: string;
  readonly #lifetime: number;
  readonly #clock: Clock;
  readonly #takeOnce: NonNullable<DpopOptions['takeOnce']>;
  readonly #nonceSecrets: readonly string[];
  #nonceKeys: Promise<NonceSource['keys']> | undefined;

  /** @throws {ConfigurationError} an option is wrong; the message names it */
  constructor(options: DpopOptions, clock: Clock) {
    requireKinds(options, DPOP_OPTIONS, 'dpop');
    const { algorithms = CLIENT_ALGORITHMS, proofLifetime = 120, maxProofs = 100_000 } = options;
    this.#algorithms = requireAlgorithms('dpop.algorithms', algorithms, CLIENT_ALGORITHMS);
    this.algorithms = proofAlgorithms(this.#algorithms);
    this.#baseUrl = requireBaseUrl(options.baseUrl);
    this.#origin = new URL(this.#baseUrl).origin;
    this.#lifetime = requireBetween('dpop.proofLifetime', proofLifetime, 1, 3600);
    this.#clock = clock;
    const keptMs = (this.#lifetime + CLIENT_CLOCK_AHEAD) * 1000;
    const used = new UsedProofs(requireBetween('dpop.maxProofs', maxProofs, 1, 1_000_000), keptMs);
    this.#takeOnce = options.takeOnce?.bind(options) ?? ((id) => used.add(id, clock()));
    this.#nonceSecrets = requireNonceSecrets(options);
  }

  /**
   * Requires a proof for this request and token (§7.1), by the key that the token is bound to, and uses it up.
   * @throws {OAuthError} `invalid_dpop_proof`, `use_dpop_nonce`; `invalid_token`: the token is bound to another key
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
    // ADR 75
    const nonces = await this.#nonces();
    if (nonces !== undefined) await requireNonce(nonces, proof, 401);
    if (!(await isForToken(proof, token))) throw refusedProof({ reason: 'dpop_token_wrong' }, 401);
    if (proof.jkt !== dpopKeyOf(claims.cnf))
      throw new OAuthError('invalid_token', 'the access token is bound to another key', {
        reason: 'dpop_key_wrong',
        clientId,
      });
    if (!(await this.#isFirstUse(proof))) throw refusedProof({ reason: 'dpop_proof_replayed' }, 401);
  }

  /**
   * The headers for a response to a request with a proof: the nonce for the next proof (§8.2, §9), which must not be
   * cached.
   */
  async nonceHeaders({ headers }: Pick<HttpRequest, 'headers'>): Promise<Readonly<Record<string, string>>> {
    const nonces = headerValue({ headers }, 'dpop') === undefined ? undefined : await this.#nonces();
    return nonces === undefined
      ? {}
      : { 'dpop-nonce': await currentNonce(nonces), 'cache-control': 'no-store' };
  }

  /** Clients keep one nonce per origin, so every `protect` of an origin makes and accepts the same ones. */
  async #nonces(): Promise<NonceSource | undefined> {
    if (this.#nonceSecrets.length === 0) return undefined;
    this.#nonceKeys ??= Promise.all(
      this.#nonceSecrets.map((secret) => derivedKey(secret, '@grantd/protect dpop_nonce')),
    );
    return { keys: await this.#nonceKeys, owner: this.#origin, nowMs: this.#clock() };
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

/**
 * A secret that is `undefined`, such as a missing environment variable, must not turn nonces off.
 * @throws {ConfigurationError} a secret has fewer than 32 characters, or the list is empty
 */
function requireNonceSecrets(options: DpopOptions): readonly string[] {
  if (!Object.hasOwn(options, 'nonceSecret')) return [];
  const secrets = [options.nonceSecret].flat();
  if (secrets.length > 0 && secrets.every(isLongSecret)) return secrets;
  const expected = 'a text of at least 32 characters, or a list of such texts, newest first';
  throw new ConfigurationError('dpop.nonceSecret', expected);
}

function isLongSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && secret.length >= 32;
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
