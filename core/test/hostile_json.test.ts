import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errorResponse, type HttpResponse, MEMBER_NAMES } from '@grantd/core';
import { base64url } from 'jose';
import { exactly, USUAL } from './harness/authorization_endpoint.ts';
import { asParameters, assertionOf, clientKey } from './harness/client_keys.ts';
import { CALLBACK, configure, openRegistration, postRegistration, register } from './harness/registration.ts';
import { STORES } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import { CLIENTS, ISSUER, openWorld, type World } from './harness/world.ts';

/** Any JSON from outside is accepted or refused. It never causes an unexpected error. */

const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

/** Values of every JSON type, with values that break conversions, joins, comparisons or storage. */
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 0.5, 1e308, Number.MAX_SAFE_INTEGER + 2],
  ...[
    '',
    ' ',
    'x',
    '\0',
    '\ud800',
    '\u202e',
    'a b',
    '%',
    '{}',
    '[]',
    'toString',
    '__proto__',
    'é'.repeat(3000),
  ],
  ...[[], [null], [true], [''], ['x', 'x'], [[]], [{}], ['\0'], Array(100).fill('x')],
  ...[[{ toString: 1 }], [{ toString: null, valueOf: 1 }], [[[{ toString: 1 }]]], [{ toJSON: 1 }]],
  ...[{}, { toString: 1 }, { toJSON: 1 }, { length: 1 }, { keys: 1 }, { a: { a: {} } }],
  JSON.parse('{"__proto__":{"toString":1},"constructor":1,"hasOwnProperty":1}'),
  nested(20),
  nested(6000),
];

const withMember = (members: object, name: string, value: unknown) => ({ ...members, [name]: value });

const shortly = (value: unknown) => (JSON.stringify(value) ?? '').slice(0, 60);

function assertHandled(
  { status, headers, body }: Pick<HttpResponse, 'status' | 'headers' | 'body'>,
  what: string,
) {
  assert.ok(status < 500, `${what}: ${status} ${body}`);
  assert.doesNotMatch(String(headers.location ?? ''), /error=(server_error|temporarily_unavailable)/, what);
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** A JWT of these texts, which no library would produce. */
async function signed(header: object, claims: object): Promise<string> {
  const { privateKey } = await clientKey('ES256');
  const text = [header, claims].map((part) => base64url.encode(bytesOf(JSON.stringify(part)))).join('.');
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, bytesOf(text));
  return `${text}.${base64url.encode(new Uint8Array(signature))}`;
}

/** A client with this key, and the header and claims that it signs. */
async function addSigner({ storage, clock }: World) {
  const { publicJwk } = await clientKey('ES256');
  const metadata = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicJwk] } } as const;
  await storage.clients.add({ ...CLIENTS.web, id: 'signer', metadata });
  const { seconds } = clock;
  return {
    header: { alg: 'ES256', kid: publicJwk.kid },
    claims: { iss: 'signer', sub: 'signer', aud: ISSUER, iat: seconds, exp: seconds + 60, jti: 'one' },
  };
}

/** The result of a request to the authorization endpoint. */
async function authorized({ server }: World, parameters: Readonly<Record<string, string>>) {
  const request = { ...exactly({}), method: 'POST', url: '/authorize' };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  try {
    const body = new URLSearchParams(parameters).toString();
    const checked = await server.authorization.validate({ ...request, headers, body });
    return await server.authorization.complete(checked, { subject: 'alice', authTime: 1, sessionId: 's' });
  } catch (error) {
    return errorResponse(error);
  }
}

const REGISTRATION_MEMBERS = [
  ...[...MEMBER_NAMES, 'client_name#de', 'client_name#', 'client_id', 'client_secret'],
  ...['software_statement', 'registration_client_uri', '__proto__', 'unknown'],
];

const JWK_MEMBERS = [
  ...[
    'kty',
    'use',
    'key_ops',
    'alg',
    'kid',
    'x5u',
    'x5c',
    'x5t',
    'crv',
    'x',
    'y',
    'd',
    'k',
    'n',
    'e',
    'ext',
    'oct',
  ],
];

for (const store of STORES) {
  describe(`what strangers write, on ${store.name}`, () => {
    const place = { transport: FUNCTION, store };

    test('RFC 7591 §3.2.2 whatever value any member of a registration has, it is taken or refused', async (t) => {
      const world = await openWorld(t, openRegistration(), place);
      for (const name of REGISTRATION_MEMBERS) {
        for (const value of VALUES) {
          const what = `${name} ${shortly(value)}`;
          const members = withMember({ redirect_uris: [CALLBACK] }, name, value);
          assertHandled(await postRegistration(world, members), what);
        }
      }
      for (const value of VALUES) assertHandled(await postRegistration(world, value), shortly(value));
    });
  });
}

test('RFC 7592 §2.2 whatever value any member of a new registration has, it is taken or refused', async (t) => {
  const world = await openWorld(t, openRegistration());
  const client = await register(world);
  const usual = { client_id: client.client_id, redirect_uris: [CALLBACK] };
  for (const name of REGISTRATION_MEMBERS) {
    for (const value of VALUES) {
      const answer = await configure(world, 'PUT', client, withMember(usual, name, value));
      assertHandled(answer, `${name} ${shortly(value)}`);
    }
  }
  for (const value of VALUES) assertHandled(await configure(world, 'PUT', client, value), shortly(value));
});

