import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

/** Linux keeps its content in memory. */
const MEMORY = '/dev/shm';
/** PostgreSQL servers, databases and installed packages of a whole run need less. */
const ROOM = 4 * 1024 ** 3;

/**
 * Runs something with its temporary files in memory, if there is room. Tests create hundreds of databases, and none of
 * them tests the disk.
 */
export async function withMemoryFolder<T>(run: () => Promise<T>): Promise<T> {
  const before = process.env.TMPDIR;
  const folder = before === undefined ? memoryFolder() : undefined;
  if (folder === undefined) return run();
  process.env.TMPDIR = folder;
  try {
    return await run();
  } finally {
    delete process.env.TMPDIR;
    rmSync(folder, { recursive: true, force: true });
  }
}

function memoryFolder(): string | undefined {
  if (process.platform !== 'linux' || freemem() < 2 * ROOM) return undefined;
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < ROOM) return undefined;
    const folder = mkdtempSync(join(MEMORY, 'grantd-tests-'));
    // PostgreSQL runs as another user.
    chmodSync(folder, 0o1777);
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    if (spawnSync(program).status === 0) return folder;
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    console.error(`Temporary files stay on the disk: ${error}`);
  }
  return undefined;
}
