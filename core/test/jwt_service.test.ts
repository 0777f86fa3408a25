// Long: one class, which signs, verifies and rotates, with the forgeries against it.
import assert from 'node:assert/strict';
import crypto, { createHash, createHmac } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import {
  type AdministrableStorage,
  AuthorizationServer,
  type KeyRecord,
  MEMBER_NAMES,
  ServerSecret,
} from '@grantd/core';
import {
  base64url,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  jwtVerify,
  SignJWT,
} from 'jose';
import { SigningKeys, StoredKeysJwtService } from '../src/tokens/jwt_service.ts';
import { secondServer } from './harness/second_server.ts';
import { SettableClock } from './harness/settable_clock.ts';
import { stolenKey } from './harness/stolen_key.ts';
import { MEMORY, SQLITE } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import { ISSUER, openWorld, SECRET, type World } from './harness/world.ts';

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const;
const NEW_SECRET = 'the secret that follows it, with more than 32 characters';
const STORES = [MEMORY, SQLITE];

/** Empty storage, with services over it as in several processes. */
function openStore(t: TestContext, store = MEMORY) {
  const clock = new SettableClock();
  const { storage, dispose } = store.open(ISSUER, clock.read);
  t.after(dispose);
  const service = (secret: string | readonly string[] = SECRET, cachedTokens = 1000) =>
    new StoredKeysJwtService(
      new SigningKeys(storage.keys, new ServerSecret(secret), clock.read, []),
      cachedTokens,
    );
  const server = (secret: string | readonly string[] = SECRET) =>
    new AuthorizationServer({ issuer: ISSUER, secret, storage, clock: clock.read });
  return { storage, clock, service, server };
}

function encoded(part: unknown): string {
  return base64url.encode(JSON.stringify(part));
}

/** The current JWKS. */
async function keySetOf(world: World): Promise<JSONWebKeySet> {
  const { body } = await world.send({ method: 'GET', path: '/jwks', headers: {} });
  return JSON.parse(body);
}

/** Whether a client that reads JWKS now can verify the signature. */
async function verifies(world: World, token: string): Promise<boolean> {
  const options = { currentDate: new Date(world.clock.nowMs) };
  return jwtVerify(token, createLocalJWKSet(await keySetOf(world)), options).then(
    () => true,
    () => false,
  );
}

for (const algorithm of ALGORITHMS) {
  const standard = { EdDSA: 'RFC 8037 §3.1', Ed25519: 'RFC 9864 §2.2' }[String(algorithm)] ?? 'RFC 7518 §3.1';
  test(`${standard} ${algorithm} signs and verifies`, async (t) => {
    const jwt = openStore(t).service();
    const claims = { sub: 'alice', nested: { list: [1, 'ä'] } };
    const { token, keyId } = await jwt.sign(claims, { type: 'at+jwt', algorithm });
    assert.deepEqual(decodeProtectedHeader(token), { alg: algorithm, typ: 'at+jwt', kid: keyId });
    const digest = createHash('sha256').update(token).digest('base64url');
    const verified = { verified: true, type: 'at+jwt', keyId, claims, digest };
    assert.deepEqual([await jwt.verify(token), await jwt.verify(token)], [verified, verified]);

    const [published] = (await jwt.publicKeys()).filter(({ kid }) => kid === keyId);
    assert.equal(published?.alg, algorithm);
    const { payload } = await jwtVerify(token, await importJWK(published ?? {}, algorithm));
    assert.deepEqual(payload, claims);
  });
}

