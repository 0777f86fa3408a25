import { readFileSync } from 'node:fs';

/** The test of each runtime, with the manifest that pins its version. */
const RUNTIMES = [
  { test: 'node_22', name: 'Node', manifest: 'runtimes/node_22/package.json', dependency: 'node' },
  { test: 'node_24', name: 'Node', manifest: 'runtimes/node_24/package.json', dependency: 'node' },
  { test: 'bun', name: 'Bun', manifest: 'package.json', dependency: 'bun' },
  { test: 'deno', name: 'Deno', manifest: 'package.json', dependency: 'deno' },
  { test: 'workerd', name: 'workerd', manifest: 'package.json', dependency: 'workerd' },
] as const;

/** `docs/runtimes.md` with the versions from the manifests. */
export function runtimesPage(): string {
  return RUNTIMES.reduce(
    (page, { test, name, manifest, dependency }) => {
      const row = new RegExp(`^\\|[^|\\n]*(\\|.*/${test}\\.test\\.ts\\) \\|)$`, 'm');
      if (!row.test(page)) throw new Error(`docs/runtimes.md has no row that ends with the test ${test}`);
      const { devDependencies } = JSON.parse(readFileSync(manifest, 'utf8'));
      return page.replace(row, `| ${name} ${devDependencies[dependency]} $1`);
    },
    readFileSync('docs/runtimes.md', 'utf8'),
  );
}
