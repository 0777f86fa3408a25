// § refers to RFC 8707.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewClient } from '@grantd/core';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { approvedCode, askForTokens, type Fields, grantTo, redeemed } from './harness/granting.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { bearerError } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { forgedWithStolenKey } from './harness/stolen_key.ts';
import { addClient, issued, refused } from './harness/token_endpoint.ts';
import { basic, CLIENTS, ISSUER, openWorld, specification, type World } from './harness/world.ts';

const API = 'https://api.example';
const MAIL = 'https://mail.example/v1';
const UNKNOWN = 'https://unknown.example';

const NOT_GRANTED = refused('invalid_target', 'a resource is not part of the grant');
const NOT_KNOWN = refused('invalid_target', 'a resource is not registered, or not for this client');

/** A client, and a second API next to that of the world. */
async function addParties(world: World, client: Partial<NewClient> = {}): Promise<void> {
  await addClient(world, { ...CLIENTS.web, id: 'app', ...client });
  await addClient(world, { id: 'mail', grantTypes: [], scopes: [], redirectUris: [], resource: MAIL });
}

const granted = { request: { resource: [API, MAIL] } };

async function refresh(world: World, refresh_token: string, fields: Fields = {}) {
  return askForTokens(world, 'app', { grant_type: 'refresh_token', refresh_token, ...fields });
}

function audienceOf(tokens: { readonly access_token: string }): unknown {
  return decodeJwt(tokens.access_token).aud;
}

specification('Resources at the token endpoint (RFC 8707 §2.2)', ON_EVERY_STORE, (spec) => {
  spec(
    'tokens for an API whose verifier refuses at+jwt are plain JWTs, only for that API',
    async (world) => {
      await addParties(world);
      const openid = { request: { resource: API, scope: 'openid read' } };
      const { access_token, id_token } = await grantTo(world, 'app', openid);
      assert.equal(decodeProtectedHeader(access_token).typ, 'JWT');
      const { access_token: forBoth } = await grantTo(world, 'app', granted);
      const { access_token: forMail } = await grantTo(world, 'app', { request: { resource: MAIL } });
      for (const other of [forBoth, forMail]) assert.equal(decodeProtectedHeader(other).typ, 'at+jwt');

      assert.deepEqual(await world.alive(access_token, id_token), [true, false]);
      const refusal = bearerError(401, 'invalid_token', 'the token is not an access token');
      assert.deepEqual(await world.userInfo(access_token), refusal);
      const forged = await forgedWithStolenKey(world, { jti: decodeJwt(access_token).jti }, { typ: 'JWT' });
      assert.deepEqual(await world.alive(forged), [false]);
      const withoutOption = await secondServer(world);
      assert.deepEqual(await withoutOption.alive(access_token), [true]);
      await world.post('/token/revoke', { token: access_token }, null, { authorization: basic('app') });
      assert.deepEqual(await world.alive(access_token), [false]);
    },
    { apisWithPlainJwts: [API] },
  );

  spec('§2.2 an access token is for all granted resources if none is named', async (world) => {
    await addParties(world);
    assert.deepEqual(audienceOf(await grantTo(world, 'app', granted)), [API, MAIL]);
    assert.equal(audienceOf(await grantTo(world, 'app', { request: { resource: MAIL } })), MAIL);
    assert.equal(audienceOf(await grantTo(world, 'app')), ISSUER, 'by default');
  });

  spec('§2.2 a code is redeemed for one of its resources, or for several', async (world) => {
    await addParties(world);
    for (const [resource, aud] of [
      [MAIL, MAIL],
      [
        [MAIL, API],
        [MAIL, API],
      ],
      [[MAIL, MAIL], MAIL],
    ] as const) {
      const tokens = await grantTo(world, 'app', { ...granted, redemption: { resource } });
      assert.deepEqual(audienceOf(tokens), aud);
    }
  });

  spec(
    '§2.2 each refresh chooses among the granted resources, whatever earlier ones chose',
    async (world) => {
      await addParties(world);
      let tokens = await grantTo(world, 'app', { ...granted, redemption: { resource: API } });
      for (const [fields, aud] of [
        [{ resource: MAIL }, MAIL],
        [{}, [API, MAIL]],
        [{ resource: API }, API],
      ] as const) {
        tokens = issued(await refresh(world, tokens.refresh_token, fields));
        assert.deepEqual(audienceOf(tokens), aud);
      }
    },
  );

  spec('§2.2 a resource that was not granted is invalid_target, and spends nothing', async (world) => {
    await addParties(world);
    const code = await approvedCode(world, 'app', { request: { resource: API } });
    for (const resource of [MAIL, [API, MAIL], UNKNOWN, 'no uri', `${API}/v1`]) {
      assert.deepEqual(await redeemed(world, 'app', { redemption: { code, resource } }), NOT_GRANTED);
    }
    assert.equal(world.lastReason, 'resource_not_granted');
    const { refresh_token } = issued(await redeemed(world, 'app', { redemption: { code } }));
    assert.deepEqual(await refresh(world, refresh_token, { resource: MAIL }), NOT_GRANTED);
    assert.equal(audienceOf(issued(await refresh(world, refresh_token))), API);
  });

  spec(
    '§2.2 a grant without resources is for the default audience, of which a part may be named',
    async (world) => {
      await addParties(world);
      assert.deepEqual(audienceOf(await grantTo(world, 'app')), [ISSUER, API]);
      const redemption = { resource: API };
      const tokens = await grantTo(world, 'app', { redemption });
      assert.equal(audienceOf(tokens), API);
      assert.deepEqual(await redeemed(world, 'app', { redemption: { resource: MAIL } }), NOT_GRANTED);
    },
    { defaultAudience: [ISSUER, API] },
  );

  spec('§2 a client that acts for itself names the APIs that it is allowed', async (world) => {
    await addParties(world);
    const ask = (fields: Fields) =>
      askForTokens(world, 'machine', { grant_type: 'client_credentials', ...fields });
    assert.equal(audienceOf(issued(await ask({ resource: MAIL }))), MAIL);
    assert.deepEqual(audienceOf(issued(await ask({ resource: [MAIL, API] }))), [MAIL, API]);
    assert.equal(audienceOf(issued(await ask({ resource: ISSUER }))), ISSUER, 'the default audience');
    assert.deepEqual(await ask({ resource: UNKNOWN }), NOT_KNOWN);
    assert.deepEqual(await ask({ resource: [API, UNKNOWN] }), NOT_KNOWN);
    const malformed = refused('invalid_target', 'a resource is not an absolute URI without fragment');
    for (const resource of ['api', `${API}#part`]) assert.deepEqual(await ask({ resource }), malformed);
  });

  spec(
    '§2.2 under the policy audience an API sees the tokens that are for it, and no other',
    async (world) => {
      await addParties(world);
      const both = await grantTo(world, 'app', granted);
      const narrowed = issued(await refresh(world, both.refresh_token, { resource: MAIL }));
      const sees = async (token: string) => JSON.parse((await world.introspect(token)).body).active;
      assert.deepEqual([await sees(both.access_token), await sees(narrowed.access_token)], [true, false]);
      assert.equal((await world.userInfo(narrowed.access_token)).status, 200, 'UserInfo checks no audience');
    },
    { introspectionPolicy: 'audience', accessTokenFormat: 'opaque' },
  );
});

