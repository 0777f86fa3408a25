import { frozen } from '../../../protocol/frozen.ts';
import { RecentlyUsed } from '../../../protocol/recently_used.ts';
import type { Reads } from './connection.ts';

/** Each is some hundred bytes; twice as many at most. */
const MOST_ROWS = 1000;

/**
 * What was read of a database, under a name for each look-up, for as long as nothing has been committed since, by
 * whichever process. Asked and told while something is looked up.
 */
export class RememberedRows<T> {
  readonly #reads: Pick<Reads, 'state'>;
  readonly #rows = new RecentlyUsed<T>(MOST_ROWS);
  #state: number | undefined;

  /** @param reads of the connection that looks up */
  constructor(reads: Pick<Reads, 'state'>) {
    this.#reads = reads;
  }

  get(name: string): T | undefined {
    return this.#isOfNow() ? this.#rows.get(name) : undefined;
  }

  /** @returns the same, which nobody can change from now on if it is remembered */
  add(name: string, row: T): T {
    if (this.#isOfNow()) this.#rows.set(name, frozen(row));
    return row;
  }

  /** Forgets what is not of the state that is read now. @returns whether that state is known */
  #isOfNow(): boolean {
    const { state } = this.#reads;
    if (state === undefined) return false;
    if (state !== this.#state) this.#rows.clear();
    this.#state = state;
    return true;
  }
}
