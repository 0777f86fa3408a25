// § refers to RFC 8414.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthorizationServer } from '@grantd/core';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { ON_MEMORY } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import { MEMORY } from './harness/stores.ts';
import { FETCH } from './harness/transports/fetch.ts';
import { FUNCTION } from './harness/transports/function.ts';
import { NODE } from './harness/transports/node.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { ISSUER, openWorld, SECRET, specification, type World, type WorldOptions } from './harness/world.ts';

const OAUTH = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';
const PUBLIC_HEADERS = { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' };
const JSON_HEADERS = { 'content-type': 'application/json', ...PUBLIC_HEADERS };

const CONFIDENTIAL_METHODS = [
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
];
const SIGNING = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'];
/** The signature algorithms for clients. Ed25519 is another name of EdDSA. */
const ACCEPTED = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** The algorithms of client assertions. */
const ASSERTION = ['HS256', 'HS384', 'HS512', ...ACCEPTED];
const ENCRYPTION = ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW'];
const CONTENT_ENCRYPTION = ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM'];

/** The whole document of a server with default options and OpenID Connect. */
const OAUTH_DOCUMENT = {
  issuer: 'https://as.example',
  authorization_endpoint: 'https://as.example/authorize',
  token_endpoint: 'https://as.example/token',
  jwks_uri: 'https://as.example/jwks',
  response_types_supported: ['code'],
  response_modes_supported: [
    ...['query', 'fragment', 'form_post'],
    ...['query.jwt', 'fragment.jwt', 'form_post.jwt', 'jwt'],
  ],
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
  token_endpoint_auth_methods_supported: [...CONFIDENTIAL_METHODS, 'none'],
  token_endpoint_auth_signing_alg_values_supported: ASSERTION,
  introspection_endpoint: 'https://as.example/token/introspect',
  introspection_endpoint_auth_methods_supported: CONFIDENTIAL_METHODS,
  introspection_endpoint_auth_signing_alg_values_supported: ASSERTION,
  introspection_signing_alg_values_supported: SIGNING,
  introspection_encryption_alg_values_supported: ENCRYPTION,
  introspection_encryption_enc_values_supported: CONTENT_ENCRYPTION,
  revocation_endpoint: 'https://as.example/token/revoke',
  revocation_endpoint_auth_methods_supported: [...CONFIDENTIAL_METHODS, 'none'],
  revocation_endpoint_auth_signing_alg_values_supported: ASSERTION,
  code_challenge_methods_supported: ['S256'],
  dpop_signing_alg_values_supported: ACCEPTED,
  authorization_response_iss_parameter_supported: true,
  authorization_signing_alg_values_supported: SIGNING,
  authorization_encryption_alg_values_supported: ENCRYPTION,
  authorization_encryption_enc_values_supported: CONTENT_ENCRYPTION,
  request_parameter_supported: true,
  request_uri_parameter_supported: false,
  require_request_uri_registration: true,
  request_object_signing_alg_values_supported: ACCEPTED,
  pushed_authorization_request_endpoint: 'https://as.example/par',
  require_pushed_authorization_requests: false,
};

const DOCUMENT = {
  ...OAUTH_DOCUMENT,
  userinfo_endpoint: 'https://as.example/userinfo',
  userinfo_signing_alg_values_supported: SIGNING,
  userinfo_encryption_alg_values_supported: ENCRYPTION,
  userinfo_encryption_enc_values_supported: CONTENT_ENCRYPTION,
  end_session_endpoint: 'https://as.example/logout',
  backchannel_logout_supported: false,
  backchannel_logout_session_supported: false,
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: SIGNING,
  id_token_encryption_alg_values_supported: ENCRYPTION,
  id_token_encryption_enc_values_supported: CONTENT_ENCRYPTION,
  scopes_supported: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'],
  claims_supported: [
    'sub',
    'name',
    'family_name',
    'given_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at',
    'email',
    'email_verified',
    'address',
    'phone_number',
    'phone_number_verified',
  ],
  claim_types_supported: ['normal'],
  claims_parameter_supported: true,
  prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
};

/** A document without the members of these names. */
function without(document: object, names: RegExp): object {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !names.test(name)));
}

function get(
  world: World,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  return world.send({ method: 'GET', path, headers });
}

