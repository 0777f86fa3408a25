// Algorithms with which clients may sign: request objects, assertions and DPoP proofs.
// § refers to FAPI 2.0 Security Profile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENT_ALGORITHMS, ConfigurationError, type NewClient, SIGNING_ALGORITHMS } from '@grantd/core';
import {
  accepted,
  addSigningClient,
  exactly,
  refusalOf,
  refused,
  shown,
  USUAL,
} from './harness/authorization_endpoint.ts';
import { asParameters, assertionOf, clientKey } from './harness/client_keys.ts';
import { setMetadata } from './harness/client_metadata.ts';
import { proofOf } from './harness/dpop_proofs.ts';
import { CALLBACK, openRegistration, postRegistration } from './harness/registration.ts';
import { CANNOT_SIGN, secondServer } from './harness/second_server.ts';
import { CLIENTS, openWorld, type World, type WorldOptions } from './harness/world.ts';

/** All `alg` values. EdDSA has two. */
const NAMES = [...CLIENT_ALGORITHMS, 'Ed25519'];

/** The `alg` values that a client can use for request objects, assertions and proofs. */
async function usable(world: World): Promise<Readonly<Record<string, readonly string[]>>> {
  const keys = await Promise.all(NAMES.map(async (alg) => (await clientKey(alg)).publicJwk));
  const metadata = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys } } as const;
  await world.storage.clients.add({ ...CLIENTS.machine, id: 'signer', metadata });
  const [requests, assertions, proofs]: [string[], string[], string[]] = [[], [], []];
  const token = { grant_type: 'client_credentials', scope: 'read' };
  for (const algorithm of NAMES) {
    const id = `requests-${algorithm}`;
    const signer = await addSigningClient(world, { id }, algorithm);
    const { client_id: _, ...usual } = USUAL;
    const sent = exactly({ client_id: id, request: await signer.sign(usual) });
    const isRequested = await world.server.authorization.validate(sent).then(
      () => true,
      () => {
        assert.equal(world.lastReason, 'request_object_wrong_key');
        return false;
      },
    );
    if (isRequested) requests.push(algorithm);
    const assertion = asParameters(await assertionOf(world, 'signer', algorithm));
    if ((await world.post('/token', { ...token, ...assertion })).status === 200) assertions.push(algorithm);
    else assert.equal(world.lastReason, 'assertion_algorithm_refused');
    const dpop = await proofOf(world, { algorithm });
    if ((await world.post('/token', token, 'machine', { dpop })).status === 200) proofs.push(algorithm);
    else assert.equal(world.lastReason, 'dpop_algorithm_refused');
  }
  return { requests, assertions, proofs };
}

/** The same lists in the metadata. */
function announced({ server: { serverMetadata } }: World) {
  return {
    requests: serverMetadata.request_object_signing_alg_values_supported,
    assertions: serverMetadata.token_endpoint_auth_signing_alg_values_supported,
    proofs: serverMetadata.dpop_signing_alg_values_supported,
  };
}

const MACS = ['HS256', 'HS384', 'HS512'] as const;

const cases: readonly (readonly [string, WorldOptions, ReturnType<typeof announced>])[] = [
  [
    'by default every algorithm is accepted',
    {},
    {
      requests: NAMES,
      assertions: [...MACS, ...NAMES],
      proofs: NAMES,
    },
  ],
  [
    'each use has its own list',
    {
      requestObjectAlgorithms: ['PS256'],
      clientAssertionAlgorithms: ['ES256', 'HS512'],
      dpopAlgorithms: ['EdDSA'],
    },
    { requests: ['PS256'], assertions: ['HS512', 'ES256'], proofs: ['EdDSA', 'Ed25519'] },
  ],
  [
    'refuseRs256FromClients removes RS256, RS384 and RS512 from every list',
    { refuseRs256FromClients: true, requestObjectAlgorithms: ['RS256', 'RS512', 'PS256'] },
    {
      requests: ['PS256'],
      assertions: [...MACS, ...NAMES.slice(3)],
      proofs: NAMES.slice(3),
    },
  ],
];

for (const [sentence, options, expected] of cases)
  test(`§5.4.1 ${sentence}, and the metadata list the same`, async (t) => {
    const world = await openWorld(t, options);
    assert.deepEqual(announced(world), expected);
    const of = (names: unknown) => NAMES.filter((one) => (names as string[]).includes(one));
    const { requests, assertions, proofs } = expected;
    assert.deepEqual(await usable(world), {
      requests: of(requests),
      assertions: of(assertions),
      proofs: of(proofs),
    });
  });

test('§5.4.1 the server itself may still sign with RS256, as its own options say', async (t) => {
  const world = await openWorld(t, { refuseRs256FromClients: true });
  const { id_token_signing_alg_values_supported: algorithms } = world.server.serverMetadata;
  assert.deepEqual(algorithms, SIGNING_ALGORITHMS);
  assert.equal((await world.grant()).id_token.split('.').length, 3);
});

