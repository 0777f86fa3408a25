import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** Special-purpose blocks of the IANA registries (RFC 6890) that lie in the unicast space. */
const SPECIAL_IPV4 = blockList('ipv4', [
  ['0.0.0.0', 8], // this network (RFC 791)
  ['10.0.0.0', 8], // private (RFC 1918)
  ['100.64.0.0', 10], // carrier-grade NAT (RFC 6598)
  ['127.0.0.0', 8], // loopback (RFC 1122)
  ['169.254.0.0', 16], // link-local (RFC 3927), where clouds keep their credentials
  ['172.16.0.0', 12], // private (RFC 1918)
  ['192.0.0.0', 24], // IETF protocol assignments (RFC 6890)
  ['192.0.2.0', 24], // documentation (RFC 5737)
  ['192.31.196.0', 24], // AS112 (RFC 7535)
  ['192.52.193.0', 24], // AMT (RFC 7450)
  ['192.88.99.0', 24], // 6to4 relays (RFC 7526)
  ['192.168.0.0', 16], // private (RFC 1918)
  ['192.175.48.0', 24], // AS112 (RFC 7534)
  ['198.18.0.0', 15], // benchmarking (RFC 2544)
  ['198.51.100.0', 24], // documentation (RFC 5737)
  ['203.0.113.0', 24], // documentation (RFC 5737)
  ['224.0.0.0', 4], // multicast (RFC 1112)
  ['240.0.0.0', 4], // reserved, and broadcast (RFC 1112, RFC 919)
]);

/** What is neither here nor NAT64 is loopback, mapped, unique local, link-local, multicast or not given out yet. */
const GLOBAL_IPV6 = blockList('ipv6', [['2000::', 3]]);
const SPECIAL_IPV6 = blockList('ipv6', [
  ['2001::', 23], // IETF protocol assignments, with Teredo and benchmarking (RFC 2928, RFC 4380, RFC 5180)
  ['2001:db8::', 32], // documentation (RFC 3849)
  ['2002::', 16], // 6to4, which leads to the IPv4 address inside it (RFC 3056)
  ['2620:4f:8000::', 48], // AS112 (RFC 7534)
  ['3fff::', 20], // documentation (RFC 9637)
]);

/** Leads to the IPv4 address in its last 32 bits (RFC 6052 §2.1); all that an IPv6-only network sees of IPv4. */
const NAT64 = blockList('ipv6', [['64:ff9b::', 96]]);

/** Whether an IP address, as text, is one that anybody on the internet could ask. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL_IPV4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false; // a zone is one of this machine's own links
  if (NAT64.check(address, 'ipv6')) return !SPECIAL_IPV4.check(lastFourBytes(address), 'ipv4');
  return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6');
}

function blockList(
  family: 'ipv4' | 'ipv6',
  blocks: readonly (readonly [network: string, bits: number])[],
): BlockList {
  const list = new BlockList();
  for (const [network, bits] of blocks) list.addSubnet(network, bits, family);
  return list;
}

/** Of an IPv6 address, in the dotted form of IPv4. */
function lastFourBytes(address: string): string {
  // The URL parser writes the address in hexadecimal groups alone, whatever its form was.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::').at(-1)?.split(':') ?? [];
  const [high = 0, low = 0] = ['0', '0', ...groups]
    .slice(-2)
    .map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
