// Hosts with only the storage methods that grantd §10 requires.
// Long: hosts with few methods, each with its tables.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import {
  AuthorizationServer,
  type AuthorizationServerOptions,
  type Claims,
  jwtVerifier,
  MissingGroup,
  OAuthError,
  type ServerEvent,
  STORAGE_GROUPS,
  type Storage,
  type TokenKind,
} from '@grantd/core';
import { storageKit } from '@grantd/core/kit';
import { memoryStorage } from '@grantd/core/memory';
import { errors, jwtVerify, SignJWT } from 'jose';
import { digestOf, OwnTables, publicKey, REVOCATIONS, type Row } from './harness/own_tables.ts';
import { bearerError, INACTIVE, OUTAGE } from './harness/responses.ts';
import { basic, ISSUER, SECRET } from './harness/world.ts';

const HINTS = [undefined, 'access_token', 'refresh_token'] as const;
const KINDS: readonly TokenKind[] = ['access_token', 'refresh_token'];
const FAULT = 503;

// ── Groups ────────────────────────────────────────────────────────────────────────────────────────────────

test('grantd §10.1 with the required methods alone, the three endpoints are served and nothing else', async () => {
  const { server } = new OwnTables();
  for (const path of ['/token/introspect', '/token/revoke', '/userinfo'])
    assert.equal(server.serves(path), true, path);
  const others = [
    '/token',
    '/par',
    '/register',
    '/jwks',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server',
  ];
  for (const path of others) assert.equal(server.serves(path), false, path);
  const members = Object.keys(server.serverMetadata).filter((name) => /endpoint$|_uri$/.test(name));
  assert.deepEqual(members, ['introspection_endpoint', 'revocation_endpoint', 'userinfo_endpoint']);
  await server.prepare();
});

test('grantd §10.1 without getUserClaims there is no UserInfo', () => {
  const tables = new OwnTables();
  const server = new AuthorizationServer({
    issuer: ISSUER,
    storage: tables.storage,
    jwtService: jwtVerifier(publicKey),
  });
  assert.deepEqual(
    ['/token/introspect', '/token/revoke', '/userinfo'].map((path) => server.serves(path)),
    [true, true, false],
  );
  assert.equal('userinfo_endpoint' in server.serverMetadata, false);
});

test('grantd §10.1 an operation whose group is missing throws an error that names the group', async () => {
  const { server } = new OwnTables();
  // The types have none of these operations, so this is how JavaScript calls them.
  const untyped = server as unknown as AuthorizationServer;
  const request = { method: 'POST', url: '/', headers: {} };
  for (const [group, operation] of [
    ['issuing', () => untyped.token(request)],
    ['issuing', () => untyped.metadata(request)],
    ['issuing', () => untyped.jwks(request)],
    ['pending', () => untyped.pushAuthorizationRequest(request)],
    ['registration', () => untyped.register(request)],
    ['registration', () => untyped.configureClient(request)],
    ['authorizationCodes', () => untyped.authorization.validate(request)],
    ['authorizationCodes', () => untyped.authorization.resume({})],
    ['issuing', () => server.operator.issueTokens({ clientId: 'web' })],
  ] as const) {
    await assert.rejects(operation(), (error) => {
      assert.ok(error instanceof MissingGroup);
      assert.equal(error.group, group);
      for (const method of STORAGE_GROUPS[group].methods) assert.match(error.message, new RegExp(method));
      return true;
    });
  }
});

test('grantd §10.1 TypeScript knows which operations a storage serves', () => {
  const { server } = new OwnTables();
  // @ts-expect-error the storage does not issue tokens
  assert.ok(() => server.token({ method: 'POST', url: '/', headers: {} }));
  // @ts-expect-error the storage has no codes
  assert.ok(() => server.authorization.validate({ method: 'GET', url: '/', headers: {} }));
  const whole = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage: memoryStorage() });
  assert.ok(() => whole.token({ method: 'POST', url: '/', headers: {} }));
  assert.ok(() => whole.authorization.validate({ method: 'GET', url: '/', headers: {} }));
});

