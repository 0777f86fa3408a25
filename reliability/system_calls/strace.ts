import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { until } from '../../server/test/harness/program.ts';

const CALLS = 'read,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,pwritev2,fsync,fdatasync';

/** Why system calls cannot be traced here; `undefined` where they can. */
export function whyNoTrace(): string | undefined {
  const tried = spawnSync('strace', ['-e', 'trace=fsync', 'true'], { encoding: 'utf8' });
  if (tried.error !== undefined) return 'there is no strace';
  return tried.status === 0 ? undefined : `strace may not trace: ${tried.stderr.trim().split('\n')[0]}`;
}

/**
 * Traces all threads of a running process while `work` runs.
 * @param file where the trace goes; it may hold what was sent, tokens included
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
    await work();
  } finally {
    strace.kill('SIGINT');
    await ended;
  }
  return readFileSync(file, 'utf8');
}
