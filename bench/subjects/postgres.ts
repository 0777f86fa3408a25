import { spawnSync } from 'node:child_process';
import { Client } from 'pg';
import { startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { disposableDatabase } from '../../core/test/harness/postgres_databases.ts';
import { copyToPostgres } from '../../server/src/data/postgres_copy.ts';
import { readSecretFile } from '../../server/src/data/secrets.ts';
import type { Population } from '../population/population.ts';
import { CAN_PIN, GENERATOR_CORE } from '../processes/pinning.ts';
import { childrenOf } from '../processes/process_usage.ts';

/** A database that contains a population. */
export interface PostgresPopulation {
  /** Without its password. */
  readonly url: string;
  readonly password: string;
  /** The secret of the server that issued the tokens. */
  readonly secret: string;
  /** The main process of PostgreSQL; the others are its children. */
  readonly servants: readonly number[];
  /** Queries rows. */
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** One server for all works, each with a database of its own. It ends with this process. */
let cluster: ReturnType<typeof startPostgres> | undefined;

/** Filled as by `grantd copy`. The database server shares the generator's core. */
export async function postgresPopulation(
  { database }: Population,
  say: (text: string) => void,
): Promise<PostgresPopulation> {
  const [secret] = readSecretFile(database) ?? [];
  if (secret === undefined) throw new Error(`${database} has no secret beside it`);
  cluster ??= startPostgres({ settings: { shared_buffers: '1GB', max_wal_size: '8GB' } });
  const server = await cluster;
  const connectionString = await disposableDatabase(server);
  say('copying the population to PostgreSQL');
  await copyToPostgres(database, connectionString, {
    connections: 4,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 300_000,
    flag: '--to',
    onRows: () => {},
  });
  const rows = async (sql: string) => {
    const client = new Client({ connectionString });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  // Vacuumed and analyzed, as a database in use would be. Otherwise autovacuum would start during the measurement.
  await rows('VACUUM (FREEZE, ANALYZE)');
  await server.ask('CHECKPOINT');
  // Each connection's process inherits it from the main one.
  if (CAN_PIN)
    for (const pid of [server.pid, ...childrenOf(server.pid)])
      spawnSync('taskset', ['-a', '-c', '-p', String(GENERATOR_CORE), String(pid)]);

  const url = new URL(connectionString);
  const { password } = url;
  url.password = '';
  return { url: url.href, password, secret, servants: [server.pid], rows };
}
