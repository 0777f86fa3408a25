import type { CryptoKey, JWK } from 'jose';
import { ConfigurationError, type InactiveReason } from '../http/errors.ts';
import { isJsonObject, type JsonObject } from '../http/http.ts';
import { requireOptions } from '../option_kinds.ts';
import type { Claims } from '../protocol/claims.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { TokenKind, TokenRecord } from '../protocol/records.ts';
import { formatScope } from '../protocol/records.ts';
import type { Storage } from '../storage/contract.ts';
import type { FoundToken, NoToken } from '../tokens/context.ts';
import { parseClaims, readJwtHeader, type VerifyingAlgorithm, verifiedPayload } from '../tokens/jwt.ts';
import { fitsAlgorithm, importPublicKey, readPublicKeys } from '../tokens/public_keys.ts';
import type { FindFormerToken, FormerParts, FormerTokenRepository } from './former_tokens.ts';

/**
 * The tokens of a server that was here before: JWTs that it signed, and its own rows of them. Introspection, UserInfo,
 * revocation and refresh take them like tokens of this server. What a refresh token is exchanged for is this server's;
 * the former one is revoked with it, by `revoke`.
 */
export interface FormerTokens extends FormerTokenRepository {
  /** What the JWTs were signed with: 16 at most. */
  readonly keys: readonly FormerKey[];
  /** `iss` of those that have one. Default: this server's own issuer. */
  readonly issuer?: string;
  /**
   * Which token a JWT is, from its claims, whose signature has verified. Each kind has another claim for its `id`, or
   * says what it is: otherwise one could be taken for the other.
   * @returns `undefined` for what is neither an access token nor a refresh token, such as a code
   */
  identify(claims: Claims): FormerTokenName | undefined;
}

/** The option as it is used: copied, and bound to the host's object. */
export type ResolvedFormerTokens = FormerJwtParts & FormerParts['former'];

/**
 * @param issuer this server's own
 * @throws {ConfigurationError} names the option and what was expected
 */
export function resolveFormerTokens(
  options: FormerTokens | undefined,
  issuer: string,
  storage: Storage,
): ResolvedFormerTokens | undefined {
  if (options === undefined) return undefined;
  requireOptions(options, FORMER_TOKEN_OPTIONS, 'formerTokens');
  const { keys, issuer: formerIssuer = issuer }: Partial<FormerTokens> = options;
  const verifiers = formerVerifiers(keys, 'formerTokens.keys');
  if (typeof formerIssuer !== 'string' || formerIssuer === '')
    throw new ConfigurationError('formerTokens.issuer', 'a text that is not empty');
  const { getPrincipalState } = storage;
  if (typeof getPrincipalState !== 'function')
    throw new ConfigurationError('storage.getPrincipalState', 'a function, since there are formerTokens');
  return Object.freeze({
    verifiers,
    issuer: formerIssuer,
    identify: method(options, 'identify'),
    find: method(options, 'find'),
    revoke: method(options, 'revoke'),
    getPrincipalState: getPrincipalState.bind(storage),
  });
}

const FORMER_TOKEN_OPTIONS: Readonly<Record<keyof FormerTokens, true>> = {
  keys: true,
  issuer: true,
  identify: true,
  find: true,
  revoke: true,
};

function method<M extends 'identify' | 'find' | 'revoke'>(options: FormerTokens, name: M): FormerTokens[M] {
  const value = options[name];
  if (typeof value === 'function') return value.bind(options) as FormerTokens[M];
  throw new ConfigurationError(`formerTokens.${name}`, 'a function');
}

/** Which of a former server's tokens a JWT is. */
export interface FormerTokenName {
  readonly kind: TokenKind;
  /** The claim by which the token is found; what is no text, or empty, names none. */
  readonly id: unknown;
}

/** How the JWTs of a former server are known. */
interface FormerJwtParts {
  readonly verifiers: readonly FormerVerifier[];
  /** `iss`, where they have one. */
  readonly issuer: string;
  /** @returns `undefined` for what is no access or refresh token */
  readonly identify: (claims: Claims) => FormerTokenName | undefined;
}

/** A token that a former server has signed. */
interface FormerJwt {
  readonly kind: TokenKind;
  readonly id: string;
  readonly claims: Claims;
}

/** Or why it is none; `claims` where the signature has verified. */
interface NoFormerJwt {
  readonly reason: Extract<InactiveReason, 'bad_signature' | 'wrong_type' | 'wrong_issuer'>;
  readonly claims?: Claims;
}

/** Checks what a former server signed. The algorithm is the key's own, never the token's choice. */
export class FormerJwts {
  readonly #parts: FormerJwtParts;

