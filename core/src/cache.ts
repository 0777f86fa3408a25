/** What things are remembered in under texts: a `Map`, or something quicker for texts of a certain kind. */
interface Table<T> {
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

/** Before the table grows for the first time; a power of two. */
const FEWEST_PLACES = 64;

/** How many of a text's last characters decide its place. */
const HASHED_CHARACTERS = 8;

/**
 * Values under texts whose last characters are random, digests and identifiers of tokens. A `Map` looks each text up in
 * the engine's table of all strings first, which costs more than the rest once there are many of them. Texts that end
 * alike would all be looked for one after another.
 */
export class TextTable<T> implements Table<T> {
  #names: (string | undefined)[] = places(FEWEST_PLACES);
  #values: (T | undefined)[] = places(FEWEST_PLACES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(name: string): T | undefined {
    return this.#values[this.#placeOf(name)];
  }

  set(name: string, value: T): void {
    const place = this.#placeOf(name);
    this.#values[place] = value;
    if (this.#names[place] !== undefined) return;
    this.#names[place] = name;
    this.#size += 1;
    if (this.#size * 2 > this.#names.length) this.#grow();
  }

  /** Its place stays taken. */
  delete(name: string): void {
    this.#values[this.#placeOf(name)] = undefined;
  }

  /** Where a text is, or would be: the first place from its own on that is its or free. At least half of all are free. */
  #placeOf(name: string): number {
    const last = this.#names.length - 1;
    let place = hashOf(name) & last;
    for (let taken = this.#names[place]; taken !== undefined && taken !== name; taken = this.#names[place])
      place = (place + 1) & last;
    return place;
  }

  #grow(): void {
    const [names, values] = [this.#names, this.#values];
    this.#names = places(names.length * 2);
    this.#values = places(names.length * 2);
    names.forEach((name, from) => {
      if (name === undefined) return;
      const place = this.#placeOf(name);
      this.#names[place] = name;
      this.#values[place] = values[from];
    });
  }
}

function places(count: number): undefined[] {
  return new Array<undefined>(count).fill(undefined);
}

/** FNV-1a of the last characters; its upper bits are the better ones. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5 ^ text.length;
  for (let at = Math.max(0, text.length - HASHED_CHARACTERS); at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}

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

/** Plain data, which nobody can change from now on, nor anything in it. @returns the same object */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
