/** What the header of a token said that has verified. */
export interface VerifiedHeader {
  readonly keyId: string;
  readonly type: string | undefined;
}

/**
 * Which exact tokens have verified, by their digest; never whether one is active. Holds the `limit` that were met last,
 * and up to as many of those before them.
 */
export class VerifiedTokens {
  readonly #limit: number;
  #recent = new Map<string, VerifiedHeader>();
  #earlier: ReadonlyMap<string, VerifiedHeader> = new Map();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(digest: string): VerifiedHeader | undefined {
    const recent = this.#recent.get(digest);
    if (recent !== undefined) return recent;
    const earlier = this.#earlier.get(digest);
    if (earlier !== undefined) this.remember(digest, earlier);
    return earlier;
  }

  remember(digest: string, header: VerifiedHeader): void {
    if (this.#recent.size >= this.#limit) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(digest, header);
  }

  clear(): void {
    this.#recent = new Map();
    this.#earlier = new Map();
  }
}
