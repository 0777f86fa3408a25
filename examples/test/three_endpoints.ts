import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { basic, json, post } from './asking.ts';
import { type Application, CLIENTS, OTHER_KEY } from './own_tables.ts';

const OWNER = basic('my-app', CLIENTS['my-app']);
const OTHER = basic('other-app', CLIENTS['other-app']);
const INACTIVE = { status: 200, body: '{"active":false}' };

/** Asserts what a host of these tables answers at the three endpoints below `url`. */
export async function assertThreeEndpoints(url: string, application: Application): Promise<void> {
  const { issuer, issue, sign } = application;
  const introspect = async (token: string, headers = OTHER) => {
    const response = await post(`${url}/token/introspect`, { token }, headers);
    return { status: response.status, body: await response.text() };
  };
  const active = async (token: string) => {
    const { status, body } = await introspect(token);
    assert.equal(status, 200);
    return JSON.parse(body);
  };
  const revoke = async (token: string, headers = OWNER) => {
    const response = await post(`${url}/token/revoke`, { token }, headers);
    assert.deepEqual([response.status, await response.text()], [200, '']);
  };
  const userInfo = (token: string) =>
    fetch(`${url}/userinfo`, { headers: { authorization: `Bearer ${token}` } });

  // Introspection of both kinds, by any client.
  const { access, refresh, jti, issuedAt, expiresAt } = await issue();
  const told = { active: true, scope: 'openid email', client_id: 'my-app', sub: '7', iss: issuer };
  assert.deepEqual(await active(access), { ...told, jti, iat: issuedAt, exp: expiresAt });
  assert.deepEqual(await active(refresh), { ...told, exp: expiresAt });
  const hex = await issue({ refresh: randomBytes(32).toString('hex') });
  assert.equal((await active(hex.refresh)).active, true);

  // Wrong credentials, also of clients that do not exist.
  for (const [id, secret] of [
    ['my-app', 'wrong'],
    ['my-app', CLIENTS['other-app']],
    ['nobody', 'its-secret'],
    ['my-app\0', 'its-secret'],
  ] as const) {
    const refused = await post(`${url}/token/introspect`, { token: access }, basic(id, secret));
    assert.deepEqual(
      [refused.status, (await json(refused)).error],
      [401, 'invalid_client'],
      `${id}:${secret}`,
    );
  }

  // Texts that were not issued as tokens, and tokens that have expired by their row alone.
  const expired = await issue({ lifetimeSeconds: -1 });
  const forged = [await sign(), await sign({ jti }, OTHER_KEY)];
  const dead = [expired.access, expired.refresh, ...forged, 'unknown', jti];
  for (const token of dead) assert.deepEqual(await introspect(token), INACTIVE);

  // UserInfo, limited to the scopes of the row.
  const claims = await userInfo(access);
  assert.deepEqual([claims.status, await json(claims)], [200, { sub: '7', email: 'alice@example.com' }]);
  const { access: withProfile } = await issue({ scope: 'openid profile' });
  assert.deepEqual(await json(await userInfo(withProfile)), { sub: '7', name: 'Alice Liddell' });
  const { access: withoutOpenid } = await issue({ scope: 'email' });
  assert.equal((await userInfo(withoutOpenid)).status, 403);
  for (const token of [...dead, refresh]) assert.equal((await userInfo(token)).status, 401);

  // A lost connection does not end the process, and an outage never looks like an answer.
  await application.disconnect?.();
  while ((await introspect(access)).status === 503) await pause(20);
  assert.equal((await active(access)).active, true);
  await application.duringOutage(async () => {
    const answers = [
      await post(`${url}/token/introspect`, { token: access }, OTHER),
      await post(`${url}/token/introspect`, { token: refresh }, OTHER),
      await post(`${url}/token/revoke`, { token: refresh }, OWNER),
      await userInfo(access),
    ];
    for (const { status, headers } of answers)
      assert.deepEqual([status, headers.has('retry-after')], [503, true]);
  });

  // Revocation: by the owner alone, of the whole grant, and at once.
  await revoke(access, OTHER);
  assert.equal((await active(access)).active, true);
  await revoke(refresh);
  for (const token of [access, refresh]) assert.deepEqual(await introspect(token), INACTIVE);
  assert.equal((await userInfo(access)).status, 401);
  await revoke(hex.access);
  for (const token of [hex.access, hex.refresh]) assert.deepEqual(await introspect(token), INACTIVE);
  await revoke(expired.access);
}
