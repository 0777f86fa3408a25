import { type ChildProcess, fork } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { extname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { withoutBearers } from '@grantd/core';
import type { Configuration } from '../config/configuration.ts';
import { isMeasured } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { type Log, openLog } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';
import type { Sample } from '../monitoring/history.ts';
import type { Snapshot } from '../monitoring/meter.ts';
import { listen } from './http_server.ts';
import { type Reloaded, reloader } from './reload.ts';
import { announce, arrivals, listenForEnd, type Started } from './shutdown.ts';
import {
  errorOf,
  type Failure,
  type FromWorker,
  failureOf,
  type Order,
  sourcesOf,
  type ToWorker,
} from './worker_messages.ts';
import type { WorkersMonitor } from './workers_monitor.ts';

/** Maximum milliseconds that accepted connections wait for a worker during shutdown. */
const MAX_WAIT_MS = 1000;

/**
 * Serves with several processes until it receives a signal. The supervisor accepts connections and hands each one to a
 * worker in turn. It reads nothing from them, so a connection that a dying worker has not taken yet can go to another
 * worker.
 * @param readAgain reads the configuration as it is now, for SIGHUP
 */
export async function supervise(configuration: Configuration, readAgain: () => Configuration): Promise<void> {
  const { settings: given } = configuration;
  const log = await openLog(given.log, { isShared: true });
  let { shutdownDelay } = given;
  const canReload = Promise.withResolvers<() => void>();
  const ending = listenForEnd(
    () => shutdownDelay,
    () => canReload.promise.then((reload) => reload()),
  );

  const queue = new ConnectionQueue();
  const createQueueing = () =>
    createServer({ pauseOnConnect: true, noDelay: true }, (connection) => queue.add(connection));
  const http = createQueueing();
  const mtls = given.mtlsPort === undefined ? undefined : createQueueing();
  const settings = await listen({ http, mtls }, given);
  const close = (): void => {
    http.close();
    mtls?.close();
  };

  const sources = sourcesOf(configuration);
  const monitor = isMeasured(given) ? await workersMonitor(given.workers) : undefined;
  const workers = new WorkerPool({ settings, sources, bringsDemo: settings.demo }, { queue, log, monitor });
  const serveMetrics = () =>
    given.metricsPort === undefined ? undefined : monitor?.serve(given, () => workers.all, log);
  const metrics = await serveMetrics()?.catch((error: unknown) => {
    close();
    throw error;
  });
  if (given.console)
    monitor?.takeSamples((sample) => {
      for (const worker of workers.all) if (worker.isReady) worker.tellSamples([sample]);
    });
  workers.start();
  workers.ready.then((started) => {
    announce(log, settings, { ...started, metrics: metrics?.url });
    const apply = async (next: Configuration) => {
      const reloaded = await workers.reload({ settings: next.settings, sources: sourcesOf(next) });
      shutdownDelay = next.settings.shutdownDelay;
      return reloaded;
    };
    const served = { ...configuration, settings };
    canReload.resolve(reloader({ start: configuration, served }, readAgain, apply, log));
  });

  const signal = await Promise.race([ending.requested, workers.failed]);
  if (signal !== undefined) {
    workers.announceEnd(signal);
    ending.nearlyClosing.then(() => workers.announceClosing());
    await Promise.race([ending.closing, workers.failed]);
    await arrivals();
    close();
    await Promise.race([queue.emptied(), workers.failed, pause(MAX_WAIT_MS, undefined, { ref: false })]);
  }
  close();
  queue.close();
  await workers.end().finally(() => metrics?.close());
}

/** Loads metrics only if something reads them. */
async function workersMonitor(size: number): Promise<WorkersMonitor> {
  const { WorkersMonitor } = await import('./workers_monitor.ts');
  return new WorkersMonitor(size);
}

/** What a pool uses. */
interface PoolParts {
  readonly queue: ConnectionQueue;
  readonly log: Log;
  /** Present if metrics or the console are on. */
  readonly monitor: WorkersMonitor | undefined;
}

/** The supervisor’s workers, numbered from 1. A replacement gets the number of the worker that died. */
class WorkerPool {
  /** Resolves when all workers are ready for the first time. */
  readonly ready: Promise<Started>;
  /** Resolves when a worker fails in a way that every worker would. */
  readonly failed: Promise<void>;
  #order: Omit<Order, 'worker'>;
  readonly #queue: ConnectionQueue;
  readonly #log: Log;
  readonly #monitor: WorkersMonitor | undefined;
  readonly #size: number;
  readonly #workers = new Set<WorkerProcess>();
  readonly #slots: Promise<void>[] = [];
  readonly #ending = new AbortController();
  readonly #ready = Promise.withResolvers<Started>();
  readonly #failed = Promise.withResolvers<void>();
  #failure: Error | undefined;
  #started: Started | undefined;
  #secretOfStart: readonly string[] | undefined;
  #isComplete = false;

  constructor(order: Omit<Order, 'worker'>, { queue, log, monitor }: PoolParts) {
    this.#order = order;
    this.#size = order.settings.workers;
    this.#queue = queue;
    this.#log = log;
    this.#monitor = monitor;
    this.ready = this.#ready.promise;
    this.failed = this.#failed.promise;
  }

  get all(): readonly WorkerProcess[] {
    return [...this.#workers];
  }

  /**
   * Starts only the first worker. It creates what is missing and finds configuration errors before the others start.
   */
  start(): void {
    this.#fill(1);
  }

  /** From now on, dead workers are not replaced. The others still take connections. */
  announceEnd(signal: NodeJS.Signals): void {
    this.#ending.abort();
    for (const worker of this.#workers) worker.announceEnd(signal);
  }

  /** The port is about to close. */
  announceClosing(): void {
    for (const worker of this.#workers) worker.announceClosing();
  }

  /**
   * Resolves when all workers have exited.
   * @throws {Refused} the database cannot be served, or was replaced while serving
   */
  async end(): Promise<void> {
    this.#ending.abort();
    for (const worker of this.#workers) worker.end();
    await Promise.all(this.#slots);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Lets all workers serve another configuration: first one of them, which finds errors, then the others.
   * @throws {Error} the first one cannot serve it; then all keep the present one
   */
  async reload(next: Pick<Order, 'settings' | 'sources'>): Promise<Reloaded> {
    const [first] = [...this.#workers].filter(({ isReady }) => isReady);
    if (first === undefined) throw new Refused('no worker is ready: send SIGHUP again later.');
    // Read anew from its file.
    const reloaded = await first.reload({ ...this.#order, ...next, bringsDemo: false });
    this.#order = { ...this.#order, ...next };
    this.#secretOfStart = reloaded.secret;
    for (const worker of [...this.#workers].filter((item) => item !== first)) await this.#renew(worker);
    return reloaded;
  }

  /** A worker that cannot reload, although another one could, is replaced. */
  async #renew(worker: WorkerProcess): Promise<void> {
    try {
      await worker.reload({ ...this.#order, ...this.#orderOfSecret(), bringsDemo: false });
    } catch (error) {
      // A worker that has ended is replaced anyway.
      this.#log.error({ event: 'reload_failed', worker: worker.number, cause: causeOf(error) });
      worker.end();
    }
  }

  #orderOfSecret(): Pick<Order, 'secretOfStart'> {
    return this.#secretOfStart === undefined ? {} : { secretOfStart: this.#secretOfStart };
  }

  #fill(number: number): void {
    this.#slots.push(this.#keepFilled(number).catch((error: Error) => this.#fail(error)));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#failed.resolve();
  }

  async #keepFilled(number: number): Promise<void> {
    const pauses = new RestartPauses();
    while (!this.#ending.signal.aborted) {
      const worker = this.#startWorker(number);
      const end = await worker.ended;
      this.#workers.delete(worker);
      this.#monitor?.ended(number, !this.#ending.signal.aborted);
      const { failure } = end;
      // A replacement may fail for a temporary reason, such as a database outage.
      const isFatal = !this.#isComplete || (worker.isReady && failure?.kind !== 'unexpected');
      if (failure !== undefined && isFatal) {
        this.#fail(errorOf(failure));
        return;
      }
      if (this.#ending.signal.aborted && end.code === 0) return;
      const startsAgainInMs = pauses.after(end.servedMs);
      this.#logDeath(number, worker, end, this.#ending.signal.aborted ? undefined : startsAgainInMs);
      // Rejects only when aborted.
      await pause(startsAgainInMs, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    }
  }

  #startWorker(number: number): WorkerProcess {
    const bringsDemo = this.#order.bringsDemo && number === 1 && !this.#isComplete;
    const worker = new WorkerProcess(
      {
        ...this.#order,
        ...{ worker: number, bringsDemo },
        ...this.#orderOfSecret(),
      },
      {
        ready: (started, secret) => this.#onReady(number, worker, started, secret),
        free: () => this.#queue.offer(worker),
        leaving: () => this.#queue.withdraw(worker),
        returned: (connection) => this.#queue.putBack(connection),
        measured: (snapshot) => this.#monitor?.received(number, snapshot),
      },
    );
    this.#workers.add(worker);
    return worker;
  }

  #onReady(number: number, worker: WorkerProcess, started: Started, secret: readonly string[]): void {
    this.#log.info({ event: 'worker_started', worker: number, pid: worker.pid });
    const { samples = [] } = this.#monitor ?? {};
    if (samples.length > 0) worker.tellSamples(samples);
    if (this.#started === undefined) {
      this.#started = started;
      this.#secretOfStart = secret;
      for (let other = 2; other <= this.#size; other += 1) this.#fill(other);
    }
    const areReady = [...this.#workers].filter((item) => item.isReady).length;
    if (areReady < this.#size || this.#isComplete) return;
    this.#isComplete = true;
    this.#ready.resolve(this.#started);
  }

  #logDeath(
    number: number,
    { pid }: WorkerProcess,
    { code, signal, overdue, failure }: WorkerEnd,
    startsAgainInMs: number | undefined,
  ): void {
    this.#log.error({
      event: 'worker_died',
      worker: number,
      pid,
      ...(signal !== null ? { signal } : { code }),
      ...(overdue !== undefined && { overdue }),
      ...(failure !== undefined && { cause: withoutBearers(failure.message) }),
      ...(startsAgainInMs !== undefined && { startsAgainInMs }),
    });
  }
}

const STABLE_AFTER_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/** The pause before a worker restarts: none at first, then longer each time it dies early. */
export class RestartPauses {
  #nextMs = 0;

  /**
   * @param servedMs how long the dead worker had served, in milliseconds
   * @returns the pause in milliseconds
   */
  after(servedMs: number): number {
    if (servedMs >= STABLE_AFTER_MS) this.#nextMs = 0;
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(Math.max(FIRST_PAUSE_MS, pauseMs * 2), MAX_PAUSE_MS);
    return pauseMs;
  }
}

/** Seconds before the supervisor kills a worker. */
interface WorkerTimeouts {
  /** Until it is ready, including the migration of a large database. */
  readonly start: number;
  /** Until its next heartbeat, or until it takes a connection. */
  readonly answer: number;
  /** Until it exits after the order to end. It closes open connections itself after ten seconds. */
  readonly end: number;
}

const TIMEOUTS: WorkerTimeouts = { start: 60, answer: 10, end: 15 };
/** Has this file’s extension, because the program runs both from source and compiled. */
const PROGRAM = join(import.meta.dirname, `worker${extname(import.meta.filename)}`);

/** What a worker process reports to the pool. */
interface WorkerEvents {
  ready(started: Started, secret: readonly string[]): void;
  /** The worker can take a connection. */
  free(): void;
  /** The worker takes no more connections. */
  leaving(): void;
  /** The worker did not take this connection. */
  returned(connection: Socket): void;
  /** What the worker has counted, if metrics are on. */
  measured?(snapshot: Snapshot): void;
}

/** How a worker ended. */
interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The error that it reported. */
  readonly failure?: Failure;
  /** The time limit that it exceeded, if the supervisor killed it. */
  readonly overdue?: keyof WorkerTimeouts;
  readonly servedMs: number;
}

/** A worker process, from the supervisor’s side. */
export class WorkerProcess implements ConnectionTaker {
  readonly number: number;
  readonly pid: number | undefined;
  readonly ended: Promise<WorkerEnd>;
  readonly #child: ChildProcess;
  readonly #events: WorkerEvents;
  readonly #timeouts: WorkerTimeouts;
  #state: keyof WorkerTimeouts = 'start';
  #secondsLeft: number;
  #readySince: number | undefined;
  #handedOver: Socket | undefined;
  #measurement: PromiseWithResolvers<void> | undefined;
  #isLeaving = false;
  #failure: Failure | undefined;
  #overdue: keyof WorkerTimeouts | undefined;
  readonly #isStarted = Promise.withResolvers<void>();
  #reloading: PromiseWithResolvers<Reloaded> | undefined;

  constructor(order: Order, events: WorkerEvents, { program = PROGRAM, timeouts = TIMEOUTS } = {}) {
    this.number = order.worker;
    this.#events = events;
    this.#timeouts = timeouts;
    this.#secondsLeft = timeouts.start;
    this.#child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.pid = this.#child.pid;
    this.#child.on('message', (message) => this.#receive(message as FromWorker));
    // Counts seconds instead of reading a clock, because a clock continues while the machine is suspended.
    const timer = setInterval(() => this.#countDown(), 1000);
    this.ended = new Promise<WorkerEnd>((resolve) => {
      // `close` comes after the last message, while `exit` may come before it. A connection that the worker took must
      // not be handed out again.
      this.#child.once('close', (code, signal) => resolve(this.#end(code, signal)));
      this.#child.on('error', (error) => {
        if (this.pid !== undefined) return;
        this.#failure = failureOf(error);
        resolve(this.#end(null, null));
      });
    }).finally(() => clearInterval(timer));
    this.#send({ type: 'serve', order });
  }

  get isReady(): boolean {
    return this.#readySince !== undefined;
  }

  /** The supervisor keeps its own descriptor until the worker confirms, because the worker may die before that. */
  hand(connection: Socket): void {
    this.#handedOver = connection;
    this.#send({ type: 'connection' }, connection);
  }

  /**
   * Lets the worker serve another configuration, once it is ready.
   * @throws {Error} it cannot, or it has ended; if it has not, it keeps its configuration
   */
  async reload(order: Omit<Order, 'worker'>): Promise<Reloaded> {
    const reloading = Promise.withResolvers<Reloaded>();
    const hasEnded = this.ended.then(() => {
      throw new Error('the worker has ended');
    });
    await Promise.race([this.#isStarted.promise, hasEnded]);
    this.#reloading = reloading;
    this.#send({ type: 'reload', order: { ...order, worker: this.number } });
    return Promise.race([reloading.promise, hasEnded]);
  }

  /** Asks for the metrics of the worker. Resolves when they have arrived, or when the worker has ended. */
  measure(): Promise<void> {
    if (this.#measurement === undefined) {
      this.#measurement = Promise.withResolvers();
      this.#send({ type: 'measure' });
    }
    return this.#measurement.promise;
  }

  /** Sends samples of all workers, for the console. */
  tellSamples(samples: readonly Sample[]): void {
    this.#send({ type: 'sampled', samples });
  }

  /** Makes the worker fail its readiness check. It still takes connections. */
  announceEnd(signal: NodeJS.Signals): void {
    this.#send({ type: 'ending', signal });
  }

  /** Makes the worker keep its last connections open. */
  announceClosing(): void {
    this.#send({ type: 'nearly_closing' });
  }

  /** Makes the worker finish its pending requests and exit. */
  end(): void {
    this.#expect('end');
    this.#send({ type: 'end' });
  }

  #send(message: ToWorker, connection?: Socket): void {
    // If sending fails, the worker has exited or is about to.
    if (this.pid !== undefined) this.#child.send(message, connection, { keepOpen: true }, () => {});
  }

  #receive(message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        this.#readySince = performance.now();
        this.#isStarted.resolve();
        this.#answered();
        this.#events.ready(message.started, message.secret);
        this.#events.free();
        return;
      case 'beat':
        if (this.isReady && this.#handedOver === undefined) this.#answered();
        return;
      case 'counts':
        this.#events.measured?.(message.snapshot);
        return;
      case 'measured':
        this.#events.measured?.(message.snapshot);
        this.#measurement?.resolve();
        this.#measurement = undefined;
        return;
      case 'taken':
        this.#handedOver?.destroy();
        this.#handedOver = undefined;
        this.#answered();
        if (!this.#isLeaving) this.#events.free();
        return;
      case 'declined':
        this.#return();
        return;
      case 'leaving':
        this.#leave();
        return;
      case 'reloaded':
        this.#reloading?.resolve(message.reloaded);
        return;
      case 'reload_failed':
        this.#reloading?.reject(errorOf(message.failure));
        return;
      case 'failed':
        this.#failure = message.failure;
    }
  }

  #leave(): void {
    this.#isLeaving = true;
    this.#events.leaving();
  }

  #return(): void {
    const connection = this.#handedOver;
    this.#handedOver = undefined;
    if (connection !== undefined) this.#events.returned(connection);
  }

  #answered(): void {
    if (this.#state !== 'end') this.#expect('answer');
  }

  #expect(what: keyof WorkerTimeouts): void {
    this.#state = what;
    this.#secondsLeft = this.#timeouts[what];
  }

  #countDown(): void {
    this.#secondsLeft -= 1;
    if (this.#secondsLeft > 0) return;
    this.#overdue = this.#state;
    this.#child.kill('SIGKILL');
  }

  #end(code: number | null, signal: NodeJS.Signals | null): WorkerEnd {
    this.#leave();
    this.#return();
    this.#measurement?.resolve();
    return {
      code,
      signal,
      servedMs: this.#readySince === undefined ? 0 : performance.now() - this.#readySince,
      ...(this.#failure !== undefined && { failure: this.#failure }),
      ...(this.#overdue !== undefined && { overdue: this.#overdue }),
    };
  }
}

/** Further connections would never get a turn and would use up file descriptors. */
const MOST_WAITING = 1024;

interface ConnectionTaker {
  hand(connection: Socket): void;
}

/** Matches waiting connections with waiting workers, both in order of arrival. */
export class ConnectionQueue {
  #waiting: Socket[] = [];
  #free: ConnectionTaker[] = [];
  #isClosed = false;
  readonly #onEmpty: (() => void)[] = [];

  /** Adds an accepted connection. */
  add(connection: Socket): void {
    // The caller may reset the connection even though nothing reads from it here.
    connection.on('error', () => {});
    if (this.#isClosed || this.#waiting.length >= MOST_WAITING) connection.destroy();
    else this.#waiting.push(connection);
    this.#match();
  }

  /** Puts a connection back that a worker did not take. It has waited longest, so it goes first. */
  putBack(connection: Socket): void {
    if (this.#isClosed) connection.destroy();
    else this.#waiting.unshift(connection);
    this.#match();
  }

  /** Adds a worker that can take a connection. */
  offer(worker: ConnectionTaker): void {
    this.#free.push(worker);
    this.#match();
  }

  withdraw(worker: ConnectionTaker): void {
    this.#free = this.#free.filter((item) => item !== worker);
  }

  /** Resolves when no connection waits. */
  emptied(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEmpty.push(resolve);
      this.#match();
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#waiting.splice(0)) connection.destroy();
  }

  #match(): void {
    while (this.#waiting.length > 0 && this.#free.length > 0) {
      const [connection, worker] = [this.#waiting.shift(), this.#free.shift()];
      if (connection !== undefined) worker?.hand(connection);
    }
    if (this.#waiting.length === 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
  }
}
