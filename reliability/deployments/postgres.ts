import { openPostgresStorage } from '@grantd/core/postgres';
import { Pool } from 'pg';
import { type PostgresCluster, startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { disposableDatabase } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { throughPort } from '../../core/test/harness/postgres_server.ts';
import { grantdPrints, type Workbench } from '../../server/test/harness/program.ts';
import type { Cluster, ClusterOrder, Deployment } from './cluster.ts';
import { ISSUER, SECRET } from './identity.ts';
import { startPrograms } from './programs.ts';

/** Several programs, each on a port of its own, on one PostgreSQL server. */
export function postgresProcesses(workbench: Workbench): Deployment {
  return {
    name: 'postgres',
    unavailable: () => (POSTGRES_ABSENCE === false ? undefined : POSTGRES_ABSENCE),
    async start(order) {
      const postgres = await startPostgres();
      const ports = Array.from({ length: order.processes }, () => postgres.place.port);
      return startOnPostgres(workbench, postgres, ports, order);
    },
  };
}

/**
 * @param postgres a server, which ends with this process at the latest
 * @param databasePorts the ports at which the programs reach it
 */
export async function startOnPostgres(
  workbench: Workbench,
  postgres: PostgresCluster,
  databasePorts: readonly number[],
  { flags = [], environment = {} }: Omit<ClusterOrder, 'processes'>,
): Promise<Cluster> {
  const database = await disposableDatabase(postgres);
  const folder = workbench.folder();
  // Not a flag, because it contains a password, and other users can see arguments.
  const environmentVia = (port: number) => ({
    GRANTD_SECRET: SECRET,
    GRANTD_CREATE: 'true',
    GRANTD_DATABASE: throughPort(database, port),
  });
  const allFlags = ['--issuer', ISSUER, '--log', 'off', ...flags];
  const servers = await startPrograms(
    workbench,
    databasePorts.map((port) => ({
      ...{ folder, flags: allFlags },
      environment: { ...environmentVia(port), ...environment },
    })),
  );

  const [firstPort = postgres.place.port] = databasePorts;
  const newPool = () => {
    const options = '-c search_path=grantd,public';
    const connectionString = throughPort(database, firstPort);
    const pool = new Pool({ connectionString, pipeline: true, allowExitOnIdle: true, options });
    pool.on('error', () => {});
    return pool;
  };
  const asking = newPool();
  return {
    issuer: ISSUER,
    database,
    servers,
    connectionsToReachAll: 1,
    openStorage: (deadlines) => openPostgresStorage({ pool: newPool(), issuer: ISSUER, ...deadlines }),
    command: (args, input) => grantdPrints(folder, args, input, environmentVia(firstPort)),
    rows: async (sql) => (await asking.query(sql)).rows,
    databaseServer: postgres,
    integrityFault: async () => undefined,
  };
}
