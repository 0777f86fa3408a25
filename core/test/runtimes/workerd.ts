import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { type BuildOptions, build } from 'esbuild';
import { WORKERD } from './executables.ts';

/** Bundles like a deployment of Workers. */
const CONDITIONS = ['workerd', 'worker', 'browser'];

/** From the compatibility date 2026-08-04 on, a Worker has Node's modules unless it opts out. */
export const WITHOUT_NODE = ['no_nodejs_compat', 'no_nodejs_compat_v2'];

/** They can be imported, but their globals, such as `Buffer`, do not exist. */
export const WITH_NODE_MODULES = ['no_nodejs_compat_v2'];

/** The entry points that a Worker can use. */
export const WORKER_ENTRIES: readonly { readonly in: string; readonly out: string }[] = [
  { in: '@grantd/core', out: 'core' },
  ...['authorization_details', 'client_certificates', 'fetch', 'h3', 'hono', 'memory'].map((entry) => ({
    in: `@grantd/core/${entry}`,
    out: entry,
  })),
  { in: '@grantd/protect', out: 'protect' },
  ...['fetch', 'h3', 'hono', 'nest', 'node'].map((entry) => ({
    in: `@grantd/protect/${entry}`,
    out: `protect_${entry}`,
  })),
];

export interface Worker {
  readonly origin: string;
}

/** No import may stay outside: a Node module among them fails the build. */
const SELF_CONTAINED = {
  bundle: true,
  format: 'esm',
  platform: 'neutral',
  target: 'es2024',
  mainFields: ['module', 'main'],
  conditions: CONDITIONS,
  write: false,
  logLevel: 'silent',
} as const satisfies BuildOptions;

/** Bundles the package alone, as modules that a Worker imports. Returns the text of each by name. */
export async function bundlePackage(folder: string): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await build({
    ...SELF_CONTAINED,
    entryPoints: [...WORKER_ENTRIES],
    outdir: join(folder, 'package'),
    outExtension: { '.js': '.mjs' },
    absWorkingDir: folder,
    splitting: true,
  });
  return new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
}

/** Bundles a host with the installed package. Returns the text of the Worker's only module. */
export async function bundleHost(folder: string, file: string): Promise<string> {
  const { outputFiles } = await build({
    ...SELF_CONTAINED,
    stdin: { contents: readFileSync(file, 'utf8'), resolveDir: folder },
  });
  const [{ text } = { text: '' }] = outputFiles;
  return text;
}

/** Serves a Worker of these modules on loopback until the test ends. The first one is its main module. */
export async function serveWorker(
  t: TestContext,
  folder: string,
  modules: ReadonlyMap<string, string>,
  compatibilityFlags: readonly string[],
): Promise<Worker> {
  const embedded = [...modules].map(([name, text], index) => {
    writeFileSync(join(folder, `module_${index}.mjs`), text);
    return `(name = ${JSON.stringify(name)}, esModule = embed "module_${index}.mjs")`;
  });
  writeFileSync(
    join(folder, 'worker.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "internet", network = (allow = ["local", "private"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [${embedded.join(', ')}],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ${JSON.stringify(compatibilityFlags)},
);
`,
  );
  const args = ['serve', 'worker.capnp', '--control-fd=1'];
  const process = spawn(WORKERD(), args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => process.kill());
  for await (const line of createInterface({ input: process.stdout })) {
    const event = line.startsWith('{') ? JSON.parse(line) : {};
    if (event.event === 'listen') return { origin: `http://127.0.0.1:${event.port}` };
  }
  throw new Error('workerd ended before it listened');
}
