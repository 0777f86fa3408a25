import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The measured program has one core for itself, and the generator has the other. */
export const SERVER_CORE = 0;
export const GENERATOR_CORE = 1;
/** For a program with two processes. With only two cores it shares the generator's. */
export const WORKER_CORES = [SERVER_CORE, availableParallelism() > 2 ? 2 : GENERATOR_CORE] as const;

/** Whether processes can be pinned to a core here. If not, the report says so. */
export const CAN_PIN =
  process.platform === 'linux' &&
  availableParallelism() >= 2 &&
  spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0;

/**
 * A command that runs another one on some cores. `taskset` replaces itself with that command, so the process stays the
 * same.
 */
export function pinned(cores: number | readonly number[], command: readonly string[]): readonly string[] {
  return CAN_PIN ? ['taskset', '--cpu-list', String(cores), ...command] : command;
}
