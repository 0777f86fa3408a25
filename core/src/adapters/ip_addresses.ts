// IP addresses: their written form, what counts as one sender, and which of them are public.
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/** An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2), as the URL parser writes it. */
const IPV4_MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * Normalizes an IP address: removes port and zone, and turns IPv4-mapped IPv6 into IPv4.
 * @returns `undefined` if the text is not an IP address
 */
export function plainAddress(text: string): string | undefined {
  const [, bracketed, before] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const address = (bracketed ?? before ?? text.trim()).replace(/%.*$/, '');
  const version = isIP(address);
  if (version === 0) return undefined;
  if (version === 4) return address;
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = IPV4_MAPPED.exec(written) ?? [];
  return high === undefined || low === undefined ? written : ipv4Of(high, low);
}

const GROUPS = 8;
/** 64 bits, the least that a network assigns to one customer (RFC 6177 §2). */
const GROUPS_OF_UNIT = 4;

/**
 * Returns the unit that all limits count as one address: the IPv4 address, or the /64 of an IPv6 address, because its
 * owner controls every address in it. Returns any other text unchanged.
 */
export function addressUnit(text: string): string {
  const address = plainAddress(text);
  if (address === undefined || isIP(address) === 4) return address ?? text;
  const [head = '', tail] = address.split('::');
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = tail === undefined ? 0 : GROUPS - (before?.length ?? 0) - (after?.length ?? 0);
  const groups = [...(before ?? []), ...Array<string>(zeros).fill('0'), ...(after ?? [])];
  return `${groups.slice(0, GROUPS_OF_UNIT).join(':')}::/64`;
}

/** @param halves 16 bits each, in hexadecimal */
function ipv4Of(...halves: readonly [string, string]): string {
  return halves
    .map((half) => Number.parseInt(half, 16))
    .flatMap((bits) => [bits >> 8, bits & 0xff])
    .join('.');
}

/** Special-purpose blocks of the IANA registry (RFC 6890). */
const SPECIAL_IPV4 = blockList('ipv4', [
  ['0.0.0.0', 8], // this network (RFC 791)
  ['10.0.0.0', 8], // private (RFC 1918)
  ['100.64.0.0', 10], // carrier-grade NAT (RFC 6598)
  ['127.0.0.0', 8], // loopback (RFC 1122)
  ['169.254.0.0', 16], // link-local (RFC 3927), where clouds serve credentials
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

/** All other IPv6 space, except NAT64, is special-purpose or unassigned. */
const GLOBAL_IPV6 = blockList('ipv6', [['2000::', 3]]);
const SPECIAL_IPV6 = blockList('ipv6', [
  ['2001::', 23], // IETF protocol assignments, with Teredo and benchmarking (RFC 2928, RFC 4380, RFC 5180)
  ['2001:db8::', 32], // documentation (RFC 3849)
  ['2002::', 16], // 6to4, which leads to the IPv4 address inside it (RFC 3056)
  ['2620:4f:8000::', 48], // AS112 (RFC 7534)
  ['3fff::', 20], // documentation (RFC 9637)
]);

/** Reaches the IPv4 address in its last 32 bits (RFC 6052 §2.1). IPv6-only networks reach IPv4 only this way. */
const NAT64 = blockList('ipv6', [['64:ff9b::', 96]]);

/** Returns whether everyone on the internet can reach this IP address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL_IPV4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false; // a zone means a link of this machine
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

/** Returns the last 32 bits of an IPv6 address in dotted IPv4 form. */
function lastFourBytes(address: string): string {
  // The URL parser writes every form of the address in hexadecimal groups.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::').at(-1)?.split(':') ?? [];
  const [high = 0, low = 0] = ['0', '0', ...groups]
    .slice(-2)
    .map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