test('RFC 8725 §3.1 the algorithm is the key’s own: a token that names another with the same kid does not verify', async (t) => {
  const { storage, service } = openStore(t);
  const jwt = service();
  const { token, keyId } = await jwt.sign({ sub: 'alice' }, { type: 'at+jwt', algorithm: 'RS256' });
  const [, payload, signature] = token.split('.');
  const publicJwk = (await storage.keys.list()).find(({ kid }) => kid === keyId)?.publicJwk ?? {};
  const publicKey = await importJWK(publicJwk, 'RS256', { extractable: true });
  assert.ok(!(publicKey instanceof Uint8Array));
  const pem = await exportSPKI(publicKey);

  for (const alg of ['PS256', 'RS384', 'RS512', 'ES256', 'EdDSA', 'HS256', 'none', 'NONE', 'rs256', '']) {
    const header = encoded({ alg, typ: 'at+jwt', kid: keyId });
    const signatures = [
      signature,
      '',
      createHmac('sha256', pem).update(`${header}.${payload}`).digest('base64url'),
      createHmac('sha256', JSON.stringify(publicJwk)).update(`${header}.${payload}`).digest('base64url'),
      createHmac('sha256', String(publicJwk.n)).update(`${header}.${payload}`).digest('base64url'),
    ];
    for (const one of signatures) {
      assert.deepEqual(
        await jwt.verify(`${header}.${payload}.${one}`),
        { verified: false, reason: 'bad_signature' },
        alg,
      );
    }
  }
});

test('RFC 8725 §3.1 a signature by our own key under another algorithm does not verify', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const { kid, privateKey } = await stolenKey(world);
  const jwk = await crypto.subtle.exportKey('jwk', privateKey).catch(() => undefined);
  assert.equal(jwk, undefined, 'an imported signing key does not leave the process');
  const otherPair = await generateKeyPair('PS256', { modulusLength: 2048 });
  const forged = await new SignJWT(decodeJwt(access_token))
    .setProtectedHeader({ alg: 'PS256', typ: 'at+jwt', kid })
    .sign(otherPair.privateKey);
  assert.equal((await world.server.introspectToken(forged)).active, false);
  assert.equal(world.lastReason, 'bad_signature');
});

test('RFC 7515 §5.2 a signature is checked once for each token, and anew once another key has joined', async (t) => {
  const checking = t.mock.method(crypto, 'verify');
  syncBuiltinESMExports();
  t.after(() => {
    checking.mock.restore();
    syncBuiltinESMExports();
  });
  const { service } = openStore(t);
  const [signing, jwt] = [service(), service()];
  const token = async (algorithm: 'ES256' | 'EdDSA', claims = {}) =>
    (await signing.sign({ sub: 'alice', ...claims }, { type: 'at+jwt', algorithm })).token;
  const checksOf = async (text: string) => {
    const before = checking.mock.callCount();
    assert.equal((await jwt.verify(text)).verified, true);
    return checking.mock.callCount() - before;
  };
  const [first, second, joining] = [await token('ES256'), await token('ES256'), await token('EdDSA')];
  assert.deepEqual([await checksOf(first), await checksOf(first)], [1, 0]);
  assert.deepEqual([await checksOf(second), await checksOf(first)], [1, 0]);
  assert.deepEqual([await checksOf(joining), await checksOf(first), await checksOf(joining)], [1, 1, 0]);
  const long = await token('ES256', { roles: 'x'.repeat(8192) });
  assert.deepEqual([await checksOf(long), await checksOf(long), await checksOf(first)], [1, 0, 0]);
});

test('RFC 7515 §5.2 changing the claims of a verified token does not affect its next verification', async (t) => {
  const jwt = openStore(t).service();
  const claims = { sub: 'alice', aud: ['one'], act: { sub: 'bob', roles: ['reader'] } };
  const { token } = await jwt.sign(claims, { type: 'at+jwt', algorithm: 'ES256' });
  for (const _ of ['when it is checked', 'when it is remembered', 'after it was changed']) {
    const verified = await jwt.verify(token);
    assert.ok(verified.verified);
    assert.deepEqual(verified.claims, claims);
    const { act, aud } = verified.claims;
    Object.assign(verified.claims, { sub: 'mallory' });
    Object.assign(act ?? {}, { sub: 'mallory' });
    if (Array.isArray(aud)) aud.push('everything');
  }
});

