import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts process times in hundredths of a second, on every clock (proc(5)). */
export const TICKS_PER_SECOND = 100;

/**
 * CPU seconds of a process with all its children, including ended ones.
 * @returns `undefined` if the system does not report it
 */
export function cpuSeconds(pid: number): number | undefined {
  const times = timesOf(pid);
  if (times === undefined) return undefined;
  return sum([...times, ...childrenOf(pid).map((child) => cpuSeconds(child) ?? 0)]);
}

/** The name of the threads in which Node runs work such as password hashes. */
const POOL_THREAD = 'libuv-worker';

/**
 * CPU seconds of a process as the scheduler counts them, in nanoseconds: for intervals in which a hundredth of a second is
 * too coarse. Without threads that have ended, and without children.
 * @param options `pool`: whether the threads of Node's thread pool count. Default: true
 * @returns `undefined` if the system does not report it
 */
export function exactCpuSeconds(pid: number, { pool = true } = {}): number | undefined {
  const isCounted = (thread: string) => pool || read(pid, `task/${thread}/comm`)?.trim() !== POOL_THREAD;
  const threads = threadsOf(pid).filter(isCounted);
  const times = threads.map((thread) => read(pid, `task/${thread}/schedstat`));
  const seconds = sum(times.map((time) => Number(time?.split(' ')[0]) / 1e9));
  return threads.length > 0 && Number.isFinite(seconds) ? seconds : undefined;
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // another system, or the process has exited
  }
}

/** CPU seconds of this process, without its running children. */
export function ownCpuSeconds(): number | undefined {
  const times = timesOf(process.pid);
  return times && sum(times);
}

function sum(seconds: readonly number[]): number {
  return seconds.reduce((all, each) => all + each, 0);
}

/** User and system seconds, of the process and of its ended children. */
function timesOf(pid: number): readonly number[] | undefined {
  const stat = read(pid, 'stat');
  // The name in parentheses may contain anything, so fields are counted after its end.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields?.slice(11, 15).map((ticks) => Number(ticks) / TICKS_PER_SECOND);
}

/** Resident memory of a process in bytes; `undefined` if the system does not report it. */
export function residentBytes(pid: number): number | undefined {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(read(pid, 'status') ?? '')?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Its running children. */
export function childrenOf(pid: number): readonly number[] {
  const children = read(pid, `task/${pid}/children`) ?? '';
  return children.split(' ').filter(Boolean).map(Number);
}

function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined; // another system, or the process has exited
  }
}
