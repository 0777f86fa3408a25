import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { SOURCES, until, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const ROOT = join(import.meta.dirname, '../..');
const BUILD = 'scripts/build.ts';
const PROGRAM = 'server/bin/grantd.mjs';
const RUNNING = 'node_modules/.grantd_running';
const LOCK = '.grantd_installing';
// No process has such a large number.
const ENDED = '99999999';

/** A clone with an outdated module. Its npm notes each installation, and its Node which servers are noted. */
class Clone {
  readonly folder = workbench.folder();

  constructor() {
    for (const folder of ['node_modules/.bin', RUNNING])
      mkdirSync(join(this.folder, folder), { recursive: true });
    for (const folder of ['scripts', 'server/bin'])
      cpSync(join(ROOT, folder), join(this.folder, folder), { recursive: true });
    this.write('node_modules/.bin/node', `#!/bin/sh\nls ${RUNNING} > noted\n`);
    chmodSync(join(this.folder, 'node_modules/.bin/node'), 0o755);
    const lockFile = (version: string) => JSON.stringify({ packages: { 'node_modules/x': { version } } });
    this.write('node_modules/.package-lock.json', lockFile('1.0.0'));
    utimesSync(join(this.folder, 'node_modules/.package-lock.json'), 0, 0);
    this.write('package-lock.json', lockFile('2.0.0'));
    this.write(
      'npm.mjs',
      `import { appendFileSync, cpSync, existsSync } from 'node:fs';
       appendFileSync('installed', process.argv.slice(2, 4).join(' ') + ' ');
       while (existsSync('npm_waits')) await new Promise((resolve) => setTimeout(resolve, 10));
       cpSync('package-lock.json', 'node_modules/.package-lock.json');`,
    );
  }

  write(file: string, text = ''): void {
    writeFileSync(join(this.folder, file), text);
  }

  read(file: string): string {
    return existsSync(join(this.folder, file)) ? readFileSync(join(this.folder, file), 'utf8').trim() : '';
  }

  start(script: string) {
    const child = spawn(process.execPath, [join(this.folder, 'scripts', 'with_pinned_node.mjs'), script], {
      cwd: this.folder,
      env: { PATH: process.env.PATH, npm_execpath: join(this.folder, 'npm.mjs') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const status = once(child, 'close').then(([code]) => code);
    return { pid: child.pid, stderr: () => stderr, status };
  }
}

describe('npm run build, if modules have to be installed,', () => {
  test('refuses beside a server that runs from the same clone', async () => {
    const clone = new Clone();
    clone.write(join(RUNNING, String(process.pid)));
    const { status, stderr } = clone.start(BUILD);
    assert.equal(await status, 1);
    assert.match(stderr(), new RegExp(`grantd runs from this clone \\(process ${process.pid}\\)`));
    assert.equal(clone.read('installed'), '');
  });

  test('installs them if no server runs, also after one was killed', async () => {
    const clone = new Clone();
    clone.write(join(RUNNING, ENDED));
    assert.equal(await clone.start(BUILD).status, 0);
    assert.equal(clone.read('installed'), 'ci --no-audit');
  });
});

describe('npm start and npm test in a new clone:', () => {
  test('the second waits until the first has installed the modules, and says so', async () => {
    const clone = new Clone();
    clone.write('npm_waits');
    const first = clone.start(BUILD);
    await until(() => clone.read('installed') !== '', 'the first installs');
    const second = clone.start(PROGRAM);
    await until(() => second.stderr().includes('\n'), 'the second says that it waits');
    assert.match(second.stderr(), new RegExp(`^Waiting .* process ${first.pid} .*\\n$`));
    rmSync(join(clone.folder, 'npm_waits'));
    assert.deepEqual([await first.status, await second.status], [0, 0]);
    assert.equal(clone.read('installed'), 'ci --no-audit');
    assert.match(second.stderr(), /^.*\n$/, 'it installs nothing');
    assert.deepEqual(
      readdirSync(clone.folder).filter((name) => name.startsWith(LOCK)),
      [],
    );
  });

  test('a killed installation does not block later ones', async () => {
    const clone = new Clone();
    mkdirSync(join(clone.folder, LOCK));
    clone.write(join(LOCK, ENDED));
    const both = [clone.start(BUILD), clone.start(BUILD)];
    assert.deepEqual(await Promise.all(both.map(({ status }) => status)), [0, 0]);
    assert.equal(clone.read('installed'), 'ci --no-audit', 'only one of two installs');
    assert.deepEqual(
      readdirSync(clone.folder).filter((name) => name.startsWith(LOCK)),
      [],
    );
  });

  test('the server is noted before it runs, so that npm test cannot replace its modules', async () => {
    const clone = new Clone();
    const { pid, status } = clone.start(PROGRAM);
    assert.equal(await status, 0);
    assert.equal(clone.read('installed'), 'ci --omit=dev');
    assert.equal(clone.read('noted'), String(pid));
    assert.deepEqual(readdirSync(join(clone.folder, RUNNING)), []);
  });
});

test('a server that runs from a clone is noted, however it was started, until it has ended', async () => {
  const server = await workbench.start(workbench.folder(), [], {}, SOURCES);
  const note = join(ROOT, RUNNING, String(server.pid));
  assert.ok(existsSync(note));
  await server.stop();
  assert.ok(!existsSync(note));
});
