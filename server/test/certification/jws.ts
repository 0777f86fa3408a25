import assert from 'node:assert/strict';
import { compactVerify, importJWK, SignJWT } from 'jose';

export type JsonObject = Readonly<Record<string, unknown>>;

/** A key as a provider publishes it. */
export interface PublishedKey extends JsonWebKey {
  readonly kid?: string;
}

/** The parts of a compact JWS (RFC 7515 §3.1), unverified. */
export function partsOf(jws: string): { readonly header: JsonObject; readonly claims: JsonObject } {
  const [header = '', payload = '', signature, ...others] = jws.split('.');
  assert.ok(signature !== undefined && others.length === 0, 'a compact JWS has three parts');
  return { header: decoded(header), claims: decoded(payload) };
}

/** The payload of a JWS, verified with the key of its `kid`. */
export async function verified(
  jws: string,
  keys: readonly PublishedKey[],
  algorithm = 'RS256',
): Promise<{ readonly header: JsonObject; readonly claims: JsonObject }> {
  const parts = partsOf(jws);
  const { kid } = parts.header;
  assert.equal(typeof kid, 'string', 'the header has a kid');
  const named = keys.filter((key) => key.kid === kid);
  assert.equal(named.length, 1, 'the kid names one key');
  const [jwk] = named;
  assert.ok(jwk);
  await compactVerify(jws, await importJWK({ ...jwk }, algorithm), { algorithms: [algorithm] });
  return parts;
}

export interface SigningKey {
  readonly privateKey: CryptoKey;
  readonly publicKey: { readonly kid: string };
}

/** A JWS signed by a client's RSA key. */
export function signed(claims: JsonObject, { privateKey, publicKey }: SigningKey): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: publicKey.kid }).sign(privateKey);
}

/** A JWS with `alg` `none` (RFC 7515 §6). */
export function unsigned(claims: JsonObject): string {
  return `${encoded({ alg: 'none' })}.${encoded(claims)}.`;
}

/** `at_hash` for algorithms with SHA-256 (OpenID Connect Core §3.1.3.6). */
export async function leftHalfHash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', Buffer.from(text));
  return Buffer.from(digest.slice(0, digest.byteLength / 2)).toString('base64url');
}

function encoded(part: JsonObject): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function decoded(part: string): JsonObject {
  assert.match(part, /^[\w-]+$/, 'base64url without padding');
  const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
  assert.ok(isObject(value), 'the part is an object');
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
