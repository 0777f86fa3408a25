import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { grantd, type Workbench } from '../../server/test/harness/program.ts';
import { openLibrary, registerClients } from '../deployments/library.ts';
import { startOnSqlite } from '../deployments/sqlite.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { type Latency, latencyIn } from '../load/latency.ts';
import { type Arrival, openLoop } from '../load/open_loop.ts';
import { introspect } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import { BulkRows } from './bulk_rows.ts';
import { type Round, type RoundsOrder, SweepingRounds } from './sweeping_rounds.ts';

export interface SweepingOrder extends RoundsOrder {
  readonly by: 'serve' | 'gc';
  /** Introspections per second. */
  readonly rate: number;
  readonly onRound: (round: number) => void;
}

export interface Comparison {
  readonly rest: Latency;
  readonly sweep: Latency;
  readonly rowsPerSecond: number;
}

interface SweepingReport {
  readonly rounds: readonly Comparison[];
  readonly all: Comparison;
}

const LIVE_TOKENS = 1000;
const LIVE_ROWS = 100_000;
const SOCKETS = 128;
const LONGEST_GC_MS = 600_000;
const DAY = 86_400;

/** @throws Error if a live token was not reported as active, or a sweep took longer than its round */
export async function measureSweeping(workbench: Workbench, order: SweepingOrder): Promise<SweepingReport> {
  const folder = workbench.folder();
  const sweepInterval = order.by === 'serve' ? 1 : DAY;
  const cluster = await startOnSqlite(workbench, folder, {
    processes: 1,
    flags: ['--sweep-interval', String(sweepInterval)],
  });
  const library = await openLibrary(cluster);
  await registerClients(library);
  const issued = await library.opaque.operator.issueTokens({ clientId: CLIENTS.opaque.id }, LIVE_TOKENS);
  const live = issued.map(({ accessToken }) => accessToken);
  const database = new DatabaseSync(join(folder, 'grantd.db'));
  database.exec('PRAGMA busy_timeout = 10000');
  const bulk = new BulkRows(database);
  await bulk.prepare(library);
  await library.close();

  const rounds = new SweepingRounds(database, order, LIVE_ROWS);
  bulk.add('live', LIVE_ROWS, Math.ceil(Date.now() / 1000) + DAY);
  rounds.fill(bulk);
  const sweep = order.by === 'gc' ? () => runGc(folder, cluster.database) : async () => {};
  const [server] = cluster.servers;
  if (server === undefined) throw new Error('no server was started');
  const stopping = new AbortController();
  const follow = async () => {
    const seen: Round[] = [];
    for (let round = 0; round < order.rounds; round++) {
      order.onRound(round);
      seen.push(await rounds.run(round, sweep));
    }
    return seen;
  };
  const loaded = loadUntil(stopping.signal, server.address, live, order.rate);
  const [seen, arrivals] = await Promise.all([follow().finally(() => stopping.abort()), loaded]);
  database.close();
  return {
    rounds: seen.map((round) => comparison([round], arrivals, order.rows)),
    all: comparison(seen, arrivals, order.rows),
  };
}

async function loadUntil(
  signal: AbortSignal,
  address: string,
  live: readonly string[],
  rate: number,
): Promise<readonly Arrival[]> {
  const connection = new Connection(address, { sockets: SOCKETS });
  const send = async () => {
    const seen = await introspect(connection, oneOf(live));
    if (seen !== 'active') throw new Error(`a live token was ${seen}`);
  };
  return openLoop({ rate, signal, send }).finally(() => connection.close());
}

async function runGc(folder: string, database: string): Promise<void> {
  const gc = await grantd(folder, ['gc', '--database', database], { longestMs: LONGEST_GC_MS });
  if (gc.code !== 0) throw new Error(`grantd gc ended with ${gc.code}: ${gc.stderr}`);
}

/** @param rows per round */
function comparison(rounds: readonly Round[], arrivals: readonly Arrival[], rows: number): Comparison {
  const sweeps = rounds.map(({ sweep }) => sweep);
  const sweptMs = sweeps.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0);
  return {
    rest: latencyIn(
      rounds.map(({ rest }) => rest),
      arrivals,
    ),
    sweep: latencyIn(sweeps, arrivals),
    rowsPerSecond: (rows * rounds.length * 1000) / sweptMs,
  };
}
