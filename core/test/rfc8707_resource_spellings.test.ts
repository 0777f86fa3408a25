// Every place that compares resources. § refers to RFC 8707.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AuthorizationDetail,
  isSameResource,
  lowerCaseSpellings,
  type NewClient,
  normalResource,
} from '@grantd/core';
import { authorizationDetails } from '@grantd/core/authorization_details';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { askForTokens, grantTo } from './harness/granting.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { CALLBACK, openRegistration, register } from './harness/registration.ts';
import { secondServer } from './harness/second_server.ts';
import { addClient, issued } from './harness/token_endpoint.ts';
import { basic, CLIENTS, ISSUER, openWorld, specification, type World } from './harness/world.ts';

/** As registered, and as URL libraries send it. */
const API = 'https://Books.example';
const SPELLINGS = [
  'https://books.example',
  'https://books.example/',
  'https://books.example:443',
  'https://BOOKS.EXAMPLE:443/',
  'HTTPS://books.example/',
];
const OTHERS = [
  'http://books.example',
  'https://books.example/v1',
  'https://books.example:8443',
  'https://x.example',
];

const AUTHORIZATION_DETAILS = authorizationDetails({
  types: {
    book: {
      schema: {
        type: 'object',
        properties: { type: { const: 'book' }, locations: { type: 'array', items: { type: 'string' } } },
        additionalProperties: false,
      },
    },
  },
});

async function addParties(world: World, client: Partial<NewClient> = {}): Promise<void> {
  await addClient(world, { ...API_CLIENT, resource: API });
  await addClient(world, {
    ...CLIENTS.web,
    id: 'app',
    scopes: ['openid', 'read'],
    grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
    metadata: { apis: [API], authorization_details_types: ['book'] },
    ...client,
  });
}

const API_CLIENT = { id: 'books', grantTypes: [], scopes: [], redirectUris: [] } as const;

const audienceOf = ({ access_token }: { readonly access_token: string }) => decodeJwt(access_token).aud;

const detailsAt = (location: string): string =>
  JSON.stringify([{ type: 'book', locations: [location] } satisfies AuthorizationDetail]);

/** The audience of a token for a spelling, by each way to name a resource. */
const WAYS: Readonly<Record<string, (world: World, resource: string) => Promise<unknown>>> = {
  'the authorization request': async (world, resource) =>
    audienceOf(await grantTo(world, 'app', { request: { resource } })),
  'the redemption of a code': async (world, resource) =>
    audienceOf(
      await grantTo(world, 'app', { request: { resource: [API, ISSUER] }, redemption: { resource } }),
    ),
  async 'a refresh'(world, resource) {
    const { refresh_token } = await grantTo(world, 'app', { request: { resource: [API, ISSUER] } });
    const fields = { grant_type: 'refresh_token', refresh_token, resource };
    return audienceOf(issued(await askForTokens(world, 'app', fields)));
  },
  'client credentials': async (world, resource) =>
    audienceOf(
      issued(await askForTokens(world, 'app', { grant_type: 'client_credentials', scope: 'read', resource })),
    ),
  'locations of authorization details': async (world, resource) =>
    audienceOf(
      await grantTo(world, 'app', {
        request: { scope: 'openid', authorization_details: detailsAt(resource) },
      }),
    ),
  async 'locations of a refresh'(world, resource) {
    const request = { resource: [API, ISSUER], scope: 'openid', authorization_details: detailsAt(API) };
    const { refresh_token } = await grantTo(world, 'app', { request });
    const fields = { grant_type: 'refresh_token', refresh_token, resource };
    const tokens = issued(await askForTokens(world, 'app', fields));
    assert.equal(decodeJwt(tokens.access_token).authorization_details !== undefined, true, 'its details');
    return audienceOf(tokens);
  },
  async 'a token of the operator'(world, resource) {
    const [token] = await world.server.operator.issueTokens({
      clientId: 'app',
      subject: 'alice',
      resources: [resource],
    });
    return token && decodeJwt(token.accessToken).aud;
  },
  async "the client's apis"(world, resource) {
    const id = `app-${crypto.randomUUID()}`;
    await addClient(world, { ...CLIENTS.web, id, metadata: { apis: [resource] } });
    return audienceOf(await grantTo(world, id, { request: { resource: API } }));
  },
};

