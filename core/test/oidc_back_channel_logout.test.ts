// § refers to Back-Channel Logout.
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import { DocumentError, errorResponse, type FetchDocument, type NewClient, StorageFault } from '@grantd/core';
import { documentFetcher } from '@grantd/core/node';
import { decodeJwt } from 'jose';
import { decryptedAnswer } from './harness/answer_jwts.ts';
import { BreakableStore } from './harness/breakable_store.ts';
import { clientKey } from './harness/client_keys.ts';
import { grantTo } from './harness/granting.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { openRemoteSite } from './harness/remote_site.ts';
import { INACTIVE } from './harness/responses.ts';
import { MEMORY } from './harness/stores.ts';
import { addClient, currentKeyId, verified } from './harness/token_endpoint.ts';
import { FUNCTION } from './harness/transports/function.ts';
import { CLIENTS, ISSUER, openWorld, specification, type World } from './harness/world.ts';

const ENDED = { clientId: 'app', sub: 'alice', sid: 'session of alice' };

/** As in development: applications run on the same machine. */
const fetchDocument = documentFetcher({ allowPrivateAddresses: true });

/** A client that receives logout tokens at its own site. */
async function addListener(
  world: World,
  t: TestContext,
  answer: RequestListener = (_, response) => response.writeHead(200).end(),
  client: Partial<NewClient> = {},
) {
  const site = await openRemoteSite(t, answer);
  const metadata = { backchannel_logout_uri: `${site.origin}/logged-out?by=op`, ...client.metadata };
  await addClient(world, { ...CLIENTS.web, id: 'app', ...client, metadata });
  return site;
}

/** The only logout token that arrived. */
function logoutTokenOf({ requests }: Awaited<ReturnType<typeof openRemoteSite>>): string {
  const [request, ...others] = requests;
  assert.ok(request !== undefined && others.length === 0, 'one request');
  return new URLSearchParams(request.body).get('logout_token') ?? '';
}

