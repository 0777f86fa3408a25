import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { CAN_PIN } from '../processes/pinning.ts';
import type { Machine } from './results.ts';

/** The machine of the measurement. */
export function thisMachine(): Machine {
  return {
    processor: cpus()[0]?.model ?? 'unknown processor',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    pinned: CAN_PIN,
  };
}

/** The measured commit, and whether the tree differs from it; `undefined` outside a repository. */
export function thisRevision(): string | undefined {
  try {
    const options = { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' } as const;
    const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], options).trim();
    const changes = execFileSync('git', ['status', '--porcelain', '--untracked-files=no'], options).trim();
    return changes === '' ? commit : `${commit} with changes`;
  } catch {
    return undefined; // no git or no repository: archives can be measured too
  }
}