test('§2.2 an opaque token says its audience at introspection', async (t) => {
  const world = await openWorld(t, { accessTokenFormat: 'opaque' });
  await addParties(world);
  const { access_token } = await grantTo(world, 'app', { ...granted, redemption: { resource: MAIL } });
  assert.equal(JSON.parse((await world.introspect(access_token)).body).aud, MAIL);
});

test('§2 a store without APIs has only the default audience', async (t) => {
  const world = await openWorld(t);
  const { findApis: _, ...clients } = world.storage.clients;
  const other = await secondServer(world, {}, { ...world.storage, clients });
  const ask = (resource: string) =>
    askForTokens(other, 'machine', { grant_type: 'client_credentials', resource });
  assert.deepEqual((await ask(API)).body, NOT_KNOWN.body);
  assert.equal(audienceOf(issued(await ask(ISSUER))), ISSUER);
});

test('§2 an operator can make an API only of what a request can name', async (t) => {
  const { server } = await openWorld(t);
  const register = (resource: string) => server.operator.clientFrom({ id: 'api' }, { resource });
  assert.equal((await register(`${API}/%C3%BC`)).resource, `${API}/%C3%BC`);
  const problem = {
    name: 'ClientMetadataError',
    message: 'resource: expected an absolute URI without fragment (RFC 8707 section 2)',
  };
  for (const resource of [`${API}/ü`, `${API}/a b`, `${API}#part`, 'api'])
    await assert.rejects(register(resource), problem, resource);
});
