import { readFileSync } from 'node:fs';
import { cpuSeconds, ownCpuSeconds, TICKS_PER_SECOND } from './process_usage.ts';

/** Who kept the machine busy meanwhile; `undefined` where the system does not tell. */
export interface Watched {
  /** Seconds, of all its threads and children. */
  readonly serverSeconds: number | undefined;
  /** What part of one core everything else took, on all cores together. */
  readonly othersCpu: number | undefined;
}

/** Processes that are there for as long as is watched. */
export interface WatchOrder {
  /** Whose share is asked for. */
  readonly server?: number;
  /** Those that are no others either. */
  readonly servants?: readonly number[];
}

/**
 * Begins to watch. This process and those that it starts and waits for meanwhile are no others.
 * @returns ends it
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
      // Clocks are read one after the other.
      othersCpu: others && Math.max(0, (others * 1000) / (after.atMs - before.atMs)),
    };
  };
}

/**
 * Seconds that all cores together were kept busy since the machine was started, interrupts included, since these are
 * part of the time of processes; also by whoever else the machine is shared with.
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
