import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../core/test/harness/free_port.ts';
import { pinned, SERVER_CORE } from './pinning.ts';

const LONGEST_START_MS = 120_000;
const LONGEST_END_MS = 20_000;
const LAST_WORDS = 4000;

/** A program that answers requests, alone on the server's core. */
export interface MeasuredProcess {
  readonly pid: number;
  /** Base URL. */
  readonly address: string;
  /** Milliseconds from the start of the process until `isReady` was true. */
  readonly startedInMs: number;
  /** Resolves when the process has exited. */
  end(): Promise<void>;
}

export interface ProcessOrder {
  /** Returns the command line for a port. */
  command(port: number): readonly string[];
  /** Default: the server's core only. */
  readonly cores?: readonly number[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Called repeatedly until it returns true. */
  isReady(address: string): Promise<boolean>;
}

/** Running programs, which end with the benchmark, however it ends. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** @throws Error if the program ended or did not respond in time, with its last output */
export async function startMeasured(order: ProcessOrder): Promise<MeasuredProcess> {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const [command = '', ...args] = pinned(order.cores ?? [SERVER_CORE], order.command(port));
  const startedAtMs = performance.now();
  // The log is discarded: emptying a pipe would use a core that is being measured.
  const child = spawn(command, args, {
    env: { ...process.env, NODE_ENV: 'production', ...order.environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  let lastWords = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    lastWords = (lastWords + text).slice(-LAST_WORDS);
  });
  const exited = once(child, 'exit').finally(() => running.delete(child));

  const { pid } = child;
  while (pid === undefined || !(await isReady(order, address))) {
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${args.join(' ')} ended before it answered: ${lastWords}`);
    if (performance.now() - startedAtMs > LONGEST_START_MS) {
      child.kill('SIGKILL');
      throw new Error(`${args.join(' ')} did not answer in ${LONGEST_START_MS} ms: ${lastWords}`);
    }
    await sleep(2);
  }
  return {
    pid,
    address,
    startedInMs: performance.now() - startedAtMs,
    async end() {
      child.kill('SIGTERM');
      const tooLong = setTimeout(() => child.kill('SIGKILL'), LONGEST_END_MS);
      await exited;
      clearTimeout(tooLong);
    },
  };
}

/** The server does not listen yet. Any other failure is final. */
async function isReady(order: ProcessOrder, address: string): Promise<boolean> {
  try {
    return await order.isReady(address);
  } catch (error) {
    if (error instanceof TypeError && error.message === 'fetch failed') return false;
    throw error;
  }
}
