// Requests a second of a protected handler, by what checks its tokens and by the server that issued them.
import { join } from 'node:path';
import type { Generator } from '../load/generator.ts';
import { writeRequestFile } from '../load/request_file.ts';
import { watch } from '../processes/cpu_watch.ts';
import { type MeasuredProcess, startMeasured } from '../processes/measured_process.ts';
import { exactCpuSeconds } from '../processes/process_usage.ts';
import { type Spread, spread } from '../statistics.ts';
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

/** What one way of checking tokens costs an API. */
export interface HandlerFigures {
  readonly perSecond: Spread;
  /** Relative to the same handler without a check, per round. */
  readonly ofUnchecked: Spread;
  /** Microseconds of the handler’s process for each request. */
  readonly cpuUs: Spread;
  /** The use of other programs, including the authorization servers, as a share of a core. */
  readonly othersCpu?: Spread;
}

/** @returns the figures of all rounds, by the name of the issuer and the way */
export async function measureHandlers(
  servers: Servers,
  issuers: readonly Issuer[],
  { generator, rounds, seconds, tokens: count }: HandlersOrder,
): Promise<Readonly<Record<string, HandlerFigures>>> {
  const handlers: Handler[] = [];
  try {
    for (const issuer of issuers)
      for (const [way, audience] of waysOf(issuer)) {
        const requests = join(servers.folder, `${issuer.name}.${way}`);
        const tokens = await newTokens(issuer, count, audience);
        await writeRequestFile(
          requests,
          tokens.map((token) => ({ method: 'GET', path: '/', authorization: `Bearer ${token}` })),
        );
        const order: HandlerOrder = { way, issuer: issuer.issuer, audience };
        const process = await startMeasured({
          command: (port) => [globalThis.process.execPath, HANDLER, String(port), JSON.stringify(order)],
          isReady: async (address) => (await fetch(address)).status === (way === 'none' ? 200 : 401),
        });
        handlers.push({ name: nameOf(issuer, way), issuer, process, requests, rounds: [] });
      }
    for (let round = 0; round <= rounds; round++)
      for (const handler of round % 2 === 0 ? handlers : handlers.toReversed()) {
        const measured = await measureOnce(handler, generator, seconds);
        // The first round warms up.
        if (round > 0) handler.rounds.push(measured);
      }
  } finally {
    await Promise.all(handlers.map(({ process }) => process.end()));
  }
  return Object.fromEntries(handlers.map((handler) => [handler.name, figuresOf(handler, handlers)]));
}

interface Handler {
  readonly name: string;
  readonly issuer: Issuer;
  readonly process: MeasuredProcess;
  readonly requests: string;
  /** In their order. */
  readonly rounds: Round[];
}

interface Round {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly othersCpu: number | undefined;
}

async function measureOnce(
  { name, process, requests, issuer }: Handler,
  generator: Generator,
  seconds: number,
): Promise<Round> {
  const { address, pid } = process;
  const order = { address, requests, from: 0, answers: ANSWERS, connections: CONNECTIONS, seconds };
  const watched = watch({ server: pid, servants: [issuer.pid] });
  const before = exactCpuSeconds(pid) ?? Number.NaN;
  const { right, wrong, errors, firstWrong, seconds: took } = await generator.run(order);
  if (wrong + errors > 0) throw new Error(`${name}: ${wrong} wrong, ${errors} errors: ${firstWrong}`);
  const accepted = right.accepted ?? 0;
  const cpu = ((exactCpuSeconds(pid) ?? Number.NaN) - before) / accepted;
  return { perSecond: accepted / took, cpuUs: cpu * 1e6, othersCpu: watched().othersCpu };
}

function figuresOf({ rounds, issuer }: Handler, handlers: readonly Handler[]): HandlerFigures {
  const unchecked = handlers.find(({ name }) => name === nameOf(issuer, 'none'))?.rounds ?? [];
  const others = rounds.flatMap(({ othersCpu }) => othersCpu ?? []);
  return {
    perSecond: spread(rounds.map(({ perSecond }) => perSecond)),
    ofUnchecked: spread(
      rounds.map(({ perSecond }, round) => perSecond / (unchecked[round]?.perSecond ?? Number.NaN)),
    ),
    cpuUs: spread(rounds.map(({ cpuUs }) => cpuUs)),
    ...(others.length > 0 && { othersCpu: spread(others) }),
  };
}

export function nameOf({ name }: Pick<Issuer, 'name'>, way: Way): string {
  return `${name} ${way}`;
}

function waysOf({ name }: Issuer): readonly (readonly [Way, string])[] {
  if (name === 'grantd')
    return (['none', 'jose', 'follower', 'remembered', 'introspected'] as const).map((way) => [
      way,
      AUDIENCE,
    ]);
  return [
    ['none', AUDIENCE],
    ['jose', AUDIENCE],
    ['remembered', OPAQUE_AUDIENCE],
    ['introspected', OPAQUE_AUDIENCE],
  ];
}
