// Runs a script under the Node that package.json pins, after installing missing packages. Plain JavaScript without
// dependencies, because a Node 20 without node_modules must be able to run it (ADR 4).
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { settingsOf } from './first_line.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pinnedNode = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');

const [name, ...args] = process.argv.slice(2);
/** The program needs none of the packages of tests, benchmarks and examples, which take minutes to install. */
const isProgram = name.startsWith('server/');

function isInstalled() {
  const marker = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(marker) || !existsSync(pinnedNode)) return false;
  // Any later installation includes the program's packages; the others may be missing.
  if (isProgram && statSync(join(root, 'package-lock.json')).mtimeMs <= statSync(marker).mtimeMs) return true;
  return lockedPackages(join(root, 'package-lock.json')) === lockedPackages(marker);
}

/** Every path to install, with its version; npm records both. */
function lockedPackages(file) {
  const { packages } = JSON.parse(readFileSync(file, 'utf8'));
  const wanted = Object.entries(packages).filter(
    ([path, entry]) =>
      path.startsWith('node_modules/') && !entry.optional && !(isProgram && (entry.dev || entry.devOptional)),
  );
  return JSON.stringify(wanted.map(([path, entry]) => [path, entry.version ?? entry.resolved]).sort());
}

/** Each server that runs from here has a file named after its process. server/bin/grantd.mjs writes it. */
const running = join(root, 'node_modules', '.grantd_running');

/** @returns {string | undefined} the process of a running server */
function runningServer() {
  return existsSync(running) ? readdirSync(running).find(isAlive) : undefined;
}

/** @param {string} pid */
function isAlive(pid) {
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

const own = String(process.pid);
/** The process that may install has this folder, which contains a file named after it. */
const lock = join(root, '.grantd_installing');
const ownLock = `${lock}_${own}`;

/** Waits while another process installs. @returns {Promise<boolean>} whether this process has the lock */
async function takeLock() {
  try {
    mkdirSync(ownLock, { recursive: true });
    writeFileSync(join(ownLock, own), '');
  } catch (error) {
    // A clone that cannot be written cannot be installed into either.
    if (['EACCES', 'EPERM', 'EROFS'].includes(error.code)) return false;
    throw error;
  }
  let reported;
  while (!hasTakenLock()) {
    const holder = holderOfLock();
    if (holder !== undefined && holder !== reported)
      console.error(
        `Waiting until the process ${holder} has installed the dependencies. If it is not an installation, remove ${lock}.`,
      );
    reported = holder ?? reported;
    await setTimeout(100);
  }
  return true;
}

function hasTakenLock() {
  try {
    // It fails if the folder exists, unless that is empty.
    renameSync(ownLock, lock);
    return true;
  } catch {
    return hasTakenOverLock();
  }
}

/** Of several processes that find the lock of an ended one, only one can rename its file. */
function hasTakenOverLock() {
  const holder = holderOfLock();
  if (holder === undefined || isAlive(holder)) return false;
  try {
    renameSync(join(lock, holder), join(lock, own));
  } catch {
    return false;
  }
  rmSync(ownLock, { recursive: true });
  return true;
}

/** @returns {string | undefined} its process */
function holderOfLock() {
  try {
    return readdirSync(lock)[0];
  } catch {
    return undefined;
  }
}

function releaseLock() {
  renameSync(lock, ownLock);
  rmSync(ownLock, { recursive: true });
}

/** @returns {boolean} whether it succeeded */
function install() {
  const server = runningServer();
  if (server !== undefined) {
    console.error(
      `${name} needs modules that are not installed, and grantd runs from this clone (process ${server}). ` +
        'Installing them would replace the modules of the running server. Stop it first, or use another clone. ' +
        `If that process is not grantd, remove ${join(running, server)}.`,
    );
    return false;
  }
  const time = isProgram ? 'a few seconds' : 'a minute or two';
  console.error(`Installing dependencies (first start only; this takes ${time}) …`);
  const npm = process.env.npm_execpath;
  const [command, npmArgs] = npm ? [process.execPath, [npm]] : ['npm', []];
  const what = isProgram ? ['--omit=dev'] : [];
  const installed = spawnSync(
    command,
    [...npmArgs, 'ci', ...what, '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: root,
      stdio: ['ignore', 2, 2],
      shell: process.platform === 'win32' && !npm,
    },
  );
  if (installed.status === 0) return true;
  console.error('The installation failed; run `npm ci` to see why.');
  return false;
}

/** This process stands for the program's until that has noted its own: see `running`. */
function noteProgram() {
  const note = join(running, own);
  try {
    mkdirSync(running, { recursive: true });
    writeFileSync(note, '');
    process.on('exit', () => rmSync(note, { force: true }));
  } catch {
    // A folder that cannot be written cannot be installed into either.
  }
}

const isLocked = await takeLock();
const isReady = isInstalled() || install();
if (isLocked) {
  if (isReady && isProgram) noteProgram();
  releaseLock();
}
if (!isReady) process.exit(1);

const script = join(root, name);
const { flags, variables } = settingsOf(script);
const child = spawn(pinnedNode, [...flags, script, ...args], {
  stdio: 'inherit',
  env: { ...process.env, ...variables },
  shell: process.platform === 'win32',
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// npm starts this through a shell that does not forward SIGTERM. If the shell is gone, this process must end.
if (process.env.npm_lifecycle_event !== undefined) {
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    child.kill('SIGTERM');
  }, 200);
  timer.unref();
}
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
