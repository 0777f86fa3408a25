import { Socket } from 'node:net';
import { openLog } from '../log/log.ts';
import { HandedConnections } from './handed_connections.ts';
import { createHttpServer } from './http_server.ts';
import { serveDatabase } from './serve.ts';
import type { Ending, Started } from './shutdown.ts';
import { configurationOf, type FromWorker, failureOf, type Order, type ToWorker } from './worker_messages.ts';

const BEAT_MS = 1000;

/** The supervisor as its worker sees it. When it dies, the worker ends at once: nobody would tell it to any more. */
class SupervisorChannel {
  readonly order: Promise<Order>;
  readonly ending: Ending;
  #connections: HandedConnections | undefined;

  constructor() {
    const order = Promise.withResolvers<Order>();
    const asked = Promise.withResolvers<NodeJS.Signals>();
    const closing = Promise.withResolvers<void>();
    this.order = order.promise;
    this.ending = { asked: asked.promise, closing: closing.promise };
    process.on('disconnect', exitAtOnce);
    process.on('message', (content, socket) => {
      const message = content as ToWorker;
      if (message.type === 'serve') order.resolve(message.order);
      if (message.type === 'ending') asked.resolve(message.signal);
      if (message.type === 'end') {
        // Without a signal: another worker has failed.
        asked.resolve('SIGTERM');
        closing.resolve();
      }
      if (message.type === 'connection') this.#take(socket instanceof Socket ? socket : undefined);
    });
  }

  /** Says that this worker is ready, and takes what it is handed from now on. */
  takeConnections(connections: HandedConnections, started: Started, secret: readonly string[]): void {
    this.#connections = connections;
    this.tell({ type: 'ready', started, secret });
    setInterval(() => this.tell({ type: 'beat' }), BEAT_MS).unref();
  }

  /** Resolves when it has been sent, or cannot be: then the supervisor is gone, and the worker ends with it. */
  tell(message: FromWorker): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (process.send === undefined) resolve();
    else process.send(message, undefined, undefined, () => resolve());
    return promise;
  }

  /** Lets the process end when its work is done. */
  leave(): void {
    process.off('disconnect', exitAtOnce);
    if (process.connected) process.disconnect?.();
  }

  #take(socket: Socket | undefined): void {
    const isTaken = socket === undefined || this.#connections?.take(socket) === true;
    if (!isTaken) socket.destroy();
    this.tell({ type: isTaken ? 'taken' : 'declined' });
  }
}

function exitAtOnce(): void {
  process.exit(1);
}

// The program of a worker: it serves as the supervisor that started it says, and lives no longer than that.

// Who asks the whole group of processes to end, as a terminal does, means the supervisor, which asks its workers then.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

const supervisor = new SupervisorChannel();
try {
  await serveAs(await supervisor.order);
} catch (error) {
  await supervisor.tell({ type: 'failed', failure: failureOf(error) });
  process.exitCode = 1;
}
supervisor.leave();

async function serveAs(order: Order): Promise<void> {
  const { worker, settings, port, bringsDemo, secretOfStart } = order;
  const server = createHttpServer();
  const connections = new HandedConnections(server.http, () => supervisor.tell({ type: 'leaving' }));
  await serveDatabase(configurationOf(order), process.env, {
    server,
    connections,
    port,
    log: await openLog(settings.log, { worker, isShared: true }),
    ending: supervisor.ending,
    sweeps: worker === 1,
    bringsDemo,
    ...(secretOfStart !== undefined && { secretOfStart }),
    started: (what, secret) => supervisor.takeConnections(connections, what, secret),
  });
}
