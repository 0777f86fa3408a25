import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClientAlgorithm, DocumentError, type FetchDocument, type FetchedDocument } from '@grantd/core';
import {
  CompactEncrypt,
  calculateJwkThumbprint,
  compactDecrypt,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose';
import { ClientKeys } from '../src/tokens/client_keys.ts';
import { fitsAlgorithm, readPublicKey, thumbprintOf } from '../src/tokens/public_keys.ts';
import { SettableClock } from './harness/settable_clock.ts';

const URI = 'https://client.example/jwks';
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;

/** A key pair of a client, with its entry in the key set. */
async function newKey(algorithm: string, members: JWK | object = {}, options: object = {}) {
  const pair = await generateKeyPair(algorithm, { extractable: true, ...options });
  const jwk: JWK = { ...(await exportJWK(pair.publicKey)), ...members };
  return { jwk, ...pair };
}

const inline = (...keys: readonly JWK[]) => ({ id: 'signer', metadata: { jwks: { keys } } });
const remote = { id: 'signer', metadata: { jwks_uri: URI } };

/** A site with a settable response, which counts requests. */
function site(first: FetchedDocument | DocumentError) {
  const clock = new SettableClock();
  const state = { answer: first, asked: 0 };
  const fetchDocument: FetchDocument = async () => {
    state.asked++;
    if (state.answer instanceof Error) throw state.answer;
    return state.answer;
  };
  return { clock, state, keys: new ClientKeys({ fetchDocument, clock: clock.read }) };
}

const answer = (body: unknown, status = 200): FetchedDocument => ({
  status,
  contentType: 'application/json',
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

const DOWN = new DocumentError('failed', 'there was no answer in time');
const offline = () => site(new DocumentError('failed', 'nothing is to be fetched')).keys;

// ── Which key ─────────────────────────────────────────────────────────────────────────────────────────────

for (const algorithm of ALGORITHMS) {
  test(`RFC 7517 §4 a registered ${algorithm} key verifies what it has signed, by its kid and without one`, async () => {
    const { jwk, privateKey } = await newKey(algorithm, { kid: 'one', alg: algorithm, use: 'sig' });
    const signed = await new SignJWT({ a: 1 }).setProtectedHeader({ alg: algorithm }).sign(privateKey);
    for (const keyId of ['one', undefined]) {
      const key = await offline().forVerifying(inline(jwk), algorithm, keyId);
      assert.ok(key);
      assert.deepEqual((await jwtVerify(signed, key)).payload, { a: 1 });
    }
    assert.equal(await offline().forVerifying(inline(jwk), algorithm, 'two'), undefined);
  });
}

test('OpenID Connect Core §10.1 without a kid only one key of the algorithm may be there', async () => {
  const rsa = await newKey('RS256');
  const other = await newKey('RS256');
  const elliptic = await newKey('ES256');
  const find = (...keys: readonly JWK[]) => offline().forVerifying(inline(...keys), 'RS256', undefined);
  assert.ok(await find(rsa.jwk, elliptic.jwk));
  assert.equal(await find(rsa.jwk, other.jwk), undefined);
  assert.equal(await find(elliptic.jwk), undefined);
  assert.equal(await offline().forVerifying({ id: 'signer' }, 'RS256', undefined), undefined);
});

test('RFC 7517 §4 a key for another algorithm, use or operation is no key, whatever its kid', async () => {
  const { jwk } = await newKey('RS256', { kid: 'one' });
  const curve = await newKey('ES384', { kid: 'one' });
  const find = (key: JWK, algorithm: ClientAlgorithm = 'RS256') =>
    offline().forVerifying(inline(key), algorithm, 'one');
  assert.ok(await find({ ...jwk, alg: 'RS256', use: 'sig', key_ops: ['verify'] }));
  assert.equal(await find({ ...jwk, alg: 'PS256' }), undefined);
  assert.equal(await find({ ...jwk, use: 'enc' }), undefined);
  assert.equal(await find({ ...jwk, key_ops: ['encrypt'] }), undefined);
  assert.equal(await find(jwk, 'ES256'), undefined);
  assert.equal(await find(curve.jwk, 'ES256'), undefined);
});

test('FAPI 2.0 Security Profile §5.4.3 among keys of the same kid, the one for the algorithm and use counts', async () => {
  const rsa = await newKey('RS256', { kid: 'one' });
  const elliptic = await newKey('ES256', { kid: 'one' });
  const forEncryption = { ...(await newKey('ES256', { kid: 'one' })).jwk, use: 'enc' };
  for (const keys of [
    [rsa.jwk, forEncryption, elliptic.jwk],
    [elliptic.jwk, forEncryption, rsa.jwk],
  ])
    for (const [signer, algorithm] of [
      [rsa, 'RS256'],
      [elliptic, 'ES256'],
    ] as const) {
      const jwt = await new SignJWT({ a: 1 }).setProtectedHeader({ alg: algorithm }).sign(signer.privateKey);
      const key = await offline().forVerifying(inline(...keys), algorithm, 'one');
      assert.ok(key);
      assert.deepEqual((await jwtVerify(jwt, key)).payload, { a: 1 });
    }
});

test('RFC 7517 §5 a key of an unknown curve or type, or with unreadable members, is no key', async () => {
  const rsa = await newKey('RS256', { kid: 'one' });
  const elliptic = await newKey('ES256', { kid: 'one' });
  const edwards = await newKey('EdDSA', { kid: 'one' }, { crv: 'Ed25519' });
  const find = ({ jwk }: { readonly jwk: JWK }, members: object, algorithm: ClientAlgorithm) =>
    offline().forVerifying(inline({ ...jwk, ...members } as JWK), algorithm, 'one');
  assert.ok(await find(elliptic, {}, 'ES256'));
  assert.ok(await find(edwards, { alg: 'Ed25519' }, 'EdDSA'));
  assert.equal(await find(edwards, { alg: 'ES256' }, 'EdDSA'), undefined);
  assert.equal(await find(rsa, { alg: 'Ed25519' }, 'RS256'), undefined);
  for (const members of [
    { crv: 'secp256k1' },
    { crv: 'Ed25519' },
    { kty: 'OKP' },
    { x: 1 },
    { y: undefined },
  ])
    assert.equal(await find(elliptic, members, 'ES256'), undefined, JSON.stringify(members));
  for (const members of [{ crv: 'P-256' }, { crv: 'Ed448' }, { kty: 'EC' }, { x: 'x' }, { x: '' }])
    assert.equal(await find(edwards, members, 'EdDSA'), undefined, JSON.stringify(members));
  for (const operations of ['verify', [1, 'verify'], { includes: 'verify' }])
    assert.equal(await find(rsa, { key_ops: operations }, 'RS256'), undefined, JSON.stringify(operations));
  assert.equal(await find(rsa, { n: 'AAAA' }, 'RS256'), undefined);
});

test('RFC 8725 §3.1 a symmetric key never verifies, nor does a private one that was given away', async () => {
  const { jwk, privateKey } = await newKey('ES256', { kid: 'one' });
  const find = (key: object) => offline().forVerifying(inline({ kid: 'one', ...key } as JWK), 'ES256', 'one');
  assert.ok(await find(jwk));
  assert.equal(await find(await exportJWK(privateKey)), undefined);
  assert.equal(
    await find({ kty: 'oct', k: 'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75' }),
    undefined,
  );
  assert.equal(await find({ ...jwk, k: 'AyM1SysPpby' }), undefined);
});

test('RFC 7518 §3.1 an algorithm has keys of one type, and of one curve if it names a curve', () => {
  assert.equal(fitsAlgorithm({ kty: 'EC', crv: 'P-256' }, 'ES256'), true);
  assert.equal(fitsAlgorithm({ kty: 'EC', crv: 'P-384' }, 'ES256'), false);
  assert.equal(fitsAlgorithm({ kty: 'OKP', crv: 'Ed25519' }, 'EdDSA'), true);
  assert.equal(fitsAlgorithm({ kty: 'OKP', crv: 'X25519' }, 'EdDSA'), false);
  assert.equal(fitsAlgorithm({ kty: 'EC', crv: 'P-384' }, 'ECDH-ES'), true);
  assert.equal(fitsAlgorithm({ kty: 'OKP', crv: 'X25519' }, 'ECDH-ES'), true);
  assert.equal(fitsAlgorithm({ kty: 'OKP', crv: 'Ed25519' }, 'ECDH-ES'), false);
});

test('RFC 7518 §3.3 an RSA key is neither short, also not behind zeros, nor long, nor has it a long exponent', async () => {
  const { jwk } = await newKey('RS256', { kid: 'one' });
  const find = (members: object) =>
    offline().forVerifying(inline({ ...jwk, ...members } as JWK), 'RS256', 'one');
  assert.ok(await find({}));
  const modulus = (bytes: number, first = 0xff) =>
    Buffer.concat([Buffer.from([first]), Buffer.alloc(bytes - 1, 0xff)]).toString('base64url');
  assert.ok(await find({ n: modulus(1024) })); // 8192 bits
  assert.equal(await find({ n: modulus(1025, 1) }), undefined); // 8193 bits
  assert.ok(await find({ e: modulus(4) }));
  for (const n of [
    modulus(128),
    modulus(256, 0x7f),
    modulus(256, 0),
    modulus(1025),
    modulus(4000),
    '',
    'A',
    '=',
    7,
  ])
    assert.equal(await find({ n }), undefined);
  assert.equal(await find({ e: modulus(5) }), undefined);
});

test('RFC 8017 §3.1 an RSA modulus is odd, because nothing can be encrypted with another one', async () => {
  const { jwk } = await newKey('RS256', { kid: 'one' });
  const even = Buffer.alloc(256, 0xfe).toString('base64url');
  assert.equal(await offline().forVerifying(inline({ ...jwk, n: even } as JWK), 'RS256', 'one'), undefined);
});

test('RFC 8017 §3.1 an RSA exponent is odd and at least 3, so that nobody can sign without the key', async () => {
  const { jwk } = await newKey('RS256', { kid: 'one' });
  const find = (...e: number[]) =>
    offline().forVerifying(
      inline({ ...jwk, e: Buffer.from(e).toString('base64url') } as JWK),
      'RS256',
      'one',
    );
  for (const e of [[3], [0, 3], [1, 0, 1]]) assert.ok(await find(...e), String(e));
  for (const e of [[0], [1], [0, 1], [2], [4], [1, 0, 0]])
    assert.equal(await find(...e), undefined, String(e));
});

test('RFC 7638 §3 the thumbprint is that of jose, for each type of key and whatever else a key says', async () => {
  for (const algorithm of ['RS256', 'ES256', 'ES384', 'EdDSA', 'ECDH-ES']) {
    const { jwk } = await newKey(algorithm, { kid: 'k', use: 'sig', y2: 'unknown' });
    const read = readPublicKey({ ...jwk });
    assert.ok(read, algorithm);
    assert.equal(await thumbprintOf(read), await calculateJwkThumbprint(jwk), algorithm);
  }
});

test('RFC 7517 §5 members that cannot be read are left out, and the others are used', async () => {
  const { jwk } = await newKey('ES256', { kid: 'one' });
  const off = { ...jwk, y: jwk.x } as JWK;
  const strange = [
    null,
    'key',
    [],
    {},
    { kty: 'EC' },
    { kty: 'X' },
    { ...jwk, crv: 'P-257' },
    { ...jwk, x: 1 },
  ];
  const set = { id: 'signer', metadata: { jwks: JSON.parse(JSON.stringify({ keys: [...strange, jwk] })) } };
  assert.ok(await offline().forVerifying(set, 'ES256', 'one'));
  assert.equal(await offline().forVerifying(inline(off), 'ES256', 'one'), undefined, 'not on its curve');
});

for (const [algorithm, made] of [
  ['RSA-OAEP-256', 'RSA-OAEP-256'],
  ['ECDH-ES', 'ECDH-ES'],
  ['ECDH-ES+A256KW', 'ECDH-ES+A256KW'],
] as const) {
  test(`RFC 7516 what is encrypted to the client's ${algorithm} key is for the client to read`, async () => {
    const signing = await newKey('ES256', { kid: 'signing', use: 'sig' });
    const { jwk, privateKey } = await newKey(made, { kid: 'enc', use: 'enc' });
    const found = await offline().forEncrypting(inline(signing.jwk, jwk), algorithm);
    assert.ok(found);
    assert.equal(found.keyId, 'enc');
    const sealed = await new CompactEncrypt(new TextEncoder().encode('for the client'))
      .setProtectedHeader({ alg: algorithm, enc: 'A128GCM' })
      .encrypt(found.key);
    const { plaintext } = await compactDecrypt(sealed, privateKey);
    assert.equal(new TextDecoder().decode(plaintext), 'for the client');
    assert.equal(await offline().forEncrypting(inline(signing.jwk), algorithm), undefined);
  });
}

test('RFC 7518 §6.2.1 nothing is encrypted to a point that is not on its curve', async () => {
  const { jwk } = await newKey('ECDH-ES', { kid: 'one', use: 'enc' });
  assert.ok(await offline().forEncrypting(inline(jwk), 'ECDH-ES'));
  assert.equal(await offline().forEncrypting(inline({ ...jwk, x: jwk.y } as JWK), 'ECDH-ES'), undefined);
});

// ── Behind a URI ──────────────────────────────────────────────────────────────────────────────────────────

test('a key set is fetched once for several minutes, then again, so that a key taken away is gone', async () => {
  const { jwk } = await newKey('ES256', { kid: 'one' });
  const { clock, state, keys } = site(answer({ keys: [jwk] }));
  const find = () => keys.forVerifying(remote, 'ES256', 'one');
  assert.ok(await find());
  clock.advance(299);
  assert.ok(await find());
  assert.equal(state.asked, 1);
  state.answer = answer({ keys: [] });
  clock.advance(1);
  assert.equal(await find(), undefined);
  assert.equal(state.asked, 2);
});

test('an unknown kid has the set fetched again at once, and then not for ten seconds', async () => {
  const [first, second, third] = await Promise.all(
    ['one', 'two', 'three'].map((kid) => newKey('ES256', { kid })),
  );
  const { clock, state, keys } = site(answer({ keys: [first?.jwk] }));
  assert.ok(await keys.forVerifying(remote, 'ES256', 'one'));
  state.answer = answer({ keys: [first?.jwk, second?.jwk] });
  assert.ok(await keys.forVerifying(remote, 'ES256', 'two'));
  state.answer = answer({ keys: [third?.jwk] });
  clock.advance(9);
  for (const keyId of ['three', 'four', 'five'])
    assert.equal(await keys.forVerifying(remote, 'ES256', keyId), undefined);
  assert.equal(state.asked, 2);
  clock.advance(1);
  assert.ok(await keys.forVerifying(remote, 'ES256', 'three'));
  assert.equal(state.asked, 3);
});

test('of the set of a client 32 keys are looked at, which it may write as long as it likes', async () => {
  const { jwk } = await newKey('ES256');
  const many = Array.from({ length: 33 }, (_, index) => ({ ...jwk, kid: `key ${index}` }));
  const { keys } = site(answer({ keys: many }));
  for (const owner of [remote, inline(...many)]) {
    assert.ok(await keys.forVerifying(owner, 'ES256', 'key 31'));
    assert.equal(await keys.forVerifying(owner, 'ES256', 'key 32'), undefined);
  }
});

test('those who ask at once share one request', async () => {
  const { jwk } = await newKey('ES256', { kid: 'one' });
  const { state, keys } = site(answer({ keys: [jwk] }));
  const found = await Promise.all([1, 2, 3].map(() => keys.forVerifying(remote, 'ES256', 'one')));
  assert.deepEqual([found.every(Boolean), state.asked], [true, 1]);
});

test('a set that cannot be had is an error, not an absent key, and is not asked for again at once', async () => {
  const { clock, state, keys } = site(DOWN);
  const find = () => keys.forVerifying(remote, 'ES256', 'one');
  await assert.rejects(find, DOWN.ofClient('signer'));
  await assert.rejects(find, DOWN.ofClient('signer'));
  assert.equal(state.asked, 1);
  const { jwk } = await newKey('ES256', { kid: 'one' });
  state.answer = answer({ keys: [jwk] });
  clock.advance(10);
  assert.ok(await find());
  assert.equal(await keys.forVerifying(remote, 'ES256', 'two'), undefined, 'the failure is over');
});

test('fetched keys stay valid for minutes while the site is down', async () => {
  const { jwk } = await newKey('ES256', { kid: 'one' });
  const { clock, state, keys } = site(answer({ keys: [jwk] }));
  await keys.forVerifying(remote, 'ES256', 'one');
  state.answer = DOWN;
  clock.advance(100);
  await assert.rejects(keys.forVerifying(remote, 'ES256', 'two'), DOWN.ofClient('signer'));
  assert.ok(await keys.forVerifying(remote, 'ES256', 'one'));
  clock.advance(200);
  await assert.rejects(keys.forVerifying(remote, 'ES256', 'one'), DOWN.ofClient('signer'));
});

test('a response that is not a key set is an error', async () => {
  for (const [document, outcome] of [
    [answer({ keys: [] }, 404), 'refused'],
    [answer({ keys: [] }, 429), 'failed'],
    [answer({ keys: [] }, 500), 'failed'],
    [answer('no JSON'), 'refused'],
    [answer({ keys: {} }), 'refused'],
    [answer([]), 'refused'],
    [answer('null'), 'refused'],
  ] as const) {
    const { keys } = site(document);
    await assert.rejects(
      keys.forVerifying(remote, 'ES256', 'one'),
      (error) => error instanceof DocumentError && error.outcome === outcome,
    );
  }
});

test('a thousand sets are cached, and the least recently used one leaves first', async () => {
  const { jwk } = await newKey('ES256', { kid: 'one' });
  const { state, keys } = site(answer({ keys: [jwk] }));
  const find = (index: number) =>
    keys.forVerifying({ id: 'signer', metadata: { jwks_uri: `${URI}/${index}` } }, 'ES256', 'one');
  for (let index = 0; index < 1000; index++) await find(index);
  await find(0);
  assert.equal(state.asked, 1000);
  await find(1000);
  await find(0);
  assert.equal(state.asked, 1001);
  await find(1);
  assert.equal(state.asked, 1002);
});
