import { statSync } from 'node:fs';

/**
 * The files of a database as they were opened: the database itself, and its log, in which commits are until they are
 * moved over. Only asks about them: whoever opens and closes one of them in the same process takes SQLite's locks away.
 */
export class StoredFile {
  readonly #opened: ReadonlyMap<string, string>;

  /** @param path of a database that is open in this process */
  constructor(path: string) {
    const found = [path, `${path}-wal`].map((one) => [one, identityOf(one)] as const);
    this.#opened = new Map(
      found.filter((entry): entry is readonly [string, string] => entry[1] !== undefined),
    );
  }

  /**
   * Whether the paths still lead to the files that are open.
   * @throws {Error} nobody can tell at the moment
   */
  isInPlace(): boolean {
    return [...this.#opened].every(([path, identity]) => identityOf(path) === identity);
  }
}

/**
 * @returns `undefined` where there is no such file
 * @throws {Error} nobody can tell at the moment
 */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
