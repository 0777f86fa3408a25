import type { JWK } from 'jose';
import { sha256 } from '#crypto';
import { RecentlyUsed, TextTable } from '../cache.ts';
import type { InactiveReason } from '../http/errors.ts';
import type { Claims } from '../protocol/claims.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../protocol/client_metadata.ts';
import { claimsOfJwt, isSignedWith, readJwtHeader, signedJwt } from './jwt.ts';
import type { SigningKeys } from './signing_keys.ts';

/** Why a text is no JWT of this server. */
export type JwtRefusal = Extract<InactiveReason, 'malformed' | 'unknown_key' | 'bad_signature'>;

/** The outcome of checking a signature; `type` is the `typ` header, in any case, with or without `application/`. */
export type VerifiedJwt =
  | {
      readonly verified: true;
      readonly type: string | undefined;
      readonly keyId: string;
      readonly claims: Claims;
      /** SHA-256 (base64url) of the token, where the service knows it already. */
      readonly digest?: string;
    }
  | { readonly verified: false; readonly reason: JwtRefusal };

export interface JwtSigning {
  /** `typ` header. */
  readonly type: string;
  readonly algorithm: SigningAlgorithm;
  /** A certain key, also a retired one; otherwise the current key of the algorithm. */
  readonly keyId?: string;
}

export interface SignedJwt {
  readonly token: string;
  readonly keyId: string;
}

/**
 * Signs and verifies JWTs. It speaks of signatures alone: times, issuer and state are judged elsewhere.
 * A host may bring its own, over a KMS for example.
 */
export interface JwtService {
  /**
   * The `alg` values that it can sign with, which metadata announces and clients may register. Among them must be those
   * of the server's options, and RS256 while refresh tokens are JWTs.
   */
  readonly algorithms: readonly SigningAlgorithm[];
  /** With RS256 the same claims, type and key give the same token again (RFC 8017 §8.2); refresh tokens rest on it. */
  sign(claims: Claims, signing: JwtSigning): Promise<SignedJwt>;
  /** The algorithm is the key's own, never the token's choice. A text that is no JWT of this server is no error. */
  verify(token: string): Promise<VerifiedJwt>;
  /** What JWKS shows: next, current and retired keys. */
  publicKeys(): Promise<readonly JWK[]>;
}

/** `JwtService` over the keys in storage; a rotation by any process is seen by the next call. */
export class StoredKeysJwtService implements JwtService {
  readonly algorithms = SIGNING_ALGORITHMS;
  readonly #keys: SigningKeys;
  /** Of the keys that have verified anything. When one joins them the keys have changed, and the memory is emptied. */
  readonly #keyIds = new Set<string>();
  readonly #verified = new VerifiedTokens();

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  async sign(claims: Claims, { type, algorithm, keyId }: JwtSigning): Promise<SignedJwt> {
    const key = await this.#keys.forSigning(algorithm, keyId);
    const header = { alg: key.algorithm, typ: type, kid: key.kid };
    return { token: await signedJwt(key.signs, header, claims), keyId: key.kid };
  }

  async verify(token: string): Promise<VerifiedJwt> {
    const digest = await sha256(token);
    const remembered = this.#verified.get(digest);
    const header = remembered ?? (await this.#check(token));
    if ('reason' in header) return { verified: false, reason: header.reason };
    const claims = claimsOfJwt(token);
    if (claims === undefined) return { verified: false, reason: 'malformed' };
    if (remembered === undefined) this.#verified.add(digest, header);
    return { verified: true, type: header.type, keyId: header.keyId, claims, digest };
  }

  /** @returns what the header of a token says whose signature verifies; or why it is none of this server's */
  async #check(token: string): Promise<VerifiedHeader | { readonly reason: JwtRefusal }> {
    const { keyId, algorithm, type, isExtended } = readJwtHeader(token) ?? {};
    if (keyId === undefined) return { reason: 'malformed' };
    const key = await this.#keys.forVerifying(keyId);
    if (key === undefined) return { reason: 'unknown_key' };
    // The algorithm is the key's own, and the server signs no extensions (RFC 7515 §4.1.11).
    if (algorithm !== key.algorithm || isExtended) return { reason: 'bad_signature' };
    if (!(await isSignedWith(key.verifies, token))) return { reason: 'bad_signature' };
    if (!this.#keyIds.has(keyId)) {
      this.#keyIds.add(keyId);
      this.#verified.clear();
    }
    return { keyId, type };
  }

  publicKeys(): Promise<readonly JWK[]> {
    return this.#keys.published();
  }
}

/** What the header of a token says whose signature has verified. */
interface VerifiedHeader {
  readonly keyId: string;
  readonly type: string | undefined;
}

/** Some 120 bytes each; twice as many at most. */
const MOST_TOKENS = 100_000;

/** More are not looked for: a server has few keys and types. */
const MOST_HEADERS = 100;

/** Which exact tokens have verified, by their digest; never what they claim, nor whether one is active. */
class VerifiedTokens {
  readonly #tokens = new RecentlyUsed<VerifiedHeader>(MOST_TOKENS, () => new TextTable());
  /** One of all equal headers, which the tokens of a key have in common. */
  readonly #headers = new RecentlyUsed<VerifiedHeader>(MOST_HEADERS);

  get(digest: string): VerifiedHeader | undefined {
    return this.#tokens.get(digest);
  }

  add(digest: string, header: VerifiedHeader): void {
    const name = `${header.keyId} ${header.type}`;
    const common = this.#headers.get(name);
    if (common === undefined) this.#headers.set(name, header);
    this.#tokens.set(digest, common ?? header);
  }

  clear(): void {
    this.#tokens.clear();
  }
}
