import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption';
import { packTar, type TarEntry, unpackTar } from 'modern-tar';
import { identitiesIn } from '../src/data/backup_file.ts';
import { type BackedUpHome, backedUpHome, databaseOf, issue, restored } from './harness/backups.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

describe('a restore changes nothing and says why in one line if', () => {
  let home: BackedUpHome;
  before(async () => {
    home = await backedUpHome(workbench);
    await issue(home.folder, '--count', '300');
    await grantdPrints(home.folder, ['backup', 'good.age', ...home.seal]);
  });

  /** Restores a backup, which must fail. @returns its message */
  async function refused(backup: string, flags: readonly string[] = home.open): Promise<string> {
    const folder = workbench.folder();
    const database = `sqlite:${databaseOf(folder)}`;
    const { code, stdout, stderr } = await grantd(home.folder, [
      'restore',
      backup,
      '--database',
      database,
      ...flags,
    ]);
    assert.deepEqual([code, stdout], [1, '']);
    // Only the lock of the attempt remains.
    assert.deepEqual(readdirSync(join(folder, 'grantd-data')), ['grantd.db-backup.lock']);
    assert.equal(stderr.split('\n').length, 2, stderr);
    return stderr.replace('grantd: ', '').trim();
  }

  const file = (name: string) => join(home.folder, name);

  /** A copy of the good backup with a change. */
  function changed(name: string, change: (path: string, size: number) => void): string {
    copyFileSync(file('good.age'), file(name));
    change(file(name), statSync(file(name)).size);
    return name;
  }

  const damaged = (name: string) => `${file(name)} is damaged or cut off: use another backup.`;

  test('the backup is cut off', async () => {
    for (const keep of [0.999, 0.5]) {
      const name = changed(`cut${keep}.age`, (path, size) => truncateSync(path, Math.floor(size * keep)));
      assert.equal(await refused(name), damaged(name));
    }
  });

  test('a bit of the backup has changed, in its header, its middle or its end', async () => {
    for (const place of [150, -1, 0.5]) {
      const name = changed(`bit${place}.age`, (path, size) => {
        const bytes = readFileSync(path);
        const at = place === 0.5 ? size >> 1 : place < 0 ? size + place : place;
        bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
        writeFileSync(path, bytes);
      });
      const message = await refused(name);
      assert.ok(message.startsWith(file(name)) || message.startsWith('no identity opens'), message);
    }
  });

  test('the backup ends with a whole block of its sealing, or goes on after its end', async () => {
    const bytes = readFileSync(file('good.age'));
    const header = bytes.indexOf('\n--- ') + 49;
    const [nonce, block] = [16, 65_536 + 16];
    for (const end of [header, header + nonce, header + nonce + block, header + nonce + 3 * block]) {
      const name = changed(`block${end}.age`, (path) => truncateSync(path, end));
      assert.equal(await refused(name), damaged(name), String(end));
    }
    const longer = changed('longer.age', (path) => writeFileSync(path, Buffer.concat([bytes, bytes])));
    assert.equal(await refused(longer), damaged(longer));
  });

  test('the archive in it contains more or else than a backup: other paths, links, parts twice', async () => {
    const decrypter = new Decrypter();
    decrypter.addIdentity(identitiesIn(file('backup.key'))[0] ?? '');
    const parts = await unpackTar(await decrypter.decrypt(readFileSync(file('good.age'))));
    const part = (name: string): TarEntry => {
      const found = parts.find(({ header }) => header.name === name);
      assert.ok(found?.data);
      return { header: { name, size: found.data.length, type: 'file' }, body: found.data };
    };
    const [manifest, secret, stored] = ['manifest.json', 'secret', 'grantd.db'].map(part);
    assert.ok(manifest && secret && stored);
    const empty = (header: Partial<TarEntry['header']>): TarEntry => ({
      header: { name: 'grantd.db', size: 0, type: 'file', ...header },
    });
    const unknown = (name: string) => `contains ${JSON.stringify(name)}, which no backup contains.`;
    const whole = [manifest, secret, stored];
    const archives: Readonly<Record<string, readonly [parts: readonly TarEntry[], problem: string]>> = {
      above: [[...whole, empty({ name: '../../evil' })], unknown('../../evil')],
      absolute: [[manifest, empty({ name: '/tmp/evil' }), stored], unknown('/tmp/evil')],
      prototype: [[...whole, empty({ name: '__proto__' })], unknown('__proto__')],
      link: [[manifest, empty({ type: 'symlink', linkname: '/etc/passwd' }), stored], 'contains a symlink, '],
      hard_link: [[manifest, empty({ type: 'link', linkname: '/etc/passwd' })], 'contains a link, '],
      folder: [[manifest, empty({ type: 'directory' })], 'contains a directory, '],
      other_database: [[manifest, empty({})], 'is not the one that it describes: use another backup.'],
      twice: [[...whole, stored], unknown('grantd.db')],
      two_manifests: [[manifest, manifest, stored], unknown('manifest.json')],
      late: [[stored, manifest], 'is not a backup that this version of grantd can read.'],
      no_database: [[manifest, secret], 'is damaged or cut off: use another backup.'],
      large: [
        [{ header: { ...manifest.header, size: 70_000 }, body: new Uint8Array(70_000) }, stored],
        'is damaged or cut off: use another backup.',
      ],
    };
    const recipient = await identityToRecipient(identitiesIn(file('backup.key'))[0] ?? '');
    for (const [name, [content, problem]] of Object.entries(archives)) {
      const encrypter = new Encrypter();
      encrypter.addRecipient(recipient);
      writeFileSync(file(`${name}.age`), await encrypter.encrypt(await packTar([...content])));
      const message = await refused(`${name}.age`);
      assert.ok(message.includes(problem), `${name}: ${message}`);
    }
  });

  test('the file is no backup, or does not exist', async () => {
    writeFileSync(file('text.age'), 'hello\n');
    assert.equal(await refused('text.age'), `${file('text.age')} is not a backup: expected an age file.`);
    assert.equal(await refused('none.age'), `the backup ${file('none.age')} cannot be read: ENOENT.`);
  });

  test('the identity is another one', async () => {
    await grantdPrints(home.folder, ['backup', 'new-key', 'other.key']);
    assert.equal(
      await refused('good.age', ['--identity-file', 'other.key']),
      `no identity opens ${file('good.age')}: it was sealed for other keys, or with a passphrase (--passphrase-file).`,
    );
  });

  test('the backup is of another issuer', async () => {
    assert.equal(
      await refused('good.age', [...home.open, '--issuer', 'https://other.example']),
      `${file('good.age')} is a backup of the issuer ${home.server.url}, not of https://other.example: use another backup or --issuer.`,
    );
  });

  test('the backup is of a newer version', async () => {
    const { folder } = await restored(workbench, home, 'good.age');
    const database = new DatabaseSync(databaseOf(folder));
    database.exec('PRAGMA user_version = 99; UPDATE schema_floor SET version = 99');
    database.close();
    await grantdPrints(folder, ['backup', file('newer.age'), ...home.seal]);
    assert.match(
      await refused('newer.age'),
      /newer\.age was written by grantd \S+, whose SQLite tables \(versions 99 and \d+\) are newer than this version knows \(\d+ and \d+\): use that version, or a later one\.$/,
    );
  });

  test('the database was damaged already, and no backup is made of it', async () => {
    const { folder } = await restored(workbench, home, 'good.age');
    const bytes = readFileSync(databaseOf(folder));
    bytes.fill('x', bytes.length - 3 * 4096);
    writeFileSync(databaseOf(folder), bytes);
    const { code, stderr } = await grantd(folder, ['backup', 'bad.age', ...home.seal]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^grantd: the database \S+ is damaged \(.*\): no backup was written\. Restore an earlier one\.\n$/,
    );
    assert.equal(existsSync(join(folder, 'bad.age')), false);
  });

  test('the database exists, or files of an earlier one are in its place', async () => {
    const path = databaseOf(home.folder);
    const order = ['restore', 'good.age', ...home.open];
    const before = statSync(path).ino;
    const running = await grantd(home.folder, order);
    assert.equal(running.code, 1);
    assert.equal(
      running.stderr,
      `grantd: ${path} exists: stop every program that uses it, and move it away, together with ${path}-wal and ${path}-shm, or choose another with --database.\n`,
    );
    assert.equal(statSync(path).ino, before);

    const folder = workbench.folder();
    mkdirSync(join(folder, 'grantd-data'));
    writeFileSync(`${databaseOf(folder)}-wal`, 'pages of an earlier database');
    const withLog = await grantd(home.folder, [...order, '--database', `sqlite:${databaseOf(folder)}`]);
    assert.deepEqual(
      [withLog.code, withLog.stderr],
      [
        1,
        `grantd: ${databaseOf(folder)}-wal of an earlier database exists: stop every program that uses it, and move it away.\n`,
      ],
    );
    assert.equal(existsSync(databaseOf(folder)), false);
  });

  test('another secret is in its place', async () => {
    const folder = workbench.folder();
    mkdirSync(join(folder, 'grantd-data'));
    writeFileSync(`${databaseOf(folder)}.secret`, 'x'.repeat(40), { mode: 0o600 });
    const { code, stderr } = await grantd(home.folder, [
      ...['restore', 'good.age', '--database', `sqlite:${databaseOf(folder)}`],
      ...home.open,
    ]);
    assert.deepEqual(
      [code, stderr],
      [1, `grantd: ${databaseOf(folder)}.secret has another secret than the backup: move it away.\n`],
    );
    assert.equal(readFileSync(`${databaseOf(folder)}.secret`, 'utf8'), 'x'.repeat(40));
  });
});
