import { rmSync } from 'node:fs';
import { PACKED_VARIABLE, pack } from '../core/test/harness/package/packed.ts';

/** Runs something while the packages are there as npm would publish them, for all test files to share. */
export async function withPackages<T>(run: () => Promise<T>): Promise<T> {
  const folder = pack();
  process.env[PACKED_VARIABLE] = folder;
  try {
    return await run();
  } finally {
    delete process.env[PACKED_VARIABLE];
    rmSync(folder, { recursive: true, force: true });
  }
}
