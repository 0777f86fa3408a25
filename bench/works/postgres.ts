import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from '../load/generator.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import { BENCH_CLIENTS, clientOf, ISSUER } from '../population/clients.ts';
import { type PopulationOrder, rowsOf, type TokenKind } from '../population/order.ts';
import { COPIED } from '../population/populate.ts';
import { type MeasuredProcess, startMeasured } from '../processes/measured_process.ts';
import { countRoundTrips } from '../processes/round_trips.ts';
import type { BarePostgresOrder } from '../subjects/bare_postgres.ts';
import { askOnce, isReady, startOf } from '../subjects/contestants.ts';
import { CONNECTIONS_TO_POSTGRES } from '../subjects/databases.ts';
import type { PeerTokenKind } from '../subjects/peer_order.ts';
import type { Peer } from '../subjects/peer_state.ts';
import { type PostgresPopulation, postgresPopulation } from '../subjects/postgres.ts';
import { ACTIVE, REFRESHED, REVOKED } from './answers.ts';
import { ON_POSTGRES, peers } from './peers.ts';
import { introspecting, refreshing, revoking } from './requests.ts';
import { type Sizes, type Stage, tokensOf } from './stage.ts';
import { MOST_TOKENS, warmUpOf } from './warm_up.ts';
import type { Contestant, Work, Workload } from './work.ts';

const BARE_POSTGRES = join(import.meta.dirname, '..', 'subjects', 'bare_postgres.ts');

/** The smallest lookup: whether the token exists, by its primary key. */
const LOOK_UP = 'SELECT id FROM grantd.tokens WHERE issuer_id = $1 AND id = $2';
/** The smallest commit: one row with its primary key. */
const TABLE = 'CREATE TABLE bare_writes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, token text)';
const WRITE = 'INSERT INTO bare_writes (token) VALUES ($1)';

/** Requests whose round trips are counted, one after another. The first ones also connect and prepare statements. */
const COUNTED = 50;
/** A share of the rows: the requested tokens must not be the only ones. */
const TOKENS_PART = 0.9;

interface PostgresWork {
  readonly name: string;
  readonly title: string;
  readonly kind: TokenKind;
  readonly order: (sizes: Sizes) => PopulationOrder;
  readonly planned: (tokens: readonly string[]) => readonly PlannedRequest[];
  /** Tokens of the peers, and their requests. Without it, no peer does the same. */
  readonly ofPeers?: {
    readonly kind: PeerTokenKind;
    readonly planned: (tokens: readonly string[], peer: Peer) => readonly PlannedRequest[];
  };
  readonly answer: Answer;
  /** Whether each request commits, and uses its token up. */
  readonly writes: boolean;
}

/**
 * The program on PostgreSQL, compared with a bare server that makes as many round trips per request. If the request
 * commits, so does the bare server's last round trip.
 */
function postgresWork({ name, title, kind, order, planned, ofPeers, answer, writes }: PostgresWork): Work {
  return {
    name,
    title,
    connections: 32,
    async contestants(stage) {
      const population = await stage.populationOf(order(stage.sizes));
      const tokens = tokensOf(population, kind);
      const own = planned(tokens.slice(COUNTED));
      const workload = { ...(await stage.requests(name, own)), answers: [answer], onlyOnce: writes };
      const warmUp = writes
        ? await warmUpOf(stage, name, {
            tokens: tokensOf(population, 'jwt_rs256'),
            client: BENCH_CLIENTS.machine_es256,
          })
        : undefined;
      const postgres = await postgresPopulation(population, stage.say);
      const measured: Contestant = {
        name: 'grantd',
        ...workload,
        ...(warmUp === undefined ? { first: workload } : { warmUp }),
        servants: postgres.servants,
        wakeUpSeconds: 1,
        process: processOn(postgres, startOf(stage.program), postgres.url),
      };

      const bare = async () =>
        bareOn(stage, postgres, {
          ...{ name, workload, answer, writes },
          counted: planned(tokens.slice(0, COUNTED)),
        });
      const others = ofPeers && { peers: ON_POSTGRES, ...ofPeers, answers: [answer], onlyOnce: writes };
      return [
        measured,
        ...(stage.isComparison ? [] : [await bare()]),
        ...(others === undefined ? [] : await peers(stage, name, others)),
      ];
    },
  };
}

interface BareOrder extends Pick<PostgresWork, 'name' | 'answer' | 'writes'> {
  readonly workload: Workload;
  /** Requests whose round trips are counted. */
  readonly counted: readonly PlannedRequest[];
}

