import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { fstatSync, write, writeSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type EventOrigin,
  type HttpRequest,
  type RefusalReason,
  type ServerEvent,
  withoutBearers,
} from '@grantd/core';
import type { Settings } from '../config/options.ts';
import { briefOf, causeOf, withoutStacks } from './logged_error.ts';
import type { PageEvent, PageReason } from './page_events.ts';

const LEVELS = ['info', 'warn', 'error', 'fatal'] as const;
type Level = (typeof LEVELS)[number];

/** Writes lines of a log, of one level each. A line is an object with at least one member. A pino logger is a log too. */
export interface Log extends Readonly<Record<Level, (line: object) => void>> {
  /** Whether lines of the level are written. Default: yes. */
  isLevelEnabled?(level: string): boolean;
}

/** Settings of a process that does not serve alone. */
interface LogWriter {
  /** The worker’s number, added to every line. */
  readonly worker?: number;
  /** Whether other processes write to the same standard output. */
  readonly isShared?: boolean;
}

/** Opens the log on standard output: JSON lines for machines, or readable lines for people. */
export async function openLog(
  form: Settings['log'],
  { worker, isShared = false }: LogWriter = {},
): Promise<Log> {
  // A log that is off writes nothing at the exit either.
  if (form === 'off') return logTo({ write: () => {} }, { least: 'off' });
  const output = new LogOutput(isShared);
  if (form === 'json') return logTo(output, { worker });
  const { readableLines } = await import('./readable_lines.ts');
  return logTo(readableLines(output), { worker });
}

interface LineOptions {
  /** Added to every line. */
  readonly worker?: number | undefined;
  /** The lowest level that is written. Default: all are. */
  readonly least?: Level | 'off';
}

/** A log that writes each line as JSON (ADR 113). */
export function logTo(output: Pick<LogOutput, 'write'>, { worker, least = 'info' }: LineOptions = {}): Log {
  const time = timeOfLines();
  const origin = worker === undefined ? '' : `,"worker":${worker}`;
  const levels = least === 'off' ? [] : LEVELS.slice(LEVELS.indexOf(least));
  const log = logThrough((level, line) => {
    if (levels.includes(level)) output.write(lineOf(level, `${time()}${origin}`, line));
  });
  return { ...log, isLevelEnabled: (level) => levels.some((item) => item === level) };
}

/** A log that passes each line on. */
export function logThrough(write: (level: Level, line: object) => void): Log {
  return {
    info: (line) => write('info', line),
    warn: (line) => write('warn', line),
    error: (line) => write('error', line),
    fatal: (line) => write('fatal', line),
  };
}

/**
 * A line that JSON cannot express must not fail its request.
 * @param members after the level, each with a comma before it
 */
function lineOf(level: Level, members: string, line: object): string {
  try {
    return `{"level":"${level}"${members},${JSON.stringify(line).slice(1)}\n`;
  } catch (error) {
    const failed = JSON.stringify({ event: 'log_line_failed', cause: causeOf(error) });
    return `{"level":"error"${members},${failed.slice(1)}\n`;
  }
}

/**
 * The time as a JSON member. Caches the text, because many lines share a millisecond and formatting a time costs more
 * than the rest of the line.
 */
