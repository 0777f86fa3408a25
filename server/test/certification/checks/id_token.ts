import assert from 'node:assert/strict';
import { type JsonObject, leftHalfHash, verified } from '../jws.ts';
import type { Provider } from '../provider.ts';
import { checkStandardClaims, standardClaimsIn } from './standard_claims.ts';

/** Maximum seconds between issuance and check, on a busy machine. */
const LEEWAY = 60;

interface ExpectedIdToken {
  readonly clientId: string;
  readonly nonce: string | undefined;
  /** The access token issued with it. */
  readonly accessToken: string;
  /** Default: RS256. */
  readonly algorithm?: string;
  /** Whether claims about the user were requested in it. Default: false. */
  readonly hasUserClaims?: boolean;
}

/** The claims of an ID token, after all checks that apply to every one (OpenID Connect Core §3.1.3.7). */
export async function checkIdToken(
  provider: Provider,
  idToken: string,
  { clientId, nonce, accessToken, algorithm, hasUserClaims = false }: ExpectedIdToken,
): Promise<JsonObject> {
  const { claims } = await verified(idToken, await provider.keys(), algorithm);
  const { iss, aud, exp, iat, auth_time: authTime, azp, at_hash: atHash } = claims;
  const now = Date.now() / 1000;
  assert.equal(iss, provider.issuer);
  assert.deepEqual([aud].flat(), [clientId]);
  assert.ok(azp === undefined || azp === clientId, 'azp is the client');
  assert.ok(typeof exp === 'number' && exp > now, 'exp is later');
  assert.ok(typeof iat === 'number' && Math.abs(iat - now) < LEEWAY, 'iat is now');
  assert.equal(claims.nonce, nonce);
  assert.ok(
    authTime === undefined || (typeof authTime === 'number' && authTime <= now + LEEWAY),
    'auth_time',
  );
  assert.equal(atHash, await leftHalfHash(accessToken));
  assert.equal(claims.c_hash, undefined, 'no code comes with it');
  checkStandardClaims(claims);
  if (!hasUserClaims)
    assert.deepEqual(standardClaimsIn(claims), ['sub'], 'what was not asked of it is for UserInfo');
  return claims;
}
