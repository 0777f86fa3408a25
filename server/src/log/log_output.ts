import { write, writeSync } from 'node:fs';

const STDOUT = 1;

const RETRY_MS = 10;

/** How long a line waits for others at most: one call of the system writes them together. */
const GATHER_MS = 5;

/** Bytes that are written at once at most; a pipe takes about as many. */
const ROOM = 64 * 1024;

/** Bytes that may wait for a reader who does not read; more is dropped, since requests are worth more than their log. */
const MOST_WAITING = 4 * 1024 * 1024;

/**
 * Standard output for the log. What a slow reader has no room for yet is written a little later; what cannot be
 * written, on a full disk for example, is dropped: a log must never keep the server from answering, nor from ending.
 */
export class LogOutput {
  /** Full, or too full for the next line; the first is written first. */
  #waiting: Buffer<ArrayBuffer>[] = [];
  #room = Buffer.allocUnsafe(ROOM);
  /** One that has been written, for the next lines: what is thrown away hundreds of times a second costs memory. */
  #spare: Buffer<ArrayBuffer> | undefined;
  /** Bytes of the room that are taken. */
  #taken = 0;
  /** Bytes that wait or are under way, those in the room aside. */
  #pending = 0;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    // Nobody waits for a timer where the process is made to end, be it by an error.
    process.once('exit', () => this.#writeLast());
  }

  /** @param lines each with its end */
  write(lines: string): void {
    // In UTF-8 a character of JavaScript takes three bytes at most.
    const most = lines.length * 3;
    if (this.#pending + this.#taken + most > MOST_WAITING) return;
    if (this.#taken + most > ROOM) this.#setAside();
    if (most > ROOM) this.#enqueue(Buffer.from(lines));
    else this.#taken += this.#room.write(lines, this.#taken);
    if (!this.#isWriting) this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#waiting.length > 0) this.#writeNext();
    else if (this.#taken > 0) this.#timer ??= setTimeout(() => this.#writeNext(), GATHER_MS);
  }

  #writeNext(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) this.#setAside();
    const next = this.#waiting.shift();
    if (next !== undefined) this.#write(next);
  }

  #write(bytes: Buffer<ArrayBuffer>): void {
    this.#isWriting = true;
    write(STDOUT, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#write(bytes), RETRY_MS).unref();
      } else if (error === null && written < bytes.length) {
        this.#pending -= written;
        this.#write(bytes.subarray(written));
      } else {
        this.#pending -= bytes.length;
        this.#isWriting = false;
        this.#keep(bytes);
        this.#writeSoon();
      }
    });
  }

  #setAside(): void {
    if (this.#taken === 0) return;
    this.#enqueue(this.#room.subarray(0, this.#taken));
    this.#room = this.#spare ?? Buffer.allocUnsafe(ROOM);
    this.#spare = undefined;
    this.#taken = 0;
  }

  #keep({ buffer }: Buffer<ArrayBuffer>): void {
    if (buffer.byteLength === ROOM) this.#spare = Buffer.from(buffer);
  }

  #enqueue(bytes: Buffer<ArrayBuffer>): void {
    this.#waiting.push(bytes);
    this.#pending += bytes.length;
  }

  #writeLast(): void {
    this.#setAside();
    try {
      for (let bytes of this.#waiting.splice(0)) {
        while (bytes.length > 0) bytes = bytes.subarray(writeSync(STDOUT, bytes));
      }
    } catch {
      // Nobody reads it, or there is no room: as above.
    }
  }
}
