import { openPostgresStorage } from '@grantd/core/postgres';
import { Pool } from 'pg';
import { type PostgresCluster, startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { disposableDatabase } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { grantdPrints, type Workbench } from '../../server/test/harness/program.ts';
import type { Cluster, ClusterOrder, Deployment } from './cluster.ts';
import { ISSUER, SECRET } from './identity.ts';
import { startPrograms } from './programs.ts';

/** Several programs, each on a port of its own, on one PostgreSQL server. */
export function postgresProcesses(workbench: Workbench): Deployment {
  return {
    name: 'postgres',
    unavailable: () => (POSTGRES_ABSENCE === false ? undefined : POSTGRES_ABSENCE),
    start: async (order) => startOnPostgres(workbench, await startPostgres(), order),
  };
}

/** @param postgres a server, which ends with this process at the latest */
export async function startOnPostgres(
  workbench: Workbench,
  postgres: PostgresCluster,
  { processes, flags = [] }: ClusterOrder,
): Promise<Cluster> {
  const database = await disposableDatabase(postgres);
  // Not among the flags: it has a password, and arguments can be seen by everybody.
  const environment = { GRANTD_SECRET: SECRET, GRANTD_DATABASE: database };
  const folder = workbench.folder();
  const allFlags = ['--issuer', ISSUER, '--log', 'off', ...flags];
  const servers = await startPrograms(workbench, { folder, processes, flags: allFlags, environment });

  const newPool = () => {
    const options = '-c search_path=grantd,public';
    const pool = new Pool({ connectionString: database, pipeline: true, allowExitOnIdle: true, options });
    pool.on('error', () => {});
    return pool;
  };
  const asking = newPool();
  return {
    issuer: ISSUER,
    database,
    servers,
    connectionsToReachAll: 1,
    openStorage: () => openPostgresStorage({ pool: newPool(), issuer: ISSUER }),
    command: (args, input) => grantdPrints(folder, args, input, environment),
    rows: async (sql) => (await asking.query(sql)).rows,
    integrityFault: async () => undefined,
  };
}
