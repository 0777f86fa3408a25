// Bounded caches with text keys.
/** The part of `Map` that `RecentlyUsed` needs. `TextTable` is faster for random keys. */
interface Table<T> {
  readonly size: number;
  get(key: string): T | undefined;
  set(key: string, value: T): unknown;
  delete(key: string): unknown;
}

/**
 * Tokens that each process caches by default. The bounds of everything that is cached per token follow from the option
 * `cachedTokens`.
 */
export const DEFAULT_CACHED_TOKENS = 200_000;

/** Keeps at most `most` values, and at least the half of them that was used last. */
export class RecentlyUsed<T> {
  /** Values in each of the two tables. */
  readonly #half: number;
  readonly #newTable: () => Table<T>;
  #recent: Table<T>;
  #earlier: Table<T>;
  /** Number of `set` calls since `#recent` was new: an upper bound of its size. */
  #count = 0;

  /**
   * @param most less than 2 keeps nothing
   * @param newTable makes the underlying tables. Default: a `Map`.
   */
  constructor(most: number, newTable: () => Table<T> = () => new Map<string, T>()) {
    this.#half = Math.floor(most / 2);
    this.#newTable = this.#half === 0 ? () => NOTHING : newTable;
    this.#recent = this.#newTable();
    this.#earlier = this.#newTable();
  }

  /** The number of values, of which some may count twice. */
  get size(): number {
    return this.#recent.size + this.#earlier.size;
  }

  get(key: string): T | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const earlier = this.#earlier.get(key);
    if (earlier !== undefined) this.set(key, earlier);
    return earlier;
  }

  set(key: string, value: T): void {
    if (this.#count >= this.#half) this.forgetUnused();
    this.#count += 1;
    this.#recent.set(key, value);
  }

  /** Drops all values that were not used since the previous call, or since half of `most` others were. */
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

/** A table that stays empty. */
const NOTHING: Table<never> = { size: 0, get: () => undefined, set() {}, delete() {} };

/** Initial size; a power of two. */
const INITIAL_SLOTS = 64;

/** The last characters of a text decide its slot. */
const HASHED_CHARACTERS = 8;

/**
 * A hash table for texts that end in random characters, such as digests and identifiers of tokens. A `Map` first looks
 * each text up in the engine's table of all strings, which dominates the cost once there are many. Texts with the same
 * ending would all fall into one chain.
 */
export class TextTable<T> implements Table<T> {
  #names: (string | undefined)[] = emptySlots(INITIAL_SLOTS);
  #values: (T | undefined)[] = emptySlots(INITIAL_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(name: string): T | undefined {
    return this.#values[this.#slotOf(name)];
  }

  set(name: string, value: T): void {
    const slot = this.#slotOf(name);
    this.#values[slot] = value;
    if (this.#names[slot] !== undefined) return;
    this.#names[slot] = name;
    this.#size += 1;
    if (this.#size * 2 > this.#names.length) this.#grow();
  }

  /** Clears the value, but keeps the slot taken, so that lookups of later texts still pass through it. */
  delete(name: string): void {
    this.#values[this.#slotOf(name)] = undefined;
  }

  /** Returns the slot that holds the text, or the first free one. At least half of all slots are free. */
  #slotOf(name: string): number {
    const last = this.#names.length - 1;
    let slot = hashOf(name) & last;
    for (let taken = this.#names[slot]; taken !== undefined && taken !== name; taken = this.#names[slot])
      slot = (slot + 1) & last;
    return slot;
  }

  #grow(): void {
    const [names, values] = [this.#names, this.#values];
    this.#names = emptySlots(names.length * 2);
    this.#values = emptySlots(names.length * 2);
    names.forEach((name, from) => {
      if (name === undefined) return;
      const slot = this.#slotOf(name);
      this.#names[slot] = name;
      this.#values[slot] = values[from];
    });
  }
}

function emptySlots(count: number): undefined[] {
  return new Array<undefined>(count).fill(undefined);
}

/** FNV-1a of the last characters. Folds the upper bits in, which are mixed better. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5 ^ text.length;
  for (let at = Math.max(0, text.length - HASHED_CHARACTERS); at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}

/** Tokens have few different values: their clients, scopes and audiences. */
const MAX_VALUES = 2000;

/** Shares equal values, such as clients and scopes that many tokens have in common, to save memory. */
export class InternedValues {
  readonly #values = new RecentlyUsed<unknown>(MAX_VALUES);

  /** @returns an equal, frozen value */
  of<T>(value: T): T {
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return value;
    const key = typeof value === 'string' ? value : JSON.stringify(value);
    const known = this.#values.get(key);
    // Compare types, because a string can be the JSON text of an object.
    if (typeof known === typeof value) return known as T;
    this.#values.set(key, frozen(value));
    return value;
  }
}

/** How a cache was used since it was made, and how many values it holds now. */
export interface CacheUse {
  readonly hits: number;
  readonly misses: number;
  readonly size: number;
}

/** The number of the database state that lookups see now. It increases after a commit. */
interface DatabaseState {
  readonly stateNumber: number;
}

/** Each takes a few hundred bytes. */
const MAX_ROWS = 2000;

/** Caches results of lookups under a name until any process commits. Used only inside a lookup. */
export class CachedRows<T> {
  readonly #reads: DatabaseState;
  readonly #rows = new RecentlyUsed<T>(MAX_ROWS);
  readonly #lookups = { hits: 0, misses: 0 };
  #stateNumber: number | undefined;

  /** @param reads of the connection that looks up */
  constructor(reads: DatabaseState) {
    this.#reads = reads;
  }

  get use(): CacheUse {
    return { ...this.#lookups, size: this.#rows.size };
  }

  get(name: string): T | undefined {
    this.#followState();
    const row = this.#rows.get(name);
    this.#lookups[row === undefined ? 'misses' : 'hits'] += 1;
    return row;
  }

  /** @returns the same row, frozen */
  add(name: string, row: T): T {
    this.#followState();
    this.#rows.set(name, frozen(row));
    return row;
  }

  clear(): void {
    this.#rows.clear();
  }

  #followState(): void {
    const { stateNumber } = this.#reads;
    if (stateNumber === this.#stateNumber) return;
    this.#rows.clear();
    this.#stateNumber = stateNumber;
  }
}

/** Freezes plain data deeply. @returns the same object */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
