// Signs and verifies the server's JWTs, and keeps its signing keys.
import type { JWK } from 'jose';
import { exportJWK } from 'jose/key/export';
import { generateKeyPair } from 'jose/key/generate/keypair';
import { sha256, signerOf, verifierOf } from '#crypto';
import type { Signs, Verifies } from '../crypto/port.ts';
import type { InactiveReason } from '../http/errors.ts';
import { PackedTable, type Packing, RecentlyUsed } from '../platform/cache.ts';
import type { Clock } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { KeyRecord } from '../protocol/records.ts';
import type { KeyRepository } from '../storage/contract.ts';
import { claimsOfJwt, isSignedWith, readJwtHeader, signedJwt } from './jwt.ts';
import { thumbprintOf } from './public_keys.ts';
import type { ServerSecret } from './server_secret.ts';

/** Why a text was not accepted as a JWT of this server. */
export type JwtRefusal = Extract<
  InactiveReason,
  'malformed' | 'unknown_key' | 'bad_signature' | 'verifier_rejected'
>;

/** Result of a signature check. */
export type VerifiedJwt =
  | {
      readonly verified: true;
      /** The `typ` header as received. */
      readonly type?: string | undefined;
      readonly keyId?: string | undefined;
      readonly claims: Claims;
      /** SHA-256 (base64url) of the token, if the service has calculated it anyway. */
      readonly digest?: string;
    }
  | {
      readonly verified: false;
      /** For events. Default: `bad_signature`. */
      readonly reason?: JwtRefusal;
      /** What happened underneath, for events alone. */
      readonly cause?: unknown;
    };

export interface JwtSigning {
  /** `typ` header. */
  readonly type: string;
  readonly algorithm: SigningAlgorithm;
  /** `kid` of a certain key, which may be retired. Default: the algorithm's current key. */
  readonly keyId?: string;
}

export interface SignedJwt {
  readonly token: string;
  readonly keyId: string;
}

/** Verifies the signatures of a host's JWTs. `jwtVerifier()` makes one from keys. */
export interface JwtVerifier {
  /**
   * Verifies the signature with the algorithm of the key, never that of the token, and nothing else: neither times nor
   * issuer nor state. An expired token can still be revoked. Resolves to `{ verified: false }` for every text that these
   * keys did not sign, also if it names another algorithm. Rejects only if the keys cannot be had: the response is then
   * 503.
   */
  verify(token: string): Promise<VerifiedJwt>;
}

/** Signs JWTs and verifies their signatures. A host that issues tokens can set its own, for example with a KMS. */
export interface JwtService extends JwtVerifier {
  /**
   * `alg` values that it can sign with, for metadata and registration. Must include the algorithms of the server's
   * options, and RS256 if refresh tokens are JWTs.
   */
  readonly algorithms: readonly SigningAlgorithm[];
  /** Must be deterministic for RS256 (RFC 8017 §8.2), because retries must get the same refresh token. */
  sign(claims: Claims, signing: JwtSigning): Promise<SignedJwt>;
  /** Returns the keys for JWKS: next, current and retired ones. */
  publicKeys(): Promise<readonly JWK[]>;
}

/** Returns a service that signs with some of the algorithms only. It still verifies what was signed with the others. */
export function withAlgorithms(service: JwtService, allowed: readonly SigningAlgorithm[]): JwtService {
  return {
    algorithms: service.algorithms.filter((algorithm) => allowed.includes(algorithm)),
    sign: (claims, signing) => service.sign(claims, signing),
    verify: (token) => service.verify(token),
    publicKeys: () => service.publicKeys(),
  };
}

/** Uses the keys in storage. A rotation by another process takes effect at the next call (ADR 26). */
export class StoredKeysJwtService implements JwtService {
  readonly algorithms = SIGNING_ALGORITHMS;
  readonly #keys: SigningKeys;
  readonly #cachedTokens: number;
  #verified: VerifiedTokens;

  /** @param cachedTokens the maximum number of tokens whose valid signature is cached */
  constructor(keys: SigningKeys, cachedTokens: number) {
    this.#keys = keys;
    this.#cachedTokens = cachedTokens;
    this.#verified = new VerifiedTokens(cachedTokens);
  }

  /** Checks that are under way do not fill the new cache. */
  forgetCached(): void {
    this.#keys.forgetCached();
    this.#verified = new VerifiedTokens(this.#cachedTokens);
  }

