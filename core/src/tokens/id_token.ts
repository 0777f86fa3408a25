import { base64url } from 'jose';
import { secondsOf } from '../environment.ts';
import type { Claims } from '../protocol/claims.ts';
import type { SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { TokenContext } from './context.ts';
import { JWT_TYPES, jwtTypeOf } from './jwt.ts';
import { newIdentifier } from './opaque_token.ts';

/** What an ID token says besides its issuer and times (OpenID Connect Core §2). */
interface IdTokenContent {
  readonly client: ClientRecord;
  /** The identifier of the person that the client is told. */
  readonly sub: string;
  readonly accessToken: string;
  readonly nonce?: string;
  /** `auth_time`, `acr`, `amr` and `sid` are taken from them. */
  readonly claims: Claims;
  /** What the client asked for about the person; none of `PROTOCOL_CLAIMS`. */
  readonly attributes?: Claims;
}

/** Claims that speak of the token and the sign-in (OpenID Connect Core §2, RFC 7519 §4.1): the server alone says them. */
export const PROTOCOL_CLAIMS: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'],
  ...['auth_time', 'nonce', 'acr', 'amr', 'azp', 'at_hash', 'c_hash', 's_hash', 'sid', 'events', 'cnf'],
]);

/** An ID token. It has no record, since nothing accepts it as a token. */
export async function mintIdToken(context: TokenContext, content: IdTokenContent): Promise<string> {
  const { client, nonce, attributes } = content;
  const { auth_time, acr, amr, sid } = content.claims;
  const iat = secondsOf(context.clock());
  const algorithm = idTokenAlgorithmOf(context, client);
  const claims: Claims = {
    ...attributes,
    iss: context.issuer,
    sub: content.sub,
    aud: client.id,
    iat,
    exp: iat + context.lifetimes.idToken,
    at_hash: await leftHalfHash(content.accessToken, algorithm),
    ...(auth_time !== undefined && { auth_time }),
    ...(acr !== undefined && { acr }),
    ...(amr !== undefined && { amr }),
    ...(nonce !== undefined && { nonce }),
    ...(sid !== undefined && { sid }),
  };
  return (await context.jwt.sign(claims, { type: JWT_TYPES.id_token, algorithm })).token;
}

/** What the ID tokens of a client are signed with, and with them its logout tokens. */
function idTokenAlgorithmOf(context: TokenContext, client: ClientRecord): SigningAlgorithm {
  return client.idTokenAlgorithm ?? context.idTokenAlgorithm;
}

/** `at_hash` (OpenID Connect Core §3.1.3.6), by the hash of the signing algorithm; Ed25519's is SHA-512. */
async function leftHalfHash(token: string, algorithm: SigningAlgorithm): Promise<string> {
  const hash = algorithm === 'EdDSA' ? 'SHA-512' : 'SHA-256';
  const digest = new Uint8Array(await crypto.subtle.digest(hash, new TextEncoder().encode(token)));
  return base64url.encode(digest.subarray(0, digest.length / 2));
}

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

/** Seconds: what is captured on the way is soon of no use (Back-Channel Logout §4). */
const LOGOUT_TOKEN_LIFETIME = 120;

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** A logout token (Back-Channel Logout §2.4): tells a client that a session has ended, in the names that it knows. */
export async function mintLogoutToken(
  context: TokenContext,
  client: ClientRecord,
  { sub, sid }: { readonly sub?: string | undefined; readonly sid: string },
): Promise<string> {
  const iat = secondsOf(context.clock());
  const claims = {
    iss: context.issuer,
    ...(sub !== undefined && { sub }),
    aud: client.id,
    iat,
    exp: iat + LOGOUT_TOKEN_LIFETIME,
    jti: newIdentifier(context.random),
    sid,
    events: { [LOGOUT_EVENT]: {} },
  };
  const algorithm = idTokenAlgorithmOf(context, client);
  return (await context.jwt.sign(claims, { type: JWT_TYPES.logout_token, algorithm })).token;
}
