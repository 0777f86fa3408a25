// Reads and verifies DPoP proofs, at the server and in APIs. § refers to RFC 9449.
import type { JWK } from 'jose';
import { hmacSha256, sha256, verifierOf } from '#crypto';
import type { Verifies } from '../crypto/port.ts';
import { OAuthError, type RefusalReason } from '../http/errors.ts';
import { isJsonObject } from '../http/http.ts';
import { RecentlyUsed } from '../platform/cache.ts';
import { type Bytes, CLIENT_CLOCK_AHEAD, equalInConstantTime } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import { type ClientAlgorithm, clientAlgorithmOf, namesOf } from '../protocol/client_metadata.ts';
import { claimsOfJwt, isSignedWith, readJwtHeader } from '../tokens/jwt.ts';
import { fitsAlgorithm, readPublicKey, thumbprintOf, withoutUse } from '../tokens/public_keys.ts';

/** A verified proof, by its claims (§4.2). */
export interface DpopProof {
  /** Thumbprint of the key that signed it (RFC 7638). */
  readonly jkt: string;
  readonly jti: string;
  /** Seconds since 1970, with a fraction if the client sends one. */
  readonly iat: number;
  readonly nonce?: string | undefined;
  /** Digest of the access token that the proof is for. */
  readonly ath?: string | undefined;
}

