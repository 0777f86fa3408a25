// The option `previousServer`: recognizes and verifies JWTs of the server that grantd replaces.
import type { CryptoKey, JWK } from 'jose';
import { ConfigurationError, type InactiveReason } from '../http/errors.ts';
import { isJsonObject, type JsonObject } from '../http/http.ts';
import { requireOptions } from '../option_kinds.ts';
import { type Claims, readConfirmation } from '../protocol/claims.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { TokenKind, TokenRecord } from '../protocol/records.ts';
import { formatScope } from '../protocol/records.ts';
import type { Storage } from '../storage/contract.ts';
import type { FoundToken, NoToken } from '../tokens/context.ts';
import { parseClaims, readJwtHeader, type VerifyingAlgorithm, verifiedPayload } from '../tokens/jwt.ts';
import { fitsAlgorithm, importPublicKey, readPublicKeys } from '../tokens/public_keys.ts';
import type { FindPreviousToken, PreviousParts, PreviousTokenRepository } from './previous_tokens.ts';

/**
 * Accepts tokens of a previous server: JWTs that it signed, with rows in its own tables. Introspection, UserInfo,
 * revocation and refresh treat them like tokens of this server. A refresh exchanges them for tokens of this server, and
 * revokes the old one through `revoke`.
 * @example
 * previousServer: {
 *   keys: [{ keyId: '2023', algorithm: 'RS256', publicKey }],
 *   identify: ({ jti, typ }) => ({ kind: typ === 'Refresh' ? 'refresh_token' : 'access_token', id: jti }),
 *   find: (kind, id) => oldTokens.find(kind, id),
 *   revoke: (kind, id) => oldTokens.revoke(kind, id),
 * }
 */
export interface PreviousServer extends PreviousTokenRepository {
  /** Keys that signed the JWTs: 1 to 16. */
  readonly keys: readonly PreviousKey[];
  /** `iss` of the tokens that have one. Default: the issuer of this server. */
  readonly issuer?: string;
  /**
   * Returns kind and identifier of a token from its verified claims. The two kinds must differ in a claim. Otherwise
   * one kind could be used as the other.
   * @returns `undefined` if the JWT is neither an access token nor a refresh token
   */
  identify(claims: Claims): PreviousTokenName | undefined;
}

/** The option after its check: copied, with methods bound to the host's object. */
export type ResolvedPreviousServer = PreviousJwtParts & PreviousParts['previous'];

/**
 * Checks the option.
 * @param issuer of this server
 * @throws {ConfigurationError} names the option and says what was expected
 */
export function resolvePreviousServer(
  options: PreviousServer | undefined,
  issuer: string,
  storage: Storage,
): ResolvedPreviousServer | undefined {
  if (options === undefined) return undefined;
  requireOptions(options, OLD_TOKEN_OPTIONS, 'previousServer');
  const { keys, issuer: previousIssuer = issuer }: Partial<PreviousServer> = options;
  const verifiers = previousVerifiers(keys, 'previousServer.keys');
  if (typeof previousIssuer !== 'string' || previousIssuer === '')
    throw new ConfigurationError('previousServer.issuer', 'a non-empty string');
  const { getPrincipalState } = storage;
  if (typeof getPrincipalState !== 'function')
    throw new ConfigurationError('storage.getPrincipalState', 'a function, because previousServer needs it');
  return Object.freeze({
    verifiers,
    issuer: previousIssuer,
    identify: method(options, 'identify'),
    find: method(options, 'find'),
    revoke: method(options, 'revoke'),
    getPrincipalState: getPrincipalState.bind(storage),
  });
}

const OLD_TOKEN_OPTIONS: Readonly<Record<keyof PreviousServer, true>> = {
  keys: true,
  issuer: true,
  identify: true,
  find: true,
  revoke: true,
};

function method<M extends 'identify' | 'find' | 'revoke'>(
  options: PreviousServer,
  name: M,
): PreviousServer[M] {
  const value = options[name];
  if (typeof value === 'function') return value.bind(options) as PreviousServer[M];
  throw new ConfigurationError(`previousServer.${name}`, 'a function');
}

