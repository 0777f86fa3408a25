import assert from 'node:assert/strict';
import type { JsonObject } from '../jws.ts';
import { jsonOf } from '../provider.ts';
import { checkStandardClaims } from './standard_claims.ts';

/** UserInfo as JSON, about the user of the ID token (OpenID Connect Core §5.3.2). */
export async function checkUserInfo(response: Response, sub: unknown): Promise<JsonObject> {
  assert.equal(response.status, 200);
  const claims = await jsonOf(response);
  checkClaims(claims, sub);
  return claims;
}

/** Checks for UserInfo in every form. */
export function checkClaims(claims: JsonObject, sub: unknown): void {
  checkStandardClaims(claims);
  assert.equal(claims.sub, sub);
  assert.equal(claims.nonce, undefined);
  assert.deepEqual(
    Object.keys(claims).filter((name) => name.startsWith('_claim_')),
    [],
  );
}