/** The document as a client reads it, with the relevant response headers. */
async function documentAt(world: World, path = OAUTH): Promise<Record<string, unknown>> {
  const { status, headers, body } = await get(world, path);
  assert.deepEqual([status, headers], [200, JSON_HEADERS]);
  return JSON.parse(body);
}

specification('Metadata (RFC 8414, OpenID Connect Discovery)', ON_MEMORY, (spec) => {
  spec('§3.2 both well-known documents say everything about a server with default options', async (world) => {
    assert.deepEqual(await documentAt(world, OAUTH), DOCUMENT);
    assert.deepEqual(await documentAt(world, OPENID), DOCUMENT);
    assert.deepEqual(world.server.serverMetadata, DOCUMENT);
  });

  spec.http(
    '§3.1 every endpoint in the document responds at its URL, and no endpoint is missing',
    async (world) => {
      const { authorization_endpoint, end_session_endpoint, ...members } = await documentAt(world);
      const addresses = Object.entries(members).filter(([name]) => /_endpoint$|_uri$/.test(name));
      assert.equal(addresses.length, 6);
      for (const [name, address] of addresses) {
        assert.notEqual((await get(world, new URL(String(address)).pathname)).status, 404, name);
      }
      for (const page of [authorization_endpoint, end_session_endpoint])
        assert.equal((await get(world, new URL(String(page)).pathname)).status, 404);
      for (const path of [
        '/',
        '/.well-known',
        `${OAUTH}/`,
        `${OAUTH}/x`,
        '/token/',
        '/jwks.json',
        '//token',
      ]) {
        const response = await get(world, path);
        assert.deepEqual(response, { status: 404, headers: {}, body: '' }, path);
      }
    },
  );

  spec.http('§3 whatever the Host header says, the issuer is the base of every URL', async (world) => {
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example;proto=http',
    };
    assert.deepEqual(JSON.parse((await get(world, OAUTH, headers)).body), DOCUMENT);
    const { location = '' } = (await get(world, '/jwks', headers)).headers;
    assert.equal(location, '');
  });

  spec.http(
    '§3.2 any page may read documents and keys, with or without credentials of its own',
    async (world) => {
      for (const path of [OAUTH, OPENID, '/jwks']) {
        const headers = { origin: 'https://anywhere.example', authorization: 'Bearer x', cookie: 'a=b' };
        const response = await get(world, path, headers);
        assert.deepEqual(response, await get(world, path));
        assert.equal(response.headers['access-control-allow-origin'], '*');
        const preflight = await world.send({ method: 'OPTIONS', path, headers });
        assert.deepEqual(preflight, {
          status: 204,
          headers: {
            'access-control-allow-origin': '*',
            'access-control-allow-methods': 'GET, HEAD',
            'access-control-allow-headers': 'Authorization, Content-Type, DPoP, MCP-Protocol-Version',
            'access-control-max-age': '600',
            'cache-control': 'no-store',
          },
          body: '',
        });
      }
    },
  );

  spec.http('§3.1 HEAD has the headers of GET', async (world) => {
    for (const path of [OAUTH, OPENID, '/jwks']) {
      const { status, headers } = await world.send({ method: 'HEAD', path, headers: {} });
      const got = await get(world, path);
      assert.deepEqual([status, headers], [got.status, got.headers]);
    }
  });

  spec.http('§3.1 another method is 405 with Allow', async (world) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      for (const path of [OAUTH, OPENID, '/jwks']) {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' };
        const response = await world.send({ method, path, headers, body: 'a=b' });
        assert.deepEqual(response, {
          status: 405,
          headers: {
            'content-type': 'application/json',
            'cache-control': 'no-store',
            allow: 'GET, HEAD',
            'access-control-allow-origin': '*',
          },
          body: '{"error":"invalid_request","error_description":"the method is not allowed"}',
        });
      }
    }
  });

  spec(
    '§2 introspection open to public clients is in the document',
    async (world) => {
      const methods = [...CONFIDENTIAL_METHODS, 'none'];
      const expected = { ...DOCUMENT, introspection_endpoint_auth_methods_supported: methods };
      assert.deepEqual(await documentAt(world), expected);
    },
    { introspectionRequiresConfidentialClient: false },
  );

  spec(
    '§2 introspection and revocation without authentication are in the document',
    async (world) => {
      assert.deepEqual(await documentAt(world), {
        ...without(
          DOCUMENT,
          /^introspection_(signing|encryption)_|^(introspection|revocation)_.*auth_signing/,
        ),
        introspection_endpoint_auth_methods_supported: ['none'],
        revocation_endpoint_auth_methods_supported: ['none'],
      });
    },
    { authenticateIntrospect: false, authenticateRevoke: false },
  );

  spec(
    'OpenID Connect Discovery §3 scopes and claims of the host’s own are in the document',
    async (world) => {
      assert.deepEqual(await documentAt(world), {
        ...DOCUMENT,
        scopes_supported: ['openid', 'badge', 'offline_access'],
        claims_supported: ['sub', 'badge_number', 'since'],
      });
    },
    {
      oidc: {
        getUserClaims: () => undefined,
        claimsByScope: { openid: [], badge: ['badge_number', 'since', 'since'] },
      },
    },
  );

  spec.http(
    '§2 endpoints at other paths of the host are in the document, and respond only there',
    async (world) => {
      assert.deepEqual(await documentAt(world), {
        ...DOCUMENT,
        token_endpoint: 'https://as.example/oauth/token',
        jwks_uri: 'https://as.example/keys.json',
        authorization_endpoint: 'https://as.example/sign-in',
      });
      for (const [path, isThere] of [
        ['/oauth/token', true],
        ['/token', false],
        ['/keys.json', true],
        ['/jwks', false],
        ['/token/introspect', true],
      ] as const) {
        assert.equal(world.server.serves(path), isThere, path);
      }
    },
    { paths: { token: '/oauth/token', jwks: '/keys.json', authorization: '/sign-in' } },
  );

  spec('RFC 7517 §5 the key set has public members only, each key with kid, alg and use', async (world) => {
    const { status, headers, body } = await get(world, '/jwks');
    const expectedHeaders = { 'content-type': 'application/jwk-set+json', ...PUBLIC_HEADERS };
    assert.deepEqual([status, headers], [200, expectedHeaders]);
    const { keys, ...others } = JSON.parse(body);
    assert.deepEqual(others, {});
    assert.equal(keys.length, 10, 'of each algorithm the key that signs now, and the one that will be next');
    for (const { n, x, y, kid, ...key } of keys) {
      const { alg } = key;
      const edwards = { kty: 'OKP', crv: 'Ed25519' };
      const kind = { ES256: { kty: 'EC', crv: 'P-256' }, EdDSA: edwards, Ed25519: edwards }[String(alg)];
      assert.deepEqual(key, { ...(kind ?? { kty: 'RSA', e: 'AQAB' }), alg, use: 'sig' });
      assert.equal(Buffer.from(n ?? x, 'base64url').length, n === undefined ? 32 : 256);
      assert.equal(y !== undefined, alg === 'ES256');
      assert.match(kid, /^[A-Za-z0-9_-]{43}$/);
    }
  });
});

