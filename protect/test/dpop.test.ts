// § refers to RFC 9449.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  AccessTokenIntrospector,
  type AccessTokens,
  AccessTokenVerifier,
  ConfigurationError,
  type DpopOptions,
  EmbeddedAccessTokens,
  OAuthError,
  type ProtectionOptions,
  type VerifiedAccessToken,
} from '@grantd/protect';
import { protect } from '@grantd/protect/fetch';
import { protect as nodeProtect } from '@grantd/protect/node';
import * as oauth from 'oauth4webapi';
import { discovered, libraryOptions } from '../../core/test/harness/client_library.ts';
import { type ProofChanges, proofOf, thumbprintOf } from '../../core/test/harness/dpop_proofs.ts';
import type { TestRequest, TestResponse } from '../../core/test/harness/transports/transport.ts';
import {
  basic,
  ISSUER,
  openWorld,
  SECRET,
  secretOf,
  type World,
  type WorldOptions,
} from '../../core/test/harness/world.ts';
import { PROTECTED_HOSTS } from './harness/protected_hosts.ts';
import type { ProtectedHost } from './harness/protected_web_hosts.ts';
import { API, AskedServer, apiToken, CREDENTIALS } from './harness/resource_server.ts';

const DPOP: DpopOptions = { baseUrl: API };
const NOTES = `${API}/notes`;
const ALGS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519';
const NONCE_SECRET = 'a secret of the API with more than 32 characters';
const OTHER_SECRET = 'the next secret of the API, also with more than 32';
const WITH_NONCES: DpopOptions = { ...DPOP, nonceSecret: NONCE_SECRET };
const BODY = '{"sub":"machine","clientId":"machine","scopes":["read"]}';

/** Every way to check tokens. */
const WAYS: Readonly<Record<string, (world: World) => AccessTokens>> = {
  'by JWT': ({ server, clock }) =>
    new AccessTokenVerifier({
      issuer: ISSUER,
      audience: API,
      fetch: new AskedServer({ server }).fetch,
      clock: clock.read,
    }),
  'by introspection': ({ server, clock }) =>
    new AccessTokenIntrospector({
      issuer: ISSUER,
      audience: API,
      credentials: CREDENTIALS,
      fetch: new AskedServer({ server }).fetch,
      clock: clock.read,
    }),
  'by introspection with a cache': ({ server, clock }) =>
    new AccessTokenIntrospector({
      issuer: ISSUER,
      credentials: CREDENTIALS,
      cache: { maxSeconds: 60 },
      fetch: new AskedServer({ server }).fetch,
      clock: clock.read,
    }),
  'in the same process': ({ server }) => new EmbeddedAccessTokens({ server, audience: API }),
};

const FETCH = PROTECTED_HOSTS.find(({ name }) => name === 'Fetch') ?? assert.fail('there is no Fetch host');

/** A protected API with its authorization server. */
async function openApi(
  t: TestContext,
  host: ProtectedHost = FETCH,
  tokens: (world: World) => AccessTokens = (world) =>
    new EmbeddedAccessTokens({ server: world.server, audience: API }),
  options: Partial<ProtectionOptions> = {},
  worldOptions: WorldOptions = {},
) {
  const world = await openWorld(t, worldOptions);
  const api = await host.open({
    ...{ tokens: tokens(world), scopes: ['read'], dpop: DPOP, clock: world.clock.read },
    ...options,
  });
  t.after(() => api.close());
  const send = (headers: Readonly<Record<string, string>>, changes: Partial<TestRequest> = {}) =>
    api.send({ method: 'GET', path: '/notes', headers, ...changes });
  /** With the scheme DPoP, and a proof unless it is `null`. */
  const get = async (
    token: string,
    proof: ProofChanges | string | null = {},
    changes?: Partial<TestRequest>,
  ) => {
    const method = changes?.method ?? 'GET';
    const text =
      typeof proof === 'string' || proof === null
        ? proof
        : await proofOf(world, { htm: method, htu: NOTES, token, ...proof });
    return send({ authorization: `DPoP ${token}`, ...(text !== null && { dpop: text }) }, changes);
  };
  return { world, get, send, token: await boundToken(world) };
}

