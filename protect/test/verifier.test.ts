// § refers to RFC 9068.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  AccessTokenVerifier,
  type AccessTokenVerifierOptions,
  AuthorizationServerFault,
  ConfigurationError,
  OAuthError,
} from '@grantd/protect';
import { decodeJwt, SignJWT } from 'jose';
import { clientKey } from '../../core/test/harness/client_keys.ts';
import { basic, ISSUER, openWorld } from '../../core/test/harness/world.ts';
import { API, AskedServer, apiToken, OUTAGES } from './harness/resource_server.ts';

const JWKS = '/jwks';
const METADATA = '/.well-known/oauth-authorization-server';

/** An API that verifies tokens with the keys of a world's server. */
async function openApi(t: TestContext, options: Partial<AccessTokenVerifierOptions> = {}) {
  const world = await openWorld(t);
  const asked = new AskedServer(world);
  const tokens = new AccessTokenVerifier({
    issuer: ISSUER,
    audience: API,
    fetch: asked.fetch,
    clock: world.clock.read,
    ...options,
  });
  return { world, asked, tokens };
}

/** An issuer with arbitrary tokens. */
async function openForge(changes: Partial<AccessTokenVerifierOptions> = {}) {
  const { privateKey, publicJwk } = await clientKey('ES256');
  const now = 1_767_268_800;
  const tokens = new AccessTokenVerifier({
    issuer: ISSUER,
    audience: API,
    jwks: { keys: [publicJwk] },
    clock: () => now * 1000,
    ...changes,
  });
  const forge = (
    claims: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
  ) =>
    new SignJWT({
      iss: ISSUER,
      aud: API,
      sub: 'alice',
      client_id: 'web',
      iat: now,
      exp: now + 60,
      jti: '1',
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: publicJwk.kid ?? '', ...header })
      .sign(privateKey);
  return { tokens, forge, now, publicJwk };
}

async function refusal(promise: Promise<unknown>): Promise<readonly [string, string | undefined]> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof OAuthError) return [error.code, error.reason];
    throw error;
  }
  return assert.fail('the token was let through');
}

const invalid = (reason: string) => ['invalid_token', reason] as const;

test('§4 a token of the server is verified by its published keys, which are found by its metadata', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const token = await apiToken(world, 'read write');
  assert.deepEqual(await tokens.verify(token), {
    sub: 'machine',
    clientId: 'machine',
    scopes: ['read', 'write'],
    expiresAt: decodeJwt(token).exp,
    claims: decodeJwt(token),
  });
  assert.deepEqual(asked.paths, [METADATA, JWKS]);
});

test('§4 a user’s token names the user', async (t) => {
  const { world, tokens } = await openApi(t, { audience: ISSUER });
  const { sub, clientId, scopes } = await tokens.verify(
    (await world.grant('alice', 'web', 'openid read')).access_token,
  );
  assert.deepEqual({ sub, clientId, scopes }, { sub: 'alice', clientId: 'web', scopes: ['openid', 'read'] });
});

test('keys are fetched once, however many tokens come at once or later', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const issued = await Promise.all([1, 2, 3, 4].map(() => apiToken(world)));
  await Promise.all(issued.map((token) => tokens.verify(token)));
  await Promise.all(issued.map((token) => tokens.verify(token)));
  assert.deepEqual(asked.paths, [METADATA, JWKS]);
});

test('the key after a rotation was published beforehand; one that was not is fetched', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  await tokens.verify(await apiToken(world));
  await world.server.operator.rotateSigningKey('RS256');
  await tokens.verify(await apiToken(world));
  assert.equal(asked.count(JWKS), 1);
  await world.server.operator.rotateSigningKey('RS256', { now: true });
  world.clock.advance(11);
  await tokens.verify(await apiToken(world));
  assert.equal(asked.count(JWKS), 2);
});

test('a key that the server has removed is refused after five minutes', async (t) => {
  const { publicJwk } = await openForge();
  const { world, asked, tokens } = await openApi(t, { jwksUri: ISSUER + JWKS });
  const { forge } = await openForge();
  const now = world.clock.seconds;
  asked.outage = async () => Response.json({ keys: [publicJwk] });
  const token = await forge({ iat: now, exp: now + 900 });
  await tokens.verify(token);
  asked.outage = undefined;
  world.clock.advance(299);
  await tokens.verify(token);
  world.clock.advance(1);
  assert.deepEqual(await refusal(tokens.verify(token)), invalid('unknown_key'));
});

