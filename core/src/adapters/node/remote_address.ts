import { isIP } from 'node:net';

/** An IPv4 address as IPv6 writes it (RFC 4291 §2.5.5.2), in the one way in which a URL's host does. */
const IPV4_MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** An address in one way of writing it: without port and zone, and IPv4 as IPv4. `undefined` if the text is none. */
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
/** Of 64 bits: what a network gives to one customer at least (RFC 6177 §2). */
const GROUPS_OF_UNIT = 4;

/**
 * What counts as one address in every limit: an IPv4 address, or the /64 of an IPv6 address, since whoever has one of
 * its addresses has them all. Any other text is its own unit.
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
