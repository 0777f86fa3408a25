import type { Generator, LoadResult } from './load/generator.ts';
import { type Beside, startBeside } from './processes/beside.ts';
import { startMeasured } from './processes/measured_process.ts';
import { cpuSeconds, residentBytes } from './processes/process_usage.ts';
import type { Contestant, Work } from './works/work.ts';

const LONGEST_WARM_UP_SECONDS = 120;
/** What is shorter than this, since the requests were used up, says nothing. */
const SHORTEST_SECONDS = 0.5;

export interface RoundsOrder {
  readonly rounds: number;
  /** Of each measurement. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly generator: Generator;
  readonly say: (text: string) => void;
}

/** What one contestant did in one round. */
export interface Measurement {
  readonly round: number;
  readonly contestant: string;
  /** Right answers. */
  readonly perSecond: number;
  readonly load: LoadResult;
  /** What part of one core the program was busy; of several processes the sum. */
  readonly serverCpu: number | undefined;
  readonly residentBytes: number | undefined;
  /** What the program beside it did a second. */
  readonly besidePerSecond?: number;
}

/** Each contestant in a fresh process, in an order that is turned round each time. */
export async function measureRounds(
  work: Work,
  contestants: readonly Contestant[],
  order: RoundsOrder,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (let round = 0; round < order.rounds; round += 1) {
    for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed()) {
      const measured = { round, ...(await measureOnce(work, contestant, order)) };
      const { perSecond, load, serverCpu = Number.NaN } = measured;
      const percent = (share = Number.NaN) => `${Math.round(share * 100)} %`;
      order.say(
        `${work.name}: ${contestant.name} ${Math.round(perSecond)}/s, p99 ${load.latencyMs.p99.toFixed(1)} ms, ` +
          `server ${percent(serverCpu)}, generator ${percent(load.generatorCpu)} of a core`,
      );
      measurements.push(measured);
    }
  }
  return measurements;
}

async function measureOnce(
  work: Work,
  contestant: Contestant,
  { seconds, warmUpSeconds, generator }: RoundsOrder,
): Promise<Omit<Measurement, 'round'>> {
  const { name, requests, requestCount, answers, onlyOnce = false, beside: besides } = contestant;
  contestant.beforeStart?.();
  const running = await startMeasured(contestant.process);
  let beside: Beside | undefined;
  try {
    const { address, pid } = running;
    beside = besides && startBeside(besides);
    let from = 0;
    const run = async (seconds: number, most = Number.POSITIVE_INFINITY) => {
      // What is on its way when all have been answered would be sent again.
      const left = onlyOnce ? requestCount - from - 2 * work.connections : Number.POSITIVE_INFINITY;
      const count = Math.min(most, left);
      if (count <= 0) throw new Error(`${work.name}: ${name} has used up its ${requestCount} requests`);
      const result = await generator.run({
        ...{ address, requests, from, answers, connections: work.connections, seconds },
        ...(Number.isFinite(count) && { count }),
      });
      requireRight(work.name, name, result);
      from += result.sent;
      return result;
    };
    if (work.warmUp === 'each_once') await run(LONGEST_WARM_UP_SECONDS, requestCount);
    // Of what can be sent but once, most is left for the measurement.
    await run(warmUpSeconds, onlyOnce ? Math.ceil(requestCount / 4) : undefined);
    const cpuBefore = cpuSeconds(pid);
    const result = await run(seconds);
    if (result.seconds < SHORTEST_SECONDS)
      throw new Error(
        `${work.name}: ${name} has used up its ${requestCount} requests in ${result.seconds.toFixed(1)} s; use --tokens with more`,
      );
    const cpuAfter = cpuSeconds(pid);
    const right = Object.values(result.right).reduce((sum, count) => sum + count, 0);
    return {
      contestant: name,
      perSecond: right / result.seconds,
      load: result,
      serverCpu:
        cpuBefore === undefined || cpuAfter === undefined
          ? undefined
          : (cpuAfter - cpuBefore) / result.seconds,
      residentBytes: residentBytes(pid),
      ...(beside !== undefined && { besidePerSecond: await beside.end() }),
    };
  } finally {
    await beside?.end();
    await running.end();
  }
}

/** An answer that is not the right one is no throughput: nothing is counted then. */
export function requireRight(
  work: string,
  name: string,
  { wrong, firstWrong, errors, right }: LoadResult,
): void {
  if (wrong > 0) throw new Error(`${work}: ${name} answered ${wrong} times wrongly, first: ${firstWrong}`);
  if (errors > 0) throw new Error(`${work}: ${errors} connections to ${name} failed`);
  if (Object.values(right).every((count) => count === 0))
    throw new Error(`${work}: ${name} answered nothing`);
}