test('an unknown key makes the API fetch the keys, but at most every ten seconds', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const { forge } = await openForge();
  await tokens.verify(await apiToken(world));
  world.clock.advance(11);
  for (let nth = 0; nth < 5; nth++) {
    const strange = forge({}, { kid: `unknown ${nth}` });
    assert.deepEqual(await refusal(tokens.verify(await strange)), invalid('unknown_key'));
  }
  assert.equal(asked.count(JWKS), 2);
  world.clock.advance(11);
  assert.deepEqual(await refusal(tokens.verify(await forge())), invalid('unknown_key'));
  assert.equal(asked.count(JWKS), 3);
});

test('of an issuer with many retired keys the current one is known, wherever it stands; a set that is too large is a fault', async (t) => {
  const { forge, publicJwk } = await openForge();
  const retired = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...publicJwk, kid: `retired ${index}` }));
  const jwks = { keys: [...retired(39), publicJwk] };
  const { tokens: given } = await openForge({ jwks });
  assert.equal((await given.verify(await forge())).sub, 'alice');

  const { world, asked, tokens } = await openApi(t, { jwksUri: ISSUER + JWKS });
  const now = world.clock.seconds;
  const token = await forge({ iat: now, exp: now + 60 });
  asked.outage = async () => Response.json({ keys: [...retired(1000), publicJwk] });
  await assert.rejects(tokens.verify(token), AuthorizationServerFault);
  world.clock.advance(11);
  asked.outage = async () => Response.json(jwks);
  assert.equal((await tokens.verify(token)).sub, 'alice');
});

test('a server whose keys are unavailable is a fault, never a refusal, and known keys stay valid', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const token = await apiToken(world);
  for (const outage of OUTAGES) {
    asked.outage = outage;
    await assert.rejects(tokens.verify(token), AuthorizationServerFault, outage.name);
    world.clock.advance(11);
  }
  asked.outage = undefined;
  await tokens.verify(token);
  asked.outage = OUTAGES[0];
  world.clock.advance(60);
  await tokens.verify(token);
});

test('metadata of another issuer names no keys of this one', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  asked.outage = async () =>
    Response.json({ issuer: 'https://evil.example', jwks_uri: 'https://as.example/jwks' });
  await assert.rejects(tokens.verify(await apiToken(world)), AuthorizationServerFault);
  assert.deepEqual(asked.paths, [METADATA]);
});

test('RFC 8414 §3.1 the path of an issuer follows the well-known one', async (t) => {
  const issuer = 'https://as.example/auth';
  const world = await openWorld(t, { issuer });
  const asked = new AskedServer(world);
  const { fetch } = asked;
  const tokens = new AccessTokenVerifier({ issuer, audience: API, fetch, clock: world.clock.read });
  const response = await asked.answer(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: basic('machine') },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read', resource: API }),
  });
  assert.equal((await tokens.verify((await response.json()).access_token)).sub, 'machine');
  assert.deepEqual(asked.paths, ['/.well-known/oauth-authorization-server/auth', '/auth/jwks']);
});

test('metadata is asked for once an hour; while it cannot be had, what is known stays good', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  await tokens.verify(await apiToken(world));
  world.clock.advance(3599);
  await tokens.verify(await apiToken(world));
  assert.equal(asked.count(METADATA), 1);
  world.clock.advance(1);
  asked.outage = (url, init) =>
    url.includes('well-known') ? Promise.reject(new Error('out')) : asked.answer(url, init);
  await tokens.verify(await apiToken(world));
  assert.equal(asked.count(METADATA), 2);
});

test('keys that are given, or their URL, spare what would be fetched before them', async (t) => {
  const { tokens, forge } = await openForge();
  assert.equal((await tokens.verify(await forge())).sub, 'alice');
  const { world, asked, tokens: byUrl } = await openApi(t, { jwksUri: ISSUER + JWKS });
  await byUrl.verify(await apiToken(world));
  assert.deepEqual(asked.paths, [JWKS]);
});

test('RFC 8414 §2 an issuer without TLS is used on loopback only, unless the host allows insecure requests', async (t) => {
  const insecure = { allowInsecureRequests: true };
  const far = [
    'http://login.example',
    'http://10.0.0.1:4000',
    'http://localhost.example',
    'http://127.0.0.1.nip.io',
  ];
  const near = ['http://localhost:4000', 'http://127.0.0.1', 'http://[::1]:4000/auth'];
  const open = (issuer: string, options: object = {}) =>
    new AccessTokenVerifier({ issuer, audience: API, ...options });
  const isRefused = (option: string) => (error: unknown) =>
    error instanceof ConfigurationError && error.option === option;
  for (const issuer of far) {
    assert.throws(() => open(issuer), isRefused('issuer'), issuer);
    open(issuer, insecure);
    assert.throws(() => open('http://localhost', { jwksUri: issuer }), isRefused('jwksUri'), issuer);
  }
  for (const issuer of near) {
    open(issuer);
    open(issuer, { jwksUri: 'http://localhost:5000/jwks' });
    open(issuer, { jwksUri: 'https://keys.example/jwks' });
    assert.throws(() => open(ISSUER, { jwksUri: issuer }), isRefused('jwksUri'), issuer);
  }

  const issuer = 'http://localhost:4000';
  const world = await openWorld(t, { issuer });
  const token = await apiToken(world, 'read');
  for (const [jwksUri, path] of [
    ['http://login.example/jwks', undefined],
    [`${issuer}/jwks`, JWKS],
  ] as const) {
    const asked = new AskedServer(world);
    const options = { fetch: asked.fetch, clock: world.clock.read };
    asked.outage = (url, init) =>
      url.endsWith(METADATA)
        ? Promise.resolve(Response.json({ issuer, jwks_uri: jwksUri }))
        : asked.answer(url, init);
    const verified = open(issuer, options).verify(token);
    if (path === undefined) await assert.rejects(verified, AuthorizationServerFault);
    else assert.equal((await verified).sub, 'machine');
    assert.deepEqual(asked.paths, path === undefined ? [METADATA] : [METADATA, path]);
  }
});

