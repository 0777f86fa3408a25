import type { Generator } from '../load/generator.ts';
import { watch } from '../processes/cpu_watch.ts';
import { startMeasured } from '../processes/measured_process.ts';
import { residentBytes } from '../processes/process_usage.ts';
import { requireRight } from '../running.ts';
import { grantd } from '../subjects/contestants.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { type Stage, tokensOf } from './stage.ts';

const CONNECTIONS = 32;
const LONGEST_PASS_SECONDS = 120;

/** Resident bytes of the program. */
export interface Memory {
  /** After its first response. */
  readonly atStart: number;
  /** After each pass, which introspects every token once. */
  readonly afterPasses: readonly number[];
}

interface MeasuredMemory {
  readonly memory: Memory;
  /** The share of one core that other programs used; `undefined` if the system does not report it. */
  readonly othersCpu: number | undefined;
}

/** JWTs of clients, as many as the other works draw from. */
export async function measureMemory(stage: Stage, generator: Generator): Promise<MeasuredMemory | undefined> {
  const tokens = tokensOf(await stage.population(), 'jwt_rs256');
  return memoryAfter(stage, generator, { name: 'memory', tokens, passes: 5 });
}

/** Three times as many, more than the cache holds: two thirds opaque, and all user tokens. */
export async function measureMemoryOfMany(
  stage: Stage,
  generator: Generator,
): Promise<MeasuredMemory | undefined> {
  const population = await stage.population();
  const tokens = ofMany(stage.sizes.tokens, {
    opaque: tokensOf(population, 'opaque'),
    people: tokensOf(population, 'web_access'),
    machines: tokensOf(population, 'jwt_rs256'),
  });
  return memoryAfter(stage, generator, { name: 'memory-of-many', tokens, passes: 3 });
}

/** The kinds alternate until one runs out. */
export function ofMany(
  third: number,
  kinds: Readonly<Record<'opaque' | 'people' | 'machines', readonly string[]>>,
): readonly string[] {
  const people = kinds.people.slice(0, third);
  const jwts = [...people, ...kinds.machines.slice(0, third - people.length)];
  return jwts.flatMap((jwt, index) => [jwt, ...kinds.opaque.slice(2 * index, 2 * index + 2)]);
}

async function memoryAfter(
  stage: Stage,
  generator: Generator,
  {
    name,
    tokens,
    passes,
  }: { readonly name: string; readonly tokens: readonly string[]; readonly passes: number },
): Promise<MeasuredMemory | undefined> {
  const workload = await stage.requests(name, introspecting(tokens));
  const answers = [ACTIVE];
  const { process } = grantd(stage, await stage.population(), { ...workload, answers });
  const running = await startMeasured(process);
  try {
    const { address, pid } = running;
    const watched = watch({ server: pid });
    const atStart = residentBytes(pid);
    const afterPasses: number[] = [];
    for (let pass = 0; pass < passes; pass++) {
      const result = await generator.run({
        address,
        requests: workload.requests,
        from: 0,
        count: workload.requestCount,
        answers,
        connections: CONNECTIONS,
        seconds: LONGEST_PASS_SECONDS,
      });
      requireRight(name, 'grantd', result);
      const bytes = residentBytes(pid);
      if (atStart === undefined || bytes === undefined) return undefined;
      afterPasses.push(bytes);
    }
    const { othersCpu } = watched();
    return atStart === undefined ? undefined : { memory: { atStart, afterPasses }, othersCpu };
  } finally {
    await running.end();
  }
}
