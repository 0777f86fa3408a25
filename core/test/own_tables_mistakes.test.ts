// Hosts whose methods, records or keys are not as they should be: no token passes, no log has a secret, and an outage
// stays an outage.
// Long: a table of the mistakes of hosts.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import {
  AuthorizationServer,
  type HostToken,
  jwtVerifier,
  type Storage,
  type TokenKind,
  type VerificationKeys,
} from '@grantd/core';
import { createRemoteJWKSet, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { digestOf, OwnTables, publicKey } from './harness/own_tables.ts';
import { INACTIVE, OUTAGE } from './harness/responses.ts';
import { basic, ISSUER, SECRET } from './harness/world.ts';

const KINDS: readonly TokenKind[] = ['access_token', 'refresh_token'];

test('grantd §8.5 a key server that is down, or answers something else, is an outage', async (t) => {
  let answer: readonly [status: number, body: string] = [503, ''];
  const server = createServer((_, response) => {
    response.writeHead(answer[0], { 'content-type': 'application/json' }).end(answer[1]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const keys = JSON.stringify({ keys: [await exportJWK(publicKey)] });
  for (const [status, body, isOutage] of [
    [503, '', true],
    [200, '<html>', true],
    [200, '{"keys":7}', true],
    [200, keys, false],
  ] as const) {
    answer = [status, body];
    const find = createRemoteJWKSet(new URL(`http://127.0.0.1:${port}/`));
    const host = new OwnTables({}, { jwtService: jwtVerifier(find) });
    host.store('access_token', 'id');
    const found = await host.introspect(await host.jwt({ jti: 'id' }));
    assert.equal(found.status, isOutage ? 503 : 200, body);
    assert.equal(host.lastReason, isOutage ? 'verifier_unavailable' : undefined);
  }
});

test('grantd §2.3 the algorithm is that of the key that a function finds', async () => {
  const { publicKey: rsa, privateKey } = await generateKeyPair('RS256');
  const token = (alg: string, key: Parameters<SignJWT['sign']>[0]) =>
    new SignJWT({ iss: ISSUER, sub: 'alice', jti: 'id', exp: 4_102_444_800 })
      .setProtectedHeader({ alg, typ: 'at+jwt' })
      .sign(key);
  const find = async () => rsa;
  const service = jwtVerifier(find);
  assert.equal((await service.verify(await token('RS256', privateKey))).verified, true);
  const { privateKey: other } = await generateKeyPair('ES256');
  const answer = await service.verify(await token('ES256', other));
  assert.deepEqual(answer, { verified: false, reason: 'bad_signature' });
  for (const absent of [undefined, null])
    assert.deepEqual(
      await jwtVerifier((async () => absent) as never).verify(await token('RS256', privateKey)),
      {
        verified: false,
        reason: 'unknown_key',
      },
    );
  for (const wrong of ['secret', new Uint8Array(32), await exportJWK(rsa), privateKey])
    await assert.rejects(
      async () => jwtVerifier((async () => wrong) as never).verify(await token('RS256', privateKey)),
      { name: 'ConfigurationError', option: 'jwtVerifier' },
    );
});

test('grantd §2.3 RSA keys have 2048 to 8192 bits, also as a CryptoKey', async () => {
  const { publicKey: short } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const key = await crypto.subtle.importKey(
    'jwk',
    short.export({ format: 'jwk' }),
    { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    true,
    ['verify'],
  );
  assert.throws(() => jwtVerifier(key), { name: 'ConfigurationError', message: /2048 to 8192 bits/ });
});

test('RFC 7517 §5 keys of a set that verify nothing are left out, unless all are', async () => {
  const { publicKey: rsa } = await generateKeyPair('RS256', { extractable: true });
  const encrypting: JWK = { ...(await exportJWK(rsa)), use: 'enc', alg: 'RSA-OAEP' };
  const unknown: JWK = { kty: 'AKP', alg: 'ML-DSA-44', pub: 'AA' };
  const set = (...keys: JWK[]): VerificationKeys => ({ keys });
  const host = new OwnTables(
    {},
    { jwtService: jwtVerifier(set(encrypting, unknown, await exportJWK(publicKey))) },
  );
  host.store('access_token', 'id');
  assert.match((await host.introspect(await host.jwt({ jti: 'id' }))).body, /"active":true/);
  assert.throws(() => jwtVerifier(set(encrypting, unknown)), { name: 'ConfigurationError' });
});

test('grantd §10.7 where the table of a kind holds tokens, a JWT of the kind is looked up by itself', async () => {
  for (const header of [{ typ: 'at+jwt' }, { typ: 'JWT' }, {}]) {
    const host = new OwnTables({ keyedBy: 'token' });
    const token = await host.jwt({ jti: 'id' }, header);
    const digest = digestOf(token);
    host.store('access_token', 'id', { digest });
    assert.deepEqual(await host.introspect(token), INACTIVE);
    host.store('access_token', token, { digest });
    assert.equal(await host.isActive(token), true);
    await host.revoke(token);
    assert.equal(await host.isActive(token), false);
    // Its identifier is no key.
    assert.equal(
      host.calls.some((call) => call === 'getByAccessToken id'),
      false,
    );
  }
});

test('grantd §10.7 the identifier of a stored JWT is no token', async () => {
  const host = new OwnTables({ keyedBy: 'token' });
  host.store('access_token', await host.jwt({ jti: 'id' }));
  assert.deepEqual(await host.introspect('id'), INACTIVE);
});

test('grantd §10.1 keyedBy token for all kinds is refused wherever the server verifies JWTs', () => {
  const { storage } = new OwnTables();
  const tokens = { ...storage.tokens, keyedBy: 'token' as const };
  const refused = { name: 'ConfigurationError', message: /storage\.tokens\.keyedBy: expected the kinds/ };
  assert.throws(
    () =>
      new AuthorizationServer({
        issuer: ISSUER,
        storage: { ...storage, tokens },
        jwtService: jwtVerifier(publicKey),
      }),
    refused,
  );
  const keys = Object.fromEntries(
    ['get', 'list', 'currentKeyId', 'initialize', 'rotate'].map((name) => [name, () => undefined]),
  );
  const withKeys = { ...storage, tokens, keys } as unknown as Storage;
  assert.throws(
    () => new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage: withKeys }),
    refused,
  );
});

test('grantd §2.3 a token whose identifier the host takes from the token itself is in no event', async () => {
  const host = new OwnTables({ identify: (_, token) => ({ kind: 'access_token', key: token }) });
  const token = await host.jwt({ jti: 'id' });
  host.store('access_token', token);
  await host.revoke(token);
  await host.introspect(token);
  assert.ok(host.events.some(({ type }) => type === 'token_revoked'));
  assert.equal(inspect(host.events, { depth: 9 }).includes(token), false);
});

test('grantd §10.5 identify may be asynchronous, and a result that is no object is a fault', async () => {
  const identify = (result: unknown) => ({ identify: () => result as never });
  const name = { kind: 'access_token', key: 'id' };
  for (const [result, status, isActive] of [
    [Promise.resolve(name), 200, true],
    [null, 200, false],
    ['id', 503, false],
    [7, 503, false],
  ] as const) {
    const host = new OwnTables(identify(result));
    host.store('access_token', 'id');
    const answer = await host.introspect(await host.jwt({ jti: 'id' }));
    assert.equal(answer.status, status);
    assert.equal(answer.body.includes('"active":true'), isActive);
  }
});

test('no error of a host shows a token or secret that the method got', async (t) => {
  class QueryError extends Error {
    override readonly name = 'QueryError';
    readonly code = '08006';
    readonly parameters: readonly string[];
    constructor(parameter: string) {
      super(`failed: SELECT * FROM t WHERE x = '${parameter}'`, { cause: new Error(`params: ${parameter}`) });
      this.parameters = [parameter];
    }
  }
  const throws = (parameter: unknown): never => {
    throw new QueryError(String(parameter));
  };
  const opaque = 'opaque-token-of-the-host-1234567890';
  const jwt = await new OwnTables().jwt({ jti: 'id' });
  const failing: readonly (readonly [string, Partial<Storage['tokens']>, string])[] = [
    ['getByAccessToken', { getByAccessToken: throws }, opaque],
    ['getByRefreshToken', { getByRefreshToken: throws }, opaque],
    ['identify', { identify: (_, token) => throws(token) }, jwt],
    ['isAccessTokenRevoked', { isAccessTokenRevoked: () => throws(opaque) }, opaque],
    ['revoke', { revoke: () => throws(opaque) }, opaque],
  ];
  for (const [method, methods, token] of failing) {
    await t.test(method, async () => {
      const host = new OwnTables({ keyedBy: 'token' });
      host.store('access_token', opaque);
      const server = new AuthorizationServer({
        issuer: ISSUER,
        jwtService: jwtVerifier(publicKey),
        clock: host.clock.read,
        storage: { ...host.storage, tokens: { ...host.storage.tokens, ...methods } },
      });
      const act = method === 'revoke' ? server.revokeToken(token) : server.introspectToken(token);
      const error: unknown = await act.then(
        () => undefined,
        (fault: unknown) => fault,
      );
      const shown = inspect(error, { depth: 9, showHidden: true });
      assert.match(shown, /storage is unavailable/);
      assert.match(shown, /QueryError|failed: SELECT/);
      assert.match(shown, /08006/);
      assert.equal(shown.includes(token), false, shown);
    });
  }
  await t.test('verifySecret', async () => {
    const events: unknown[] = [];
    const { storage } = new OwnTables();
    const verifySecret = (_: unknown, secret: string) => throws(secret);
    const server = new AuthorizationServer({
      issuer: ISSUER,
      jwtService: jwtVerifier(publicKey),
      storage: { ...storage, clients: { ...storage.clients, verifySecret } },
      onEvent: (event) => events.push(event),
    });
    const response = await server.handle({
      method: 'POST',
      url: '/token/introspect',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basic('api', 'secret of api'),
      },
      body: 'token=x',
    });
    assert.equal(response?.status, 503);
    const shown = inspect(events, { depth: 9, showHidden: true });
    assert.match(shown, /08006/);
    assert.equal(shown.includes('secret of api'), false);
  });
});

test('grantd §7.3 the token that a host’s AccessTokenVerifier accepts must be alive and presented as it is bound', async () => {
  const cases: readonly (readonly [string, (host: OwnTables) => void, status: number])[] = [
    ['alive', () => {}, 200],
    ['revoked by the host’s own flag', (host) => flag(host), 401],
    ['expired', (host) => host.clock.advance(3600), 401],
    ['client gone', (host) => host.clients.delete('web'), 401],
  ];
  const flag = (host: OwnTables) => {
    for (const row of host.rows.values()) row.isFlagged = true;
  };
  for (const [name, change, status] of cases) {
    const host: OwnTables = new OwnTables(
      {},
      {
        accessTokenVerifier: {
          verify: async () => ({
            record: host.rows.get('access_token id') as never,
            claims: { sub: 'alice', exp: 4_102_444_800 },
          }),
        },
      },
    );
    host.store('access_token', 'id');
    change(host);
    assert.equal((await host.userInfo('whatever')).status, status, name);
  }
  const bound: OwnTables = new OwnTables(
    {},
    {
      accessTokenVerifier: {
        verify: async () => ({
          record: bound.rows.get('access_token id') as never,
          claims: { sub: 'alice', exp: 4_102_444_800, cnf: { jkt: 'x' } },
        }),
      },
    },
  );
  bound.store('access_token', 'id');
  assert.equal((await bound.userInfo('whatever')).status, 401);
});

test('grantd §2.3 a record of the other kind with the digest of another token does not hide the token', async () => {
  const host = new OwnTables({ keyedBy: 'token' });
  host.store('refresh_token', 'opaque', { digest: digestOf('another') });
  host.store('access_token', 'opaque');
  assert.match((await host.introspect('opaque')).body, /"active":true/);
});

test('grantd §10.5 an error of a getter is a fault of the record, hidden from other clients', async () => {
  const host = new OwnTables({
    present: (row) => ({
      ...row,
      get scopes(): never {
        throw new RangeError('lazy loading failed');
      },
    }),
  });
  host.store('access_token', 'id');
  const token = await host.jwt({ jti: 'id' });
  assert.deepEqual(await host.introspect(token), OUTAGE);
  assert.equal((await host.revoke(token)).status, 200);
});

test('grantd §10.4 what getUserClaims returns must be an object with claims: everything else is a fault', async () => {
  const claims = { email: 'alice@example.com' };
  class Entity {
    readonly email = claims.email;
  }
  const results: readonly (readonly [unknown, status: number])[] = [
    [claims, 200],
    [new Entity(), 200],
    [Object.assign(Object.create(null), claims), 200],
    ...[undefined, null].map((absent) => [absent, 401] as const),
    ...[
      [claims],
      [],
      new Map(Object.entries(claims)),
      new Set(),
      'alice',
      '',
      7,
      0,
      true,
      false,
      () => claims,
    ].map((wrong) => [wrong, 503] as const),
  ];
  for (const [found, status] of results) {
    const host = new OwnTables({}, { oidc: { getUserClaims: () => found as never } });
    host.store('access_token', 'id');
    const answer = await host.userInfo(await host.jwt({ jti: 'id' }));
    assert.equal(answer.status, status, inspect(found));
    if (status === 200) assert.equal(JSON.parse(answer.body).email, claims.email);
    if (status === 503) assert.match(host.lastFault, /^getUserClaims: expected an object with claims/);
  }
});

test('grantd §10.5 a claim that is null is absent, and a confirmation without members is a fault', async () => {
  const host = new OwnTables({ keyedBy: 'token' });
  const bare = host.store('access_token', 'opaque');
  const { body } = await host.introspect('opaque');
  const { scopes, expiresAt, clientId } = bare;
  const nulls = {
    iss: null,
    sub: null,
    exp: null,
    iat: null,
    nbf: null,
    username: null,
    aud: null,
    cnf: null,
  };
  host.store('access_token', 'opaque', { scopes, expiresAt, clientId, claims: nulls });
  assert.equal((await host.introspect('opaque')).body, body);
  host.store('access_token', 'opaque', { confirmation: { jkt: null, 'x5t#S256': 'x' } as never });
  assert.deepEqual(JSON.parse((await host.introspect('opaque')).body).cnf, { 'x5t#S256': 'x' });
  for (const confirmation of [{}, [], { jkt: null }]) {
    host.store('access_token', 'opaque', { confirmation: confirmation as never });
    assert.deepEqual(await host.introspect('opaque'), OUTAGE);
    assert.match(host.lastFault, /^confirmation in the record of a token: expected jkt or x5t#S256/);
    assert.equal((await host.userInfo('opaque')).status, 503);
    assert.equal((await host.revoke('opaque')).status, 200);
  }
});

test('grantd §10.5 an explanation of a record without a time of issue has none', async () => {
  const host = new OwnTables();
  host.store('access_token', 'id');
  const { record } = await host.server.operator.explainToken(await host.jwt({ jti: 'id' }));
  assert.equal(record?.clientId, 'web');
  assert.equal('issuedAtMs' in record, false);
  host.store('access_token', 'id', { issuedAtMs: 1_700_000_000_000 });
  const dated = await host.server.operator.explainToken(await host.jwt({ jti: 'id' }));
  assert.equal(dated.record?.issuedAtMs, 1_700_000_000_000);
});

test('grantd §10.5 revokedAt and disabledAt count like revokedAtMs and disabledAtMs', async () => {
  for (const at of [1_700_000_000, new Date(1_700_000_000_000), '1700000000']) {
    for (const kind of KINDS) {
      const host = new OwnTables({ present: (row) => ({ ...row, revokedAt: at }) });
      host.store(kind, 'id');
      const typ = kind === 'access_token' ? 'at+jwt' : 'rt+jwt';
      assert.deepEqual(await host.introspect(await host.jwt({ jti: 'id' }, { typ })), INACTIVE);
    }
    const host = new OwnTables();
    host.clients.set('web', { id: 'web', disabledAt: at } as never);
    host.store('access_token', 'id');
    assert.deepEqual(await host.introspect(await host.jwt({ jti: 'id' })), INACTIVE);
  }
});

test('grantd §10.1 a method with nearly the name of an optional one is refused', () => {
  const { storage } = new OwnTables({ hasAccessCheck: false });
  const server = (changed: Partial<Storage>) =>
    new AuthorizationServer({
      issuer: ISSUER,
      jwtService: jwtVerifier(publicKey),
      storage: { ...storage, ...changed },
    });
  const isRevoked = async (_: HostToken) => true;
  for (const name of [
    'isAccesTokenRevoked',
    'isAccessTokenRevokd',
    'IsAccessTokenRevoked',
    'isAccessTokensRevoked',
  ])
    assert.throws(() => server({ tokens: { ...storage.tokens, [name]: isRevoked } }), {
      name: 'ConfigurationError',
      message: `storage.tokens.${name}: expected the name isAccessTokenRevoked`,
    });
  assert.throws(() => server({ tokens: { ...storage.tokens, keyBy: 'token' } as never }), {
    message: 'storage.tokens.keyBy: expected the name keyedBy',
  });
  // Other methods of the host are its own business.
  server({ tokens: { ...storage.tokens, isAccessTokenActive: isRevoked, connect: isRevoked } as never });
});

test('grantd §10.1 keys under which no token could be found are refused', () => {
  const { storage } = new OwnTables();
  const { getByRefreshToken: _, isRefreshTokenRevoked: __, ...tokens } = storage.tokens;
  const jwtService = jwtVerifier(publicKey);
  const refusal = (options: Partial<Storage['tokens']>, more: object = {}) => {
    try {
      new AuthorizationServer({ issuer: ISSUER, ...more, storage: { ...storage, tokens: options as never } });
    } catch (error) {
      return String(error);
    }
    return undefined;
  };
  const ofRefreshTokens = { keyedBy: { refresh_token: 'token' } } as const;
  const noMethod = 'storage.tokens.getByRefreshToken: expected a method: keyedBy names refresh tokens';
  assert.equal(refusal({ ...tokens, ...ofRefreshTokens }, { jwtService }), `ConfigurationError: ${noMethod}`);
  const noVerifier = /^ConfigurationError: jwtService: expected a verifier, [^\n]*$/;
  for (const keyedBy of [ofRefreshTokens, {}])
    assert.match(refusal({ ...storage.tokens, ...keyedBy }) ?? '', noVerifier);
  for (const keyedBy of ['token', 'digest', { access_token: 'token' }] as const)
    assert.equal(refusal({ ...storage.tokens, keyedBy }), undefined);
  assert.equal(refusal({ ...storage.tokens, ...ofRefreshTokens }, { jwtService }), undefined);
});

test('grantd §2.3 a JWT that needs a digest, and one that differs from it, have reasons of their own', async () => {
  for (const [record, reason] of [
    [{}, 'digest_missing'],
    [{ digest: digestOf('another') }, 'differs_from_issued'],
  ] as const)
    for (const kind of KINDS) {
      const host = new OwnTables();
      host.store(kind, 'id', record);
      assert.deepEqual(await host.introspect(await host.jwt({ jti: 'id' }, {})), INACTIVE);
      assert.equal(host.lastReason, reason);
    }
});

test('grantd §10.2 a fault names the method that returned or threw something else than it should', async (t) => {
  const returns = (value: unknown) => (() => value) as never;
  const faults: readonly (readonly [Partial<Storage['tokens']>, typ: string, fault: string])[] = [
    [
      { isRefreshTokenRevoked: returns(0) },
      'rt+jwt',
      'isRefreshTokenRevoked: expected true or false, found the number 0',
    ],
    [
      { isAccessTokenRevoked: returns('no') },
      'at+jwt',
      'isAccessTokenRevoked: expected true or false, found a text',
    ],
    [
      { isAccessTokenRevoked: returns(undefined) },
      'at+jwt',
      'isAccessTokenRevoked: expected true or false, found undefined',
    ],
    [
      { getByAccessToken: returns([{}]) },
      'at+jwt',
      'the record of an access token: expected an object, found a list',
    ],
    [
      { getByAccessToken: returns('x') },
      'at+jwt',
      'the record of an access token: expected an object, found a text',
    ],
    [{ getByRefreshToken: returns({}) }, 'rt+jwt', 'the record of a refresh token has no clientId'],
    [
      { getByAccessToken: () => Promise.reject() },
      'at+jwt',
      'getByAccessToken: expected an Error, found undefined',
    ],
    [
      { getByRefreshToken: () => Promise.reject('down') },
      'rt+jwt',
      'getByRefreshToken: expected an Error, found string',
    ],
  ];
  for (const [methods, typ, fault] of faults) {
    await t.test(fault, async () => {
      const host = new OwnTables();
      host.store('access_token', 'id');
      host.store('refresh_token', 'id');
      const server = new AuthorizationServer({
        issuer: ISSUER,
        jwtService: jwtVerifier(publicKey),
        clock: host.clock.read,
        storage: { ...host.storage, tokens: { ...host.storage.tokens, ...methods } },
      });
      await assert.rejects(server.introspectToken(await host.jwt({ jti: 'id' }, { typ })), (error: Error) => {
        assert.equal(error.message, 'storage is unavailable');
        assert.equal((error.cause as Error).message, fault);
        return true;
      });
    });
  }
  const host = new OwnTables({}, { oidc: { getUserClaims: () => Promise.reject() } });
  host.store('access_token', 'id');
  assert.equal((await host.userInfo(await host.jwt({ jti: 'id' }))).status, 503);
  assert.equal(host.lastFault, 'getUserClaims: expected an Error, found undefined');
});

test('grantd §9.1 the console shows each mistake of a host once, if the host listens to no events', async (t) => {
  const messages: unknown[][] = [];
  t.mock.method(console, 'error', (...texts: unknown[]) => messages.push(texts));
  const { storage } = new OwnTables();
  const answers: unknown[] = ['yes', 1, undefined, false];
  const server = new AuthorizationServer({
    issuer: ISSUER,
    jwtService: {
      verify: () => Promise.reject(Object.assign(new Error('expired'), { code: 'ERR_JWT_EXPIRED' })),
    },
    storage: { ...storage, clients: { ...storage.clients, verifySecret: (() => answers.shift()) as never } },
  });
  for (const status of [401, 401, 401, 401]) {
    const response = await server.handle({
      method: 'POST',
      url: '/token/introspect',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic('api', 'x') },
      body: 'token=x',
    });
    assert.equal(response?.status, status);
  }
  assert.equal(answers.length, 0);
  const token = await new OwnTables().jwt();
  for (const _ of [1, 2]) assert.deepEqual(await server.introspectToken(token), { active: false });
  assert.deepEqual(
    messages.map(([name, reason, cause]) => [name, reason, (cause as Error).message]),
    [
      ['grantd', 'client_secret_wrong', 'verifySecret: expected true or false, found a text'],
      ['grantd', 'verifier_rejected', 'expired'],
    ],
  );
});

test('grantd §10.1 only storages that issue tokens can answer plain records', () => {
  const { storage } = new OwnTables();
  assert.throws(
    () =>
      new AuthorizationServer({
        issuer: ISSUER,
        jwtService: jwtVerifier(publicKey),
        storage: { ...storage, answersPlainRecords: true },
      }),
    { name: 'ConfigurationError', option: 'storage.answersPlainRecords' },
  );
});

test('grantd §4.4 an assertion by a secret that only the host can compare is refused, and nothing is asked', async () => {
  const host = new OwnTables();
  const take = async () => true;
  const server = new AuthorizationServer({
    issuer: ISSUER,
    jwtService: jwtVerifier(publicKey),
    secret: SECRET,
    storage: { ...host.storage, oneTimeIdentifiers: { take } },
  });
  assert.equal(JSON.stringify(server.serverMetadata).includes('client_secret_jwt'), false);
  const assertion = await new SignJWT({ iss: 'api', sub: 'api', aud: ISSUER, jti: 'a', exp: 4_102_444_800 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode('secret of api'.padEnd(32, '.')));
  const body = new URLSearchParams({
    token: 'x',
    client_assertion: assertion,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  });
  const response = await server.handle({
    method: 'POST',
    url: `${ISSUER}/token/introspect`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: body.toString(),
  });
  assert.equal(response?.status, 401);
});

test('RFC 7662 §4 only exactly true of a policy shows a token', async () => {
  for (const [answer, isActive] of [
    [true, true],
    [{ allowed: false }, false],
    ['no', false],
    [1, false],
  ] as const) {
    const host = new OwnTables({}, { introspectionPolicy: (() => answer) as never });
    host.store('access_token', 'id');
    const { body } = await host.introspect(await host.jwt({ jti: 'id' }));
    assert.equal(body.includes('"active":true'), isActive);
  }
});

test('grantd §1.2 a client that the host did not find does not ask as the host', async () => {
  const { server } = new OwnTables();
  await assert.rejects(server.introspectToken('x', { caller: undefined } as never), TypeError);
  await assert.rejects(server.revokeToken('x', { owner: undefined } as never), TypeError);
});
