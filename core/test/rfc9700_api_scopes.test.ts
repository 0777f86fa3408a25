// APIs own scopes, and clients are allowed APIs.
// § refers to RFC 9700.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewClient } from '@grantd/core';
import { decodeJwt } from 'jose';
import { accepted, redirected, refusalOf } from './harness/authorization_endpoint.ts';
import { changeClient } from './harness/client_change.ts';
import { approvedCode, askForTokens, type Fields, grantTo, redeemed } from './harness/granting.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { addClient, GRACE_MS, issued, refused } from './harness/token_endpoint.ts';
import { CLIENTS, ISSUER, openWorld, specification, type World } from './harness/world.ts';

const BANK = 'https://bank.example';
const MAIL = 'https://post.example';
const SHOP = 'https://shop.example';

const apiOf = (id: string, resource: string, scopes: readonly string[]): NewClient => ({
  id,
  grantTypes: [],
  scopes: [],
  redirectUris: [],
  resource,
  ...(scopes.length > 0 && { metadata: { api_scopes: scopes } }),
});

const APP: NewClient = {
  ...CLIENTS.web,
  id: 'app',
  grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
  scopes: ['openid', 'read', 'pay', 'write', 'previous'],
  metadata: { apis: [BANK, MAIL, SHOP] },
};

/** Two APIs that declare scopes, one that declares none, and a client. */
async function addParties(world: World, client: Partial<NewClient> = {}): Promise<void> {
  await addClient(world, apiOf('bank', BANK, ['read', 'pay']));
  await addClient(world, apiOf('mail', MAIL, ['read', 'write']));
  await addClient(world, apiOf('shop', SHOP, []));
  await addClient(world, { ...APP, ...client });
}

const ask = (world: World, fields: Fields) =>
  askForTokens(world, 'app', { grant_type: 'client_credentials', ...fields });

const refresh = (world: World, refresh_token: string, fields: Fields = {}) =>
  askForTokens(world, 'app', { grant_type: 'refresh_token', refresh_token, ...fields });

/** Audience and scopes of an access token. */
function tokenIn(tokens: { readonly access_token: string }): readonly [aud: unknown, scope: unknown] {
  const { aud, scope } = decodeJwt(tokens.access_token);
  return [aud, scope];
}

const OUTSIDE = refused('invalid_scope', 'a scope is for another resource');
const NOT_ALLOWED = refused('invalid_target', 'a resource is not registered, or not for this client');
const AMBIGUOUS = refused('invalid_target', 'several resources declare the scopes: send resource');
const NO_SCOPE = refused('invalid_scope', 'no scope of the grant is left');
const NO_RESOURCE = refused('invalid_target', 'no resource of the grant is left');