test('RFC 7517 §4 whatever value any member of a registered key has, it is taken or refused', async (t) => {
  const world = await openWorld(t, openRegistration());
  for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
    const { publicJwk } = await clientKey(algorithm);
    for (const name of JWK_MEMBERS) {
      for (const value of VALUES) {
        const jwks = { keys: [withMember(publicJwk, name, value)] };
        const members = { redirect_uris: [CALLBACK], jwks, token_endpoint_auth_method: 'private_key_jwt' };
        assertHandled(await postRegistration(world, members), `${algorithm} ${name} ${shortly(value)}`);
      }
    }
  }
  for (const value of VALUES) {
    for (const jwks of [value, { keys: value }, { keys: [value] }])
      assertHandled(await postRegistration(world, { redirect_uris: [CALLBACK], jwks }), shortly(jwks));
  }
});

test('RFC 7517 §4 a key whose operations are no texts is no key', async (t) => {
  const world = await openWorld(t, openRegistration());
  const { publicJwk } = await clientKey('ES256');
  for (const key_ops of [[{ toString: 1 }], nested(6000), 'verify', [1]]) {
    const jwks = { keys: [{ ...publicJwk, key_ops }] };
    const { status, body } = await postRegistration(world, { redirect_uris: [CALLBACK], jwks });
    assert.deepEqual([status, JSON.parse(body).error], [400, 'invalid_client_metadata']);
  }
});

test('RFC 7517 §5 whatever document is behind a URI of a client, who uses it is refused or let in', async (t) => {
  const answers: Record<string, unknown> = { 'https://app.example/jwks': { keys: [] } };
  const world = await openWorld(t, openRegistration({}, answers));
  const { publicJwk } = await clientKey('ES256');
  const documents = VALUES.flatMap((value) => [
    value,
    { keys: value },
    { keys: [value] },
    ...['key_ops', 'kid', 'use', 'alg', 'kty', 'crv', 'x'].map((name) => ({
      keys: [withMember(publicJwk, name, value)],
    })),
  ]);
  for (const [index, document] of documents.entries()) {
    const jwks_uri = `https://app.example/jwks/${index}`;
    answers[jwks_uri] = document;
    const id = `app-${index}`;
    const metadata = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri } as const;
    await world.storage.clients.add({ ...CLIENTS.web, id, metadata });
    const assertion = asParameters(await assertionOf(world, id, 'ES256'));
    assertHandled(await world.post('/token/introspect', { token: 'x', ...assertion }), shortly(document));
  }
  for (const value of VALUES) {
    answers['https://app.example/sector'] = value;
    const members = {
      redirect_uris: [CALLBACK],
      sector_identifier_uri: 'https://app.example/sector',
    };
    assertHandled(await postRegistration(world, members), shortly(value));
  }
});

test('RFC 7523 §3 whatever value any claim or header of an assertion has, the client is refused or let in', async (t) => {
  const world = await openWorld(t);
  const { header, claims } = await addSigner(world);
  const send = async (one: object, other: object, what: string) => {
    const assertion = asParameters(await signed(one, other));
    const answer = await world.post('/token/introspect', { token: 'x', ...assertion });
    assertHandled(answer, what);
    return answer.status;
  };
  assert.equal(await send(header, claims, 'as it should be'), 200);
  for (const value of VALUES) {
    for (const name of ['iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'jti', 'other'])
      await send(header, withMember(claims, name, value), `${name} ${shortly(value)}`);
    for (const name of ['alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'zip'])
      await send(withMember(header, name, value), claims, `${name} ${shortly(value)}`);
  }
});

test('OpenID Connect Core §5.5 any claims parameter is accepted or refused, never an unexpected error', async (t) => {
  const world = await openWorld(t);
  const places: readonly ((value: unknown) => unknown)[] = [
    (value) => value,
    ...(['userinfo', 'id_token'] as const).flatMap((member) => [
      (value: unknown) => ({ [member]: value }),
      ...['name', 'sub', 'acr', 'auth_time', '__proto__', 'toString'].flatMap((claim) => [
        (value: unknown) => ({ [member]: withMember({}, claim, value) }),
        ...['essential', 'value', 'values', 'other'].map((name) => (value: unknown) => ({
          [member]: withMember({}, claim, { [name]: value }),
        })),
      ]),
    ]),
  ];
  for (const place of places) {
    for (const value of VALUES) {
      const claims = JSON.stringify(place(value));
      assertHandled(await authorized(world, { ...USUAL, claims }), claims.slice(0, 80));
    }
  }
});

test('RFC 9101 §4 whatever value any claim of a request object has, the request is taken or refused', async (t) => {
  const world = await openWorld(t);
  const { header } = await addSigner(world);
  const exp = world.clock.seconds + 60;
  const usual = { ...USUAL, iss: 'signer', client_id: 'signer', aud: ISSUER, exp };
  const ask = async (one: object, claims: object, what: string) => {
    const answer = await authorized(world, { client_id: 'signer', request: await signed(one, claims) });
    assertHandled(answer, what);
    return String(answer.headers.location);
  };
  assert.match(await ask(header, usual, 'as it should be'), /code=/);
  const parameters = [
    ...[
      'response_type',
      'response_mode',
      'redirect_uri',
      'scope',
      'state',
      'nonce',
      'prompt',
      'max_age',
      'claims',
    ],
    ...['code_challenge', 'code_challenge_method', 'acr_values', 'ui_locales', 'login_hint', 'id_token_hint'],
    ...['resource', 'registration', 'request', 'request_uri', 'redirect_uri_omitted', 'client_id', 'unknown'],
  ];
  for (const name of [
    ...parameters,
    'iss',
    'sub',
    'aud',
    'exp',
    'nbf',
    'iat',
    'jti',
    '__proto__',
    'toString',
  ]) {
    for (const value of VALUES)
      await ask(header, withMember(usual, name, value), `${name} ${shortly(value)}`);
  }
  for (const name of ['alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'zip']) {
    for (const value of VALUES)
      await ask(withMember(header, name, value), usual, `${name} ${shortly(value)}`);
  }
});
