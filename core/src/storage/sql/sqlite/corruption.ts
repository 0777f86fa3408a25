import type { DatabaseSync } from 'node:sqlite';
import { requireSameVersion } from './connection.ts';

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

  get isFound(): boolean {
    return this.#found !== undefined;
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

/** What a queue checks before it reads or writes. */
export interface FileChecks {
  /** Of the file, shared by everything that reads and writes it. */
  readonly corruption?: Corruption;
  /** Throws once a newer program has migrated the file; called inside a transaction. */
  readonly requireSameSchema?: () => void;
}

export function fileChecks(
  database: DatabaseSync,
  { corruption = new Corruption(), requireSameSchema = requireSameVersion(database) }: FileChecks,
): Required<FileChecks> {
  return { corruption, requireSameSchema };
}

function isDamage(error: Error): boolean {
  return 'errcode' in error
    ? DAMAGED.includes(Number(error.errcode) % 256)
    : DAMAGED_TEXTS.includes(error.message);
}