  async sign(claims: Claims, { type, algorithm, keyId }: JwtSigning): Promise<SignedJwt> {
    const key = await this.#keys.forSigning(algorithm, keyId);
    const header = { alg: key.algorithm, typ: type, kid: key.kid };
    return { token: await signedJwt(key.signs, header, claims), keyId: key.kid };
  }

  async verify(token: string): Promise<VerifiedJwt> {
    const digest = await sha256(token);
    const header = this.#verified.get(digest) ?? (await this.#check(token, digest));
    if ('reason' in header) return { verified: false, reason: header.reason };
    const claims = claimsOfJwt(token);
    if (claims === undefined) return { verified: false, reason: 'malformed' };
    return { verified: true, type: header.type, keyId: header.keyId, claims, digest };
  }

  /**
   * Caches a valid signature.
   * @returns header values of the token, or why it was rejected
   */
  async #check(token: string, digest: string): Promise<VerifiedHeader | { readonly reason: JwtRefusal }> {
    const cache = this.#verified;
    const { keyId, algorithm, type, isExtended } = readJwtHeader(token) ?? {};
    if (keyId === undefined) return { reason: 'malformed' };
    const key = await this.#keys.forVerifying(keyId);
    if (key === undefined) return { reason: 'unknown_key' };
    // The server never signs critical extensions (RFC 7515 §4.1.11).
    if (algorithm !== key.algorithm || isExtended) return { reason: 'bad_signature' };
    if (!(await isSignedWith(key.verifies, token))) return { reason: 'bad_signature' };
    return cache.add(digest, { keyId, type });
  }

  publicKeys(): Promise<readonly JWK[]> {
    return this.#keys.published();
  }
}

/** Header values of a verified token. */
interface VerifiedHeader {
  readonly keyId: string;
  readonly type: string | undefined;
}

/**
 * Caches which tokens have a valid signature, by digest, at about 60 bytes each. It caches neither claims nor whether a
 * token is active.
 */
class VerifiedTokens {
  readonly #tokens: RecentlyUsed<VerifiedHeader>;
  /** The few headers that tokens have. A token is kept with the number of its header. */
  readonly #headers: VerifiedHeader[] = [];
  /** Keys that have verified a token. When a new one joins, the keys have changed, and the cache is cleared. */
  readonly #keyIds = new Set<string>();

  constructor(most: number) {
    const packing: Packing<VerifiedHeader> = {
      pack: (header) => `${this.#numberOf(header)}`,
      unpack: (number) => this.#headers[Number(number)] as VerifiedHeader,
    };
    this.#tokens = new RecentlyUsed(most, () => new PackedTable(packing));
  }

  get(digest: string): VerifiedHeader | undefined {
    return this.#tokens.get(digest);
  }

  add(digest: string, header: VerifiedHeader): VerifiedHeader {
    if (!this.#keyIds.has(header.keyId)) {
      this.#keyIds.add(header.keyId);
      this.#tokens.clear();
    }
    this.#tokens.set(digest, header);
    return header;
  }

  #numberOf({ keyId, type }: VerifiedHeader): number {
    const known = this.#headers.findIndex((header) => header.keyId === keyId && header.type === type);
    return known === -1 ? this.#headers.push({ keyId, type }) - 1 : known;
  }
}

interface VerifyingKey {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly verifies: Verifies;
}

interface SigningKey extends VerifyingKey {
  readonly signs: Signs;
}

/** Seconds for which clients may cache the server's keys and metadata. */
export const PUBLIC_CACHE_SECONDS = 300;

/** Clients may not know the next key yet, because it was published too recently. */
export class SigningKeyTooYoung extends Error {
  readonly algorithm: SigningAlgorithm;
  readonly waitSeconds: number;

  constructor(algorithm: SigningAlgorithm, waitSeconds: number) {
    super(
      `clients may not know the next ${algorithm} key yet: they may cache keys for ${PUBLIC_CACHE_SECONDS} seconds. Try again in ${waitSeconds} seconds`,
    );
    this.name = 'SigningKeyTooYoung';
    this.algorithm = algorithm;
    this.waitSeconds = waitSeconds;
  }
}

/**
 * The signing keys in storage, encrypted under the server's secret. Each algorithm has a `next` key (published before
 * it signs), a `current` one, and any number of `retired` ones. An algorithm has keys from the start if the server uses
 * it, and otherwise from the registration of the first client that uses it (ADR 123).
 *
 * Imported keys are cached by `kid`. Which key is current is looked up each time, so that a rotation by another process
 * takes effect at once.
 */
