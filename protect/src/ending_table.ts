// What has ended, in little memory.

/** Slots at first; a power of two. */
const FEWEST_SLOTS = 64;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const VALUES = new Map([...ALPHABET].map((character, value) => [character, value]));

/**
 * Reads a key of the feed: 48 bits in base64url.
 * @returns `undefined` if it is none
 */
export function keyNumber(key: string): number | undefined {
  if (!/^[\w-]{8}$/.test(key)) return undefined;
  let number = 0;
  for (const character of key) number = number * 64 + (VALUES.get(character) ?? 0);
  return number;
}

/**
 * Holds for each key when it ended last: a number that only grows. A hash table of 20 bytes for each slot, at most 58 for
 * each key.
 */
export class EndingTable {
  /** 0 is a free slot. The key 0 counts as 1: that two keys meet does no harm. */
  #keys = new Float64Array(FEWEST_SLOTS);
  #positions = new Float64Array(FEWEST_SLOTS);
  /** Seconds until which the key is needed. */
  #until = new Uint32Array(FEWEST_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Bytes that the table takes. */
  get bytes(): number {
    return this.#keys.byteLength + this.#positions.byteLength + this.#until.byteLength;
  }

  /** @returns 0 if the key has not ended */
  positionOf(key: number): number {
    const slot = this.#slotOf(key);
    return this.#keys[slot] === 0 ? 0 : (this.#positions[slot] ?? 0);
  }

  set(key: number, position: number, untilSeconds: number): void {
    // Linear probing stays short up to a load of 0.7.
    if ((this.#size + 1) * 10 > this.#keys.length * 7) this.#resize(this.#keys.length * 2);
    const slot = this.#slotOf(key);
    if (this.#keys[slot] === 0) this.#size += 1;
    this.#keys[slot] = key || 1;
    // A stream may begin with what another one has told already.
    this.#positions[slot] = Math.max(position, this.#positions[slot] ?? 0);
    this.#until[slot] = untilSeconds;
  }

  /** Forgets what is no longer needed. */
  forget(nowSeconds: number): void {
    let kept = 0;
    for (let slot = 0; slot < this.#keys.length; slot++)
      if (this.#keys[slot] !== 0 && (this.#until[slot] ?? 0) > nowSeconds) kept += 1;
    if (kept === this.#size) return;
    let slots = FEWEST_SLOTS;
    while (kept * 10 > slots * 7) slots *= 2;
    this.#resize(slots, nowSeconds);
  }

  clear(): void {
    this.#size = 0;
    this.#resize(FEWEST_SLOTS, Infinity);
  }

  #slotOf(key: number): number {
    const wanted = key || 1;
    const mask = this.#keys.length - 1;
    // A key is a part of a digest, so its low bits are random.
    let slot = wanted & mask;
    while (this.#keys[slot] !== 0 && this.#keys[slot] !== wanted) slot = (slot + 1) & mask;
    return slot;
  }

  #resize(slots: number, nowSeconds = -1): void {
    const [keys, positions, until] = [this.#keys, this.#positions, this.#until];
    this.#keys = new Float64Array(slots);
    this.#positions = new Float64Array(slots);
    this.#until = new Uint32Array(slots);
    this.#size = 0;
    for (let from = 0; from < keys.length; from++) {
      const key = keys[from] ?? 0;
      if (key === 0 || (until[from] ?? 0) <= nowSeconds) continue;
      const slot = this.#slotOf(key);
      this.#keys[slot] = key;
      this.#positions[slot] = positions[from] ?? 0;
      this.#until[slot] = until[from] ?? 0;
      this.#size += 1;
    }
  }
}
