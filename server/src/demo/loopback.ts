import { isIPv4, isIPv6 } from 'node:net';

/** Whether a host can be reached from this machine alone. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.');
  if (isIPv6(host)) return host === '::1' || host === '0:0:0:0:0:0:0:1';
  return host === 'localhost';
}
