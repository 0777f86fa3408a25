import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { parseNetwork } from '../config/networks.ts';

/** Where a request comes from, as an IP address. */
export type ClientAddress = (request: {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}) => string;

/**
 * The address of whoever asked: of the connection, or, as long as that is a proxy to be trusted, of whom the proxy says
 * it speaks for. Each proxy adds to the end of `X-Forwarded-For`; what stands before is anyone's claim.
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = new BlockList();
  for (const proxy of trustedProxies) {
    const network = parseNetwork(proxy);
    if (network === undefined) throw new TypeError(`${proxy} is no network`);
    trusted.addSubnet(network.address, network.prefixBits, network.family);
  }
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');

  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '') ?? '';
    for (const told of forwardedFor(headers).reverse()) {
      if (!isTrusted(address)) return address;
      const next = plainAddress(told);
      if (next === undefined) return address;
      address = next;
    }
    return address;
  };
}

function forwardedFor(headers: IncomingHttpHeaders): string[] {
  const lines = headers['x-forwarded-for'] ?? [];
  return [lines].flat().flatMap((line) => line.split(','));
}

/** An IPv4 address as IPv6 writes it (RFC 4291 §2.5.5.2), in the one way in which a URL's host does. */
const IPV4_MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** An address in one way of writing it: without port and zone, and IPv4 as IPv4. */
function plainAddress(text: string): string | undefined {
  const [, bracketed, before] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const address = (bracketed ?? before ?? text.trim()).replace(/%.*$/, '');
  const version = isIP(address);
  if (version === 0) return undefined;
  if (version === 4) return address;
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = IPV4_MAPPED.exec(written) ?? [];
  return high === undefined || low === undefined ? written : ipv4Of(high, low);
}

/** @param halves 16 bits each, in hexadecimal */
function ipv4Of(...halves: readonly [string, string]): string {
  return halves
    .map((half) => Number.parseInt(half, 16))
    .flatMap((bits) => [bits >> 8, bits & 0xff])
    .join('.');
}
