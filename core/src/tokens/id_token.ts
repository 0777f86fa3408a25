import { base64url } from 'jose';
import type { Claims } from '../protocol/claims.ts';
import { secondsOf } from '../protocol/environment.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { SigningAlgorithm } from '../protocol/signing_algorithm.ts';
import type { TokenContext } from './context.ts';
import { JWT_TYPES } from './jwt_types.ts';

/** What an ID token says besides its issuer and times (OpenID Connect Core §2). */
export interface IdTokenContent {
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
export function idTokenAlgorithmOf(context: TokenContext, client: ClientRecord): SigningAlgorithm {
  return client.idTokenAlgorithm ?? context.idTokenAlgorithm;
}

/** `at_hash` (OpenID Connect Core §3.1.3.6), by the hash of the signing algorithm; Ed25519's is SHA-512. */
async function leftHalfHash(token: string, algorithm: SigningAlgorithm): Promise<string> {
  const hash = algorithm === 'EdDSA' ? 'SHA-512' : 'SHA-256';
  const digest = new Uint8Array(await crypto.subtle.digest(hash, new TextEncoder().encode(token)));
  return base64url.encode(digest.subarray(0, digest.length / 2));
}
