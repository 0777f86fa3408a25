// Where requests come from.
import type { IncomingHttpHeaders } from 'node:http';
import { addressUnit, plainAddress } from '@grantd/core/node';
import { networkCheck } from './networks.ts';

/** Returns the IP address of a request’s sender. */
export type ClientAddress = (request: {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}) => string;

/** Stands for the client’s address if a trusted proxy reports something else. It belongs to no network. */
const UNKNOWN_ADDRESS = 'unknown';

/**
 * Determines client addresses: the address of the connection, or behind trusted proxies the address that they report.
 * Each proxy appends to `X-Forwarded-For`, so the entries before the last trusted one can be forged.
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = networkCheck(trustedProxies);
  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '') ?? '';
    for (const forwarded of forwardedFor(headers).reverse()) {
      if (!isTrusted(address)) return address;
      address = plainAddress(forwarded) ?? UNKNOWN_ADDRESS;
    }
    return address;
  };
}

/**
 * The network of an address, which says where a sign-in came from without naming one device.
 * @returns an IPv4 /24 or an IPv6 /56; `undefined` if the text is no address
 */
export function networkOf(address: string): string | undefined {
  const unit = addressUnit(address);
  const [ipv4] = /^(?:\d+\.){3}(?=\d+$)/.exec(unit) ?? [];
  if (ipv4 !== undefined) return `${ipv4}0/24`;
  const [, groups, last = ''] = /^((?:[0-9a-f]+:){3})([0-9a-f]+)::\/64$/.exec(unit) ?? [];
  return groups && `${groups}${(Number.parseInt(last, 16) & 0xff00).toString(16)}::/56`;
}

function forwardedFor(headers: IncomingHttpHeaders): string[] {
  const lines = headers['x-forwarded-for'] ?? [];
  return [lines].flat().flatMap((line) => line.split(','));
}
