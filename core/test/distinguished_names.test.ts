// § refers to RFC 4514.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameName, parseDistinguishedName } from '../src/clients/distinguished_name.ts';

const isSame = (one: string, other: string) => {
  const [first, second] = [parseDistinguishedName(one), parseDistinguishedName(other)];
  assert.ok(first && second, `${one} and ${other} must be names`);
  return isSameName(first, second);
};

test('§2.4, RFC 5280 §7.1 escapes, spaces, case, short names and OIDs do not change a name', () => {
  for (const written of [
    'CN=client,O=Example\\, Inc.,C=DE',
    'cn = CLIENT , o = Example\\2c  inc. , c = de ',
    '2.5.4.3=client,2.5.4.10=Example\\, Inc.,2.5.4.6=DE',
    'CN=#0c06636c69656e74 ,O=Example\\, Inc.,C=DE',
    'CN=#1306434c49454e54,O=Example\\, Inc.,C=DE',
  ])
    assert.ok(isSame(written, 'CN=client,O=Example\\, Inc.,C=DE'), written);
  assert.ok(isSame('CN=J\\C3\\BCrgen', 'CN=Jürgen'));
  assert.ok(isSame('CN=a\\=b\\+c', 'CN=a=b\\+c'));
});

test('§2.2 the attributes of one entity have no order', () => {
  assert.ok(isSame('UID=7+CN=client,O=Example', 'CN=client+UID=7,O=Example'));
});

test('§2.1 other entities, another order and other types are another name', () => {
  for (const other of [
    'O=Example,CN=client',
    'CN=client+O=Example',
    'CN=client',
    'CN=client,O=Example,C=DE',
    'CN=client,CN=client,O=Example',
    'UID=client,O=Example',
    'CN=client\\,O\\=Example',
    'CN=#020101,O=Example',
    'CN=,O=Example',
  ])
    assert.ok(!isSame(other, 'CN=client,O=Example'), other);
});

test('§3 a malformed name is none', () => {
  for (const written of [
    '',
    'client',
    'CN',
    '=client',
    'CN=client,',
    'CN=client+',
    'CN=client;O=Example',
    'CN="client"',
    'CN=client\\',
    'CN=client\\x',
    'CN=#',
    'CN=#0',
    'CN=#0c01zz',
    'CN=\\ff',
    'CN=a\0b',
    'UNKNOWN=client',
    'constructor=client',
    '2=client',
    '/CN=client',
  ])
    assert.equal(parseDistinguishedName(written), undefined, written);
});

// Anyone who may register clients can register such a text, and the server parses it at each authentication.
test('§3 the time to read a name grows with its length alone', () => {
  const most = 2000;
  for (const written of [
    `CN=${' '.repeat(most)}\\`,
    `CN${' '.repeat(most)}\\`,
    `${' '.repeat(most)}\\`,
    `CN=${'a '.repeat(most / 2)}"`,
    `CN=#${'ab'.repeat(most / 2)}${' '.repeat(most)}x`,
    `1${'.1'.repeat(most / 2)}\\`,
    `CN=${'\\ '.repeat(most / 2)}"`,
    'CN=a,'.repeat(most / 5),
  ]) {
    const cpu = process.cpuUsage();
    assert.equal(parseDistinguishedName(written), undefined);
    const { user } = process.cpuUsage(cpu);
    assert.ok(user < 500_000, `${user} µs for ${written.slice(0, 20)}…`);
  }
});