test('grantd §10.1 one error lists everything that is missing, by group, with what needs it', () => {
  const { clients, tokens } = new OwnTables().storage;
  const options = {
    issuer: ISSUER,
    registration: { openTo: 'anyone' },
    storage: {
      clients: { get: clients.get, verifySecret: 'yes' },
      tokens: { getByRefreshToken: tokens.getByRefreshToken, issue: () => 'issued', keyedBy: 'token' },
      keys: { get: () => undefined },
    },
  } as unknown as AuthorizationServerOptions;
  assert.throws(() => new AuthorizationServer(options), {
    name: 'ConfigurationError',
    message: `storage.clients.verifySecret: expected a method or nothing
storage.tokens.getByAccessToken: expected a method
storage.tokens.revoke: expected a method
storage.tokens.keyedBy: expected digest, because the server issues tokens (storage.tokens.issue)
storage.tokens.isRefreshTokenRevoked: expected a method, or none of getByRefreshToken, isRefreshTokenRevoked, which together serve refresh tokens
storage.tokens.rotate, storage.tokens.issueFrom, storage.tokens.revokeFamily: expected methods, or none of issue, rotate, issueFrom, revokeFamily, which together serve the token endpoint, metadata and JWKS
storage.keys.list, storage.keys.currentKeyId, storage.keys.initialize, storage.keys.rotate: expected methods, because the option jwtService is not set
storage.oneTimeIdentifiers: expected an object with take, because registered clients can authenticate with assertions
storage.clients.add, storage.clients.replace, storage.clients.remove: expected methods, because the option registration is set
secret: expected a text of at least 32 characters, because it encrypts the signing keys`,
  });
});

for (const [name, group] of Object.entries(STORAGE_GROUPS)) {
  test(`grantd §10.1 a storage with a part of the group ${name} is refused`, () => {
    const { repository, methods } = group;
    const whole = memoryStorage();
    const isPartOfRequired = repository === 'clients' || repository === 'tokens';
    for (const method of methods) {
      const given = {
        issuer: ISSUER,
        secret: SECRET,
        storage: { ...whole, [repository]: { ...whole[repository], [method]: undefined } },
      };
      if ((isPartOfRequired && methods.length === 1) || name === 'registration')
        assert.ok(new AuthorizationServer(given), `${method} is a group of its own, or also the host's`);
      else
        assert.throws(
          () => new AuthorizationServer(given),
          { name: 'ConfigurationError' },
          `without ${method}`,
        );
    }
  });
}

test('grantd §4.1 a secret is required only if something is sealed or hashed with it', () => {
  const { clients, tokens } = new OwnTables().storage;
  const verifies = { issuer: ISSUER, jwtService: jwtVerifier(publicKey) };
  const withoutVerifySecret = { clients: { get: clients.get }, tokens };
  const off = { authenticateIntrospect: false, authenticateRevoke: false };
  assert.ok(new AuthorizationServer({ ...verifies, storage: { clients, tokens } }));
  assert.ok(new AuthorizationServer({ ...verifies, ...off, storage: withoutVerifySecret }));
  for (const [storage, option] of [
    [withoutVerifySecret, 'storage.clients.verifySecret'],
    [memoryStorage(), 'secret'],
  ] as const)
    assert.throws(() => new AuthorizationServer({ ...verifies, storage } as AuthorizationServerOptions), {
      option,
    });
});

test('grantd §3.6 without the group of redirect origins, no endpoint answers a preflight', async () => {
  const { server } = new OwnTables();
  for (const url of ['/token/introspect', '/token/revoke', '/userinfo']) {
    const headers = { origin: 'https://web.example', 'access-control-request-method': 'POST' };
    const response = await server.handle({ method: 'OPTIONS', url, headers });
    assert.equal(response?.status, 405);
    assert.equal(response?.headers['access-control-allow-origin'], undefined);
  }
});

// ── Forms of tokens ───────────────────────────────────────────────────────────────────────────────────────

/** Opaque tokens as hosts make them. */
const OPAQUE_FORMS: Readonly<Record<string, () => string>> = {
  uuid: () => randomUUID(),
  hex: () => randomBytes(32).toString('hex'),
  base64: () => `${randomBytes(30).toString('base64')}+/=`,
  'two parts with a dot': () => `${randomUUID()}.v1`,
  'three parts that are no JWT': () => `${randomUUID()}.${randomUUID()}.x`,
  'a JWE': () => `${btoa('{"alg":"dir"}').replaceAll('=', '')}..${randomUUID()}.bbbb.cccc`,
  'with spaces and colons': () => `v2: ${randomUUID()} ok`,
  '4096 characters': () => randomBytes(2048).toString('hex'),
};

for (const [form, newToken] of Object.entries(OPAQUE_FORMS)) {
  for (const keyedBy of ['digest', 'token'] as const) {
    test(`grantd §2.3 an opaque token that is ${form} is found by its ${keyedBy}, whatever the hint`, async () => {
      for (const useOpaqueRefreshTokens of [false, true]) {
        for (const kind of KINDS) {
          const host = new OwnTables({ keyedBy }, { useOpaqueRefreshTokens });
          const token = newToken();
          host.store(kind, keyedBy === 'token' ? token : digestOf(token));
          for (const hint of HINTS) assert.equal(await host.isActive(token, hint), true, `${kind} ${hint}`);
          assert.deepEqual(await host.introspect(token, 'auth_code'), INACTIVE);
          const { status } = await host.userInfo(token);
          // The header has no spaces and colons, and a refresh token is no access token.
          const isReadable = /^[A-Za-z0-9\-._~+/]+=*$/.test(token);
          assert.equal(status, kind === 'access_token' && isReadable ? 200 : 401);
          for (const hint of [...HINTS, 'auth_code']) {
            const another = newToken();
            host.store(kind, keyedBy === 'token' ? another : digestOf(another));
            assert.equal((await host.revoke(another, hint)).status, 200);
            assert.equal(await host.isActive(another), false, `${kind} is revoked with the hint ${hint}`);
          }
          assert.equal(await host.isActive(token), true);
        }
      }
    });
  }
}

