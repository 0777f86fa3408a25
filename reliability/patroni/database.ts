// ADR 96.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Account, unprivilegedAccount } from '../../core/test/harness/postgres_installation.ts';
import { eventually, Host } from './network.ts';
import { type EtcdApi, POSTGRES_PROGRAMS } from './requirements.ts';

/** Seconds. They keep a failover within half a minute: docs/performance.md explains each. */
const TIMES = { ttl: 20, loop_wait: 2, retry_timeout: 3 } as const;

/** The cluster settings of docs/performance.md. */
const SETTINGS = {
  ...TIMES,
  primary_start_timeout: 0,
  synchronous_mode: true,
  synchronous_mode_strict: true,
  postgresql: {
    use_pg_rewind: true,
    use_slots: true,
    parameters: {
      wal_sender_timeout: '5s',
      wal_receiver_timeout: '5s',
      wal_retrieve_retry_interval: '500ms',
      wal_keep_size: '256MB',
      max_connections: 200,
      shared_buffers: '64MB',
    },
  },
} as const;

const PORTS = { postgres: 5432, patroni: 8008, clients: 2379, peers: 2380 } as const;

/** The port at which a proxy offers the primary. */
export const PROXY_PORT = 5000;

const LONGEST_START_MS = 120_000;

/** Nodes by what they are. */
export interface Roles {
  readonly primary: Node;
  readonly synchronous: Node;
  readonly other: Node;
}

interface Member {
  readonly name: string;
  readonly role: string;
}

interface Replication {
  readonly application_name: string;
  readonly state: string;
}

interface DatabasePlace {
  readonly folder: string;
  readonly logs: string;
  readonly etcdApi: EtcdApi;
}

/** A machine with PostgreSQL, Patroni and one of the three etcd servers. */
export class Node {
  readonly host: Host;
  readonly #folder: string;
  readonly #log: (program: string) => string;
  readonly #account: Account;
  readonly #peers: string;
  readonly #etcdApi: EtcdApi;

  constructor(
    host: Host,
    place: DatabasePlace & { readonly account: Account; readonly peers: readonly Host[] },
  ) {
    const { folder, logs, account, peers, etcdApi } = place;
    this.#etcdApi = etcdApi;
    this.host = host;
    this.#folder = join(folder, host.name);
    this.#log = (program) => join(logs, `${host.name}-${program}.log`);
    this.#account = account;
    this.#peers = peers.map(({ name, address }) => `${name}=http://${address}:${PORTS.peers}`).join(',');
  }

  get name(): string {
    return this.host.name;
  }

