import { type ChildProcess, fork } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { extname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { withoutBearers } from '@grantd/core';
import type { Configuration } from '../config/configuration.ts';
import { refuseExposedDemo } from '../demo/exposure.ts';
import { type Log, openLog } from '../log/log.ts';
import { listenOn } from './http_server.ts';
import { announce, listenForEnd, type Started } from './shutdown.ts';
import {
  errorOf,
  type Failure,
  type FromWorker,
  failureOf,
  type Order,
  sourcesOf,
  type ToWorker,
} from './worker_messages.ts';

/** Milliseconds that accepted connections wait at the end until workers take them. */
const LONGEST_WAIT_MS = 1000;

/**
 * Serves with several processes until it is told to end. This one accepts connections and hands each to a worker in
 * turn. It does not read from them: one that a dying worker has not taken yet goes to another worker.
 */
export async function supervise(configuration: Configuration): Promise<void> {
  const { settings } = configuration;
  refuseExposedDemo(configuration);
  const log = await openLog(settings.log, { isShared: true });
  const ending = listenForEnd(settings.shutdownDelay, log);

  const queue = new ConnectionQueue();
  const server = createServer({ pauseOnConnect: true, noDelay: true }, (connection) => queue.add(connection));
  const port = await listenOn(server, settings.host, settings.port);

  const sources = sourcesOf(configuration);
  const crew = new Crew({ settings, sources, port, bringsDemo: settings.demo }, queue, log);
  crew.start();
  crew.ready.then((started) => announce(log, settings, port, started));

  const signal = await Promise.race([ending.asked, crew.failed]);
  if (signal !== undefined) {
    crew.announceEnd(signal);
    await Promise.race([ending.closing, crew.failed]);
    server.close();
    await Promise.race([queue.emptied(), crew.failed, pause(LONGEST_WAIT_MS, undefined, { ref: false })]);
  }
  server.close();
  queue.close();
  await crew.end();
}

/** The workers of a supervisor, numbered from 1: who dies is replaced under the same number. */
class Crew {
  /** Resolves when all of them are ready for the first time. */
  readonly ready: Promise<Started>;
  /** Resolves when one of them was refused what the others will be refused as well. */
  readonly failed: Promise<void>;
  readonly #order: Omit<Order, 'worker'>;
  readonly #queue: ConnectionQueue;
  readonly #log: Log;
  readonly #size: number;
  readonly #workers = new Set<WorkerProcess>();
  readonly #posts: Promise<void>[] = [];
  readonly #ending = new AbortController();
  readonly #ready = Promise.withResolvers<Started>();
  readonly #failed = Promise.withResolvers<void>();
  #failure: Error | undefined;
  #started: Started | undefined;
  #secretOfStart: readonly string[] | undefined;
  #isComplete = false;

  constructor(order: Omit<Order, 'worker'>, queue: ConnectionQueue, log: Log) {
    this.#order = order;
    this.#size = order.settings.workers;
    this.#queue = queue;
    this.#log = log;
    this.ready = this.#ready.promise;
    this.failed = this.#failed.promise;
  }

  /** The first one alone: it makes what is missing, and finds what has to be refused, before there are several. */
  start(): void {
    this.#fill(1);
  }

  /** Workers that die from now on are not replaced. The others still take connections. */
  announceEnd(signal: NodeJS.Signals): void {
    this.#ending.abort();
    for (const worker of this.#workers) worker.announceEnd(signal);
  }

  /**
   * Resolves when all have ended.
   * @throws {Refused} the database cannot be served, or no longer
   */
  async end(): Promise<void> {
    this.#ending.abort();
    for (const worker of this.#workers) worker.end();
    await Promise.all(this.#posts);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #fill(number: number): void {
    this.#posts.push(this.#keepFilled(number).catch((error: Error) => this.#fail(error)));
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
      const { failure } = end;
      // What keeps a replacement from serving may pass, as a database that is away for a while.
      const isForAll = !this.#isComplete || (worker.isReady && failure?.kind !== 'unexpected');
      if (failure !== undefined && isForAll) {
        this.#fail(errorOf(failure));
        return;
      }
      if (this.#ending.signal.aborted && end.code === 0) return;
      const startsAgainInMs = pauses.after(end.servedMs);
      this.#logDeath(number, worker, end, this.#ending.signal.aborted ? undefined : startsAgainInMs);
      // Rejects only where it is told to end.
      await pause(startsAgainInMs, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    }
  }

  #startWorker(number: number): WorkerProcess {
    const bringsDemo = this.#order.bringsDemo && number === 1 && !this.#isComplete;
    const worker = new WorkerProcess(
      {
        ...this.#order,
        ...{ worker: number, bringsDemo },
        ...(this.#secretOfStart !== undefined && { secretOfStart: this.#secretOfStart }),
      },
      {
        ready: (started, secret) => this.#welcome(number, worker, started, secret),
        free: () => this.#queue.offer(worker),
        leaving: () => this.#queue.withdraw(worker),
        returned: (connection) => this.#queue.putBack(connection),
      },
    );
    this.#workers.add(worker);
    return worker;
  }

  #welcome(number: number, worker: WorkerProcess, started: Started, secret: readonly string[]): void {
    this.#log.info({ event: 'worker_started', worker: number, pid: worker.pid });
    if (this.#started === undefined) {
      this.#started = started;
      this.#secretOfStart = secret;
      for (let other = 2; other <= this.#size; other += 1) this.#fill(other);
    }
    const areReady = [...this.#workers].filter((one) => one.isReady).length;
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

const LONG_ENOUGH_MS = 10_000;
const FIRST_MS = 100;
const LONGEST_MS = 10_000;

/** How long to wait before a worker is started again: not at all, but longer each time while it dies right away. */
export class RestartPauses {
  #nextMs = 0;

  /**
   * @param servedMs how long the one that died had served
   * @returns milliseconds
   */
  after(servedMs: number): number {
    if (servedMs >= LONG_ENOUGH_MS) this.#nextMs = 0;
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(Math.max(FIRST_MS, pauseMs * 2), LONGEST_MS);
    return pauseMs;
  }
}

/** Seconds that a worker has before it is killed. */
interface Patience {
  /** Until it is ready; a migration of a large database counts as well. */
  readonly start: number;
  /** Until it gives a sign of life, or takes a connection. */
  readonly answer: number;
  /** After it was told to end; it closes by itself what is still open after ten. */
  readonly end: number;
}

const PATIENCE: Patience = { start: 60, answer: 10, end: 15 };
/** With this file's own ending: the program runs as it is, and compiled. */
const PROGRAM = join(import.meta.dirname, `worker${extname(import.meta.filename)}`);

/** What the supervisor wants to know of its workers. */
interface WorkerEvents {
  ready(started: Started, secret: readonly string[]): void;
  /** It can take a connection. */
  free(): void;
  /** It takes no more connections. */
  leaving(): void;
  /** It did not take this connection. */
  returned(connection: Socket): void;
}

/** How a worker ended. */
interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it said of it. */
  readonly failure?: Failure;
  /** Why the supervisor killed it. */
  readonly overdue?: keyof Patience;
  readonly servedMs: number;
}

/** A worker as its supervisor sees it. */
export class WorkerProcess implements ConnectionTaker {
  readonly pid: number | undefined;
  readonly ended: Promise<WorkerEnd>;
  readonly #child: ChildProcess;
  readonly #events: WorkerEvents;
  readonly #patience: Patience;
  #state: keyof Patience = 'start';
  #secondsLeft: number;
  #readySince: number | undefined;
  #handing: Socket | undefined;
  #isLeaving = false;
  #failure: Failure | undefined;
  #overdue: keyof Patience | undefined;

  constructor(order: Order, events: WorkerEvents, { program = PROGRAM, patience = PATIENCE } = {}) {
    this.#events = events;
    this.#patience = patience;
    this.#secondsLeft = patience.start;
    this.#child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.pid = this.#child.pid;
    this.#child.on('message', (message) => this.#hear(message as FromWorker));
    // Counted, not read from a clock, which may have gone on while the whole machine slept.
    const timer = setInterval(() => this.#countDown(), 1000);
    this.ended = new Promise<WorkerEnd>((resolve) => {
      // After all that it said, which `exit` may overtake: a connection that it took must not be handed out again.
      this.#child.once('close', (code, signal) => resolve(this.#end(code, signal)));
      this.#child.on('error', (error) => {
        if (this.pid !== undefined) return;
        this.#failure = failureOf(error);
        resolve(this.#end(null, null));
      });
    }).finally(() => clearInterval(timer));
    this.#tell({ type: 'serve', order });
  }

  get isReady(): boolean {
    return this.#readySince !== undefined;
  }

  /** The worker gets a descriptor of its own; this one is kept until it has said so, since it may die before that. */
  hand(connection: Socket): void {
    this.#handing = connection;
    this.#tell({ type: 'connection' }, connection);
  }

  /** Lets it say that it is not ready any more. It still takes connections. */
  announceEnd(signal: NodeJS.Signals): void {
    this.#tell({ type: 'ending', signal });
  }

  /** Lets it finish what is in flight. */
  end(): void {
    this.#expect('end');
    this.#tell({ type: 'end' });
  }

  #tell(message: ToWorker, connection?: Socket): void {
    // Where it cannot be told, it has ended or is about to.
    if (this.pid !== undefined) this.#child.send(message, connection, { keepOpen: true }, () => {});
  }

  #hear(message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        this.#readySince = performance.now();
        this.#answered();
        this.#events.ready(message.started, message.secret);
        this.#events.free();
        return;
      case 'beat':
        if (this.isReady && this.#handing === undefined) this.#answered();
        return;
      case 'taken':
        this.#handing?.destroy();
        this.#handing = undefined;
        this.#answered();
        if (!this.#isLeaving) this.#events.free();
        return;
      case 'declined':
        this.#return();
        return;
      case 'leaving':
        this.#leave();
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
    const connection = this.#handing;
    this.#handing = undefined;
    if (connection !== undefined) this.#events.returned(connection);
  }

  #answered(): void {
    if (this.#state !== 'end') this.#expect('answer');
  }

  #expect(what: keyof Patience): void {
    this.#state = what;
    this.#secondsLeft = this.#patience[what];
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
    return {
      code,
      signal,
      servedMs: this.#readySince === undefined ? 0 : performance.now() - this.#readySince,
      ...(this.#failure !== undefined && { failure: this.#failure }),
      ...(this.#overdue !== undefined && { overdue: this.#overdue }),
    };
  }
}

/** More wait in vain, and would use up the file descriptors of the process. */
const MOST_WAITING = 1024;

interface ConnectionTaker {
  hand(connection: Socket): void;
}

/** Connections that wait for a worker, or workers that wait for a connection: each in turn. */
export class ConnectionQueue {
  #waiting: Socket[] = [];
  #free: ConnectionTaker[] = [];
  #isClosed = false;
  readonly #onEmpty: (() => void)[] = [];

  /** A connection that was accepted. */
  add(connection: Socket): void {
    // Nothing is read from it here, but its caller may still reset it.
    connection.on('error', () => {});
    if (this.#isClosed || this.#waiting.length >= MOST_WAITING) connection.destroy();
    else this.#waiting.push(connection);
    this.#match();
  }

  /** A connection that was handed to a worker in vain: it has waited longest. */
  putBack(connection: Socket): void {
    if (this.#isClosed) connection.destroy();
    else this.#waiting.unshift(connection);
    this.#match();
  }

  /** A worker that can take a connection. */
  offer(worker: ConnectionTaker): void {
    this.#free.push(worker);
    this.#match();
  }

  withdraw(worker: ConnectionTaker): void {
    this.#free = this.#free.filter((one) => one !== worker);
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
