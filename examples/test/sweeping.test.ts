import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { SECRET } from './started.ts';

const EXAMPLES = join(import.meta.dirname, '..');
const ISSUER = 'http://localhost:3000';
const LONGEST_WAIT_MS = 20_000;

/** Timers of one minute fire at once. A module that only creates a server keeps running, like a host that listens. */
const HASTE = `const { setInterval } = globalThis;
globalThis.setInterval = (work, milliseconds) => setInterval(work, milliseconds / 1000);
setInterval(() => {}, 1000);`;

for (const file of [
  'hosts/authorization_server.ts',
  'next_application/server.js',
  'express_with_users/host.ts',
]) {
  test(`examples/${file} deletes what has expired`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'grantd-example-'));
    const path = join(folder, 'tokens.db');
    // This handle's clock is in 1970, so its entries stay until a sweep deletes them.
    const storage = openSqliteStorage({ path, issuer: ISSUER, clock: () => 0 });
    const take = () => storage.oneTimeIdentifiers.take('taken once', 60);
    assert.deepEqual([await take(), await take()], [true, false]);

    const args = [`--import=data:text/javascript,${encodeURIComponent(HASTE)}`, join(EXAMPLES, file)];
    const variables = { ISSUER, PORT: '0', DATABASE: path, USERS: join(folder, 'users.db') };
    const env = { ...process.env, ...variables, GRANTD_SECRET: SECRET };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
    const ended = once(child, 'exit');
    t.after(async () => {
      child.kill();
      await ended;
      await storage.close();
      rmSync(folder, { recursive: true });
    });

    for (const begunAt = performance.now(); performance.now() - begunAt < LONGEST_WAIT_MS; await pause(50)) {
      // One second longer, because what a sweep has forgotten stays refused for its time.
      if (await storage.oneTimeIdentifiers.take('taken once', 61)) return;
      assert.equal(child.exitCode, null, 'it has ended');
    }
    assert.fail('it is still there');
  });
}
