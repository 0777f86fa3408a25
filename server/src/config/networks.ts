import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

export const LOOPBACK = '127.0.0.1';

/** A range of IP addresses with a common prefix. */
interface Network {
  readonly address: string;
  readonly prefixBits: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Parses an IP address or a network in CIDR notation (RFC 4632 §3.1). @returns `undefined` if the text is neither */
export function parseNetwork(text: string): Network | undefined {
  const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  const prefixBits = prefix === undefined ? bits : Number(prefix);
  return prefixBits <= bits ? { address, prefixBits, family: `ipv${version === 4 ? 4 : 6}` } : undefined;
}

/** Whether an address belongs to one of these networks. */
export function networkCheck(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network === undefined) throw new TypeError(`${text} is not an IP address or network`);
    list.addSubnet(network.address, network.prefixBits, network.family);
  }
  return (address) => list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

/** Whether a host is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIPv4(address)) return address.startsWith('127.');
  if (isIPv6(address)) return address === '::1' || address === '0:0:0:0:0:0:0:1';
  return address === 'localhost' || address.endsWith('.localhost');
}
