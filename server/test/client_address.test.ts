import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressUnit, senderOf } from '@grantd/core/node';
import { clientAddress, networkOf } from '../src/config/client_address.ts';

const PROXIES = ['10.0.0.0/8', '2001:db8:ffff::/48'];

function addressOf(
  peer: string | undefined,
  forwardedFor?: string | string[],
  trustedProxies: readonly string[] = PROXIES,
): string {
  const headers = { ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }) };
  return clientAddress(trustedProxies)({ socket: { remoteAddress: peer }, headers });
}

test('X-Forwarded-For is believed from a trusted proxy alone', () => {
  assert.equal(addressOf('10.1.2.3', '192.0.2.1'), '192.0.2.1');
  assert.equal(addressOf('203.0.113.9', '192.0.2.1'), '203.0.113.9');
  assert.equal(addressOf('10.1.2.3', '192.0.2.1', []), '10.1.2.3');
  assert.equal(addressOf('127.0.0.1', '192.0.2.1', ['127.0.0.1']), '192.0.2.1');
});

test('what a client claims in front of what a proxy adds counts for nothing', () => {
  assert.equal(addressOf('10.1.2.3', '198.51.100.7, 192.0.2.1'), '192.0.2.1');
  assert.equal(addressOf('10.1.2.3', ['198.51.100.7', '192.0.2.1']), '192.0.2.1');
});

test('several trusted proxies in a row are looked through', () => {
  assert.equal(addressOf('10.1.2.3', '198.51.100.7, 192.0.2.1, 10.9.9.9'), '192.0.2.1');
  assert.equal(addressOf('10.1.2.3', '10.9.9.9'), '10.9.9.9');
});

test('a client has the address of the proxy only if the proxy reports nothing', () => {
  assert.equal(addressOf('10.1.2.3'), '10.1.2.3');
  for (const reported of [
    '',
    'unknown',
    '192.0.2.1, unknown',
    '192.0.2.1,',
    '10.9.9.9, [::1',
    '10.1.2.3 x',
    '_hidden',
  ])
    assert.equal(addressOf('10.1.2.3', reported), 'unknown', reported);
  assert.equal(addressOf('192.0.2.1', 'nonsense'), '192.0.2.1', 'no trusted proxy');
});

test('an address is one, however it is written', () => {
  assert.equal(addressOf('::ffff:10.1.2.3', '192.0.2.1:4711'), '192.0.2.1');
  assert.equal(addressOf('::ffff:192.0.2.1'), '192.0.2.1');
  for (const mapped of [
    '::ffff:a01:101',
    '::FFFF:10.1.1.1',
    '0:0:0:0:0:ffff:0a01:0101',
    '[::ffff:a01:101]:443',
  ])
    assert.equal(addressOf('2001:db8:ffff::1', mapped), '10.1.1.1', mapped);
  assert.equal(addressOf('2001:db8:ffff::1', '::ffff:0:a01:101'), '::ffff:0:a01:101');
  assert.equal(addressOf('fe80::1%eth0'), 'fe80::1');
  assert.equal(addressOf('10.1.2.3', '[2001:DB8:0::1]:443'), '2001:db8::1');
  assert.equal(addressOf('2001:db8:ffff::1', '2001:db8:0:0::1'), '2001:db8::1');
});

test('a connection that is gone has no address', () => {
  assert.equal(addressOf(undefined, '192.0.2.1'), '');
});

test('the unit of an address is the IPv4 address or the IPv6 /64, however it is written', () => {
  for (const [address, unit] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2::', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2:ffff::]', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:1::', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ] as const)
    assert.equal(addressUnit(address), unit, address);
});

test('the network of an address is an IPv4 /24 or an IPv6 /56, and names no single device', () => {
  for (const [address, network] of [
    ['203.0.113.77', '203.0.113.0/24'],
    ['::ffff:203.0.113.77', '203.0.113.0/24'],
    ['2001:db8:42:7::9', '2001:db8:42:0::/56'],
    ['2001:db8:42:abcd::9', '2001:db8:42:ab00::/56'],
    ['2001:db8::9', '2001:db8:0:0::/56'],
    ['::1', '0:0:0:0::/56'],
    ['', undefined],
    ['example', undefined],
  ] as const)
    assert.equal(networkOf(address), network, address);
});

test('all /64 of an IPv6 /48 are four senders, and each address of one /64 is the same one', () => {
  const sites = Array.from({ length: 500 }, (_, index) => `2001:db8:5:${index.toString(16)}`);
  const senders = sites.map((site) => senderOf(`${site}::1`));
  const shares = [...new Set(senders)].map((sender) => senders.filter((one) => one === sender).length);
  assert.equal(shares.length, 4);
  for (const share of shares) assert.ok(share > 90, `${share} of 500`);
  for (const site of sites) assert.equal(senderOf(`${site}:1:2:3:4`), senderOf(`${site}::1`));
  assert.ok(!senders.includes(senderOf('2001:db8:6::1')), 'another /48');
  assert.deepEqual(['192.0.2.1', '::ffff:192.0.2.1', 'unknown'].map(senderOf), [
    '192.0.2.1',
    '192.0.2.1',
    'unknown',
  ]);
});
