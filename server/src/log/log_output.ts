import { write } from 'node:fs';
import { Writable } from 'node:stream';

const STDOUT = 1;

const RETRY_MS = 10;

/** Bytes that may wait for a reader who does not read; more is dropped, since requests are worth more than their log. */
const MOST_WAITING = 4 * 1024 * 1024;

/**
 * Standard output for the log. What a slow reader has no room for yet is written a little later; what cannot be
 * written, on a full disk for example, is dropped: a log must never keep the server from answering, nor from ending.
 */
export class LogOutput extends Writable {
  override _write(chunk: Uint8Array, encoding: string, done: () => void): void {
    write(STDOUT, chunk, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => this._write(chunk, encoding, done), RETRY_MS).unref();
      else if (error === null && written < chunk.length) this._write(chunk.subarray(written), encoding, done);
      else done();
    });
  }

  override write(chunk: unknown): boolean {
    return this.writableLength < MOST_WAITING && super.write(chunk);
  }
}
