/** What things are remembered in under texts: a `Map`, or something quicker for texts of a certain kind. */
export interface Table<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): unknown;
  delete(key: string): unknown;
}

/** Keeps values by text key: the last `limit` that were used, and at most as many of those before. */
export class RecentlyUsed<T> {
  readonly #limit: number;
  readonly #newTable: () => Table<T>;
  #recent: Table<T>;
  #earlier: Table<T>;
  /** How often something was set in `#recent`: as many are in it at most. */
  #count = 0;

  /** @param newTable makes what it is remembered in; a `Map` unless said otherwise */
  constructor(limit: number, newTable: () => Table<T> = () => new Map<string, T>()) {
    this.#limit = limit;
    this.#newTable = newTable;
    this.#recent = newTable();
    this.#earlier = newTable();
  }

  get(key: string): T | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const earlier = this.#earlier.get(key);
    if (earlier !== undefined) this.set(key, earlier);
    return earlier;
  }

  set(key: string, value: T): void {
    if (this.#count >= this.#limit) this.forgetUnused();
    this.#count += 1;
    this.#recent.set(key, value);
  }

  /** Forgets what was not used since the last call, or since as many others were. */
  forgetUnused(): void {
    this.#earlier = this.#recent;
    this.#recent = this.#newTable();
    this.#count = 0;
  }

  delete(key: string): void {
    this.#recent.delete(key);
    this.#earlier.delete(key);
  }

  clear(): void {
    this.#recent = this.#newTable();
    this.#earlier = this.#newTable();
    this.#count = 0;
  }
}