test('§4 every required claim is checked', async () => {
  const { tokens, forge, now } = await openForge();
  const cases: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
    [{ iss: 'https://evil.example' }, 'wrong_issuer'],
    [{ iss: `${ISSUER}/` }, 'wrong_issuer'],
    [{ aud: 'https://mail.example' }, 'audience_wrong'],
    [{ aud: ['https://mail.example'] }, 'audience_wrong'],
    [{ aud: undefined }, 'audience_wrong'],
    [{ exp: now }, 'expired'],
    [{ exp: now - 1 }, 'expired'],
    [{ exp: undefined }, 'malformed'],
    [{ exp: String(now + 60) }, 'malformed'],
    [{ iat: undefined }, 'malformed'],
    [{ sub: undefined }, 'malformed'],
    [{ client_id: undefined }, 'malformed'],
    [{ nbf: now + 1 }, 'not_yet_valid'],
    [{ cnf: { jkt: 'thumbprint' } }, 'token_bound'],
    [{ cnf: { 'x5t#S256': 'certificate' } }, 'client_certificate_missing'],
    [{ cnf: { kid: 'key' } }, 'confirmation_unknown'],
  ];
  for (const [claims, reason] of cases) {
    assert.deepEqual(
      await refusal(tokens.verify(await forge(claims))),
      invalid(reason),
      JSON.stringify(claims),
    );
  }
  await tokens.verify(await forge({ aud: ['https://mail.example', API], nbf: now, exp: now + 1 }));
});

test('the host can allow clock differences', async () => {
  const { tokens, forge, now } = await openForge({ clockTolerance: 5 });
  await tokens.verify(await forge({ exp: now - 4, nbf: now + 5 }));
  assert.deepEqual(await refusal(tokens.verify(await forge({ exp: now - 5 }))), invalid('expired'));
  assert.deepEqual(await refusal(tokens.verify(await forge({ nbf: now + 6 }))), invalid('not_yet_valid'));
});

test('§4 a token of another type, algorithm or making is refused', async () => {
  const { tokens, forge, publicJwk } = await openForge();
  const good = await forge();
  const [header = '', payload = '', signature = ''] = good.split('.');
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const none = encoded({ alg: 'none', typ: 'at+jwt' });
  const hmac = encoded({ alg: 'HS256', typ: 'at+jwt', kid: publicJwk.kid });
  const cases: readonly (readonly [string, string, string])[] = [
    ['alg none', `${none}.${payload}.`, 'bad_signature'],
    ['alg none with a signature', `${none}.${payload}.${signature}`, 'bad_signature'],
    ['a MAC', `${hmac}.${payload}.${signature}`, 'bad_signature'],
    ['an ID token', await forge({}, { typ: 'JWT' }), 'wrong_type'],
    ['a refresh token', await forge({}, { typ: 'rt+jwt' }), 'wrong_type'],
    ['no type', await forge({}, { typ: undefined }), 'wrong_type'],
    ['another payload', `${header}.${encoded({ sub: 'mallory' })}.${signature}`, 'bad_signature'],
    ['another spelling of the signature', `${good}=`, 'bad_signature'],
    ['no signature', `${header}.${payload}.`, 'bad_signature'],
    [
      'an extension',
      `${encoded({ alg: 'ES256', typ: 'at+jwt', kid: publicJwk.kid, crit: ['exp'] })}.${payload}.${signature}`,
      'bad_signature',
    ],
    ['an opaque token', `grantd_at_${'a'.repeat(43)}`, 'malformed'],
    ['nothing', '', 'malformed'],
    ['a huge one', `${header}.${'a'.repeat(20_000)}.${signature}`, 'malformed'],
  ];
  for (const [what, token, reason] of cases) {
    assert.deepEqual(await refusal(tokens.verify(token)), invalid(reason), what);
  }
  await tokens.verify(await forge({}, { typ: 'application/at+jwt' }));
});

