import { fstatSync, write, writeSync } from 'node:fs';
import { DocumentError, withoutBearers } from '@grantd/core';
import { type Logger, pino } from 'pino';
import type { Settings } from '../config/options.ts';

export type Log = Logger;

/** Who writes a log, where it is not a process that serves alone. */
interface LogWriter {
  /** Number of the worker, for every line. */
  readonly worker?: number;
  /** Whether other processes write to the same standard output. */
  readonly isShared?: boolean;
}

/** The log on standard output: JSON lines for machines, or a readable form for people. */
export async function openLog(
  form: Settings['log'],
  { worker, isShared = false }: LogWriter = {},
): Promise<Log> {
  const options = {
    base: worker === undefined ? null : { worker },
    enabled: form !== 'off',
    timestamp: timeOfLines(),
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const output = new LogOutput(isShared);
  if (form !== 'pretty') return pino(options, output);
  const { readableLines } = await import('./readable_lines.ts');
  return pino(options, readableLines(output));
}

/** The time as a member of a line. Many lines are of one millisecond; to write it out takes longer than the rest. */
function timeOfLines(): () => string {
  let writtenMs = 0;
  let written = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== writtenMs) {
      writtenMs = nowMs;
      written = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return written;
  };
}

const STDOUT = 1;

const RETRY_MS = 10;

/** How long a line waits for others at most: one call of the system writes them together. */
const GATHER_MS = 5;

/** How long a process that ends waits at most for a reader who is behind. */
const LAST_MS = 1000;

/** Bytes that are written at once at most; a pipe takes about as many. */
const MOST_AT_ONCE = 64 * 1024;

/** Bytes that Linux writes to a pipe as a whole or not at all (POSIX `PIPE_BUF`). */
const MOST_AS_A_WHOLE = 4096;

/** Bytes that may wait for a reader who does not read; more is dropped, since requests are worth more than their log. */
const MOST_WAITING = 4 * 1024 * 1024;

const LINE_END = Buffer.from('\n');

interface Piece {
  /** What is still to be written of it. */
  bytes: Buffer<ArrayBuffer>;
  /** Where they stand, unless they stand alone. */
  readonly room?: Buffer<ArrayBuffer>;
}

/**
 * Standard output for the log. What a slow reader has no room for yet is written a little later; what cannot be
 * written, on a full disk for example, is dropped: a log must never keep the server from answering, nor from ending.
 */
export class LogOutput {
  /** Full, or too full for the next line; the first is written first. */
  readonly #waiting: Piece[] = [];
  readonly #roomBytes: number;
  #room: Buffer<ArrayBuffer>;
  /** One that has been written, for the next lines: what is thrown away hundreds of times a second costs memory. */
  #spare: Buffer<ArrayBuffer> | undefined;
  readonly #isShared: boolean;
  /** Bytes of the room that are taken. */
  #taken = 0;
  /** Bytes that wait or are under way, those in the room aside. */
  #pending = 0;
  /** What is being written, or will be tried again. */
  #current: Piece | undefined;
  /** Whether a thread has it at the moment. */
  #isUnderWay = false;
  /** Whether the line that was written last lacks its end. */
  #isCut = false;
  #gathering: NodeJS.Timeout | undefined;

