import { frozen } from '@grantd/core/internal/cache';
import { OAuthError, type ReasonCode, StorageFault } from '@grantd/core/internal/http/errors';
import { DocumentError } from '@grantd/core/internal/http/fetch_document';
import { LONGEST_ACCESS_TOKEN } from '@grantd/core/internal/http/http';
import type { Claims } from '@grantd/core/internal/protocol/claims';

/** What an access token permits, and to whom. */
export interface VerifiedAccessToken {
  /** The person, or the client where it acts for itself; `undefined` where introspection does not tell. */
  readonly sub: string | undefined;
  /** The client that the token was issued to; `undefined` where introspection does not tell. */
  readonly clientId: string | undefined;
  readonly scopes: readonly string[];
  /** Seconds; `undefined` where introspection does not tell. */
  readonly expiresAt: number | undefined;
  /** The claims of the token, or the members of the answer of introspection; names as on the wire. */
  readonly claims: Claims;
}

/** A way of checking access tokens. */
export interface AccessTokens {
  /**
   * @throws {OAuthError} `invalid_token` (RFC 6750 §3.1)
   * @throws {AuthorizationServerFault} nothing could be found out about the token
   */
  verify(token: string): Promise<VerifiedAccessToken>;
}

/** @param claims that hold what their names promise */
export function verifiedAccessToken(claims: Claims): VerifiedAccessToken {
  const { sub, client_id: clientId, scope, exp } = claims;
  // Others may be given the same, by a cache or by a question that they shared.
  return frozen({
    sub: typeof sub === 'string' ? sub : undefined,
    clientId: typeof clientId === 'string' ? clientId : undefined,
    scopes: typeof scope === 'string' ? scope.split(' ').filter((one) => one !== '') : [],
    expiresAt: typeof exp === 'number' ? exp : undefined,
    claims,
  });
}

/** Whether one of a token's audiences is one of the API's (RFC 9068 §4). */
export function isMeantFor(audience: readonly string[], aud: unknown): boolean {
  return [aud].flat().some((one) => typeof one === 'string' && audience.includes(one));
}

/** `invalid_token`; what the bearer may know of the reason is in the description. */
export function refusedToken(reason: ReasonCode): OAuthError {
  return new OAuthError('invalid_token', DESCRIPTIONS[reason] ?? 'the access token is not valid', { reason });
}

/** @throws {OAuthError} `invalid_token`: nobody issues such a long one, and nobody shall be made to read it */
export function requireTokenLength(token: string): void {
  if (token.length > LONGEST_ACCESS_TOKEN) throw refusedToken('malformed');
}

const DESCRIPTIONS: Partial<Record<ReasonCode, string>> = {
  malformed: 'the access token is malformed',
  wrong_type: 'the token is not an access token that a bearer may use',
  wrong_issuer: 'the access token is from another issuer',
  audience_wrong: 'the access token is meant for another API',
  expired: 'the access token is expired',
  not_yet_valid: 'the access token is not valid yet',
  not_active: 'the access token is not active',
};

/** The authorization server could not be asked, or did not answer as it must. It says nothing about the token. */
export class AuthorizationServerFault extends Error {
  readonly status = 503;
  readonly headers: Readonly<Record<string, string>> = { 'cache-control': 'no-store', 'retry-after': '1' };

  constructor(cause: unknown) {
    super('the authorization server cannot be asked', { cause });
    this.name = 'AuthorizationServerFault';
  }
}

/** What kept an authorization server from answering, elsewhere or in the same process, as that fault; else the same. */
export function asFault(error: unknown): unknown {
  const isOutage = error instanceof DocumentError || error instanceof StorageFault;
  return isOutage ? new AuthorizationServerFault(error) : error;
}

/**
 * What the authorization server was asked for.
 * @throws {AuthorizationServerFault} it could not be asked, or its storage could not
 */
export async function answerOf<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    throw asFault(error);
  }
}

/**
 * What `protect` left behind for the handler.
 * @throws {TypeError} it was not asked for this request
 */
export function foundToken(left: unknown): VerifiedAccessToken {
  if (isVerified(left)) return left;
  throw new TypeError('the request carries no verified token: protect() does not stand before this handler');
}

function isVerified(value: unknown): value is VerifiedAccessToken {
  return typeof value === 'object' && value !== null && 'scopes' in value && 'claims' in value;
}
