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

/** @returns the URL of a new, empty database, as its owner, who is not a superuser */
export async function disposableDatabase(server: PostgresServer): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await ask(server, `CREATE DATABASE ${name} OWNER ${OWNER}`);
  const url = new URL(server.url);
  url.username = OWNER;
  url.pathname = name;
  return url.href;
}
