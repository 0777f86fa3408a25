import { frozen } from '../../../protocol/frozen.ts';
import { RecentlyUsed } from '../../../protocol/recently_used.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import type { Reads } from './connection.ts';

/** Each is some hundred bytes; twice as many at most. */
const MOST_CLIENTS = 1000;

/** Clients as they were read, for as long as nothing has been committed since. */
export class RememberedClients {
  readonly #reads: Pick<Reads, 'state'>;
  readonly #clients = new RecentlyUsed<ClientRecord>(MOST_CLIENTS);
  #state: number | undefined;

  constructor(reads: Pick<Reads, 'state'>) {
    this.#reads = reads;
  }

  get(id: string): ClientRecord | undefined {
    return this.#isOfNow() ? this.#clients.get(id) : undefined;
  }

  add(client: ClientRecord): void {
    if (this.#isOfNow()) this.#clients.set(client.id, frozen(client));
  }

  /** Forgets what is not of the state that is read now. @returns whether that state is known */
  #isOfNow(): boolean {
    const { state } = this.#reads;
    if (state === undefined) return false;
    if (state !== this.#state) this.#clients.clear();
    this.#state = state;
    return true;
  }
}