/** A token for the API that is bound to a key. */
async function boundToken(world: World): Promise<string> {
  const { status, body } = await world.send({
    method: 'POST',
    path: '/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basic('machine'),
      dpop: await proofOf(world),
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read', resource: API }).toString(),
  });
  assert.equal(status, 200, body);
  return JSON.parse(body).access_token;
}

function assertRefused(
  { status, headers, body }: TestResponse,
  error: string,
  description: string,
  used: 'DPoP' | 'Bearer' = 'DPoP',
): void {
  const refusal = `realm="api", error="${error}", error_description="${description}", scope="read"`;
  const challenge =
    used === 'DPoP'
      ? `DPoP ${refusal}, algs="${ALGS}", Bearer realm="api", scope="read"`
      : `Bearer ${refusal}, DPoP realm="api", scope="read", algs="${ALGS}"`;
  assert.deepEqual([status, headers['www-authenticate']], [401, challenge]);
  assert.deepEqual(JSON.parse(body), { error, error_description: description });
}

/** The nonce of a response, which caches must not keep (§8.2). */
function nonceIn({ headers }: Pick<TestResponse, 'headers'>): string {
  assert.match(String(headers['dpop-nonce']), /^[\w-]{43}$/);
  assert.equal(headers['cache-control'], 'no-store');
  return String(headers['dpop-nonce']);
}

for (const host of PROTECTED_HOSTS) {
  describe(`DPoP at an API in ${host.name}`, () => {
    test('§7.1 a bound token with its proof lets the request through, and each proof counts once', async (t) => {
      const { world, get, token } = await openApi(t, host);
      const { status, body } = await get(token);
      assert.deepEqual({ status, body }, { status: 200, body: BODY });
      const proof = await proofOf(world, { htm: 'GET', htu: NOTES, token });
      assert.equal((await get(token, proof)).status, 200);
      assertRefused(await get(token, proof), 'invalid_dpop_proof', 'the DPoP proof was used before');
      assert.equal((await get(token, {}, { path: '/notes?page=2' })).status, 200);
    });

    test('§7.1, §7.2 a bound token without its proof is 401, with any scheme', async (t) => {
      const { world, get, send, token } = await openApi(t, host);
      assertRefused(await get(token, null), 'invalid_dpop_proof', 'a DPoP proof is required');
      const dpop = await proofOf(world, { htm: 'GET', htu: NOTES, token });
      const description = 'the access token is bound to a key and needs a proof';
      for (const headers of [
        { authorization: `Bearer ${token}` },
        { authorization: `Bearer ${token}`, dpop },
      ])
        assertRefused(await send(headers), 'invalid_token', description, 'Bearer');
    });

    test('§8.2, §9 a required nonce is asked for, and each response has one for the next proof', async (t) => {
      const { world, get, send, token } = await openApi(t, host, undefined, { dpop: WITH_NONCES });
      const description = 'the DPoP proof needs the nonce of the DPoP-Nonce header';
      const asked = await get(token);
      assertRefused(asked, 'use_dpop_nonce', description);
      const nonce = nonceIn(asked);
      assertRefused(await get(token, { nonce: `${nonce}x` }), 'use_dpop_nonce', description);
      const { status, headers, body } = await get(token, { nonce });
      assert.deepEqual({ status, body }, { status: 200, body: BODY });
      assert.equal(nonceIn({ headers }), nonce);
      assert.equal(nonceIn(await get(token, { nonce }, { method: 'HEAD' })), nonce);
      assert.equal(nonceIn(await get(token, { nonce, htm: 'POST' })), nonce);

      const bearer = await send({ authorization: `Bearer ${await apiToken(world)}` });
      assert.deepEqual([bearer.status, bearer.headers['dpop-nonce']], [200, undefined]);
      assert.equal((await send({})).headers['dpop-nonce'], undefined);
    });
  });
}

