// Scopes that a client may not have. § refers to RFC 6749.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuthorizationRequest } from '@grantd/core';
import { accepted, codeIn, formOf, redirected, refusalOf, USUAL } from './harness/authorization_endpoint.ts';
import { changeClient } from './harness/client_change.ts';
import { basic, openWorld, VERIFIER, type World } from './harness/world.ts';

const REFUSED = redirected('invalid_scope', 'a scope is not allowed');

/** The ways to make an authorization request with a scope. */
const WAYS: Readonly<Record<string, (world: World, scope: string) => Promise<AuthorizationRequest>>> = {
  direct: (world, scope) => accepted(world, { scope }),
  async pushed(world, scope) {
    const { status, body } = await world.send({
      method: 'POST',
      path: '/par',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic('web') },
      body: formOf({ ...USUAL, scope }).toString(),
    });
    assert.equal(status, 201, body);
    const query = new URLSearchParams({ client_id: 'web', request_uri: JSON.parse(body).request_uri });
    return world.server.authorization.validate({ method: 'GET', url: `/authorize?${query}`, headers: {} });
  },
  async resumed(world, scope) {
    const { parameters } = await accepted(world, { scope });
    return world.server.authorization.resume(parameters);
  },
};

/** Completes a request and returns the scope of the token response. */
async function granted(world: World, request: AuthorizationRequest): Promise<string> {
  const code = codeIn(await world.server.authorization.complete(request, { subject: 'alice' }));
  const { redirectUri } = request;
  const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, redirect_uri: redirectUri };
  const response = await world.post('/token', form, 'web');
  assert.equal(response.status, 200, response.body);
  return JSON.parse(response.body).scope;
}

test('§3.3 scopes that the client may not have are left out, and the token response names those granted', async (t) => {
  for (const [way, ask] of Object.entries(WAYS)) {
    const world = await openWorld(t);
    for (const [scope, expected] of [
      ['openid admin', 'openid'],
      ['admin read offline_access openid phone', 'read openid'],
      ['read', 'read'],
    ] as const) {
      const request = await ask(world, scope);
      assert.deepEqual(request.scopes, expected.split(' '), way);
      assert.equal(request.parameters.scope, expected, 'a later registration brings back nothing');
      assert.equal(await granted(world, request), expected, way);
    }
  }
});

test('§3.3 what was left out stays out, also if the client may have it by the time the request continues', async (t) => {
  const world = await openWorld(t);
  const { parameters } = await accepted(world, { scope: 'openid admin' });
  await changeClient(world, 'web', { scopes: ['openid', 'admin'] });
  assert.deepEqual((await world.server.authorization.resume(parameters)).scopes, ['openid']);
});

test('§3.3 a request of which no scope is left, or with a malformed one, is refused', async (t) => {
  const world = await openWorld(t);
  assert.deepEqual(await refusalOf(world, { scope: 'admin offline_access' }), REFUSED);
  assert.deepEqual(
    await refusalOf(world, { scope: 'openid a"b' }),
    redirected('invalid_scope', 'the scope is malformed'),
  );
});

test('§3.3 strictScopes refuses instead, and the strict_scopes of a client comes before it', async (t) => {
  const lenient = await openWorld(t);
  const strict = await openWorld(t, { strictScopes: true });
  const scope = 'openid admin';
  assert.deepEqual(await refusalOf(strict, { scope }), REFUSED);
  assert.deepEqual((await accepted(strict, { scope: 'openid read' })).scopes, ['openid', 'read']);
  await changeClient(lenient, 'web', { metadata: { strict_scopes: true } });
  assert.deepEqual(await refusalOf(lenient, { scope }), REFUSED);
  await changeClient(strict, 'web', { metadata: { strict_scopes: false } });
  assert.deepEqual((await accepted(strict, { scope })).scopes, ['openid']);
});
