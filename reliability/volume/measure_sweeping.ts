import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { grantd, type Workbench } from '../../server/test/harness/program.ts';
import { openLibrary, registerClients } from '../deployments/library.ts';
import { startOnSqlite } from '../deployments/sqlite.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { type Arrival, openLoop } from '../load/open_loop.ts';
import { percentile } from '../load/percentiles.ts';
import { introspect } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import { BulkRows } from './bulk_rows.ts';

export interface SweepingOrder {
  readonly by: 'serve' | 'gc';
  /** Expired rows in all rounds together. */
  readonly rows: number;
  readonly rounds: number;
  /** Introspections a second. */
  readonly rate: number;
  /** Seconds without anything to sweep, before each sweep. */
  readonly restSeconds: number;
  /** Rows a second that a sweep manages at the least: it says how long a round is. */
  readonly slowestRows: number;
  readonly onProgress: (text: string) => void;
}

/** Latencies in milliseconds. */
export interface Phase {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface Comparison {
  readonly rest: Phase;
  readonly sweep: Phase;
  readonly rowsPerSecond: number;
}

export interface SweepingReport {
  readonly rounds: readonly Comparison[];
  readonly all: Comparison;
}

const LIVE_TOKENS = 1000;
const LIVE_ROWS = 100_000;
const WARM_UP_SECONDS = 10;
const SETTLE_MS = 2000;
const SOCKETS = 128;
const POLL_MS = 100;
const LONGEST_GC_MS = 600_000;

/** @throws Error a token that is alive was not answered so, or a sweep took longer than its round */
export async function measureSweeping(workbench: Workbench, order: SweepingOrder): Promise<SweepingReport> {
  const { by, rows, rounds, rate, restSeconds, slowestRows, onProgress } = order;
  const folder = workbench.folder();
  const sweepInterval = by === 'serve' ? 1 : 86_400;
  const cluster = await startOnSqlite(workbench, folder, {
    processes: 1,
    flags: ['--sweep-interval', String(sweepInterval)],
  });
  const [server] = cluster.servers;
  if (server === undefined) throw new Error('no server was started');
  const library = await openLibrary(cluster);
  await registerClients(library);
  const issued = await library.opaque.issueTokens({ clientId: CLIENTS.opaque.id }, LIVE_TOKENS);
  const live = issued.map(({ accessToken }) => accessToken);

  const database = new DatabaseSync(join(folder, 'grantd.db'));
  database.exec('PRAGMA busy_timeout = 10000');
  const bulk = new BulkRows(database);
  await bulk.prepare(library);
  await library.close();
  const each = Math.floor(rows / rounds);
  const roundSeconds = restSeconds + Math.ceil(each / slowestRows);
  // Filling takes a while as well; when it is over, the rounds begin.
  const firstRound = Math.ceil(Date.now() / 1000) + WARM_UP_SECONDS + Math.ceil((rows + LIVE_ROWS) / 30_000);
  const expiryOf = (round: number) => firstRound + round * roundSeconds + restSeconds;
  bulk.add('live', LIVE_ROWS, firstRound + 86_400);
  for (let round = 0; round < rounds; round++) {
    onProgress(`filling: ${round * each} rows`);
    bulk.add(`round-${round}`, each, expiryOf(round));
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  if (Date.now() >= firstRound * 1000) throw new Error('filling the database took longer than was thought');

  const connection = new Connection(server.address, { sockets: SOCKETS });
  const stopping = new AbortController();
  const measuring = openLoop({
    rate,
    signal: stopping.signal,
    async send() {
      if ((await introspect(connection, oneOf(live))) !== 'active')
        throw new Error('a live token was not active');
    },
  });
  const spans: { restFromMs: number; dueMs: number; fromMs: number; untilMs: number }[] = [];
  const follow = async () => {
    for (let round = 0; round < rounds; round++) {
      const restFromMs = performance.now();
      const dueInMs = expiryOf(round) * 1000 - Date.now();
      if (dueInMs < SETTLE_MS) throw new Error('a sweep took longer than its round: lower --slowest-rows');
      onProgress(`round ${round + 1} of ${rounds}: rest`);
      await pause(dueInMs);
      const dueMs = performance.now();
      onProgress(`round ${round + 1} of ${rounds}: sweep`);
      const swept = by === 'gc' ? runGc(folder, cluster.database) : undefined;
      const expired = `issuer_id = 1 AND keep_until = ${expiryOf(round)}`;
      const first = database
        .prepare(`SELECT rowid FROM tokens WHERE ${expired} ORDER BY rowid LIMIT 1`)
        .get();
      if (first === undefined) throw new Error('the sweep was over before it was looked for');
      const isThere = database.prepare('SELECT 1 FROM tokens WHERE rowid = ?');
      while (isThere.get(Number(first.rowid)) !== undefined) await pause(POLL_MS);
      const fromMs = performance.now();
      const left = ['tokens', 'principals'].map((table) =>
        database.prepare(`SELECT 1 FROM ${table} WHERE ${expired} LIMIT 1`),
      );
      while (left.some((statement) => statement.get() !== undefined)) await pause(POLL_MS);
      spans.push({ restFromMs, dueMs, fromMs, untilMs: performance.now() });
      await swept;
      await pause(SETTLE_MS);
    }
  };
  const followed = follow().finally(() => stopping.abort());
  const [arrivals] = await Promise.all([measuring, followed]);
  connection.close();
  database.close();

  const phases = spans.map(({ restFromMs, dueMs, fromMs, untilMs }, round) => ({
    rest: between(arrivals, round === 0 ? restFromMs + SETTLE_MS : restFromMs, dueMs),
    sweep: between(arrivals, fromMs, untilMs),
    seconds: (untilMs - fromMs) / 1000,
  }));
  return {
    rounds: phases.map(({ rest, sweep, seconds }) => comparison(rest, sweep, each / seconds)),
    all: comparison(
      phases.flatMap(({ rest }) => rest),
      phases.flatMap(({ sweep }) => sweep),
      (each * rounds) / phases.reduce((sum, { seconds }) => sum + seconds, 0),
    ),
  };
}

async function runGc(folder: string, database: string): Promise<void> {
  const { code, stderr } = await grantd(folder, ['gc', '--database', database], { longestMs: LONGEST_GC_MS });
  if (code !== 0) throw new Error(`grantd gc ended with ${code}: ${stderr}`);
}

/** Milliseconds of those that were due in this span. */
function between(arrivals: readonly Arrival[], fromMs: number, untilMs: number): readonly number[] {
  return arrivals.filter(({ dueMs }) => dueMs >= fromMs && dueMs < untilMs).map(({ latencyMs }) => latencyMs);
}

function comparison(rest: readonly number[], sweep: readonly number[], rowsPerSecond: number): Comparison {
  return { rest: phaseOf(rest), sweep: phaseOf(sweep), rowsPerSecond };
}

function phaseOf(latencies: readonly number[]): Phase {
  return {
    requests: latencies.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    p999: percentile(latencies, 0.999),
    max: percentile(latencies, 1),
  };
}