test('grantd §2.3 texts that are no tokens never reach the tables', async () => {
  const host = new OwnTables({ keyedBy: 'token' });
  const forged = await new SignJWT({ iss: ISSUER, jti: 'known', exp: 4_000_000_000 })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
    .sign(new TextEncoder().encode('x'.repeat(32)));
  host.store('access_token', 'known');
  host.store('access_token', forged);
  const [header, payload] = forged.split('.');
  for (const text of [
    forged,
    `${header}.${payload}.`,
    `${header}..`,
    `${btoa('{"alg":"none"}').replaceAll('=', '')}.${payload}.`,
    'a'.repeat(4097),
    'tokén',
    'tab\there',
    '\u{1f511}',
    `grantd_at_${'x'.repeat(42)}`,
    'grantd_cs_secret',
  ]) {
    host.calls.length = 0;
    assert.equal(await host.isActive(text), false);
    assert.equal((await host.revoke(text)).status, 200);
    const asked = host.calls.filter((call) => /^(getBy|revoke)/.test(call));
    assert.deepEqual(asked, [], JSON.stringify(text));
  }
});

test('grantd §2.3 tokens with a prefix of this server have one lookup, by their digest', async () => {
  const host = new OwnTables({ keyedBy: 'token' });
  const token = `grantd_rt_${randomBytes(32).toString('base64url')}`;
  await host.introspect(token);
  const asked = host.calls.filter((call) => call.startsWith('getBy'));
  assert.deepEqual(asked, [`getByRefreshToken ${digestOf(token)}`]);
});

test('grantd §2.3 a record that names the digest of another token is not the presented one', async () => {
  // A column that compares without case finds it.
  const host = new OwnTables({ keyedBy: 'token' });
  host.store('access_token', 'ABCDEFGH', { digest: digestOf('abcdefgh') });
  assert.equal(await host.isActive('ABCDEFGH'), false);
  assert.equal(host.lastReason, 'differs_from_issued');
  host.store('access_token', 'IJKLMNOP', { digest: digestOf('IJKLMNOP') });
  assert.equal(await host.isActive('IJKLMNOP'), true);
});

/** JWTs of a host, by their header and claims, and which kind of token they can be. */
const JWT_FORMS: readonly {
  readonly name: string;
  readonly header: object;
  readonly claims?: Claims;
  /** By `typ` alone, by `typ` with the digest of the record, or by `identify`. */
  readonly found: readonly ('typ' | 'digest' | 'identify')[];
}[] = [
  { name: 'at+jwt', header: { typ: 'at+jwt' }, found: ['typ', 'digest', 'identify'] },
  { name: 'application/at+jwt', header: { typ: 'application/AT+JWT' }, found: ['typ', 'digest', 'identify'] },
  { name: 'rt+jwt', header: { typ: 'rt+jwt' }, found: ['typ', 'digest', 'identify'] },
  { name: 'JWT', header: { typ: 'JWT' }, found: ['digest', 'identify'] },
  { name: 'no typ', header: {}, found: ['digest', 'identify'] },
  { name: 'another typ', header: { typ: 'access' }, found: ['identify'] },
  { name: 'an ID token with a nonce', header: { typ: 'JWT' }, claims: { nonce: 'n' }, found: [] },
  { name: 'an ID token with at_hash', header: {}, claims: { at_hash: 'h' }, found: [] },
  { name: 'an ID token with c_hash', header: {}, claims: { c_hash: 'h' }, found: [] },
  { name: 'logout+jwt', header: { typ: 'logout+jwt' }, found: [] },
  { name: 'secevent+jwt', header: { typ: 'secevent+jwt' }, found: [] },
  { name: 'oauth-authz-req+jwt', header: { typ: 'oauth-authz-req+jwt' }, found: [] },
  { name: 'client-authentication+jwt', header: { typ: 'client-authentication+jwt' }, found: [] },
  { name: 'another issuer', header: { typ: 'at+jwt' }, claims: { iss: 'https://other.example' }, found: [] },
  { name: 'JWT of another issuer', header: {}, claims: { iss: 'https://other.example' }, found: [] },
];

