import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** What has started grantd, the latest first: what came before is still measured by `npm run bench:compare`. */
const PROGRAMS = ['server/bin/grantd.mjs', 'server/src/main.ts'] as const;

/**
 * What is started as grantd.
 * @param root of its repository, of whatever version
 * @throws Error it has none of those that there have been
 */
export function programIn(root: string): string {
  const found = PROGRAMS.map((program) => join(root, program)).find((program) => existsSync(program));
  if (found === undefined) throw new Error(`expected ${PROGRAMS.join(' or ')} in ${root}`);
  return found;
}
