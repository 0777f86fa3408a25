import { extname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { AdministrableStorage } from '@grantd/core';
import type { Database } from '../data/database.ts';
import type { DeletionLimitMs } from '../data/deletion_limit.ts';
import { causeOf } from '../log/logged_error.ts';
import type { SweepLog } from './sweeper.ts';
import type { CheckingOrder, CountingOrder, SweepingMessage, SweepingOrder } from './sweeping_thread.ts';

/** Has this file’s extension, because the program runs both from source and compiled. */
const PROGRAM = new URL(`sweeping_thread${extname(import.meta.filename)}`, import.meta.url);

/** Limits the young generation of the thread’s heap, which could otherwise grow as large as the server’s. */
const YOUNG_GENERATION_MB = 4;

/**
 * Sweeps an SQLite file periodically until the signal. SQLite is synchronous, so on the serving thread every request
 * would wait for each batch and checkpoint. Each sweep gets a new thread: an idle thread costs 30 MB of memory, and
 * starting one takes only 0.1 s.
 */
export async function sweepInThread(
  {
    intervalSeconds,
    deletionLimitMs,
    ...files
  }: Omit<SweepingOrder, 'untilMs'> & {
    readonly intervalSeconds: number;
    /** Asked before each sweep. */
    readonly deletionLimitMs: () => DeletionLimitMs;
  },
  log: SweepLog,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await runThread({ ...files, untilMs: deletionLimitMs() }, logging(log), signal);
    } catch (error) {
      log.error({ event: 'sweep_failed', cause: causeOf(error) });
    }
    // Rejects only when aborted.
    await pause(intervalSeconds * 1000, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Checks an SQLite file after a crash, and marks it if it is damaged, while this thread answers 503. */
export function checkInThread(path: string, log: SweepLog): Promise<void> {
  return runThread({ path, isChecked: true }, logging(log));
}

/**
 * A database whose live tokens are counted in a thread, if it is an SQLite file: counting reads all rows that have not
 * expired, and on the serving thread every request would wait. One thread counts at a time.
 */
export function countingInThread(database: Database): Database {
  const { file: path } = database;
  if (path === undefined) return database;
  let last: Promise<unknown> = Promise.resolve();
  return {
    ...database,
    async open(issuer, actor) {
      const open = await database.open(issuer, actor);
      const count = async <T>(alive: CountingOrder['alive']): Promise<T> => {
        const counted = last.then(() => countOnce({ path, issuer, alive }) as Promise<T>);
        last = counted.catch(() => undefined);
        return counted;
      };
      const counts: Pick<AdministrableStorage, 'countAlive' | 'aliveOfClient'> = {
        countAlive: (target) => count(target),
        aliveOfClient: (clientId, most) => count({ clientId, most }),
      };
      return { ...open, storage: { ...open.storage, ...counts } };
    },
  };
}

async function countOnce(order: CountingOrder): Promise<unknown> {
  let counted: unknown;
  await runThread(order, ({ line }) => {
    counted = line;
  });
  return counted;
}

function runThread(
  order: SweepingOrder | CheckingOrder | CountingOrder,
  take: (message: SweepingMessage) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const thread = new Worker(PROGRAM, {
    workerData: order,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  const end = () => thread.postMessage('end');
  thread.on('message', take);
  thread.on('error', reject);
  thread.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the thread ended with ${code}`))));
  signal?.addEventListener('abort', end, { once: true });
  return promise.finally(() => signal?.removeEventListener('abort', end));
}

function logging(log: SweepLog): (message: SweepingMessage) => void {
  return (message) => {
    if (message.level === 'swept') log.swept?.(message.line);
    else if (message.level !== 'counted') log[message.level](message.line);
  };
}
