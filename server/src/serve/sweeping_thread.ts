/** The thread of `sweepInThread`: sweeps once with its own database handle. Any message stops it early. */
import { parentPort, workerData } from 'node:worker_threads';
import { checkAfterCrash, sqliteDatabase } from '../data/sqlite_database.ts';
import { type Sweep, sweepable, sweepOnce } from './sweeper.ts';

export interface SweepingOrder {
  /** The database file. */
  readonly path: string;
  readonly issuer: string;
  /** Whether to check the file first, because the previous process crashed. */
  readonly checksFirst: boolean;
}

/** A message for the program’s log. */
export type SweepingMessage =
  | { readonly level: 'info' | 'error'; readonly line: object }
  | { readonly level: 'swept'; readonly line: Sweep };

if (parentPort === null) throw new Error('sweeping_thread.ts runs as a thread');
const port = parentPort;
const { path, issuer, checksFirst }: SweepingOrder = workerData;
const ending = new AbortController();
port.once('message', () => ending.abort());

const send = (line: SweepingMessage) => port.postMessage(line);
const log = {
  info: (line: object) => send({ level: 'info', line }),
  error: (line: object) => send({ level: 'error', line }),
  swept: (line: Sweep) => send({ level: 'swept', line }),
};
const database = sqliteDatabase(path);
try {
  if (checksFirst) checkAfterCrash(path);
  const { storage, sweepProgram } = await database.open(issuer);
  await sweepOnce(sweepable(storage, sweepProgram), log, ending.signal);
} finally {
  await database.close();
  port.close();
}
