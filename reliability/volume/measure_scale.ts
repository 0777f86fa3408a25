import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds, residentBytes } from '../../bench/processes/process_usage.ts';
import { type PostgresCluster, startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { readConfiguration } from '../../server/src/config/configuration.ts';
import { newIdentity } from '../../server/src/data/backup_file.ts';
import { databaseOf } from '../../server/src/data/database_of.ts';
import { openInstance } from '../../server/src/instance/instance.ts';
import { grantd, outputOf, type Workbench } from '../../server/test/harness/program.ts';
import type { Cluster } from '../deployments/cluster.ts';
import { SECRET } from '../deployments/identity.ts';
import { openLibrary } from '../deployments/library.ts';
import { startOnPostgres } from '../deployments/postgres.ts';
import type { ServerProcess } from '../deployments/server_process.ts';
import { startOnSqlite } from '../deployments/sqlite.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { type Latency, latencyIn } from '../load/latency.ts';
import { type Arrival, openLoop } from '../load/open_loop.ts';
import { percentile } from '../load/percentiles.ts';
import { introspect, refresh, requestTokens, revoke } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import { ScaleRows } from './scale_rows.ts';
import { writeSamples } from './scale_samples.ts';
import {
  POSTGRES_SIZES,
  postgresWriter,
  SQLITE_SIZES,
  type StoredSize,
  sqliteWriter,
} from './scale_stores.ts';

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

export interface ScaleReport {
  readonly figures: readonly Figure[];
  readonly sizes: readonly StoredSize[];
}

const POSTGRES_SETTINGS = { shared_buffers: '2GB', max_wal_size: '2GB', wal_compression: 'on' };
const FLAGS = ['--sweep-interval', '3600'];
/** Keys and password hashes as in production, unlike in tests. */
const ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=8',
  MALLOC_ARENA_MAX: '2',
  // A machine that is busy with other work still measures to the end.
  GRANTD_DATABASE_CONNECT_TIMEOUT_MS: '20000',
};
const READS_PER_SECOND = 200;
const WRITES_PER_SECOND = 20;
const STARTS = 3;
const ROWS_PER_FLUSH = 200_000;
const MAX_APPLICATIONS = 1000;
const LONGEST_BACKUP_MS = 3_600_000;
/** Servers give up after five seconds. */
const LONGEST_STATEMENT_MS = 900_000;
const LONGEST_START_MS = 120_000;
const LONGEST_SWEEP_MS = 1_800_000;

/** A filled database with one server, and how to reach both. */
interface Stage {
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

/** Grants all over the database, each once. */
function* liveGrants(rows: ScaleRows): Generator<number, never> {
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

function take(stage: Stage, count: number) {
  return Array.from({ length: count }, () => {
    const grant = Number(stage.grants.next().value);
    const tokens = stage.rows.liveTokensOf(grant);
    if (tokens === undefined) throw new Error(`the grant ${grant} is not alive`);
    return { grant, ...tokens };
  });
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

interface Loaded {
  readonly reads: Latency;
  readonly writes: Latency;
  /** Requests that were answered 503. */
  readonly refused: number;
}

/** Sends reads and writes at a fixed rate during some work. */
async function underLoad(stage: Stage, work: () => Promise<unknown>): Promise<Loaded> {
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

function addLoaded({ add }: Stage, name: string, { reads, writes, refused }: Loaded): void {
  for (const [kind, latency] of Object.entries({ introspection: reads, issuing: writes })) {
    add(`${name}, ${kind}: median`, 'ms', latency.p50);
    add(`${name}, ${kind}: 99 %`, 'ms', latency.p99);
    add(`${name}, ${kind}: longest`, 'ms', latency.max);
  }
  add(`${name}: requests answered 503`, '', refused);
}

/** Long enough for everything that the server does once a minute. */
async function measureRest(stage: Stage): Promise<void> {
  stage.order.onStep('at rest');
  addLoaded(stage, 'nothing else to do', await underLoad(stage, () => pause(stage.order.seconds * 1000)));
}

async function measureCounts({ order, cluster, rows, add }: Stage): Promise<void> {
  const library = await openLibrary(cluster, { statementTimeoutMs: LONGEST_STATEMENT_MS });
  try {
    const timed = async (name: string, work: () => unknown) => {
      order.onStep(name);
      const begunAtMs = performance.now();
      await work();
      add(name, 'ms', performance.now() - begunAtMs);
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

async function measureBackup(stage: Stage): Promise<void> {
  const { order, folder, cluster, postgres, add } = stage;
  const [row] = await cluster.rows(
    postgres
      ? 'SELECT pg_database_size(current_database())::float8 AS bytes'
      : 'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
  );
  const bytes = Number(row?.bytes);
  let seconds = Number.NaN;
  let backupBytes = Number.NaN;
  let restoredSeconds = Number.NaN;
  let loaded: Loaded = { reads: UNKNOWN, writes: UNKNOWN, refused: Number.NaN };
  if (4 * bytes <= order.gigabytes * 1e9) {
    order.onStep('backup');
    const { identity, recipient } = await newIdentity();
    const to = join(folder, 'backup.age');
    const environment = { ...ENVIRONMENT, GRANTD_SECRET: SECRET, GRANTD_DATABASE: cluster.database };
    const args = ['backup', to, '--recipient', recipient];
    const begunAtMs = performance.now();
    loaded = await underLoad(stage, async () => {
      outputOf(args, await grantd(folder, args, { environment, longestMs: LONGEST_BACKUP_MS }));
    });
    seconds = (performance.now() - begunAtMs) / 1000;
    backupBytes = statSync(to).size;
    order.onStep('restore');
    restoredSeconds = await restore(folder, to, identity);
    rmSync(to);
  }
  add('backup', 's', seconds);
  add('restore to a new SQLite file', 's', restoredSeconds);
  add('size of the backup', 'GB', backupBytes / 1e9);
  addLoaded(stage, 'during the backup', loaded);
}

/** @returns seconds */
async function restore(folder: string, backup: string, identity: string): Promise<number> {
  const [key, restored] = [join(folder, 'backup.key'), join(folder, 'restored.db')];
  writeFileSync(key, identity, { mode: 0o600 });
  const environment = { ...ENVIRONMENT, GRANTD_SECRET: SECRET, GRANTD_DATABASE: `sqlite:${restored}` };
  const args = ['restore', backup, '--identity-file', key];
  const begunAtMs = performance.now();
  outputOf(args, await grantd(folder, args, { environment, longestMs: LONGEST_BACKUP_MS }));
  const seconds = (performance.now() - begunAtMs) / 1000;
  rmSync(restored);
  return seconds;
}

const UNKNOWN: Latency = {
  requests: 0,
  p50: Number.NaN,
  p99: Number.NaN,
  p999: Number.NaN,
  max: Number.NaN,
};

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
