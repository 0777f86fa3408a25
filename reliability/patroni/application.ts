import { chmodSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { openPostgresStorage } from '@grantd/core/postgres';
import { Client, Pool } from 'pg';
import { OWNER } from '../../core/test/harness/postgres_server.ts';
import {
  grantdPrints,
  type RunningServer,
  SOURCES,
  type Workbench,
} from '../../server/test/harness/program.ts';
import type { Cluster } from '../deployments/cluster.ts';
import { ISSUER, SECRET } from '../deployments/identity.ts';
import type { ServerProcess } from '../deployments/server_process.ts';
import { type Database, PROXY_PORT, startProxy } from './database.ts';
import type { Host } from './network.ts';

const PORT = 8080;

/** The same for every machine, because each has a proxy of its own. */
function databaseUrl(user: string, database: string, password: string): string {
  return `postgres://${user}:${password}@127.0.0.1:${PROXY_PORT}/${database}`;
}

/** A machine with a `grantd serve` and an HAProxy in front of the primary. */
export class Application implements ServerProcess {
  readonly host: Host;
  readonly address: string;
  readonly #workbench: Workbench;
  readonly #folder: string;
  readonly #proxyFile: string;
  readonly #environment: Readonly<Record<string, string>>;
  #running: RunningServer | undefined;

  constructor(host: Host, workbench: Workbench, place: { database: Database; folder: string; logs: string }) {
    const { database, folder, logs } = place;
    this.host = host;
    this.address = `http://${host.address}:${PORT}`;
    this.#workbench = workbench;
    this.#folder = workbench.folder();
    this.#proxyFile = join(folder, `${host.name}.cfg`);
    this.#environment = environmentOf(database);
    const log = join(logs, `${host.name}-haproxy.log`);
    startProxy(this.#proxyFile, database.nodes, (program, args) => host.spawn(program, { args, log }));
  }

  running(): RunningServer {
    if (this.#running === undefined) throw new Error(`grantd does not run on ${this.host.name}`);
    return this.#running;
  }

  async start(): Promise<number> {
    const startedAtMs = performance.now();
    const flags = ['--issuer', ISSUER, '--host', this.host.address, '--port', String(PORT), '--log', 'off'];
    const [node, main] = SOURCES;
    // The workbench starts a program and its main file, so this program is a script that enters the namespace.
    const script = join(this.#folder, 'node');
    const command = this.host.commandLine(node);
    writeFileSync(script, `#!/bin/sh\nexec ${command.map((part) => `'${part}'`).join(' ')} "$@"\n`);
    chmodSync(script, 0o700);
    this.#running = await this.#workbench.start(this.#folder, [...flags, ...FLAGS], this.#environment, [
      script,
      main,
    ]);
    return performance.now() - startedAtMs;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    await this.running().stop(signal);
    this.#running = undefined;
  }

  /** Stops the process, not the proxy. */
  freeze(): void {
    process.kill(this.running().pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.running().pid, 'SIGCONT');
  }

  /** Makes the proxy send connections to a node regardless of its Patroni, or ask Patroni again. */
  async believe(node: string, always: boolean): Promise<void> {
    const socket = createConnection(`${this.#proxyFile}.socket`);
    socket.end(`${always ? 'disable' : 'enable'} health primary/${node}\n`);
    for await (const _ of socket) {
      // It answers with an empty line, and closes.
    }
  }
}

const FLAGS = [
  ...['--refresh-grace', '600', '--access-token-lifetime', '86400'],
  ...['--database-statement-timeout-ms', '2000', '--database-connect-timeout-ms', '2000'],
];

function environmentOf({ password }: Database): Readonly<Record<string, string>> {
  return {
    GRANTD_SECRET: SECRET,
    GRANTD_CREATE: 'true',
    GRANTD_DATABASE: databaseUrl(OWNER, 'grantd', password),
  };
}

/**
 * Creates the empty database and its owner, unless they exist.
 * @returns whether the proxy led to the primary. At first it sends connections to every node.
 */
export async function createDatabase({ password }: Database): Promise<boolean> {
  const client = new Client(databaseUrl('postgres', 'postgres', password));
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query(`SELECT FROM pg_roles WHERE rolname = '${OWNER}'`);
    if (rowCount === 0) await client.query(`CREATE ROLE ${OWNER} LOGIN PASSWORD '${password}'`);
    await client.query(`CREATE DATABASE grantd OWNER ${OWNER}`);
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** The two servers as one cluster. Its commands and its library reach the database through the proxy of this machine. */
export function clusterOf(
  workbench: Workbench,
  database: Database,
  servers: readonly Application[],
): Cluster {
  const folder = workbench.folder();
  const url = databaseUrl(OWNER, 'grantd', database.password);
  const newPool = () => {
    const options = '-c search_path=grantd,public';
    const pool = new Pool({ connectionString: url, pipeline: true, allowExitOnIdle: true, options });
    pool.on('error', () => {});
    return pool;
  };
  const asking = newPool();
  return {
    issuer: ISSUER,
    database: url,
    servers,
    connectionsToReachAll: 1,
    openStorage: () => openPostgresStorage({ pool: newPool(), issuer: ISSUER }),
    command: (args, input) => grantdPrints(folder, args, input, environmentOf(database)),
    rows: async (sql) => (await asking.query(sql)).rows,
    integrityFault: async () => undefined,
  };
}
