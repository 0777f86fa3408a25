// The option `previousServer`: recognizes and verifies JWTs of the server that grantd replaces.
import { ConfigurationError, type InactiveReason } from '../http/errors.ts';
import { requireOptions } from '../option_kinds.ts';
import { type Claims, readConfirmation } from '../protocol/claims.ts';
import { formatScope, isTokenKind, type TokenKind, type TokenRecord } from '../protocol/records.ts';
import type { Storage, TokenName } from '../storage/contract.ts';
import type { FoundToken, NoToken } from '../tokens/context.ts';
import { type ReadyKey, readyKeys, type VerificationKey, verifyWith } from '../tokens/jwt_verifier.ts';
import type { FindPreviousToken, PreviousParts, PreviousTokenRepository } from './previous_tokens.ts';

/**
 * Accepts tokens of a previous server: JWTs that it signed, with rows in its own tables. Introspection, UserInfo,
 * revocation and refresh treat them like tokens of this server. A refresh exchanges them for tokens of this server, and
 * revokes the old one through `revoke`.
 * @example
 * previousServer: {
 *   keys: [{ keyId: '2023', algorithm: 'RS256', publicKey }],
 *   identify: ({ jti, typ }) => ({ kind: typ === 'Refresh' ? 'refresh_token' : 'access_token', key: jti }),
 *   find: (kind, id) => oldTokens.find(kind, id),
 *   revoke: (kind, id) => oldTokens.revoke(kind, id),
 * }
 */
export interface PreviousServer extends PreviousTokenRepository {
  /** Keys that signed the JWTs: 1 to 16. They verify, but never sign. */
  readonly keys: readonly VerificationKey[];
  /** `iss` of the tokens that have one. Default: the issuer of this server. */
  readonly issuer?: string;
  /**
   * Returns kind and key of a token from its verified claims. The two kinds must differ in a claim. Otherwise
   * one kind could be used as the other.
   * @returns `undefined` if the JWT is neither an access token nor a refresh token
   */
  identify(claims: Claims): TokenName | undefined;
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
  const ready = readyKeys(keys, 'previousServer.keys');
  if (typeof previousIssuer !== 'string' || previousIssuer === '')
    throw new ConfigurationError('previousServer.issuer', 'a non-empty string');
  const { getPrincipalState } = storage;
  if (typeof getPrincipalState !== 'function')
    throw new ConfigurationError('storage.getPrincipalState', 'a function, because previousServer needs it');
  return Object.freeze({
    keys: ready,
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

/** What is needed to verify JWTs of a previous server. */
interface PreviousJwtParts {
  readonly keys: readonly ReadyKey[];
  /** Expected `iss`, if a token has one. */
  readonly issuer: string;
  /** @returns `undefined` if the JWT is neither an access token nor a refresh token */
  readonly identify: (claims: Claims) => TokenName | undefined;
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
    const { keys, issuer, identify } = this.#parts;
    const jwt = await verifyWith(token, keys);
    if (!jwt.verified) return jwt.reason === 'bad_signature' ? { reason: jwt.reason } : undefined;
    const { claims } = jwt;
    const { kind, key: id } = identify(claims) ?? {};
    if (!isTokenKind(kind) || typeof id !== 'string' || id === '') return { reason: 'wrong_type', claims };
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

/** Returns seconds. If the token has no `exp`, the stored expiry counts. */
function earlier(stored: number, exp: unknown): number {
  return typeof exp === 'number' ? Math.floor(Math.min(stored, exp)) : stored;
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
