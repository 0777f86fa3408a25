import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { SOURCES, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const SCRIPTS = join(import.meta.dirname, '../../scripts');
const entry = (version: string) => ({ packages: { 'node_modules/x': { version } } });

/** A clone with an outdated module, and an npm that only records that it was started. */
function clone(running: readonly string[]) {
  const folder = workbench.folder();
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  mkdirSync(join(modules, '.grantd_running'));
  for (const pid of running) writeFileSync(join(modules, '.grantd_running', pid), '');
  cpSync(SCRIPTS, join(folder, 'scripts'), { recursive: true });
  writeFileSync(join(modules, '.bin', 'node'), '#!/bin/sh\n');
  chmodSync(join(modules, '.bin', 'node'), 0o755);
  writeFileSync(join(modules, '.package-lock.json'), JSON.stringify(entry('1.0.0')));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(entry('2.0.0')));
  const npm = join(folder, 'npm.mjs');
  const note = join(folder, 'installed');
  writeFileSync(npm, `import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(note)}, process.argv[2]);`);
  const script = join(folder, 'scripts', 'with_pinned_node.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, 'scripts/build.ts'], {
    env: { PATH: process.env.PATH, npm_execpath: npm },
    encoding: 'utf8',
  });
  return { status, stderr, installed: existsSync(note) ? readFileSync(note, 'utf8') : undefined };
}

describe('npm run build, if modules have to be installed,', () => {
  test('refuses beside a server that runs from the same clone', () => {
    const { status, stderr, installed } = clone([String(process.pid)]);
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`grantd runs from this clone \\(process ${process.pid}\\)`));
    assert.equal(installed, undefined);
  });

  test('installs them if no server runs, also after one was killed', () => {
    // No process has such a large number.
    const { status, installed } = clone(['99999999']);
    assert.deepEqual([status, installed], [0, 'ci']);
  });
});

test('a server that runs from a clone is noted, however it was started, until it has ended', async () => {
  const server = await workbench.start(workbench.folder(), [], {}, SOURCES);
  const note = join(SCRIPTS, '..', 'node_modules', '.grantd_running', String(server.pid));
  assert.ok(existsSync(note));
  await server.stop();
  assert.ok(!existsSync(note));
});