  constructor(parts: FormerJwtParts) {
    this.#parts = parts;
  }

  /** @returns `undefined` where the token names no key of the former server's */
  async verify(token: string): Promise<FormerJwt | NoFormerJwt | undefined> {
    const { verifiers, issuer, identify } = this.#parts;
    const header = readJwtHeader(token);
    if (header === undefined) return undefined;
    const named = verifiers.filter(({ keyId }) => keyId === header.keyId);
    if (named.length === 0) return undefined;

    // What a header says must be understood (RFC 7515 §4.1.11) was no part of these tokens.
    const claims = header.isExtended ? undefined : await signedClaims(token, named);
    if (claims === undefined) return { reason: 'bad_signature' };
    const { kind, id } = identify(claims) ?? {};
    if (!isKind(kind) || typeof id !== 'string' || id === '') return { reason: 'wrong_type', claims };
    if (claims.iss !== undefined && claims.iss !== issuer) return { reason: 'wrong_issuer', claims };
    return { kind, id, claims };
  }
}

/**
 * A former token with its record, told as this server tells of its own. It is about whom its row says, and ends when the
 * first of the two says: whoever checked the tokens by a secret could have signed others.
 */
function inOwnTerms(
  iss: string,
  { kind, id: jti, claims }: FormerJwt,
  record: TokenRecord,
): { readonly record: TokenRecord; readonly claims: Claims } {
  const { subject: sub, clientId: client_id, scopes } = record;
  const expiresAt = earlier(record.expiresAt, claims.exp);
  const own = { iss, sub, jti, ...(expiresAt !== 0 && { exp: expiresAt }) };
  return {
    record: expiresAt === record.expiresAt ? record : { ...record, expiresAt },
    claims:
      kind === 'access_token'
        ? { ...claims, ...own }
        : { ...own, client_id, iat: claims.iat, ...(scopes.length > 0 && { scope: formatScope(scopes) }) },
  };
}

async function signedClaims(
  token: string,
  verifiers: readonly FormerVerifier[],
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

/** Seconds. A token that says nothing is over when its row says. */
function earlier(stored: number, exp: unknown): number {
  return typeof exp === 'number' ? Math.floor(Math.min(stored, exp)) : stored;
}

/** A key that a former server signed with, for the one algorithm that it was used with. It signs nothing any more. */
export type FormerKey = {
  /** `kid` of the tokens that it signed. Default: they name none. */
  readonly keyId?: string;
} & (
  | {
      readonly algorithm: 'HS256';
      /** A text stands for its UTF-8 bytes. */
      readonly secret: string | Uint8Array;
    }
  | {
      readonly algorithm: SigningAlgorithm;
      /** The public part; RSA keys of 2048 to 8192 bits. */
      readonly publicKey: JWK;
    }
);

/** What a key is good for: to find out whether it has signed something. */
interface FormerVerifier {
  readonly keyId: string | undefined;
  /** @returns what was signed; `undefined` where the signature is not the key's by its one algorithm */
  payloadOf(token: string): Promise<Uint8Array | undefined>;
}

/** A token without a `kid` is tried with each key that has none. */
const MOST_KEYS = 16;

const EXPECTED_ALGORITHM = `one of HS256, ${SIGNING_ALGORITHMS.join(', ')}`;

/**
 * @param option its name, for errors
 * @throws {ConfigurationError} names the member and what was expected; never a key
 */
function formerVerifiers(keys: unknown, option: string): readonly FormerVerifier[] {
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MOST_KEYS)
    throw new ConfigurationError(option, `a list of 1 to ${MOST_KEYS} keys`);
  return keys.map((key: unknown, index) => formerVerifier(key, `${option}.${index}`));
}

function formerVerifier(key: unknown, option: string): FormerVerifier {
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
  throw new ConfigurationError(option, 'a text or bytes, not empty');
}

function verifier(
  keyId: string | undefined,
  algorithm: VerifyingAlgorithm,
  open: () => Promise<CryptoKey | Uint8Array>,
): FormerVerifier {
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
 * Finds tokens of a former server, for `findToken`.
 * @returns a function that resolves to `undefined` if the token names no key of the former server
 */
export function formerTokenFinder(
  issuer: string,
  jwts: FormerJwts,
  find: FindFormerToken,
): (token: string) => Promise<FoundToken | NoToken | undefined> {
  return async (token) => {
    const jwt = await jwts.verify(token);
    if (jwt === undefined || 'reason' in jwt) return jwt;
    const record = await find(jwt.kind, jwt.id);
    if (record === undefined) return { reason: 'no_record', kind: jwt.kind, claims: jwt.claims };
    return inOwnTerms(issuer, jwt, record);
  };
}
