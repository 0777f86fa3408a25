// Reads ID tokens that clients send back as hints.
import type { TokenContext } from './context.ts';
import { jwtTypeOf } from './jwt.ts';

/** The client and the user that an ID token was issued for. */
export interface IdTokenHint {
  readonly clientId: string;
  /** The identifier by which the client knows the user. */
  readonly sub: string;
  /** The identifier by which the client knows the session. */
  readonly sid?: string;
}

/**
 * Reads an ID token of this server. Expired ones are accepted too, because they only say whom the client means (OpenID
 * Connect Core §3.1.2.1, RP-Initiated Logout §2).
 * @returns `undefined` for everything else, including other JWTs of this server
 */
export async function readIdTokenHint(
  { jwt, issuer }: TokenContext,
  hint: string,
): Promise<IdTokenHint | undefined> {
  const verified = await jwt.verify(hint);
  if (!verified.verified || jwtTypeOf(verified.type) !== 'id_token') return undefined;
  const { iss, sub, aud, exp, iat, jti, sid } = verified.claims;
  // Other JWTs have the same type: UserInfo responses have no times, and access tokens have a `jti`.
  const isIdToken = typeof exp === 'number' && typeof iat === 'number' && jti === undefined;
  if (iss !== issuer || !isIdToken) return undefined;
  const [clientId, ...others] = [aud].flat();
  if (typeof clientId !== 'string' || others.length > 0 || typeof sub !== 'string') return undefined;
  return { clientId, sub, ...(typeof sid === 'string' && { sid }) };
}
