import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { plainAddress } from '@grantd/core/node';
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
