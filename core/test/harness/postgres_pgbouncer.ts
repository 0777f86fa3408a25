import { spawn, spawnSync } from 'node:child_process';
import { chownSync, closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { freePort } from './free_port.ts';
import { serverFolder } from './postgres_folders.ts';
import { type Account, unprivilegedAccount } from './postgres_installation.ts';
import { until } from './postgres_processes.ts';
import { ENVIRONMENT } from './postgres_programs.ts';
import { removeWithServers } from './postgres_remains.ts';
import { OWNER, type PostgresServer, throughPort } from './postgres_server.ts';

export interface PgBouncerOptions {
  readonly poolMode: 'transaction' | 'session' | 'statement';
  /** Prepared statements per server connection. 0 or absent: PgBouncer does not support prepared statements. */
  readonly maxPreparedStatements?: number;
  /** Server connections per user and database. */
  readonly poolSize?: number;
}

export interface PgBouncer {
  /** The same database through PgBouncer. */
  through(url: string): string;
  logs(): string;
  remove(): Promise<void>;
}

interface Installed {
  readonly path: string;
  readonly version: readonly number[];
}

/** PgBouncer versions that track prepared statements in transaction mode. */
const FIRST_WITH_PREPARED_STATEMENTS = [1, 21];

/** Why tests that need PgBouncer are skipped here, for a test's option `skip`; `false` if it is installed. */
export function pgBouncerAbsence({
  maxPreparedStatements = 0,
}: Partial<PgBouncerOptions> = {}): string | false {
  const installed = installedPgBouncer();
  if (!installed) return 'PgBouncer is not installed (apt-get install pgbouncer)';
  const [major = 0, minor = 0] = installed.version;
  const [neededMajor = 0, neededMinor = 0] = FIRST_WITH_PREPARED_STATEMENTS;
  const isOld = major < neededMajor || (major === neededMajor && minor < neededMinor);
  if (maxPreparedStatements > 0 && isOld) {
    return `PgBouncer ${major}.${minor} does not know max_prepared_statements, 1.21 does`;
  }
  return false;
}

/** @throws the text of `pgBouncerAbsence`, if it is absent */
export async function startPgBouncer(server: PostgresServer, options: PgBouncerOptions): Promise<PgBouncer> {
  const absence = pgBouncerAbsence(options);
  const installed = installedPgBouncer();
  if (absence !== false || !installed) throw new Error(absence || 'PgBouncer is not installed');
  const account = await unprivilegedAccount();
  const folder = await serverFolder('pgbouncer', account);
  const port = await freePort();
  const configuration = configure(server, options, { folder, port, account });
  const logFile = join(folder, 'log');
  const log = openSync(logFile, 'a');
  const child = spawn(installed.path, [configuration], {
    ...account,
    cwd: folder,
    env: ENVIRONMENT,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.unref();
  child.once('error', () => {});
  const bouncer: PgBouncer = {
    through: (url) => throughPort(url, port),
    logs: () => readFileSync(logFile, 'utf8').trimEnd(),
    remove: () => removeWithServers(folder),
  };
  try {
    await until('PgBouncer to listen', 10_000, () => {
      if (child.pid === undefined || child.exitCode !== null) throw new Error('it ended at once');
      return listens(port);
    });
  } catch (cause) {
    const logs = bouncer.logs();
    await bouncer.remove();
    throw new Error(`PgBouncer does not start:\n${logs}`, { cause });
  }
  return bouncer;
}

/** @returns the path of its pgbouncer.ini */
function configure(
  server: PostgresServer,
  { poolMode, poolSize = 5, maxPreparedStatements = 0 }: PgBouncerOptions,
  { folder, port, account }: { folder: string; port: number; account: Account },
): string {
  const write = (name: string, lines: readonly string[]): string => {
    const path = join(folder, name);
    writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
    if (account.uid !== undefined) chownSync(path, account.uid, account.gid);
    return path;
  };
  const { username, password, port: serverPort } = new URL(server.url);
  const users = write(
    'users',
    [username, OWNER].map((name) => `"${name}" "${password}"`),
  );
  return write('pgbouncer.ini', [
    '[databases]',
    `* = host=127.0.0.1 port=${serverPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${users}`,
    `pool_mode = ${poolMode}`,
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 500',
    // Seconds for which it refuses connections after the server was away. Default: 15.
    'server_login_retry = 1',
    ...(maxPreparedStatements > 0 ? [`max_prepared_statements = ${maxPreparedStatements}`] : []),
  ]);
}

function installedPgBouncer(): Installed | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  const path = folders.map((folder) => join(folder, 'pgbouncer')).find((candidate) => existsSync(candidate));
  if (path === undefined) return undefined;
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  const [, version = ''] = /^PgBouncer (\d+(?:\.\d+)*)/.exec(stdout) ?? [];
  return { path, version: version.split('.').map(Number) };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