export class SigningKeys {
  readonly #repository: KeyRepository;
  readonly #secret: ServerSecret;
  readonly #clock: Clock;
  readonly #algorithms: readonly SigningAlgorithm[];
  #verifying = new Map<string, VerifyingKey>();
  #signing = new Map<string, SigningKey>();

  /** @param algorithms those that have keys from the start */
  constructor(
    repository: KeyRepository,
    secret: ServerSecret,
    clock: Clock,
    algorithms: readonly SigningAlgorithm[],
  ) {
    this.#algorithms = algorithms;
    this.#repository = repository;
    this.#secret = secret;
    this.#clock = clock;
  }

  /** Lookups that are under way do not fill the new caches. */
  forgetCached(): void {
    this.#verifying = new Map();
    this.#signing = new Map();
  }

  /** Creates the missing keys of algorithms that a client uses. */
  async publish(algorithms: readonly SigningAlgorithm[]): Promise<void> {
    const others = algorithms.filter((algorithm) => !this.#algorithms.includes(algorithm));
    if (others.length > 0) await this.#complete(others);
  }

  /** Returns the algorithms that have keys. */
  async algorithms(): Promise<readonly SigningAlgorithm[]> {
    const records = await this.#complete();
    return SIGNING_ALGORITHMS.filter((item) => records.some(({ algorithm }) => algorithm === item));
  }

  /**
   * Creates missing keys, and opens those that the server signs with. Seals keys that are under an older server secret
   * under the newest one.
   */
  async prepare(): Promise<void> {
    await this.#complete();
    for (const algorithm of this.#algorithms) await this.forSigning(algorithm);
    await this.#reseal();
  }

  /** Returns, by `kid`, the index of the server secret that each key is sealed under; `-1` if no secret opens it. */
  async seals(): Promise<ReadonlyMap<string, number>> {
    const records = await this.#repository.list();
    const opened = records.map(async (record) => [record.kid, (await this.#unseal(record)).index] as const);
    return new Map(await Promise.all(opened));
  }

  /** Skips keys that no server secret opens. They fail when they are used. */
  async #reseal(): Promise<void> {
    if (this.#repository.reseal === undefined || (await this.#secret.fingerprints()).length < 2) return;
    for (const record of await this.#repository.list()) {
      const { index, privateJwk } = await this.#unseal(record);
      if (index < 1 || privateJwk === undefined) continue;
      const resealed = await this.#seal(record.kid, privateJwk);
      await this.#repository.reseal(record.kid, record.sealedPrivateKey, resealed);
    }
  }

  /**
   * Returns the algorithm's current key, or a certain one.
   * @throws {Error} the key is not in storage, or no server secret opens it
   */
  async forSigning(algorithm: SigningAlgorithm, keyId?: string): Promise<SigningKey> {
    const cache = this.#signing;
    const kid = keyId ?? (await this.#currentKeyId(algorithm));
    return cache.get(kid) ?? this.#importForSigning(kid, cache);
  }

  async #importForSigning(kid: string, cache: Map<string, SigningKey>): Promise<SigningKey> {
    const record = await this.#repository.get(kid);
    if (!record) throw new Error(`the signing key ${kid} is not in storage`);
    const signs = await signerOf(await this.#open(record), record.algorithm);
    const key = { ...(await importPublic(record)), signs };
    cache.set(kid, key);
    return key;
  }

  /** Returns a key by `kid`, in any status. */
  async forVerifying(kid: string): Promise<VerifyingKey | undefined> {
    return this.#verifying.get(kid) ?? this.#importForVerifying(kid, this.#verifying);
  }

  async #importForVerifying(
    kid: string,
    cache: Map<string, VerifyingKey>,
  ): Promise<VerifyingKey | undefined> {
    const record = await this.#repository.get(kid);
    if (!record) return undefined;
    const key = await importPublic(record);
    cache.set(kid, key);
    return key;
  }

  /** Returns public keys with `kid`, `alg` and `use` (RFC 7517 §4). Creates missing keys before the first response. */
  async published(): Promise<readonly JWK[]> {
    return (await this.#complete()).map(({ kid, algorithm, publicJwk }) => ({
      ...publicJwk,
      kid,
      alg: algorithm,
      use: 'sig',
    }));
  }

  /**
   * Makes the next key the current one, and publishes a new next key.
   * @param now does not wait until clients know the next key; some may reject its signatures for a while
   * @param from `kid` of the key that is to be replaced; if another one is current, nothing changes. Default: the
   * current one
   * @returns `kid` of the current key
   * @throws {SigningKeyTooYoung} clients may still have a cached key set without the next key
   */
  async rotate(algorithm: SigningAlgorithm, now = false, from?: string): Promise<string> {
    const records = (await this.#complete()).filter((record) => record.algorithm === algorithm);
    const current = records.find(({ status }) => status === 'current');
    if (current === undefined) throw new Error(`storage keeps no ${algorithm} key`);
    if (from !== undefined && from !== current.kid) return current.kid;
    const waitSeconds = this.#waitOf(records);
    if (!now && waitSeconds > 0) throw new SigningKeyTooYoung(algorithm, waitSeconds);
    // If another process has rotated first, its rotation counts.
    await this.#repository.rotate(current.kid, await this.#generate(algorithm, 'next'));
    return this.#currentKeyId(algorithm);
  }

  /** Returns the seconds until `rotate` accepts the algorithm; 0 if it does now. */
  async secondsUntilRotation(algorithm: SigningAlgorithm): Promise<number> {
    return this.#waitOf((await this.#complete()).filter((record) => record.algorithm === algorithm));
  }

  #waitOf(records: readonly KeyRecord[]): number {
    const next = records.find(({ status }) => status === 'next');
    const publishedForMs = this.#clock() - (next?.createdAtMs ?? 0);
    return Math.max(0, Math.ceil(PUBLIC_CACHE_SECONDS - publishedForMs / 1000));
  }

  async #currentKeyId(algorithm: SigningAlgorithm): Promise<string> {
    const stored = await this.#repository.currentKeyId(algorithm);
    if (stored) return stored;
    await this.#complete([algorithm], (record) => record.algorithm !== algorithm);
    const initialized = await this.#repository.currentKeyId(algorithm);
    if (!initialized) throw new Error(`storage keeps no ${algorithm} key`);
    return initialized;
  }

  /**
   * Creates a current and a next key for each algorithm of the server without keys.
   * @param others further algorithms
   * @param counts whether a listed key counts. Default: each
   * @returns all keys
   */
  async #complete(
    others: readonly SigningAlgorithm[] = [],
    counts = (_record: KeyRecord) => true,
  ): Promise<readonly KeyRecord[]> {
    const records = await this.#repository.list();
    const present = new Set(records.filter(counts).map(({ algorithm }) => algorithm));
    const missing = [...new Set([...this.#algorithms, ...others])].filter((item) => !present.has(item));
    if (missing.length === 0) return records;
    const made = missing.map((algorithm) =>
      Promise.all([this.#generate(algorithm, 'current'), this.#generate(algorithm, 'next')]),
    );
    for (const keys of await Promise.all(made)) await this.#repository.initialize(keys);
    return this.#repository.list();
  }

  async #generate(algorithm: SigningAlgorithm, status: 'current' | 'next'): Promise<KeyRecord> {
    const pair = await generateKeyPair(algorithm, {
      modulusLength: 2048,
      extractable: true,
      ...(algorithm === 'EdDSA' && { crv: 'Ed25519' }),
    });
    const publicJwk = await exportJWK(pair.publicKey);
    const kid = await thumbprintOf(publicJwk);
    const sealedPrivateKey = await this.#seal(kid, await exportJWK(pair.privateKey));
    return { kid, algorithm, status, publicJwk, sealedPrivateKey, createdAtMs: this.#clock() };
  }

  async #seal(kid: string, privateJwk: JWK): Promise<string> {
    return this.#secret.seal('signing_key', kid, JSON.stringify(privateJwk));
  }

  async #open(record: KeyRecord): Promise<JWK> {
    const { privateJwk } = await this.#unseal(record);
    if (privateJwk !== undefined) return privateJwk;
    throw new Error(
      `the signing key ${record.kid} was sealed under another server secret; start with the secret that made it`,
    );
  }

  /** Returns the private key, and the index of the server secret that opens it. */
  async #unseal({ kid, sealedPrivateKey }: KeyRecord): Promise<{ index: number; privateJwk?: JWK }> {
    const opened = await this.#secret.unseal('signing_key', kid, sealedPrivateKey);
    if (opened === undefined) return { index: -1 };
    return { index: opened.index, privateJwk: JSON.parse(opened.text) };
  }
}

async function importPublic({ kid, algorithm, publicJwk }: KeyRecord): Promise<VerifyingKey> {
  return { kid, algorithm, verifies: await verifierOf(publicJwk, algorithm) };
}
