import type { TokenContext } from './context.ts';
import { jwtTypeOf } from './jwt.ts';

/** What an ID token that comes back to the server says about whom it was issued to, and about whom. */
export interface IdTokenHint {
  readonly clientId: string;
  /** The identifier of the person that the client was told. */
  readonly sub: string;
  /** The session of the person, as the client was told. */
  readonly sid?: string;
}

/**
 * An ID token of this server as a hint; also one that has expired, since it only names whom the client means (OpenID
 * Connect Core §3.1.2.1, RP-Initiated Logout §2).
 * @returns `undefined` for anything else, the server's other JWTs included
 */
export async function readIdTokenHint(
  { jwt, issuer }: TokenContext,
  hint: string,
): Promise<IdTokenHint | undefined> {
  const verified = await jwt.verify(hint);
  if (!verified.verified || jwtTypeOf(verified.type) !== 'id_token') return undefined;
  const { iss, sub, aud, exp, iat, jti, sid } = verified.claims;
  // Of the server's other JWTs of this type an answer of UserInfo has no times, and an access token has a `jti`.
  const isIdToken = typeof exp === 'number' && typeof iat === 'number' && jti === undefined;
  if (iss !== issuer || !isIdToken) return undefined;
  const [clientId, ...others] = [aud].flat();
  if (typeof clientId !== 'string' || others.length > 0 || typeof sub !== 'string') return undefined;
  return { clientId, sub, ...(typeof sid === 'string' && { sid }) };
}
