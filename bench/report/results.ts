import type { Primitives } from '../primitives/primitives.ts';
import type { Measurement, WarmUp } from '../running.ts';
import { type Spread, spread } from '../statistics.ts';
import type { ApiChecks } from '../works/api_checks.ts';
import type { Memory } from '../works/memory.ts';
import type { OpenLoop } from '../works/open_loop.ts';
import type { SignInResult } from '../works/sign_in.ts';
import type { Sizes } from '../works/stage.ts';

/** The stored measurements of one run. */
export interface RunResults {
  /** ISO 8601. */
  readonly startedAt: string;
  /** The commit, and whether the tree had uncommitted changes. */
  readonly revision: string | undefined;
  readonly machine: Machine;
  readonly generator: string;
  readonly rounds: number;
  /** Seconds per measurement. */
  readonly seconds: number;
  /** The intended seconds per program. Each result has its real value. */
  readonly warmUpSeconds: number;
  readonly sizes: Sizes;
  /** Only grantd and peers with the same storage were measured. */
  readonly isComparison?: boolean;
  readonly works: Readonly<Record<string, WorkResult>>;
  /** The works that failed, with the error. */
  readonly failed: Readonly<Record<string, string>>;
  /** What had failed and was measured later, by `--complete`. */
  readonly completions?: readonly Completion[];
  readonly primitives?: Primitives;
  readonly openLoop?: OpenLoop;
  readonly memory?: Memory;
  /** The same with more tokens than the cache holds, of several kinds. */
  readonly memoryOfMany?: Memory;
  /** Milliseconds. */
  readonly start?: Spread;
  readonly signIn?: SignInResult;
  readonly apiChecks?: ApiChecks;
  /** The share of one core that other programs used during measurements other than works, by name. */
  readonly othersCpu: Readonly<Record<string, number>>;
}

export interface Completion {
  /** ISO 8601. */
  readonly startedAt: string;
  readonly revision: string | undefined;
  readonly names: readonly string[];
}

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  /** Whether each process was pinned to a core. */
  readonly pinned: boolean;
}

export interface WorkResult {
  readonly title: string;
  readonly connections: number;
  readonly contestants: Readonly<Record<string, ContestantResult>>;
}

export interface ContestantResult {
  readonly perSecond: Spread;
  /** In order of the rounds. */
  readonly perSecondOfRounds: readonly number[];
  /** Per round, relative to the bare server in the same round. */
  readonly ofBare?: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  /** Shares of one core. */
  readonly serverCpu?: Spread;
  readonly generatorCpu?: Spread;
  /** Microseconds of CPU time that a request took of the program's processes; without those of a database server. */
  readonly cpuUs?: Spread;
  readonly warmUpSeconds?: WarmUp;
  /** The time at the end of the round. */
  readonly residentBytes?: Spread;
  /** The use of programs outside the measurement. */
  readonly othersCpu?: Spread;
  readonly commitsPerSecond?: Spread;
  readonly besidePerSecond?: Spread;
}

export function workResult(
  { title, connections }: { readonly title: string; readonly connections: number },
  measurements: readonly Measurement[],
): WorkResult {
  const names = [...new Set(measurements.map(({ contestant }) => contestant))];
  const bare = new Map(
    measurements
      .filter(({ contestant }) => contestant === 'bare')
      .map(({ round, perSecond }) => [round, perSecond]),
  );
  const contestants = names.map((name) => {
    const own = measurements.filter(({ contestant }) => contestant === name);
    return [name, contestantResult(own, bare)] as const;
  });
  return { title, connections, contestants: Object.fromEntries(contestants) };
}

function contestantResult(own: readonly Measurement[], bare: ReadonlyMap<number, number>): ContestantResult {
  return {
    perSecond: spread(own.map(({ perSecond }) => perSecond)),
    perSecondOfRounds: own.map(({ perSecond }) => perSecond),
    ...optional('ofBare', own, ({ round, perSecond }) => {
      const most = bare.get(round);
      return most === undefined ? undefined : perSecond / most;
    }),
    p50Ms: spread(own.map(({ load }) => load.latencyMs.p50)),
    p99Ms: spread(own.map(({ load }) => load.latencyMs.p99)),
    ...optional('serverCpu', own, ({ serverCpu }) => serverCpu),
    ...optional('generatorCpu', own, ({ load }) => load.generatorCpu),
    ...optional('cpuUs', own, ({ serverCpu, perSecond }) =>
      serverCpu === undefined ? undefined : (serverCpu / perSecond) * 1e6,
    ),
    ...optional('residentBytes', own, ({ residentBytes }) => residentBytes),
    ...optional('othersCpu', own, ({ othersCpu }) => othersCpu),
    ...(own[0] !== undefined && { warmUpSeconds: own[0].warmUpSeconds }),
    ...optional('commitsPerSecond', own, ({ commitsPerSecond }) => commitsPerSecond),
    ...optional('besidePerSecond', own, ({ besidePerSecond }) => besidePerSecond),
  };
}

/** Only if every round has it. */
function optional<Name extends string>(
  name: Name,
  own: readonly Measurement[],
  pick: (measurement: Measurement) => number | undefined,
): Partial<Record<Name, Spread>> {
  const values = own.flatMap((measurement) => pick(measurement) ?? []);
  if (values.length < own.length || values.length === 0) return {};
  const found: Partial<Record<Name, Spread>> = {};
  found[name] = spread(values);
  return found;
}
