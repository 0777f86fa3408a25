import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { PostgresInstallation } from './postgres_installation.ts';

/** Without the PG… variables of the environment. */
export const ENVIRONMENT: NodeJS.ProcessEnv = { PATH: process.env.PATH, LC_ALL: 'C' };

/**
 * Runs a program as the servers' account.
 * @throws with its error output, or after 60 seconds
 */
export async function runProgram(
  { account }: PostgresInstallation,
  program: string,
  args: readonly string[],
): Promise<void> {
  const child = spawn(program, args, {
    ...account,
    cwd: '/',
    env: ENVIRONMENT,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 60_000,
  });
  const [complaint, [status, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  if (status !== 0) throw new Error(`${program} ended with ${status ?? signal}: ${complaint}`);
}
