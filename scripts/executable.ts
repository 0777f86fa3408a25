// Builds the program as a single executable for this machine's system: Node with the bundled program inside.
// `node_modules/.bin/node scripts/executable.ts FILE` needs `strip` (binutils), which removes symbols that nothing reads.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { settingsOf } from './first_line.mjs';
import { embeddedChartLibrary } from './packaging/embedded_chart_library.ts';
import { packedHelp } from './packaging/help_module.ts';

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: node_modules/.bin/node scripts/executable.ts FILE');
  process.exit(2);
}

const SERVER = join(dirname(import.meta.dirname), 'server');
/** Workers are started with this name. No such file exists. */
const WORKER = '/worker.js';
const THREAD = 'sweeping_thread.mjs';

const bundled: BuildOptions = {
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node26',
  external: ['pg-native'],
  logLevel: 'error',
};

/** An executable has no files, so the thread's code is an asset. */
const threadAsAsset: Plugin = {
  name: 'thread_as_asset',
  setup({ onLoad }) {
    onLoad({ filter: /sweep_in_thread\.ts$/ }, ({ path }) => {
      const line = /^const PROGRAM = new URL\(.*\);$/m;
      const text = readFileSync(path, 'utf8');
      if (!line.test(text)) throw new Error(`${path} has no PROGRAM to replace`);
      const asset = `Buffer.from(require('node:sea').getRawAsset('${THREAD}')).toString('base64')`;
      const contents = text.replace(
        line,
        `const PROGRAM = new URL('data:text/javascript;base64,' + ${asset});`,
      );
      return { contents, loader: 'ts' };
    });
  },
};

const MAIN = `
if (process.send !== undefined && process.argv.includes('${WORKER}')) void import('./src/serve/worker.ts');
else void import('./src/cli/run.ts').then(({ run }) => run([process.execPath, 'grantd', ...process.argv.slice(2)]));
`;

const folder = mkdtempSync(join(tmpdir(), 'grantd-executable-'));
try {
  const [main, thread, node] = ['main.cjs', THREAD, 'node'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await build({
    ...bundled,
    stdin: { contents: MAIN, resolveDir: SERVER, loader: 'ts' },
    outfile: main,
    format: 'cjs',
    plugins: [threadAsAsset, embeddedChartLibrary, packedHelp],
    define: {
      'import.meta.url': '"file:///main.js"',
      'import.meta.dirname': '"/"',
      'import.meta.filename': '"/main.js"',
    },
  });
  await build({
    ...bundled,
    entryPoints: [join(SERVER, 'src', 'serve', 'sweeping_thread.ts')],
    outfile: thread,
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire('file:///main.js');",
    },
  });
  copyFileSync(process.execPath, node);
  run('strip', ['--strip-unneeded', node]);
  const { flags } = settingsOf(join(SERVER, 'bin', 'grantd.mjs'));
  const settings = join(folder, 'sea.json');
  writeFileSync(
    settings,
    JSON.stringify({
      ...{ main, executable: node, output: resolve(file), assets: { [basename(thread)]: thread } },
      ...{ disableExperimentalSEAWarning: true, useCodeCache: true, execArgv: flags },
    }),
  );
  // V8 rejects cached code that was compiled with other flags.
  run(process.execPath, [...flags, '--build-sea', settings]);
  console.error(`Built ${file}: ${Math.round(statSync(file).size / 1_000_000)} MB`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function run(program: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`);
}
