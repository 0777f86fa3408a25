import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, post, SERVICE } from './asking.ts';
import { assertLoopbackAlone } from './loopback.ts';
import { started } from './started.ts';

const RESOURCE = 'http://localhost:3001';

test('examples/protected_api accepts active tokens until they are revoked or the server is down', async (t) => {
  const server = await started(t, 'hosts/express.ts');
  const api = await started(t, 'protected_api/api.ts', { ISSUER: server.url });
  const tokenFor = async (resource: string) => {
    const order = { grant_type: 'client_credentials', scope: 'read', resource };
    return String((await json(await post(`${server.url}/token`, order, SERVICE))).access_token);
  };
  const asked = async (token?: string, method = 'GET') => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await fetch(`${api.url}/reports`, { method, headers });
    return [answer.status, answer.headers.get('www-authenticate'), await answer.text()];
  };
  const token = await tokenFor(RESOURCE);

  assert.deepEqual(await asked(), [401, 'Bearer realm="api", scope="read"', '']);
  assert.deepEqual(await asked(token), [200, null, '{"reports":[],"readBy":"my-service"}']);
  assert.deepEqual(await asked(token, 'POST'), [
    403,
    'Bearer realm="api", error="insufficient_scope", error_description="the access token lacks a required scope", scope="write"',
    '{"error":"insufficient_scope","error_description":"the access token lacks a required scope"}',
  ]);

  assert.deepEqual(await asked(await tokenFor(server.url)), notGood('the access token is for another API'));

  const another = await tokenFor(RESOURCE);
  assert.equal((await post(`${server.url}/token/revoke`, { token }, SERVICE)).status, 200);
  assert.deepEqual(await asked(token), notGood('the access token is not active'));
  assert.equal((await asked(another))[0], 200);
  await assertLoopbackAlone(api.url);

  await server.stop();
  const away = await fetch(`${api.url}/reports`, { headers: { authorization: `Bearer ${another}` } });
  assert.deepEqual([away.status, away.headers.get('www-authenticate')], [503, null]);
  assert.match(away.headers.get('retry-after') ?? '', /^\d+$/);
  assert.equal((await json(away)).error, 'temporarily_unavailable');
});

function notGood(description: string) {
  return [
    401,
    `Bearer realm="api", error="invalid_token", error_description="${description}", scope="read"`,
    JSON.stringify({ error: 'invalid_token', error_description: description }),
  ];
}