specification('Back-Channel Logout', ON_EVERY_STORE, (spec) => {
  spec(
    '§2.5 a client gets a form with a logout token, which verifies and has every claim',
    async (world, t) => {
      const site = await addListener(world, t);
      assert.equal((await world.server.logout.notify(ENDED)).outcome, 'delivered');
      const [request] = site.requests;
      assert.deepEqual(
        [request?.method, request?.url, request?.headers['content-type']],
        ['POST', '/logged-out?by=op', 'application/x-www-form-urlencoded'],
      );
      assert.deepEqual([...new URLSearchParams(request?.body).keys()], ['logout_token']);
      const { header, payload } = await verified(world, logoutTokenOf(site));
      assert.deepEqual(header, { alg: 'RS256', typ: 'logout+jwt', kid: await currentKeyId(world, 'RS256') });
      const { jti = '', ...claims } = payload;
      assert.match(jti, /^[\w-]{22}$/);
      assert.deepEqual(claims, {
        iss: ISSUER,
        sub: 'alice',
        aud: 'app',
        iat: world.clock.seconds,
        exp: world.clock.seconds + 120,
        sid: 'session of alice',
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      });
    },
    { fetchDocument },
  );

  spec(
    '§2.4 sub and sid are those of the client’s ID tokens, and so is the algorithm',
    async (world, t) => {
      const metadata = { subject_type: 'pairwise' } as const;
      const client = { idTokenAlgorithm: 'ES256', metadata } as const;
      const site = await addListener(world, t, undefined, client);
      const app = await world.storage.clients.get('app');
      assert.ok(app);
      const { id_token } = await grantTo(world, 'app');
      const { sub = '', sid = '' } = decodeJwt<{ sid: string }>(id_token);
      assert.deepEqual(
        [sub, sid],
        [
          await world.server.subjectIdentifier(app, 'alice'),
          await world.server.sessionIdentifier(app, 'session of alice'),
        ],
      );
      assert.ok(sub !== 'alice' && sid !== 'session of alice');
      // It has moved to another host since, but knows only the identifiers that it received.
      await world.storage.clients.replace({ ...app, redirectUris: ['https://elsewhere.example/cb'] }, app);
      const { outcome } = await world.server.logout.notify({ clientId: 'app', sub, sid });
      assert.equal(outcome, 'delivered');
      const { header, payload } = await verified(world, logoutTokenOf(site));
      assert.deepEqual(header, { alg: 'ES256', typ: 'logout+jwt', kid: await currentKeyId(world, 'ES256') });
      assert.deepEqual([payload.sub, payload.sid], [sub, sid]);
    },
    { fetchDocument, pairwiseSecret: 'the secret of pairwise subjects, never changed' },
  );

  spec(
    '§2.4 the token is encrypted like the client’s ID tokens, with the issuer in its header',
    async (world, t) => {
      const { privateKey, publicJwk } = await clientKey('ECDH-ES');
      const metadata = {
        id_token_encrypted_response_alg: 'ECDH-ES',
        id_token_encrypted_response_enc: 'A256GCM',
        jwks: { keys: [publicJwk] },
      } as const;
      const site = await addListener(world, t, undefined, { metadata });
      assert.equal((await world.server.logout.notify(ENDED)).outcome, 'delivered');
      const { header, content } = await decryptedAnswer(logoutTokenOf(site), privateKey);
      const { epk: _, ...others } = header;
      const { kid } = publicJwk;
      assert.deepEqual(others, { alg: 'ECDH-ES', enc: 'A256GCM', kid, cty: 'JWT', iss: ISSUER });
      const { payload } = await verified(world, content);
      assert.deepEqual([payload.iss, payload.aud, payload.sid], [ISSUER, 'app', 'session of alice']);
    },
    { fetchDocument },
  );

  spec(
    '§2.4 if the client’s sub is unknown, only sid is in the token',
    async (world, t) => {
      const site = await addListener(world, t);
      const told = { clientId: 'app', sid: 'session of alice' };
      assert.equal((await world.server.logout.notify(told)).outcome, 'delivered');
      const { payload } = await verified(world, logoutTokenOf(site));
      assert.deepEqual([payload.sub, payload.sid], [undefined, 'session of alice']);
    },
    { fetchDocument },
  );

  spec(
    '§2.2 a client without a logout URI, or disabled or removed, is not notified',
    async (world, t) => {
      const site = await addListener(world, t);
      const told = async (clientId: string) =>
        (await world.server.logout.notify({ ...ENDED, clientId })).outcome;
      assert.equal(await told('web'), 'not_wanted');
      assert.equal(await told('nobody'), 'not_wanted');
      await world.storage.setDisabled('client', 'app', true);
      assert.equal(await told('app'), 'not_wanted');
      assert.deepEqual([site.requests, world.events], [[], []]);
    },
    { fetchDocument },
  );
});

