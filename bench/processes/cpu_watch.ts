import { readFileSync } from 'node:fs';
import { cpuSeconds, ownCpuSeconds, TICKS_PER_SECOND } from './process_usage.ts';

/** The CPU use during a measurement; `undefined` if the system does not report it. */
export interface Watched {
  /** Seconds, of all its threads and children. */
  readonly serverSeconds: number | undefined;
  /** The share of one core that other programs used, summed over all cores. */
  readonly othersCpu: number | undefined;
}

/** Processes that live during the whole measurement. */
interface WatchOrder {
  /** Processes whose share is measured. */
  readonly server?: number;
  /** Further processes that do not count as others. */
  readonly servants?: readonly number[];
}

/**
 * Starts measuring. This process and its finished children do not count as others.
 * @returns a function that ends the measurement
 */
export function watch({ server, servants = [] }: WatchOrder = {}): () => Watched {
  const known = server === undefined ? servants : [server, ...servants];
  const now = () => ({
    atMs: performance.now(),
    server: server === undefined ? undefined : cpuSeconds(server),
    ours: sum([ownCpuSeconds(), ...known.map(cpuSeconds)]),
    all: machineSeconds(),
  });
  const before = now();
  return () => {
    const after = now();
    const during = (who: 'server' | 'ours' | 'all') => difference(before[who], after[who]);
    const others = difference(during('ours'), during('all'));
    return {
      serverSeconds: during('server'),
      // The clocks are read one after the other.
      othersCpu: others && Math.max(0, (others * 1000) / (after.atMs - before.atMs)),
    };
  };
}

/**
 * Busy seconds of all cores together since the machine was started. Includes interrupts, which are part of process
 * times, and time stolen by other machines on the same host.
 */
export function machineSeconds(stat = read()): number | undefined {
  const ticks = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(' ').map(Number);
  if (ticks === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, _idle, _waiting, interrupts = 0, soft = 0, steal = 0] = ticks;
  return (user + nice + system + interrupts + soft + steal) / TICKS_PER_SECOND;
}

function read(): string {
  try {
    return readFileSync('/proc/stat', 'utf8');
  } catch {
    return ''; // another system
  }
}

function sum(seconds: readonly (number | undefined)[]): number | undefined {
  return seconds.reduce((all, each) => (all === undefined || each === undefined ? undefined : all + each), 0);
}

function difference(earlier: number | undefined, later: number | undefined): number | undefined {
  return earlier === undefined || later === undefined ? undefined : later - earlier;
}
