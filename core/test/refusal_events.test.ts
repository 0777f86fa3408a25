// The details of refused requests in events for operators.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutBearers } from '@grantd/core';
import { PREFIXES } from '../src/tokens/opaque_token.ts';
import { openRegistration, postRegistration } from './harness/registration.ts';
import { CHALLENGE, CLIENTS, openWorld, type World } from './harness/world.ts';

const AUTHORIZE = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: CLIENTS.web.redirectUris[0],
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
};

async function lastRefusal(world: World, request: Promise<unknown>) {
  await request.catch(() => undefined);
  const event = world.events.findLast(({ type }) => type === 'refused');
  assert.ok(event?.type === 'refused');
  const { reason, clientId, value } = event;
  return { reason, clientId, value };
}

function authorize(world: World, parameters: Readonly<Record<string, string>>): Promise<unknown> {
  const url = `/authorize?${new URLSearchParams({ ...AUTHORIZE, ...parameters })}`;
  return world.server.authorization.validate({ method: 'GET', url, headers: {} });
}

test('a refused authorization request names its client and the value that was refused', async (t) => {
  const world = await openWorld(t);
  const foreign = 'https://evil.example/callback';
  assert.deepEqual(await lastRefusal(world, authorize(world, { redirect_uri: foreign })), {
    reason: 'redirect_uri_mismatch',
    clientId: 'web',
    value: foreign,
  });
  assert.deepEqual(await lastRefusal(world, authorize(world, { client_id: 'ghost' })), {
    reason: 'client_unknown',
    clientId: undefined,
    value: 'ghost',
  });
  assert.deepEqual(await lastRefusal(world, authorize(world, { scope: 'admin root' })), {
    reason: 'scope_not_allowed',
    clientId: 'web',
    value: 'admin root',
  });
});

test('a refused token, introspection or revocation request names the value that was refused', async (t) => {
  const world = await openWorld(t);
  const grant = { grant_type: 'client_credentials' };
  const ask = (path: string, form: Readonly<Record<string, string>>) =>
    lastRefusal(world, world.post(path, form, 'machine'));
  assert.deepEqual(await ask('/token', { ...grant, scope: 'read admin' }), {
    reason: 'scope_not_allowed',
    clientId: 'machine',
    value: 'admin',
  });
  assert.deepEqual(await ask('/token', { grant_type: 'password' }), {
    reason: 'grant_unknown',
    clientId: 'machine',
    value: 'password',
  });
  assert.deepEqual(await ask('/token/introspect', { token: 'x', token_type_hint: 'bearer' }), {
    reason: 'unknown_hint',
    clientId: 'machine',
    value: 'bearer',
  });
  const unknown = { token: 'x', client_id: 'ghost', client_secret: 'boo' };
  assert.deepEqual(await lastRefusal(world, world.post('/token/revoke', unknown)), {
    reason: 'client_unknown',
    clientId: undefined,
    value: 'ghost',
  });
});

test('a refused value is cut at 256 characters, escaped, and never a bearer value', async (t) => {
  const world = await openWorld(t);
  const loggedValue = async (redirectUri: string) =>
    (await lastRefusal(world, authorize(world, { redirect_uri: redirectUri }))).value ?? '';
  const long = await loggedValue(`https://evil.example/${'x'.repeat(5000)}`);
  assert.equal(long.length, 256);
  assert.ok(long.endsWith('x…'), long);
  assert.equal(await loggedValue('a\nb\u202ec\u0000'), 'a\\u{a}b\\u{202e}c\\u{0}');
  const opaque = Object.values(PREFIXES).map((prefix) => prefix + 'A'.repeat(43));
  const jwt = `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.e30.c2ln`;
  for (const secret of [...opaque, jwt]) {
    assert.equal(withoutBearers(secret), '[removed]');
    assert.equal(await loggedValue(`https://evil.example/?x=${secret}`), 'https://evil.example/?x=[removed]');
    const cut = await loggedValue(`https://evil.example/${'x'.repeat(230)}${secret}`);
    assert.ok(!cut.includes(secret.slice(0, 12)), cut);
  }
});

test('an unregistered or foreign resource, and a scope of another API, are named', async (t) => {
  const world = await openWorld(t);
  const api = { grantTypes: [], scopes: [], redirectUris: [], metadata: { api_scopes: ['pay'] } };
  await world.storage.clients.add({ ...api, id: 'bank', resource: 'https://bank.example' });
  const of = (reason: string, value: string) => ({ reason, clientId: 'machine', value });
  const ask = (form: Readonly<Record<string, string>>) =>
    lastRefusal(world, world.post('/token', { grant_type: 'client_credentials', ...form }, 'machine'));
  const nowhere = 'https://nowhere.example';
  assert.deepEqual(await ask({ resource: nowhere }), of('resource_unknown', nowhere));
  assert.deepEqual(
    await ask({ resource: 'https://bank.example' }),
    of('resource_not_allowed', 'https://bank.example'),
  );
  assert.deepEqual(await ask({ resource: 'nowhere' }), of('parameter_invalid', 'nowhere'));
  assert.deepEqual(await lastRefusal(world, authorize(world, { resource: nowhere })), {
    reason: 'resource_unknown',
    clientId: 'web',
    value: nowhere,
  });
});

test('a refused registration names the member and what was expected, and never its value', async (t) => {
  const world = await openWorld(t, openRegistration());
  const register = (members: object) =>
    lastRefusal(world, postRegistration(world, { redirect_uris: ['https://app.example/'], ...members }));
  assert.deepEqual(await register({ backchannel_logout_uri: 'http://app.example/logout' }), {
    reason: 'client_metadata_unfit',
    clientId: undefined,
    value: 'backchannel_logout_uri: expected https',
  });
  const privateJwk = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'hidden' };
  const { value = '' } = await register({ jwks: { keys: [privateJwk] } });
  assert.match(value, /^jwks: expected /);
  assert.doesNotMatch(value, /hidden/);
});

test('the operator learns of a parameter audience, which is ignored', async (t) => {
  const world = await openWorld(t);
  const audience = 'https://api.example';
  const ignored = () => world.events.filter(({ type }) => type === 'audience_ignored');
  await world.post('/token', { grant_type: 'client_credentials', audience }, 'machine');
  assert.deepEqual(ignored(), [
    { type: 'audience_ignored', operation: 'token', clientId: 'machine', value: audience },
  ]);
  await authorize(world, { audience });
  assert.deepEqual(ignored().at(-1), {
    type: 'audience_ignored',
    operation: 'authorization',
    clientId: 'web',
    value: audience,
  });
});
