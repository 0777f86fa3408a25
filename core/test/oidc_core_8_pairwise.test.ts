// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewClient } from '@grantd/core';
import { decodeJwt } from 'jose';
import { approvedCode, askForTokens, grantTo } from './harness/granting.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import { addClient, NEW_SECRET } from './harness/token_endpoint.ts';
import {
  CLIENTS,
  type GrantedTokens,
  openWorld,
  PEOPLE,
  specification,
  VERIFIER,
  type World,
} from './harness/world.ts';

const pairwiseSecret = 'the secret of pairwise subjects, which never changes';
const metadata = { subject_type: 'pairwise' } as const;
const SHOP: NewClient = {
  ...CLIENTS.web,
  id: 'shop',
  metadata,
  redirectUris: ['https://shop.example/callback', 'https://shop.example:8443/other'],
};
const BANK: NewClient = { ...CLIENTS.web, id: 'bank', metadata, redirectUris: ['https://bank.example/cb'] };

/** Everything that identifies a user to a client or an API. */
async function toldBy(world: World, { access_token, refresh_token, id_token }: GrantedTokens) {
  const of = async (token: string) => JSON.parse((await world.introspect(token)).body);
  return {
    introspection: (await of(access_token)).sub,
    refreshToken: (await of(refresh_token)).sub,
    idToken: decodeJwt(id_token).sub,
    userInfo: JSON.parse((await world.userInfo(access_token)).body).sub,
  };
}

specification('Pairwise subjects (OpenID Connect Core §8)', ON_EVERY_STORE, (spec) => {
  spec(
    '§8 ID token, UserInfo and introspection tell one identifier, which is not the server’s own',
    async (world) => {
      await addClient(world, SHOP);
      const tokens = await grantTo(world, 'shop');
      const { sub = '' } = decodeJwt(tokens.access_token);
      assert.match(sub, /^[\w-]{43}$/);
      const everywhere = { introspection: sub, refreshToken: sub, idToken: sub, userInfo: sub };
      assert.deepEqual(await toldBy(world, tokens), everywhere);
      const { refresh_token } = tokens;
      const refreshed = await askForTokens(world, 'shop', { grant_type: 'refresh_token', refresh_token });
      assert.deepEqual(await toldBy(world, JSON.parse(refreshed.body)), everywhere);
    },
    { pairwiseSecret },
  );

  spec(
    '§8 opaque tokens tell no more than others',
    async (world) => {
      await addClient(world, SHOP);
      const tokens = await grantTo(world, 'shop');
      const sub = await world.server.subjectIdentifier(SHOP, 'alice');
      assert.deepEqual(await toldBy(world, tokens), {
        introspection: sub,
        refreshToken: sub,
        idToken: sub,
        userInfo: sub,
      });
    },
    { pairwiseSecret, accessTokenFormat: 'opaque', useOpaqueRefreshTokens: true },
  );

  spec(
    '§8 neither name nor subject of the user is in any token or response',
    async (world) => {
      await addClient(world, SHOP);
      const approval = { subject: 'internal-7f3a', username: 'the-name-of-alice' };
      const tokens = await grantTo(world, 'shop', { approval });
      const answers = [
        ...[tokens.access_token, tokens.refresh_token, tokens.id_token].map((token) => decodeJwt(token)),
        ...(await Promise.all(
          [tokens.access_token, tokens.refresh_token].map(
            async (token) => (await world.introspect(token)).body,
          ),
        )),
        (await world.userInfo(tokens.access_token)).body,
      ];
      assert.match(JSON.stringify(answers), /"active\\":true/);
      assert.doesNotMatch(JSON.stringify(answers), /internal-7f3a|the-name-of-alice/);
    },
    { pairwiseSecret, oidc: { getUserClaims: () => ({ email: 'a@example.org' }) } },
  );

  spec(
    '§12.2 the subject identifier stays, even if the client has been registered anew',
    async (world) => {
      await addClient(world, SHOP);
      const { refresh_token, id_token } = await grantTo(world, 'shop');
      await world.server.flush(); // the last use of its secret changes the client's row
      const read = await world.storage.clients.get('shop');
      assert.ok(read?.secrets);
      const { secrets } = read;
      assert.ok(await world.storage.clients.replace({ ...CLIENTS.web, id: 'shop', secrets }, read));
      const response = await askForTokens(world, 'shop', { grant_type: 'refresh_token', refresh_token });
      assert.equal(decodeJwt(JSON.parse(response.body).id_token).sub, decodeJwt(id_token).sub);
    },
    { pairwiseSecret },
  );
});

