import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { grantd } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('a file that is no database is named, by the server and by every command', async () => {
  const folder = workbench.folder();
  const path = join(folder, 'letter.db');
  writeFileSync(path, 'Dear Alice, '.repeat(100));
  for (const command of [
    ['serve', '--port', '0'],
    ['client', 'list'],
  ]) {
    const { code, stderr } = await grantd(folder, [...command, '--database', 'sqlite:letter.db']);
    assert.deepEqual(
      [code, stderr],
      [1, `grantd: ${path} is not an SQLite database: choose another with --database.\n`],
    );
  }
});

test('a database of another program is named, and nothing is written to it or beside it', async () => {
  const folder = workbench.folder();
  const path = join(folder, 'songs.db');
  const songs = new DatabaseSync(path);
  songs.exec('CREATE TABLE songs (title TEXT)');
  songs.close();
  const before = { content: readFileSync(path), files: readdirSync(folder) };
  for (const command of [
    ['serve', '--port', '0'],
    ['client', 'list'],
    ['client', 'add', 'x'],
    ['client', 'add', 'x', '--create'],
  ]) {
    const { code, stderr } = await grantd(folder, [...command, '--database', 'sqlite:songs.db']);
    assert.deepEqual([code, stderr], [1, `grantd: ${path} is not a grantd database\n`], command.join(' '));
  }
  assert.deepEqual({ content: readFileSync(path), files: readdirSync(folder) }, before);
});

test('a file that lost its end is called corrupt, by the server and by every command', async () => {
  const folder = workbench.folder();
  await grantd(folder, ['client', 'add', 'x', '--scope', 'read', '--database', 'sqlite:cut.db']);
  const path = join(folder, 'cut.db');
  truncateSync(path, 3 * 4096);
  for (const command of [
    ['serve', '--port', '0'],
    ['client', 'list'],
  ]) {
    const { code, stderr } = await grantd(folder, [...command, '--database', 'sqlite:cut.db']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^grantd: the database \S+\/cut\.db is corrupt \(.+\): stop every program .+ backup in its place\.\n$/,
    );
  }
});

test('the server and every command distinguish a folder from a database', async () => {
  const folder = workbench.folder();
  const path = join(folder, 'data');
  mkdirSync(path);
  for (const command of [
    ['serve', '--port', '0'],
    ['client', 'add', 'x'],
  ]) {
    const { code, stderr } = await grantd(folder, [...command, '--database', 'sqlite:data']);
    const file = join(path, 'grantd.db');
    assert.deepEqual(
      [code, stderr],
      [1, `grantd: ${path} is a folder: choose a file with --database sqlite:${file}.\n`],
    );
  }
});

const mayWriteAnything = process.getuid?.() === 0 && 'whoever runs this may write everywhere';

test('a database that may not be written is named, with what is needed', {
  skip: mayWriteAnything,
}, async () => {
  const folder = workbench.folder();
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o500 });
  const { code, stderr } = await grantd(folder, ['client', 'add', 'x', '--database', 'sqlite:closed/x.db']);
  assert.equal(code, 1);
  assert.match(stderr, /closed\/x\.db cannot be opened \(.+\): choose a folder that this user can write/);
});
