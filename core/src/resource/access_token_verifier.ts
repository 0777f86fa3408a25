import type { Claims } from '../protocol/claims.ts';
import type { Clock } from '../protocol/environment.ts';
import { ConfigurationError } from '../protocol/oauth_error.ts';
import {
  anyFunction,
  anyText,
  anyTexts,
  anyValue,
  type KindsOf,
  requireKinds,
} from '../protocol/option_kinds.ts';
import {
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
  signingAlgorithmOf,
} from '../protocol/signing_algorithm.ts';
import { JWT_TYPES } from '../tokens/jwt_types.ts';
import { readPublicKeys } from '../tokens/public_keys.ts';
import { claimsOfJwt, isSignedWith, readJwtHeader } from '../tokens/signature.ts';
import { answerOf } from './authorization_server_fault.ts';
import { ASKING_OPTIONS, type AskingOptions, documentsBy, guarded } from './guarded_fetch.ts';
import { IssuerKeys, type KeySource } from './issuer_keys.ts';
import { IssuerMetadata } from './issuer_metadata.ts';
import { refusedToken, requireTokenLength } from './refused_token.ts';
import { requireAskableUrl, requireAudience, requireIssuer, requireTolerance } from './resource_options.ts';
import type { TransportPolicy } from './transport_policy.ts';
import {
  type AccessTokens,
  isMeantFor,
  type VerifiedAccessToken,
  verifiedAccessToken,
} from './verified_access_token.ts';

export interface AccessTokenVerifierOptions extends AskingOptions {
  /** As tokens and metadata name it. */
  readonly issuer: string;
  /** What tokens for this API have in `aud`; of several, one has to be there. */
  readonly audience: string | readonly string[];
  /** Where the issuer's keys are. Default: the `jwks_uri` of its metadata (RFC 8414). */
  readonly jwksUri?: string;
  /** The issuer's keys themselves, a JWK set; nothing is fetched then. */
  readonly jwks?: unknown;
  /** `alg` values that are accepted. Default: RS256, PS256, ES256, EdDSA. */
  readonly algorithms?: readonly SigningAlgorithm[];
  /** Seconds by which the clocks of API and issuer may differ, 300 at most. Default: 0. */
  readonly clockTolerance?: number;
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: Clock;
}

const VERIFIER_OPTIONS: KindsOf<AccessTokenVerifierOptions> = {
  ...ASKING_OPTIONS,
  issuer: anyText,
  audience: anyTexts,
  jwksUri: anyText,
  jwks: anyValue,
  algorithms: anyTexts,
  clockTolerance: anyValue,
  clock: anyFunction,
};

/**
 * Checks access tokens that are JWTs (RFC 9068 §4) with the issuer's public keys, without asking about the single
 * token: one that was revoked stays good until it expires.
 */
export class AccessTokenVerifier implements AccessTokens {
  readonly #issuer: string;
  readonly #audience: readonly string[];
  readonly #algorithms: readonly SigningAlgorithm[];
  readonly #clockTolerance: number;
  readonly #clock: Clock;
  readonly #keys: IssuerKeys;

  /** @throws {ConfigurationError} an option does not fit */
  constructor(options: AccessTokenVerifierOptions) {
    requireKinds(options, VERIFIER_OPTIONS);
    const { algorithms = SIGNING_ALGORITHMS, clock = Date.now } = options;
    const policy = requireIssuer(options);
    this.#issuer = policy.issuer;
    this.#audience = requireAudience(options.audience);
    this.#algorithms = requireAlgorithms(algorithms);
    this.#clockTolerance = requireTolerance(options.clockTolerance);
    this.#clock = clock;
    const parts = { policy, fetchDocument: documentsBy(guarded(options)), clock };
    this.#keys = new IssuerKeys(keySource(options, policy, new IssuerMetadata(parts)), parts);
  }

  async verify(token: string): Promise<VerifiedAccessToken> {
    requireTokenLength(token);
    const { algorithm: alg, keyId, type, isExtended } = readJwtHeader(token) ?? {};
    if (isExtended === undefined) throw refusedToken('malformed');
    if (type !== JWT_TYPES.access_token) throw refusedToken('wrong_type');
    const algorithm = signingAlgorithmOf(alg);
    if (algorithm === undefined || !this.#algorithms.includes(algorithm) || isExtended)
      throw refusedToken('bad_signature');

    const verifies = await answerOf(this.#keys.find(algorithm, keyId));
    if (verifies === undefined) throw refusedToken('unknown_key');
    if (!(await isSignedWith(verifies, token))) throw refusedToken('bad_signature');

    const claims = claimsOfJwt(token);
    if (claims === undefined) throw refusedToken('malformed');
    this.#judge(claims);
    return verifiedAccessToken(claims);
  }

  /** RFC 9068 §4, and what §2.2 requires of every token. */
  #judge({ iss, aud, exp, nbf, iat, sub, client_id: clientId, cnf }: Claims): void {
    if (iss !== this.#issuer) throw refusedToken('wrong_issuer');
    if (!isMeantFor(this.#audience, aud)) throw refusedToken('audience_wrong');
    if (!isTime(exp) || !isTime(iat) || !(nbf === undefined || isTime(nbf))) throw refusedToken('malformed');
    if (typeof sub !== 'string' || typeof clientId !== 'string') throw refusedToken('malformed');
    const now = this.#clock() / 1000;
    if (now >= exp + this.#clockTolerance) throw refusedToken('expired');
    if (nbf !== undefined && now < nbf - this.#clockTolerance) throw refusedToken('not_yet_valid');
    // It is bound to a key (RFC 7800 §3.1): whoever merely bears it has shown nothing.
    if (cnf !== undefined) throw refusedToken('wrong_type');
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
  const url = requireAskableUrl('jwksUri', jwksUri, policy);
  return { url: async () => url };
}

function requireAlgorithms(algorithms: readonly SigningAlgorithm[]): readonly SigningAlgorithm[] {
  if (algorithms.length > 0 && algorithms.every((one) => SIGNING_ALGORITHMS.includes(one))) return algorithms;
  throw new ConfigurationError('algorithms', `some of ${SIGNING_ALGORITHMS.join(', ')}`);
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
