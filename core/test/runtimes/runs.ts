import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Outcome } from './inside/node_test.ts';

const LONGEST_RUN_MS = 120_000;
const LAST_LINE = 'outcomes: ';

/** What a bundle does at its end, where output can be written: it runs all, and prints what came of it. */
export const RUN_ALL = `await declareAll();
console.log(${JSON.stringify(LAST_LINE)} + JSON.stringify(await runDeclared()));`;

/** What came of each test of a bundle whose end is `RUN_ALL`. */
export async function outcomesOf(
  command: string,
  args: readonly string[],
  folder: string,
): Promise<readonly Outcome[]> {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  const run = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: LONGEST_RUN_MS });
  const [output, complaints, [status]] = await Promise.all([
    text(run.stdout),
    text(run.stderr),
    once(run, 'exit'),
  ]);
  const last = output.split('\n').find((line) => line.startsWith(LAST_LINE));
  if (status !== 0 || last === undefined) {
    throw new Error(`${command} ended with ${status}:\n${complaints.slice(-4000)}\n${output.slice(-4000)}`);
  }
  return JSON.parse(last.slice(LAST_LINE.length));
}
