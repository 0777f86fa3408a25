import { keptItsRate, type OpenLoopResult } from '../load/open_loop.ts';
import type { WarmUp } from '../running.ts';
import { apiChecksTable } from './api_checks.ts';
import { boundOf, formatResult, percent } from './formats.ts';
import { goalResults } from './goals.ts';
import type { ContestantResult, RunResults } from './results.ts';
import { shownTable } from './shown.ts';
import { hasBusyGenerator, verdict } from './verdict.ts';

/** From this share of a core on, other programs may have slowed down the measurement. */
const OTHERS_ARE_BUSY = 0.05;

/** The report as Markdown tables. */
export function tables(results: RunResults): string {
  return [
    heading(results),
    shownTable(results),
    apiChecksTable(results.apiChecks),
    ...(results.isComparison ? [] : details(results)),
    failures(results),
  ]
    .filter((part) => part !== undefined)
    .join('\n\n');
}

function details(results: RunResults): readonly (string | undefined)[] {
  return [
    measuredTable(results),
    primitivesTable(results),
    openLoopTable(results),
    memoryTable(results),
    signInTable(results),
    goalTable(results),
  ];
}

function heading(results: RunResults): string {
  const { machine, generator, rounds, seconds, sizes, revision, startedAt, completions = [] } = results;
  return [
    `${startedAt}, ${revision ?? 'unknown revision'}`,
    `${machine.processor}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}`,
    `${generator}; ${machine.pinned ? 'each process on a core of its own' : 'processes could not be pinned to cores'}`,
    `${rounds} rounds of ${seconds} s; ${sizes.records} records, ${sizes.tokens} distinct tokens`,
    ...completions.map(
      ({ names, ...later }) =>
        `${names.join(', ')}: ${later.startedAt}, ${later.revision ?? 'unknown revision'}`,
    ),
    'Warm-up: seconds of its own requests, and of others before',
  ].join('\n');
}

function measuredTable({ works }: RunResults): string | undefined {
  const rows = Object.values(works).flatMap(({ title, connections, contestants }) =>
    Object.entries(contestants).map(([name, result], index) => [
      index === 0 ? `${title} (${connections})` : '',
      name,
      ...measuredCells(result),
    ]),
  );
  if (rows.length === 0) return undefined;
  const columns = ['work (connections)', 'program', 'a second', 'of bare', 'p50 ms', 'p99 ms'];
  return table([...columns, 'server CPU', 'generator CPU', 'others', 'commits', 'beside', 'warm-up s'], rows);
}

function measuredCells(result: ContestantResult): readonly string[] {
  const { perSecond, ofBare, p50Ms, p99Ms, serverCpu, generatorCpu, othersCpu } = result;
  const { commitsPerSecond, besidePerSecond, warmUpSeconds } = result;
  return [
    `${Math.round(perSecond.median)} (${Math.round(perSecond.min)} to ${Math.round(perSecond.max)})`,
    ofBare ? `${ofBare.median.toFixed(3)} (${ofBare.min.toFixed(3)} to ${ofBare.max.toFixed(3)})` : '',
    p50Ms.median.toFixed(2),
    p99Ms.median.toFixed(2),
    percent(serverCpu?.median),
    percent(generatorCpu?.max) + (hasBusyGenerator(result) ? ' (!)' : ''),
    percent(othersCpu?.max) + (othersCpu !== undefined && othersCpu.max >= OTHERS_ARE_BUSY ? ' (!)' : ''),
    commitsPerSecond ? String(Math.round(commitsPerSecond.median)) : '',
    besidePerSecond ? besidePerSecond.median.toFixed(1) : '',
    warmUpSeconds ? warmUp(warmUpSeconds) : '',
  ];
}

function warmUp({ own, other }: WarmUp): string {
  return other === 0 ? own.toFixed(1) : `${own.toFixed(1)} + ${other.toFixed(1)}`;
}

function primitivesTable({ primitives }: RunResults): string | undefined {
  if (primitives === undefined) return undefined;
  const rows = Object.entries(primitives).map(([name, timing]) => [
    name,
    timing.medianUs.toFixed(1),
    timing.minUs.toFixed(1),
    timing.maxUs.toFixed(1),
    'way' in timing ? String(timing.way) : '',
  ]);
  return table(['part of a ceiling', 'median µs', 'min', 'max', 'quickest way'], rows);
}

function openLoopTable({ openLoop }: RunResults): string | undefined {
  if (openLoop === undefined) return undefined;
  const { rest, sweeping, maximumPerSecond } = openLoop;
  const row = (phase: string, { arrivals, latencyMs, lagMs, ...result }: OpenLoopResult, swept: string) => [
    phase,
    String(result.rate),
    String(arrivals),
    ...[latencyMs.p50, latencyMs.p99, latencyMs.p999, latencyMs.max].map((ms) => ms.toFixed(2)),
    lagMs.p999.toFixed(2) + (keptItsRate({ latencyMs, lagMs }) ? '' : ' (!)'),
    swept,
  ];
  const most = `open loop (of ${Math.round(maximumPerSecond)})`;
  const columns = [most, 'a second', 'arrivals', 'p50 ms', 'p99 ms', 'p99.9 ms', 'max ms', 'lag p99.9 ms'];
  return table(
    [...columns, 'swept tokens'],
    [row('at rest', rest, ''), row('sweeping', sweeping, String(sweeping.sweptTokens))],
  );
}

function memoryTable({ memory, memoryOfMany }: RunResults): string | undefined {
  const kept = Object.entries({ memory, 'memory-of-many': memoryOfMany });
  const rows = kept.flatMap(([name, memory]) =>
    memory === undefined
      ? []
      : [[name, mebibytes(memory.atStart), memory.afterPasses.map(mebibytes).join(', ')]],
  );
  return rows.length === 0 ? undefined : table(['MiB resident', 'at start', 'after each pass'], rows);
}

function signInTable({ signIn }: RunResults): string | undefined {
  if (signIn === undefined) return undefined;
  const { cpuMs, flows } = signIn;
  const [median, min, max] = [cpuMs.median, cpuMs.min, cpuMs.max].map((ms) => ms.toFixed(2));
  return table(['sign-ins', 'CPU ms', 'min', 'max'], [[flows, median, min, max].map(String)]);
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

function goalTable(results: RunResults): string | undefined {
  const rows = goalResults(results)
    .filter(({ value }) => value !== undefined)
    .map((goal) => [goal.work, boundOf(goal), formatResult(goal), verdict(results, goal)]);
  return rows.length === 0 ? undefined : table(['work', 'goal', 'result', ''], rows);
}

function failures({ failed }: RunResults): string | undefined {
  const rows = Object.entries(failed).map(([work, message]) => [work, message]);
  return rows.length === 0 ? undefined : table(['could not be measured', ''], rows);
}

export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((column, index) =>
    Math.max(column.length, 3, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, index) => (cells[index] ?? '').padEnd(width)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(columns), rule, ...rows.map(line)].join('\n');
}
