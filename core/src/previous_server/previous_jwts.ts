// The option `previousServer`: recognizes and verifies JWTs of the server that grantd replaces.
import { ConfigurationError, type InactiveReason } from '../http/errors.ts';
import { formatScope } from '../http/form.ts';
import type { Clock } from '../platform/environment.ts';
import { type Claims, readConfirmation } from '../protocol/claims.ts';
import { requireOptions } from '../protocol/option_kinds.ts';
import { isTokenKind } from '../protocol/record_rules.ts';
import type { TokenKind, TokenRecord } from '../protocol/records.ts';
import type { Found, Storage, TokenName, TokenRepository } from '../storage/contract.ts';
import { guarded } from '../storage/faults.ts';
import { hostStorage } from '../storage/host_storage.ts';
import type { FoundToken, NoToken, TokenContext } from '../tokens/context.ts';
import { hostJwtService } from '../tokens/host_verifiers.ts';
import type { JwtVerifier } from '../tokens/jwt_service.ts';
import {
  type FindPreviousToken,
  type PreviousParts,
  type PreviousToken,
  withPreviousTokens,
} from './previous_tokens.ts';

/**
 * Accepts tokens of a previous server: JWTs that it signed, with rows in its own tables. Introspection, UserInfo,
 * revocation and refresh treat them like tokens of this server. A refresh exchanges them for tokens of this server, and
 * revokes the old one through `tokens.revoke`.
 * @example
 * previousServer: previousServer({ jwtService: jwtVerifier([{ algorithm: 'HS256', secret }]), tokens: oldStorage.tokens })
 */
export interface PreviousServer {
  /** Verifies the JWTs. `jwtVerifier()` makes one from keys. */
  readonly jwtService: JwtVerifier;
  /** `iss` of the tokens that have one. Default: the issuer of this server. */
  readonly issuer?: string;
  /** The tokens in the tables of the previous server. */
  readonly tokens: PreviousTokenRepository;
}

/**
 * The tokens of a previous server, with the methods that introspection, revocation and UserInfo need of a storage.
 * `revoke` must accept several calls for the same token. Of one that has gone, it is not called.
 */
export interface PreviousTokenRepository extends Pick<TokenRepository, PreviousMethod> {
  /**
   * As `TokenRepository.identify`. The two kinds must differ in a claim. Otherwise one kind could be used as the other.
   */
  identify(claims: Claims, token: string): TokenName | undefined;
  getByAccessToken(key: string): Found<PreviousToken>;
}

type PreviousMethod = 'getByRefreshToken' | 'isRefreshTokenRevoked' | 'isAccessTokenRevoked' | 'revoke';

/** What the option `previousServer` takes, as `previousServer()` returns it. */
export interface AcceptedServer {
  /**
   * @returns the tokens of both servers: revoking a token of the previous one also revokes those that replaced it
   * @throws {ConfigurationError} the storage lacks a method
   */
  open(issuer: string, storage: Storage, clock: Clock): Pick<TokenContext, 'storage' | 'findPreviousToken'>;
}

/**
 * Describes the server that this one replaces. Its tokens are accepted until they expire (ADR 33). Only a host that calls
 * it loads the code.
 * @throws {ConfigurationError} names the option and says what was expected
 */
export function previousServer(description: PreviousServer): AcceptedServer {
  requireOptions(description, OLD_TOKEN_OPTIONS, 'previousServer');
  const { jwtService, issuer: previousIssuer, tokens }: Partial<PreviousServer> = description;
  if (typeof jwtService?.verify !== 'function')
    throw new ConfigurationError('previousServer.jwtService', 'an object with verify, as of jwtVerifier()');
  if (previousIssuer !== undefined && (typeof previousIssuer !== 'string' || previousIssuer === ''))
    throw new ConfigurationError('previousServer.issuer', 'a non-empty string');
  requireTokens(tokens);
  const jwts = {
    verify: hostJwtService(jwtService).verify,
    identify: (claims: Claims, token: string) => tokens.identify(claims, token),
  };
  const rows = previousRows(tokens);
  return {
    open(issuer, storage, clock) {
      const { getPrincipalState } = storage;
      if (typeof getPrincipalState !== 'function')
        throw new ConfigurationError(
          'storage.getPrincipalState',
          'a function, because previousServer needs it',
        );
      const own = hostStorage(storage);
      const previous = guarded({ ...rows, getPrincipalState: getPrincipalState.bind(storage) });
      const verifier = new PreviousJwts({ ...jwts, issuer: previousIssuer ?? issuer });
      const { tokens: joined, find } = withPreviousTokens(own, { previous, clock });
      return {
        storage: { ...own, tokens: joined },
        findPreviousToken: previousTokenFinder(issuer, verifier, find),
      };
    },
  };
}

const OLD_TOKEN_OPTIONS: Readonly<Record<keyof PreviousServer, true>> = {
  jwtService: true,
  issuer: true,
  tokens: true,
};

const REQUIRED_METHODS = ['identify', 'getByAccessToken', 'revoke'] as const;
const OPTIONAL_METHODS = ['getByRefreshToken', 'isRefreshTokenRevoked', 'isAccessTokenRevoked'] as const;

function requireTokens(
  tokens: Partial<PreviousTokenRepository> | undefined,
): asserts tokens is PreviousTokenRepository {
  for (const name of REQUIRED_METHODS)
    if (typeof tokens?.[name] !== 'function')
      throw new ConfigurationError(`previousServer.tokens.${name}`, 'a method');
  for (const name of OPTIONAL_METHODS)
    if (tokens?.[name] !== undefined && typeof tokens[name] !== 'function')
      throw new ConfigurationError(`previousServer.tokens.${name}`, 'a method or nothing');
}

/** The rows by kind and key. */
function previousRows(
  tokens: PreviousTokenRepository,
): Pick<PreviousParts['previous'], 'find' | 'isRevoked' | 'revoke'> {
  const find = async (kind: TokenKind, key: string): Promise<PreviousToken | undefined> =>
    (await (kind === 'access_token' ? tokens.getByAccessToken(key) : tokens.getByRefreshToken?.(key))) ??
    undefined;
  return {
    find,
    isRevoked: async (kind, row) =>
      (await (kind === 'access_token'
        ? tokens.isAccessTokenRevoked?.(row)
        : tokens.isRefreshTokenRevoked?.(row))) ?? false,
    async revoke(kind, key) {
      const row = await find(kind, key);
      if (row !== undefined) await tokens.revoke(row);
    },
  };
}

/** What is needed to verify JWTs of a previous server. */
interface PreviousJwtServices extends Pick<JwtVerifier, 'verify'> {
  /** Expected `iss`, if a token has one. */
  readonly issuer: string;
  /** @returns `undefined` if the JWT is neither an access token nor a refresh token */
  readonly identify: (claims: Claims, token: string) => TokenName | undefined;
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

/** Verifies JWTs of the previous server. */
class PreviousJwts {
  readonly #services: PreviousJwtServices;

  constructor(services: PreviousJwtServices) {
    this.#services = services;
  }

  /** @returns `undefined` if the token names no key of the previous server */
  async verify(token: string): Promise<PreviousJwt | NoPreviousJwt | undefined> {
    const { verify, issuer, identify } = this.#services;
    const jwt = await verify(token);
    if (!jwt.verified) return jwt.reason === 'bad_signature' ? { reason: jwt.reason } : undefined;
    const { claims } = jwt;
    const { kind, key: id } = identify(claims, token) ?? {};
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
function previousTokenFinder(
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
