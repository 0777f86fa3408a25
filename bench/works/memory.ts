import type { Generator } from '../load/generator.ts';
import { startMeasured } from '../processes/measured_process.ts';
import { residentBytes } from '../processes/process_usage.ts';
import { requireRight } from '../running.ts';
import { grantd } from '../subjects/contestants.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { type Stage, tokensOf } from './stage.ts';

const CONNECTIONS = 32;
const PASSES = 5;
const LONGEST_PASS_SECONDS = 120;

/** Bytes that the program has resident. */
export interface Memory {
  /** When it has answered its first request. */
  readonly atStart: number;
  /** After each pass, in which every token is introspected once. */
  readonly afterPasses: readonly number[];
}

/** @returns `undefined` where the system does not tell */
export async function measureMemory(stage: Stage, generator: Generator): Promise<Memory | undefined> {
  const population = await stage.population();
  const asked = await stage.requests('memory', introspecting(tokensOf(population, 'jwt_rs256')));
  const answers = [ACTIVE];
  const { process } = grantd(stage, population, { ...asked, answers });
  const running = await startMeasured(process);
  try {
    const { address, pid } = running;
    const atStart = residentBytes(pid);
    const afterPasses: number[] = [];
    for (let pass = 0; pass < PASSES; pass++) {
      const result = await generator.run({
        address,
        requests: asked.requests,
        from: 0,
        count: asked.requestCount,
        answers,
        connections: CONNECTIONS,
        seconds: LONGEST_PASS_SECONDS,
      });
      requireRight('memory', 'grantd', result);
      const bytes = residentBytes(pid);
      if (atStart === undefined || bytes === undefined) return undefined;
      afterPasses.push(bytes);
    }
    return atStart === undefined ? undefined : { atStart, afterPasses };
  } finally {
    await running.end();
  }
}
