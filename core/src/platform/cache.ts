// Bounded caches, and counters of requests, with text keys.
import { type Clock, type RandomSource, systemRandom } from './environment.ts';

/** The part of `Map` that `RecentlyUsed` needs. `PackedTable` takes less memory. */
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

/** Converts the values of a `PackedTable` to texts and back. No text is empty, and none contains a line feed. */
export interface Packing<T> {
  /** @returns `undefined` if the table must not keep the value */
  pack(value: T): string | undefined;
  unpack(text: string, key: string): T;
}

/** Initial number of slots; a power of two. */
const INITIAL_SLOTS = 64;

/** The operating system provides memory only for the part of a block that is used. */
const BLOCK_BYTES = 1024 * 1024;

/** Entries begin at multiples of this many bytes, so that 32 bits can address 16 GiB. */
const ALIGNMENT = 4;

/** Maximum characters of an entry. Each takes at most three bytes in UTF-8. */
const MAX_CHARACTERS = 10_000;

const LINE_FEED = 10;

/** The last characters of a key decide its slot. */
const HASHED_CHARACTERS = 8;

const NO_BYTES = new Uint8Array();

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * A hash table that keeps its entries as bytes outside of the engine's heap. They take less memory than objects, and
 * garbage collections do not visit them. Each lookup creates the value anew.
 *
 * Keys are ASCII and end in random characters, such as digests and identifiers of tokens. Keys with the same ending
 * would all fall into one chain (ADR 112).
 */
export class PackedTable<T> implements Table<T> {
  readonly #packing: Packing<T>;
  /** For each slot the number of its entry. 0 means that the slot is free. */
  #slots = new Uint32Array(INITIAL_SLOTS);
  /** An entry is its key, a line feed, its text and a line feed. */
  readonly #blocks: Uint8Array[] = [];
  /** Bytes of the last block that are in use. */
  #used = BLOCK_BYTES;
  #size = 0;

  constructor(packing: Packing<T>) {
    this.#packing = packing;
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): T | undefined {
    const entry = this.#slots[this.#slotOf(key)];
    const text = entry ? this.#lineAt(entry * ALIGNMENT + key.length + 1) : '';
    return text === '' ? undefined : this.#packing.unpack(text, key);
  }

  set(key: string, value: T): void {
    const text = this.#packing.pack(value);
    if (text === undefined || key.length + text.length > MAX_CHARACTERS || !isAscii(key)) {
      this.delete(key);
      return;
    }
    const slot = this.#slotOf(key);
    const isNew = this.#slots[slot] === 0;
    this.#slots[slot] = this.#append(`${key}\n${text}\n`);
    if (!isNew) return;
    this.#size += 1;
    if (this.#size * 2 > this.#slots.length) this.#grow();
  }

  /** Empties the text, but keeps the slot taken, so that lookups of later keys still pass through it. */
  delete(key: string): void {
    const entry = this.#slots[this.#slotOf(key)];
    if (!entry) return;
    const at = entry * ALIGNMENT + key.length + 1;
    const block = this.#blocks[Math.floor(at / BLOCK_BYTES)];
    if (block !== undefined) block[at % BLOCK_BYTES] = LINE_FEED;
  }

  /** @returns the number of the entry: the place at which it begins, divided by `ALIGNMENT` */
  #append(lines: string): number {
    if (this.#used + 3 * lines.length > BLOCK_BYTES) {
      this.#blocks.push(new Uint8Array(BLOCK_BYTES));
      // No entry has the number 0.
      this.#used = ALIGNMENT;
    }
    const block = this.#blocks.length - 1;
    const entry = (block * BLOCK_BYTES + this.#used) / ALIGNMENT;
    const { written = 0 } = ENCODER.encodeInto(lines, this.#blocks[block]?.subarray(this.#used) ?? NO_BYTES);
    this.#used += Math.ceil(written / ALIGNMENT) * ALIGNMENT;
    return entry;
  }

  /** Returns the slot that holds the key, or the first free one. At least half of all slots are free. */
  #slotOf(key: string): number {
    const last = this.#slots.length - 1;
    for (let slot = hashOf(key) & last; ; slot = (slot + 1) & last) {
      const entry = this.#slots[slot];
      if (!entry || this.#isKeyAt(entry * ALIGNMENT, key)) return slot;
    }
  }

  /** Compares from the end, which is random. To decode the key takes longer. */
  #isKeyAt(place: number, key: string): boolean {
    const block = this.#blocks[Math.floor(place / BLOCK_BYTES)] ?? NO_BYTES;
    const begin = place % BLOCK_BYTES;
    let at = key.length - 1;
    while (at >= 0 && block[begin + at] === key.charCodeAt(at)) at -= 1;
    return at < 0 && block[begin + key.length] === LINE_FEED;
  }

  /** @param place a byte, counted through all blocks */
  #lineAt(place: number): string {
    const block = this.#blocks[Math.floor(place / BLOCK_BYTES)] ?? NO_BYTES;
    const begin = place % BLOCK_BYTES;
    return DECODER.decode(block.subarray(begin, block.indexOf(LINE_FEED, begin)));
  }

