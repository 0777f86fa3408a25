import assert from 'node:assert/strict';
import type { Client } from '../client.ts';
import { type JsonObject, verified } from '../jws.ts';
import type { Provider } from '../provider.ts';

/** The logout token of a client (OpenID Connect Back-Channel Logout §2.4, §2.5), about the session of an ID token. */
export async function checkLogoutToken(
  provider: Provider,
  { id }: Client,
  sent: URLSearchParams,
  identity: JsonObject,
): Promise<void> {
  assert.deepEqual([...sent.keys()], ['logout_token']);
  const { header, claims } = await verified(sent.get('logout_token') ?? '', await provider.keys());
  const { iat, exp, jti, ...others } = claims;
  const now = Date.now() / 1000;
  assert.equal(header.typ, 'logout+jwt');
  assert.ok(typeof iat === 'number' && Math.abs(iat - now) < 30, 'iat is now');
  assert.ok(typeof exp === 'number' && exp > now, 'exp is later');
  assert.ok(typeof jti === 'string' && jti !== '');
  assert.equal(typeof identity.sid, 'string');
  assert.deepEqual(others, {
    iss: provider.issuer,
    aud: id,
    sub: identity.sub,
    sid: identity.sid,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  });
}
