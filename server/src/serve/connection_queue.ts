import type { Socket } from 'node:net';

/** More wait in vain, and would use up the file descriptors of the process. */
const MOST_WAITING = 1024;

export interface ConnectionTaker {
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
