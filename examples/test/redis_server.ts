import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../core/test/harness/free_port.ts';

/** Why tests that need a Redis server are skipped, or `false`. */
export const REDIS_ABSENCE: string | false =
  spawnSync('redis-server', ['--version']).error === undefined
    ? false
    : 'there is no redis-server on the PATH (Debian: apt-get install redis-server)';

export interface RedisServer {
  readonly url: string;
  /** Suspends the process: connections stay open without responses. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** A separate server on loopback with the durability settings that the example requires. */
export async function startRedis(): Promise<RedisServer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'grantd-redis-'));
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder];
  const durability = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];
  const child = spawn('redis-server', [...place, ...durability, '--maxmemory-policy', 'noeviction'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  for await (const line of createInterface(child.stdout)) {
    if (line.includes('Ready to accept connections')) break;
  }
  child.stdout.resume();
  if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
  return {
    url: `redis://127.0.0.1:${port}`,
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await ended;
      process.off('exit', end);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