  #grow(): void {
    const entries = this.#slots;
    this.#slots = new Uint32Array(entries.length * 2);
    for (const entry of entries)
      if (entry > 0) this.#slots[this.#slotOf(this.#lineAt(entry * ALIGNMENT))] = entry;
  }
}

/** Whether a key has as many bytes as characters, and no line feed. */
function isAscii(key: string): boolean {
  return /^[\x20-\x7e]*$/.test(key);
}

/** FNV-1a of the last characters. Folds the upper bits in, which are mixed better. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5 ^ text.length;
  for (let at = Math.max(0, text.length - HASHED_CHARACTERS); at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
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

const WINDOW_MS = 60_000;

const ROWS = 4;

/** Counters in each row: a power of two. All rows together take 128 KiB. */
const WIDTH = 8192;

/**
 * Limits how often something may happen in a minute, for each key, such as `addressUnit` of an address.
 *
 * It counts in a fixed number of counters. A key has a counter in each row, which other keys may share, and its
 * count is the smallest of them. Nothing is evicted, so a sender with many keys cannot make the server forget a count.
 * @example
 * const rate = new RequestRate(1000);
 * const wait = rate.take(addressUnit(request.socket.remoteAddress ?? ''));
 * if (wait > 0) return response.writeHead(429, { 'retry-after': String(wait) }).end();
 */
export class RequestRate {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  /** Secret, so that no one can choose keys that share their counters with a key of someone else. */
  #seeds: Uint32Array | undefined;
  readonly #counts = new Uint32Array(ROWS * WIDTH);
  #endsAtMs = 0;

  /** @param most times in a minute; 0: no limit */
  constructor(most: number, clock: Clock = Date.now, random: RandomSource = systemRandom()) {
    this.#most = most;
    this.#clock = clock;
    this.#random = random;
  }

  /** Counts one more, unless the limit is reached. @returns seconds to wait; 0 to go on */
  take(key: string): number {
    const wait = this.secondsToWait(key);
    if (wait === 0) this.note(key);
    return wait;
  }

  /** @returns seconds to wait; 0 to go on */
  secondsToWait(key: string): number {
    if (this.#most === 0) return 0;
    const nowMs = this.#clock();
    // A clock that was set back must not make a window longer.
    if (nowMs >= this.#endsAtMs || nowMs < this.#endsAtMs - WINDOW_MS) {
      this.#counts.fill(0);
      this.#endsAtMs = nowMs + WINDOW_MS;
    }
    if (this.#countAt(this.#countersOf(key)) < this.#most) return 0;
    return Math.ceil((this.#endsAtMs - nowMs) / 1000);
  }

  /** Counts one more. */
  note(key: string): void {
    const counters = this.#countersOf(key);
    const count = this.#countAt(counters) + 1;
    // Larger counters include other keys already.
    for (const counter of counters) this.#counts[counter] = Math.max(this.#counts[counter] ?? 0, count);
  }

  #countAt(counters: readonly number[]): number {
    return Math.min(...counters.map((counter) => this.#counts[counter] ?? 0));
  }

  #countersOf(key: string): readonly number[] {
    // Some runtimes have no random values while modules load.
    this.#seeds ??= new Uint32Array(Uint8Array.from(this.#random(ROWS * 4)).buffer);
    return Array.from(this.#seeds, (seed, row) => row * WIDTH + (hash(key, seed) & (WIDTH - 1)));
  }
}

/** A fast hash with a seed, after MurmurHash3. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let at = 0; at < text.length; at++) {
    const part = Math.imul(text.charCodeAt(at), 0xcc9e2d51);
    value ^= Math.imul((part << 15) | (part >>> 17), 0x1b873593);
    value = (Math.imul((value << 13) | (value >>> 19), 5) + 0xe6546b64) | 0;
  }
  value ^= value >>> 16;
  value = Math.imul(value, 0x85ebca6b);
  value ^= value >>> 13;
  value = Math.imul(value, 0xc2b2ae35);
  return value ^ (value >>> 16);
}
