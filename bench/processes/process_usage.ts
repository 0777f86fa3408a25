import { readFileSync } from 'node:fs';

/** Linux counts the time of processes in hundredths of a second, whatever its clock (proc(5)). */
const TICKS_PER_SECOND = 100;

/**
 * Seconds that a process has kept processors busy, with those of its children that are still there.
 * @returns `undefined` where the system does not tell
 */
export function cpuSeconds(pid: number): number | undefined {
  const stat = read(pid, 'stat');
  if (stat === undefined) return undefined;
  // The name in parentheses may contain anything, so what follows its end is counted.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const own = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  return childrenOf(pid).reduce((sum, child) => sum + (cpuSeconds(child) ?? 0), own);
}

/** Bytes of memory that a process has resident; `undefined` where the system does not tell. */
export function residentBytes(pid: number): number | undefined {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(read(pid, 'status') ?? '')?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

function childrenOf(pid: number): readonly number[] {
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
