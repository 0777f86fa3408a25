import { base64url } from 'jose';
import type { Claims } from '../protocol/claims.ts';
import { secondsOf } from '../protocol/environment.ts';
import type { ClientRecord, SigningAlgorithm } from '../protocol/records.ts';
import type { TokenContext } from './context.ts';

/** What an ID token says besides its issuer and times (OpenID Connect Core §2). */
export interface IdTokenContent {
  readonly client: ClientRecord;
  readonly subject: string;
  readonly accessToken: string;
  readonly nonce?: string;
  readonly sessionId?: string;
  /** `auth_time`, `acr` and `amr` are taken from them. */
  readonly claims: Claims;
}

/** An ID token. It has no record, since nothing accepts it as a token. */
export async function mintIdToken(context: TokenContext, content: IdTokenContent): Promise<string> {
  const { client, nonce, sessionId } = content;
  const { auth_time, acr, amr } = content.claims;
  const iat = secondsOf(context.clock());
  const algorithm = client.idTokenAlgorithm ?? context.idTokenAlgorithm;
  const claims: Claims = {
    iss: context.issuer,
    sub: content.subject,
    aud: client.id,
    iat,
    exp: iat + context.lifetimes.idToken,
    at_hash: await leftHalfHash(content.accessToken, algorithm),
    ...(auth_time !== undefined && { auth_time }),
    ...(acr !== undefined && { acr }),
    ...(amr !== undefined && { amr }),
    ...(nonce !== undefined && { nonce }),
    ...(sessionId !== undefined && { sid: sessionId }),
  };
  return (await context.jwt.sign(claims, { type: 'JWT', algorithm })).token;
}

/** `at_hash` (OpenID Connect Core §3.1.3.6), by the hash of the signing algorithm; Ed25519's is SHA-512. */
async function leftHalfHash(token: string, algorithm: SigningAlgorithm): Promise<string> {
  const hash = algorithm === 'EdDSA' ? 'SHA-512' : 'SHA-256';
  const digest = new Uint8Array(await crypto.subtle.digest(hash, new TextEncoder().encode(token)));
  return base64url.encode(digest.subarray(0, digest.length / 2));
}
