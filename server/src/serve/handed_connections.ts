import type { Socket } from 'node:net';
import type { HttpServer } from './http_server.ts';
import type { Connections } from './shutdown.ts';

/**
 * A worker’s connections. Its server does not listen: the supervisor accepts connections and hands them over (ADR 13).
 */
export class HandedConnections implements Connections {
  readonly #http: HttpServer['http'];
  readonly #mtls: HttpServer['mtls'];
  readonly #mtlsPort: number | undefined;
  readonly #leave: () => void;
  readonly #open = new Set<Socket>();
  readonly #closed = Promise.withResolvers<void>();
  #isClosing = false;

  /**
   * @param mtlsPort the port whose connections the server for client certificates gets
   * @param leave called once, when the worker takes no more connections
   */
  constructor(
    { http, mtls }: Pick<HttpServer, 'http' | 'mtls'>,
    mtlsPort: number | undefined,
    leave: () => void,
  ) {
    this.#http = http;
    this.#mtls = mtls;
    this.#mtlsPort = mtlsPort;
    this.#leave = leave;
    // A `node:http` server starts its time limits and idle checks only when it listens.
    http.emit('listening');
  }

  /** @returns whether the connection is served; `false` after `close` */
  take(socket: Socket): boolean {
    if (this.#isClosing) return false;
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#resolveIfClosed();
    });
    // A socket that is already closed has no local port.
    const isMtls = this.#mtls !== undefined && socket.localPort === this.#mtlsPort;
    (isMtls ? this.#mtls : this.#http).emit('connection', socket);
    return true;
  }

  close(done: () => void = () => {}): void {
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#leave();
      this.#http.close();
    }
    this.#closed.promise.then(done);
    this.#resolveIfClosed();
  }

  closeIdleConnections(): void {
    this.#http.closeIdleConnections();
  }

  closeAllConnections(): void {
    this.#http.closeAllConnections();
    // Also those in the TLS handshake, which the HTTP server does not know yet.
    for (const socket of this.#open) socket.destroy();
  }

  #resolveIfClosed(): void {
    if (this.#isClosing && this.#open.size === 0) this.#closed.resolve();
  }
}
