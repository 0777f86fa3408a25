// Requests a second of a protected handler, by what checks its tokens and by the server that issued them.
import { join } from 'node:path';
import type { Generator } from '../load/generator.ts';
import { writeRequestFile } from '../load/request_file.ts';
import { type MeasuredProcess, startMeasured } from '../processes/measured_process.ts';
import { exactCpuSeconds } from '../processes/process_usage.ts';
import { spread } from '../statistics.ts';
import type { HandlerOrder } from './handler.ts';
import { AUDIENCE, OPAQUE_AUDIENCE } from './parties.ts';
import { type Issuer, newTokens, type Servers } from './servers.ts';

const HANDLER = join(import.meta.dirname, 'handler.ts');
const CONNECTIONS = 32;
const ANSWERS = [{ name: 'accepted', status: 200, contains: '"client"' }];

export type Way = HandlerOrder['way'];

interface HandlersOrder {
  readonly generator: Generator;
  readonly rounds: number;
  readonly seconds: number;
  /** Different tokens, sent in turn. */
  readonly tokens: number;
}

export interface HandlerFigures {
  readonly perSecond: number;
  /** Microseconds of the handler’s process for each request. */
  readonly cpu: number;
}

/** @returns medians of all rounds, by the name of the issuer and the way */
export async function measureHandlers(
  servers: Servers,
  issuers: readonly Issuer[],
  { generator, rounds, seconds, tokens: count }: HandlersOrder,
): Promise<ReadonlyMap<string, HandlerFigures>> {
  const handlers: { readonly name: string; readonly process: MeasuredProcess; readonly requests: string }[] =
    [];
  for (const issuer of issuers)
    for (const [way, audience] of waysOf(issuer)) {
      const order: HandlerOrder = { way, issuer: issuer.issuer, audience };
      const requests = join(servers.folder, `${issuer.name}.${way}`);
      const tokens = await newTokens(issuer, count, audience);
      await writeRequestFile(
        requests,
        tokens.map((token) => ({ method: 'GET', path: '/', authorization: `Bearer ${token}` })),
      );
      const process = await startMeasured({
        command: (port) => [globalThis.process.execPath, HANDLER, String(port), JSON.stringify(order)],
        isReady: async (address) => (await fetch(address)).status === 401,
      });
      handlers.push({ name: nameOf(issuer, way), process, requests });
    }
  const figures = new Map(handlers.map(({ name }) => [name, [] as HandlerFigures[]]));
  for (let round = 0; round <= rounds; round++)
    for (const { name, process, requests } of round % 2 === 0 ? handlers : handlers.toReversed()) {
      const { address } = process;
      const order = { address, requests, from: 0, answers: ANSWERS, connections: CONNECTIONS, seconds };
      const before = exactCpuSeconds(process.pid) ?? Number.NaN;
      const { right, wrong, errors, firstWrong, seconds: took } = await generator.run(order);
      if (wrong + errors > 0) throw new Error(`${name}: ${wrong} wrong, ${errors} errors: ${firstWrong}`);
      // The first round warms up.
      if (round === 0) continue;
      const accepted = right.accepted ?? 0;
      const cpu = ((exactCpuSeconds(process.pid) ?? Number.NaN) - before) / accepted;
      figures.get(name)?.push({ perSecond: accepted / took, cpu: cpu * 1e6 });
    }
  for (const { process } of handlers) await process.end();
  return new Map(
    [...figures].map(([name, rounds]) => {
      const median = (figure: keyof HandlerFigures) => spread(rounds.map((round) => round[figure])).median;
      return [name, { perSecond: median('perSecond'), cpu: median('cpu') }];
    }),
  );
}

export function nameOf({ name }: Pick<Issuer, 'name'>, way: Way): string {
  return `${name} ${way}`;
}

function waysOf({ name }: Issuer): readonly (readonly [Way, string])[] {
  if (name === 'grantd')
    return (['jose', 'follower', 'remembered', 'introspected'] as const).map((way) => [way, AUDIENCE]);
  return [
    ['jose', AUDIENCE],
    ['remembered', OPAQUE_AUDIENCE],
    ['introspected', OPAQUE_AUDIENCE],
  ];
}