test('§8, §9 each nonce is accepted for one to two minutes, by every process with the secret', async (t) => {
  const { world, get, token } = await openApi(t, FETCH, undefined, { dpop: WITH_NONCES });
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  /** Another process, whose clock may differ by some seconds. */
  const askedElsewhere = async (dpop: Partial<DpopOptions>, nonce: string, ahead = 0) => {
    const api = await FETCH.open({
      ...{ tokens, scopes: ['read'], clock: () => world.clock.read() + ahead * 1000 },
      dpop: { ...WITH_NONCES, ...dpop },
    });
    t.after(() => api.close());
    const proof = await proofOf(world, { htm: 'GET', htu: `${dpop.baseUrl ?? API}/notes`, token, nonce });
    const headers = { authorization: `DPoP ${token}`, dpop: proof };
    return (await api.send({ method: 'GET', path: '/notes', headers })).status;
  };
  const first = nonceIn(await get(token));
  assert.equal(await askedElsewhere({}, first), 200);
  assert.equal(await askedElsewhere({}, first, -50), 200, 'a nonce of a process whose clock is ahead');
  assert.equal(await askedElsewhere({ baseUrl: `${API}/v2` }, first), 200, 'the origin counts');
  assert.equal(await askedElsewhere({ baseUrl: 'https://other.example' }, first), 401);
  assert.equal(await askedElsewhere({ nonceSecret: OTHER_SECRET }, first), 401);
  assert.equal(await askedElsewhere({ nonceSecret: [OTHER_SECRET, NONCE_SECRET] }, first), 200);

  world.clock.advance(60);
  const second = nonceIn(await get(token, { nonce: first }));
  assert.notEqual(second, first);
  assert.equal((await get(token, { nonce: first })).status, 200);
  world.clock.advance(60);
  assertRefused(
    await get(token, { nonce: first }),
    'use_dpop_nonce',
    'the DPoP proof needs the nonce of the DPoP-Nonce header',
  );
  assert.equal((await get(token, { nonce: second })).status, 200);
});

test('§8 the server’s own nonces are none of the API, even with the same secret', async (t) => {
  const dpop: DpopOptions = { baseUrl: ISSUER, nonceSecret: SECRET };
  const { world, get, token } = await openApi(t, FETCH, undefined, { dpop });
  const sent = { 'content-type': 'application/x-www-form-urlencoded', dpop: await proofOf(world) };
  const nonce = nonceIn(await world.send({ method: 'POST', path: '/token', headers: sent, body: '' }));
  const htu = `${ISSUER}/notes`;
  assert.equal((await get(token, { htu, nonce })).status, 401);
  assert.equal((await get(token, { htu, nonce: nonceIn(await get(token, { htu })) })).status, 200);
});

test('§9 a proof whose nonce is refused is not used up', async (t) => {
  const taken: string[] = [];
  const dpop: DpopOptions = { ...WITH_NONCES, takeOnce: (id) => taken.push(id) > 0 };
  const { get, token } = await openApi(t, FETCH, undefined, { dpop });
  const nonce = nonceIn(await get(token));
  assert.deepEqual(taken, []);
  assert.equal((await get(token, { nonce })).status, 200);
  assert.equal(taken.length, 1);
});

