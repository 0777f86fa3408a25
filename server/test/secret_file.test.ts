import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ConfigurationRefused, Refused } from '../src/config/refused.ts';
import { createSecretFile, readSecretFile, secretFileOf } from '../src/data/secrets.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-secret-'));
after(() => rmSync(folder, { recursive: true }));

const workbench = new Workbench();
after(() => workbench.clear());

const hasModes = process.getuid !== undefined ? false : 'this system has no modes of files';

function refusal(message: RegExp) {
  return (error: unknown) =>
    (error instanceof Refused || error instanceof ConfigurationRefused) && message.test(error.message);
}

test('each database of a folder has a secret of its own, named after it', () => {
  const [one, other] = [join(folder, 'one.db'), join(folder, 'other.db')];
  assert.equal(secretFileOf(one), `${one}.secret`);
  assert.notDeepEqual(createSecretFile(one), createSecretFile(other));
  assert.equal(readSecretFile(join(folder, 'third.db')), undefined);
});

test('of two that make the secret both get the first one', () => {
  const database = join(folder, 'raced.db');
  assert.deepEqual(createSecretFile(database), createSecretFile(database));
  assert.equal(statSync(secretFileOf(database)).mode & 0o777, 0o600);
});

test('a secret that others can read or write is refused, with what to do', { skip: hasModes }, () => {
  const database = join(folder, 'open.db');
  const secret = createSecretFile(database);
  for (const mode of [0o644, 0o604, 0o602, 0o777]) {
    chmodSync(secretFileOf(database), mode);
    assert.throws(
      () => readSecretFile(database),
      refusal(/is open to others .*: run chmod 600 \S+open\.db\.secret,/),
    );
  }
  chmodSync(secretFileOf(database), 0o400);
  assert.deepEqual(readSecretFile(database), secret);
});

test('a secret that is too short is refused', () => {
  const database = join(folder, 'short.db');
  writeFileSync(secretFileOf(database), 'short\n', { mode: 0o600 });
  assert.throws(() => readSecretFile(database), refusal(/expected a secret of at least 32 characters/));
});

test('a folder in place of the secret is refused', () => {
  const database = join(folder, 'folder.db');
  mkdirSync(secretFileOf(database), { mode: 0o700 });
  assert.throws(() => readSecretFile(database), refusal(/folder\.db\.secret is not a regular file$/));
});

test('a named pipe in place of the secret is refused instead of being waited for', async (t) => {
  const home = workbench.folder();
  await grantdPrints(home, ['client', 'add', 'x']);
  const path = join(home, 'grantd-data', 'grantd.db.secret');
  rmSync(path);
  if (spawnSync('mkfifo', ['-m', '600', path]).status !== 0) return t.skip('there are no named pipes here');
  const { code, stderr } = await grantd(home, ['client', 'add', 'y']);
  assert.equal(code, 2);
  assert.match(stderr, /grantd\.db\.secret is not a regular file$/m);
});
