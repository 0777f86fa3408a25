import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Command, said } from './outcomes.ts';
import { hostFolder } from './package_under_test.ts';

/** A write that meets a locked file is done once the lock is gone, and one that meets it for too long is refused. */
export async function assertWritesWait(t: TestContext, command: Command): Promise<void> {
  const folder = hostFolder(t);
  copyFileSync(join(import.meta.dirname, 'inside', 'sqlite_lock.mjs'), join(folder, 'lock.mjs'));
  assert.deepEqual(await said(folder, command, 'lock.mjs'), { short: 'written', long: 'refused' });
}
