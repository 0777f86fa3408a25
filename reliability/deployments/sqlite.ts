import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { grantdPrints, type Workbench } from '../../server/test/harness/program.ts';
import type { Cluster, ClusterOrder, Deployment } from './cluster.ts';
import { ISSUER, SECRET } from './identity.ts';
import { startPrograms } from './programs.ts';

/** Several programs, each on a port of its own, on one SQLite file. */
export function sqliteProcesses(workbench: Workbench): Deployment {
  return {
    name: 'sqlite',
    unavailable: () => undefined,
    start: (order) => startOnSqlite(workbench, workbench.folder(), order),
  };
}

/** One program with several workers on one SQLite file. */
export function sqliteWorkers(workbench: Workbench): Deployment {
  return {
    name: 'sqlite-workers',
    unavailable: () => undefined,
    async start({ processes, flags = [], ...order }) {
      const workers = ['--workers', String(processes), ...flags];
      const cluster = await startOnSqlite(workbench, workbench.folder(), {
        ...{ ...order, processes: 1, flags: workers },
      });
      // The supervisor passes connections to its workers in turn.
      return { ...cluster, connectionsToReachAll: processes };
    },
  };
}

/** @param folder the folder of the database */
export async function startOnSqlite(
  workbench: Workbench,
  folder: string,
  { processes, flags = [], environment: more = {} }: ClusterOrder,
): Promise<Cluster> {
  const path = join(folder, 'grantd.db');
  const database = `sqlite:${path}`;
  const environment = { GRANTD_SECRET: SECRET };
  const allFlags = ['--issuer', ISSUER, '--database', database, '--log', 'off', ...flags];
  const order = { folder, flags: allFlags, environment: { ...environment, ...more } };
  const servers = await startPrograms(
    workbench,
    Array.from({ length: processes }, () => order),
  );

  const rows: Cluster['rows'] = async (sql) => {
    const connection = new DatabaseSync(path, { readOnly: true });
    try {
      return connection.prepare(sql).all();
    } finally {
      connection.close();
    }
  };
  return {
    issuer: ISSUER,
    database,
    servers,
    connectionsToReachAll: 1,
    openStorage: async () => openSqliteStorage({ path, issuer: ISSUER }),
    command: (args, input) => grantdPrints(folder, [...args, '--database', database], input, environment),
    rows,
    async integrityFault() {
      const found = (await rows('PRAGMA integrity_check')).map(({ integrity_check }) => integrity_check);
      return found.length === 1 && found[0] === 'ok' ? undefined : found.join('; ');
    },
  };
}
