import type { ClientRecord } from '../../../protocol/records.ts';
import type { ReadQueue } from './read_queue.ts';

/** More are not remembered than answer requests within a short time; each is some hundred bytes. */
const MOST_CLIENTS = 1000;

/** Clients as they were read, for as long as the database is in the state in which they were. */
export class RememberedClients {
  readonly #reads: Pick<ReadQueue, 'version'>;
  readonly #clients = new Map<string, ClientRecord>();
  #version: string | undefined;

  constructor(reads: Pick<ReadQueue, 'version'>) {
    this.#reads = reads;
  }

  get(id: string): ClientRecord | undefined {
    return this.#isOfNow() ? this.#clients.get(id) : undefined;
  }

  add(client: ClientRecord): void {
    if (!this.#isOfNow()) return;
    if (this.#clients.size >= MOST_CLIENTS) this.#clients.clear();
    this.#clients.set(client.id, client);
  }

  /** Forgets what is not of the state that is read now. @returns whether that state is known */
  #isOfNow(): boolean {
    const { version } = this.#reads;
    if (version === undefined) return false;
    if (version !== this.#version) this.#clients.clear();
    this.#version = version;
    return true;
  }
}