/** Kind and identifier of a previous server's token. */
export interface PreviousTokenName {
  readonly kind: TokenKind;
  /** The identifier for `find`. If it is not a string, or is empty, the token is rejected. */
  readonly id: unknown;
}

/** What is needed to verify JWTs of a previous server. */
interface PreviousJwtParts {
  readonly verifiers: readonly PreviousVerifier[];
  /** Expected `iss`, if a token has one. */
  readonly issuer: string;
  /** @returns `undefined` if the JWT is neither an access token nor a refresh token */
  readonly identify: (claims: Claims) => PreviousTokenName | undefined;
}

/** A verified token of the previous server. */
interface PreviousJwt {
  readonly kind: TokenKind;
  readonly id: string;
  readonly claims: Claims;
}

/** Why the token was rejected. `claims` is present if the signature has verified. */
interface NoPreviousJwt {
  readonly reason: Extract<InactiveReason, 'bad_signature' | 'wrong_type' | 'wrong_issuer'>;
  readonly claims?: Claims;
}

/** Verifies JWTs of the previous server. The algorithm comes from the key, never from the token. */
export class PreviousJwts {
  readonly #parts: PreviousJwtParts;

  constructor(parts: PreviousJwtParts) {
    this.#parts = parts;
  }

  /** @returns `undefined` if the token names no key of the previous server */
  async verify(token: string): Promise<PreviousJwt | NoPreviousJwt | undefined> {
    const { verifiers, issuer, identify } = this.#parts;
    const header = readJwtHeader(token);
    if (header === undefined) return undefined;
    const named = verifiers.filter(({ keyId }) => keyId === header.keyId);
    if (named.length === 0) return undefined;

    // Critical header extensions (RFC 7515 §4.1.11) did not exist in these tokens.
    const claims = header.isExtended ? undefined : await signedClaims(token, named);
    if (claims === undefined) return { reason: 'bad_signature' };
    const { kind, id } = identify(claims) ?? {};
    if (!isKind(kind) || typeof id !== 'string' || id === '') return { reason: 'wrong_type', claims };
    if (claims.iss !== undefined && claims.iss !== issuer) return { reason: 'wrong_issuer', claims };
    return { kind, id, claims };
  }
}

/**
 * Converts a token and its record to this server's terms. The row decides about user and client, and the earlier expiry
 * wins, because a shared HMAC secret lets an API sign tokens too.
 */
function inOwnTerms(
  iss: string,
  { kind, id: jti, claims }: PreviousJwt,
  record: TokenRecord,
): { readonly record: TokenRecord; readonly claims: Claims } {
  const { subject: sub, clientId: client_id, scopes } = record;
  const expiresAt = earlier(record.expiresAt, claims.exp);
  const own = { iss, sub, jti, ...(expiresAt !== 0 && { exp: expiresAt }) };
  const bound = record.confirmation === undefined ? readConfirmation(claims.cnf) : undefined;
  return {
    record: {
      ...record,
      expiresAt,
      ...(bound !== undefined && { confirmation: bound }),
      ...(bound?.jkt !== undefined && kind === 'access_token' && { tokenType: 'DPoP' }),
    },
    claims:
      kind === 'access_token'
        ? { ...claims, ...own }
        : {
            ...{ ...own, client_id, iat: claims.iat },
            ...(scopes.length > 0 && { scope: formatScope(scopes) }),
            ...(claims.cnf !== undefined && { cnf: claims.cnf }),
          },
  };
}

async function signedClaims(
  token: string,
  verifiers: readonly PreviousVerifier[],
): Promise<Claims | undefined> {
  for (const verifier of verifiers) {
    const payload = await verifier.payloadOf(token);
    if (payload !== undefined) return parseClaims(payload);
  }
  return undefined;
}

function isKind(kind: unknown): kind is TokenKind {
  return kind === 'access_token' || kind === 'refresh_token';
}

/** Returns seconds. If the token has no `exp`, the stored expiry counts. */
function earlier(stored: number, exp: unknown): number {
  return typeof exp === 'number' ? Math.floor(Math.min(stored, exp)) : stored;
}

