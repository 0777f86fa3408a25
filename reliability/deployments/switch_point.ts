import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** An address that forwards connections to one of several servers, like the virtual address of a cluster. */
export class SwitchPoint {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;
  /** Resolves when bytes may pass. */
  #passing = Promise.resolve();
  #release: (() => void) | undefined;

  private constructor(server: Server, port: number, target: number) {
    this.#server = server;
    this.port = port;
    this.#target = target;
    server.on('connection', (near) => this.#join(near));
  }

  /** @param target the first port on loopback to forward to */
  static async open(target: number): Promise<SwitchPoint> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a switch point listens on a port');
    return new SwitchPoint(server, address.port, target);
  }

  /** Sends new connections to another server, and cuts the open ones. */
  switchTo(target: number): void {
    this.#target = target;
    for (const socket of this.#sockets) socket.destroy();
    this.release();
  }

  /** Keeps connections open, and passes nothing on, like a network that is cut. */
  hold(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    [this.#passing, this.#release] = [promise, resolve];
  }

  /** Passes everything on that was held back. */
  release(): void {
    this.#release?.();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: Socket): void {
    const far = connect(this.#target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => {});
      from.once('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      const gate = new Transform({
        transform: (chunk, _, done) => void this.#passing.then(() => done(null, chunk)),
      });
      from.pipe(gate).pipe(to);
    }
  }
}
