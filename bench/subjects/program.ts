import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The program's file in each version, the newest first. `npm run bench:compare` also measures old versions. */
const PROGRAMS = ['server/bin/grantd.mjs', 'server/src/main.ts'] as const;

/**
 * The file to start grantd.
 * @param root of its repository, of any version
 * @throws Error if the repository has none of the known files
 */
export function programIn(root: string): string {
  const found = PROGRAMS.map((program) => join(root, program)).find((program) => existsSync(program));
  if (found === undefined) throw new Error(`expected ${PROGRAMS.join(' or ')} in ${root}`);
  return found;
}
