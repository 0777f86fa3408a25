import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as node from '../src/crypto/node.ts';
import * as web from '../src/crypto/web.ts';
import { equalInConstantTime } from '../src/platform/environment.ts';

const TEXTS = [
  '',
  'abc',
  'ä€😀',
  'e\u0301 is not \u00e9',
  '\u0000\u007f\n',
  '\ud800 is half a character',
  'x'.repeat(55), // the padding of SHA-256 needs another block from here on
  'x'.repeat(56),
  'x'.repeat(64),
  'ä'.repeat(100_000),
];

const KEYS = [1, 31, 32, 64, 65, 200].map((bytes) =>
  Uint8Array.from({ length: bytes }, (_, index) => (index * 7) % 256),
);

test('FIPS 180-4 §6.2 both ports know the SHA-256 of the standard’s example', async () => {
  const expected = Buffer.from(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    'hex',
  ).toString('base64url');
  assert.deepEqual([node.sha256('abc'), await web.sha256('abc')], [expected, expected]);
});

test('RFC 4231 §4.2 both ports know the HMAC-SHA-256 of its first test case', async () => {
  const key = new Uint8Array(20).fill(0x0b);
  const hex = 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7';
  const expected = Buffer.from(hex, 'hex').toString('base64url');
  assert.deepEqual(
    [node.hmacSha256(key, 'Hi There'), await web.hmacSha256(key, 'Hi There')],
    [expected, expected],
  );
});

test('RFC 5869 §A.3 both ports derive the key of its third test case', async () => {
  const secret = '\u000b'.repeat(22);
  const expected = '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d';
  const keys = await Promise.all([node, web].map(({ derivedKey }) => derivedKey(secret, '')));
  assert.deepEqual(
    keys.map((key) => Buffer.from(key).toString('hex')),
    [expected, expected],
  );
});

test('FIPS 180-4 §6.2 both ports hash every text alike, as base64url without padding', async () => {
  for (const text of TEXTS) {
    const hashed = await node.sha256(text);
    assert.match(hashed, /^[A-Za-z0-9_-]{43}$/);
    assert.equal(await web.sha256(text), hashed, text.slice(0, 20));
  }
});

test('RFC 4648 §5 both ports decode the same texts as base64url, and refuse the same', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const good = Array.from({ length: 20 }, (_, length) => Buffer.from(bytes.slice(230, 230 + length)));
  for (const one of [...good, Buffer.from(bytes)])
    for (const { fromBase64url } of [node, web])
      assert.deepEqual(Buffer.from(fromBase64url(one.toString('base64url')) ?? 'nothing'), one);
  for (const text of [
    'A',
    'AAAAA',
    'AA==',
    'AA=',
    '-+A',
    'A/AA',
    '++++',
    'AA.A',
    'AAé',
    'AA\u0000',
    '=',
    'AAAA=AAA',
  ])
    for (const { fromBase64url } of [node, web]) assert.equal(fromBase64url(text), undefined, text);
});

test('RFC 2104 §2 both ports authenticate every text alike, under keys of any length', async () => {
  for (const key of KEYS) {
    for (const text of TEXTS) {
      const code = await node.hmacSha256(key, text);
      assert.match(code, /^[A-Za-z0-9_-]{43}$/);
      assert.equal(await web.hmacSha256(key, text), code, `${key.length} bytes, ${text.slice(0, 20)}`);
    }
  }
});

test('RFC 2104 §2 a part of a buffer is a key of its own', async () => {
  const whole = Uint8Array.from({ length: 64 }, (_, index) => index);
  const part = whole.subarray(16, 48);
  const copy = Uint8Array.from(part);
  const codes = [
    node.hmacSha256(part, 'x'),
    await web.hmacSha256(part, 'x'),
    await web.hmacSha256(copy, 'x'),
  ];
  assert.equal(new Set(codes).size, 1);
  assert.notEqual(codes[0], node.hmacSha256(whole, 'x'));
});

test('both ports export the same names', () => {
  assert.deepEqual(Object.keys(node).sort(), Object.keys(web).sort());
});

test('texts are compared in constant time, with the right result', () => {
  for (const [one, other] of [
    ['', ''],
    ['abc', 'abc'],
    ['ä€', 'ä€'],
  ] as const) {
    assert.equal(equalInConstantTime(one, other), true);
  }
  for (const [one, other] of [
    ['', 'a'],
    ['abc', 'abd'],
    ['abc', 'bbc'],
    ['abc', 'abcd'],
    ['a', 'š'],
    ['\u0061', '\u0161'],
  ] as const) {
    assert.equal(equalInConstantTime(one, other), false);
    assert.equal(equalInConstantTime(other, one), false);
  }
});