test('§8.1 the clients of one sector get the same identifier, those of another get another', async (t) => {
  const { server } = await openWorld(t, { pairwiseSecret });
  const told = (client: Partial<NewClient>) =>
    server.subjectIdentifier({ ...SHOP, ...client, metadata: { ...metadata, ...client.metadata } }, 'alice');
  const sub = await told({});
  const sector_identifier_uri = 'https://shop.example/apps.json';
  assert.equal(await told({ id: 'other', redirectUris: ['https://shop.example/other'] }), sub);
  assert.equal(await told({ redirectUris: BANK.redirectUris, metadata: { sector_identifier_uri } }), sub);
  assert.notEqual(await told(BANK), sub);
  assert.notEqual(await server.subjectIdentifier(SHOP, 'bob'), sub);
  assert.equal(await server.subjectIdentifier(CLIENTS.web, 'alice'), 'alice', 'public, as by default');
});

test('§8.1 only the secret and the user determine the identifier, not the server or its secret', async (t) => {
  const world = await openWorld(t, { pairwiseSecret });
  const sub = await world.server.subjectIdentifier(SHOP, 'alice');
  const restarted = await secondServer(world, { pairwiseSecret, secret: NEW_SECRET });
  assert.equal(await restarted.server.subjectIdentifier(SHOP, 'alice'), sub);
  const other = await secondServer(world, { pairwiseSecret: `${pairwiseSecret}.` });
  assert.notEqual(await other.server.subjectIdentifier(SHOP, 'alice'), sub);
});

test('§8.1 without a sector there is no identifier, and never the server’s own instead', async (t) => {
  const { server } = await openWorld(t, { pairwiseSecret });
  const [shop = ''] = SHOP.redirectUris;
  for (const redirectUris of [
    [...SHOP.redirectUris, ...BANK.redirectUris],
    [shop, 'com.evil.app://shop.example/callback'],
    [shop, 'http://127.0.0.1/callback'],
  ]) {
    await assert.rejects(
      server.subjectIdentifier({ ...SHOP, redirectUris }, 'alice'),
      /^Error: the client shop has pairwise subjects, which need https redirect URIs of one host, or a sector_identi/,
    );
  }
});

test('§8.1 only https redirect URIs prove a sector: without them a client is a sector of its own', async (t) => {
  const { server } = await openWorld(t, { pairwiseSecret });
  const told = async (id: string, ...redirectUris: readonly string[]) => {
    const client = { ...SHOP, id, redirectUris };
    return [
      await server.subjectIdentifier(client, 'alice'),
      await server.sessionIdentifier(client, 'session'),
    ];
  };
  const victim = await told('victim', 'https://shop.example/callback');
  const [evil, other] = [await told('evil'), await told('other')];
  assert.notDeepEqual(evil, other);
  for (const uri of [
    'com.evil.app://shop.example/callback',
    'http://shop.example/callback',
    'http://127.0.0.1/callback',
    'http://localhost:4711/callback',
    'https://localhost/callback',
  ]) {
    assert.deepEqual(await told('evil', uri), evil, uri);
    assert.notDeepEqual(await told('evil', uri), victim, uri);
  }
  const named = { ...SHOP, id: 'shop.example', redirectUris: ['com.evil.app:/callback'] };
  assert.notEqual(await server.subjectIdentifier(named, 'alice'), victim[0], 'a client is no host');
});

