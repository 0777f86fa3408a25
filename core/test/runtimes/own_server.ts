import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Command, said } from './outcomes.ts';
import { hostFolder } from './package_under_test.ts';

/** The second of two clients disconnects in the middle of its body. Its response, a 400, is lost. */
export async function assertOwnServerTells(t: TestContext, command: Command): Promise<void> {
  const folder = hostFolder(t);
  copyFileSync(join(import.meta.dirname, 'inside', 'own_server.mjs'), join(folder, 'own_server.mjs'));
  assert.deepEqual(await said(folder, command, 'own_server.mjs'), {
    operated: [{ body: 'token=x', id: '127.0.0.1' }],
    endings: [200, 400],
  });
}