for (const { name, header, claims = {}, found } of JWT_FORMS) {
  for (const way of ['typ', 'digest', 'identify'] as const) {
    test(`grantd §2.3 a verified JWT: ${name}, found by ${way}: ${found.includes(way)}`, async () => {
      for (const kind of KINDS) {
        const isOfOtherKind = /^(?:application\/)?(at|rt)\+jwt$/i.exec(
          String((header as { typ?: string }).typ),
        );
        if (isOfOtherKind && (isOfOtherKind[1]?.toLowerCase() === 'at') !== (kind === 'access_token'))
          continue;
        const identify = ({ tid }: Claims) => ({ kind, key: tid });
        const host = new OwnTables({ ...(way === 'identify' && { identify }) });
        const [jti, tid] = [randomUUID(), randomUUID()];
        const token = await host.jwt({ jti, tid, ...claims }, header);
        const key = way === 'identify' ? tid : jti;
        host.store(kind, key, way === 'digest' ? { digest: digestOf(token) } : {});
        for (const hint of HINTS) assert.equal(await host.isActive(token, hint), found.includes(way), kind);
        assert.equal((await host.revoke(token)).status, 200);
        assert.equal(host.calls.includes('revoke web'), found.includes(way));
        assert.equal(await host.isActive(token), false);
      }
    });
  }
}

