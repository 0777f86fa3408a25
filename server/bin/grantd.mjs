#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=8 --no-parallel-scavenge
// What a process is told before anything of the program is loaded stands in the line above: what a request needs is
// garbage once it is answered, so that more room for the young only takes more memory; a worker has one core, where a
// second thread to collect garbage is in the way; and glibc's default is a heap of its own for each thread. Whoever wants
// it otherwise starts `node` with this file. JavaScript: Node would load its TypeScript compiler for the first file alone,
// although all others have been compiled before.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The oldest Node that runs TypeScript as it is, and knows Argon2. */
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const oldest = engines.node.slice('>='.length);
const [oldestMajor, oldestMinor] = oldest.split('.').map(Number);

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
  console.error(`grantd needs Node ${oldest} or later; this is Node ${process.versions.node}.`);
  process.exit(1);
}

const { keepCompiledCode } = await import('./compiled_code.mjs');
// In its repository the program is beside its dependencies, installed it is among them.
const above = join(import.meta.dirname, '..', '..');
const isInstalled = basename(above) === 'node_modules';
keepCompiledCode(isInstalled ? above : join(above, 'node_modules'));
if (!isInstalled && process.argv[2] === 'serve') noteServer(join(above, 'node_modules', '.grantd_running'));
const { run } = await import('../src/cli/run.ts');
await run(process.argv);

/** Tells `npm run build` that a server runs from this clone, so that it does not replace its modules. */
function noteServer(folder) {
  const note = join(folder, String(process.pid));
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(note, '');
    process.on('exit', () => rmSync(note, { force: true }));
  } catch {
    // A folder that cannot be written cannot be installed into either.
  }
}
