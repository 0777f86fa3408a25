import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const HERE = import.meta.dirname;

/**
 * Installs the packages that only the benchmark needs (the peers and autocannon), if they are missing.
 * @throws Error if npm fails
 */
export function installPackages(): void {
  const marker = join(HERE, 'node_modules', '.package-lock.json');
  const lock = join(HERE, 'package-lock.json');
  if (existsSync(marker) && statSync(lock).mtimeMs <= statSync(marker).mtimeMs) return;
  console.error('Installing the packages of the benchmark into bench/node_modules (first use only) …');
  const npm = process.env.npm_execpath;
  const [command, args] = npm === undefined ? ['npm', []] : ['node', [npm]];
  const { status } = spawnSync(command, [...args, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: HERE,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error('The installation failed; run `npm ci` in bench/ to see why.');
}

/**
 * Builds the program as npm publishes it, and installs it until this process exits.
 * @returns its main file
 * @throws Error if the build fails
 */
export function installProgram(): string {
  const root = dirname(HERE);
  const parent = join(root, '.test-results');
  mkdirSync(parent, { recursive: true });
  // In the repository, so that the program finds its dependencies.
  const folder = mkdtempSync(join(parent, 'bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const build = join(root, 'scripts', 'build.ts');
  const { status } = spawnSync(process.execPath, [build, '--into', folder], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('The build failed.');
  const installed = join(folder, 'node_modules', 'grantd');
  mkdirSync(dirname(installed));
  renameSync(join(folder, 'server'), installed);
  return join(installed, 'bin', 'grantd.mjs');
}
