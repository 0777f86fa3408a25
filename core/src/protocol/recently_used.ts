import { TextTable } from './text_table.ts';

/** Remembers under a text what was used recently: the last `limit` of them, and up to as many of those before. */
export class RecentlyUsed<T> {
  readonly #limit: number;
  #recent = new TextTable<T>();
  #earlier = new TextTable<T>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): T | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const earlier = this.#earlier.get(key);
    if (earlier !== undefined) this.set(key, earlier);
    return earlier;
  }

  set(key: string, value: T): void {
    if (this.#recent.size >= this.#limit) {
      this.#earlier = this.#recent;
      this.#recent = new TextTable();
    }
    this.#recent.set(key, value);
  }

  forget(key: string): void {
    this.#recent.forget(key);
    this.#earlier.forget(key);
  }

  clear(): void {
    this.#recent = new TextTable();
    this.#earlier = new TextTable();
  }
}