specification('APIs own scopes, and clients are allowed APIs (RFC 9700 §2.3)', ON_EVERY_STORE, (spec) => {
  spec('§2.3 a client gets tokens for the APIs that it is allowed, and for no other', async (world) => {
    await addParties(world, { metadata: { apis: [BANK] } });
    assert.deepEqual(tokenIn(issued(await ask(world, { resource: BANK }))), [BANK, 'read pay']);
    for (const resource of [MAIL, [BANK, MAIL]])
      assert.deepEqual(await ask(world, { resource }), NOT_ALLOWED);
    assert.equal(world.lastReason, 'resource_not_allowed');
  });

  spec('§2.3 a token carries the scopes that its audience declares, and no other', async (world) => {
    await addParties(world);
    for (const [resource, scope, expected] of [
      [BANK, 'read', [BANK, 'read']],
      [MAIL, 'write read', [MAIL, 'write read']],
      [[BANK, MAIL], 'read write pay', [[BANK, MAIL], 'read write pay']],
      [SHOP, 'previous', [SHOP, 'previous']],
    ] as const)
      assert.deepEqual(tokenIn(issued(await ask(world, { resource, scope }))), expected);
    for (const [resource, scope] of [
      [BANK, 'write'],
      [BANK, 'read previous'],
      [MAIL, 'pay'],
      [SHOP, 'read'],
      [ISSUER, 'read'],
    ] as const)
      assert.deepEqual(await ask(world, { resource, scope }), OUTSIDE, `${scope} at ${resource}`);
    assert.equal(world.lastReason, 'scope_outside_audience');
  });

  spec('§2.3 a refresh token gives no scope that was taken from its client', async (world) => {
    await addParties(world);
    const first = await grantTo(world, 'app', { request: { resource: BANK, scope: 'openid read pay' } });
    await changeClient(world, 'app', { scopes: ['openid', 'pay'] });
    const second = issued(await refresh(world, first.refresh_token));
    assert.deepEqual([tokenIn(second), second.scope], [[BANK, 'openid pay'], 'openid pay']);
    assert.deepEqual(
      await refresh(world, second.refresh_token, { scope: 'read' }),
      refused('invalid_scope', 'a scope is not allowed'),
    );

    await changeClient(world, 'app', { scopes: ['openid', 'read', 'pay'] });
    const third = issued(await refresh(world, second.refresh_token));
    assert.equal(third.scope, 'openid pay', 'what comes back to the client does not come back to the grant');
    await changeClient(world, 'app', { scopes: ['write'] });
    assert.deepEqual(await refresh(world, third.refresh_token), NO_SCOPE);
    assert.equal(world.lastReason, 'scope_withdrawn');
  });

  spec('§2.3 a retry within the grace gives no scope that the client has lost meanwhile', async (world) => {
    await addParties(world);
    const first = await grantTo(world, 'app', { request: { resource: BANK, scope: 'read pay' } });
    const second = issued(await refresh(world, first.refresh_token));
    await changeClient(world, 'app', { scopes: ['read'] });
    world.clock.nowMs += GRACE_MS - 1;
    const retried = issued(await refresh(world, first.refresh_token));
    assert.equal(retried.refresh_token, second.refresh_token);
    assert.deepEqual(tokenIn(retried), [BANK, 'read']);
  });

  spec('§2.3 a code gives no scope and no API that the client has lost meanwhile', async (world) => {
    await addParties(world);
    const request = { resource: [BANK, MAIL], scope: 'read pay write' };
    const code = await approvedCode(world, 'app', { request });
    const other = await approvedCode(world, 'app', { request: { resource: BANK, scope: 'read' } });
    await changeClient(world, 'app', { scopes: ['read', 'write'], metadata: { apis: [MAIL] } });
    const tokens = issued(await redeemed(world, 'app', { redemption: { code } }));
    assert.deepEqual(tokenIn(tokens), [MAIL, 'read write']);
    assert.deepEqual(tokenIn(issued(await refresh(world, tokens.refresh_token))), [MAIL, 'read write']);
    assert.deepEqual(await redeemed(world, 'app', { redemption: { code: other } }), NO_RESOURCE);
    assert.equal(world.lastReason, 'resource_withdrawn');
  });

  spec('§2.3 after an API is removed or disabled nothing is issued for it', async (world) => {
    await addParties(world);
    const both = { request: { resource: [BANK, MAIL], scope: 'read pay write' } };
    const first = await grantTo(world, 'app', both);
    const only = await grantTo(world, 'app', { request: { resource: BANK, scope: 'read' } });
    const { clients, setDisabled } = world.storage;
    await setDisabled('client', 'bank', true);
    assert.deepEqual(await refresh(world, only.refresh_token), NO_RESOURCE);
    await setDisabled('client', 'bank', false);
    const still = issued(await refresh(world, only.refresh_token));
    assert.deepEqual(tokenIn(still), [BANK, 'read'], 'a refusal spends nothing');
    assert.equal(await clients.remove('bank'), true);
    assert.deepEqual(tokenIn(issued(await refresh(world, first.refresh_token))), [MAIL, 'read write']);
    assert.deepEqual(await refresh(world, still.refresh_token), NO_RESOURCE);
    assert.deepEqual(await ask(world, { resource: BANK, scope: 'read' }), NOT_ALLOWED);
  });

  spec('§2.3 a refresh token that does not rotate gives no more than its client has', async (world) => {
    await addParties(world, { rotateRefreshTokens: false });
    const { refresh_token } = await grantTo(world, 'app', {
      request: { resource: BANK, scope: 'read pay' },
    });
    await changeClient(world, 'app', { scopes: ['pay'] });
    assert.deepEqual(tokenIn(issued(await refresh(world, refresh_token))), [BANK, 'pay']);
    await changeClient(world, 'app', { metadata: { apis: [] } });
    assert.deepEqual(await refresh(world, refresh_token), NO_RESOURCE);
  });
});

test('§2.3 without a resource, scopes that point to one API choose it', async (t) => {
  const world = await openWorld(t);
  await addParties(world);
  assert.deepEqual(tokenIn(issued(await ask(world, { scope: 'pay' }))), [BANK, 'pay']);
  assert.deepEqual(tokenIn(issued(await ask(world, { scope: 'read pay' }))), [BANK, 'read pay']);
  assert.deepEqual(tokenIn(issued(await ask(world, { scope: 'previous' }))), [ISSUER, 'previous']);
  for (const scope of ['read', 'pay write']) assert.deepEqual(await ask(world, { scope }), AMBIGUOUS, scope);
  assert.deepEqual(await ask(world, {}), AMBIGUOUS);
  assert.equal(world.lastReason, 'resource_needed');
  assert.deepEqual(await ask(world, { scope: 'pay previous' }), OUTSIDE);

  await changeClient(world, 'app', { metadata: { apis: [MAIL] } });
  assert.deepEqual(tokenIn(issued(await ask(world, { scope: 'read' }))), [MAIL, 'read']);
  assert.deepEqual(tokenIn(issued(await ask(world, {}))), [MAIL, 'read write'], 'no scope is named');
  assert.deepEqual(await ask(world, { scope: 'pay' }), OUTSIDE, 'an API that the client is not allowed');
  await changeClient(world, 'app', { metadata: { apis: [] } });
  assert.deepEqual(tokenIn(issued(await ask(world, {}))), [ISSUER, 'previous']);
});