test('§8 a server that has lost its secret of pairwise subjects approves nothing; a code has said already who it is about', async (t) => {
  const world = await openWorld(t, { pairwiseSecret });
  await addClient(world, SHOP);
  const code = await approvedCode(world, 'shop');
  const restarted = await secondServer(world, { oidc: { getUserClaims: (subject) => PEOPLE[subject] } });
  await assert.rejects(approvedCode(restarted, 'shop'), { code: 'server_error' });
  await assert.rejects(restarted.server.subjectIdentifier(SHOP, 'alice'), {
    message: 'the client shop has pairwise subjects, which need the option pairwiseSecret',
  });
  const { status, body } = await askForTokens(restarted, 'shop', {
    ...{ grant_type: 'authorization_code', code, code_verifier: VERIFIER },
    redirect_uri: SHOP.redirectUris[0] ?? '',
  });
  assert.equal(status, 200, body);
  const sub = await world.server.subjectIdentifier(SHOP, 'alice');
  assert.equal(decodeJwt(JSON.parse(body).id_token).sub, sub);
});

test('OpenID Connect Discovery §3 pairwise subjects are in the metadata if there is a secret for them', async (t) => {
  const [having, lacking] = [await openWorld(t, { pairwiseSecret }), await openWorld(t)];
  assert.deepEqual(having.server.serverMetadata.subject_types_supported, ['public', 'pairwise']);
  assert.deepEqual(lacking.server.serverMetadata.subject_types_supported, ['public']);
});

test('§8 tokens that an operator issues tell the same identifier, and no name', async (t) => {
  const world = await openWorld(t, { pairwiseSecret });
  await addClient(world, SHOP);
  const order = { clientId: 'shop', subject: 'alice', username: 'alice', refresh: true };
  const [issued] = await world.server.operator.issueTokens(order);
  const sub = await world.server.subjectIdentifier(SHOP, 'alice');
  for (const token of [issued?.accessToken ?? '', issued?.refreshToken ?? '']) {
    const { username, sub: told } = JSON.parse((await world.introspect(token)).body);
    assert.deepEqual([told, username], [sub, undefined]);
  }
  await addClient(world, { ...SHOP, id: 'many', redirectUris: [...SHOP.redirectUris, ...BANK.redirectUris] });
  await assert.rejects(
    world.server.operator.issueTokens({ ...order, clientId: 'many' }),
    /^OperatorIssueError: the client many has pairwise subjects, which require https redirect URIs of one host, or a/,
  );
});

test('§3.1.2.1 a client names the expected user by the subject identifier that it received', async (t) => {
  const world = await openWorld(t, { pairwiseSecret });
  await addClient(world, SHOP);
  const { id_token } = await grantTo(world, 'shop');
  const url = `/authorize?${new URLSearchParams({
    client_id: 'shop',
    response_type: 'code',
    redirect_uri: SHOP.redirectUris[0] ?? '',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    id_token_hint: id_token,
  })}`;
  const request = await world.server.authorization.validate({ method: 'GET', url, headers: {} });
  assert.equal(await world.server.authorization.isExpectedUser(request, 'alice'), true);
  assert.equal(await world.server.authorization.isExpectedUser(request, 'bob'), false);
  const { expectedSubject: _, ...unhinted } = request;
  assert.equal(await world.server.authorization.isExpectedUser(unhinted, 'bob'), true);
});

test('a host’s record without claims still has the client’s identifier of the user', async (t) => {
  const world = await openWorld(t, { pairwiseSecret, accessTokenFormat: 'opaque' });
  await addClient(world, SHOP);
  const { access_token } = await grantTo(world, 'shop');
  const withoutClaims = {
    ...world.storage,
    tokens: {
      ...world.storage.tokens,
      async getByAccessToken(id: string) {
        const { claims: _, ...record } = (await world.storage.tokens.getByAccessToken(id)) ?? {};
        return 'id' in record ? record : undefined;
      },
    },
  };
  const other = await secondServer(world, { pairwiseSecret }, withoutClaims as typeof world.storage);
  const { sub } = JSON.parse((await other.introspect(access_token)).body);
  assert.equal(sub, await world.server.subjectIdentifier(SHOP, 'alice'));
});

test('pairwiseSecret has at least 32 characters', async (t) => {
  for (const bad of ['x'.repeat(31), '']) {
    await assert.rejects(
      openWorld(t, { pairwiseSecret: bad }),
      /pairwiseSecret: expected a text of at least 32 characters/,
    );
  }
});