/** What a proof has to be. */
export interface ExpectedProof {
  readonly method: string;
  /** Public URLs that the request may have, without query and fragment. */
  readonly urls: readonly string[];
  readonly algorithms: readonly ClientAlgorithm[];
  /** Seconds for which a proof is accepted after its `iat`. */
  readonly lifetime: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** Why a proof is refused. */
export interface ProofRefusal {
  readonly reason: RefusalReason;
  readonly value?: string | undefined;
}

/** Maximum characters of a proof, which fits an RSA key of 8192 bits. */
const MAX_PROOF_LENGTH = 8 * 1024;

/** What a proof's header says about its key. */
interface ProofKey {
  /** As the header names it. */
  readonly alg: string;
  readonly algorithm: ClientAlgorithm;
  readonly jkt: string;
  readonly verifies: Verifies;
}

/** About 2 kB each. */
const MAX_KNOWN_HEADERS = 1000;

/**
 * Keys by the encoded header of a proof, because clients make many proofs with one key. A header enters with its first
 * valid signature.
 */
const knownHeaders = new RecentlyUsed<ProofKey>(MAX_KNOWN_HEADERS);

/** RFC 7515 §7.1. Several header lines arrive joined with commas, which are not part of it. */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Verifies a proof (§4.3), except for what the caller alone knows: its single use, `nonce` and `ath`.
 * @param header the value of the DPoP header
 */
export async function verifyDpopProof(
  header: string,
  expected: ExpectedProof,
): Promise<DpopProof | ProofRefusal> {
  // §4.3 (1, 2) exactly one header with one signed JWT
  if (header.length > MAX_PROOF_LENGTH || !COMPACT_JWS.test(header))
    return { reason: 'dpop_proof_malformed' };

  const encodedHeader = header.slice(0, header.indexOf('.'));
  const known = knownHeaders.get(encodedHeader);
  const key = known ?? (await readProofKey(header, expected.algorithms));
  if ('reason' in key) return key;
  if (!expected.algorithms.includes(key.algorithm))
    return { reason: 'dpop_algorithm_refused', value: key.alg };

  // §4.3 (6) signature
  if (!(await isSignedWith(key.verifies, header))) return { reason: 'dpop_signature_wrong' };
  if (known === undefined) knownHeaders.set(encodedHeader, key);

  // §4.3 (3, 8, 9, 11) claims
  const claims = claimsOfJwt(header);
  const { jti, htm, htu, iat, nonce, ath } = claims ?? {};
  if (claims === undefined || typeof jti !== 'string' || jti === '' || !isTime(iat))
    return { reason: 'dpop_proof_malformed' };
  if (!isOptionalText(nonce) || !isOptionalText(ath)) return { reason: 'dpop_proof_malformed' };
  if (htm !== expected.method) return { reason: 'dpop_method_wrong' };
  if (typeof htu !== 'string') return { reason: 'dpop_url_wrong' };
  const url = comparableUrl(htu);
  if (url === undefined || !expected.urls.some((requested) => requestedUrl(requested) === url))
    return { reason: 'dpop_url_wrong', value: withoutQuery(htu) };
  const reason = untimely(claims, iat, expected);
  if (reason !== undefined) return { reason };
  return { jkt: key.jkt, jti, iat, nonce, ath };
}

/** §4.3 (4, 5, 7) type, algorithm and a public key */
async function readProofKey(
  header: string,
  algorithms: readonly ClientAlgorithm[],
): Promise<ProofKey | ProofRefusal> {
  const { type, algorithm: alg, isExtended, key: jwk } = readJwtHeader(header) ?? {};
  if (type !== 'dpop+jwt' || isExtended !== false) return { reason: 'dpop_proof_malformed' };
  const algorithm = clientAlgorithmOf(alg);
  if (alg === undefined || algorithm === undefined || !algorithms.includes(algorithm))
    return { reason: 'dpop_algorithm_refused', value: alg };
  const key = isJsonObject(jwk) ? readPublicKey(jwk) : undefined;
  const verifies = key && fitsAlgorithm(key, algorithm) ? await imported(key, algorithm) : undefined;
  if (key === undefined || verifies === undefined) return { reason: 'dpop_key_unfit' };
  return { alg, algorithm, jkt: await thumbprintOf(key), verifies };
}

/** @returns `undefined` if the key is invalid, for example a point that is not on its curve */
async function imported(key: JWK, algorithm: ClientAlgorithm): Promise<Verifies | undefined> {
  try {
    return await verifierOf(withoutUse(key), algorithm);
  } catch {
    return undefined; // nothing is fetched here, so only the key itself can be wrong
  }
}

/** `iat` decides (§11.1). `exp` and `nbf` are not needed, but they count if a client sends them (RFC 7519 §4.1). */
function untimely(
  { exp = Infinity, nbf = 0 }: Claims,
  iat: number,
  { lifetime, nowMs }: ExpectedProof,
): RefusalReason | undefined {
  const now = nowMs / 1000;
  if (typeof exp !== 'number' || !isTime(nbf)) return 'dpop_proof_malformed';
  if (now >= iat + lifetime || now >= exp) return 'dpop_proof_expired';
  if (Math.max(iat, nbf) > now + CLIENT_CLOCK_AHEAD) return 'dpop_proof_not_yet_valid';
  return undefined;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

/**
 * Normalizes a web URL for comparison (RFC 3986 §6.2.2, §6.2.3): scheme, host, default port, dot segments and needless
 * escapes. Leaves out query and fragment (§4.3).
 * @returns `undefined` if the text is not a web URL
 */
function comparableUrl(text: string): string | undefined {
  // URL parsers also accept texts that are no URIs, such as those with spaces.
  const url = /^https?:\/\/[\x21-\x5B\x5D-\x7E]+$/i.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return `${url.protocol}//${url.host}${url.pathname.replace(/%[\da-f]{2}/gi, withoutNeed)}`;
}

const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?=\/|$)/i;

/**
 * Normalizes the URL of the request. Dot segments are not resolved, because routers and proxies may not do so either,
 * and a proof for `/notes` must not open `/admin/../notes`.
 * @returns `undefined` if no proof fits the URL
 */
function requestedUrl(url: string): string | undefined {
  return DOT_SEGMENT.test(url) ? undefined : comparableUrl(url);
}

/** A query may contain personal data or secrets, which must not be logged. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

/** RFC 3986 §2.3. */
const UNRESERVED = /[\w.~-]/;

function withoutNeed(escaped: string): string {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
  return UNRESERVED.test(character) ? character : escaped.toUpperCase();
}

/** Whether a proof is for this access token (§4.3 (12)). */
export async function isForToken({ ath }: DpopProof, token: string): Promise<boolean> {
  return ath !== undefined && equalInConstantTime(ath, await sha256(token));
}

/** Milliseconds after which the nonce changes. The previous one is still accepted. */
const NONCE_MS = 60 * 1000;

/**
 * Where nonces come from (§8, §9). They derive from keys and the time, so that every process that has the keys accepts
 * them and nothing is stored.
 */
export interface NonceSource {
  /** The first one makes nonces, all are accepted. */
  readonly keys: readonly Bytes[];
  /** Who accepts the nonces: the issuer, or the origin of an API. */
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** The nonce for the client's next proofs (§8.2). */
export async function currentNonce({ keys: [key], owner, nowMs }: NonceSource): Promise<string> {
  if (key === undefined) throw new Error('a source of nonces has a key');
  const period = periodOf(nowMs);
  const last = currentNonces.get(key);
  if (last?.owner === owner && last.period === period) return last.nonce;
  const nonce = await nonceAt(owner, key, period);
  currentNonces.set(key, { owner, period, nonce });
  return nonce;
}

/** The latest one by key, because most responses of a period have the same. */
const currentNonces = new WeakMap<
  Uint8Array,
  { readonly owner: string; readonly period: number; readonly nonce: string }
>();

function periodOf(nowMs: number): number {
  return Math.floor(nowMs / NONCE_MS);
}

function nonceAt(owner: string, key: Bytes, period: number) {
  return hmacSha256(key, JSON.stringify([owner, period]));
}

/**
 * Requires a nonce of this source (§4.3 (10), §8). The next one counts too, because the clock of the process that
 * provided it may be ahead.
 * @param status 400 at the token endpoint, 401 at a protected resource
 * @throws {OAuthError} `use_dpop_nonce`; the response needs a nonce
 */
export async function requireNonce(
  { keys, owner, nowMs }: NonceSource,
  { nonce }: DpopProof,
  status: 400 | 401,
): Promise<void> {
  if (nonce === undefined) throw refusedNonce('dpop_nonce_missing', status);
  const now = periodOf(nowMs);
  for (const key of keys)
    for (const period of [now, now - 1, now + 1])
      if (equalInConstantTime(nonce, await nonceAt(owner, key, period))) return;
  throw refusedNonce('dpop_nonce_wrong', status);
}

function refusedNonce(reason: RefusalReason, status: 400 | 401): OAuthError {
  return new OAuthError('use_dpop_nonce', 'the DPoP proof needs the nonce of the DPoP-Nonce header', {
    reason,
    status,
  });
}

/** `alg` values of proofs, for metadata and challenges. */
export function proofAlgorithms(algorithms: readonly ClientAlgorithm[]): readonly string[] {
  return algorithms.flatMap(namesOf);
}

/** Descriptions for clients. All other reasons have the same one. */
const DESCRIPTIONS: Partial<Record<RefusalReason, string>> = {
  dpop_proof_missing: 'a DPoP proof is required',
  dpop_not_supported: 'a DPoP proof is required',
  dpop_proof_malformed: 'the DPoP proof is malformed',
  dpop_algorithm_refused: 'the algorithm of the DPoP proof is not supported',
  dpop_key_unfit: 'the key in the DPoP proof is not a suitable public key',
  dpop_signature_wrong: 'the signature of the DPoP proof is wrong',
  dpop_method_wrong: 'the DPoP proof is for another method',
  dpop_url_wrong: 'the DPoP proof is for another URL',
  dpop_proof_expired: 'the DPoP proof is expired',
  dpop_proof_not_yet_valid: 'the DPoP proof is not valid yet',
  dpop_proof_replayed: 'the DPoP proof was used before',
  dpop_token_wrong: 'the DPoP proof is for another access token',
  dpop_key_wrong: 'the DPoP proof is by another key',
};

/**
 * The error of a refused proof (§5, §7.1).
 * @param status 400 at the token endpoint, 401 at a protected resource
 */
export function refusedProof({ reason, value }: ProofRefusal, status: 400 | 401): OAuthError {
  const description = DESCRIPTIONS[reason] ?? 'the DPoP proof is not valid';
  return new OAuthError('invalid_dpop_proof', description, { reason, value, status });
}
