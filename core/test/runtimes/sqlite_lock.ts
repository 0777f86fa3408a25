import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Command, said } from './outcomes.ts';
import { hostFolder } from './package_under_test.ts';

/** A write to a locked file succeeds when the lock is released, and fails if that takes too long. */
export async function assertWritesWait(t: TestContext, command: Command): Promise<void> {
  const folder = hostFolder(t);
  copyFileSync(join(import.meta.dirname, 'inside', 'sqlite_lock.mjs'), join(folder, 'lock.mjs'));
  assert.deepEqual(await said(folder, command, 'lock.mjs'), { short: 'written', long: 'refused' });
}
