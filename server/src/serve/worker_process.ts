import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { extname, join } from 'node:path';
import type { ConnectionTaker } from './connection_queue.ts';
import type { Started } from './started.ts';
import { type Failure, type FromWorker, failureOf, type Order, type ToWorker } from './worker_messages.ts';

/** Seconds that a worker has before it is killed. */
export interface Patience {
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
export interface WorkerEvents {
  ready(started: Started, secret: readonly string[]): void;
  /** It can take a connection. */
  free(): void;
  /** It takes no more connections. */
  leaving(): void;
  /** It did not take this connection. */
  returned(connection: Socket): void;
}

/** How a worker ended. */
export interface WorkerEnd {
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
