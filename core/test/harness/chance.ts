/** The same numbers for the same seed (xorshift). */
export class Chance {
  #state: number;

  /** @param seed not 0 */
  constructor(seed: number) {
    this.#state = seed;
  }

  /** @returns a whole number from 0 that is less than `count` */
  below(count: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % count;
  }

  isOnce(inSoMany: number): boolean {
    return this.below(inSoMany) === 0;
  }

  of<T>(list: readonly [T, ...T[]] | readonly T[]): T {
    const chosen = list[this.below(list.length)];
    if (chosen === undefined) throw new Error('there is nothing to choose from');
    return chosen;
  }

  /** Bytes with 1 to 4 random edits: a changed byte, a length of DER, a cut, a removed or a repeated range. */
  damaged(bytes: Uint8Array): Uint8Array {
    let result = bytes.slice();
    for (let edits = 1 + this.below(4); edits > 0; edits -= 1) {
      const [from, count] = [this.below(result.length + 1), this.below(40)];
      const [before, range, after] = [
        result.slice(0, from),
        result.slice(from, from + count),
        result.slice(from + count),
      ];
      const edit = this.below(5);
      if (edit === 0 && from < result.length) result[from] = this.below(256);
      else if (edit === 1 && from < result.length) result[from] = this.of([0, 0x7f, 0x80, 0x84, 0xff]);
      else if (edit === 2) result = before;
      else if (edit === 3) result = Uint8Array.from([...before, ...after]);
      else result = Uint8Array.from([...before, ...range, ...range, ...after]);
    }
    return result;
  }
}
