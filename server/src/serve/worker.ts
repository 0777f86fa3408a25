import { Socket } from 'node:net';
import { openLog } from '../log/log.ts';
import type { History } from '../monitoring/history.ts';
import type { Monitor } from '../monitoring/monitor.ts';
import { HandedConnections } from './handed_connections.ts';
import { createHttpServer } from './http_server.ts';
import { serveDatabase } from './lifecycle.ts';
import type { Reload } from './reload.ts';
import { observed, tlsFilesOf } from './serve.ts';
import type { Ending, Started } from './shutdown.ts';
import { lowerV8Threads } from './thread_priorities.ts';
import { configurationOf, type FromWorker, failureOf, type Order, type ToWorker } from './worker_messages.ts';

const BEAT_MS = 1000;

/** If the worker is killed, the counts since then are lost. */
const SEND_COUNTS_EVERY_MS = 5_000;

/**
 * The channel to the supervisor. If the supervisor dies, the worker exits at once, because no one could stop it later.
 */
class SupervisorChannel {
  readonly order: Promise<Order>;
  readonly ending: Ending;
  #connections: HandedConnections | undefined;
  #reload: Reload | undefined;
  #monitor: Monitor | undefined;
  #history: History | undefined;

  constructor() {
    const order = Promise.withResolvers<Order>();
    const requested = Promise.withResolvers<NodeJS.Signals>();
    const nearlyClosing = Promise.withResolvers<void>();
    const closing = Promise.withResolvers<void>();
    this.order = order.promise;
    this.ending = {
      requested: requested.promise,
      nearlyClosing: nearlyClosing.promise,
      closing: closing.promise,
    };
    process.on('disconnect', exitAtOnce);
    process.on('message', (content, socket) => {
      const message = content as ToWorker;
      if (message.type === 'serve') order.resolve(message.order);
      if (message.type === 'ending') requested.resolve(message.signal);
      if (message.type === 'nearly_closing') nearlyClosing.resolve();
      if (message.type === 'end') {
        // There is no signal if another worker has failed.
        requested.resolve('SIGTERM');
        closing.resolve();
      }
      if (message.type === 'reload') void this.#serveAnew(message.order);
      if (message.type === 'measure') this.#sendSnapshot();
      if (message.type === 'sampled') this.#history?.add(message.samples);
      if (message.type === 'connection') this.#take(socket instanceof Socket ? socket : undefined);
    });
  }

  /** Reports that the worker is ready, and takes connections from now on. */
  takeConnections(
    connections: HandedConnections,
    started: Started,
    secret: readonly string[],
    reload: Reload,
  ): void {
    this.#connections = connections;
    this.#reload = reload;
    this.send({ type: 'ready', started, secret });
    setInterval(() => this.send({ type: 'beat' }), BEAT_MS).unref();
  }

  /** From now on, sends what the worker counts. */
  sendCounts(monitor: Monitor): void {
    this.#monitor = monitor;
    setInterval(
      () => this.send({ type: 'counts', snapshot: monitor.counts() }),
      SEND_COUNTS_EVERY_MS,
    ).unref();
  }

  /** From now on, the history has what all workers count. */
  receiveSamples(history: History | undefined): void {
    this.#history = history;
  }

  /** Answers a scrape. */
  #sendSnapshot(): void {
    void this.#monitor?.snapshot().then((snapshot) => this.send({ type: 'measured', snapshot }));
  }

  /** Resolves when the message is sent or cannot be sent. If it cannot, the supervisor is gone and the worker exits. */
  send(message: FromWorker): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (process.send === undefined) resolve();
    else process.send(message, undefined, undefined, () => resolve());
    return promise;
  }

  /** Lets the process exit when its work is done. */
  leave(): void {
    process.off('disconnect', exitAtOnce);
    if (process.connected) process.disconnect?.();
  }

  async #serveAnew(order: Order): Promise<void> {
    try {
      if (this.#reload === undefined) throw new Error('the worker is not ready');
      const reloaded = await this.#reload(configurationOf(order), order.secretOfStart);
      this.send({ type: 'reloaded', reloaded });
    } catch (error) {
      this.send({ type: 'reload_failed', failure: failureOf(error) });
    }
  }

  #take(socket: Socket | undefined): void {
    const isTaken = socket === undefined || this.#connections?.take(socket) === true;
    if (!isTaken) socket.destroy();
    this.send({ type: isTaken ? 'taken' : 'declined' });
  }
}

function exitAtOnce(): void {
  process.exit(1);
}

// The worker’s program: it serves as the supervisor orders.

// A signal to the whole process group, such as Ctrl-C, is meant for the supervisor, which then stops its workers.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

const supervisor = new SupervisorChannel();
void work();

async function work(): Promise<void> {
  try {
    await serveAs(await supervisor.order);
  } catch (error) {
    await supervisor.send({ type: 'failed', failure: failureOf(error) });
    process.exitCode = 1;
  }
  supervisor.leave();
}

async function serveAs(order: Order): Promise<void> {
  const { worker, settings, bringsDemo, secretOfStart } = order;
  lowerV8Threads();
  const configuration = configurationOf(order);
  const tls = await tlsFilesOf(configuration, process.env);
  const server = createHttpServer(tls);
  const connections = new HandedConnections(server, settings.mtlsPort, () =>
    supervisor.send({ type: 'leaving' }),
  );
  const bareLog = await openLog(settings.log, { worker, isShared: true });
  const observation = await observed(settings, bareLog);
  if (observation.monitor !== undefined) supervisor.sendCounts(observation.monitor);
  supervisor.receiveSamples(observation.history);
  await serveDatabase(configuration, process.env, {
    server,
    connections,
    tls,
    ...observation,
    ending: supervisor.ending,
    sweeps: worker === 1,
    bringsDemo,
    ...(secretOfStart !== undefined && { secretOfStart }),
    started: (what, secret, reload) => supervisor.takeConnections(connections, what, secret, reload),
  });
}
