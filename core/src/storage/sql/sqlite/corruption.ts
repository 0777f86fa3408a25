/** Result codes that say that the file's content is damaged, whatever extends them: SQLITE_CORRUPT, SQLITE_NOTADB. */
const DAMAGED = [11, 26];

/** Deno gives no codes, so there the text says it (`sqlite3_errstr`). */
const DAMAGED_TEXTS = ['database disk image is malformed', 'file is not a database'];

/**
 * Whether a file was found corrupt. One damaged page says nothing about the others: a lookup that meets none of them
 * may miss a row. So after the first error of this kind nothing is read or written any more.
 */
export class Corruption {
  readonly #onFound: (error: Error) => void;
  #found: Error | undefined;

  /** @param onFound called once, with SQLite's error */
  constructor(onFound: (error: Error) => void = () => {}) {
    this.#onFound = onFound;
  }

  /** @throws Error if the file was found corrupt */
  requireNone(): void {
    if (this.#found !== undefined)
      throw new Error(`the database file is corrupt: ${this.#found.message}`, { cause: this.#found });
  }

  /** @param error of a statement on the file */
  learn(error: unknown): void {
    if (this.#found !== undefined || !(error instanceof Error) || !isDamage(error)) return;
    this.#found = error;
    this.#onFound(error);
  }
}

function isDamage(error: Error): boolean {
  return 'errcode' in error
    ? DAMAGED.includes(Number(error.errcode) % 256)
    : DAMAGED_TEXTS.includes(error.message);
}
