import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { BulkRows } from '../../reliability/volume/bulk_rows.ts';
import type { Generator } from '../load/generator.ts';
import { type OpenLoopOrder, type OpenLoopResult, runOpenLoop } from '../load/open_loop.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import { BENCH_CLIENTS, clientOf } from '../population/clients.ts';
import { watch } from '../processes/cpu_watch.ts';
import { startMeasured } from '../processes/measured_process.ts';
import { requireRight } from '../running.ts';
import { grantd } from '../subjects/contestants.ts';
import { ACTIVE, ISSUED, REVOKED } from './answers.ts';
import { mixed, revokingBoth } from './mix.ts';
import { introspecting, issuing, revoking } from './requests.ts';
import { type Stage, tokensOf } from './stage.ts';

const name = 'open-loop';

/** Arrivals per second, unless that is more than half of what the server can do. */
const RATE = 5000;
const PART_OF_MAXIMUM = 0.5;
/** One in 20 arrivals writes: 4 % issue, 1 % revoke. */
const WRITE_EVERY = 20;
const WRITES_PER_REVOCATION = 5;
const CONNECTIONS = 256;

const LONGEST_FIRST_SECONDS = 120;
const SECONDS = { warmUp: 3, maximum: 5, rest: 20, sweep: 60 };
/** The slowest filling with rows to sweep, in rows per second, and the longest time from its end to that of the rest. */
const SLOWEST_FILLING = 40_000;
const UNTIL_EXPIRY_SECONDS = LONGEST_FIRST_SECONDS + 2 * SECONDS.warmUp + SECONDS.maximum + SECONDS.rest + 10;
const LONGEST_WAIT_MS = 180_000;
const POLL_MS = 100;

const ANSWERS = [ACTIVE, ISSUED, REVOKED];

/** Latencies of requests that arrive at a fixed rate. */
export interface OpenLoop {
  /** What the server answers if each connection sends its next request at once. */
  readonly maximumPerSecond: number;
  readonly rest: OpenLoopResult;
  /** While expired rows are swept. */
  readonly sweeping: OpenLoopResult & { readonly sweptTokens: number };
}

interface MeasuredOpenLoop {
  readonly openLoop: OpenLoop;
  /** The share of one core that other programs used; `undefined` if the system does not report it. */
  readonly othersCpu: number | undefined;
}

/** The rate at which requests arrive at a server that can answer `maximum` per second. */
export function rateFor(maximum: number): number {
  return Math.max(1, Math.min(RATE, Math.floor(PART_OF_MAXIMUM * maximum)));
}

/** Four issuances, then a revocation, repeated for each token to revoke. */
export function writing(issue: PlannedRequest, revocations: readonly PlannedRequest[]) {
  return revocations.flatMap((revocation) => [
    ...Array.from({ length: WRITES_PER_REVOCATION - 1 }, () => issue),
    revocation,
  ]);
}

/**
 * One process, first at rest, then while it sweeps as many expired rows as there are live ones. They lie in the
 * database from the start and expire in between.
 */