  /** Writes the settings. The data follow at the first start. */
  prepare(password: string, nodes: readonly Host[]): void {
    const { address } = this.host;
    mkdirSync(this.#folder, { mode: 0o700 });
    const user = (username: string) => ({ username, password });
    const settings = {
      scope: 'grantd',
      name: this.name,
      restapi: { listen: `${address}:${PORTS.patroni}`, connect_address: `${address}:${PORTS.patroni}` },
      [this.#etcdApi === '2' ? 'etcd' : 'etcd3']: {
        hosts: nodes.map((node) => `${node.address}:${PORTS.clients}`).join(','),
      },
      bootstrap: { dcs: SETTINGS, initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'] },
      postgresql: {
        listen: `${address}:${PORTS.postgres}`,
        connect_address: `${address}:${PORTS.postgres}`,
        data_dir: join(this.#folder, 'data'),
        bin_dir: POSTGRES_PROGRAMS,
        pgpass: join(this.#folder, 'pgpass'),
        authentication: {
          superuser: user('postgres'),
          replication: user('replicator'),
          rewind: user('rewinder'),
        },
        pg_hba: [
          'local all all trust',
          'host all all all scram-sha-256',
          'host replication all all scram-sha-256',
        ],
        parameters: { unix_socket_directories: this.#folder },
      },
    };
    // JSON is YAML.
    writeFileSync(this.#settingsFile, JSON.stringify(settings, undefined, 2), { mode: 0o600 });
    const { uid, gid } = this.#account;
    if (uid === undefined || gid === undefined) throw new Error('Patroni needs an account for PostgreSQL');
    for (const path of [this.#folder, this.#settingsFile]) chownSync(path, uid, gid);
  }

  /** Starts etcd and Patroni, which starts PostgreSQL. */
  start(): void {
    const { address, name } = this.host;
    const [clients, peers] = [PORTS.clients, PORTS.peers].map((port) => `http://${address}:${port}`);
    this.host.spawn('etcd', {
      account: this.#account,
      log: this.#log('etcd'),
      args: [
        ...[`--name=${name}`, `--data-dir=${join(this.#folder, 'etcd')}`, '--logger=zap'],
        ...[`--listen-client-urls=${clients}`, `--advertise-client-urls=${clients}`],
        ...[`--listen-peer-urls=${peers}`, `--initial-advertise-peer-urls=${peers}`],
        `--initial-cluster=${this.#peers}`,
        ...(this.#etcdApi === '2' ? ['--enable-v2=true'] : []),
      ],
    });
    this.host.spawn('patroni', {
      account: this.#account,
      log: this.#log('patroni'),
      args: [this.#settingsFile],
    });
  }

  /** Whether its Patroni holds the lock, and PostgreSQL is a primary. */
  async isPrimary(): Promise<boolean> {
    return (await this.#ask('/primary')) !== undefined;
  }

  /** The names of the standbys that receive its log. */
  async streaming(): Promise<readonly string[]> {
    const answer = await this.#ask<{ readonly replication?: readonly Replication[] }>('/patroni');
    const streaming = (answer?.replication ?? []).filter(({ state }) => state === 'streaming');
    return streaming.map(({ application_name }) => application_name);
  }

  /** The cluster as this node sees it, which may be outdated if it is not the primary. */
  async members(): Promise<readonly Member[]> {
    return (await this.#ask<{ readonly members?: readonly Member[] }>('/cluster'))?.members ?? [];
  }

  /** @returns what Patroni answers; `undefined` for a status other than 200, and without an answer */
  async #ask<T>(path: string): Promise<T | undefined> {
    try {
      const url = `http://${this.host.address}:${PORTS.patroni}${path}`;
      const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
      const body = (await response.json()) as T;
      return response.ok ? body : undefined;
    } catch {
      return undefined;
    }
  }

  get #settingsFile(): string {
    return join(this.#folder, 'patroni.json');
  }
}

/** Three nodes. Roles move between them. */
export class Database {
  readonly nodes: readonly Node[];
  readonly password: string;

  private constructor(nodes: readonly Node[], password: string) {
    this.nodes = nodes;
    this.password = password;
  }

  static async start(place: DatabasePlace, password: string): Promise<Database> {
    const account = await unprivilegedAccount();
    const hosts: Host[] = [];
    for (const number of [1, 2, 3]) hosts.push(await Host.join(`node${number}`, number));
    const nodes = hosts.map((host) => new Node(host, { ...place, account, peers: hosts }));
    for (const node of nodes) {
      node.prepare(password, hosts);
      node.start();
    }
    const database = new Database(nodes, password);
    await database.untilWhole(LONGEST_START_MS);
    return database;
  }

  /** Waits for a primary with a synchronous standby and another standby. */
  async untilWhole(longestMs: number): Promise<Roles> {
    let roles: Roles | undefined;
    await eventually('a primary with two standbys', longestMs, async () => {
      roles = await this.#roles();
      return roles !== undefined;
    });
    if (roles === undefined) throw new Error('the nodes have no roles');
    return roles;
  }

  /** A primary other than `previous`. */
  async successorOf(previous: Node): Promise<Node | undefined> {
    return this.#primaryOf(this.nodes.filter((node) => node !== previous));
  }

  async #primaryOf(nodes: readonly Node[]): Promise<Node | undefined> {
    const answers = await Promise.all(nodes.map(async (node) => ({ node, is: await node.isPrimary() })));
    const primaries = answers.filter(({ is }) => is);
    // Right after a partition has ended, the previous primary may not know it yet.
    return primaries.length === 1 ? primaries[0]?.node : undefined;
  }

  async #roles(): Promise<Roles | undefined> {
    const primary = await this.#primaryOf(this.nodes);
    if (primary === undefined) return undefined;
    const [streaming, members] = await Promise.all([primary.streaming(), primary.members()]);
    const standbys = this.nodes.filter(({ name }) => streaming.includes(name));
    const name = members.find(({ role }) => role === 'sync_standby')?.name;
    const synchronous = standbys.find((node) => node.name === name);
    const other = standbys.find((node) => node !== synchronous);
    if (standbys.length < 2 || synchronous === undefined || other === undefined) return undefined;
    return { primary, synchronous, other };
  }
}

/**
 * Starts HAProxy, which sends connections to the primary. It asks each Patroni every second.
 * @param start runs a program on the machine that uses the proxy
 */
export function startProxy(
  file: string,
  nodes: readonly Node[],
  start: (program: string, args: readonly string[]) => unknown,
): void {
  const servers = nodes.map(
    ({ name, host }) => `  server ${name} ${host.address}:${PORTS.postgres} check port ${PORTS.patroni}`,
  );
  writeFileSync(
    file,
    `global
  stats socket ${file}.socket level admin
defaults
  mode tcp
  timeout connect 1s
  timeout check 1s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:${PROXY_PORT}
  option httpchk
  http-check send meth OPTIONS uri /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`,
  );
  chmodSync(file, 0o600);
  execFileSync('haproxy', ['-c', '-q', '-f', file]);
  start('haproxy', ['-db', '-f', file]);
}
