import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { grantd, grantdPrints } from './harness/commands.ts';
import { BARE_POSTGRESQL } from './harness/databases.ts';
import { Workbench } from './harness/program.ts';

const MAKING = [
  ['serve', '--port', '0'],
  ['client', 'add', 'x', '--public'],
  ['user', 'add', 'bob', '--password-stdin'],
];

describe('a missing database file', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());
  const pathIn = (folder: string) => join(folder, 'grantd-data', 'grantd.db');

  test('is not made anew while something of an earlier one is left, unless --create says so', async () => {
    const folder = workbench.folder();
    await grantdPrints(folder, ['client', 'add', 'app', '--public']);
    const path = pathIn(folder);
    for (const left of ['.secret', '-inodes']) {
      rmSync(path, { force: true });
      if (left === '-inodes') rmSync(`${path}.secret`);
      for (const command of MAKING) {
        const { code, stdout, stderr } = await grantd(folder, command, { input: 'a long password' });
        assert.deepEqual([code, stdout], [1, '']);
        assert.equal(
          stderr,
          `grantd: the database ${path} does not exist, but ${path}${left} of an earlier database exists: put the database back ` +
            '(is its volume mounted?), or create a new one with --create.\n',
        );
      }
      assert.equal(existsSync(path), false);
    }
    await grantdPrints(folder, ['client', 'add', 'app', '--public', '--create']);
    const server = await workbench.start(folder, ['--issuer', 'http://localhost:4000']);
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
  });

  test('is not made in folders that are not there, which may be an unmounted volume, unless --create says so', async () => {
    const folder = workbench.folder();
    const path = join(folder, 'volume', 'grantd', 'grantd.db');
    const options = ['--database', `sqlite:${path}`];
    for (const command of MAKING) {
      const { code, stderr } = await grantd(folder, [...command, ...options], { input: 'a long password' });
      assert.equal(code, 1);
      assert.equal(
        stderr,
        `grantd: the database ${path} does not exist, and the folder ${dirname(dirname(path))} does not exist either: correct ` +
          '--database (is its volume mounted?), or create a new one with --create.\n',
      );
    }
    assert.equal(existsSync(join(folder, 'volume')), false);
    await grantdPrints(folder, ['client', 'add', 'app', '--public', '--create', ...options]);
  });

  test('is said to be made, also by the server', async () => {
    const folder = workbench.folder();
    const server = await workbench.start(folder, ['--issuer', 'http://localhost:4000']);
    assert.match(
      server.stderr(),
      /creating the database \S+grantd\.db for the issuer http:\/\/localhost:4000/,
    );
  });

  test('is never made with --create false', async () => {
    const folder = workbench.folder();
    for (const command of MAKING) {
      const { code, stderr } = await grantd(folder, [...command, '--create', 'false'], {
        input: 'a long password',
      });
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^grantd: the database \S+ does not exist, and --create false prevents its creation\.\n$/,
      );
    }
    assert.equal(existsSync(pathIn(folder)), false);
  });

  test('is made by one of several processes that start together, without --create', async () => {
    const folder = workbench.folder();
    const issuer = ['--issuer', 'http://localhost:4000'];
    const servers = await Promise.all([1, 2, 3].map(() => workbench.start(folder, issuer)));
    for (const { url } of servers) assert.equal((await fetch(`${url}/health`)).status, 200);
  });
});

describe('an empty PostgreSQL database', { skip: BARE_POSTGRESQL.absence }, () => {
  const workbench = new Workbench(BARE_POSTGRESQL);
  after(() => workbench.clear());

  test('is not filled without --create', async () => {
    const folder = await workbench.home();
    for (const command of MAKING) {
      const { code, stderr } = await grantd(folder, command, {
        input: 'a long password',
        environment: { GRANTD_CREATE: '' },
      });
      assert.equal(code, 1, stderr);
      assert.match(
        stderr,
        /^grantd: the database postgres:\S+ does not exist, or it is empty: choose another with --database .*--create\.\n$/,
      );
    }
    await grantdPrints(folder, ['client', 'add', 'x', '--public', '--create'], '', { GRANTD_CREATE: '' });
    await grantdPrints(folder, ['client', 'list'], '', { GRANTD_CREATE: '' });
  });
});
