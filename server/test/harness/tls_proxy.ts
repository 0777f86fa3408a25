import { request } from 'node:http';
import { createServer } from 'node:https';
import type { MadeCertificate } from '../../../core/test/harness/certificates.ts';
import { listenOnLoopback } from './listening.ts';
import { serverCertificate } from './tls.ts';

/** Milliseconds that an idle connection stays open. */
const KEPT_MS = 120_000;

/** TLS in front of a server on this machine, as in a deployment. */
export interface TlsProxy {
  readonly origin: string;
  /** The server for the next requests. */
  leadTo(port: number): void;
  close(): void;
}

/** @param certificate for `localhost`; default: a new one */
export async function startTlsProxy(certificate?: MadeCertificate): Promise<TlsProxy> {
  let target = 0;
  const server = createServer((certificate ?? (await serverCertificate())).pem, (incoming, response) => {
    const { method, url: path, headers, socket } = incoming;
    const forwarded = { ...headers, 'x-forwarded-for': socket.remoteAddress, 'x-forwarded-proto': 'https' };
    // A new connection, because the server might close a kept one at the moment of its next use.
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
  server.keepAliveTimeout = KEPT_MS; // for the same reason, longer than any test keeps one idle
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
