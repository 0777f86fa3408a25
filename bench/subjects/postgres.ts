import { spawnSync } from 'node:child_process';
import { Client } from 'pg';
import { startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { disposableDatabase } from '../../core/test/harness/postgres_databases.ts';
import { copyToPostgres } from '../../server/src/data/postgres_copy.ts';
import { readSecretFile } from '../../server/src/data/secrets.ts';
import type { Population } from '../population/population.ts';
import { CAN_PIN, GENERATOR_CORE } from '../processes/pinning.ts';
import { childrenOf } from '../processes/process_usage.ts';

/** A database of a run. */
export interface PostgresDatabase {
  /** Without its password. */
  readonly url: string;
  readonly password: string;
  /** The main process of PostgreSQL; the others are its children. */
  readonly servants: readonly number[];
  /** Queries rows. */
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** A database that contains a population. */
export interface PostgresPopulation extends PostgresDatabase {
  /** The secret of the server that issued the tokens. */
  readonly secret: string;
}

/** One server for all works, each with databases of its own. It ends with this process. */
let cluster: ReturnType<typeof startPostgres> | undefined;

/**
 * A new database, on the generator's core.
 * @param fill gets the URL with the password
 */
export async function postgresDatabase(fill: (url: string) => Promise<unknown>): Promise<PostgresDatabase> {
  cluster ??= startPostgres({ settings: { shared_buffers: '1GB', max_wal_size: '8GB' } });
  const server = await cluster;
  const connectionString = await disposableDatabase(server);
  await fill(connectionString);
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

  return { ...splitPassword(connectionString), servants: [server.pid], rows };
}

/** Filled as by `grantd copy`. */
export async function postgresPopulation(
  { database }: Population,
  say: (text: string) => void,
): Promise<PostgresPopulation> {
  const [secret] = readSecretFile(database) ?? [];
  if (secret === undefined) throw new Error(`${database} has no secret beside it`);
  const filled = await postgresDatabase((url) => {
    say('copying the population to PostgreSQL');
    return copyToPostgres(database, url, {
      connections: 4,
      connectTimeoutMs: 10_000,
      statementTimeoutMs: 300_000,
      flag: '--to',
      onRows: () => {},
    });
  });
  return { ...filled, secret };
}

/** Programs get the password by PGPASSWORD, because command lines are public. */
export function splitPassword(connectionString: string): Pick<PostgresDatabase, 'url' | 'password'> {
  const url = new URL(connectionString);
  const { password } = url;
  url.password = '';
  return { url: url.href, password };
}
