import { frozen } from '../protocol/frozen.ts';
import { RecentlyUsed } from './recently_used.ts';

/** Twice as many at most; more are hardly in use at the same time. */
const MOST_VALUES = 1000;

/** Keeps one of all equal values in memory: clients, scopes and the like, which many tokens have in common. */
export class InternedValues {
  readonly #values = new RecentlyUsed<unknown>(MOST_VALUES);

  /** @returns an equal value of plain data, which nobody can change */
  of<T>(value: T): T {
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return value;
    const key = typeof value === 'string' ? value : JSON.stringify(value);
    const known = this.#values.get(key);
    // What is written alike is of one type: no JSON text is another's value.
    if (typeof known === typeof value) return known as T;
    this.#values.set(key, frozen(value));
    return value;
  }
}
