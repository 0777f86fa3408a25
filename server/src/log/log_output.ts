import { write } from 'node:fs';
import { Writable } from 'node:stream';

const STDOUT = 1;

/** Bytes that may wait for a reader who does not read; more is dropped, since requests are worth more than their log. */
const MOST_WAITING = 4 * 1024 * 1024;

/**
 * Standard output for the log. What cannot be written, on a full disk for example, is dropped: a log must never keep
 * the server from answering.
 */
export class LogOutput extends Writable {
  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    write(STDOUT, chunk, () => done());
  }

  override write(chunk: unknown): boolean {
    return this.writableLength < MOST_WAITING && super.write(chunk);
  }
}