  /** @param isShared whether other processes write to it as well: none of them writes into a line of another */
  constructor(isShared = false) {
    this.#isShared = isShared;
    // What is written to a file is written as a whole, however much it is.
    this.#roomBytes = isShared && !fstatSync(STDOUT).isFile() ? MOST_AS_A_WHOLE : MOST_AT_ONCE;
    this.#room = Buffer.allocUnsafeSlow(this.#roomBytes);
    // Nobody waits for a timer where the process is made to end, be it by an error.
    process.once('exit', () => this.#writeLast());
  }

  /** @param lines each with its end */
  write(lines: string): void {
    // In UTF-8 a character of JavaScript takes three bytes at most.
    const most = lines.length * 3;
    if (this.#pending + this.#taken + most > MOST_WAITING) return;
    if (this.#taken + most > this.#roomBytes) this.#setAside();
    if (most > this.#roomBytes) this.#enqueue({ bytes: this.#alone(lines) });
    else this.#taken += this.#room.write(lines, this.#taken);
    if (this.#current === undefined) this.#writeSoon();
  }

  /** A text that has no room beside others; where it could not be written as a whole, what is told instead. */
  #alone(lines: string): Buffer<ArrayBuffer> {
    const bytes = Buffer.from(lines);
    if (bytes.length <= MOST_AS_A_WHOLE || this.#roomBytes > MOST_AS_A_WHOLE) return bytes;
    return Buffer.from(`{"level":"warn","event":"log_line_too_long","bytes":${bytes.length}}\n`);
  }

  #writeSoon(): void {
    if (this.#waiting.length > 0) this.#writeNext();
    else if (this.#taken > 0) this.#gathering ??= setTimeout(() => this.#writeNext(), GATHER_MS);
  }

  #writeNext(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    if (this.#waiting.length === 0) this.#setAside();
    this.#current = this.#next();
    if (this.#current !== undefined) this.#write(this.#current);
  }

  #write(piece: Piece): void {
    this.#isUnderWay = true;
    write(STDOUT, piece.bytes, (error, written) => {
      this.#isUnderWay = false;
      if (error === null) this.#advance(piece, written);
      if (isFull(error)) this.#writeLater(piece);
      else if (error === null && piece.bytes.length > 0) this.#write(piece);
      else this.#end(piece);
    });
  }

  #writeLater(piece: Piece): void {
    // What others write to as well they may make wait.
    setTimeout(() => (this.#isShared ? this.#write(piece) : this.#writeAgain(piece)), RETRY_MS).unref();
  }

  /** Without a thread, since what says that it is full does not wait: an exit then finds nothing in doubt. */
  #writeAgain(piece: Piece): void {
    let failure: unknown;
    try {
      while (piece.bytes.length > 0) this.#advance(piece, writeSync(STDOUT, piece.bytes));
    } catch (error) {
      failure = error;
    }
    if (isFull(failure)) this.#writeLater(piece);
    else this.#end(piece);
  }

  #advance(piece: Piece, written: number): void {
    this.#isCut = piece.bytes.at(written - 1) !== LINE_END[0];
    piece.bytes = piece.bytes.subarray(written);
    this.#pending -= written;
  }

  #end({ bytes, room }: Piece): void {
    this.#pending -= bytes.length;
    this.#spare = room ?? this.#spare;
    this.#current = undefined;
    this.#writeSoon();
  }

  #setAside(): void {
    if (this.#taken === 0) return;
    this.#enqueue({ bytes: this.#room.subarray(0, this.#taken), room: this.#room });
    this.#room = this.#spare ?? Buffer.allocUnsafeSlow(this.#roomBytes);
    this.#spare = undefined;
    this.#taken = 0;
  }

  #enqueue(piece: Piece): void {
    this.#waiting.push(piece);
    this.#pending += piece.bytes.length;
  }

  /** What comes after a line whose rest had to be dropped begins a line of its own. */
  #next(): Piece | undefined {
    const next = this.#waiting.shift();
    if (next !== undefined && this.#isCut) {
      next.bytes = Buffer.concat([LINE_END, next.bytes]);
      this.#pending += LINE_END.length;
    }
    return next;
  }

  #writeLast(): void {
    this.#setAside();
    if (this.#isUnderWay) {
      // How much of it is taken nobody will say any more; the process ends after the thread, which was first.
      sleep(RETRY_MS);
      this.#current = undefined;
    }
    const endsAtMs = performance.now() + LAST_MS;
    try {
      for (let piece = this.#current ?? this.#next(); piece !== undefined; piece = this.#next()) {
        while (piece.bytes.length > 0) this.#advance(piece, writeUntil(endsAtMs, piece.bytes));
      }
    } catch {
      // Nobody reads it, or there is no room: as above.
    }
  }
}

/**
 * @returns how many bytes were written
 * @throws {Error} they cannot be, or not in time
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

/** At a time when nothing else is left to do. */
function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** What went wrong underneath, for the log. */
interface Cause {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: Cause;
}

/** Characters of a message, and of the stack of what was caught; those of its causes tell little more. */
const LONGEST_MESSAGE = 300;
const LONGEST_STACK = 1000;
const LONGEST_STACK_OF_CAUSE = 200;

/**
 * An error as it may be logged: of its members only those named here, since a library may hang anything on an error,
 * and without bearer values in its text.
 */
export function causeOf(error: unknown, depth = 0): Cause {
  if (!(error instanceof Error)) return { name: typeof error, message: cut(String(error), LONGEST_MESSAGE) };
  const code = 'code' in error && error.code !== undefined ? String(error.code) : undefined;
  return {
    name: error.name,
    message: cut(error.message, LONGEST_MESSAGE),
    ...(code !== undefined && { code }),
    // What a client names by URL can often not be had; that is told by the message.
    ...(error.stack !== undefined &&
      !(error instanceof DocumentError) && {
        stack: cut(error.stack, depth === 0 ? LONGEST_STACK : LONGEST_STACK_OF_CAUSE),
      }),
    ...(error.cause !== undefined && depth < 3 && { cause: causeOf(error.cause, depth + 1) }),
  };
}

/** What was cut off might have told that the rest belongs to a bearer value: that is removed before. */
function cut(text: string, longest: number): string {
  const loggable = withoutBearers(text);
  return loggable.length > longest ? `${loggable.slice(0, longest)}…` : loggable;
}