test('§5.4.1 an algorithm that is refused does not say whether a client exists', async (t) => {
  const world = await openWorld(t, { clientAssertionAlgorithms: ['ES256'] });
  const assertion = asParameters(await assertionOf(world, 'nobody', 'RS256'));
  const { status, body } = await world.post('/token/introspect', { token: 'x', ...assertion });
  assert.deepEqual(
    [status, JSON.parse(body).error, world.lastReason],
    [401, 'invalid_client', 'client_unknown'],
  );
});

test('§5.4.1 a refused request object goes to the client as an error', async (t) => {
  const world = await openWorld(t, { requestObjectAlgorithms: ['ES256'] });
  const signer = await addSigningClient(world, { id: 'signer' }, 'RS256');
  const { client_id: _, ...usual } = USUAL;
  const request = await signer.sign(usual);
  const sent = exactly({ client_id: 'signer', redirect_uri: CLIENTS.web.redirectUris[0], request });
  const { headers } = await refused(world.server.authorization.validate(sent));
  assert.equal(new URL(String(headers.location)).searchParams.get('error'), 'invalid_request_object');
  assert.equal((await accepted(world)).responseMode, 'query');
});

test('RFC 7523 §3 a method without an accepted algorithm is neither announced nor registered', async (t) => {
  const world = await openWorld(t, { ...openRegistration(), clientAssertionAlgorithms: ['ES256'] });
  const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'];
  assert.deepEqual(world.server.serverMetadata.token_endpoint_auth_methods_supported, methods);
  const registered = async (members: Readonly<Record<string, unknown>>) => {
    const response = await postRegistration(world, { redirect_uris: [CALLBACK], ...members });
    assert.equal(response.status, 201);
    return JSON.parse(response.body);
  };
  // What the server does not offer is replaced by the default, and the response says so.
  const { token_endpoint_auth_method: method } = await registered({
    token_endpoint_auth_method: 'client_secret_jwt',
  });
  assert.equal(method, 'client_secret_basic');
  const jwks = { keys: [(await clientKey('RS256')).publicJwk] };
  const signing = await registered({
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'RS256',
    jwks,
  });
  assert.equal(signing.token_endpoint_auth_method, 'private_key_jwt');
  assert.equal('token_endpoint_auth_signing_alg' in signing, false);
});

test('RFC 9101 §6.2 a client cannot register an algorithm with which it may not sign', async (t) => {
  const world = await openWorld(t, { ...openRegistration(), refuseRs256FromClients: true });
  const jwks = { keys: [(await clientKey('RS256')).publicJwk] };
  const members = { redirect_uris: [CALLBACK], jwks, request_object_signing_alg: 'RS256' };
  const { status, body } = await postRegistration(world, members);
  assert.equal(status, 201);
  assert.equal('request_object_signing_alg' in JSON.parse(body), false);
  const other = { ...members, request_object_signing_alg: 'PS256' };
  assert.equal((await postRegistration(world, other)).status, 201);
});

test('§5.4.1 a list with only RS256, or with nothing, is refused at the start and named', async (t) => {
  for (const name of ['requestObjectAlgorithms', 'clientAssertionAlgorithms', 'dpopAlgorithms'] as const)
    await assert.rejects(openWorld(t, { refuseRs256FromClients: true, [name]: ['RS256'] }), (error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.equal(
        error.message,
        `${name}: expected an algorithm that refuseRs256FromClients does not refuse`,
      );
      return error.option === name;
    });
  for (const name of ['requestObjectAlgorithms', 'clientAssertionAlgorithms'] as const)
    await assert.rejects(openWorld(t, { [name]: [] }), { name: 'ConfigurationError', option: name });
});

test('RFC 6749 §4.1.2.1 if the server could not sign a token of the request, it fails before the user signs in', async (t) => {
  const world = await openWorld(t);
  const oidc = { getUserClaims: () => ({}) };
  const options = { ...CANNOT_SIGN, oidc, idTokenAlgorithm: 'ES256' } as const;
  const server = await secondServer(world, options);
  const add = (id: string, members: Partial<NewClient>) =>
    world.storage.clients.add({ ...CLIENTS.web, id, ...members });
  await add('id-token', { idTokenAlgorithm: 'PS256' });
  await add('userinfo', { metadata: { userinfo_signed_response_alg: 'PS256' } });
  await add('access-token', { accessTokenFormat: 'jwt', accessTokenAlgorithm: 'PS256' });
  const failure = shown('server_error', 'an unexpected error', 500);
  for (const [client_id, scope] of [
    ['id-token', 'openid'],
    ['userinfo', 'openid'],
    ['access-token', 'openid'],
    ['access-token', 'read'],
  ] as const) {
    assert.deepEqual(await refusalOf(server, { client_id, scope }), failure, client_id);
    const [event] = server.events.splice(0);
    assert.ok(event?.type === 'refused');
    const { reason, clientId, value } = event;
    assert.deepEqual([reason, clientId, value], ['answer_algorithm_unsupported', client_id, 'PS256']);
  }
  for (const [client_id, scope] of [
    ['id-token', 'read'], // needs no ID token
    ['userinfo', 'read'],
    ['web', 'openid'],
  ])
    assert.equal((await accepted(server, { client_id, scope })).client.id, client_id);
  await setMetadata(world, 'web', { userinfo_signed_response_alg: 'ES256' });
  assert.equal((await accepted(server, {})).client.id, 'web');
});
