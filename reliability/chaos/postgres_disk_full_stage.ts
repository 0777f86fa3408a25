/** Runs on a small disk, with a PostgreSQL server whose tables are there: fills the disk, and makes room again. */
import { chownSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { unprivilegedAccount } from '../../core/test/harness/postgres_installation.ts';
import { ask, OWNER } from '../../core/test/harness/postgres_server.ts';
import { Workbench } from '../../server/test/harness/program.ts';
import { basic, introspect, postForm } from '../../server/test/harness/protocol.ts';
import { SECRET } from '../deployments/identity.ts';
import { fill } from './small_disk.ts';

export interface PostgresDiskFullReport {
  /** The status of `/health` before the disk is full, after a write has failed, and with room again. */
  readonly health: readonly number[];
  /** What the log says is wrong while the disk is full. */
  readonly trouble: unknown;
  /** The message of the error in the log then. */
  readonly message: unknown;
  /** Whether a token that was issued before is active while the disk is full. */
  readonly isRead: boolean;
  /** The status of a request for a token with room again. */
  readonly issued: number;
}

const [folder = ''] = process.argv.slice(2);
const LONGEST_MS = 30_000;
const MACHINE = basic('demo-machine', 'demo-machine-secret');

const workbench = new Workbench();
const postgres = await startPostgres();
try {
  console.log(JSON.stringify(await run()));
} finally {
  await workbench.clear();
  await postgres.remove();
}
process.exit(0);

async function run(): Promise<PostgresDiskFullReport> {
  const { uid, gid } = await unprivilegedAccount();
  const space = join(folder, 'tables');
  mkdirSync(space);
  if (uid !== undefined) chownSync(space, uid, gid);
  await ask(postgres, `CREATE TABLESPACE small LOCATION '${space}'`);
  await ask(postgres, `CREATE DATABASE small OWNER ${OWNER} TABLESPACE small`);
  const url = new URL(postgres.url);
  url.username = OWNER;
  url.pathname = 'small';
  const environment = { GRANTD_DATABASE: url.href, GRANTD_SECRET: SECRET, GRANTD_CREATE: 'true' };
  const server = await workbench.start(workbench.folder(), ['--demo'], environment);
  const health = async () => (await fetch(`${server.url}/health`)).status;
  const issue = () => postForm(`${server.url}/token`, { grant_type: 'client_credentials' }, MACHINE);
  const { access_token: token } = (await (await issue()).json()) as { access_token: string };

  const filler = join(folder, 'filler');
  // Its row has a page from now on.
  const before = await health();
  fill(filler);
  await until('a token is refused', async () => (await issue()).status === 503);
  const during = await health();
  const isRead = (await introspect(server.url, token)).active === true;
  const found = () => server.log().find(({ event }) => event === 'unhealthy');
  // The line may arrive after the response.
  await until('the log says what is wrong', async () => found() !== undefined);
  const line = found();
  rmSync(filler);
  await until('the server is ready', async () => (await health()) === 200);
  const said = { trouble: line?.trouble, message: (line?.cause as Error | undefined)?.message };
  return { health: [before, during, await health()], ...said, isRead, issued: (await issue()).status };
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const endsAt = performance.now() + LONGEST_MS; !(await isSo()); await pause(5))
    if (performance.now() > endsAt) throw new Error(`it did not happen that ${what}`);
}