test('§8.2 the nonce leaves other headers of the response as they are', async (t) => {
  const { world, get, token } = await openApi(t, FETCH, undefined, { dpop: WITH_NONCES });
  const nonce = nonceIn(await get(token));
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  for (const [response, cacheControl] of [
    [new Response('notes', { headers: { 'cache-control': 'private, max-age=60' } }), 'private, max-age=60'],
    [Response.redirect('https://api.example/other'), 'no-store'], // its headers cannot be changed
  ] as const) {
    const answer = protect({ tokens, dpop: WITH_NONCES, clock: world.clock.read })(() => response);
    const dpop = await proofOf(world, { htm: 'GET', htu: NOTES, token, nonce });
    const { status, headers } = await answer(
      new Request(NOTES, { headers: { authorization: `DPoP ${token}`, dpop } }),
    );
    assert.equal(status, response.status);
    assert.deepEqual([headers.get('cache-control'), headers.get('dpop-nonce')], [cacheControl, nonce]);
    assert.equal(headers.get('location'), response.headers.get('location'));
  }
});

test('§9 forwarded errors have the nonce in their headers', async (t) => {
  const { world, token } = await openApi(t);
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  const options = { tokens, dpop: WITH_NONCES, clock: world.clock.read, errors: 'forward' } as const;
  const dpop = await proofOf(world, { htm: 'GET', htu: NOTES, token });
  const request = new Request(NOTES, { headers: { authorization: `DPoP ${token}`, dpop } });
  await assert.rejects(protect(options)(() => new Response())(request), (error) => {
    assert.ok(error instanceof OAuthError);
    assert.deepEqual([error.code, error.status, error.reason], ['use_dpop_nonce', 401, 'dpop_nonce_missing']);
    assert.match(String(error.headers['dpop-nonce']), /^[\w-]{43}$/);
    return true;
  });
});

for (const [name, tokens] of Object.entries(WAYS)) {
  describe(`DPoP at an API that checks tokens ${name}`, () => {
    test('§4.3, §7.1 each defect of a proof is refused, and nothing is used up', async (t) => {
      const { world, get, token } = await openApi(t, FETCH, tokens);
      const other = await boundToken(world);
      const invalid = 'invalid_dpop_proof';
      for (const [proof, error, description] of [
        [null, invalid, 'a DPoP proof is required'],
        ['nonsense', invalid, 'the DPoP proof is malformed'],
        [{ htm: 'POST' }, invalid, 'the DPoP proof is for another method'],
        [{ htu: `${API}/other` }, invalid, 'the DPoP proof is for another URL'],
        [{ htu: 'http://api.example/notes' }, invalid, 'the DPoP proof is for another URL'],
        [{ token: other }, invalid, 'the DPoP proof is for another access token'],
        [{ claims: { ath: undefined } }, invalid, 'the DPoP proof is for another access token'],
        [{ claims: { iat: world.clock.seconds - 120 } }, invalid, 'the DPoP proof is expired'],
        [{ key: 'of a thief' }, 'invalid_token', 'the access token is bound to another key'],
      ] as const)
        assertRefused(await get(token, proof), error, description);
      assert.equal((await get(token)).status, 200);
    });

    test('§7.1, §7.2 the scheme must fit the token', async (t) => {
      const { world, get, send, token } = await openApi(t, FETCH, tokens);
      const bearer = await apiToken(world);
      assertRefused(await get(bearer), 'invalid_token', 'the access token is not bound to a key');
      assert.equal((await send({ authorization: `Bearer ${bearer}` })).status, 200);
      assert.equal((await send({ authorization: `Bearer ${token}` })).status, 401);
      assert.equal((await get(token)).status, 200);
      assert.equal((await send({ authorization: `Bearer ${token}` })).status, 401);
    });

    test('§7.2 without the option dpop, bound tokens are refused', async (t) => {
      const world = await openWorld(t);
      const token = await boundToken(world);
      const way = tokens(world);
      const api = await FETCH.open({ tokens: way });
      const dpop = await proofOf(world, { htm: 'GET', htu: NOTES, token });
      for (const scheme of ['Bearer', 'DPoP']) {
        const headers = { authorization: `${scheme} ${token}`, dpop };
        assert.equal((await api.send({ method: 'GET', path: '/notes', headers })).status, 401, scheme);
      }
      await assert.rejects(way.verify(token), { code: 'invalid_token', reason: 'token_bound' });
      const { claims } = await way.verify(token, 'DPoP');
      assert.deepEqual(claims.cnf, { jkt: await thumbprintOf() });
    });
  });
}

