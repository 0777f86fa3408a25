// What the measurements of a filled database share.
import type { PostgresCluster } from '../../core/test/harness/postgres_cluster.ts';
import type { Cluster } from '../deployments/cluster.ts';
import type { ServerProcess } from '../deployments/server_process.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { type Latency, latencyIn } from '../load/latency.ts';
import { type Arrival, openLoop } from '../load/open_loop.ts';
import { introspect, requestTokens } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import type { ScaleRows } from './scale_rows.ts';

export type Storage = 'sqlite' | 'postgres';

export interface MeasureScaleOrder {
  readonly storage: Storage;
  readonly tokens: number;
  /** Requests of each kind, one after another. */
  readonly requests: number;
  /** How long steps under load take: at rest, and at most while rows are swept. */
  readonly seconds: number;
  /** No backup is made if the database, its copy, the backup and the restored database need more gigabytes. */
  readonly gigabytes: number;
  /** Called with what begins. */
  readonly onStep: (text: string) => void;
  /** Called with each figure when it is known: a later step may fail. */
  readonly onFigure: (figure: Figure) => void;
}

/** Something that was measured. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  /** NaN: it was not measured. */
  readonly value: number;
}

/** Keys and password hashes as in production, unlike in tests. */
export const ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=8',
  MALLOC_ARENA_MAX: '2',
  // A machine that is busy with other work still measures to the end.
  GRANTD_DATABASE_CONNECT_TIMEOUT_MS: '20000',
};
const READS_PER_SECOND = 200;
const WRITES_PER_SECOND = 20;
/** A filled database with one server, and how to reach both. */
export interface Stage {
  readonly order: MeasureScaleOrder;
  readonly cluster: Cluster;
  readonly server: ServerProcess;
  readonly folder: string;
  readonly postgres: PostgresCluster | undefined;
  readonly rows: ScaleRows;
  /** Live grants with opaque tokens, each for one use. */
  readonly grants: Iterator<number>;
  add(name: string, unit: string, value: number): void;
}

/** Grants all over the database, each once. */
export function* liveGrants(rows: ScaleRows): Generator<number, never> {
  // The step has no factor in common with the number of grants, so every grant comes once.
  let step = Math.floor(rows.grants * 0.618) | 1;
  while (greatestCommonDivisor(step, rows.grants) !== 1) step += 2;
  for (let place = 0, grant = 0; place < rows.grants; place++, grant = (grant + step) % rows.grants)
    if (rows.liveTokensOf(grant) !== undefined) yield grant;
  throw new Error('more live grants are needed than there are: lower --requests');
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}

export function take(stage: Stage, count: number) {
  return Array.from({ length: count }, () => {
    const grant = Number(stage.grants.next().value);
    const tokens = stage.rows.liveTokensOf(grant);
    if (tokens === undefined) throw new Error(`the grant ${grant} is not alive`);
    return { grant, ...tokens };
  });
}

export interface Loaded {
  readonly reads: Latency;
  readonly writes: Latency;
  /** Requests that were answered 503. */
  readonly refused: number;
}

/** Sends reads and writes at a fixed rate during some work. */
export async function underLoad(stage: Stage, work: () => Promise<unknown>): Promise<Loaded> {
  const { server } = stage;
  const tokens = take(stage, Math.min(200, stage.order.requests));
  const connection = new Connection(server.address, { sockets: 64 });
  const stopping = new AbortController();
  const { signal } = stopping;
  const phase = { fromMs: performance.now(), untilMs: Number.POSITIVE_INFINITY };
  // An overloaded server answers 503.
  let refused = 0;
  const read = async () => {
    const seen = await introspect(connection, oneOf(tokens).accessToken);
    if (seen === 'unknown') refused += 1;
    else if (seen !== 'active') throw new Error(`a live token was ${seen}`);
  };
  const write = async () => {
    const form = { grant_type: 'client_credentials' };
    const issued = await requestTokens(connection, form, CLIENTS.opaque.id);
    if (issued === 'unknown') refused += 1;
    else if (issued === 'refused') throw new Error('a request was refused');
  };
  try {
    const [reads, writes] = await Promise.all([
      openLoop({ rate: READS_PER_SECOND, send: read, signal }),
      openLoop({ rate: WRITES_PER_SECOND, send: write, signal }),
      work().finally(() => stopping.abort()),
    ]);
    const latency = (arrivals: readonly Arrival[]) => latencyIn([phase], arrivals);
    return { reads: latency(reads), writes: latency(writes), refused };
  } finally {
    connection.close();
  }
}

export function addLoaded({ add }: Stage, name: string, { reads, writes, refused }: Loaded): void {
  for (const [kind, latency] of Object.entries({ introspection: reads, issuing: writes })) {
    add(`${name}, ${kind}: median`, 'ms', latency.p50);
    add(`${name}, ${kind}: 99 %`, 'ms', latency.p99);
    add(`${name}, ${kind}: longest`, 'ms', latency.max);
  }
  add(`${name}: requests answered 503`, '', refused);
}
