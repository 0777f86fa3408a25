/** The thread of `sweepInThread`: sweeps, checks or counts once with its own database handle. Any message stops a sweep early. */
import { parentPort, workerData } from 'node:worker_threads';
import type { AliveCount, AliveTokens, RevocationTarget } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import type { SweepingBounds } from '../data/program_data.ts';
import { checkAfterCrash, sqliteDatabase } from '../data/sqlite_database.ts';
import { actingAs } from '../data/tables.ts';
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

export interface CountingOrder {
  /** The database file. */
  readonly path: string;
  readonly issuer: string;
  /** What to count the live tokens of, or a client whose live tokens to read. */
  readonly alive: RevocationTarget | { readonly clientId: string; readonly most: number };
}

/** A message for the program’s log, or what was counted. */
export type SweepingMessage =
  | { readonly level: 'info' | 'error'; readonly line: object }
  | { readonly level: 'swept'; readonly line: Sweep }
  | { readonly level: 'counted'; readonly line: AliveCount | AliveTokens };

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
const order: SweepingOrder | CheckingOrder | CountingOrder = workerData;
const ending = new AbortController();
port.once('message', () => ending.abort());

const send = (line: SweepingMessage) => port.postMessage(line);
const log = {
  info: (line: object) => send({ level: 'info', line }),
  error: (line: object) => send({ level: 'error', line }),
  swept: (line: Sweep) => send({ level: 'swept', line }),
};
if ('isChecked' in order) checkAfterCrash(order.path);
else if ('alive' in order) send({ level: 'counted', line: await count(order) });
else await sweep(order);
port.close();

async function sweep({ path, issuer, ...bounds }: SweepingOrder): Promise<void> {
  const database = sqliteDatabase(path, { checkpointPages: CHECKPOINT_PAGES });
  try {
    // A client that is removed has not removed its registration itself.
    const { storage, sweepProgram } = actingAs('server', await database.open(issuer));
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

async function count({ path, issuer, alive }: CountingOrder): Promise<AliveCount | AliveTokens> {
  const storage = openSqliteStorage({ path, issuer });
  try {
    return await ('clientId' in alive
      ? storage.aliveOfClient(alive.clientId, alive.most)
      : storage.countAlive(alive));
  } finally {
    await storage.close();
  }
}