test('RFC 7800 §3.1 a token that is bound in an unknown way is refused, also by tokens of the host’s own', async (t) => {
  for (const cnf of [{ 'x5t#S256': 1 }, { jkt: await thumbprintOf(), kid: 'x' }, { jkt: 1 }, {}, 'x']) {
    const verified: VerifiedAccessToken = {
      ...{ sub: 'machine', clientId: 'machine', scopes: ['read'], expiresAt: undefined },
      claims: { cnf },
    };
    const { get, send, token } = await openApi(t, FETCH, () => ({ verify: async () => verified }));
    assert.equal((await get(token)).status, 401, JSON.stringify(cnf));
    assert.equal((await send({ authorization: `Bearer ${token}` })).status, 401, JSON.stringify(cnf));
  }
});

test('§7.2 tokens of the host’s own that know no schemes still need their proof', async (t) => {
  const cnf = { jkt: await thumbprintOf() };
  const verified: VerifiedAccessToken = {
    ...{ sub: 'machine', clientId: 'machine', scopes: ['read'], expiresAt: undefined },
    claims: { cnf },
  };
  const { get, send, token } = await openApi(t, FETCH, () => ({ verify: async () => verified }));
  assert.equal((await send({ authorization: `Bearer ${token}` })).status, 401);
  assert.equal((await get(token, null)).status, 401);
  assert.equal((await get(token)).status, 200);
});

test('§7.2 a request without a token gets the challenges of both schemes, and no error', async (t) => {
  const { send } = await openApi(t);
  const { status, headers, body } = await send({});
  const challenge = `Bearer realm="api", scope="read", DPoP realm="api", scope="read", algs="${ALGS}"`;
  assert.deepEqual([status, headers['www-authenticate'], body], [401, challenge, '']);
});

test('§4.3 (9) behind a router and a proxy the URL is below baseUrl, as the client sees it', async (t) => {
  const world = await openWorld(t);
  const token = await boundToken(world);
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  const guard = nodeProtect({
    ...{ tokens, clock: world.clock.read, errors: 'forward' },
    dpop: { baseUrl: 'https://public.example/v1/' },
  });
  const outcome = async (htu: string) => {
    const dpop = await proofOf(world, { htm: 'GET', htu, token });
    const headers = { authorization: `DPoP ${token}`, dpop, host: 'internal:3000' };
    const request = { method: 'GET', url: '/1', originalUrl: '/notes/1?x=y', headers, rawHeaders: [] };
    let failed: unknown;
    await guard(request, { setHeader: () => {}, writeHead: () => {}, end: () => {} }, (error) => {
      failed = error;
    });
    return failed === undefined;
  };
  assert.equal(await outcome('https://public.example/v1/notes/1'), true);
  assert.equal(await outcome('https://public.example/v1/1'), false);
  assert.equal(await outcome('http://internal:3000/notes/1'), false);
});

test('§4.3 (9) a proof does not fit a path with dot segments, which the router of the API does not resolve', async (t) => {
  const world = await openWorld(t);
  const token = await boundToken(world);
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  const guard = nodeProtect({ tokens, clock: world.clock.read, errors: 'forward', dpop: DPOP });
  const outcome = async (url: string, htu: string) => {
    const dpop = await proofOf(world, { htm: 'GET', htu, token });
    const headers = { authorization: `DPoP ${token}`, dpop };
    let failed: unknown;
    await guard(
      { method: 'GET', url, headers, rawHeaders: [] },
      { setHeader: () => {}, writeHead: () => {}, end: () => {} },
      (error) => {
        failed = error;
      },
    );
    return failed === undefined;
  };
  for (const path of [
    '/admin/../notes',
    '/admin/%2e%2E/notes',
    '/admin/.%2e/notes',
    '/./notes',
    '/%2e/notes',
    '/notes/x/..',
    '/notes/.',
    '/..',
  ])
    for (const htu of [NOTES, `${NOTES}/`, `${API}/`, API + path])
      assert.equal(await outcome(path, htu), false, `${path} with ${htu}`);
  assert.equal(await outcome('/notes?from=/../x', NOTES), true);
  assert.equal(await outcome('/..notes', `${API}/..notes`), true);
  assert.equal(await outcome('/a\\b', 'https://user@api.example/'), false);
});

