import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CHEAP_OPTIONS } from '../../server/test/harness/program.ts';

const EXAMPLES = join(import.meta.dirname, '..');
const LONGEST_START_MS = 20_000;

/** A server secret, as in the README. */
export const SECRET = 's'.repeat(32);

export interface Started {
  readonly url: string;
  /** The folder of its databases, such as `tokens.db`. */
  readonly folder: string;
  stop(): Promise<void>;
}

/**
 * Starts an example as a reader would, with new databases. Its keys and password hashes are cheap.
 * @param t ends it: a test, when it is over
 * @param file below `examples/`, or an absolute path
 * @param process its folder, and whether it prints errors that the test causes
 * @returns when it responds
 */
export async function started(
  t: { after(cleanUp: () => Promise<void>): void },
  file: string,
  variables: Readonly<Record<string, string>> = {},
  { cwd, hidesErrors = false }: { readonly cwd?: string; readonly hidesErrors?: boolean } = {},
): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-example-'));
  const port = Number(variables.PORT ?? (await freePort()));
  const env = {
    ...process.env,
    PORT: String(port),
    DATABASE: join(folder, 'tokens.db'),
    USERS: join(folder, 'users.db'),
    GRANTD_SECRET: SECRET,
    NODE_OPTIONS: CHEAP_OPTIONS,
    ...variables,
  };
  const child = spawn(process.execPath, [resolve(EXAMPLES, file)], {
    env,
    stdio: ['ignore', 'ignore', hidesErrors ? 'ignore' : 'inherit'],
    ...(cwd !== undefined && { cwd }),
  });
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill();
    await ended;
  };
  t.after(async () => {
    await stop();
    rmSync(folder, { recursive: true });
  });
  const url = `http://localhost:${port}`;
  for (const begunAt = performance.now(); performance.now() - begunAt < LONGEST_START_MS; await pause(50)) {
    if (await fetch(url).catch(() => undefined)) return { url, folder, stop };
    if (child.exitCode !== null) break;
  }
  throw new Error(`${file} does not answer`);
}

export async function freePort(): Promise<number> {
  const listener = createServer().listen(0);
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}