/** A key with which the previous server signed, and its only algorithm. It verifies, but never signs. */
export type PreviousKey = {
  /** `kid` of the tokens that it signed. Default: tokens without a `kid`. */
  readonly keyId?: string;
} & (
  | {
      readonly algorithm: 'HS256';
      /** A string is used as UTF-8 bytes. */
      readonly secret: string | Uint8Array;
    }
  | {
      readonly algorithm: SigningAlgorithm;
      /** Public key. RSA keys must have 2048 to 8192 bits. */
      readonly publicKey: JWK;
    }
);

/** Checks signatures of one key. */
interface PreviousVerifier {
  readonly keyId: string | undefined;
  /** @returns `undefined` if the key did not sign the token with its algorithm */
  payloadOf(token: string): Promise<Uint8Array | undefined>;
}

/** Limits the signatures that a token without `kid` is checked against. */
const MAX_KEYS = 16;

const EXPECTED_ALGORITHM = `one of HS256, ${SIGNING_ALGORITHMS.join(', ')}`;

/**
 * @param option name for errors
 * @throws {ConfigurationError} names the member and says what was expected, but never contains a key
 */
function previousVerifiers(keys: unknown, option: string): readonly PreviousVerifier[] {
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS)
    throw new ConfigurationError(option, `a list of 1 to ${MAX_KEYS} keys`);
  return keys.map((key: unknown, index) => previousVerifier(key, `${option}.${index}`));
}

function previousVerifier(key: unknown, option: string): PreviousVerifier {
  const members: JsonObject = isJsonObject(key) ? key : {};
  const { keyId, algorithm, secret, publicKey } = members;
  if (keyId !== undefined && typeof keyId !== 'string')
    throw new ConfigurationError(`${option}.keyId`, 'a text');
  if (algorithm === 'HS256') {
    const bytes = secretBytes(secret, `${option}.secret`);
    return verifier(keyId, algorithm, async () => bytes);
  }
  const signing = SIGNING_ALGORITHMS.find((one) => one === algorithm);
  if (signing === undefined) throw new ConfigurationError(`${option}.algorithm`, EXPECTED_ALGORITHM);
  const [jwk] = readPublicKeys({ keys: [publicKey] }, 1) ?? [];
  const expected = `a JWK with the public part of a key for ${signing}`;
  const wrongKey = new ConfigurationError(`${option}.publicKey`, expected);
  if (jwk === undefined || !fitsAlgorithm(jwk, signing)) throw wrongKey;
  return verifier(keyId, signing, async () => {
    const imported = await importPublicKey(jwk, signing);
    if (imported === undefined) throw wrongKey;
    return imported;
  });
}

function secretBytes(secret: unknown, option: string): Uint8Array {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret;
  if (bytes instanceof Uint8Array && bytes.length > 0) return bytes.slice();
  throw new ConfigurationError(option, 'a non-empty string or bytes');
}

function verifier(
  keyId: string | undefined,
  algorithm: VerifyingAlgorithm,
  open: () => Promise<CryptoKey | Uint8Array>,
): PreviousVerifier {
  let key: Promise<CryptoKey | Uint8Array> | undefined;
  return {
    keyId,
    async payloadOf(token) {
      key ??= open();
      return verifiedPayload(token, await key, algorithm);
    },
  };
}

/**
 * Makes the lookup of a previous server's tokens for `findToken`.
 * @returns a function that resolves to `undefined` if the token names no key of the previous server
 */
export function previousTokenFinder(
  issuer: string,
  jwts: PreviousJwts,
  find: FindPreviousToken,
): (token: string) => Promise<FoundToken | NoToken | undefined> {
  return async (token) => {
    const jwt = await jwts.verify(token);
    if (jwt === undefined || 'reason' in jwt) return jwt;
    const record = await find(jwt.kind, jwt.id);
    if (record === undefined) return { reason: 'no_record', kind: jwt.kind, claims: jwt.claims };
    return inOwnTerms(issuer, jwt, record);
  };
}