test('§11.1 at least maxProofs used proofs are remembered, and only as long as they live', async (t) => {
  const maxProofs = 6;
  const dpop = { ...DPOP, maxProofs, proofLifetime: 10 };
  const { world, get, token } = await openApi(t, FETCH, undefined, { dpop });
  const proofs = await Promise.all(
    Array.from({ length: maxProofs }, () => proofOf(world, { htm: 'GET', htu: NOTES, token })),
  );
  const status = async (proof: string) => (await get(token, proof)).status;
  for (const proof of proofs) assert.equal(await status(proof), 200);
  for (const proof of proofs) assert.equal(await status(proof), 401);
  world.clock.advance(10);
  for (const proof of proofs) assert.equal(await status(proof), 401);
});

test('§11.1 processes that share takeOnce accept a proof once, and an outage of it is 503', async (t) => {
  const taken = new Map<string, number>();
  let answer = (id: string, keepUntil: number): unknown => !taken.has(id) && taken.set(id, keepUntil) && true;
  const faults: unknown[] = [];
  const options = {
    dpop: { ...DPOP, takeOnce: async (id: string, keepUntil: number) => answer(id, keepUntil) as boolean },
    onFault: (fault: Error) => faults.push(fault.message, (fault.cause as Error).message),
  };
  const { world, get, token } = await openApi(t, FETCH, undefined, options);
  const other = await FETCH.open({
    ...{ tokens: new EmbeddedAccessTokens({ server: world.server, audience: API }), clock: world.clock.read },
    ...options,
    scopes: ['read'],
  });
  t.after(() => other.close());
  const dpop = await proofOf(world, { htm: 'GET', htu: NOTES, token });
  const headers = { authorization: `DPoP ${token}`, dpop };
  assert.equal((await get(token, dpop)).status, 200);
  const again = await other.send({ method: 'GET', path: '/notes', headers });
  assertRefused(again, 'invalid_dpop_proof', 'the DPoP proof was used before');
  assert.deepEqual([...taken.values()], [world.clock.seconds + 120 + 60]);
  assert.match([...taken.keys()].join(), /^[\w-]{43}$/);

  answer = () => Promise.reject(new Error('down'));
  const { status, headers: sent } = await get(token);
  assert.deepEqual([status, sent['retry-after']], [503, '1']);
  assert.deepEqual(faults, ['the use of a proof cannot be recorded', 'dpop.takeOnce failed']);
  answer = () => 'OK';
  assert.equal((await get(token)).status, 418); // by the host's error handler
});

test('§11.1 of concurrent requests with one proof, one is let through', async (t) => {
  const { world, get, token } = await openApi(t);
  const proof = await proofOf(world, { htm: 'GET', htu: NOTES, token });
  const answers = await Promise.all(Array.from({ length: 5 }, () => get(token, proof)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401, 401]);
});

test('§5.1 only the algorithms of the option are accepted', async (t) => {
  const dpop: DpopOptions = { ...DPOP, algorithms: ['EdDSA'] };
  const { get, token } = await openApi(t, FETCH, undefined, { dpop });
  const { headers } = await get(token);
  assert.match(String(headers['www-authenticate']), /algs="EdDSA Ed25519"/);
});