function timeOfLines(clock: () => number = Date.now): () => string {
  let writtenMs = 0;
  let written = '';
  return () => {
    const nowMs = clock();
    if (nowMs !== writtenMs) {
      writtenMs = nowMs;
      written = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return written;
  };
}

const STDOUT = 1;

const RETRY_MS = 10;

/** How long a line waits at most, so that one system call writes several lines. */
const GATHER_MS = 20;

/** How long an exiting process waits at most for a slow reader. */
const MAX_EXIT_WAIT_MS = 1000;

/** Maximum bytes per write. A pipe holds about as many. */
const MAX_WRITE_BYTES = 64 * 1024;

/** Maximum bytes that Linux writes to a pipe atomically (POSIX `PIPE_BUF`). */
const ATOMIC_WRITE_BYTES = 4096;

/**
 * Maximum characters that wait for a slow reader. The log drops further lines, because requests matter more than their
 * log.
 */
const MAX_WAITING = 4 * 1024 * 1024;

const LINE_END = '\n'.charCodeAt(0);

const NOTHING = Buffer.alloc(0);

/**
 * Standard output for the log. A slow reader delays lines. Lines that cannot be written, for example to a full disk,
 * are dropped, because the log must never keep the server from answering or exiting.
 */
export class LogOutput {
  /** Lines, oldest first. */
  readonly #waiting: string[] = [];
  /** Their characters. */
  #waitingLength = 0;
  /** Serves one write after the other. Allocating hundreds of buffers per second would cost memory. */
  #buffer: Buffer<ArrayBuffer>;
  readonly #isShared: boolean;
  /** What is being written or retried. */
  #rest = NOTHING;
  /** Whether a thread is writing it. */
  #isWriting = false;
  /** Whether the last written line is incomplete. */
  #isLineCut = false;
  #gathering: NodeJS.Timeout | undefined;

  /** @param isShared whether other processes write to standard output as well. Each line is then written atomically. */
  constructor(isShared = false) {
    this.#isShared = isShared;
    // Writes to files are always complete, at any size.
    const isAtomic = isShared && !fstatSync(STDOUT).isFile();
    this.#buffer = Buffer.allocUnsafeSlow(isAtomic ? ATOMIC_WRITE_BYTES : MAX_WRITE_BYTES);
    // Timers do not fire after the exit, even an exit by an error.
    process.once('exit', () => this.#writeLast());
  }

  /** @param lines complete lines with their line ends */
  write(lines: string): void {
    if (this.#waitingLength + lines.length > MAX_WAITING) return;
    this.#waiting.push(lines);
    this.#waitingLength += lines.length;
    if (this.#rest.length === 0) this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#waitingLength >= this.#buffer.length) this.#writeNext();
    else if (this.#waitingLength > 0) this.#gathering ??= setTimeout(() => this.#writeNext(), GATHER_MS);
  }

  #writeNext(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#write(this.#next());
  }

  /** Takes the lines of the next write. They begin a new line if the last written one is incomplete. */
  #next(): Buffer<ArrayBuffer> {
    const [first] = this.#waiting;
    let bytes = this.#isLineCut && first !== undefined ? this.#buffer.write('\n') : 0;
    let count = 0;
    for (const lines of this.#waiting) {
      // A JavaScript character takes at most three bytes in UTF-8.
      if (bytes + lines.length * 3 > this.#buffer.length) break;
      bytes += this.#buffer.write(lines, bytes);
      count += 1;
    }
    for (const { length } of this.#waiting.splice(0, count || 1)) this.#waitingLength -= length;
    const next = this.#buffer.subarray(0, bytes);
    return count > 0 || first === undefined ? next : Buffer.concat([next, this.#oversized(first)]);
  }

  /** The bytes of an oversized line. If the line cannot be written atomically, a short warning replaces it. */
  #oversized(lines: string): Buffer {
    const bytes = Buffer.from(lines);
    if (bytes.length <= ATOMIC_WRITE_BYTES || this.#buffer.length > ATOMIC_WRITE_BYTES) return bytes;
    return Buffer.from(`{"level":"warn","event":"log_line_too_long","bytes":${bytes.length}}\n`);
  }

  #write(bytes: Buffer<ArrayBuffer>): void {
    this.#rest = bytes;
    this.#isWriting = true;
    write(STDOUT, bytes, (error, written) => {
      this.#isWriting = false;
      if (error === null) this.#advance(written);
      if (isFull(error)) this.#writeLater();
      else if (error !== null || this.#rest.length === 0) this.#end();
      else this.#write(this.#rest);
    });
  }

  #writeLater(): void {
    // On a shared pipe, the other writers can block a synchronous write.
    setTimeout(() => (this.#isShared ? this.#write(this.#rest) : this.#writeAgain()), RETRY_MS).unref();
  }

  /**
   * Writes synchronously, because a full pipe in non-blocking mode does not block. An exit then finds no write in
   * doubt.
   */
  #writeAgain(): void {
    let failure: unknown;
    try {
      while (this.#rest.length > 0) this.#advance(writeSync(STDOUT, this.#rest));
    } catch (error) {
      failure = error;
    }
    if (isFull(failure)) this.#writeLater();
    else this.#end();
  }

  #advance(written: number): void {
    this.#isLineCut = this.#rest[written - 1] !== LINE_END;
    this.#rest = this.#rest.subarray(written);
  }

  #end(): void {
    this.#rest = NOTHING;
    this.#writeSoon();
  }

  #writeLast(): void {
    if (this.#isWriting) {
      // The result of this write can no longer arrive. The thread started earlier, so it finishes first.
      sleep(RETRY_MS);
      this.#rest = NOTHING;
      this.#buffer = Buffer.allocUnsafeSlow(this.#buffer.length);
    }
    const endsAtMs = performance.now() + MAX_EXIT_WAIT_MS;
    try {
      for (; this.#rest.length > 0 || this.#waiting.length > 0; this.#rest = this.#next())
        while (this.#rest.length > 0) this.#advance(writeUntil(endsAtMs, this.#rest));
    } catch {
      // The reader is gone or the disk is full. Drop the lines.
    }
  }
}

/**
 * @returns the number of bytes written
 * @throws {Error} the write failed or timed out
 */
function writeUntil(endsAtMs: number, bytes: Buffer): number {
  for (;;) {
    try {
      return writeSync(STDOUT, bytes);
    } catch (error) {
      if (!isFull(error) || performance.now() > endsAtMs) throw error;
      sleep(RETRY_MS);
    }
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}

/** Blocks the thread. Used only at exit. */
function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** No path of this server is longer. */
const MAX_PATH = 200;

/** Reason codes for failures outside the library. */
type FailureReason = Extract<
  RefusalReason | PageReason,
  'storage_unavailable' | 'directory_unavailable' | 'unexpected'
>;

/** A request without a complete answer. */
interface OpenRequest extends Known {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly atMs: number;
  /** Where its line goes. */
  log: Log;
}

/** What becomes known during a request. */
interface Known {
  /** The endpoint or page, if the request reached one. */
  operation: string | undefined;
  clientId: string | undefined;
  /** Why a token was inactive, a request was refused or a page stopped it. */
  reason: string | undefined;
  /** Where the request comes from, if the log shows it. */
  address: string | undefined;
}

const NOTHING_KNOWN: Known = {
  operation: undefined,
  clientId: undefined,
  reason: undefined,
  address: undefined,
};

/** A request that has ended, as its line in the log shows it. The log leaves out what is undefined. */
interface RequestReport extends Readonly<Known> {
  readonly event: 'request';
  readonly requestId: string;
  readonly method: string | undefined;
  readonly path: string;
  readonly status: number | undefined;
  readonly aborted: true | undefined;
  readonly durationMs: number;
}

/** What events say about their request. */
interface Remembered {
  readonly requestId?: string;
  readonly clientId?: string;
  readonly operation?: string;
  readonly page?: string;
  readonly reason?: string;
}

const NO_LOG = logThrough(() => {});

/**
 * What makes a change: a command, the server, a user by themselves, the caller of its admin API, or an operator in its
 * console. Events replace `user` with `user:SUBJECT`.
 */
export type ActorKind = 'cli' | 'server' | 'user' | `api:${string}` | `console:${string}`;

/** Of the IDs of a process or a command. */
function newIdPrefix(): string {
  return `${randomBytes(6).toString('base64url')}-`;
}

/** The request or command that the running code belongs to. */
export interface Cause extends Omit<EventOrigin, 'actor'> {
  readonly actor?: ActorKind;
}

const causes = new AsyncLocalStorage<Cause>();

/** The request that is being answered, at endpoints whose callers can guess (ADR 177). */
export const guessable = new AsyncLocalStorage<HttpRequest>();

/** Runs `work` as part of a request. What it changes is recorded with this cause. */
export function within<T>(cause: Cause, work: () => T): T {
  return causes.run(cause, work);
}

/** The cause of what runs now. */
export const currentCause = (): Cause => causes.getStore() ?? {};

/**
 * Where changes come from, for a database that is opened on behalf of an actor.
 * @param actor who acts outside of requests, unless it is the server. All that it does then has one ID, as if it were one
 * request
 */
export function originOf(actor: ActorKind | undefined): () => EventOrigin {
  const isServer = actor === undefined || actor === 'server';
  const outside: EventOrigin = isServer ? {} : { actor, requestId: `${newIdPrefix()}0-${actor}` };
  return () => ({ ...outside, ...causes.getStore() });
}

/** Milliseconds in which a failure that comes again has no line of its own. */
const REPEATED_MS = 10_000;

/** Failures whose repetitions are counted at the same time. */
const MAX_COUNTED = 50;

/** The form in which the log shows an address; `undefined` if it does not show it. */
type ShownAddress = (address: string) => string | undefined;

/** Who acts for a user at this moment. */
export type ActingNow = NonNullable<Extract<ServerEvent, { readonly type: 'answered' }>['acting']>;

/** Learns from events who guesses. */
export interface GuessObserver {
  /** Those about which it knows enough. */
  readonly clients: ReadonlySet<string>;
  /** Requests that it looks at. */
  readonly trials: { has(request: HttpRequest): boolean };
  learn(request: HttpRequest, event: ServerEvent): void;
}

/** Writes one line for each request and one for each event. The request ID connects them. */
export class RequestLog {
  readonly #log: Log;
  readonly #unknown: Known & Pick<OpenRequest, 'log'>;
  readonly #shownAddress: ShownAddress | undefined;
  readonly #isOn: boolean;
  readonly #idPrefix = newIdPrefix();
  /**
   * Open requests, each in a place that its ID ends with. They are not in a `Map`, because the engine creates a new table
   * for every few deleted entries, as an old object that waits for a full garbage collection.
   */
  readonly #open: (OpenRequest | undefined)[] = [];
  readonly #freePlaces: number[] = [];
  #count = 0;
  #observer: GuessObserver | undefined;
  #recorder: { note(acting: ActingNow): void } | undefined;
  /** How often the failures of the last seconds came again, each after its line. */
  readonly #repeated = new Map<string, number>();

  constructor(log: Log, shownAddress?: ShownAddress) {
    this.#log = log;
    this.#unknown = { ...NOTHING_KNOWN, log };
    this.#shownAddress = shownAddress;
    this.#isOn = log.isLevelEnabled?.('info') ?? true;
  }

  /** The observer gets events that say why a guessable request failed, or are about what it does not know. */
  observe(observer: GuessObserver): void {
    this.#observer = observer;
  }

  /** The recorder gets who acts for users. */
  recordUses(recorder: { note(acting: ActingNow): void }): void {
    this.#recorder = recorder;
  }

  /** Without an event: a check by the program itself. */
  readonly used = (acting: ActingNow): void => this.#recorder?.note(acting);

  /** Starts to log a request. @returns the request ID */
  begin(request: IncomingMessage, response: ServerResponse, sender = ''): string {
    const place = this.#freePlaces.pop() ?? this.#open.length;
    const id = `${this.#idPrefix}${(this.#count++).toString(36)}-${place.toString(36)}`;
    if (!this.#isOn) return id;
    const address = this.#shownAddress?.(sender);
    const open: OpenRequest = { ...this.#unknown, id, request, response, address, atMs: performance.now() };
    this.#open[place] = open;
    response.on('close', () => open.log.info(this.#reportOf(place, open)));
    return id;
  }

  /** Forgets the request. */
  #reportOf(place: number, { id, request, response, atMs, log: _, ...known }: OpenRequest): RequestReport {
    this.#open[place] = undefined;
    this.#freePlaces.push(place);
    return {
      event: 'request',
      requestId: id,
      method: request.method,
      path: pathAsLogged(request.url ?? ''),
      status: response.writableFinished ? response.statusCode : undefined,
      aborted: response.writableFinished ? undefined : true,
      durationMs: Math.round((performance.now() - atMs) * 1000) / 1000,
      ...known,
    };
  }

  /** An event of the library. */
  readonly event = (event: ServerEvent): void => {
    if ('acting' in event && event.acting !== undefined) this.#recorder?.note(event.acting);
    const request = guessable.getStore();
    if (request && ('reason' in event || !this.#isKnown(request, event.clientId)))
      this.#observer?.learn(request, event);
    if (!this.#isOn) return;
    this.#remember(event);
    // The request line and the line of the delivery attempt already report these two.
    if (event.type === 'answered' || event.type === 'logout_not_delivered') return;
    // The usual first answer to a client that does not know the nonce yet (RFC 9449 §8).
    if (event.type === 'refused' && event.error === 'use_dpop_nonce') return;
    const { type, ...known } = { address: this.#addressOfCause(), ...event };
    const isFailure = 'status' in known && known.status >= 500;
    const line = { event: type, ...known };
    if (!('cause' in known)) this.#log[isFailure ? 'error' : levelOf(type)](line);
    else if (isFailure) this.#failed(line, known.cause);
    else this.#log[levelOf(type)]({ ...line, cause: briefOf(known.cause) });
  };

  #isKnown(request: HttpRequest, clientId = ''): boolean {
    return this.#observer?.clients.has(clientId) === true && !this.#observer.trials.has(request);
  }

  /** An event of a page. */
  pageEvent({ type, cause, ...event }: PageEvent): void {
    if (!this.#isOn) return;
    this.#remember(event);
    const address = this.#addressOfCause();
    this.#log.info({ event: type, address, ...event, ...(cause !== undefined && { cause: briefOf(cause) }) });
  }

  /** Notes for the line of a request what becomes known during it. */
  about(known: Remembered): void {
    if (this.#isOn) this.#remember(known);
  }

  /** Leaves out the line of a request that its client repeats each second. */
  omit(requestId: string): void {
    const open = this.#open[Number.parseInt(requestId.slice(requestId.lastIndexOf('-') + 1), 36)];
    if (open?.id === requestId) open.log = NO_LOG;
  }

  /** Logs a failure outside the library. */
  failure(requestId: string, reason: FailureReason, error: unknown): void {
    const address = this.#addressOfCause();
    const line = { event: 'failure', address, requestId, reason };
    this.#failed(line, error);
  }

  /**
   * In an outage, each request fails for the same reason. The first one has a line, and a later line says how many others
   * there were. Each still has the line of its request, with the reason.
   */
  #failed(
    line: { readonly event: string; readonly operation?: string; readonly reason?: string },
    error: unknown,
  ): void {
    const cause = causeOf(error);
    const { event: failure, operation, reason } = line;
    const repeated = { event: 'failure_repeated', failure, operation, reason, cause: withoutStacks(cause) };
    const key = JSON.stringify(repeated);
    const times = this.#repeated.get(key);
    if (times !== undefined) {
      this.#repeated.set(key, times + 1);
      return;
    }
    this.#log.error({ ...line, cause });
    if (this.#repeated.size >= MAX_COUNTED) return;
    this.#repeated.set(key, 0);
    setTimeout(() => {
      const others = this.#repeated.get(key) ?? 0;
      this.#repeated.delete(key);
      if (others > 0) this.#log.error({ ...repeated, times: others });
    }, REPEATED_MS).unref();
  }

  /** Does not ask the open request, because a sender who has disconnected already must not go unnamed. */
  #addressOfCause(): string | undefined {
    return this.#shownAddress?.(currentCause().address ?? '');
  }

  /** Ignores events after the end of the request, for example if its caller has disconnected. */
  #remember({ requestId = '', clientId, operation, page, reason }: Remembered): void {
    const open = this.#open[Number.parseInt(requestId.slice(requestId.lastIndexOf('-') + 1), 36)];
    if (open?.id !== requestId) return;
    open.clientId = clientId ?? open.clientId;
    open.operation = operation ?? page ?? open.operation;
    open.reason = reason ?? open.reason;
  }
}

/**
 * The path without its query, which may contain secrets. Bearer values are removed from the path as well, because some
 * servers read `%3F` as a question mark.
 */
function pathAsLogged(url: string): string {
  return withoutBearers((url.split('?', 1)[0] ?? '').slice(0, MAX_PATH));
}

/** Events that hint at an attack or a broken client. They are logged as warnings. */
const WARNINGS: ReadonlySet<ServerEvent['type']> = new Set([
  'refresh_token_reused',
  'authorization_code_reused',
]);

function levelOf(type: ServerEvent['type']): 'info' | 'warn' {
  return WARNINGS.has(type) ? 'warn' : 'info';
}
