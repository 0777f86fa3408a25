import { request } from 'node:http';
import { createServer } from 'node:https';
import { listenOnLoopback } from './listening.ts';
import { selfSignedCertificate } from './self_signed_certificate.ts';

/** Milliseconds that a connection is kept for the next request. */
const KEPT_MS = 120_000;

/** TLS in front of a server on this machine, as a deployment has it. */
export interface TlsProxy {
  readonly origin: string;
  /** Where requests go from now on. */
  leadTo(port: number): void;
  close(): void;
}

/** @param certificate for `localhost`; one of its own unless the test says whom to trust */
export async function startTlsProxy(certificate = selfSignedCertificate()): Promise<TlsProxy> {
  let target = 0;
  const server = createServer(certificate, (incoming, response) => {
    const { method, url: path, headers, socket } = incoming;
    const forwarded = { ...headers, 'x-forwarded-for': socket.remoteAddress, 'x-forwarded-proto': 'https' };
    // A connection of its own: one that was kept might be closed by the server just when it is used again.
    const outgoing = request(
      { host: '127.0.0.1', port: target, method, path, headers: forwarded, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    outgoing.once('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.keepAliveTimeout = KEPT_MS; // for the same reason, longer than any test lets one lie
  const port = await listenOnLoopback(server);
  return {
    origin: `https://localhost:${port}`,
    leadTo(port) {
      target = port;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
