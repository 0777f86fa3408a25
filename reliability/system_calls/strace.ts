import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { until } from '../../server/test/harness/program.ts';

const CALLS = 'read,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,pwritev2,fsync,fdatasync';

/** Milliseconds that a trial waits for strace to attach. */
const TRIAL_MS = 300;

/** Why a running process cannot be traced here; `undefined` if it can. */
export function whyNoTrace(): string | undefined {
  const sleeper = spawn('sleep', ['10'], { stdio: 'ignore' });
  sleeper.on('error', () => {}); // without it strace finds no process to attach to
  const args = ['-o', '/dev/null', '-p', String(sleeper.pid)];
  const tried = spawnSync('strace', args, { encoding: 'utf8', timeout: TRIAL_MS, killSignal: 'SIGINT' });
  sleeper.kill();
  if (tried.stderr?.includes(' attached')) return undefined;
  if (tried.error !== undefined && 'code' in tried.error && tried.error.code === 'ENOENT')
    return 'there is no strace';
  return `strace may not attach itself: ${String(tried.stderr).trim().split('\n')[0]}`;
}

/**
 * Traces all threads of a running process while `work` runs.
 * @param file the file for the trace, which may contain tokens
 * @returns the trace
 */
export async function traced(pid: number, file: string, work: () => Promise<void>): Promise<string> {
  const args = ['-f', '-y', '-s', '64', '-e', `trace=${CALLS}`, '-o', file, '-p', String(pid)];
  const strace = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(strace, 'exit');
  let said = '';
  strace.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  try {
    await until(() => said.includes(' attached') || strace.exitCode !== null, 'strace has attached itself');
    if (strace.exitCode !== null) throw new Error(`strace ended: ${said}`);
    await work();
  } finally {
    strace.kill('SIGINT');
    await ended;
  }
  return readFileSync(file, 'utf8');
}
