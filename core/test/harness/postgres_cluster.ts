import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { freePort } from './free_port.ts';
import { serverFolder } from './postgres_folders.ts';
import {
  type PostgresInstallation,
  postgresInstallation,
  unprivilegedAccount,
} from './postgres_installation.ts';
import { familyOf, signal, until, untilGone } from './postgres_processes.ts';
import { ENVIRONMENT, runProgram } from './postgres_programs.ts';
import { removeWithServers } from './postgres_remains.ts';
import { ask, OWNER, type PostgresServer, type Row } from './postgres_server.ts';

/** Parameters of postgresql.conf. `fsync` is on by default. */
type PostgresSettings = Readonly<Record<string, string | number | boolean>>;

interface PostgresOptions {
  readonly settings?: PostgresSettings;
}

const SETTINGS: PostgresSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // In the data folder, so that it is deleted with it.
  dynamic_shared_memory_type: 'mmap',
  // A standby that was away for a while finds the missing log.
  wal_keep_size: '256MB',
  // The primary gives up a paused standby, and a standby reconnects, within seconds instead of a minute.
  wal_sender_timeout: '5s',
  wal_retrieve_retry_interval: '200ms',
};

/** @returns a new running server with the roles `postgres`, a superuser, and `grantd` */
export async function startPostgres({ settings = {} }: PostgresOptions = {}): Promise<PostgresCluster> {
  const account = await unprivilegedAccount();
  const folder = await serverFolder('cluster', account);
  const installation = await postgresInstallation(account, folder);
  const password = randomBytes(16).toString('hex');
  const cluster = new PostgresCluster({ folder, installation, password, port: await freePort() });
  try {
    await cluster.initialise({ ...SETTINGS, ...settings });
    await cluster.start();
    await cluster.ask(`CREATE ROLE ${OWNER} LOGIN PASSWORD '${password}'`);
  } catch (error) {
    await cluster.remove();
    throw error;
  }
  return cluster;
}

interface ClusterPlace {
  readonly folder: string;
  readonly installation: PostgresInstallation;
  readonly password: string;
  readonly port: number;
}

/** A server with its own data folder, which ends with this process at the latest. */
export class PostgresCluster implements PostgresServer {
  readonly place: ClusterPlace;
  readonly url: string;
  readonly dataFolder: string;
  readonly #log: string;
  #postmaster: ChildProcess | undefined;

  constructor(place: ClusterPlace) {
    this.place = place;
    this.url = `postgres://postgres:${place.password}@127.0.0.1:${place.port}/postgres`;
    this.dataFolder = join(place.folder, 'data');
    this.#log = join(place.folder, 'log');
  }

  /** Process of the postmaster. */
  get pid(): number {
    const { pid } = this.#postmaster ?? {};
    if (pid === undefined) throw new Error('this PostgreSQL is not running');
    return pid;
  }

  get isRunning(): boolean {
    return this.#postmaster !== undefined;
  }

  async initialise(settings: PostgresSettings): Promise<void> {
    const { folder, installation, password } = this.place;
    const passwordFile = join(folder, 'password');
    appendFileSync(passwordFile, password);
    await runProgram(installation, installation.initdb, [
      `--pgdata=${this.dataFolder}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // A language's order instead of byte order, so that tests notice code that relies on byte order.
      '--locale=C',
      '--locale-provider=icu',
      '--icu-locale=en-US',
      '--no-sync',
      '--no-instructions',
    ]);
    this.configure('postgresql.conf', settings);
  }

  /** Adds to a settings file, which is read at the next start. */
  configure(file: 'postgresql.conf' | 'postgresql.auto.conf', settings: PostgresSettings): void {
    const lines = Object.entries(settings).map(
      ([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`,
    );
    appendFileSync(join(this.dataFolder, file), lines.join(''));
  }

  /**
   * Starts on the existing data.
   * @throws with the log if it does not respond within 60 seconds
   */
  async start(): Promise<void> {
    if (this.#postmaster) throw new Error('this PostgreSQL is running already');
    const { folder, installation, port } = this.place;
    const log = openSync(this.#log, 'a');
    // Every process of the server has the folder in its title, so cleanup can find them.
    const name = `cluster_name=${basename(dirname(folder))}/${basename(folder)}`;
    const args = ['-D', this.dataFolder, '-p', String(port), '-c', name];
    const postmaster = spawn(installation.postgres, args, {
      ...installation.account,
      cwd: folder,
      env: ENVIRONMENT,
      // Ctrl-C is for the tests. The test that started the server ends it.
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    postmaster.unref();
    postmaster.once('error', () => {});
    postmaster.once('exit', () => {
      if (this.#postmaster === postmaster) this.#postmaster = undefined;
    });
    this.#postmaster = postmaster;
    let ended = false;
    await until('PostgreSQL to start', 60_000, () => {
      ended = this.#postmaster !== postmaster || postmaster.pid === undefined;
      return ended || this.#isReady(postmaster.pid);
    }).catch((cause) => {
      throw new Error(`PostgreSQL does not start:\n${this.logs()}`, { cause });
    });
    if (ended) throw new Error(`PostgreSQL ended while it started:\n${this.logs()}`);
  }

  /**
   * `fast` ends connections and writes a checkpoint. `immediate` ends as in a crash, with recovery at the next start.
   */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const family = familyOf(this.pid);
    signal(family, 'SIGCONT');
    signal([this], mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await this.#untilEnded(family, 60_000);
  }

  /** As if the machine had run out of memory: every process of the server is killed at once. */
  async kill(): Promise<void> {
    await this.pause();
    const family = familyOf(this.pid);
    signal(family, 'SIGKILL');
    await this.#untilEnded(family, 10_000);
  }

  /** A server that hangs: neither pending statements nor new connections get a response. */
  async pause(): Promise<void> {
    const { pid } = this;
    await until('PostgreSQL to be paused', 10_000, () => {
      const family = familyOf(pid);
      signal(
        family.filter(({ stopped }) => !stopped),
        'SIGSTOP',
      );
      return family.every(({ stopped }) => stopped);
    });
  }

  async resume(): Promise<void> {
    const { pid } = this;
    signal(familyOf(pid), 'SIGCONT');
    await until('PostgreSQL to resume', 10_000, () => familyOf(pid).every(({ stopped }) => !stopped));
  }

  /** Runs a query as the superuser on a new connection. */
  ask(sql: string, values?: unknown[]): Promise<Row[]> {
    return ask(this, sql, values);
  }

  /** The last lines of the server's log. */
  logs(lines = 40): string {
    if (!existsSync(this.#log)) return '';
    return readFileSync(this.#log, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** Ends the server in any state, and deletes its data. Can be repeated. */
  async remove(): Promise<void> {
    await removeWithServers(this.place.folder);
    this.#postmaster = undefined;
  }

  /** The postmaster's file has its process ID in the first line and its state in the eighth. */
  #isReady(pid: number | undefined): boolean {
    const file = join(this.dataFolder, 'postmaster.pid');
    if (!existsSync(file)) return false;
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines[0] === String(pid) && lines[7]?.trim() === 'ready';
  }

  async #untilEnded(family: readonly { readonly pid: number }[], timeoutMs: number): Promise<void> {
    // Waits for Node to report the exit, which can be later than the end of the process.
    await until('PostgreSQL to end', timeoutMs, () => this.#postmaster === undefined).catch((cause) => {
      throw new Error(`PostgreSQL does not end:\n${this.logs()}`, { cause });
    });
    await untilGone(family, timeoutMs);
  }
}
