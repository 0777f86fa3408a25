import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  /** By SIGSTOP. */
  readonly stopped: boolean;
  readonly command: string;
}

/** All visible processes of this machine, without ended ones that wait for their parent. */
export function runningProcesses(): readonly RunningProcess[] {
  return process.platform === 'linux' ? fromProc() : fromPs();
}

/** The process and its children. */
export function familyOf(pid: number): readonly RunningProcess[] {
  return runningProcesses().filter((candidate) => candidate.pid === pid || candidate.parent === pid);
}

/** Sends a signal to those that still run. */
export function signal(processes: readonly { readonly pid: number }[], name: NodeJS.Signals): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if (codeOf(error) !== 'ESRCH') throw error;
    }
  }
}

export async function untilGone(
  processes: readonly { readonly pid: number }[],
  timeoutMs: number,
): Promise<void> {
  const pids = new Set(processes.map(({ pid }) => pid));
  await until(`the end of ${[...pids].join(', ')}`, timeoutMs, () =>
    runningProcesses().every(({ pid }) => !pids.has(pid)),
  );
}

/**
 * Polls every few milliseconds.
 * @throws if the condition does not become true in time
 */
export async function until(
  what: string,
  timeoutMs: number,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > timeoutMs) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await wait(10);
  }
}

function fromProc(): RunningProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // proc(5): the name in parentheses may contain anything, so fields are counted from its end.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || state === 'X') return [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid: Number(name), parent: Number(parent), stopped: state === 'T', command }];
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return [];
      throw error;
    }
  });
}

function fromPs(): RunningProcess[] {
  const columns = ['-A', '-ww', '-o', 'pid=,ppid=,state=,command='];
  const { stdout, error } = spawnSync('ps', columns, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (error) throw error;
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, state = '', command = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined || state.startsWith('Z')) return [];
    return [{ pid: Number(pid), parent: Number(parent), stopped: state.startsWith('T'), command }];
  });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
