import {
  CompactEncrypt,
  calculateJwkThumbprint,
  compactDecrypt,
  errors,
  exportJWK,
  generateKeyPair,
  type JWK,
} from 'jose';
import { sha256, signerOf, verifierOf } from '#crypto';
import { RecentlyUsed, TextTable } from '../cache.ts';
import type { Signs, Verifies } from '../crypto/port.ts';
import type { Clock } from '../environment.ts';
import type { InactiveReason } from '../http/errors.ts';
import type { Claims } from '../protocol/claims.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { KeyRecord } from '../protocol/records.ts';
import type { KeyRepository } from '../storage/contract.ts';
import { claimsOfJwt, isSignedWith, readJwtHeader, signedJwt } from './jwt.ts';
import type { ServerSecret } from './server_secret.ts';

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

interface VerifyingKey {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly verifies: Verifies;
}

interface SigningKey extends VerifyingKey {
  readonly signs: Signs;
}

/** Seconds that a client may remember what the server says about itself: its keys and its metadata. */
export const PUBLIC_CACHE_SECONDS = 300;

/** The next key was published so recently that clients may not know it yet. */
export class SigningKeyTooYoung extends Error {
  readonly algorithm: SigningAlgorithm;
  readonly waitSeconds: number;

  constructor(algorithm: SigningAlgorithm, waitSeconds: number) {
    super(
      `clients may not know the next ${algorithm} key yet, since they may cache the key set for ${PUBLIC_CACHE_SECONDS} seconds: try again in ${waitSeconds} seconds`,
    );
    this.name = 'SigningKeyTooYoung';
    this.algorithm = algorithm;
    this.waitSeconds = waitSeconds;
  }
}

/**
 * The signing keys in storage, sealed under the server's secret. For each algorithm one key is `next`
 * (published, so that everyone knows it before it signs), one `current`, and any number `retired`. Every algorithm that
 * a client may register has its keys from the first start on, so that they are published before a client chooses it.
 *
 * Imported keys are remembered by `kid`. Which one is current is asked each time, so that a rotation by any
 * process is followed at once.
 */
export class SigningKeys {
  readonly #repository: KeyRepository;
  readonly #secret: ServerSecret;
  readonly #clock: Clock;
  readonly #algorithms: readonly SigningAlgorithm[];
  readonly #verifying = new Map<string, VerifyingKey>();
  readonly #signing = new Map<string, SigningKey>();

  /** @param algorithms those that the server signs with by itself */
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