test('§2.3 implicit choices of a request are stored explicitly, and stay unchanged', async (t) => {
  const world = await openWorld(t);
  await addParties(world);
  const request = await accepted(world, { client_id: 'app', scope: 'openid pay' });
  assert.deepEqual([request.resources, request.scopes], [[BANK], ['openid', 'pay']]);
  assert.equal(request.parameters.resource, BANK);
  const all = await accepted(world, { client_id: 'app', scope: undefined, resource: MAIL });
  assert.deepEqual(all.scopes, ['openid', 'read', 'write']);

  await changeClient(world, 'app', { metadata: { apis: [MAIL] } });
  const resumed = await world.server.authorization.resume(all.parameters);
  assert.deepEqual(resumed.scopes, all.scopes);
  await assert.rejects(world.server.authorization.resume(request.parameters), {
    code: 'invalid_target',
  });
  assert.deepEqual(
    await refusalOf(world, { client_id: 'app', scope: 'pay' }),
    redirected('invalid_scope', 'the client has no scope for the resource'),
  );
});

test('§2.3 one resource of a grant gives the scopes that it declares', async (t) => {
  const world = await openWorld(t);
  await addParties(world);
  const { refresh_token } = await grantTo(world, 'app', {
    request: { resource: [BANK, MAIL, SHOP], scope: 'openid pay write' },
    redemption: { resource: BANK },
  });
  const next = issued(await refresh(world, refresh_token, { resource: MAIL }));
  assert.deepEqual(tokenIn(next), [MAIL, 'openid write']);
  assert.deepEqual(await refresh(world, next.refresh_token, { resource: MAIL, scope: 'pay' }), OUTSIDE);
  const machine = await grantTo(world, 'app', { request: { resource: [BANK, MAIL], scope: 'pay' } });
  assert.deepEqual(
    await refresh(world, machine.refresh_token, { resource: MAIL }),
    refused('invalid_scope', 'the grant has no scope for the resource'),
  );
});

test('§2.3 a scope that an API declares later leaves the default audience', async (t) => {
  const world = await openWorld(t);
  await addParties(world);
  const first = await grantTo(world, 'app', { request: { scope: 'openid previous' } });
  assert.deepEqual(tokenIn(first), [ISSUER, 'openid previous']);
  await changeClient(world, 'shop', { metadata: { api_scopes: ['previous'] } });
  assert.deepEqual(tokenIn(issued(await refresh(world, first.refresh_token))), [ISSUER, 'openid']);
});

test('§2.3 only an API declares scopes, and only its own', async (t) => {
  const { server } = await openWorld(t);
  const register = (members: object) => server.operator.clientFrom({ id: 'new' }, { ...members });
  const { metadata } = await register({ resource: BANK, api_scopes: ['read', 'read'], apis: [MAIL] });
  assert.deepEqual(metadata, { api_scopes: ['read'], apis: [MAIL] });
  for (const [members, member] of [
    [{ api_scopes: ['read'] }, 'api_scopes'],
    [{ resource: BANK, api_scopes: ['openid'] }, 'api_scopes'],
    [{ resource: BANK, api_scopes: ['two words'] }, 'api_scopes'],
    [{ apis: ['bank'] }, 'apis'],
  ] as const)
    await assert.rejects(register(members), { name: 'ClientMetadataError', member });
});

test('§2.3 an operator issues no token beyond the registration of the client', async (t) => {
  const world = await openWorld(t);
  await addParties(world);
  const issue = (order: object) => world.server.operator.issueTokens({ clientId: 'app', ...order });
  const [token] = await issue({ resources: [BANK], scopes: ['read'], subject: 'alice', refresh: true });
  assert.ok(token?.refreshToken);
  assert.deepEqual(tokenIn({ access_token: token.accessToken }), [BANK, 'read']);
  assert.deepEqual(tokenIn(issued(await refresh(world, token.refreshToken))), [BANK, 'read']);
  for (const [order, message] of [
    [{ resources: [BANK], scopes: ['write'] }, 'a scope is for another resource: write'],
    [
      { resources: ['https://other.example'] },
      'a resource is not registered, or not for this client: https://other.example',
    ],
    [{ scopes: ['read'] }, 'several resources declare the scopes: send resource: read'],
    [{ scopes: ['admin'] }, 'the client app has no scope admin'],
  ] as const)
    await assert.rejects(issue(order), { name: 'OperatorIssueError', message });
});
