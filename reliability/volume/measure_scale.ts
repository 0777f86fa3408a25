import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds, residentBytes } from '../../bench/processes/process_usage.ts';
import { type PostgresCluster, startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { readConfiguration } from '../../server/src/config/configuration.ts';
import { databaseOf } from '../../server/src/data/database_of.ts';
import { openInstance } from '../../server/src/instance/instance.ts';
import type { Workbench } from '../../server/test/harness/program.ts';
import type { Cluster } from '../deployments/cluster.ts';
import { SECRET } from '../deployments/identity.ts';
import { openLibrary } from '../deployments/library.ts';
import { startOnPostgres } from '../deployments/postgres.ts';
import type { ServerProcess } from '../deployments/server_process.ts';
import { startOnSqlite } from '../deployments/sqlite.ts';
import { Connection } from '../load/connection.ts';
import { percentile } from '../load/percentiles.ts';
import { introspect, refresh, requestTokens, revoke } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import { measureBackup } from './scale_backup.ts';
import { ScaleRows } from './scale_rows.ts';
import { writeSamples } from './scale_samples.ts';
import {
  addLoaded,
  ENVIRONMENT,
  type Figure,
  liveGrants,
  type MeasureScaleOrder,
  type Stage,
  take,
  underLoad,
} from './scale_stage.ts';
import {
  POSTGRES_SIZES,
  postgresWriter,
  SQLITE_SIZES,
  type StoredSize,
  sqliteWriter,
} from './scale_stores.ts';

export interface ScaleReport {
  readonly figures: readonly Figure[];
  readonly sizes: readonly StoredSize[];
}

const POSTGRES_SETTINGS = { shared_buffers: '2GB', max_wal_size: '2GB', wal_compression: 'on' };
const FLAGS = ['--sweep-interval', '3600'];
const STARTS = 3;
const ROWS_PER_FLUSH = 200_000;
const MAX_APPLICATIONS = 1000;
/** Servers give up after five seconds. */
const LONGEST_STATEMENT_MS = 900_000;
/** A longer one is not measured. */
const LONGEST_COUNT_MS = 60_000;
const LONGEST_START_MS = 120_000;
const LONGEST_SWEEP_MS = 1_800_000;

/** Fills a database, and measures what operators and clients do with it. */
export async function measureScale(workbench: Workbench, order: MeasureScaleOrder): Promise<ScaleReport> {
  const figures: Figure[] = [];
  const add = (name: string, unit: string, value: number) => {
    figures.push({ name, unit, value });
    order.onFigure({ name, unit, value });
  };
  const folder = workbench.folder();
  const started = { processes: 1, flags: FLAGS, environment: ENVIRONMENT };
  const postgres =
    order.storage === 'postgres' ? await startPostgres({ settings: POSTGRES_SETTINGS }) : undefined;
  try {
    const cluster = postgres
      ? await startOnPostgres(workbench, postgres, [postgres.place.port], started)
      : await startOnSqlite(workbench, folder, started);
    const [server] = cluster.servers;
    if (server === undefined) throw new Error('no server was started');
    const rows = await fill(cluster, server, postgres, order, add);
    const stage = { order, cluster, server, folder, postgres, rows, add, grants: liveGrants(rows) };
    const sizes = await measureSizes(stage);
    await measureSweep(stage);
    await measureStarts(stage);
    await measureRequests(stage);
    await measureRest(stage);
    await measureCounts(stage);
    await measureBackup(stage);
    await measureMassRevocation(stage);
    await server.end('SIGTERM');
    return { figures, sizes };
  } finally {
    await postgres?.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(
  cluster: Cluster,
  server: ServerProcess,
  postgres: PostgresCluster | undefined,
  { tokens, onStep }: MeasureScaleOrder,
  add: Stage['add'],
): Promise<ScaleRows> {
  onStep('one row of each kind');
  const applications = Math.min(MAX_APPLICATIONS, Math.ceil(tokens / 1000));
  const samples = await writeSamples(cluster, applications);
  await server.end('SIGTERM');
  const rows = new ScaleRows(samples, { tokens, applications, nowMs: Date.now() });
  const begunAtMs = performance.now();
  const writer = postgres
    ? await postgresWriter(postgres, asSuperuser(postgres, cluster.database))
    : sqliteWriter(fileOf(cluster));
  let taken = 0;
  let waiting = 0;
  const take = (table: string, row: Parameters<typeof writer.take>[1]) => {
    if (table === 'tokens') taken += 1;
    waiting += 1;
    writer.take(table, row);
  };
  for (let round = 0; round < rows.rounds; round++) {
    rows.write(round, take);
    if (waiting < ROWS_PER_FLUSH) continue;
    await writer.flush();
    waiting = 0;
    onStep(`${taken} of ${tokens} tokens, ${Math.round((performance.now() - begunAtMs) / 1000)} s`);
    await nextTurn();
  }
  await writer.flush();
  await writer.end(rows.lastSequence);
  onStep(`filled in ${Math.round((performance.now() - begunAtMs) / 1000)} s`);
  add('rows of tokens', '', taken);
  add('grants', '', rows.grants);
  add('users', '', rows.users);
  add('events', '', rows.lastSequence);
  await seal(cluster, rows.lastSequence, onStep);
  return rows;
}

/** Seals the events, as a server would have done one after another. */
async function seal(cluster: Cluster, last: number, onStep: (text: string) => void): Promise<void> {
  const configuration = readConfiguration(
    { databaseStatementTimeoutMs: String(LONGEST_STATEMENT_MS) },
    { GRANTD_SECRET: SECRET, GRANTD_DATABASE: cluster.database },
  );
  const database = await databaseOf(configuration, process.env);
  const progress = setInterval(() => {
    void cluster
      .rows('SELECT last_sequence FROM audit_heads')
      .then(([head]) => onStep(`${head?.last_sequence} of ${last} events sealed`));
  }, 2000);
  try {
    const { auditTrail, secret } = await openInstance(configuration, database, cluster.issuer, 'cli');
    await auditTrail.seal(secret());
  } finally {
    clearInterval(progress);
    await database.close();
  }
}

function asSuperuser({ url }: PostgresCluster, database: string): string {
  const address = new URL(url);
  address.pathname = new URL(database).pathname;
  return address.href;
}

function fileOf({ database }: Cluster): string {
  return database.slice('sqlite:'.length);
}

async function measureSizes({ order, cluster, postgres, add }: Stage): Promise<readonly StoredSize[]> {
  order.onStep('sizes');
  const found = await cluster.rows(postgres ? POSTGRES_SIZES : SQLITE_SIZES);
  const sizes = found.map(({ name, bytes }) => ({ name: String(name), bytes: Number(bytes) }));
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  add('size of the database', 'GB', all / 1e9);
  add('size of the database for each token', 'bytes', all / order.tokens);
  return sizes;
}

async function measureStarts(stage: Stage): Promise<void> {
  const { order, server, postgres, add } = stage;
  const [{ accessToken } = { accessToken: '' }] = take(stage, 1);
  const startedMs: number[] = [];
  const firstMs: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    order.onStep(`start ${start + 1} of ${STARTS}`);
    await server.end('SIGTERM');
    const begunAtMs = performance.now();
    startedMs.push(await server.start());
    await answered(server, accessToken, 'active');
    firstMs.push(performance.now() - begunAtMs);
  }
  add('start: until the server listens', 'ms', percentile(startedMs, 0.5));
  add('start: until the first right answer', 'ms', percentile(firstMs, 0.5));
  add('resident memory after the start', 'MB', memoryOf(server));
  order.onStep('start after a crash');
  await server.end('SIGKILL');
  const crashedAtMs = performance.now();
  await server.start();
  await answered(server, accessToken, 'active');
  add('start after a crash: until the first right answer', 'ms', performance.now() - crashedAtMs);
  if (postgres !== undefined) return;
  order.onStep('start without cached pages');
  await server.end('SIGTERM');
  const hasDropped = dropCachedPages(fileOf(stage.cluster));
  const begunAtMs = performance.now();
  await server.start();
  await answered(server, accessToken, 'active');
  const coldMs = performance.now() - begunAtMs;
  const { pid } = server.running();
  const readBefore = bytesRead(pid);
  const tokens = take(stage, order.requests);
  const times = await oneAfterAnother(server, tokens, ({ accessToken: token }, connection) =>
    expectActive(connection, token),
  );
  const read = (bytesRead(pid) - readBefore) / tokens.length;
  const unless = (value: number) => (hasDropped ? value : Number.NaN);
  add('start with the file out of memory: until the first right answer', 'ms', unless(coldMs));
  add('introspection with the file out of memory: median', 'ms', unless(percentile(times, 0.5)));
  add('introspection with the file out of memory: 99 %', 'ms', unless(percentile(times, 0.99)));
  add('introspection with the file out of memory: read from disk', 'kB', unless(read / 1000));
}

/** Lets the system forget a file that no process has open. @returns whether it could */
function dropCachedPages(file: string): boolean {
  return spawnSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' }).status === 0;
}

function bytesRead(pid: number): number {
  try {
    return Number(/^read_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
  } catch {
    return Number.NaN; // another system
  }
}

/** Waits for the first answer that is no fault: after a crash, the server checks its file first. */
async function answered(
  server: ServerProcess,
  token: string,
  expected: 'active' | 'inactive',
): Promise<void> {
  const connection = new Connection(server.address);
  const endsAtMs = performance.now() + LONGEST_START_MS;
  try {
    let seen = await introspect(connection, token);
    while (seen === 'unknown' && performance.now() < endsAtMs) {
      await pause(10);
      seen = await introspect(connection, token);
    }
    if (seen !== expected) throw new Error(`the first answer was ${seen}, not ${expected}`);
  } finally {
    connection.close();
  }
}

function memoryOf(server: ServerProcess): number {
  return (residentBytes(server.running().pid) ?? Number.NaN) / 1e6;
}

async function expectActive(connection: Connection, token: string): Promise<void> {
  const seen = await introspect(connection, token);
  if (seen !== 'active') throw new Error(`a live token was ${seen}`);
}

type Send<T> = (item: T, connection: Connection) => Promise<unknown>;

/** @returns the duration of each request in milliseconds */
async function oneAfterAnother<T>(
  server: ServerProcess,
  items: readonly T[],
  send: Send<T>,
): Promise<readonly number[]> {
  const connection = new Connection(server.address);
  const times: number[] = [];
  try {
    for (const item of items) {
      const begunAtMs = performance.now();
      await send(item, connection);
      times.push(performance.now() - begunAtMs);
    }
  } finally {
    connection.close();
  }
  return times;
}

/** Sends requests one after another, and adds their times and the CPU time of each. */
async function measured<T>(stage: Stage, name: string, items: readonly T[], send: Send<T>): Promise<void> {
  const { order, server, postgres, add } = stage;
  order.onStep(name);
  const cpu = () => [server.running().pid, ...(postgres ? [postgres.pid] : [])].map((pid) => cpuSeconds(pid));
  const before = cpu();
  const times = await oneAfterAnother(server, items, send);
  const [own, database] = cpu().map(
    (after, at) => (((after ?? Number.NaN) - (before[at] ?? 0)) * 1e6) / items.length,
  );
  add(`${name}: median`, 'ms', percentile(times, 0.5));
  add(`${name}: 99 %`, 'ms', percentile(times, 0.99));
  add(`${name}: CPU of grantd`, 'µs', own ?? Number.NaN);
  if (database !== undefined) add(`${name}: CPU of PostgreSQL`, 'µs', database);
}

async function measureRequests(stage: Stage): Promise<void> {
  const { order, server, add } = stage;
  // The server compiles its code.
  const warm = take(stage, order.requests);
  for (let round = 0; round < 2; round++)
    await oneAfterAnother(server, warm, ({ accessToken }, connection) =>
      expectActive(connection, accessToken),
    );
  const seen = take(stage, order.requests);
  const look: Send<(typeof seen)[number]> = ({ accessToken }, connection) =>
    expectActive(connection, accessToken);
  await measured(stage, 'introspection, not cached', seen, look);
  await measured(stage, 'introspection, cached', seen, look);
  const few = Math.ceil(order.requests / 4);
  const requireDone = (outcome: unknown) => {
    if (outcome === 'refused' || outcome === 'unknown') throw new Error(`a request was ${outcome}`);
  };
  await measured(stage, 'issuing', Array(few).fill(CLIENTS.opaque.id), async (id, connection) =>
    requireDone(await requestTokens(connection, { grant_type: 'client_credentials' }, id)),
  );
  await measured(stage, 'refresh', take(stage, few), async ({ refreshToken }, connection) =>
    requireDone(await refresh(connection, refreshToken)),
  );
  await measured(stage, 'revocation', take(stage, few), async ({ accessToken, grant }, connection) =>
    requireDone(await revoke(connection, accessToken, stage.rows.clientOf(grant))),
  );
  add('resident memory after the requests', 'MB', memoryOf(server));
}

/** Long enough for everything that the server does once a minute. */
async function measureRest(stage: Stage): Promise<void> {
  stage.order.onStep('at rest');
  addLoaded(stage, 'nothing else to do', await underLoad(stage, () => pause(stage.order.seconds * 1000)));
}

async function measureCounts({ order, cluster, rows, add }: Stage): Promise<void> {
  const library = await openLibrary(cluster, { statementTimeoutMs: LONGEST_COUNT_MS });
  try {
    const timed = async (name: string, work: () => unknown) => {
      order.onStep(name);
      const begunAtMs = performance.now();
      try {
        await work();
        add(name, 'ms', performance.now() - begunAtMs);
      } catch (error) {
        order.onStep(`${name}: ${error}`);
        add(name, 'ms', Number.NaN);
      }
    };
    const { storage } = library;
    const subject = rows.subjectOf(rows.grants - 1);
    const small = rows.clientOf(2);
    await timed('grants of a user', () => storage.grantsOf(subject));
    await timed('counting the live tokens of a user', () =>
      storage.countAlive({ principal: 'subject', id: subject }),
    );
    await timed('counting the live tokens of a small client', () =>
      storage.countAlive({ principal: 'client', id: small }),
    );
    await timed('the live tokens of a small client, at most 1,001', () => storage.aliveOfClient(small, 1001));
    await timed('counting the live tokens of the largest client', () =>
      storage.countAlive({ principal: 'client', id: CLIENTS.web.id }),
    );
    await timed('counting all live tokens', () =>
      storage.countAlive({ issuedBeforeMs: Number.MAX_SAFE_INTEGER }),
    );
  } finally {
    await library.close();
  }
}

/** A server sweeps when it has started. */
async function measureSweep(stage: Stage): Promise<void> {
  const { order, cluster, server, add } = stage;
  const expired = async () => {
    const [row] = await cluster.rows(
      `SELECT count(*) AS n FROM tokens WHERE keep_until <= ${stage.rows.sweptUntil}`,
    );
    return Number(row?.n);
  };
  const before = await expired();
  let left = before;
  /** @returns milliseconds since the first deletion that was seen */
  const sweep = async (longestMs: number): Promise<number> => {
    let begunAtMs = performance.now();
    while (left > 0 && performance.now() - begunAtMs < longestMs) {
      await pause(Math.min(1000, order.seconds * 100));
      if (left === before) begunAtMs = performance.now();
      left = await expired();
      order.onStep(`${before - left} of ${before} expired tokens deleted`);
      if (left === before && performance.now() > endsAtMs) break;
    }
    return performance.now() - begunAtMs;
  };
  await server.start();
  const endsAtMs = performance.now() + LONGEST_SWEEP_MS;
  let sweptMs = 0;
  const loaded = await underLoad(stage, async () => {
    sweptMs = await sweep(order.seconds * 1000);
  });
  add('expired tokens', '', before);
  add('sweep: tokens a second', '', ((before - left) * 1000) / sweptMs);
  addLoaded(stage, 'during the sweep', loaded);
  await sweep(LONGEST_SWEEP_MS);
  if (left > 0) throw new Error('the sweep took too long');
}

async function measureMassRevocation(stage: Stage): Promise<void> {
  const { order, cluster, server, rows, add } = stage;
  const library = await openLibrary(cluster);
  try {
    const revoked = async (
      name: string,
      target: Parameters<typeof library.storage.revokeAll>[0],
      token: string,
    ) => {
      order.onStep(name);
      await answered(server, token, 'active');
      const begunAtMs = performance.now();
      if (!(await library.storage.revokeAll(target))) throw new Error(`${name} changed nothing`);
      const returnedAtMs = performance.now();
      await answered(server, token, 'inactive');
      add(name, 'ms', returnedAtMs - begunAtMs);
      add(`${name}: first answer afterwards`, 'ms', performance.now() - returnedAtMs);
    };
    const [first, second, third] = take(stage, 3);
    if (!first || !second || !third) throw new Error('there are too few grants');
    await revoked(
      'revoking all tokens of a user',
      { principal: 'subject', id: rows.subjectOf(first.grant) },
      first.accessToken,
    );
    await revoked(
      'revoking all tokens of the largest client',
      { principal: 'client', id: CLIENTS.web.id },
      second.accessToken,
    );
    const [machine] = await library.opaque.operator.issueTokens({ clientId: CLIENTS.opaque.id });
    await pause(2);
    await revoked(
      'revoking everything before a moment',
      { issuedBeforeMs: Date.now() },
      machine?.accessToken ?? '',
    );
  } finally {
    await library.close();
  }
}
