import { spawnSync } from 'node:child_process';
import { globSync, lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type RunningProcess, runningProcesses, signal, untilGone } from './postgres_processes.ts';

const PROGRAMS: ReadonlySet<string> = new Set(['initdb', 'postgres', 'pgbouncer']);

/** Ends every server that runs in a folder, including paused ones, and deletes it. Can be repeated. */
export async function removeWithServers(folder: string): Promise<void> {
  const servers = serversIn(folder);
  const family = withChildren(servers);
  signal(family, 'SIGCONT');
  // The signal for an immediate shutdown of PostgreSQL and PgBouncer, which still frees system resources.
  signal(servers, 'SIGQUIT');
  await untilGone(family, 5_000).catch(async () => {
    signal(withChildren(serversIn(folder)), 'SIGKILL');
    signal(family, 'SIGKILL');
    await untilGone(family, 10_000);
  });
  for (const file of globSync(join(folder, '{,*/}data/postmaster.pid'))) freeSharedMemory(file);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Removes what was left by processes that were killed together with their watchdog. */
export async function removeStale(parent: string, prefix: string): Promise<void> {
  const running = new Set(runningProcesses().map(({ pid }) => pid));
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(prefix)) continue;
    const owner = Number.parseInt(name.slice(prefix.length), 10);
    if (Number.isNaN(owner) || running.has(owner)) continue;
    const folder = join(parent, name);
    const stat = lstatSync(folder, { throwIfNoEntry: false });
    if (stat?.isDirectory() && stat.uid === process.getuid?.()) await removeWithServers(folder);
  }
}

/**
 * By the folder's name: a postmaster has it in its arguments, and its children in their title, even after its death.
 */
function serversIn(folder: string): readonly RunningProcess[] {
  const name = basename(folder);
  return runningProcesses().filter(({ command }) => {
    const program = basename(command.split(/:? /, 1)[0] ?? '');
    return PROGRAMS.has(program) && command.includes(name);
  });
}

function withChildren(servers: readonly RunningProcess[]): readonly RunningProcess[] {
  const pids = new Set(servers.map(({ pid }) => pid));
  return runningProcesses().filter(({ pid, parent }) => pids.has(pid) || pids.has(parent));
}

/**
 * A killed postmaster leaves a few bytes of System V shared memory. The seventh line of its file has the key and ID.
 */
function freeSharedMemory(postmasterPid: string): void {
  const id = readFileSync(postmasterPid, 'utf8').split('\n')[6]?.trim().split(/\s+/)[1];
  if (id !== undefined && id !== '') spawnSync('ipcrm', ['-m', id], { timeout: 5_000 });
}
