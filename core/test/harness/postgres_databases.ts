import { randomBytes } from 'node:crypto';
import { startPostgres } from './postgres_cluster.ts';
import { ask, OWNER, type PostgresServer } from './postgres_server.ts';

/** Variable with which `npm test` passes the shared server to test files. */
export const SHARED_SERVER_VARIABLE = 'TEST_POSTGRES_URL';

let own: Promise<PostgresServer> | undefined;

/** The server of this test run. A file that runs alone gets its own, which ends with its process. */
export function sharedPostgres(): Promise<PostgresServer> {
  const url = process.env[SHARED_SERVER_VARIABLE];
  if (url !== undefined) return Promise.resolve({ url });
  own ??= startPostgres();
  return own;
}

/**
 * @param template the name of a database to copy, which has no connection; default: none
 * @returns the URL of a new database, as its owner, who is not a superuser. Without a template, it is empty
 */
export async function disposableDatabase(server: PostgresServer, template = 'template1'): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await ask(server, `CREATE DATABASE ${name} OWNER ${OWNER} TEMPLATE ${template}`);
  const url = new URL(server.url);
  url.username = OWNER;
  url.pathname = name;
  return url.href;
}