export async function measureOpenLoop(stage: Stage, generator: Generator): Promise<MeasuredOpenLoop> {
  const population = await stage.population();
  const introspections = introspecting(tokensOf(population, 'jwt_rs256'));
  const issue = issuing(BENCH_CLIENTS.machine_es256);
  const revocations = revokingBoth(
    revoking(tokensOf(population, 'opaque'), clientOf('opaque')).slice(0, stage.sizes.personal),
    revoking(tokensOf(population, 'web_refresh'), clientOf('web_refresh')),
  );
  const half = Math.floor(revocations.length / 2);
  const reads = { ...(await stage.requests(`${name}.reads`, introspections)), answers: ANSWERS };
  const closed = await stage.requests(
    `${name}.closed`,
    mixed({ introspections, issue, revocations: revocations.slice(0, half) }),
  );
  const { requests: writes } = await stage.requests(
    `${name}.writes`,
    writing(issue, revocations.slice(half)),
  );

  const rows = stage.sizes.records;
  const expiresAt = Math.ceil(Date.now() / 1000) + Math.ceil(rows / SLOWEST_FILLING) + UNTIL_EXPIRY_SECONDS;
  const untilExpiryMs = () => expiresAt * 1000 - Date.now();
  // The first sweep is at the start, when nothing has expired. The next one is the one to be measured.
  const flags = () => ['--sweep-interval', String(Math.ceil(untilExpiryMs() / 1000))];
  const { process, database = '', beforeStart } = grantd(stage, population, reads, { changes: true });
  beforeStart?.();
  stage.say(`${name}: ${rows} rows to sweep`);
  addExpiring(database, rows, expiresAt);

  const running = await startMeasured({
    ...process,
    command: (port) => [...process.command(port), ...flags()],
  });
  const rowsToSweep = new DatabaseSync(database, { readOnly: true });
  try {
    const { address, pid } = running;
    const load = { address, answers: ANSWERS, connections: 32, from: 0 };
    const send = async (requests: string, limits: { seconds: number; from?: number; count?: number }) => {
      const result = await generator.run({ ...load, requests, ...limits });
      requireRight(name, 'grantd', result);
      return result;
    };
    await send(reads.requests, { seconds: LONGEST_FIRST_SECONDS, count: reads.requestCount });
    const { sent } = await send(closed.requests, { seconds: SECONDS.warmUp });
    const { right, seconds } = await send(closed.requests, { seconds: SECONDS.maximum, from: sent });
    const maximumPerSecond = Object.values(right).reduce((sum, count) => sum + count, 0) / seconds;

    const watched = watch({ server: pid });
    const order: OpenLoopOrder = {
      ...{ address, reads: reads.requests, writes, writeEvery: WRITE_EVERY, fromWrite: 0, answers: ANSWERS },
      ...{ connections: CONNECTIONS, rate: rateFor(maximumPerSecond) },
      ...{ warmUpSeconds: SECONDS.warmUp, seconds: SECONDS.rest },
    };
    const rest = await runOpenLoop(order);
    if (untilExpiryMs() < 0)
      throw new Error(`${name}: the rows to sweep expired ${-untilExpiryMs() / 1000} s too early`);

    const first = firstOf(rowsToSweep, expiresAt);
    if (first === undefined) throw new Error(`${name}: the sweep began too early`);
    const deadlineMs = performance.now() + untilExpiryMs() + LONGEST_WAIT_MS;
    while (firstOf(rowsToSweep, expiresAt) === first) {
      if (performance.now() > deadlineMs) throw new Error(`${name}: the server does not sweep`);
      await sleep(POLL_MS);
    }
    const before = countOf(rowsToSweep, expiresAt);
    const swept = new AbortController();
    const poll = setInterval(() => {
      if (firstOf(rowsToSweep, expiresAt) === undefined) swept.abort();
    }, POLL_MS);
    const sweeping = await runOpenLoop(
      { ...order, fromWrite: rest.writes, warmUpSeconds: 1, seconds: SECONDS.sweep },
      swept.signal,
    ).finally(() => clearInterval(poll));
    if (sweeping.arrivals < order.rate) throw new Error(`${name}: the sweep was over within two seconds`);
    return {
      openLoop: {
        maximumPerSecond,
        rest,
        sweeping: { ...sweeping, sweptTokens: before - countOf(rowsToSweep, expiresAt) },
      },
      othersCpu: watched().othersCpu,
    };
  } finally {
    rowsToSweep.close();
    await running.end();
  }
}

/** Copies rows of the population, with another expiry. */
function addExpiring(path: string, rows: number, expiresAt: number): void {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000');
    new BulkRows(database).add(name, rows, expiresAt);
    // Otherwise the system would write the rows to the disk during the measurement, and commits would wait.
    database.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}

const EXPIRING = 'FROM tokens WHERE issuer_id = 1 AND keep_until = ?';

/** The row that is swept first. */
function firstOf(database: DatabaseSync, expiresAt: number): unknown {
  return database.prepare(`SELECT rowid ${EXPIRING} ORDER BY rowid LIMIT 1`).get(expiresAt)?.rowid;
}

function countOf(database: DatabaseSync, expiresAt: number): number {
  return Number(database.prepare(`SELECT count(*) AS count ${EXPIRING}`).get(expiresAt)?.count);
}
