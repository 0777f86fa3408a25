import type { Table } from './recently_used.ts';

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
