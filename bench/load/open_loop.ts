import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { GENERATOR_CORE, pinned } from '../processes/pinning.ts';
import type { Answer } from './generator.ts';

const PROGRAM = join(import.meta.dirname, 'open_loop_process.ts');

/** Threads that collect garbage would take its core from it. */
const FLAGS = ['--single-threaded-gc'];

/** Arrivals at a fixed rate, evenly spaced, independent of the server. */
export interface OpenLoopOrder {
  readonly address: string;
  /** A file of requests that are repeated in order. */
  readonly reads: string;
  /** A file of requests that are sent once, one for `writeEvery` arrivals. */
  readonly writes: string;
  readonly writeEvery: number;
  /** The number of writes to skip because they were sent before. */
  readonly fromWrite: number;
  readonly answers: readonly Answer[];
  /** If all of them wait for responses, arrivals wait for a connection, which counts. */
  readonly connections: number;
  /** Arrivals per second. */
  readonly rate: number;
  /** Seconds before the measurement, at the same rate. */
  readonly warmUpSeconds: number;
  /** Maximum of the measurement. SIGTERM ends it earlier. */
  readonly seconds: number;
}

/** Milliseconds. */
export interface TailLatency {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface OpenLoopResult {
  readonly rate: number;
  /** Arrivals of the measurement. All were answered, unless there were errors. */
  readonly arrivals: number;
  /** Writes including those of the warm-up. */
  readonly writes: number;
  readonly wrong: number;
  /** The first wrong response, without anything that may be a token. */
  readonly firstWrong?: string;
  /** Connections that failed, and missing responses. */
  readonly errors: number;
  readonly seconds: number;
  /** From the time at which a request should have been sent to its response. */
  readonly latencyMs: TailLatency;
  /** How much later than that the generator came to send it, or found no free connection. */
  readonly lagMs: TailLatency;
}

/** Latencies of interest. */
const OF_INTEREST = { p99: 5, p999: 15 } as const;
/** The share of a latency that may be the generator's own delay. */
const PART_OF_LATENCY = 0.1;

/**
 * Whether the generator sent as it should have. Its own delays are part of the latencies, so they must be small beside
 * the measured ones, or beside those of interest.
 */
export function keptItsRate({ latencyMs, lagMs }: Pick<OpenLoopResult, 'latencyMs' | 'lagMs'>): boolean {
  const isSmall = (share: 'p99' | 'p999') =>
    lagMs[share] <= PART_OF_LATENCY * Math.max(OF_INTEREST[share], latencyMs[share]);
  return isSmall('p99') && isSmall('p999');
}

/**
 * Runs in a process of its own, on the generator's core, which it keeps busy: a timer is too coarse.
 * @param signal ends the measurement early
 * @throws Error if a response was wrong or missing, or the writes ran out
 */
export async function runOpenLoop(order: OpenLoopOrder, signal?: AbortSignal): Promise<OpenLoopResult> {
  const [command = '', ...args] = pinned(GENERATOR_CORE, [
    process.execPath,
    ...FLAGS,
    PROGRAM,
    JSON.stringify(order),
  ]);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  const end = () => child.kill('SIGTERM');
  process.once('exit', kill);
  signal?.addEventListener('abort', end, { once: true });
  try {
    const exited = once(child, 'exit');
    const [output, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [status] = await exited;
    if (status !== 0) throw new Error(`the generator failed: ${complaints}`);
    const result = JSON.parse(output) as OpenLoopResult;
    const { wrong, firstWrong, errors } = result;
    if (wrong > 0) throw new Error(`${wrong} answers were wrong, first: ${firstWrong}`);
    if (errors > 0) throw new Error(`${errors} requests were not answered`);
    return result;
  } finally {
    process.off('exit', kill);
    signal?.removeEventListener('abort', end);
  }
}
