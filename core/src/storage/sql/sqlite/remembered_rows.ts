import { RecentlyUsed } from '../../../memories/recently_used.ts';
import { frozen } from '../../../protocol/frozen.ts';
import type { Reads } from './connection.ts';

/** Each is some hundred bytes; twice as many at most. */
const MOST_ROWS = 1000;

/**
 * What was read of a database, under a name for each look-up, for as long as nothing has been committed since, by
 * whichever process. Asked and told while something is looked up.
 */
export class RememberedRows<T> {
  readonly #reads: Pick<Reads, 'stateNumber'>;
  readonly #rows = new RecentlyUsed<T>(MOST_ROWS);
  #stateNumber: number | undefined;

  /** @param reads of the connection that looks up */
  constructor(reads: Pick<Reads, 'stateNumber'>) {
    this.#reads = reads;
  }

  get(name: string): T | undefined {
    this.#followState();
    return this.#rows.get(name);
  }

  /** @returns the same, which nobody can change from now on */
  add(name: string, row: T): T {
    this.#followState();
    this.#rows.set(name, frozen(row));
    return row;
  }

  #followState(): void {
    const { stateNumber } = this.#reads;
    if (stateNumber === this.#stateNumber) return;
    this.#rows.clear();
    this.#stateNumber = stateNumber;
  }
}
