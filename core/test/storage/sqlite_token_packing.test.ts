import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenRecord } from '../../src/protocol/records.ts';
import { TokenPacking } from '../../src/storage/sqlite/cached_tokens.ts';

const CLIENT = { copied: 0, current: 3, raisedAtMs: 1_764_270_000_000 };

const OF_CLIENT: TokenRecord = {
  id: 'digest-of-the-first',
  kind: 'access_token',
  digest: 'digest-of-the-first',
  clientId: 'machine',
  scopes: ['read', 'write'],
  tokenType: 'Bearer',
  claims: {
    iss: 'https://login.example',
    iat: 1_764_270_000,
    exp: 1_764_273_600,
    jti: 'one',
    aud: ['a', 'b'],
  },
  issuedAtMs: 1_764_270_000_123,
  expiresAt: 1_764_273_600,
  standing: { client: CLIENT },
};

const OF_USER: TokenRecord = {
  ...OF_CLIENT,
  id: 'jti-of-the-second',
  clientId: 'web',
  subject: 'subject',
  keyId: 'key',
  pairId: 'pair',
  familyId: 'family',
  grantId: 'grant',
  sessionId: 'session',
  confirmation: { jkt: 'thumbprint' },
  standing: { client: CLIENT, subject: { copied: 1_764_270_000_123, current: 1_764_270_000_123 } },
};

/** Tokens of which each differs from the first two in something that a template keeps, or in what it leaves out. */
const ALIKE: readonly TokenRecord[] = [OF_CLIENT, OF_USER].flatMap((token) => {
  const { claims: _, ...withoutClaims } = token;
  const { tokenType: __, ...withoutType } = token;
  return [
    token,
    { ...token, id: 'another' },
    { ...token, id: 'another', digest: 'another' },
    { ...token, digest: '' },
    withoutClaims,
    withoutType,
    { ...token, claims: {} },
    { ...token, claims: { ...token.claims, iat: 0, jti: 'two', exp: null } },
    { ...token, claims: { ...token.claims, aud: 'a', nbf: 1 } },
    {
      ...token,
      claims: JSON.parse('{"__proto__":{"iat":1},"iat":2,"constructor":"x","jti":"\\ud800\\n\\u0000"}'),
    },
    { ...token, scopes: [] },
    { ...token, notBeforeMs: 5, revokedAtMs: 6 },
    { ...token, resources: ['https://api.example'], authorizationDetails: [{ type: 'payment', iat: 4 }] },
    { ...token, standing: { client: { ...CLIENT, current: 4, disabledAtMs: 7 } } },
  ];
});

test('a record that was packed and unpacked is the same, whatever it has in common with others', () => {
  const packing = new TokenPacking();
  const texts = ALIKE.map((token, version) => packing.pack({ ...token, version }));
  for (const [version, token] of ALIKE.entries()) {
    const unpacked = packing.unpack(texts[version] ?? '', token.id);
    assert.deepEqual(unpacked, { ...token, version });
    assert.equal(JSON.stringify(unpacked), JSON.stringify({ ...token, version }), 'in the same order');
  }
});

test('records are packed even if there are more clients than templates', () => {
  const packing = new TokenPacking();
  const tokens = Array.from({ length: 3000 }, (_, index) => [
    { ...OF_CLIENT, clientId: `machine-${index}` },
    { ...OF_USER, clientId: `web-${index}` },
  ]).flat();
  const texts = tokens.map((token, version) => packing.pack({ ...token, version }));
  for (const [version, token] of tokens.entries())
    assert.deepEqual(packing.unpack(texts[version] ?? '', token.id), { ...token, version });
  const [first = '', last = ''] = [texts[0], texts.at(-2)];
  assert.ok(last.length > first.length + 100, 'the later ones have no values in common');
});

test('a record with too many characters is not kept, of its own or in common with others, and takes no template', () => {
  const packing = new TokenPacking();
  const packed = (token: TokenRecord) => packing.pack({ ...token, version: 0 });
  for (const [length, isKept] of [
    [500, true],
    [2500, false],
  ] as const) {
    const text = 'x'.repeat(length);
    for (const token of [OF_CLIENT, OF_USER])
      for (const further of [
        { scopes: [text] },
        { claims: { ...token.claims, roles: text } },
        { pairId: text },
      ]) {
        const long = packed({ ...token, ...further });
        assert.equal(long !== undefined, isKept, JSON.stringify(further));
      }
  }
  const numbers = [OF_CLIENT, OF_USER].map((token) => Number(packed(token)?.slice(1).split(',')[0]));
  assert.ok(Math.max(...numbers) < 10, `${numbers}`);
});
