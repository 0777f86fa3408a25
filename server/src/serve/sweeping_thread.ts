/** The thread of `sweepInThread`: sweeps or checks once with its own database handle. Any message stops a sweep early. */
import { parentPort, workerData } from 'node:worker_threads';
import type { SweepingBounds } from '../data/program_data.ts';
import { checkAfterCrash, sqliteDatabase } from '../data/sqlite_database.ts';
import { type Sweep, sweepable, sweepOnce } from './sweeper.ts';

export interface SweepingOrder extends SweepingBounds {
  /** The database file. */
  readonly path: string;
  readonly issuer: string;
}

export interface CheckingOrder {
  /** The database file. */
  readonly path: string;
  readonly isChecked: true;
}

/** A message for the program’s log. */
export type SweepingMessage =
  | { readonly level: 'info' | 'error'; readonly line: object }
  | { readonly level: 'swept'; readonly line: Sweep };

/**
 * Small steps, because requests that write wait for each: with 200 rows, every hundredth request took 30 ms instead of
 * 4 in one measurement (bench/IDEAS.md).
 */
const STEPS = { limit: 25, pauseMs: 5 } as const;

/**
 * Fewer than in the server's handle: this thread does nearly all checkpoints while it sweeps, and the server's thread
 * does not stop for them.
 */
const CHECKPOINT_PAGES = 100;

if (parentPort === null) throw new Error('sweeping_thread.ts runs as a thread');
const port = parentPort;
const order: SweepingOrder | CheckingOrder = workerData;
const ending = new AbortController();
port.once('message', () => ending.abort());

const send = (line: SweepingMessage) => port.postMessage(line);
const log = {
  info: (line: object) => send({ level: 'info', line }),
  error: (line: object) => send({ level: 'error', line }),
  swept: (line: Sweep) => send({ level: 'swept', line }),
};
if ('isChecked' in order) checkAfterCrash(order.path);
else await sweep(order);
port.close();

async function sweep({ path, issuer, ...bounds }: SweepingOrder): Promise<void> {
  const database = sqliteDatabase(path, { checkpointPages: CHECKPOINT_PAGES });
  try {
    const { storage, sweepProgram } = await database.open(issuer);
    await sweepOnce(
      sweepable(storage, sweepProgram, () => bounds),
      log,
      ending.signal,
      STEPS,
    );
  } finally {
    await database.close();
  }
}
