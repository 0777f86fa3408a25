import { rmSync } from 'node:fs';
import { PACKED_VARIABLE, pack } from '../core/test/harness/package/packed.ts';

/** Runs something with the packages packed as npm would publish them. All test files share them. */
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
