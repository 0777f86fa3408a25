import { write, writeSync } from 'node:fs';

const STDOUT = 1;

const RETRY_MS = 10;

/** How long a line waits for others at most: one call of the system writes them together. */
const GATHER_MS = 5;

/** Characters that are written at once; a pipe takes about as many. */
const FULL = 64 * 1024;

/** Characters that may wait for a reader who does not read; more is dropped, since requests are worth more than their log. */
const MOST_WAITING = 4 * 1024 * 1024;

/**
 * Standard output for the log. What a slow reader has no room for yet is written a little later; what cannot be
 * written, on a full disk for example, is dropped: a log must never keep the server from answering, nor from ending.
 */
export class LogOutput {
  #gathered = '';
  /** Bytes under way. */
  #writing = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    // Nobody waits for a timer where the process is made to end, be it by an error.
    process.once('exit', () => this.#writeLast());
  }

  /** @param lines each with its end */
  write(lines: string): void {
    if (this.#gathered.length + this.#writing >= MOST_WAITING) return;
    this.#gathered += lines;
    if (this.#writing === 0) this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#gathered.length >= FULL) this.#writeGathered();
    else this.#timer ??= setTimeout(() => this.#writeGathered(), GATHER_MS);
  }

  #writeGathered(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#write(this.#takeGathered());
  }

  #write(bytes: Uint8Array): void {
    this.#writing = bytes.length;
    write(STDOUT, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => this.#write(bytes), RETRY_MS).unref();
      else if (error === null && written < bytes.length) this.#write(bytes.subarray(written));
      else this.#written();
    });
  }

  #written(): void {
    this.#writing = 0;
    if (this.#gathered !== '') this.#writeSoon();
  }

  #writeLast(): void {
    let bytes = this.#takeGathered();
    try {
      while (bytes.length > 0) bytes = bytes.subarray(writeSync(STDOUT, bytes));
    } catch {
      // Nobody reads it, or there is no room: as above.
    }
  }

  #takeGathered(): Uint8Array {
    const bytes = Buffer.from(this.#gathered);
    this.#gathered = '';
    return bytes;
  }
}
