import type { Generator, LoadResult } from './load/generator.ts';
import { startMeasured } from './processes/measured_process.ts';
import { cpuSeconds, residentBytes } from './processes/process_usage.ts';
import type { Contestant, Work } from './works/work.ts';

const LONGEST_WARM_UP_SECONDS = 120;

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
  const { name, requests, requestCount, answers } = contestant;
  contestant.beforeStart?.();
  const running = await startMeasured(contestant.process);
  try {
    const { address, pid } = running;
    const load = { address, requests, answers, connections: work.connections };
    let from = 0;
    const run = async (limits: { seconds: number; count?: number }) => {
      const result = await generator.run({ ...load, from, ...limits });
      requireRight(work.name, name, result);
      from += result.sent;
      if (!work.repeats && from > requestCount)
        throw new Error(
          `${work.name}: ${name} has used up its ${requestCount} requests; fewer seconds or more of them`,
        );
      return result;
    };
    if (work.warmUp === 'each_once') await run({ seconds: LONGEST_WARM_UP_SECONDS, count: requestCount });
    if (work.warmUp !== 'none') await run({ seconds: warmUpSeconds });
    const cpuBefore = cpuSeconds(pid);
    const result = await run({ seconds });
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
    };
  } finally {
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
