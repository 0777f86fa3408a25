import { extname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { causeOf } from '../log/log.ts';
import type { SweepLog } from './sweeper.ts';
import type { SweepingLine, SweepingOrder } from './sweeping_thread.ts';

/** This file's own ending: the program runs as it is, and compiled. */
const PROGRAM = new URL(`sweeping_thread${extname(import.meta.filename)}`, import.meta.url);

/** Of the young generation of a thread's heap; by default it may become as large as that of the server. */
const YOUNG_GENERATION_MB = 4;

/**
 * Sweeps an SQLite file now and then until it is told to stop. A thread does it, since SQLite does its work at once:
 * on the thread that serves, every request would wait for each batch, and for the checkpoints that follow.
 * Each time is another thread: one that waits takes 30 MB of memory, and to start it a tenth of a second.
 */
export async function sweepInThread(
  { intervalSeconds, checksFirst, ...files }: SweepingOrder & { readonly intervalSeconds: number },
  log: SweepLog,
  signal: AbortSignal,
): Promise<void> {
  for (let order = { ...files, checksFirst }; !signal.aborted; order = { ...files, checksFirst: false }) {
    try {
      await runThread(order, log, signal);
    } catch (error) {
      log.error({ event: 'sweep_failed', cause: causeOf(error) });
    }
    // Rejects only where it is told to stop.
    await pause(intervalSeconds * 1000, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

function runThread(order: SweepingOrder, log: SweepLog, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const thread = new Worker(PROGRAM, {
    workerData: order,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  const end = () => thread.postMessage('end');
  thread.on('message', ({ level, line }: SweepingLine) => log[level](line));
  thread.on('error', reject);
  thread.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the thread ended with ${code}`))));
  signal.addEventListener('abort', end, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', end));
}
