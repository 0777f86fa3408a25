import { startPostgres } from '../core/test/harness/postgres_cluster.ts';
import { SHARED_SERVER_VARIABLE } from '../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../core/test/harness/postgres_installation.ts';

/**
 * Runs something while a PostgreSQL server is there for all test files to share. Where there is none for this
 * platform it runs nevertheless, and the tests say what they skip.
 */
export async function withSharedPostgres<T>(run: () => Promise<T>): Promise<T> {
  if (POSTGRES_ABSENCE !== false) return run();
  // Every test file has pools of its own, and as many files run at a time as there are processors.
  const cluster = await startPostgres({ settings: { max_connections: 400 } });
  process.env[SHARED_SERVER_VARIABLE] = cluster.url;
  try {
    return await run();
  } finally {
    delete process.env[SHARED_SERVER_VARIABLE];
    await cluster.remove();
  }
}
