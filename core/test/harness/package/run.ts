import { spawnSync } from 'node:child_process';

/** A program that takes longer hangs. */
const LONGEST_RUN_MS = 120_000;

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program. */
export function run(command: string, args: readonly string[], folder: string): Ended {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: LONGEST_RUN_MS,
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  if (error !== undefined) throw error;
  return { status, stdout, stderr };
}

/**
 * Runs a program that must succeed.
 * @returns its standard output
 * @throws Error with all of its output
 */
export function output(command: string, args: readonly string[], folder: string): string {
  const { status, stdout, stderr } = run(command, args, folder);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}