test('§2.8 the client’s response says whether the message was delivered, and whether to try again', async (t) => {
  const world = await openWorld(t, { fetchDocument });
  let status = 200;
  await addListener(world, t, (_, response) => {
    response.writeHead(status, { location: '/elsewhere' }).end('{"error":"invalid_request"}');
  });
  for (const [answer, outcome] of [
    [200, 'delivered'],
    [204, 'delivered'],
    [302, 'refused'],
    [400, 'refused'],
    [401, 'refused'],
    [404, 'refused'],
    [501, 'failed'],
    [408, 'failed'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
  ] as const) {
    status = answer;
    world.events.length = 0;
    assert.equal((await world.server.logout.notify(ENDED)).outcome, outcome, String(answer));
    const event = {
      operation: 'logout',
      type: 'logout_not_delivered',
      clientId: 'app',
      outcome,
      answeredStatus: answer,
    };
    assert.deepEqual(world.events, outcome === 'delivered' ? [] : [event]);
  }
});

test('§2.4 a token that cannot be encrypted is not sent: failed if the keys are unreachable, otherwise refused', async (t) => {
  let outcome: 'failed' | 'refused' = 'failed';
  const posted: string[] = [];
  const keysOnly: FetchDocument = async (url) => {
    if (url.endsWith('/jwks')) throw new DocumentError(outcome, 'no');
    posted.push(url);
    throw new DocumentError('failed', 'no');
  };
  const world = await openWorld(t, { fetchDocument: keysOnly });
  const encryption = { id_token_encrypted_response_alg: 'RSA-OAEP-256' } as const;
  const uri = 'https://app.example/logout';
  const remote = { ...encryption, backchannel_logout_uri: uri, jwks_uri: 'https://app.example/jwks' };
  await addClient(world, { ...CLIENTS.web, id: 'app', metadata: remote });
  assert.equal((await world.server.logout.notify(ENDED)).outcome, 'failed');
  outcome = 'refused';
  world.clock.advance(60);
  assert.equal((await world.server.logout.notify(ENDED)).outcome, 'refused');
  const none = { ...encryption, backchannel_logout_uri: uri, jwks: { keys: [] } };
  await addClient(world, { ...CLIENTS.web, id: 'keyless', metadata: none });
  const delivery = await world.server.logout.notify({ ...ENDED, clientId: 'keyless' });
  assert.equal(delivery.outcome, 'refused');
  assert.deepEqual(posted, []);
  const types = world.events.map(({ type }) => type);
  assert.deepEqual(types, Array(3).fill('logout_not_delivered'));
});

test('§2.5 a client that is unreachable or too slow gets a new token later', async (t) => {
  const impatient = documentFetcher({ allowPrivateAddresses: true });
  const world = await openWorld(t, {
    fetchDocument: (url, request) => impatient(url, { ...request, timeoutMs: 200 }),
  });
  let isAway = true;
  const site = await addListener(world, t, (_, response) => {
    if (!isAway) response.writeHead(204).end();
  });
  assert.equal((await world.server.logout.notify(ENDED)).outcome, 'failed');
  assert.deepEqual(
    world.events.map(({ type }) => type),
    ['logout_not_delivered'],
  );
  isAway = false;
  world.clock.advance(300);
  assert.equal((await world.server.logout.notify(ENDED)).outcome, 'delivered');
  const [first, second] = site.requests.map(({ body }) =>
    decodeJwt(new URLSearchParams(body).get('logout_token') ?? ''),
  );
  assert.notEqual(first?.jti, second?.jti);
  assert.equal(Number(second?.iat) - Number(first?.iat), 300);
});

test('§2.5 an address of the server’s own network is not used, except in development', async (t) => {
  const world = await openWorld(t, { fetchDocument: documentFetcher() });
  const site = await addListener(world, t);
  assert.equal((await world.server.logout.notify(ENDED)).outcome, 'refused');
  assert.deepEqual(site.requests, []);
  assert.deepEqual(
    world.events.map(({ type }) => type),
    ['logout_not_delivered'],
  );
});

test('without a fetcher no client is notified, and the metadata do not offer it', async (t) => {
  const [lacking, having] = [await openWorld(t), await openWorld(t, { fetchDocument })];
  await addListener(lacking, t);
  assert.equal((await lacking.server.logout.notify(ENDED)).outcome, 'refused');
  const offered = ({ server }: World) => [
    server.serverMetadata.backchannel_logout_supported,
    server.serverMetadata.backchannel_logout_session_supported,
  ];
  assert.deepEqual(
    [offered(lacking), offered(having)],
    [
      [false, false],
      [true, true],
    ],
  );
});

test('§2.5 unavailable storage is a fault', async (t) => {
  const store = new BreakableStore(MEMORY);
  const world = await openWorld(t, { fetchDocument }, { transport: FUNCTION, store });
  const site = await addListener(world, t);
  store.break('clients.get', 'rejects');
  await assert.rejects(world.server.logout.notify(ENDED), StorageFault);
  assert.deepEqual(site.requests, []);
});

test('§4 a logout token is no access token, and no ID token for a hint', async (t) => {
  const world = await openWorld(t, { fetchDocument });
  const site = await addListener(world, t);
  await world.server.logout.notify(ENDED);
  const token = logoutTokenOf(site);
  assert.deepEqual(await world.introspect(token), INACTIVE);
  assert.equal((await world.userInfo(token)).status, 401);
  const url = `/logout?${new URLSearchParams({ id_token_hint: token })}`;
  const answer = await world.server.logout
    .validate({ method: 'GET', url, headers: {} })
    .then(() => assert.fail('it was accepted'), errorResponse);
  assert.match(answer.body, /the id_token_hint is not valid/);
});

test('§2.4 no ID token has the event of a logout token', async (t) => {
  const world = await openWorld(t);
  const { id_token } = await world.grant();
  assert.equal('events' in decodeJwt(id_token), false);
});