test('RFC 7515 §5.2 a token that was refused is refused again, and does not stand in the way of the true one', async (t) => {
  const jwt = openStore(t).service();
  const { token } = await jwt.sign({ sub: 'alice' }, { type: 'at+jwt', algorithm: 'ES256' });
  const forged = `${token.slice(0, -6)}AAAAAA`;
  for (const _ of ['at first', 'again'])
    assert.deepEqual(await jwt.verify(forged), { verified: false, reason: 'bad_signature' });
  assert.equal((await jwt.verify(token)).verified, true);
  assert.deepEqual(await jwt.verify(forged), { verified: false, reason: 'bad_signature' });
  const [header, payload, signature = ''] = token.split('.');
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.indexOf(
    signature.at(-1) ?? '',
  );
  const looseBits = `${signature.slice(0, -1)}${'BRhx'[last >> 4]}`;
  const spellings = [`${signature}=`, `${signature}==`, `${signature} `, `\n${signature}`, looseBits];
  for (const spelling of [...spellings, `${signature.slice(0, 9)}\t${signature.slice(9)}`])
    assert.equal((await jwt.verify(`${header}.${payload}.${spelling}`)).verified, false, spelling);
  assert.deepEqual(base64url.decode(looseBits), base64url.decode(signature));
});

test('RFC 7515 §4.1 a header with its own key or a critical member is not trusted', async (t) => {
  const jwt = openStore(t).service();
  const { keyId } = await jwt.sign({}, { type: 'at+jwt', algorithm: 'ES256' });
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const own = await exportJWK(publicKey);
  const headers = [
    { alg: 'ES256', kid: keyId, jwk: own },
    { alg: 'ES256', kid: keyId, jku: 'https://evil.example/jwks', x5u: 'https://evil.example/x' },
    { alg: 'ES256', kid: keyId },
  ];
  for (const header of headers) {
    const token = await new SignJWT({ sub: 'alice' }).setProtectedHeader(header).sign(privateKey);
    assert.deepEqual(await jwt.verify(token), { verified: false, reason: 'bad_signature' });
  }
  const unknownKey = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', kid: 'own', jwk: own })
    .sign(privateKey);
  assert.deepEqual(await jwt.verify(unknownKey), { verified: false, reason: 'unknown_key' });
});

