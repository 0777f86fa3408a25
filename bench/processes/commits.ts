import { closeSync, openSync, readSync } from 'node:fs';

/** Where the index of a write-ahead log counts transactions (`iChange` in SQLite's WAL-index header). */
const COUNTER_AT = 8;
const COUNTER_BYTES = 4;

/**
 * Begins to count the commits to an SQLite database in WAL mode, whoever makes them.
 * @returns how many there were since; `undefined` where nobody has it open
 */
export function countCommits(database: string): () => number | undefined {
  const before = counter(database);
  return () => {
    const after = counter(database);
    return before === undefined || after === undefined ? undefined : (after - before) >>> 0;
  };
}

/** Modulo 2^32. */
function counter(database: string): number | undefined {
  let file: number;
  try {
    file = openSync(`${database}-shm`, 'r');
  } catch {
    return undefined; // another journal, or nobody has it open
  }
  try {
    const bytes = new Uint32Array(1);
    return readSync(file, bytes, 0, COUNTER_BYTES, COUNTER_AT) === COUNTER_BYTES ? bytes[0] : undefined;
  } finally {
    closeSync(file);
  }
}
