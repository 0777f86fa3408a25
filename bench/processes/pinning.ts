import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** What is measured has one core for itself; who asks has the other. */
export const SERVER_CORE = 0;
export const GENERATOR_CORE = 1;
/** Of a program that runs as two; it shares the generator's where there are but two. */
export const WORKER_CORES = [SERVER_CORE, availableParallelism() > 2 ? 2 : GENERATOR_CORE] as const;

/** Whether processes can be kept to a core here; the report says so where they cannot. */
export const CAN_PIN =
  process.platform === 'linux' &&
  availableParallelism() >= 2 &&
  spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0;

/** The command that runs another one on some cores; `taskset` becomes that command, so the process stays the same. */
export function pinned(cores: number | readonly number[], command: readonly string[]): readonly string[] {
  return CAN_PIN ? ['taskset', '--cpu-list', String(cores), ...command] : command;
}
