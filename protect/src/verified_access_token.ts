// What a checked access token permits, and the errors of checking one.

import type { TokenScheme } from '@grantd/core/internal/http/bearer';
import { OAuthError, type ReasonCode, StorageFault } from '@grantd/core/internal/http/errors';
import { DocumentError } from '@grantd/core/internal/http/fetch_document';
import { LONGEST_ACCESS_TOKEN } from '@grantd/core/internal/http/http';
import { frozen } from '@grantd/core/internal/platform/cache';
import { bindingRefusal, type Claims } from '@grantd/core/internal/protocol/claims';
import { hasResource } from '@grantd/core/internal/protocol/client_metadata';

/** A verified access token. */
export interface VerifiedAccessToken {
  /** The user, or the client if it acts for itself. `undefined` if introspection does not return it. */
  readonly sub: string | undefined;
  /** The client that the token was issued to. `undefined` if introspection does not return it. */
  readonly clientId: string | undefined;
  readonly scopes: readonly string[];
  /** Seconds since 1970. `undefined` if introspection does not return it. */
  readonly expiresAt: number | undefined;
  /** The token's claims, or the members of the introspection response, named as on the wire. */
  readonly claims: Claims;
}

/** A way to check access tokens. Implement it to check them in your own way. */
export interface AccessTokens {
  /** Of which issuer and for which audience it accepts tokens, for the API's metadata. Default: metadata need their URL. */
  readonly accepts?: {
    readonly issuer?: string | undefined;
    readonly audience?: readonly string[] | undefined;
  };
  /**
   * @param scheme how the token was presented. A token that is bound to a key is accepted only with `DPoP`, and the
   *   caller must then check the proof, as `protect` does. Default: `Bearer`.
   * @param certificate thumbprint of the certificate of the TLS connection: SHA-256 of its DER, base64url. A token that
   *   is bound to a certificate is accepted only with the same one. Default: none.
   * @throws {OAuthError} `invalid_token` (RFC 6750 §3.1)
   * @throws {AuthorizationServerFault} the token could not be checked
   */
  verify(token: string, scheme?: TokenScheme, certificate?: string): Promise<VerifiedAccessToken>;
}

/**
 * Requires that the token was presented in the way that it needs (RFC 8705 §3, RFC 9449 §7.1, §7.2).
 * @returns the same token
 * @throws {OAuthError} `invalid_token`: bound to a key and presented without a proof, or the reverse; bound to another
 *   certificate; or bound in a way that is not known here
 */
export function requireBinding(
  token: VerifiedAccessToken,
  scheme: TokenScheme,
  certificate: string | undefined,
): VerifiedAccessToken {
  const reason = bindingRefusal(token.claims.cnf, scheme, certificate);
  if (reason !== undefined) throw refusedToken(reason);
  return token;
}

/** @param claims whose types have been checked */
export function verifiedAccessToken(claims: Claims): VerifiedAccessToken {
  const { sub, client_id: clientId, scope, exp } = claims;
  // Frozen, because a cache or a shared introspection can give the same object to other requests.
  return frozen({
    sub: typeof sub === 'string' ? sub : undefined,
    clientId: typeof clientId === 'string' ? clientId : undefined,
    scopes: typeof scope === 'string' ? scope.split(' ').filter((item) => item !== '') : [],
    expiresAt: typeof exp === 'number' ? exp : undefined,
    claims,
  });
}

/** Whether one of the token's audiences is one of the API's (RFC 9068 §4). */
export function isMeantFor(audience: readonly string[], aud: unknown): boolean {
  return [aud].flat().some((item) => typeof item === 'string' && hasResource(audience, item));
}

/** Returns `invalid_token` with a description that the bearer may read. */
export function refusedToken(reason: ReasonCode): OAuthError {
  return new OAuthError('invalid_token', DESCRIPTIONS[reason] ?? 'the access token is not valid', { reason });
}

/** @throws {OAuthError} `invalid_token`: longer than any issued token; checking it would waste time */
export function requireTokenLength(token: string): void {
  if (token.length > LONGEST_ACCESS_TOKEN) throw refusedToken('malformed');
}

const DESCRIPTIONS: Partial<Record<ReasonCode, string>> = {
  malformed: 'the access token is malformed',
  wrong_type: 'the token is not an access token that is accepted here',
  token_bound: 'the access token is bound to a key and needs a proof',
  token_unbound: 'the access token is not bound to a key',
  client_certificate_missing: 'the access token is bound to a client certificate',
  client_certificate_wrong: 'the access token is bound to another client certificate',
  wrong_issuer: 'the access token is from another issuer',
  audience_wrong: 'the access token is for another API',
  expired: 'the access token is expired',
  not_yet_valid: 'the access token is not valid yet',
  not_active: 'the access token is not active',
};

/** The authorization server is unavailable or sent an invalid response, so nothing is known about the token. */
export class AuthorizationServerFault extends Error {
  readonly status = 503;
  readonly headers: Readonly<Record<string, string>> = { 'cache-control': 'no-store', 'retry-after': '1' };

  constructor(cause: unknown, message = 'the authorization server is unavailable') {
    super(message, { cause });
    this.name = 'AuthorizationServerFault';
  }
}

/** Wraps outages of the authorization server, in another process or in this one. Returns other errors unchanged. */
export function asFault(error: unknown): unknown {
  const isOutage = error instanceof DocumentError || error instanceof StorageFault;
  return isOutage ? new AuthorizationServerFault(error) : error;
}

/**
 * Waits for the authorization server.
 * @throws {AuthorizationServerFault} it, or its storage, is unavailable
 */
export async function answerOf<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    throw asFault(error);
  }
}

/**
 * Returns the token that `protect` attached to the request.
 * @throws {TypeError} `protect` has not run for this request
 */
export function attachedToken(value: unknown): VerifiedAccessToken {
  if (isVerified(value)) return value;
  throw new TypeError('the request has no verified token: put protect() in front of this handler');
}

function isVerified(value: unknown): value is VerifiedAccessToken {
  return typeof value === 'object' && value !== null && 'scopes' in value && 'claims' in value;
}
