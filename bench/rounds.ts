import type { Generator } from './load/generator.ts';
import { type Measurement, Running } from './running.ts';
import type { Contestant, Work } from './works/work.ts';

export interface RoundsOrder {
  readonly rounds: number;
  /** Of each measurement. */
  readonly seconds: number;
  /** Of each contestant, once; less where its requests can be sent but once. */
  readonly warmUpSeconds: number;
  readonly generator: Generator;
  readonly say: (text: string) => void;
}

/**
 * Starts and warms up all contestants, each in a fresh process, then measures them in turns, in an order that is turned
 * round each time. Those whose turn it is not are idle.
 */
export async function measureRounds(
  work: Work,
  contestants: readonly Contestant[],
  order: RoundsOrder,
): Promise<readonly Measurement[]> {
  const running: Running[] = [];
  try {
    for (const contestant of contestants) {
      const started = await Running.start(work, contestant, order.generator);
      running.push(started);
      await started.warmUp(order.warmUpSeconds);
    }
    const measurements: Measurement[] = [];
    for (let round = 0; round < order.rounds; round += 1) {
      for (const contestant of round % 2 === 0 ? running : running.toReversed()) {
        const measured = await contestant.measure(round, order);
        order.say(`${work.name}: ${summary(measured)}`);
        measurements.push(measured);
      }
    }
    return measurements;
  } finally {
    await Promise.all(running.map((each) => each.end()));
  }
}

function summary({ contestant, perSecond, load, serverCpu, othersCpu }: Measurement): string {
  const percent = (share = Number.NaN) => `${Math.round(share * 100)} %`;
  return (
    `${contestant} ${Math.round(perSecond)}/s, p99 ${load.latencyMs.p99.toFixed(1)} ms, server ${percent(serverCpu)}, ` +
    `generator ${percent(load.generatorCpu)}, others ${percent(othersCpu)} of a core`
  );
}
