/** Runs on the small disk of `disk_full.ts`: fills it while a server works there, and makes room again. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Workbench } from '../../server/test/harness/program.ts';
import type { Cluster } from '../deployments/cluster.ts';
import { openLibrary, registerClients } from '../deployments/library.ts';
import { startOnSqlite } from '../deployments/sqlite.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { introspect, post } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import type { DiskFullReport } from './disk_full.ts';
import { countUnlike } from './ledger.ts';
import { fill } from './small_disk.ts';

const TOKENS = 300;
const KEPT = 20;
/** Writes that must be refused before the test counts. */
const REFUSALS = 40;
const LONGEST_RECOVERY_MS = 10_000;
const CLIENT = CLIENTS.opaque.id;

const [folder = ''] = process.argv.slice(2);
const workbench = new Workbench();
process.on('exit', () => void workbench.clear());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
process.stdin.resume().on('end', () => process.exit(130));

const cluster = await startOnSqlite(workbench, folder, { processes: 1 });
const connections = cluster.servers.map(({ address }) => new Connection(address));
const connection = oneOf(connections);
const faults: string[] = [];
const { kept, waiting } = await issued(cluster);
const revoked: string[] = [];
const unacknowledged: string[] = [];

for (let times = 0; times < KEPT; times++) await revokeOne();
const filler = join(folder, 'filler');
fill(filler);
const whileFull = await tryWhileFull();
if ((await health()) !== 503) faults.push('/health was not 503 while nothing could be written');
rmSync(filler);
const recoveryMs = await recover();
if ((await health()) !== 200) faults.push('/health was not 200 with room again');
await checkAll();
console.log(JSON.stringify({ ...whileFull, recoveryMs, faults } satisfies DiskFullReport));
process.exit(0);

async function issued(own: Cluster) {
  const library = await openLibrary(own);
  await registerClients(library);
  const tokens = await library.opaque.operator.issueTokens({ clientId: CLIENT }, TOKENS);
  await library.close();
  const texts = tokens.map(({ accessToken }) => accessToken);
  return { kept: texts.slice(0, KEPT), waiting: texts.slice(KEPT) };
}

async function tryWhileFull(): Promise<Omit<DiskFullReport, 'recoveryMs' | 'faults'>> {
  const tried = { acknowledgedWhileFull: 0, refusedWhileFull: 0, slowestMs: 0, looks: 0, looksUnanswered: 0 };
  while (tried.refusedWhileFull < REFUSALS && waiting.length > 0) {
    const startedAtMs = performance.now();
    const issues = tried.looks % 4 === 0;
    const isDone = issues ? await write('/token', { grant_type: 'client_credentials' }) : await revokeOne();
    tried.slowestMs = Math.max(tried.slowestMs, performance.now() - startedAtMs);
    if (isDone) tried.acknowledgedWhileFull += 1;
    else tried.refusedWhileFull += 1;

    const [tokens, wrong] =
      tried.looks % 2 === 0 ? ([kept, 'inactive'] as const) : ([revoked, 'active'] as const);
    const seen = await introspect(connection, oneOf(tokens));
    tried.looks += 1;
    if (seen === 'unknown') tried.looksUnanswered += 1;
    if (seen === wrong) faults.push(`while the disk was full, a token was called ${wrong}`);
  }
  if (tried.refusedWhileFull < REFUSALS) faults.push('the disk never became full');
  return tried;
}

/** @returns milliseconds until a write was acknowledged again */
async function recover(): Promise<number> {
  const roomAtMs = performance.now();
  const sinceMs = () => performance.now() - roomAtMs;
  while (!(await write('/token', { grant_type: 'client_credentials' }))) {
    if (sinceMs() > LONGEST_RECOVERY_MS) {
      faults.push('with room again, nothing was written');
      break;
    }
    await pause(20);
  }
  return sinceMs();
}

/** Acknowledged writes are in force, and refused ones succeed now. */
async function checkAll(): Promise<void> {
  for (const token of unacknowledged) {
    if (await write('/token/revoke', { token })) revoked.push(token);
    else faults.push('with room again, a revocation was not acknowledged');
  }
  const alive = await countUnlike(connections, revoked, 'inactive');
  if (alive > 0) faults.push(`${alive} acknowledged revocations are not in force`);
  const lost = await countUnlike(connections, kept, 'active');
  if (lost > 0) faults.push(`${lost} tokens that were not revoked are dead`);
  const integrityFault = await cluster.integrityFault();
  if (integrityFault !== undefined) faults.push(`the database says ${integrityFault}`);
}

async function health(): Promise<number> {
  const [server] = cluster.servers;
  return (await fetch(`${server?.address}/health`)).status;
}

async function revokeOne(): Promise<boolean> {
  const token = waiting.pop();
  if (token === undefined) throw new Error('all tokens are revoked, and the disk was not full yet');
  const isDone = await write('/token/revoke', { token });
  (isDone ? revoked : unacknowledged).push(token);
  return isDone;
}

/** @returns whether the write was acknowledged; any response other than that and a correct 503 is a fault */
async function write(path: string, form: Readonly<Record<string, string>>): Promise<boolean> {
  const answer = await post(connection, path, form, CLIENT);
  if (answer === 'lost') faults.push(`${path} was not answered`);
  else if (answer.status === 503 && answer.headers['retry-after'] === undefined)
    faults.push(`${path} was answered by 503 without Retry-After`);
  else if (answer.status !== 200 && answer.status !== 503)
    faults.push(`${path} was answered by ${answer.status}`);
  return answer !== 'lost' && answer.status === 200;
}
