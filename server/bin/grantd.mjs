#!/usr/bin/env node
// What a process is told before anything of the program is loaded. JavaScript: Node would load its TypeScript compiler
// for the first file alone, although all others have been compiled before.
import { join } from 'node:path';

/** What a request needs is garbage once it is answered: with more room for the young a process only takes more memory. */
const NODE_FLAGS = ['--max-semi-space-size=8', '--no-parallel-scavenge'];

/** Read by glibc, whose default is a heap of its own for each thread. */
const MEMORY_ENVIRONMENT = { MALLOC_ARENA_MAX: '2' };

/** The oldest Node that runs TypeScript as it is, and knows Argon2. */
const OLDEST_NODE = [24, 7];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  console.error(`grantd needs Node ${OLDEST_NODE.join('.')} or later; this is ${process.version}.`);
  process.exit(1);
}

// Windows starts no program in the place of another.
const canRestart = process.execve !== undefined && process.platform !== 'win32';
if (canRestart && !process.execArgv.includes(NODE_FLAGS[0])) {
  const args = [...NODE_FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, [process.execPath, ...args], { ...MEMORY_ENVIRONMENT, ...process.env });
}

const { keepCompiledCode } = await import('./compiled_code.mjs');
keepCompiledCode(join(import.meta.dirname, '..', '..', 'node_modules'));
const { run } = await import('../src/cli/run.ts');
await run(process.argv);