  /**
   * Makes a current and a next key where an algorithm has none, and opens those that sign. Seals every key under the
   * first server secret that is sealed under another one.
   */
  async prepare(): Promise<void> {
    await this.#complete();
    for (const algorithm of this.#algorithms) await this.forSigning(algorithm);
    await this.#reseal();
  }

  /** The place in the list of the server secret that each key is sealed under, by `kid`; `-1` if it is not in the list. */
  async seals(): Promise<ReadonlyMap<string, number>> {
    const records = await this.#repository.list();
    const opened = records.map(async (record) => [record.kid, (await this.#unseal(record)).index] as const);
    return new Map(await Promise.all(opened));
  }

  /** A key that no server secret opens is left alone: if it is needed to sign, its use fails. */
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
   * The current key of an algorithm, or a certain one.
   * @throws {Error} the key is not there, or was sealed under a secret that the server was not given.
   */
  async forSigning(algorithm: SigningAlgorithm, keyId?: string): Promise<SigningKey> {
    const kid = keyId ?? (await this.#currentKeyId(algorithm));
    const remembered = this.#signing.get(kid);
    if (remembered !== undefined) return remembered;
    const record = await this.#repository.get(kid);
    if (!record) throw new Error(`the signing key ${kid} is not in storage`);
    const signs = await signerOf(await this.#open(record), record.algorithm);
    const key = { ...(await importPublic(record)), signs };
    this.#signing.set(kid, key);
    return key;
  }

  /** The key of that `kid`, whatever its status; `undefined` where there is none. */
  async forVerifying(kid: string): Promise<VerifyingKey | undefined> {
    const remembered = this.#verifying.get(kid);
    if (remembered !== undefined) return remembered;
    const record = await this.#repository.get(kid);
    if (!record) return undefined;
    const key = await importPublic(record);
    this.#verifying.set(kid, key);
    return key;
  }

  /** Public keys with `kid`, `alg` and `use` (RFC 7517 §4). Keys are made before the first answer, not after it. */
  async published(): Promise<readonly JWK[]> {
    return (await this.#complete()).map(({ kid, algorithm, publicJwk }) => ({
      ...publicJwk,
      kid,
      alg: algorithm,
      use: 'sig',
    }));
  }

  /**
   * Lets the next key sign from now on, and publishes a new next one.
   * @param now rotates although clients may not know the next key yet: some refuse what it signs until then
   * @returns `kid` of the key that signs now
   * @throws {SigningKeyTooYoung} the next key was not published for as long as clients may cache the key set
   */
  async rotate(algorithm: SigningAlgorithm, now = false): Promise<string> {
    const records = (await this.#complete()).filter((record) => record.algorithm === algorithm);
    const current = records.find(({ status }) => status === 'current');
    if (current === undefined) throw new Error(`storage keeps no ${algorithm} key`);
    const waitSeconds = this.#waitOf(records);
    if (!now && waitSeconds > 0) throw new SigningKeyTooYoung(algorithm, waitSeconds);
    // If another process was quicker, its rotation is the one that was asked for.
    await this.#repository.rotate(current.kid, await this.#generate(algorithm, 'next'));
    return this.#currentKeyId(algorithm);
  }

  /** Seconds until `rotate` takes the algorithm; 0 if it does now. */
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
    await this.#complete(algorithm);
    const initialized = await this.#repository.currentKeyId(algorithm);
    if (!initialized) throw new Error(`storage keeps no ${algorithm} key`);
    return initialized;
  }

  /**
   * Makes a current and a next key for each algorithm without keys.
   * @param needed an algorithm that has no current key, whatever the list says
   * @returns all keys
   */
  async #complete(needed?: SigningAlgorithm): Promise<readonly KeyRecord[]> {
    const records = await this.#repository.list();
    const missing = SIGNING_ALGORITHMS.filter(
      (one) => one === needed || !records.some(({ algorithm }) => algorithm === one),
    );
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
    const kid = await calculateJwkThumbprint(publicJwk);
    const sealedPrivateKey = await this.#seal(kid, await exportJWK(pair.privateKey));
    return { kid, algorithm, status, publicJwk, sealedPrivateKey, createdAtMs: this.#clock() };
  }

  /** The key's `kid` is in the protected header, so that sealed keys cannot be swapped. */
  async #seal(kid: string, privateJwk: JWK): Promise<string> {
    return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(privateJwk)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
      .encrypt(await this.#secret.key('signing_key'));
  }

  async #open(record: KeyRecord): Promise<JWK> {
    const { privateJwk } = await this.#unseal(record);
    if (privateJwk !== undefined) return privateJwk;
    throw new Error(
      `the signing key ${record.kid} was sealed under another server secret; start with the secret that made it`,
    );
  }

  /** The private key, and which of the server secrets opens it. */
  async #unseal({ kid, sealedPrivateKey }: KeyRecord): Promise<{ index: number; privateJwk?: JWK }> {
    for (const [index, key] of (await this.#secret.keys('signing_key')).entries()) {
      const opened = await decryptWith(key, sealedPrivateKey);
      if (opened?.kid === kid) return { index, privateJwk: opened.privateJwk };
    }
    return { index: -1 };
  }
}

async function decryptWith(
  key: Uint8Array,
  sealed: string,
): Promise<{ kid: unknown; privateJwk: JWK } | undefined> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(sealed, key);
    return { kid: protectedHeader.kid, privateJwk: JSON.parse(new TextDecoder().decode(plaintext)) };
  } catch (error) {
    if (error instanceof errors.JWEDecryptionFailed) return undefined; // another secret of the list may fit
    throw error;
  }
}

async function importPublic({ kid, algorithm, publicJwk }: KeyRecord): Promise<VerifyingKey> {
  return { kid, algorithm, verifies: await verifierOf(publicJwk, algorithm) };
}
