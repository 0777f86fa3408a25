import { basename, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { embeddedChartLibrary } from './embedded_chart_library.ts';
import { packedHelp } from './help_module.ts';

/** Threads and processes that the program starts. It finds them next to the code that starts them. */
const STARTED = ['serve/sweeping_thread', 'serve/backup_process', 'people/hash_thread'];

/** The modules of the command line, and of what it starts. */
export const PROGRAM = ['cli/run', 'serve/worker', ...STARTED];

/** The module that applications import, and what it starts. */
export const EMBEDDED = ['embed', ...STARTED];

/**
 * Bundles the program into a few files, all in one folder: finding and linking 250 modules takes half of a start and
 * 10 MiB of memory.
 * @param server the folder of its sources
 * @param modules to be files of their own, each below `src/`
 * @param packages that are not part of the bundle, as of `external` in esbuild; default: only those that are optional
 * @param entries of packages that are not part of the bundle, although other modules of these packages are
 */
export async function bundleProgram(
  server: string,
  folder: string,
  modules: readonly string[],
  packages?: readonly string[],
  entries: readonly string[] = [],
): Promise<void> {
  const whole: BuildOptions = {
    plugins: [embeddedChartLibrary, packedHelp],
    // Some dependencies are CommonJS.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  };
  await build({
    ...(packages === undefined
      ? whole
      : { plugins: [packedHelp, leftOut(entries)], sourcemap: true, sourcesContent: false }),
    external: ['pg-native', ...(packages ?? [])],
    entryPoints: modules.map((module) => ({
      in: join(server, 'src', `${module}.ts`),
      out: basename(module),
    })),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    logLevel: 'error',
  });
}

/** With `external`, esbuild would leave out all modules of a package. */
function leftOut(entries: readonly string[]): Plugin {
  return {
    name: 'left_out',
    setup({ onResolve }) {
      onResolve({ filter: /./ }, ({ path }) =>
        entries.includes(path) ? { path, external: true } : undefined,
      );
    },
  };
}
