import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsOf } from '../../scripts/first_line.mjs';
import { type Answer, isAnswer, withoutTokens } from '../load/generator.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import { copyPopulation, copySqlite, databaseIn, type Population } from '../population/population.ts';
import { type ProcessOrder, startMeasured } from '../processes/measured_process.ts';
import type { Stage } from '../works/stage.ts';
import type { Contestant, Workload } from '../works/work.ts';
import { PEERS, type Peer, type PeerName, type PeerState, runPeer, sqliteFileOf } from './peer_state.ts';
import { postgresDatabase, splitPassword } from './postgres.ts';

const BARE = join(import.meta.dirname, 'bare.ts');

/** Headers that node:http adds itself. */
const OF_THE_CONNECTION = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding']);

interface GrantdOrder {
  /** Default: `grantd`. */
  readonly name?: string;
  readonly flags?: readonly string[];
  /** Whether the work changes the database. Then each start gets a copy. */
  readonly changes?: boolean;
  /** The requests that come first. */
  readonly first?: Workload;
  /** The requests for warming up, if its own can be sent only once. */
  readonly warmUp?: Workload;
  /** Default: the server's core only. */
  readonly cores?: readonly number[];
}

/** An installed program starts like this: by its first line. */
export function startOf(program: string) {
  const { flags, variables } = settingsOf(program);
  return { command: [process.execPath, ...flags, program, 'serve'], environment: variables };
}

/** The real program, as `grantd serve`, with its defaults. */
export function grantd(
  stage: Stage,
  population: Population,
  workload: Workload,
  { name = 'grantd', flags = [], changes = false, first, warmUp, cores }: GrantdOrder = {},
): Contestant {
  const folder = join(stage.folder, name.replaceAll(/[^a-z0-9]+/g, '_'));
  const database = changes ? databaseIn(folder) : population.database;
  const start = startOf(stage.program);
  return {
    name,
    ...workload,
    ...(first !== undefined && { first }),
    ...(warmUp !== undefined && { warmUp }),
    ...(changes && { database, beforeStart: () => void copyPopulation(population, folder) }),
    process: {
      command: (port) => [
        ...[...start.command, '--database', `sqlite:${database}`, '--port', String(port), ...flags],
      ],
      // No load balancer has to notice the end.
      // All requests come from one address.
      environment: {
        ...start.environment,
        GRANTD_SHUTDOWN_DELAY: '0',
        GRANTD_ADDRESS_REQUEST_LIMIT: '0',
      },
      isReady,
      ...(cores !== undefined && { cores }),
    },
  };
}

/** @param place `memory`, `sqlite:FILE` or the URL of PostgreSQL, without its password */
export function peerProcess(
  { files: [program = ''] }: Peer,
  { folder }: PeerState,
  place: string,
  environment: Readonly<Record<string, string>> = {},
): ProcessOrder {
  return {
    command: (port) => [process.execPath, program, 'serve', folder, place, String(port)],
    environment,
    isReady,
  };
}

/** A peer with what it needs of its storage. Each start of one with SQLite gets a copy of its database. */
export async function peer(
  stage: Pick<Stage, 'folder' | 'say'>,
  name: PeerName,
  state: PeerState,
  workload: Workload,
): Promise<Contestant> {
  const own = PEERS[name];
  switch (own.storage) {
    case 'memory':
      return { name, ...workload, process: peerProcess(own, state, 'memory') };
    case 'SQLite': {
      const database = join(stage.folder, `${name.replaceAll(/[^a-z0-9]+/g, '_')}.db`);
      const beforeStart = () => copySqlite(sqliteFileOf(state), database);
      return {
        name,
        ...workload,
        database,
        beforeStart,
        process: peerProcess(own, state, `sqlite:${database}`),
      };
    }
    case 'PostgreSQL': {
      const { url, password, servants } = await postgresDatabase((filled) => {
        stage.say(`filling the database of ${name}`);
        const place = splitPassword(filled);
        return runPeer(own, ['fill', state.folder, place.url], { PGPASSWORD: place.password });
      });
      return {
        ...{ name, ...workload, servants, wakeUpSeconds: 1 },
        process: peerProcess(own, state, url, { PGPASSWORD: password }),
      };
    }
  }
}

/** Sends the response of another contestant's first request to every request, and does nothing else. */
export async function bareLike(model: Contestant, name = 'bare'): Promise<Contestant> {
  const { requests, requestCount, sample, answers } = model;
  const [answer] = answers;
  if (answer === undefined) throw new Error(`nothing is expected of ${model.name}`);
  const file = `${requests}.${name.replaceAll(' ', '_')}.json`;
  writeFileSync(file, JSON.stringify(await sampleAnswer(model)));
  return {
    name,
    requests,
    requestCount,
    sample,
    answers: [answer],
    process: { command: (port) => [process.execPath, BARE, String(port), file], isReady },
  };
}

/** Status, headers and body of the model's response, including its identifiers. */
export async function sampleAnswer({ sample, process: order, answers, beforeStart }: Contestant) {
  beforeStart?.();
  const running = await startMeasured(order);
  try {
    return await askOnce(running.address, sample, answers);
  } finally {
    await running.end();
  }
}

/**
 * Sends one request.
 * @throws Error if its response is none of `answers`
 */
export async function askOnce(
  address: string,
  { method, path, authorization, dpop, body }: PlannedRequest,
  answers: readonly Answer[],
) {
  const response = await fetch(`${address}${path}`, {
    method,
    headers: {
      accept: 'application/json',
      ...(authorization !== undefined && { authorization }),
      ...(dpop !== undefined && { dpop }),
      ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  if (!answers.some((answer) => isAnswer(answer, response.status, text)))
    throw new Error(`${path} was answered ${response.status} ${withoutTokens(text)}`);
  const headers = [...response.headers].filter(([header]) => !OF_THE_CONNECTION.has(header));
  return { status: response.status, headers: Object.fromEntries(headers), body: text };
}

/** Any response except that it is not ready. */
export async function isReady(address: string): Promise<boolean> {
  const response = await fetch(`${address}/health`);
  await response.arrayBuffer();
  return response.status !== 503;
}