test('RFC 7515 §5.2 whatever is no JWS with a kid is malformed, and nothing is thrown', async (t) => {
  const jwt = openStore(t).service();
  const { token, keyId } = await jwt.sign({ sub: 'alice' }, { type: 'at+jwt', algorithm: 'ES256' });
  const [header = '', payload = '', signature = ''] = token.split('.');
  const malformed = [
    '',
    '.',
    '..',
    'a.b',
    'a.b.c',
    'a.b.c.d',
    '!.!.!',
    `${encoded('text')}.${payload}.${signature}`,
    `${encoded(null)}.${payload}.${signature}`,
    `${encoded([])}.${payload}.${signature}`,
    `${encoded({ alg: 'ES256' })}.${payload}.${signature}`,
    `${encoded({ alg: 'ES256', kid: 1 })}.${payload}.${signature}`,
    `${encoded({ alg: 'ES256', kid: { toString: 'x' } })}.${payload}.${signature}`,
  ];
  for (const text of malformed) {
    assert.deepEqual(await jwt.verify(text), { verified: false, reason: 'malformed' }, text);
  }
  const broken = [
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${header}..${signature}`,
    `${header}.${payload}.${signature.slice(0, -4)}`,
    `${header}.${payload}.${signature}.${signature}`,
    `${header}.${payload}.${signature}=`,
    `${header}.${encoded({ sub: 'bob' })}.${signature}`,
    `${encoded({ alg: 'ES256', kid: keyId, crit: ['exp'], exp: 1 })}.${payload}.${signature}`,
    `${encoded({ alg: 'ES256', kid: keyId, b64: false, crit: ['b64'] })}.${payload}.${signature}`,
  ];
  for (const text of broken) assert.equal((await jwt.verify(text)).verified, false, text);
  for (const kid of ['constructor', '__proto__', '']) {
    const text = `${encoded({ alg: 'ES256', kid })}.${payload}.${signature}`;
    assert.deepEqual(await jwt.verify(text), { verified: false, reason: 'unknown_key' });
  }
});

for (const store of STORES) {
  test(`OpenID Connect Core §10.1.1 on ${store.name}, through three rotations every retired key verifies, and each kid was published before it signed`, async (t) => {
    const world = await openWorld(t, {}, { transport: FUNCTION, store });
    const published = async () => (await keySetOf(world)).keys.map(({ kid }) => kid);
    const tokens = [await world.machineToken()];
    for (let rotation = 1; rotation <= 3; rotation++) {
      const before = await published();
      world.clock.advance(300);
      const kid = await world.server.operator.rotateSigningKey('RS256');
      const token = await world.machineToken();
      assert.equal(decodeProtectedHeader(token).kid, kid);
      assert.ok(before.includes(kid), 'everyone could know the key before it signed');
      tokens.push(token);

      const after = await published();
      assert.equal(after.length, rotation + 2 * ALGORITHMS.length);
      assert.deepEqual(
        before.filter((one) => !after.includes(one)),
        [],
      );
      assert.deepEqual(
        await world.alive(...tokens),
        tokens.map(() => true),
      );
      for (const one of tokens) assert.equal(await verifies(world, one), true);
    }
    assert.equal(new Set(tokens.map((token) => decodeProtectedHeader(token).kid)).size, 4);
    const keys = (await world.storage.keys.list()).filter(({ algorithm }) => algorithm === 'RS256');
    const statuses = keys.map(({ status }) => status).sort();
    assert.deepEqual(statuses, ['current', 'next', 'retired', 'retired', 'retired']);
  });

  test(`OpenID Connect Core §10.1.1 on ${store.name}, two servers over one storage follow each other’s rotation at the next call`, async (t) => {
    const one = await openWorld(t, {}, { transport: FUNCTION, store });
    const other = await secondServer(one);
    for (const [rotating, following] of [
      [one, other],
      [other, one],
      [one, other],
    ] as const) {
      const kid = await rotating.server.operator.rotateSigningKey('RS256', { now: true });
      const token = await following.machineToken();
      assert.equal(decodeProtectedHeader(token).kid, kid);
      assert.deepEqual(await rotating.alive(token), [true]);
      const [ofOne, ofOther] = [await keySetOf(rotating), await keySetOf(following)];
      assert.deepEqual(ofOne, ofOther);
    }
  });

  test(`OpenID Connect Core §10.1.1 on ${store.name}, two rotations at once are one, or two in a row, and leave one current key`, async (t) => {
    const { storage, server } = openStore(t, store);
    const [one, other] = [server(), server()];
    await one.prepare();
    const now = { now: true };
    await Promise.all([
      one.operator.rotateSigningKey('RS256', now),
      other.operator.rotateSigningKey('RS256', now),
    ]);
    const keys = (await storage.keys.list()).filter(({ algorithm }) => algorithm === 'RS256');
    const statuses = keys.map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 'current').length, 1);
    assert.equal(statuses.filter((status) => status === 'next').length, 1);
  });

  test(`OpenID Connect Core §10.1.1 on ${store.name}, rotations that name the key to replace are one, and a later one is none`, async (t) => {
    const { storage, server } = openStore(t, store);
    const servers = [server(), server(), server()];
    await servers[0]?.prepare();
    const currentOf = async () =>
      (await storage.keys.list()).find(
        ({ algorithm, status }) => algorithm === 'RS256' && status === 'current',
      )?.kid;
    const from = (await currentOf()) ?? '';
    const rotate = ({ operator }: (typeof servers)[number]) =>
      operator.rotateSigningKey('RS256', { now: true, from });
    const kids = await Promise.all(servers.map(rotate));
    const current = await currentOf();
    assert.notEqual(current, from);
    assert.deepEqual(kids, [current, current, current]);
    for (const one of servers) assert.equal(await rotate(one), current);
    assert.equal(await servers[0]?.operator.rotateSigningKey('RS256', { from }), current, 'nor does it wait');
    assert.equal((await storage.keys.list()).filter(({ algorithm }) => algorithm === 'RS256').length, 3);
  });

  test(`RFC 7517 §9.2 on ${store.name}, private keys are sealed at rest, and only the server’s secret opens them`, async (t) => {
    const { storage, server, service } = openStore(t, store);
    for (const algorithm of ALGORITHMS) await service().sign({}, { type: 'JWT', algorithm });
    const records = await storage.keys.list();
    assert.equal(records.length, 2 * ALGORITHMS.length);
    for (const { publicJwk, sealedPrivateKey } of records) {
      for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.equal(member in publicJwk, false);
      const { alg, enc } = decodeProtectedHeader(sealedPrivateKey);
      assert.deepEqual([alg, enc, sealedPrivateKey.split('.').length], ['dir', 'A256GCM', 5]);
    }

    await assert.rejects(server(NEW_SECRET).prepare(), {
      message:
        /^the signing key \S+ was sealed under another server secret; start with the secret that made it$/,
    });
    await server([NEW_SECRET, SECRET]).prepare();
    const signed = await service([NEW_SECRET, SECRET]).sign({}, { type: 'JWT', algorithm: 'ES256' });
    assert.equal(
      (await service(NEW_SECRET).verify(signed.token)).verified,
      true,
      'public keys are not sealed',
    );
  });

  test(`RFC 7517 §9.2 on ${store.name}, a rotation seals the new key under the first secret`, async (t) => {
    const { server } = openStore(t, store);
    await server().prepare();
    const changing = server([NEW_SECRET, SECRET]);
    await changing.operator.rotateSigningKey('RS256', { now: true });
    await assert.rejects(server(NEW_SECRET).prepare(), /sealed under another server secret/);
    await changing.operator.rotateSigningKey('RS256', { now: true });
    await server(NEW_SECRET).prepare();
  });

  test(`OpenID Connect Core §10.1.1 on ${store.name}, a retired key is removed only when no token that it signed remains`, async (t) => {
    const world = await openWorld(t, { accessTokenLifetime: 7200 }, { transport: FUNCTION, store });
    const { access_token, refresh_token } = await world.grant();
    const retired = decodeProtectedHeader(access_token).kid;
    const isThere = async () => (await world.storage.keys.list()).some(({ kid }) => kid === retired);
    const sweepAll = async () => {
      while ((await world.storage.sweep(100)) > 0);
    };
    await world.server.operator.rotateSigningKey('RS256');
    await world.server.operator.rotateSigningKey('RS256', { now: true });

    world.clock.advance(7200 - 1);
    await sweepAll();
    assert.deepEqual(
      [await isThere(), ...(await world.alive(access_token, refresh_token))],
      [true, true, true],
    );

    world.clock.advance(14 * 24 * 60 * 60 - 7200 - 1); // two seconds before the refresh token ends
    await sweepAll();
    assert.deepEqual([await isThere(), ...(await world.alive(refresh_token))], [true, true]);
    const successor = await world.rotated(refresh_token);
    world.clock.advance(1);
    assert.deepEqual(await world.alive(refresh_token, successor.refresh_token), [false, true]);

    world.clock.advance(24 * 60 * 60); // a store may keep it until the end of that day
    await sweepAll();
    assert.equal(await isThere(), false);
    assert.deepEqual(await world.alive(successor.refresh_token), [true]);
    assert.equal((await world.refresh(successor.refresh_token)).status, 200);
  });
}

test('RFC 7517 §9.2 sealed keys that were swapped between rows are refused', async (t) => {
  const { storage, server } = openStore(t);
  await server().prepare();
  await server().operator.rotateSigningKey('RS256', { now: true });
  const records = await storage.keys.list();
  const rotated = records.map((record, index): KeyRecord => {
    const { sealedPrivateKey } = records[(index + 1) % records.length] ?? record;
    return { ...record, sealedPrivateKey };
  });
  const swapped: AdministrableStorage = {
    ...storage,
    keys: { ...storage.keys, get: (kid) => rotated.find((key) => key.kid === kid) },
  };
  const attacked = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage: swapped });
  await assert.rejects(attacked.prepare(), /sealed under another server secret/);
});

test('RFC 7517 §9.2 a sealed key that cannot be read is not called one of another server secret', async (t) => {
  const { storage, server } = openStore(t);
  await server().prepare();
  const unreadable = (await storage.keys.list()).map((record) => ({ ...record, sealedPrivateKey: 'x' }));
  const keys = { ...storage.keys, get: (kid: string) => unreadable.find((key) => key.kid === kid) };
  const damaged = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage: { ...storage, keys } });
  await assert.rejects(damaged.prepare(), { name: 'JWEInvalid' });
});

test('RFC 7517 §9.2 a sealed key that was altered is refused', async (t) => {
  const { storage, server } = openStore(t);
  await server().prepare();
  const altered = (await storage.keys.list()).map((record) => {
    const parts = record.sealedPrivateKey.split('.');
    const ciphertext = parts[3] ?? '';
    parts[3] = (ciphertext.startsWith('A') ? 'B' : 'A') + ciphertext.slice(1);
    return { ...record, sealedPrivateKey: parts.join('.') };
  });
  const keys = { ...storage.keys, get: (kid: string) => altered.find((key) => key.kid === kid) };
  const attacked = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage: { ...storage, keys } });
  await assert.rejects(attacked.prepare());
});

test('RFC 9068 §2.1 the algorithm is the client’s own, or else the server’s, for each kind of token', async (t) => {
  const world = await openWorld(t);
  const server = await secondServer(world, {
    accessTokenAlgorithm: 'EdDSA',
    idTokenAlgorithm: 'PS256',
    oidc: { getUserClaims: () => ({}) },
  });
  const { access_token, id_token, refresh_token } = await server.grant();
  const algorithms = [access_token, id_token, refresh_token].map((token) => decodeProtectedHeader(token).alg);
  assert.deepEqual(algorithms, ['EdDSA', 'PS256', 'RS256']);
  assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);

  const secrets = [await world.server.operator.hashClientSecret('x')];
  await world.storage.clients.add({
    id: 'own',
    secrets,
    grantTypes: [],
    scopes: [],
    redirectUris: [],
    accessTokenAlgorithm: 'ES256',
  });
  const [issued] = await server.server.operator.issueTokens({ clientId: 'own' });
  assert.equal(decodeProtectedHeader(issued?.accessToken ?? '').alg, 'ES256');
  assert.deepEqual(await world.alive(issued?.accessToken ?? ''), [true]);
});

test('RFC 9068 §2.1 changing the algorithm kills nothing that was issued', async (t) => {
  const world = await openWorld(t);
  const { access_token, refresh_token } = await world.grant();
  const changed = await secondServer(world, { accessTokenAlgorithm: 'ES256' });
  await changed.server.prepare();
  assert.deepEqual(await changed.alive(access_token, refresh_token), [true, true]);
  const next = await changed.rotated(refresh_token);
  assert.equal(decodeProtectedHeader(next.access_token).alg, 'ES256');
  assert.deepEqual(await world.alive(next.access_token, access_token), [true, true]);
});

test('prepare makes the keys of the algorithms that the server uses, once (OpenID Connect Core §10.1.1)', async (t) => {
  const { storage, clock } = openStore(t);
  const options = { issuer: ISSUER, secret: SECRET, storage, clock: clock.read };
  const server = new AuthorizationServer({
    ...options,
    oidc: { getUserClaims: () => undefined },
    ...{ accessTokenAlgorithm: 'ES256', idTokenAlgorithm: 'EdDSA' },
  });
  await Promise.all([server.prepare(), server.prepare()]);
  await server.prepare();
  const keys = await storage.keys.list();
  assert.deepEqual(
    keys.map(({ algorithm, status }) => `${algorithm} ${status}`).sort(),
    ['ES256 current', 'ES256 next', 'EdDSA current', 'EdDSA next', 'RS256 current', 'RS256 next'],
    'RS256 signs responses for clients that register no algorithm',
  );
  assert.deepEqual(await server.operator.signingAlgorithms(), ['RS256', 'ES256', 'EdDSA']);
});

/** Members of client metadata whose algorithm the server signs with. */
const SIGNED = MEMBER_NAMES.filter((name) => name.endsWith('_signed_response_alg'));

for (const by of ['an operator', 'a client'] as const)
  test(`whatever algorithm ${by} registers, the key set has its key before it signs`, async (t) => {
    assert.equal(SIGNED.length, 5);
    for (const member of SIGNED.filter((name) => by === 'an operator' || !name.startsWith('access_token')))
      for (const algorithm of ALGORITHMS) {
        const { storage, clock } = openStore(t);
        const server = new AuthorizationServer({
          ...{ issuer: ISSUER, secret: SECRET, storage, clock: clock.read },
          ...{ oidc: { getUserClaims: () => undefined }, registration: { openTo: 'anyone' } },
        });
        const keySet = async (): Promise<JSONWebKeySet> =>
          JSON.parse((await server.jwks({ method: 'GET', url: '/jwks', headers: {} })).body);
        assert.deepEqual([...new Set((await keySet()).keys.map(({ alg }) => alg))], ['RS256']);

        const members = { redirect_uris: ['https://app.example/callback'], [member]: algorithm };
        if (by === 'a client') {
          const response = await server.register({
            ...{ method: 'POST', url: '/register', headers: { 'content-type': 'application/json' } },
            body: JSON.stringify(members),
          });
          assert.equal(response.status, 201, response.body);
        } else {
          const written = { grant_types: ['authorization_code'], ...members };
          const client = await server.operator.clientFrom({ id: 'app' }, written);
          await server.operator.publishKeys(client);
          await storage.clients.add(client);
        }
        const { keys } = await keySet();
        assert.deepEqual(
          [...new Set(keys.map(({ alg }) => alg))].sort(),
          [...new Set(['RS256', algorithm])].sort(),
        );
        const service = new StoredKeysJwtService(
          new SigningKeys(storage.keys, new ServerSecret(SECRET), clock.read, []),
          1000,
        );
        const { keyId } = await service.sign({}, { type: 'JWT', algorithm });
        assert.ok(
          keys.some(({ kid, alg }) => kid === keyId && alg === algorithm),
          `${member} ${algorithm}`,
        );
      }
  });

const ES256_CLIENT = {
  ...{ id: 'app', grantTypes: [], scopes: [], redirectUris: [] },
  idTokenAlgorithm: 'ES256',
} as const;

test('a key signs only after the key set could be cached without it, unless it has to at once', async (t) => {
  const { server, clock } = openStore(t);
  const one = server();
  await one.operator.publishKeys(ES256_CLIENT);
  const published = [];
  for (const wait of [300, 1]) {
    assert.equal(await one.operator.secondsUntilRotation('ES256'), wait);
    await assert.rejects(one.operator.rotateSigningKey('ES256'), {
      name: 'SigningKeyTooYoung',
      algorithm: 'ES256',
      waitSeconds: wait,
    });
    clock.advance(wait === 300 ? 299 : 1);
  }
  published.push(await one.operator.rotateSigningKey('ES256'));
  await assert.rejects(one.operator.rotateSigningKey('ES256'), {
    name: 'SigningKeyTooYoung',
    waitSeconds: 300,
  });
  published.push(await one.operator.rotateSigningKey('ES256', { now: true }));
  assert.equal(new Set(published).size, 2);
});

test('OpenID Connect Core §10.1.1 the wait is that of the next key, however old the current one is', async (t) => {
  const { server, clock } = openStore(t);
  const one = server();
  const { operator } = one;
  await one.prepare();
  await operator.publishKeys(ES256_CLIENT);
  clock.advance(1000);
  await operator.rotateSigningKey('ES256');
  assert.equal(await operator.secondsUntilRotation('ES256'), 300);
  assert.equal(await operator.secondsUntilRotation('RS256'), 0);
  clock.advance(300);
  assert.equal(await operator.secondsUntilRotation('ES256'), 0);
});

test('RFC 7517 §9.2 after a new server secret, preparing seals every key under it, except those that no secret opens', async (t) => {
  const { storage, clock } = openStore(t);
  const keysUnder = (secret: string | readonly string[], repository = storage.keys) =>
    new SigningKeys(repository, new ServerSecret(secret), clock.read, []);
  await keysUnder(SECRET).publish(ALGORITHMS);
  const kids = (await storage.keys.list()).map(({ kid }) => kid);
  assert.equal(kids.length, 2 * ALGORITHMS.length);
  const both = keysUnder([NEW_SECRET, SECRET]);
  assert.deepEqual(
    [...(await both.seals()).values()],
    kids.map(() => 1),
  );
  await keysUnder(SECRET).prepare();
  assert.deepEqual(
    [...(await both.seals()).values()],
    kids.map(() => 1),
  );
  await both.prepare();
  assert.deepEqual(
    [...(await both.seals()).values()],
    kids.map(() => 0),
  );
  assert.deepEqual(
    [...(await keysUnder(SECRET).seals()).values()],
    kids.map(() => -1),
  );

  const sealed = await storage.keys.list();
  await both.prepare();
  assert.deepEqual(await storage.keys.list(), sealed);
  await keysUnder(['a third secret, with far more than 32 characters', SECRET]).prepare();
  assert.deepEqual(await storage.keys.list(), sealed);
  const withoutReseal = { ...storage.keys, reseal: undefined } as unknown as typeof storage.keys;
  await keysUnder([SECRET, NEW_SECRET], withoutReseal).prepare();
  assert.deepEqual(await storage.keys.list(), sealed);
});

test('keys are read from storage once, and again after forgetCached', async (t) => {
  const { storage, clock } = openStore(t);
  let reads = 0;
  const get: typeof storage.keys.get = (kid) => {
    reads += 1;
    return storage.keys.get(kid);
  };
  const keys = new SigningKeys({ ...storage.keys, get }, new ServerSecret(SECRET), clock.read, []);
  const { kid } = await keys.forSigning('ES256');
  await keys.forSigning('ES256');
  assert.equal(reads, 1);
  await keys.forVerifying(kid);
  await keys.forVerifying(kid);
  assert.equal(reads, 2);
  keys.forgetCached();
  await keys.forSigning('ES256');
  await keys.forVerifying(kid);
  assert.equal(reads, 4);
  await assert.rejects(keys.forSigning('ES256', 'unknown'), /the signing key unknown is not in storage/);
});

test('a server secret has at least 32 characters, and its fingerprint has 8', async () => {
  const secrets: readonly (string | readonly string[])[] = [[], ['short'], [SECRET, 'short'], 'x'.repeat(31)];
  for (const secret of secrets)
    assert.throws(() => new ServerSecret(secret), { name: 'ConfigurationError', option: 'secret' });
  assert.throws(() => new ServerSecret(JSON.parse('[7]')), { name: 'ConfigurationError' });
  const two = new ServerSecret([NEW_SECRET, 'x'.repeat(32)]);
  const fingerprints = await two.fingerprints();
  assert.deepEqual(
    fingerprints.map(({ length }) => length),
    [8, 8],
  );
  assert.equal(new Set(fingerprints).size, 2);
  const [newest] = await two.keys('dpop_nonce');
  assert.equal(await two.key('dpop_nonce'), newest);
  assert.equal(newest?.length, 32);
});
