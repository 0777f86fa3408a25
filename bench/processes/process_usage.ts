import { readFileSync } from 'node:fs';

/** Linux counts the time of processes in hundredths of a second, whatever its clock (proc(5)). */
export const TICKS_PER_SECOND = 100;

/**
 * Seconds that a process has kept processors busy, with all its children, also those that have ended.
 * @returns `undefined` where the system does not tell
 */
export function cpuSeconds(pid: number): number | undefined {
  const times = timesOf(pid);
  if (times === undefined) return undefined;
  return sum([...times, ...childrenOf(pid).map((child) => cpuSeconds(child) ?? 0)]);
}

/** The same of this process, without those of its children that are still there. */
export function ownCpuSeconds(): number | undefined {
  const times = timesOf(process.pid);
  return times && sum(times);
}

function sum(seconds: readonly number[]): number {
  return seconds.reduce((all, each) => all + each, 0);
}

/** Seconds in programs and in the system: its own, and of children that have ended. */
function timesOf(pid: number): readonly number[] | undefined {
  const stat = read(pid, 'stat');
  // The name in parentheses may contain anything, so what follows its end is counted.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields?.slice(11, 15).map((ticks) => Number(ticks) / TICKS_PER_SECOND);
}

/** Bytes of memory that a process has resident; `undefined` where the system does not tell. */
export function residentBytes(pid: number): number | undefined {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(read(pid, 'status') ?? '')?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Processes that it has started and that are still there. */
export function childrenOf(pid: number): readonly number[] {
  const children = read(pid, `task/${pid}/children`) ?? '';
  return children.split(' ').filter(Boolean).map(Number);
}

function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined; // another system, or the process has gone
  }
}