test('grantd §2.3 a JWT with a bad signature is not looked up, whatever its record says', async () => {
  for (const identify of [undefined, ({ jti }: Claims) => ({ kind: 'access_token' as const, key: jti })]) {
    const host = new OwnTables({ ...(identify && { identify }) });
    const jti = randomUUID();
    const token = await host.jwt({ jti });
    const forged = `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
    host.store('access_token', jti, { digest: digestOf(forged) });
    host.store('access_token', digestOf(forged));
    assert.equal(await host.isActive(forged), false);
    assert.equal((await host.revoke(forged)).status, 200);
    assert.equal(host.calls.filter((call) => /^(getBy|revoke)/.test(call)).length, 0);
  }
});

test('grantd §2.3 what identify does not name, or names wrongly, is no token', async () => {
  for (const named of [
    undefined,
    { kind: 'access_token', key: undefined },
    { kind: 'access_token', key: '' },
    { kind: 'access_token', key: 7 },
    { kind: 'id_token', key: 'x' },
    { kind: 'refresh_token', key: 'x' }, // the typ says that it is an access token
  ]) {
    const host = new OwnTables({
      identify: () => named as ReturnType<NonNullable<Storage['tokens']['identify']>>,
    });
    for (const kind of KINDS) host.store(kind, 'x');
    assert.deepEqual(await host.introspect(await host.jwt()), INACTIVE);
    assert.equal(host.lastReason, 'wrong_type');
  }
});

test('grantd §7.3 UserInfo accepts another typ than at+jwt only with insecureAllowGenericJwts', async () => {
  const refused = bearerError(401, 'invalid_token', 'the token is not an access token');
  const wrongIssuer = 'the access token is from another issuer';
  for (const header of [{ typ: 'JWT' }, {}]) {
    for (const insecureAllowGenericJwts of [false, true]) {
      const host = new OwnTables({}, { insecureAllowGenericJwts });
      const jti = randomUUID();
      const token = await host.jwt({ jti }, header);
      host.store('access_token', jti, { digest: digestOf(token) });
      const { status, body } = await host.userInfo(token);
      assert.equal(status, insecureAllowGenericJwts ? 200 : 401);
      if (!insecureAllowGenericJwts) assert.equal(body, refused.body);

      const withoutIssuer = await host.jwt({ jti: 'no-iss', iss: undefined }, header);
      host.store('access_token', 'no-iss', { digest: digestOf(withoutIssuer) });
      assert.equal(await host.isActive(withoutIssuer), true);
      const answer = await host.userInfo(withoutIssuer);
      assert.equal(answer.status, 401);
      if (insecureAllowGenericJwts) assert.match(answer.body, new RegExp(wrongIssuer));

      // Without the digest, it could be any JWT of this key.
      host.store('access_token', jti);
      assert.equal((await host.userInfo(token)).status, 401);
    }
  }
});

test('grantd §2.4 a JWT without exp: the stored expiry decides at introspection, and UserInfo refuses it', async () => {
  const host = new OwnTables();
  const token = await host.jwt({ jti: 'without', exp: undefined });
  host.store('access_token', 'without');
  assert.equal(await host.isActive(token), true);
  assert.equal((await host.userInfo(token)).status, 401);
  assert.equal(host.lastReason, 'malformed');
  host.clock.advance(60);
  assert.equal(await host.isActive(token), false);
});

// ── Revocation ────────────────────────────────────────────────────────────────────────────────────────────

for (const revokeBy of REVOCATIONS) {
  for (const hasAccessCheck of revokeBy === 'flag' ? [true] : [true, false]) {
    test(`grantd §6 a host revokes by ${revokeBy}, with isAccessTokenRevoked: ${hasAccessCheck}`, async () => {
      for (const kind of KINDS) {
        const host = new OwnTables({ revokeBy, hasAccessCheck });
        const opaque = randomUUID();
        const jti = randomUUID();
        const jwt = await host.jwt({ jti }, { typ: kind === 'access_token' ? 'at+jwt' : 'rt+jwt' });
        host.store(kind, digestOf(opaque));
        host.store(kind, jti);
        for (const token of [opaque, jwt]) {
          assert.equal(await host.isActive(token), true);
          const { status, body } = await host.revoke(token);
          assert.deepEqual([status, body], [200, '']);
          assert.deepEqual(await host.introspect(token), INACTIVE);
          if (kind === 'access_token') assert.equal((await host.userInfo(token)).status, 401);
          assert.equal((await host.revoke(token)).status, 200);
        }
      }
    });
  }
}

test('grantd §6.2 the token of another client is never passed to revoke, unless clients do not authenticate', async () => {
  const host = new OwnTables();
  const token = randomUUID();
  host.store('refresh_token', digestOf(token));
  assert.equal((await host.revoke(token, undefined, 'api')).status, 200);
  assert.equal(
    host.calls.some((call) => call.startsWith('revoke')),
    false,
  );
  assert.equal(await host.isActive(token), true);

  const open = new OwnTables({}, { authenticateRevoke: false });
  open.store('refresh_token', digestOf(token));
  assert.equal((await open.post('/token/revoke', { token }, undefined)).status, 200);
  assert.equal(await open.isActive(token), false);
});

test('grantd §6.3 an expired token is passed to revoke', async () => {
  const host = new OwnTables();
  const token = await host.jwt({ jti: 'old' });
  host.store('access_token', 'old');
  host.clock.advance(3600);
  assert.equal((await host.revoke(token)).status, 200);
  assert.deepEqual(
    host.calls.filter((call) => call.startsWith('revoke')),
    ['revoke web'],
  );
});

/** Rows that cannot be read, except their owner. */
const BROKEN: Readonly<Record<string, Partial<Record<keyof Row, unknown>>>> = {
  expiry: { expiresAt: 'tomorrow' },
  scopes: { scopes: 7 },
  claims: { claims: 'text' },
  digest: { digest: 7n ** 40n },
};

for (const [name, fields] of Object.entries(BROKEN)) {
  test(`grantd §6.2 a row with a broken ${name} is 503 at introspection, 200 for another client, and can be revoked`, async () => {
    for (const header of [{ typ: 'at+jwt' }, { typ: 'JWT' }]) {
      const host = new OwnTables({ present: (row) => Object.assign(row, fields) });
      const jti = randomUUID();
      const token = await host.jwt({ jti }, header);
      host.store('access_token', jti, { digest: digestOf(token) });
      assert.deepEqual(await host.introspect(token), OUTAGE);
      assert.equal((await host.userInfo(token)).status, header.typ === 'at+jwt' ? FAULT : 401);
      assert.equal((await host.revoke(token, undefined, 'api')).status, 200);
      assert.equal(
        host.calls.some((call) => call.startsWith('revoke')),
        false,
      );
      assert.equal((await host.revoke(token)).status, 200);
      assert.equal(host.calls.includes('revoke web'), true);
    }
  });
}

// ── Secrets ───────────────────────────────────────────────────────────────────────────────────────────────

test('grantd §4.2 only exactly true accepts a secret, and a rejection is 503', async () => {
  for (const answer of [true, false, 1, 'true', {}, undefined, null]) {
    const host = new OwnTables();
    Object.assign(host.storage.clients, { verifySecret: async () => answer });
    const events: ServerEvent[] = [];
    const server = new AuthorizationServer({
      issuer: ISSUER,
      storage: host.storage,
      jwtService: jwtVerifier(publicKey),
      onEvent: (event) => event.type === 'refused' && events.push(event),
    });
    const response = await server.handle({
      method: 'POST',
      url: '/token/introspect',
      headers: { authorization: basic('api', 'x'), 'content-type': 'application/x-www-form-urlencoded' },
      body: 'token=x',
    });
    assert.equal(response?.status, answer === true ? 200 : 401, String(answer));
    // Another value is a mistake of the host, and the event of the refusal says so.
    const [{ cause = undefined } = {}] = events.splice(0) as readonly { readonly cause?: unknown }[];
    if (typeof answer === 'boolean') assert.equal(cause, undefined);
    else assert.match(String(cause), /^TypeError: verifySecret: expected true or false, found /);
  }
  const host = new OwnTables();
  host.outage = 'verifySecret';
  assert.equal((await host.introspect('x')).status, FAULT);
});

test('grantd §4.2 verifySecret is asked alike for a wrong secret and an unknown client, and its result is discarded', async () => {
  const host = new OwnTables();
  const asked = async (authorization: string) => {
    host.calls.length = 0;
    const { status } = await host.post('/token/introspect', { token: 'x' }, authorization);
    return [status, host.calls.filter((call) => call.startsWith('verifySecret')).length];
  };
  assert.deepEqual(await asked(basic('api', 'wrong')), [401, 1]);
  assert.deepEqual(await asked(basic('nobody', 'wrong')), [401, 1]);
  // Decoding changes this one, so both spellings are tried.
  assert.deepEqual(await asked(`Basic ${btoa('api:50%25+off')}`), [401, 2]);
  assert.deepEqual(await asked(`Basic ${btoa('nobody:50%25+off')}`), [401, 2]);
  host.outage = 'verifySecret'; // as of a host that does not expect undefined
  assert.deepEqual(await asked(basic('nobody', 'wrong')), [401, 1]);

  const silent = new OwnTables({}, { verifySecretForUnknownClients: false });
  assert.equal((await silent.post('/token/introspect', { token: 'x' }, basic('nobody', 'y'))).status, 401);
  assert.equal(
    silent.calls.some((call) => call.startsWith('verifySecret')),
    false,
  );
});

test('grantd §4.2 secrets over 1,024 bytes never reach verifySecret', async () => {
  const host = new OwnTables();
  for (const [secret, isAsked] of [
    ['x'.repeat(1024), true],
    ['x'.repeat(1025), false],
    ['ä'.repeat(513), false],
  ] as const) {
    host.calls.length = 0;
    const { status } = await host.post(
      '/token/introspect',
      { token: 'x', client_id: 'api', client_secret: secret },
      undefined,
    );
    assert.equal(status, 401);
    assert.equal(
      host.calls.some((call) => call.startsWith('verifySecret')),
      isAsked,
    );
  }
});

test('grantd §4.2 a client is public only if its record says so, never because it has no secret', async () => {
  const host = new OwnTables({}, { introspectionRequiresConfidentialClient: false });
  host.clients.set('bare', { id: 'bare' });
  const as = async (client_id: string, path: '/token/introspect' | '/token/revoke') =>
    (await host.post(path, { token: 'x', client_id }, undefined)).status;
  for (const path of ['/token/introspect', '/token/revoke'] as const) {
    assert.equal(await as('spa', path), 200);
    assert.equal(await as('bare', path), 401);
    assert.equal(await as('web', path), 401);
  }
  const strict = new OwnTables();
  const { status } = await strict.post('/token/introspect', { token: 'x', client_id: 'spa' }, undefined);
  assert.equal(status, 401);
});

test('grantd §10.1 a client’s method that does not exist is a fault that names it', async () => {
  const host = new OwnTables();
  host.clients.set('api', JSON.parse('{"id":"api","tokenEndpointAuthMethod":"basic"}'));
  assert.equal((await host.introspect('x')).status, FAULT);
  assert.match(
    host.lastFault,
    /^tokenEndpointAuthMethod in the record of a client: expected one of client_secret_basic/,
  );
});

// ── Values as database drivers return them ────────────────────────────────────────────────────────────────

const LATER = 2_000_000_000;

test('grantd §10.5 times can be integers, bigints, their text, or a Date', async () => {
  for (const expiresAt of [
    LATER,
    BigInt(LATER),
    String(LATER),
    new Date(LATER * 1000),
    new Date(LATER * 1000 + 999),
  ]) {
    const host = new OwnTables();
    host.clock.nowMs = (LATER - 10) * 1000;
    host.store('access_token', digestOf('t'), { expiresAt, issuedAtMs: new Date((LATER - 20) * 1000) });
    const { active, exp, iat } = await host.server.introspectToken('t');
    assert.deepEqual([active, exp, iat], [true, LATER, LATER - 20], String(expiresAt));
    host.clock.nowMs = LATER * 1000;
    assert.equal((await host.server.introspectToken('t')).active, false);
  }
});

test('grantd §10.5 an expiry of zero means revoked, in each of these forms', async () => {
  for (const expiresAt of [0, 0n, '0', new Date(0)]) {
    const host = new OwnTables();
    host.store('access_token', digestOf('t'), { expiresAt });
    assert.deepEqual(await host.introspect('t'), INACTIVE);
    assert.equal(host.lastReason, 'revoked');
  }
});

test('grantd §10.5 revokedAtMs and other times can have these forms too', async () => {
  for (const revokedAtMs of [1, 1n, '1', new Date(1)]) {
    const host = new OwnTables();
    host.store('access_token', digestOf('t'), { revokedAtMs });
    assert.deepEqual(await host.introspect('t'), INACTIVE);
    assert.equal(host.lastReason, 'revoked');
  }
});

for (const [member, value, found] of [
  ['expiresAt', undefined, 'has no expiresAt'],
  ['expiresAt', null, 'has no expiresAt'],
  ['expiresAt', Number.NaN, 'found the number NaN'],
  ['expiresAt', Number.POSITIVE_INFINITY, 'found the number Infinity'],
  ['expiresAt', 1.5, 'found the number 1.5'],
  ['expiresAt', 10 ** 11, 'Is it in milliseconds\\?, found the number 100000000000'],
  ['expiresAt', BigInt(Date.now()), 'Is it in milliseconds\\?'],
  ['expiresAt', String(Date.now()), 'Is it in milliseconds\\?'],
  ['expiresAt', '2030-01-01T00:00:00Z', 'found the text 2030-01-01T00:00:00Z'],
  ['expiresAt', 'never', 'found a text'],
  ['expiresAt', new Date(Number.NaN), 'found an invalid Date'],
  ['expiresAt', true, 'found the boolean true'],
  ['expiresAt', {}, 'found an object'],
  ['issuedAtMs', 'yesterday', 'issuedAtMs'],
  ['issuedAtMs', Math.floor(Date.now() / 1000), 'Is it in seconds\\?'],
  ['revokedAtMs', 10 ** 9, 'Is it in seconds\\?, found the number 1000000000'],
  ['revokedAtMs', true, 'revokedAtMs'],
  ['scopes', null, 'has no scopes'],
  ['scopes', 7, 'found the number 7'],
  ['scopes', ['openid', 7], 'found a list'],
  ['scopes', '["openid"]', 'found a text'],
  ['scopes', 'openid\temail', 'found a text'],
  ['subject', {}, 'subject'],
  ['digest', 7.5, 'digest'],
  ['claims', '{}', 'expected an object, found a text'],
] as const) {
  test(`grantd §10.5 ${member} = ${String(value)} is a fault that names it, never {"active":false}`, async () => {
    const host = new OwnTables({ present: (row) => Object.assign(row, { [member]: value }) });
    host.store('access_token', digestOf('t'));
    assert.deepEqual(await host.introspect('t'), OUTAGE);
    assert.equal(host.events.length, 1);
    assert.match(host.lastFault, new RegExp(member));
    assert.match(host.lastFault, new RegExp(found));
  });
}

test('grantd §10.5 scopes can be a list or their text, and identifiers integers', async () => {
  for (const scopes of [['openid', 'email'], 'openid email', ' openid  email ']) {
    const host = new OwnTables();
    host.clients.set('7', { id: 7n, secret: 'secret of 7' });
    host.store('access_token', digestOf('t'), { scopes, clientId: 7, subject: 42n });
    const { scope, client_id, sub } = JSON.parse((await host.introspect('t')).body);
    assert.deepEqual([scope, client_id, sub], ['openid email', '7', '42']);
    assert.equal((await host.revoke('t', undefined, '7')).status, 200);
    assert.equal(await host.isActive('t'), false);
  }
  const host = new OwnTables();
  host.store('access_token', digestOf('t'), { scopes: '' });
  assert.equal('scope' in JSON.parse((await host.introspect('t')).body), false);
});

test('grantd §10.2 whatever the host’s methods reject with is 503, and nothing is revoked', async () => {
  for (const method of [
    'clients.get',
    'getByRefreshToken',
    'getByAccessToken',
    'isAccessTokenRevoked',
    'revoke',
  ]) {
    const host = new OwnTables();
    host.store('access_token', digestOf('t'));
    host.outage = method;
    if (method !== 'revoke') assert.deepEqual(await host.introspect('t'), OUTAGE, method);
    if (method !== 'isAccessTokenRevoked') assert.equal((await host.revoke('t')).status, FAULT, method);
    host.outage = undefined;
    assert.equal(await host.isActive('t'), method !== 'isAccessTokenRevoked' || true);
  }
});

// ── JwtService and AccessTokenVerifier ────────────────────────────────────────────────────────────────────

test('grantd §2.3 a JwtService that rejects with an error of jose about the token has not verified it', async () => {
  const host = new OwnTables(
    {},
    {
      jwtService: {
        async verify(token) {
          const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
            currentDate: new Date(host.clock.nowMs),
            algorithms: ['ES256'],
          });
          return { verified: true, claims: payload, type: protectedHeader.typ };
        },
      },
    },
  );
  const token = await host.jwt({ jti: 'j' });
  host.store('access_token', 'j');
  assert.equal(await host.isActive(token), true);
  const other = await new SignJWT({ jti: 'j' }).setProtectedHeader({ alg: 'HS256' }).sign(new Uint8Array(32));
  for (const refused of [`${token.slice(0, -4)}AAAA`, other]) {
    assert.deepEqual(await host.introspect(refused), INACTIVE);
    const event = host.events.at(-1);
    assert.ok(event?.type === 'inactive' && event.reason === 'verifier_rejected');
    assert.ok(event.cause instanceof errors.JOSEError);
    assert.equal((await host.revoke(refused)).status, 200);
    assert.equal(host.events.at(-1)?.type, 'revocation_ignored');
    assert.equal((await host.userInfo(refused)).status, 401);
  }
  // It checks times, so the token cannot be revoked once it has expired. The event says so.
  host.clock.advance(120);
  assert.equal((await host.revoke(token)).status, 200);
  assert.equal(
    host.calls.some((call) => call.startsWith('revoke')),
    false,
  );
  assert.equal(host.lastReason, 'verifier_rejected');
});

test('grantd §8.5 every other rejection of a JwtService is an outage, and a wrong answer a fault', async () => {
  const token = await new OwnTables().jwt();
  for (const verify of [
    () => Promise.reject(new TypeError('fetch failed')),
    () => Promise.reject(new errors.JWKSTimeout()),
    () => {
      throw new Error('no connection');
    },
    async () => undefined,
    async () => ({}),
    async () => ({ verified: 'yes', claims: {} }),
    async () => ({ verified: true }),
    async () => ({ verified: true, claims: {}, type: 7 }),
  ]) {
    const host = new OwnTables({}, { jwtService: { verify: verify as never } });
    assert.deepEqual(await host.introspect(token), OUTAGE);
    assert.equal((await host.revoke(token)).status, FAULT);
    assert.equal((await host.userInfo(token)).status, FAULT);
  }
});

test('grantd §7.3 a host can replace the AccessTokenVerifier', async () => {
  const record = { clientId: 'web', scopes: 'openid email', subject: 'alice', expiresAt: LATER };
  const verifier = (verify: (token: string) => Promise<unknown>) =>
    new OwnTables({}, { accessTokenVerifier: { verify: verify as never } });
  const good = await verifier(async () => ({ record, claims: { sub: 'alice' } })).userInfo('any');
  assert.deepEqual(JSON.parse(good.body), {
    email: 'alice@example.org',
    email_verified: true,
    sub: 'alice',
  });
  for (const [verify, status] of [
    [() => Promise.reject(new OAuthError('invalid_token', 'no')), 401],
    [() => Promise.reject(new errors.JWTExpired('old', {})), 401],
    [() => Promise.reject(new Error('no connection')), FAULT],
    [async () => undefined, FAULT],
    [async () => ({ record, claims: undefined }), FAULT],
    [async () => ({ record: { ...record, expiresAt: 'x' }, claims: {} }), FAULT],
  ] as const)
    assert.equal((await verifier(verify).userInfo('any')).status, status);
});

test('grantd §5.8 a service that only verifies answers in JSON, whatever Accept prefers', async () => {
  const host = new OwnTables();
  host.store('access_token', digestOf('t'));
  const headers = {
    accept: 'application/token-introspection+jwt',
    authorization: basic('api', 'secret of api'),
    'content-type': 'application/x-www-form-urlencoded',
  };
  const request = { method: 'POST', url: '/token/introspect', headers, body: 'token=t' };
  const response = await host.server.handle(request);
  assert.deepEqual([response?.status, response?.headers['content-type']], [200, 'application/json']);
  // A client that is registered for a JWT never gets less protection.
  host.clients.set('api', {
    id: 'api',
    secret: 'secret of api',
    metadata: { introspection_signed_response_alg: 'RS256' },
  });
  assert.equal((await host.server.handle(request))?.status, 500);
});

test('grantd §10.1 a host without refresh tokens has neither of their methods', async () => {
  const host = new OwnTables({ hasRefreshTokens: false });
  host.store('access_token', digestOf('t'));
  assert.equal(await host.isActive('t', 'refresh_token'), true);
  assert.deepEqual(await host.introspect(await host.jwt({}, { typ: 'rt+jwt' })), INACTIVE);
  assert.equal((await host.revoke('t')).status, 200);
  assert.equal(await host.isActive('t'), false);
  assert.equal(
    host.calls.some((call) => call.includes('Refresh')),
    false,
  );
});

// ── The kit ───────────────────────────────────────────────────────────────────────────────────────────────

for (const revokeBy of REVOCATIONS) {
  for (const keyedBy of ['digest', 'token'] as const) {
    for (const { group, title, run } of storageKit([])) {
      test(`a host that revokes by ${revokeBy} and has tokens by ${keyedBy}, ${group}: ${title}`, async () => {
        const clock = { nowMs: 0 };
        let host = new OwnTables();
        await run({
          clock,
          open() {
            host = new OwnTables({ revokeBy, keyedBy });
            return host.storage;
          },
          registerClient(_storage, { id }, secret) {
            host.clients.set(id, { id, secret });
          },
          insertToken(_storage, { key, kind, ...token }) {
            host.store(kind, key, token);
          },
          breakStorage() {
            for (const [repository, methods] of Object.entries({
              clients: ['get'],
              tokens: ['getByAccessToken', 'getByRefreshToken', 'revoke'],
            }))
              for (const method of methods)
                Object.assign(Reflect.get(host.storage, repository), {
                  [method]: () => Promise.reject(new Error('down')),
                });
          },
        });
      });
    }
  }
}
