import type { Claims } from '../protocol/claims.ts';
import { frozen } from '../protocol/frozen.ts';

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
