import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const root = dirname(dirname(dirname(import.meta.dirname)));
const require = createRequire(import.meta.url);

/** The program of a runtime, in the platform's package, or at the place to which its install script moves it. */
function executable(...candidates: readonly string[]): string {
  const found = candidates.map((candidate) => join(root, candidate)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`run npm ci: there is none of ${candidates.join(', ')}`);
  return found;
}

const { platform, arch } = process;
const cpu = arch === 'arm64' ? 'aarch64' : arch;
const exe = platform === 'win32' ? '.exe' : '';

export const NODE_22 = () => executable(`runtimes/node_22/node_modules/node/bin/node${exe}`);
export const NODE_24 = () => executable(`runtimes/node_24/node_modules/node/bin/node${exe}`);
export const BUN = () =>
  executable(
    `node_modules/@oven/bun-${platform === 'win32' ? 'windows' : platform}-${cpu}/bin/bun${exe}`,
    'node_modules/bun/bin/bun.exe',
  );
export const DENO = () =>
  executable(
    `node_modules/@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}/deno${exe}`,
    `node_modules/deno/deno${exe}`,
  );
export const WORKERD = (): string => require('workerd').default;
