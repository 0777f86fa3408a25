import { startPostgres } from '../core/test/harness/postgres_cluster.ts';
import { SHARED_SERVER_VARIABLE } from '../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../core/test/harness/postgres_installation.ts';

/**
 * Runs something with a PostgreSQL server that all test files share. If the platform has none, it runs without, and the
 * tests report what they skip.
 */
export async function withSharedPostgres<T>(run: () => Promise<T>): Promise<T> {
  if (POSTGRES_ABSENCE !== false) return run();
  // Each test file has its own pools, and as many files run at once as there are processors.
  const cluster = await startPostgres({ settings: { max_connections: 400 } });
  process.env[SHARED_SERVER_VARIABLE] = cluster.url;
  try {
    return await run();
  } finally {
    delete process.env[SHARED_SERVER_VARIABLE];
    await cluster.remove();
  }
}
