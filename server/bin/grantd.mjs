#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=8 --no-parallel-scavenge --no-allocation-site-pretenuring --heap-growing-percent=100
// The first line sets options that must be known before the program is loaded:
//
// - a small young generation, because a request's objects are garbage after the response, so more room only costs memory;
// - one thread for garbage collection, because a worker has one core;
// - no objects created as old: if V8 expects that objects live long, and they do not, then everything that they refer to
//   waits for a full collection (bench/IDEAS.md);
// - a full collection only when the heap has doubled since the last one: each slows responses down for some 0.2 seconds,
//   and by default V8 runs one after every 10 %;
// - two malloc arenas, because glibc's default is one per thread.
//
// To use other options, start `node` with this file. It is JavaScript, because for a single TypeScript file Node would
// load its TypeScript compiler, although all other files are in the compile cache.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The oldest Node with type stripping and Argon2. */
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const oldest = engines.node.slice('>='.length);
const [oldestMajor, oldestMinor] = oldest.split('.').map(Number);

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
  console.error(`grantd needs Node ${oldest} or later; this is Node ${process.versions.node}.`);
  process.exit(1);
}

const { keepCompiledCode } = await import('./compiled_code.mjs');
// In the repository, node_modules is next to the program. After an installation, the program is inside it.
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
