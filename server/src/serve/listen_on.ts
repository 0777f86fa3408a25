import type { AddressInfo, Server } from 'node:net';
import { Refused } from '../instance/refused.ts';

/**
 * Lets a server listen.
 * @returns the port: a free one where 0 was given
 * @throws {Refused} the address is taken or not this machine's
 */
export async function listenOn(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  }).catch((error: unknown) => {
    throw new Refused(cannotListen(error, host, port), { cause: error });
  });
  return portOf(server.address());
}

function cannotListen(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  if (code === 'EADDRINUSE') {
    return `port ${port} on ${host} is in use: stop what listens there, or choose another with --port.`;
  }
  if (code === 'EACCES') return `port ${port} needs more rights: choose one above 1023 with --port.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is no address of this machine: choose another with --host.`;
  return `cannot listen on ${host}, port ${port}: ${code}`;
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen on a port');
  return address.port;
}