test('wrong options of DPoP are refused at once', async (t) => {
  const { server } = await openWorld(t);
  const tokens = new EmbeddedAccessTokens({ server, audience: API });
  for (const [dpop, message] of [
    [{}, 'dpop.baseUrl: expected an http or https URL without query and fragment'],
    [{ baseUrl: '/notes' }, 'dpop.baseUrl: expected an http or https URL'],
    [{ baseUrl: `${API}?x` }, 'dpop.baseUrl: expected an http or https URL without query and fragment'],
    [{ ...DPOP, algorithms: [] }, 'dpop.algorithms: expected a text or a list of texts, got an empty list'],
    [
      { ...DPOP, algorithms: ['HS256'] },
      'dpop.algorithms: expected some of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA',
    ],
    [{ ...DPOP, proofLifetime: 0 }, 'dpop.proofLifetime: expected a number from 1 to 3600'],
    [{ ...DPOP, maxProofs: 0 }, 'dpop.maxProofs: expected a number from 1 to 1000000'],
    [
      { ...DPOP, nonceSecret: 'short' },
      'dpop.nonceSecret: expected a text of at least 32 characters, or a list of such texts, newest first',
    ],
    [
      { ...DPOP, nonceSecret: [] },
      'dpop.nonceSecret: expected a text of at least 32 characters, or a list of such texts, newest first',
    ],
    [
      { ...DPOP, nonceSecret: [NONCE_SECRET, 'short'] },
      'dpop.nonceSecret: expected a text of at least 32 characters, or a list of such texts, newest first',
    ],
    [
      { ...DPOP, nonceSecret: undefined },
      'dpop.nonceSecret: expected a text of at least 32 characters, or a list of such texts, newest first',
    ],
    [{ ...DPOP, nonces: true }, /^dpop\.nonces: no such option/],
  ] as const) {
    assert.throws(
      () => protect({ tokens, dpop: dpop as DpopOptions }),
      (error) => {
        assert.ok(error instanceof ConfigurationError);
        if (typeof message === 'string') assert.equal(error.message, message);
        else assert.match(error.message, message);
        return true;
      },
    );
  }
});

test('§5, §7 oauth4webapi gets a bound token, and calls the API with proofs by its key', async (t) => {
  const world = await openWorld(t);
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  let answer = protect({ tokens, dpop: DPOP, clock: world.clock.read })(() => new Response('notes'));
  const options = libraryOptions(world);
  const client = { client_id: 'machine', [oauth.clockSkew]: options[oauth.clockSkew] };
  const server = await discovered(options);
  const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('EdDSA'));
  const authentication = oauth.ClientSecretBasic(secretOf('machine'));
  const parameters = { scope: 'read', resource: API };
  const { access_token, token_type } = await oauth.processClientCredentialsResponse(
    server,
    client,
    await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, {
      ...options,
      DPoP,
    }),
  );
  assert.equal(token_type, 'dpop');
  const request = (handle: oauth.DPoPHandle | undefined) =>
    oauth.protectedResourceRequest(access_token, 'GET', new URL(NOTES), undefined, undefined, {
      ...(handle !== undefined && { DPoP: handle }),
      [oauth.customFetch]: (url: string, { method, headers }: { method: string; headers: object }) =>
        answer(new Request(url, { method, headers: { ...headers } })),
    });
  assert.equal(await (await request(DPoP)).text(), 'notes');
  assert.equal(await (await request(DPoP)).text(), 'notes');
  const demanding = protect({ tokens, dpop: WITH_NONCES, clock: world.clock.read });
  answer = demanding(() => new Response('notes'));
  await assert.rejects(request(DPoP), (error) => oauth.isDPoPNonceError(error));
  assert.equal(await (await request(DPoP)).text(), 'notes', 'the library has kept the nonce');
  const foreign = oauth.DPoP(client, await oauth.generateKeyPair('EdDSA'));
  for (const handle of [foreign, undefined])
    await assert.rejects(request(handle), oauth.WWWAuthenticateChallengeError);
});
