import { setTimeout as pause } from 'node:timers/promises';
import { withoutBearers } from '@grantd/core';
import type { Log } from '../log/log.ts';
import type { ConnectionQueue } from './connection_queue.ts';
import { RestartPauses } from './restart_pauses.ts';
import type { Started } from './started.ts';
import { errorOf, type Order } from './worker_messages.ts';
import { type WorkerEnd, WorkerProcess } from './worker_process.ts';

/** The workers of a supervisor, numbered from 1: who dies is replaced under the same number. */
export class Crew {
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
