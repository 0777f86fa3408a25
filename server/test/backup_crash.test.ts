// Backups and restores that are killed, and backups under load.
// Begins early: backups are killed and repeated.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { grantd, grantdPrints } from './harness/commands.ts';
import { PROGRAM, until, Workbench } from './harness/program.ts';
import { basic, introspect, postForm } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const databaseOf = (folder: string) => join(folder, 'grantd-data', 'grantd.db');
const OPEN = ['--identity-file', 'backup.key'];
const KILLS = process.env.TEST_EVERY_PAIR === 'yes' ? 8 : 4;

/**
 * Runs a command and kills it at several moments of its life.
 * @param check receives whether the command had ended by itself
 */
async function killedAtMoments(
  folder: string,
  args: readonly string[],
  check: (isDone: boolean) => Promise<void>,
): Promise<void> {
  const [node, main] = PROGRAM;
  const start = () =>
    spawn(node, [main, ...args], { cwd: folder, env: { PATH: process.env.PATH ?? '' }, stdio: 'ignore' });
  const ended = (child: ReturnType<typeof start>) =>
    new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));

  const startedAt = performance.now();
  assert.equal(await ended(start()), 0);
  const wholeMs = performance.now() - startedAt;
  await check(true);
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const child = start();
    const end = ended(child);
    // Most of the time is the start of the process: the interesting moments are in the second half.
    await pause(wholeMs * (0.4 + (0.6 * kill) / KILLS) * (0.95 + Math.random() / 10));
    child.kill('SIGKILL');
    await check((await end) === 0);
  }
}

test('a killed backup leaves a complete backup or none, and the next one clears up or names what is left', async () => {
  const folder = workbench.folder();
  const server = await workbench.start(folder, ['--demo']);
  await grantdPrints(folder, ['token', 'issue', '--client', 'demo-machine', '--count', '3000', '--opaque']);
  const recipient = await grantdPrints(folder, ['backup', 'new-key', 'backup.key']);
  const file = join(folder, 'b.age');
  await killedAtMoments(folder, ['backup', 'b.age', '--recipient', recipient], async (isDone) => {
    if (isDone) assert.ok(existsSync(file));
    if (existsSync(file)) await grantdPrints(folder, ['backup', 'verify', 'b.age', ...OPEN]);
    rmSync(file, { force: true });
    assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
  });
  await grantdPrints(folder, ['backup', 'b.age', '--recipient', recipient]);
  assert.equal(existsSync(`${file}.partial`), false);

  writeFileSync(join(folder, 'other.partial'), 'a download');
  writeFileSync(join(folder, 'earlier.age.partial'), readFileSync(file).subarray(0, 1000));
  const { stderr } = await grantd(folder, ['backup', 'later.age', '--recipient', recipient]);
  assert.equal(
    stderr.match(/^grantd: .*/gm)?.join('\n'),
    `grantd: ${join(folder, 'earlier.age.partial')} is an unfinished backup: delete it, unless another backup is running.`,
  );
  const left = readdirSync(join(folder, 'grantd-data')).filter((name) => name.startsWith('grantd.db-backup'));
  assert.deepEqual(left, ['grantd.db-backup.lock']);
  await server.stop();
});

test('a killed restore leaves the whole database or none, and can be repeated', async () => {
  const folder = workbench.folder();
  const server = await workbench.start(folder, ['--demo']);
  await grantdPrints(folder, ['token', 'issue', '--client', 'demo-machine', '--count', '3000', '--opaque']);
  const recipient = await grantdPrints(folder, ['backup', 'new-key', 'backup.key']);
  await grantdPrints(folder, ['backup', 'b.age', '--recipient', recipient]);
  await server.stop();
  const path = join(folder, 'restored', 'grantd.db');
  const order = ['restore', 'b.age', '--database', `sqlite:${path}`, ...OPEN];
  await killedAtMoments(folder, order, async (isDone) => {
    if (isDone) assert.ok(existsSync(path));
    if (existsSync(path)) {
      const database = new DatabaseSync(path);
      assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
      assert.ok(Number(database.prepare('SELECT count(*) AS tokens FROM tokens').get()?.tokens) >= 3000);
      database.close();
      assert.ok(existsSync(`${path}.secret`));
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    } else {
      // Nothing is served from what the restore has left.
      const { code } = await grantd(folder, ['client', 'list', '--database', `sqlite:${path}`]);
      assert.equal(code, 1);
    }
  });
  await grantdPrints(folder, order);
  const left = readdirSync(join(folder, 'restored')).sort();
  assert.deepEqual(left, ['grantd.db', 'grantd.db-backup.lock', 'grantd.db.secret']);
});

test('a backup under load has every token that was issued before it, and no revocation of them is lost', async () => {
  const folder = workbench.folder();
  const server = await workbench.start(folder, ['--demo']);
  const recipient = await grantdPrints(folder, ['backup', 'new-key', 'backup.key']);
  await grantdPrints(folder, ['token', 'issue', '--client', 'demo-machine', '--count', '3000', '--opaque']);
  const machine = basic('demo-machine', 'demo-machine-secret');
  const issued: { readonly token: string; readonly issuedAt: number; revokedAt?: number }[] = [];
  let isOver = false;
  let errors = 0;
  const writer = async (): Promise<void> => {
    while (!isOver) {
      const response = await postForm(`${server.url}/token`, { grant_type: 'client_credentials' }, machine);
      const { access_token: token } = (await response.json()) as { access_token: string };
      if (response.status !== 200) errors += 1;
      const one: (typeof issued)[number] = { token, issuedAt: performance.now() };
      issued.push(one);
      if (issued.length % 3 !== 0) continue;
      const revoked = await postForm(`${server.url}/token/revoke`, { token }, machine);
      if (revoked.status !== 200) errors += 1;
      one.revokedAt = performance.now();
    }
  };
  const writers = Promise.all([writer(), writer(), writer()]);
  await until(() => issued.length >= 12, 'twelve tokens were issued');
  const startedAt = performance.now();
  await grantdPrints(folder, ['backup', 'b.age', '--recipient', recipient]);
  isOver = true;
  await writers;
  assert.equal(errors, 0);

  const other = workbench.folder();
  const database = ['--database', `sqlite:${databaseOf(other)}`];
  await grantdPrints(folder, ['restore', 'b.age', ...database, ...OPEN]);
  const restored = await workbench.start(other, ['--issuer', server.url]);
  const before = issued.filter(({ issuedAt }) => issuedAt < startedAt);
  assert.ok(before.length >= 10);
  for (const { token, revokedAt } of before) {
    const { active } = await introspect(restored.url, token);
    if (revokedAt === undefined) assert.equal(active, true);
    else if (revokedAt < startedAt) assert.equal(active, false);
  }
  await restored.stop();
  await server.stop();
});
