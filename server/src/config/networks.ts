import { isIP, isIPv4, isIPv6 } from 'node:net';

/** Neighbouring addresses: those that begin with the same bits. */
export interface Network {
  readonly address: string;
  readonly prefixBits: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** An address, or a network in CIDR notation (RFC 4632 §3.1). @returns `undefined` where the text is neither */
export function parseNetwork(text: string): Network | undefined {
  const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  const prefixBits = prefix === undefined ? bits : Number(prefix);
  return prefixBits <= bits ? { address, prefixBits, family: `ipv${version === 4 ? 4 : 6}` } : undefined;
}

/** Whether a host can be reached from this machine alone. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIPv4(address)) return address.startsWith('127.');
  if (isIPv6(address)) return address === '::1' || address === '0:0:0:0:0:0:0:1';
  return address === 'localhost' || address.endsWith('.localhost');
}
