// Verifies JWT access tokens in the API, without a request per token. § refers to RFC 9068.
import type { Verifies } from '@grantd/core/internal/crypto/port';
import type { TokenScheme } from '@grantd/core/internal/http/bearer';
import { ConfigurationError } from '@grantd/core/internal/http/errors';
import type { FetchDocument } from '@grantd/core/internal/http/fetch_document';
import type { Clock } from '@grantd/core/internal/platform/environment';
import type { Claims } from '@grantd/core/internal/protocol/claims';
import {
  type ClientAlgorithm,
  clientAlgorithmOf,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '@grantd/core/internal/protocol/client_metadata';
import {
  anyFunction,
  anyText,
  anyTexts,
  anyValue,
  type KindsOf,
  requireKinds,
} from '@grantd/core/internal/protocol/option_kinds';
import { claimsOfJwt, isSignedWith, JWT_TYPES, readJwtHeader } from '@grantd/core/internal/tokens/jwt';
import {
  keyThatSigned,
  RemoteKeySets,
  readPublicKeys,
  withoutUse,
} from '@grantd/core/internal/tokens/public_keys';
import type { JWK } from 'jose';
import { verifierOf } from '#crypto';
import {
  documentsBy,
  guarded,
  IssuerMetadata,
  REQUEST_OPTIONS,
  type RequestOptions,
  requireAlgorithms,
  requireAudience,
  requireIssuer,
  requireRequestUrl,
  requireTolerance,
  type TransportPolicy,
} from './issuer_metadata.ts';
import {
  type AccessTokens,
  answerOf,
  isMeantFor,
  refusedToken,
  requireBinding,
  requireTokenLength,
  type VerifiedAccessToken,
  verifiedAccessToken,
} from './verified_access_token.ts';

export interface AccessTokenVerifierOptions extends RequestOptions {
  /** URL of the authorization server, exactly as in its tokens and metadata. */
  readonly issuer: string;
  /** Audience (`aud`) of this API. If there are several, a token needs one of them. */
  readonly audience: string | readonly string[];
  /** URL of the issuer's keys. Default: `jwks_uri` of its metadata (RFC 8414). */
  readonly jwksUri?: string;
  /** The issuer's keys as a JWK set. With this option, the verifier fetches nothing. Default: fetches them. */
  readonly jwks?: unknown;
  /** Accepted `alg` values. `EdDSA` and `Ed25519` each stand for both. Default: RS256, PS256, ES256, EdDSA. */
  readonly algorithms?: readonly SigningAlgorithm[];
  /** Seconds by which the clocks of the API and the issuer may differ, from 0 to 300. Default: 0. */
  readonly clockTolerance?: number;
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly clock?: Clock;
}

const VERIFIER_OPTIONS: KindsOf<AccessTokenVerifierOptions> = {
  ...REQUEST_OPTIONS,
  issuer: anyText,
  audience: anyTexts,
  jwksUri: anyText,
  jwks: anyValue,
  algorithms: anyTexts,
  clockTolerance: anyValue,
  clock: anyFunction,
};

/**
 * Verifies JWT access tokens (RFC 9068 §4) with the issuer's public keys. It does not notice revocations: a revoked
 * token stays valid until it expires. To notice them, use an `AccessTokenIntrospector`.
 * @example
 * const tokens = new AccessTokenVerifier({ issuer: 'https://login.example', audience: 'https://api.example' });
 * app.use(protect({ tokens, scopes: ['read'] }));
 */
export class AccessTokenVerifier implements AccessTokens {
  readonly #issuer: string;
  readonly #audience: readonly string[];
  readonly #algorithms: readonly (ClientAlgorithm | undefined)[];
  readonly #clockTolerance: number;
  readonly #clock: Clock;
  readonly #keys: IssuerKeys;

  /** @throws {ConfigurationError} an option is wrong; the message names it */
  constructor(options: AccessTokenVerifierOptions) {
    requireKinds(options, VERIFIER_OPTIONS);
    const { algorithms = SIGNING_ALGORITHMS, clock = Date.now } = options;
    const policy = requireIssuer(options);
    this.#issuer = policy.issuer;
    this.#audience = requireAudience(options.audience);
    this.#algorithms = requireAlgorithms('algorithms', algorithms, SIGNING_ALGORITHMS).map(clientAlgorithmOf);
    this.#clockTolerance = requireTolerance(options.clockTolerance);
    this.#clock = clock;
    const services = { policy, fetchDocument: documentsBy(guarded(options)), clock };
    this.#keys = new IssuerKeys(keySource(options, policy, new IssuerMetadata(services)), services);
  }

  get accepts(): NonNullable<AccessTokens['accepts']> {
    return { issuer: this.#issuer, audience: this.#audience };
  }

  async verify(
    token: string,
    scheme: TokenScheme = 'Bearer',
    certificate?: string,
  ): Promise<VerifiedAccessToken> {
    requireTokenLength(token);
    const { algorithm: alg, keyId, type, isExtended } = readJwtHeader(token) ?? {};
    if (isExtended === undefined) throw refusedToken('malformed');
    if (type !== JWT_TYPES.access_token) throw refusedToken('wrong_type');
    const algorithm = clientAlgorithmOf(alg);
    if (algorithm === undefined || !this.#algorithms.includes(algorithm) || isExtended)
      throw refusedToken('bad_signature');

    const verifies = await answerOf(this.#keys.find(algorithm, keyId));
    if (verifies === undefined) throw refusedToken('unknown_key');
    if (!(await isSignedWith(verifies, token))) throw refusedToken('bad_signature');

    const claims = claimsOfJwt(token);
    if (claims === undefined) throw refusedToken('malformed');
    this.#judge(claims);
    return requireBinding(verifiedAccessToken(claims), scheme, certificate);
  }

  /** RFC 9068 §4, and what §2.2 requires of every token. */
  #judge({ iss, aud, exp, nbf, iat, sub, client_id: clientId }: Claims): void {
    if (iss !== this.#issuer) throw refusedToken('wrong_issuer');
    if (!isMeantFor(this.#audience, aud)) throw refusedToken('audience_wrong');
    if (!isTime(exp) || !isTime(iat) || !(nbf === undefined || isTime(nbf))) throw refusedToken('malformed');
    if (typeof sub !== 'string' || typeof clientId !== 'string') throw refusedToken('malformed');
    const now = this.#clock() / 1000;
    if (now >= exp + this.#clockTolerance) throw refusedToken('expired');
    if (nbf !== undefined && now < nbf - this.#clockTolerance) throw refusedToken('not_yet_valid');
  }
}

function keySource(
  { jwks, jwksUri }: AccessTokenVerifierOptions,
  policy: TransportPolicy,
  metadata: IssuerMetadata,
): KeySource {
  if (jwks !== undefined) {
    const keys = readPublicKeys(jwks, Infinity);
    if (keys === undefined || keys.length === 0) throw new ConfigurationError('jwks', 'a set of public keys');
    return { keys };
  }
  if (jwksUri === undefined) return { url: () => metadata.url('jwks_uri') };
  const url = requireRequestUrl('jwksUri', jwksUri, policy);
  return { url: async () => url };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** The issuer's keys, or a function that returns their URL. */
type KeySource = { readonly keys: readonly JWK[] } | { readonly url: () => Promise<string> };

/** The issuer's public keys. */
class IssuerKeys {
  readonly #source: KeySource;
  readonly #remote: RemoteKeySets;
  /** Imported keys. They are dropped together with the key set that they came from. */
  readonly #imported = new WeakMap<JWK, Map<ClientAlgorithm, Promise<Verifies | undefined>>>();

  constructor(source: KeySource, services: { readonly fetchDocument: FetchDocument; readonly clock: Clock }) {
    this.#source = source;
    // No limit: an issuer publishes retired keys as long as their tokens live, and the current key may come last in the
    // set. A set that is too large to fetch is a fault.
    this.#remote = new RemoteKeySets({ ...services, mostKeys: Infinity });
  }

  /**
   * @returns `undefined` if the issuer has no such key
   * @throws {DocumentError} the keys cannot be fetched
   */
  async find(algorithm: ClientAlgorithm, keyId: string | undefined): Promise<Verifies | undefined> {
    const choose = (keys: readonly JWK[]) => keyThatSigned(keys, algorithm, keyId);
    const jwk =
      'keys' in this.#source
        ? choose(this.#source.keys)
        : await this.#remote.find(await this.#source.url(), choose);
    return jwk && this.#import(jwk, algorithm);
  }

  #import(jwk: JWK, algorithm: ClientAlgorithm): Promise<Verifies | undefined> {
    const made = this.#imported.get(jwk) ?? new Map<ClientAlgorithm, Promise<Verifies | undefined>>();
    this.#imported.set(jwk, made);
    const verifies = made.get(algorithm) ?? imported(jwk, algorithm);
    made.set(algorithm, verifies);
    return verifies;
  }
}

/** @returns `undefined` if the key is invalid, for example a point that is not on its curve */
async function imported(jwk: JWK, algorithm: ClientAlgorithm): Promise<Verifies | undefined> {
  try {
    return await verifierOf(withoutUse(jwk), algorithm);
  } catch {
    return undefined; // nothing is fetched here, so only the key itself can be wrong
  }
}
