// The program as one file, without Node and packages on the machine.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { Workbench } from './harness/program.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const ISSUER = 'http://localhost:4000';
const workbench = new Workbench();
after(() => workbench.clear());

const { version } = JSON.parse(readFileSync(join(ROOT, 'server', 'package.json'), 'utf8'));
const hasStrip = spawnSync('strip', ['--version']).status === 0;
const skip =
  process.platform !== 'linux'
    ? 'only built on Linux'
    : !hasStrip && 'strip is not installed: apt install binutils';

describe('the single executable', { skip }, () => {
  let file: string;
  before(() => {
    file = join(workbench.folder(), 'grantd');
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'executable.ts'), file], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
  });

  test('is smaller than 130 MB, and prints its version', () => {
    assert.ok(statSync(file).size < 130_000_000);
    const { status, stdout, stderr } = spawnSync(file, ['--version'], { encoding: 'utf8', env: {} });
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('has the documentation', () => {
    const { status, stdout } = spawnSync(file, ['help', 'production'], { encoding: 'utf8', env: {} });
    assert.equal(status, 0);
    assert.match(stdout, /^# Put grantd into production\n/);
  });

  for (const workers of ['1', '2'])
    test(`serves pages, sweeps and ends, with --workers ${workers}`, async () => {
      const path = join(workbench.folder(), 'grantd.db');
      const storage = openSqliteStorage({ path, issuer: ISSUER });
      await storage.oneTimeIdentifiers.take('expired', 1);
      await storage.close();
      const args = ['--database', `sqlite:${path}`, '--issuer', ISSUER, '--workers', workers];
      const environment = { GRANTD_SECRET: 'a secret of thirty-two characters', NODE_OPTIONS: '' };
      const server = await workbench.start(workbench.folder(), args, environment, ['/usr/bin/env', file]);
      assert.equal((await fetch(`${server.url}/health`)).status, 200);
      assert.match(await (await fetch(`${server.url}/account`)).text(), /<form/);
      await server.logged(
        ({ event, rows }) => event === 'swept' && rows === 1,
        'that the identifier was swept',
      );
      assert.equal((await server.stop()).code, 0);
    });
});
