import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Refused } from '../instance/refused.ts';

/** A server that listens; until it is told how to answer, it asks its callers to come back. */
export interface ListeningServer {
  readonly http: Server;
  readonly port: number;
  answerWith(listener: RequestListener): void;
}

/** @throws {Refused} the address is taken or not this machine's */
export async function listen(host: string, port: number): Promise<ListeningServer> {
  const http = createServer({
    // A repeated header must not hide the first one: two credentials are refused, not one of them ignored.
    joinDuplicateHeaders: true,
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    // Longer than the 60 seconds of common load balancers, which must be the first to close.
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16 * 1024,
  });
  http.on('request', notReady);
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, () => {
      http.off('error', reject);
      resolve();
    });
  }).catch((error: unknown) => {
    throw new Refused(cannotListen(error, host, port), { cause: error });
  });
  return {
    http,
    port: portOf(http.address()),
    answerWith(listener) {
      http.off('request', notReady);
      http.on('request', listener);
    },
  };
}

const notReady: RequestListener = (_request, response) => {
  response.writeHead(503, { 'retry-after': '1', 'cache-control': 'no-store', 'content-length': 0 }).end();
};

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