test('§3.1, §5 an issuer with a path has its document at each address that clients try', async (t) => {
  for (const [issuer, transport] of [
    ['https://as.example/tenants/one', FUNCTION],
    ['https://as.example/tenants/one/', NODE],
    ['https://as.example/tenants/one', FETCH],
  ] as const) {
    const world = await openWorld(t, { issuer }, { transport, store: MEMORY });
    const ask = (path: string) => world.server.handle({ method: 'GET', url: path, headers: {} });
    const base = 'https://as.example/tenants/one';
    const expected = Object.fromEntries(
      Object.entries(DOCUMENT).map(([name, value]) => [
        name,
        typeof value === 'string' ? value.replace('https://as.example', base) : value,
      ]),
    );
    for (const path of [OAUTH, OPENID].flatMap((one) => [`${one}/tenants/one`, `/tenants/one${one}`])) {
      assert.deepEqual(JSON.parse((await ask(path))?.body ?? ''), { ...expected, issuer }, path);
    }
    for (const path of [OAUTH, OPENID, '/token', '/tenants/one/', '/tenants/onetoken']) {
      assert.equal(await ask(path), undefined, path);
    }
    for (const path of ['/tenants/one/token', '/tenants/one/jwks', '/tenants/one/userinfo?x']) {
      assert.notEqual(await ask(path), undefined, path);
    }
    if (transport !== FUNCTION) assert.equal((await get(world, '/tenants/one/jwks')).status, 200);
  }
});

