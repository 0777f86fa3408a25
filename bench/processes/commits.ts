import { closeSync, openSync, readSync } from 'node:fs';

/**
 * The position of the transaction counter in the index of a write-ahead log (`iChange` in SQLite's WAL-index header).
 */
const COUNTER_AT = 8;
const COUNTER_BYTES = 4;

/**
 * Starts counting the commits of all processes to an SQLite database in WAL mode.
 * @returns the number since then; `undefined` if no process has it open
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
    return undefined; // another journal mode, or no process has it open
  }
  try {
    const bytes = new Uint32Array(1);
    return readSync(file, bytes, 0, COUNTER_BYTES, COUNTER_AT) === COUNTER_BYTES ? bytes[0] : undefined;
  } finally {
    closeSync(file);
  }
}
