// § refers to RFC 8707.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sha256 } from '#crypto';
import { accepted, codeIn, redirected, refusalOf } from './harness/authorization_endpoint.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import { CLIENTS, openWorld, specification } from './harness/world.ts';

const API = CLIENTS.api.resource;

specification('Resource Indicators at the authorization endpoint (RFC 8707)', ON_EVERY_STORE, (spec) => {
  spec('§2.1 the requested resources are stored with the code', async (world) => {
    const request = await accepted(world, { resource: API });
    const response = await world.server.authorization.complete(request, { subject: 'alice' });
    const record = await world.storage.authorizationCodes.get(await sha256(codeIn(response)));
    assert.deepEqual(record?.resources, [API]);
  });
});

test('§2 several resources may be requested, each is listed once', async (t) => {
  const world = await openWorld(t, { defaultAudience: ['https://first.example', 'urn:example:second'] });
  const resource = [API, 'https://first.example', API, 'urn:example:second'];
  const { resources, parameters } = await accepted(world, { resource });
  assert.deepEqual(resources, [API, 'https://first.example', 'urn:example:second']);
  const again = await world.server.authorization.resume(parameters);
  assert.deepEqual(again.resources, resources);

  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = { ...parameters, resource: [API, 'https://first.example'] };
  const parsed = { method: 'POST', url: '/authorize', headers, body };
  const { resources: posted } = await world.server.authorization.validate(parsed);
  assert.deepEqual(posted, [API, 'https://first.example']);
});

test('§2 without resource there is none', async (t) => {
  const world = await openWorld(t);
  assert.equal('resources' in (await accepted(world)), false);
  assert.equal('resources' in (await accepted(world, { resource: '' })), false);
});

test('§2 a resource is the default audience or a registered API, else invalid_target', async (t) => {
  const world = await openWorld(t);
  const malformed = 'a resource is not an absolute URI without fragment';
  const unknown = 'a resource is not registered, or not for this client';
  for (const [resource, description] of [
    ['https://api.example/v1', unknown],
    ['http://api.example', unknown],
    ['https://web.example/callback', unknown],
    [[API, 'https://evil.example'], unknown],
    ['/relative', malformed],
    ['api.example', malformed],
    ['https://api.example#fragment', malformed],
    ['https://api.example#', malformed],
    ['https://apí.example', malformed],
    ['https://api.example\0', malformed],
    [' ', malformed],
    [`${API}  ${API}`, malformed],
    [Array.from({ length: 11 }, (_, i) => `${API}/${i}`), 'the request names more than ten resources'],
  ] as const) {
    const response = await refusalOf(world, { resource });
    assert.deepEqual(response, redirected('invalid_target', description), String(resource));
  }
  assert.deepEqual((await accepted(world, { resource: 'https://as.example' })).resources, [
    'https://as.example',
  ]);
});

test('§2 a disabled API does not exist', async (t) => {
  const world = await openWorld(t);
  await world.storage.setDisabled('client', 'api', true);
  const response = await refusalOf(world, { resource: API });
  assert.deepEqual(
    response,
    redirected('invalid_target', 'a resource is not registered, or not for this client'),
  );
  assert.equal(world.lastReason, 'resource_unknown');
});

test('§2 a store that knows no APIs leaves the default audience', async (t) => {
  const first = await openWorld(t);
  const { findApis: _, ...clients } = first.storage.clients;
  const world = await secondServer(first, {}, { ...first.storage, clients });
  const ask = { scope: 'read', resource: API };
  assert.deepEqual(
    await refusalOf(world, ask),
    redirected('invalid_target', 'a resource is not registered, or not for this client'),
  );
  const { resources } = await accepted(world, { ...ask, resource: 'https://as.example' });
  assert.deepEqual(resources, ['https://as.example']);
});
