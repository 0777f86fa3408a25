import { spawnSync } from 'node:child_process';
import { Client } from 'pg';
import { startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { disposableDatabase } from '../../core/test/harness/postgres_databases.ts';
import { copyToPostgres } from '../../server/src/data/copy_to_postgres.ts';
import { readSecretFile } from '../../server/src/data/secrets.ts';
import type { Population } from '../population/population.ts';
import { CAN_PIN, GENERATOR_CORE } from '../processes/pinning.ts';
import { childrenOf } from '../processes/process_usage.ts';

/** A PostgreSQL server of its own, which ends with this process, with a population in it. */
export interface PostgresPopulation {
  /** Without its password. */
  readonly url: string;
  readonly password: string;
  /** Of the server that the tokens are of. */
  readonly secret: string;
  /** Its first process, of which the others are children. */
  readonly servants: readonly number[];
  /** Asks it for rows. */
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** As `grantd copy` fills it. Its server shares the generator's core. */
export async function postgresPopulation(
  { database }: Population,
  say: (text: string) => void,
): Promise<PostgresPopulation> {
  const [secret] = readSecretFile(database) ?? [];
  if (secret === undefined) throw new Error(`${database} has no secret beside it`);
  const cluster = await startPostgres({ settings: { shared_buffers: '1GB', max_wal_size: '8GB' } });
  const connectionString = await disposableDatabase(cluster);
  say('copying the population to PostgreSQL');
  await copyToPostgres(database, connectionString, {
    connections: 4,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 300_000,
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
  // As a database in use was, some time ago; else it would begin with it in the middle of the measurement.
  await rows('VACUUM (FREEZE, ANALYZE)');
  await cluster.ask('CHECKPOINT');
  // Each connection's process takes it over from the first one.
  if (CAN_PIN)
    for (const pid of [cluster.pid, ...childrenOf(cluster.pid)])
      spawnSync('taskset', ['-a', '-c', '-p', String(GENERATOR_CORE), String(pid)]);

  const url = new URL(connectionString);
  const { password } = url;
  url.password = '';
  return { url: url.href, password, secret, servants: [cluster.pid], rows };
}