specification('Resources in other spellings', ON_EVERY_STORE, (spec) => {
  for (const [way, audience] of Object.entries(WAYS))
    spec(
      `RFC 3986 §6.2.2, §6.2.3 in ${way}, every spelling is the API, and aud is the registered text`,
      async (world) => {
        await addParties(world);
        for (const spelling of [API, ...SPELLINGS])
          assert.deepEqual(await audience(world, spelling), API, spelling);
        for (const other of OTHERS) await assert.rejects(audience(world, other));
      },
      { authorizationDetails: AUTHORIZATION_DETAILS },
    );

  spec('RFC 3986 §6.2.3 the issuer with and without a slash is the default audience', async (world) => {
    await addParties(world);
    for (const resource of [ISSUER, `${ISSUER}/`, `${ISSUER}:443`])
      assert.equal(audienceOf(await grantTo(world, 'app', { request: { resource } })), ISSUER);
  });

  spec('RFC 8707 §2 a token for an API that has got another spelling is for the new text', async (world) => {
    await addParties(world);
    const { refresh_token } = await grantTo(world, 'app', { request: { resource: API } });
    const stored = await world.storage.clients.get('books');
    assert.ok(stored);
    const { generation: _, revision: __, registrationRevision: ___, ...client } = stored;
    await world.storage.clients.replace({ ...client, resource: 'https://books.example/' }, stored);
    const tokens = issued(await askForTokens(world, 'app', { grant_type: 'refresh_token', refresh_token }));
    assert.equal(audienceOf(tokens), 'https://books.example/');
  });

  spec(
    'RFC 8707 §2 of two clients that are one API in two spellings, the spelling of the request counts',
    async (world) => {
      await addParties(world);
      await addClient(world, { ...API_CLIENT, id: 'books too', resource: 'https://books.example/' });
      for (const resource of [API, 'https://books.example/'])
        assert.equal(audienceOf(await grantTo(world, 'app', { request: { resource } })), resource);
      const [first] = [API, 'https://books.example/'].toSorted();
      const other = await grantTo(world, 'app', { request: { resource: 'https://books.example:443' } });
      assert.equal(audienceOf(other), first);
    },
  );
});

test('RFC 7662 §4 with the policy audience, an API introspects tokens for every spelling of its resource', async (t) => {
  const world = await openWorld(t, {
    introspectionPolicy: 'audience',
    authorizationDetails: AUTHORIZATION_DETAILS,
  });
  await addParties(world);
  const request = { resource: API, scope: 'openid', authorization_details: detailsAt(API) };
  const { access_token: token } = await grantTo(world, 'app', { request });
  for (const [index, resource] of [...SPELLINGS, ...OTHERS].entries()) {
    const id = `books ${index}`;
    await addClient(world, { ...API_CLIENT, id, resource });
    const { body } = await world.post('/token/introspect', { token }, null, { authorization: basic(id) });
    const { active, authorization_details } = JSON.parse(body);
    assert.equal(active, SPELLINGS.includes(resource), resource);
    assert.equal(authorization_details !== undefined, active, 'what is for this API');
  }
});

test('the options with audiences and APIs compare them in the same way', async (t) => {
  for (const spelling of SPELLINGS) {
    const world = await openWorld(t, {
      apisWithPlainJwts: [spelling],
      userInfoAudiences: [`${ISSUER}:443/`],
      applicationClaims: {
        claims: { role: { in: ['access_token'], apis: [spelling] } },
        valuesOf: () => ({ role: 'reader' }),
      },
    });
    await addParties(world);
    const { access_token } = await grantTo(world, 'app', { request: { resource: API } });
    assert.equal(decodeProtectedHeader(access_token).typ, 'JWT');
    assert.equal(decodeJwt(access_token).role, 'reader');
    assert.equal((await world.userInfo((await grantTo(world, 'app')).access_token)).status, 200);
  }
});

