import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';
import { PROGRAM_VARIABLE } from '../server/test/harness/program.ts';
import { embeddedChartLibrary } from './packaging/embedded_chart_library.ts';
import { packedHelp } from './packaging/help_module.ts';

const SERVER = join(dirname(import.meta.dirname), 'server');

/**
 * Runs something with the program bundled into a few files. All test files share them. The tests start the program more
 * than a thousand times, and a start from the sources spends most of its time on finding and linking 250 modules.
 */
export async function withBundledProgram<T>(run: () => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-program-'));
  try {
    process.env[PROGRAM_VARIABLE] = await bundleProgram(folder);
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
export async function bundleProgram(folder: string, server = SERVER): Promise<string> {
  const installed = join(folder, 'node_modules', 'grantd');
  const main = join(installed, 'bin', 'grantd.mjs');
  mkdirSync(dirname(main), { recursive: true });
  for (const file of globSync('{package.json,bin/*.mjs}', { cwd: server })) {
    const text = readFileSync(join(server, file), 'utf8');
    writeFileSync(join(installed, file), text.replace('../src/cli/run.ts', '../lib/run.mjs'));
  }
  // Workers and threads are found beside the code that starts them, so all output is in one folder.
  const entries = [
    'cli/run',
    'serve/worker',
    'serve/sweeping_thread',
    'serve/backup_process',
    'people/bcrypt_thread',
  ];
  await build({
    entryPoints: entries.map((entry) => ({ in: join(server, 'src', `${entry}.ts`), out: basename(entry) })),
    outdir: join(installed, 'lib'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    external: ['pg-native'],
    plugins: [embeddedChartLibrary, packedHelp],
    // Some dependencies are CommonJS.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    logLevel: 'error',
  });
  return main;
}
