import { frozen } from './frozen.ts';

/** More are not looked for: what is so various has little in common. */
const MOST_VALUES = 1000;

/** Keeps one of all equal values in memory: issuers, clients, scopes and the like, which many tokens have in common. */
export class CommonValues {
  readonly #values = new Map<string, unknown>();

  /** @returns an equal value of plain data, which nobody can change */
  of<T>(value: T): T {
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return value;
    const key = typeof value === 'string' ? value : JSON.stringify(value);
    const known = this.#values.get(key);
    // What is written alike is of one type: no JSON text is another's value.
    if (typeof known === typeof value) return known as T;
    if (known === undefined && this.#values.size < MOST_VALUES) this.#values.set(key, value);
    return frozen(value);
  }
}
