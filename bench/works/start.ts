import { BENCH_CLIENTS, basicAuthorization } from '../population/clients.ts';
import { watch } from '../processes/cpu_watch.ts';
import { startMeasured } from '../processes/measured_process.ts';
import { type Spread, spread } from '../statistics.ts';
import { grantd } from '../subjects/contestants.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { type Stage, tokensOf } from './stage.ts';

interface MeasuredStart {
  /** Milliseconds from process start to the first right response, each in a fresh process. */
  readonly start: Spread;
  /** The share of one core that other programs used; `undefined` if the system does not report it. */
  readonly othersCpu: number | undefined;
}

export async function measureStart(stage: Stage, starts = 9): Promise<MeasuredStart> {
  const population = await stage.population();
  const [token = ''] = tokensOf(population, 'jwt_rs256');
  const workload = await stage.requests('start', introspecting([token]));
  const { process } = grantd(stage, population, { ...workload, answers: [ACTIVE] });
  const watched = watch();
  const tookMs: number[] = [];
  for (let start = 0; start <= starts; start++) {
    const isReady = (address: string) => isAnswered(address, token);
    const running = await startMeasured({ ...process, isReady });
    await running.end();
    // The first start fills the system's file caches.
    if (start > 0) tookMs.push(running.startedInMs);
  }
  return { start: spread(tookMs), othersCpu: watched().othersCpu };
}

async function isAnswered(address: string, token: string): Promise<boolean> {
  const response = await fetch(`${address}/token/introspect`, {
    method: 'POST',
    headers: { authorization: basicAuthorization(BENCH_CLIENTS.api) },
    body: new URLSearchParams({ token }),
  });
  return response.status === ACTIVE.status && (await response.text()).includes(ACTIVE.contains);
}
