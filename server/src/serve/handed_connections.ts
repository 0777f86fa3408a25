import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from './shutdown.ts';

/** The connections of a worker, whose server listens nowhere: the supervisor accepts them and hands them over. */
export class HandedConnections implements Connections {
  readonly #http: Server;
  readonly #leave: () => void;
  readonly #open = new Set<Socket>();
  readonly #closed = Promise.withResolvers<void>();
  #isClosing = false;

  /** @param leave called once, when no more are taken */
  constructor(http: Server, leave: () => void) {
    this.#http = http;
    this.#leave = leave;
    // What a server of `node:http` that does listen begins with: only now it counts time limits and idle connections.
    http.emit('listening');
  }

  /** @returns whether it is served; it is not any more once this is closing */
  take(socket: Socket): boolean {
    if (this.#isClosing) return false;
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#resolveIfClosed();
    });
    this.#http.emit('connection', socket);
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
  }

  #resolveIfClosed(): void {
    if (this.#isClosing && this.#open.size === 0) this.#closed.resolve();
  }
}
