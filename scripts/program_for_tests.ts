import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PROGRAM_VARIABLE } from '../server/test/harness/program.ts';
import { bundleProgram, PROGRAM } from './packaging/bundled_program.ts';

const SERVER = join(dirname(import.meta.dirname), 'server');

/**
 * Runs something with the program bundled into a few files. All test files share them. The tests start the program more
 * than a thousand times, and a start from the sources spends most of its time on finding and linking 250 modules.
 */
export async function withBundledProgram<T>(run: () => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-program-'));
  try {
    process.env[PROGRAM_VARIABLE] = await programIn(folder);
    return await run();
  } finally {
    delete process.env[PROGRAM_VARIABLE];
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param server the sources of the program; default: those of this clone
 * @returns the main file of the program, which looks as if npm had installed it
 */
export async function programIn(folder: string, server = SERVER): Promise<string> {
  const installed = join(folder, 'node_modules', 'grantd');
  const main = join(installed, 'bin', 'grantd.mjs');
  mkdirSync(dirname(main), { recursive: true });
  for (const file of globSync('{package.json,bin/*.mjs}', { cwd: server })) {
    const text = readFileSync(join(server, file), 'utf8');
    writeFileSync(join(installed, file), text.replace('../src/cli/run.ts', '../lib/run.js'));
  }
  await bundleProgram(server, join(installed, 'lib'), PROGRAM);
  return main;
}