test('§3.3 the issuer is returned exactly, with a trailing slash that no URL doubles', async (t) => {
  const world = await openWorld(t, { issuer: 'https://as.example/' });
  const { issuer, token_endpoint } = world.server.serverMetadata;
  assert.deepEqual([issuer, token_endpoint], ['https://as.example/', 'https://as.example/token']);
  assert.equal(world.server.serves('/token'), true);
});

test('OpenID Connect Discovery §4 without OpenID Connect there is no UserInfo, and only the document of RFC 8414', async (t) => {
  const world = await openWorld(t);
  const { server } = await secondServer(world);
  assert.deepEqual(server.serverMetadata, OAUTH_DOCUMENT);
  for (const [path, isThere] of [
    [OAUTH, true],
    [OPENID, false],
    ['/userinfo', false],
  ] as const) {
    assert.equal(server.serves(path), isThere, path);
    assert.equal(
      (await server.handle({ method: 'GET', url: path, headers: {} }))?.status,
      isThere ? 200 : undefined,
    );
  }
});

test('§2 every option that changes the document is seen in the next server, and the document is its own', async (t) => {
  const world = await openWorld(t);
  const options: WorldOptions = { authenticateRevoke: false };
  const { serverMetadata } = (await secondServer(world, options)).server;
  assert.deepEqual(serverMetadata, {
    ...without(OAUTH_DOCUMENT, /^revocation_.*auth_signing/),
    revocation_endpoint_auth_methods_supported: ['none'],
  });
  assert.deepEqual((await secondServer(world)).server.serverMetadata, OAUTH_DOCUMENT);
});

test('§2 what an authorization request may be and must be is in the document', async (t) => {
  const world = await openWorld(t, {
    acrValues: ['urn:example:password', 'urn:example:key'],
    requirePushedAuthorizationRequests: true,
    requestUriHosts: ['client.example'],
    fetchDocument: () => Promise.reject(new Error('nothing is fetched for a document')),
  });
  assert.deepEqual(world.server.serverMetadata, {
    ...DOCUMENT,
    acr_values_supported: ['urn:example:password', 'urn:example:key'],
    require_pushed_authorization_requests: true,
    request_uri_parameter_supported: true,
    require_request_uri_registration: false,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  });
  const { pending: _, ...storage } = world.storage;
  const withoutPushing = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage });
  const {
    pushed_authorization_request_endpoint: __,
    require_pushed_authorization_requests: ___,
    ...expected
  } = OAUTH_DOCUMENT;
  assert.deepEqual(withoutPushing.serverMetadata, expected);
  assert.equal(withoutPushing.serves('/par'), false);
});

test('RFC 7517 §5 every algorithm that signs has its keys in the set, of the right kind', async (t) => {
  const world = await openWorld(t);
  for (const algorithm of ['PS256', 'ES256', 'EdDSA', 'Ed25519'] as const) {
    const { server } = await secondServer(world, { accessTokenAlgorithm: algorithm });
    await server.prepare();
    const [issued] = await server.operator.issueTokens({ clientId: 'machine' });
    const { body } = await server.jwks({ method: 'GET', url: '/jwks', headers: {} });
    const keys = JSON.parse(body);
    const currentDate = new Date(world.clock.nowMs);
    const { protectedHeader } = await jwtVerify(issued?.accessToken ?? '', createLocalJWKSet(keys), {
      currentDate,
    });
    assert.equal(protectedHeader.alg, algorithm);
    for (const key of keys.keys) {
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])
        assert.equal(secret in key, false, secret);
    }
  }
  const { body } = await get(world, '/jwks');
  const kinds = JSON.parse(body).keys.map(({ kty, crv, alg }: Record<string, string>) =>
    [kty, crv, alg].join(' '),
  );
  assert.deepEqual([...new Set(kinds)].sort(), [
    'EC P-256 ES256',
    'OKP Ed25519 Ed25519',
    'OKP Ed25519 EdDSA',
    'RSA  PS256',
    'RSA  RS256',
  ]);
});