/** The bare server, with as many round trips per request as the program. */
async function bareOn(
  stage: Stage,
  postgres: PostgresPopulation,
  { name, workload, answer, writes, counted }: BareOrder,
): Promise<Contestant> {
  const { roundTrips, sample } = await observe(postgres, startOf(stage.program), counted, answer);
  stage.say(`${name}: ${roundTrips} round trips to PostgreSQL per request`);
  if (writes) await postgres.rows(TABLE);
  const [{ issuer_id: issuerId } = {}] = await postgres.rows('SELECT issuer_id FROM grantd.tokens LIMIT 1');
  const ids = await postgres.rows(
    `SELECT id FROM grantd.tokens WHERE kind = 'access_token' ORDER BY random() LIMIT ${workload.requestCount}`,
  );
  const bareOrder: BarePostgresOrder = {
    answer: sample,
    database: postgres.url,
    connections: CONNECTIONS_TO_POSTGRES,
    lookUp: { name: 'look_up', text: LOOK_UP },
    issuerId: Number(issuerId),
    ids: ids.map(({ id }) => String(id)),
    lookUps: writes ? roundTrips - 1 : roundTrips,
    ...(writes && { write: { name: 'write', text: WRITE } }),
  };
  const file = join(stage.folder, `${name}.bare.json`);
  writeFileSync(file, JSON.stringify(bareOrder));
  return {
    name: 'bare',
    ...{ ...workload, onlyOnce: false },
    servants: postgres.servants,
    wakeUpSeconds: 1,
    process: {
      command: (port) => [process.execPath, BARE_POSTGRES, String(port), file],
      environment: { PGPASSWORD: postgres.password },
      isReady,
    },
  };
}

/** @param database the URL of PostgreSQL, or of something that passes connections on to it */
function processOn(
  { password, secret }: PostgresPopulation,
  { command, environment }: ReturnType<typeof startOf>,
  database: string,
) {
  return {
    command: (port: number) => [
      ...[...command, '--database', database, '--issuer', ISSUER, '--port', String(port)],
    ],
    environment: { ...environment, PGPASSWORD: password, GRANTD_SECRET: secret },
    isReady,
  };
}

/**
 * Sends requests one after another, in a process of their own.
 * @returns the median of their round trips to PostgreSQL, and the last response
 */
async function observe(
  postgres: PostgresPopulation,
  start: ReturnType<typeof startOf>,
  requests: readonly PlannedRequest[],
  answer: Answer,
) {
  const counter = await countRoundTrips(postgres.url);
  let running: MeasuredProcess | undefined;
  try {
    running = await startMeasured(processOn(postgres, start, counter.url));
    const trips: number[] = [];
    let sample: BarePostgresOrder['answer'] | undefined;
    for (const request of requests) {
      const before = counter.roundTrips();
      sample = await askOnce(running.address, request, [answer]);
      trips.push(counter.roundTrips() - before);
    }
    // Background work adds to some of them.
    const roundTrips = trips.toSorted((a, b) => a - b)[Math.floor(trips.length / 2)] ?? 0;
    if (sample === undefined || roundTrips < 1) throw new Error('the program did not ask PostgreSQL');
    return { roundTrips, sample };
  } finally {
    await running?.end();
    await counter.end();
  }
}

function withCopies(tokens: PopulationOrder['tokens']): PopulationOrder {
  return { records: Math.ceil(rowsOf({ records: 0, tokens }) / TOKENS_PART) + COPIED, tokens };
}

/** JWTs that warm up, and tokens that are used up. */
function writingOrder({ tokens, personal }: Sizes): PopulationOrder {
  return withCopies({
    jwt_rs256: Math.min(MOST_TOKENS, tokens),
    opaque: tokens,
    web_opaque_refresh: personal,
    web_es256_refresh: personal,
  });
}

export const introspectionPostgres = postgresWork({
  name: 'introspection-postgres',
  title: 'introspection, JWT, seen before, PostgreSQL',
  kind: 'jwt_rs256',
  order: ({ records, tokens }) => {
    const rows = Math.round(records / 10);
    return { records: rows, tokens: { jwt_rs256: Math.min(tokens, Math.floor(rows * TOKENS_PART)) } };
  },
  planned: (tokens) => introspecting(tokens),
  ofPeers: { kind: 'machine', planned: (tokens) => introspecting(tokens) },
  answer: ACTIVE,
  writes: false,
});

/** The tokens and signatures of `refresh-token-opaque`. The bare server makes no signature. */
export const refreshOpaquePostgres = postgresWork({
  name: 'refresh-opaque-postgres',
  title: 'refresh, opaque tokens, RS256 ID token, PostgreSQL',
  kind: 'web_opaque_refresh',
  order: writingOrder,
  planned: (tokens) => refreshing(tokens, clientOf('web_opaque_refresh')),
  ofPeers: { kind: 'refresh', planned: (tokens) => refreshing(tokens, BENCH_CLIENTS.web) },
  answer: REFRESHED,
  writes: true,
});

/** The signatures are those of `refresh-token-es256`. The bare server makes none. */
export const refreshPostgres = postgresWork({
  name: 'refresh-postgres',
  title: 'refresh, ES256, PostgreSQL',
  kind: 'web_es256_refresh',
  order: writingOrder,
  planned: (tokens) => refreshing(tokens, clientOf('web_es256_refresh')),
  answer: REFRESHED,
  writes: true,
});

export const revocationPostgres = postgresWork({
  name: 'revocation-postgres',
  title: 'revocation, opaque, PostgreSQL',
  kind: 'opaque',
  order: writingOrder,
  planned: (tokens) => revoking(tokens, clientOf('opaque')),
  ofPeers: { kind: 'machine', planned: (tokens, { machine }) => revoking(tokens, machine) },
  answer: REVOKED,
  writes: true,
});