test('§4 an ID token of the server is no access token, although it is signed by the same keys', async (t) => {
  const { world, tokens } = await openApi(t, { audience: 'web' });
  const { id_token: idToken } = await world.grant();
  assert.deepEqual(await refusal(tokens.verify(idToken)), invalid('wrong_type'));
});

test('an algorithm that is not on the list is refused, although the key is known', async () => {
  const { tokens, forge } = await openForge({ algorithms: ['RS256'] });
  assert.deepEqual(await refusal(tokens.verify(await forge())), invalid('bad_signature'));
});

test('RFC 9864 §2.2 a token signed with Ed25519 may say so by either name, and so may the key and the list', async () => {
  const { privateKey, publicJwk } = await clientKey('EdDSA');
  const { now } = await openForge();
  const claims = { iss: ISSUER, aud: API, sub: 'alice', client_id: 'web', iat: now, exp: now + 60 };
  for (const alg of ['EdDSA', 'Ed25519'])
    for (const ofKey of ['EdDSA', 'Ed25519', undefined])
      for (const algorithms of [['EdDSA'], ['Ed25519'], undefined] as const) {
        const jwks = { keys: [{ ...publicJwk, ...(ofKey !== undefined && { alg: ofKey }) }] };
        const { tokens } = await openForge({ jwks, ...(algorithms && { algorithms }) });
        const header = { alg, typ: 'at+jwt', kid: publicJwk.kid ?? '' };
        const token = await new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
        assert.equal((await tokens.verify(token)).sub, 'alice', `${alg} ${ofKey} ${algorithms}`);
      }
});

test('a key that a token carries or names is not looked at', async () => {
  const { tokens } = await openForge();
  const { privateKey, publicJwk } = await clientKey('ES256', 'the key of somebody else');
  const now = 1_767_268_800;
  const token = await new SignJWT({
    iss: ISSUER,
    aud: API,
    sub: 'a',
    client_id: 'b',
    iat: now,
    exp: now + 60,
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', jwk: publicJwk, jku: 'https://evil.example/jwks' })
    .sign(privateKey);
  assert.deepEqual(await refusal(tokens.verify(token)), invalid('bad_signature'));
});

test('options that do not fit are refused at once', async () => {
  const { publicJwk } = await openForge();
  const right: AccessTokenVerifierOptions = { issuer: ISSUER, audience: API, jwks: { keys: [publicJwk] } };
  const cases: readonly (readonly [object, string])[] = [
    [{ issuer: 'as.example' }, 'issuer'],
    [{ audience: [] }, 'audience'],
    [{ algorithms: ['none'] }, 'algorithms'],
    [{ algorithms: [] }, 'algorithms'],
    [{ jwks: { keys: [] } }, 'jwks'],
    [{ jwks: undefined, jwksUri: 'nowhere' }, 'jwksUri'],
    [{ clockTolerance: 3600 }, 'clockTolerance'],
  ];
  for (const [change, option] of cases) {
    assert.throws(
      () => new AccessTokenVerifier({ ...right, ...change }),
      (error) => error instanceof ConfigurationError && error.option === option,
      option,
    );
  }
});

test('§4 an extension that must be understood is not, although the signature is good', async () => {
  const { tokens, now } = await openForge();
  const { privateKey, publicJwk } = await clientKey('ES256');
  const token = await new SignJWT({
    iss: ISSUER,
    aud: API,
    sub: 'a',
    client_id: 'b',
    iat: now,
    exp: now + 60,
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: publicJwk.kid ?? '', crit: ['exp'], exp: now })
    .sign(privateKey, { crit: { exp: true } });
  assert.deepEqual(await refusal(tokens.verify(token)), invalid('bad_signature'));
});

test('§4 the audience may be another spelling of the same URI (RFC 3986 §6.2.2, §6.2.3)', async () => {
  for (const [audience, aud, isAccepted] of [
    ['https://api.example', 'https://api.example/', true],
    ['https://API.example:443/', ['https://other.example', 'https://api.example'], true],
    ['https://api.example/mcp', 'HTTPS://api.example/mcp', true],
    ['https://api.example/mcp', 'https://api.example/mcp/', false],
    ['https://api.example', 'http://api.example', false],
    ['https://api.example', 'https://api.example.evil.example', false],
  ] as const) {
    const { tokens, forge } = await openForge({ audience });
    const verified = tokens.verify(await forge({ aud }));
    if (isAccepted) assert.equal((await verified).clientId, 'web');
    else
      await assert.rejects(
        verified,
        (error) => error instanceof OAuthError && error.reason === 'audience_wrong',
      );
  }
});
