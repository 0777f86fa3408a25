// § refers to RFC 9068.

import type { Verifies } from '@grantd/core/internal/crypto/port';
import type { Clock } from '@grantd/core/internal/environment';
import { ConfigurationError } from '@grantd/core/internal/http/errors';
import type { FetchDocument } from '@grantd/core/internal/http/fetch_document';
import {
  anyFunction,
  anyText,
  anyTexts,
  anyValue,
  type KindsOf,
  requireKinds,
} from '@grantd/core/internal/option_kinds';
import type { Claims } from '@grantd/core/internal/protocol/claims';
import {
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
  signingAlgorithmOf,
} from '@grantd/core/internal/protocol/client_metadata';
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
  ASKING_OPTIONS,
  type AskingOptions,
  documentsBy,
  guarded,
  IssuerMetadata,
  requireAskableUrl,
  requireAudience,
  requireIssuer,
  requireTolerance,
  type TransportPolicy,
} from './issuer_metadata.ts';
import {
  type AccessTokens,
  answerOf,
  isMeantFor,
  refusedToken,
  requireTokenLength,
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

/** Where the keys of an issuer are: given, or behind a URL. */
type KeySource = { readonly keys: readonly JWK[] } | { readonly url: () => Promise<string> };

/** The public keys that an issuer signs with, ready to check signatures. */
class IssuerKeys {
  readonly #source: KeySource;
  readonly #remote: RemoteKeySets;
  /** Each key is made ready once; it goes when the set does that it came in. */
  readonly #ready = new WeakMap<JWK, Map<SigningAlgorithm, Promise<Verifies | undefined>>>();

  constructor(source: KeySource, parts: { readonly fetchDocument: FetchDocument; readonly clock: Clock }) {
    this.#source = source;
    // An issuer shows a retired key as long as anything lives that it has signed, and its current one may come last: of
    // a set that was fetched whole nothing is left out, and one that is too large for that is a fault.
    this.#remote = new RemoteKeySets({ ...parts, mostKeys: Infinity });
  }

  /**
   * @returns `undefined` where the issuer has no such key
   * @throws {DocumentError} its keys cannot be fetched
   */
  async find(algorithm: SigningAlgorithm, keyId: string | undefined): Promise<Verifies | undefined> {
    const choose = (keys: readonly JWK[]) => keyThatSigned(keys, algorithm, keyId);
    const jwk =
      'keys' in this.#source
        ? choose(this.#source.keys)
        : await this.#remote.find(await this.#source.url(), choose);
    return jwk && this.#made(jwk, algorithm);
  }

  #made(jwk: JWK, algorithm: SigningAlgorithm): Promise<Verifies | undefined> {
    const made = this.#ready.get(jwk) ?? new Map<SigningAlgorithm, Promise<Verifies | undefined>>();
    this.#ready.set(jwk, made);
    const verifies = made.get(algorithm) ?? makeReady(jwk, algorithm);
    made.set(algorithm, verifies);
    return verifies;
  }
}

/** @returns `undefined` where its numbers are no key, such as a point that is not on its curve */
async function makeReady(jwk: JWK, algorithm: SigningAlgorithm): Promise<Verifies | undefined> {
  try {
    return await verifierOf(withoutUse(jwk), algorithm);
  } catch {
    return undefined; // nothing here asks anybody: the numbers are all that can be wrong
  }
}