test('RFC 7591 §2 the APIs of self-registered clients may be configured in another spelling', async (t) => {
  const world = await openWorld(t);
  await addParties(world);
  for (const spelling of SPELLINGS) {
    const other = await secondServer(world, openRegistration({ apis: [spelling] }));
    const { client_id } = await register(other, { redirect_uris: [CALLBACK] });
    const query = new URLSearchParams({
      client_id,
      response_type: 'code',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      redirect_uri: CALLBACK,
      resource: 'https://books.example/',
    });
    const url = `/authorize?${query}`;
    const { resources } = await other.server.authorization.validate({ method: 'GET', url, headers: {} });
    assert.deepEqual(resources, [API]);
  }
});

test('RFC 3986 §6.2.2, §6.2.3 case of scheme and host, default port and empty path do not count; everything else does', () => {
  for (const [one, other] of [
    ['https://a.example', 'https://a.example/'],
    ['https://a.example?x=1', 'https://a.example/?x=1'],
    ['http://a.example:80', 'http://a.example'],
    ['https://a.example:/x', 'https://a.example/x'],
    ['HTTPS://A.Example:443/Path', 'https://a.example/Path'],
    ['https://[2001:DB8::1]:443', 'https://[2001:db8::1]/'],
    ['https://User@A.example/', 'https://User@a.example'],
    ['API://Abc', 'api://abc/'],
    ['URN:example:Api', 'urn:example:Api'],
  ] as const) {
    assert.ok(isSameResource(one, other) && isSameResource(other, one), `${one} ${other}`);
    for (const uri of [one, other])
      assert.ok(lowerCaseSpellings(one).includes(uri.toLowerCase()), `an index finds ${uri}`);
  }
  for (const [one, other] of [
    ['https://a.example/x', 'https://a.example/x/'],
    ['https://a.example/x', 'https://a.example/X'],
    ['https://a.example/%7Ex', 'https://a.example/~x'],
    ['https://a.example/a/../b', 'https://a.example/b'],
    ['https://a.example:80', 'https://a.example'],
    ['https://a.example:0443', 'https://a.example'],
    ['https://user@a.example', 'https://USER@a.example'],
    ['https://a.example', 'http://a.example'],
    ['https://a.example?', 'https://a.example'],
    ['urn:example:api', 'urn:Example:api'],
    ['api', 'API'],
  ] as const)
    assert.ok(!isSameResource(one, other), `${one} ${other}`);
  assert.equal(normalResource('no uri'), 'no uri');
  assert.equal(normalResource(''), '');
});

test('RFC 8707 §2 a resource that URL libraries change cannot be registered, and one that exists stays', async (t) => {
  const world = await openWorld(t);
  for (const resource of [
    'https://a.example/x/../y',
    'https://a.example/./x',
    'https://a.example\\x',
    'https://a.example/{x}',
    'https:a.example',
    'https:///a.example',
    'https://a.example:0443/',
    'https://0x7f.1/',
    'https://%61.example/',
  ]) {
    await assert.rejects(
      world.server.operator.clientFrom({ id: 'a' }, { resource }),
      { name: 'ClientMetadataError', member: 'resource' },
      resource,
    );
    const { generation: _, ...registered } = { ...API_CLIENT, resource, generation: 0 };
    await world.server.operator.clientFrom({ id: 'books' }, { resource, client_name: 'Books' }, registered);
  }
  for (const resource of [
    API,
    ...SPELLINGS,
    'urn:example:api',
    'api://0AB1-C',
    'https://a.example/x//y?z=%2f',
  ])
    await world.server.operator.clientFrom({ id: 'a' }, { resource });
});
