import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type BackedUpHome, backedUpHome, databaseOf, issue, restored } from './harness/backups.ts';
import { ALICE, Browser, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, redeem } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

describe('a backup of a running server', () => {
  let home: BackedUpHome;
  let tokens: readonly string[];
  before(async () => {
    home = await backedUpHome(workbench);
    tokens = await issue(home.folder, '--count', '2');
    await grantdPrints(home.folder, ['backup', 'first.age', ...home.seal]);
  });

  test('is one file that only its owner can read, and leaves nothing else behind', () => {
    assert.equal(statSync(join(home.folder, 'first.age')).mode & 0o777, 0o600);
    assert.match(
      readFileSync(join(home.folder, 'first.age'), 'latin1'),
      /^age-encryption\.org\/v1\n-> X25519 /,
    );
    assert.deepEqual(readdirSync(join(home.folder, 'grantd-data')).sort(), [
      'grantd.db',
      'grantd.db-backup.lock',
      'grantd.db-inodes',
      'grantd.db-shm',
      'grantd.db-wal',
      'grantd.db.secret',
    ]);
    assert.deepEqual(
      readdirSync(home.folder).filter((name) => name.includes('first')),
      ['first.age'],
    );
  });

  test('contains neither tokens, user names nor the server’s secret in the clear', () => {
    const bytes = readFileSync(join(home.folder, 'first.age'));
    const secret = readFileSync(`${databaseOf(home.folder)}.secret`, 'utf8').trim();
    for (const text of [secret, 'alice', 'demo-machine', 'SQLite format 3'])
      assert.equal(bytes.includes(text), false, text);
  });

  test('is verified as it would be restored', async () => {
    const shown = JSON.parse(
      await grantdPrints(home.folder, ['backup', 'verify', 'first.age', '--json', ...home.open]),
    );
    const { ageSeconds, takenAt, lastEvent, program, schemas, activeTokens, ...rest } = shown;
    assert.deepEqual(rest, {
      file: 'first.age',
      issuer: home.server.url,
      clients: 5,
      users: 1,
      secret: true,
    });
    assert.ok(ageSeconds >= 0 && ageSeconds < 60 && Date.parse(takenAt) <= Date.now());
    assert.ok(lastEvent > 0 && schemas.library >= 8 && schemas.program >= 5 && program !== '');
    assert.ok(activeTokens >= tokens.length);
  });

  test('is restored with everything, and a server answers from it', async () => {
    const { folder, shown, stderr } = await restored(workbench, home, 'first.age');
    const path = databaseOf(folder);
    assert.deepEqual([shown.database, shown.issuer], [path, home.server.url]);
    assert.ok(Number(shown.activeTokens) >= tokens.length);
    assert.match(
      stderr,
      /Tokens that were revoked, sessions that ended and refresh tokens that were used after \S+ may be active again/,
    );
    assert.ok(stderr.includes('grantd token revoke --issued-before '));
    assert.match(stderr, /ends no browser sessions\. To end them too, restore again with --revoke-tokens\./);
    assert.equal(
      readFileSync(`${path}.secret`, 'utf8'),
      readFileSync(`${databaseOf(home.folder)}.secret`, 'utf8'),
    );
    for (const file of [path, `${path}.secret`]) assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(folder, 'grantd-data')).sort(), [
      'grantd.db',
      'grantd.db-backup.lock',
      'grantd.db.secret',
    ]);

    const server = await workbench.start(folder, ['--issuer', home.server.url]);
    for (const token of tokens) assert.equal((await introspect(server.url, token)).active, true);
    const browser = new Browser(server.url);
    const pkce = newPkce();
    const callback = await signInAndConsent(browser, authorizationUrl(server.url, pkce), ALICE);
    assert.ok((await redeem(server.url, pkce, callback)).id_token);
    await server.stop();
  });

  test('the command that restore prints ends every token of the backup', async () => {
    const { folder, stderr } = await restored(workbench, home, 'first.age');
    const command = /^ {2}grantd (token revoke .*)$/m.exec(stderr)?.[1]?.split(' ') ?? [];
    await grantdPrints(folder, command);
    for (const token of tokens)
      assert.match(await grantdPrints(folder, ['token', 'explain', token]), /^alive +no$/m);
  });

  test('--revoke-tokens ends every token and session before a server uses the database', async () => {
    const browser = new Browser(home.server.url);
    const callback = await signInAndConsent(browser, authorizationUrl(home.server.url, newPkce()), ALICE);
    assert.ok(callback.searchParams.has('code'));
    await grantdPrints(home.folder, ['backup', 'session.age', ...home.seal]);
    const { folder, shown, stderr } = await restored(workbench, home, 'session.age', ['--revoke-tokens']);
    assert.deepEqual([shown.activeTokens, shown.sessionsEnded], [0, 1]);
    assert.doesNotMatch(stderr, /may be active again/);
    for (const token of tokens)
      assert.match(await grantdPrints(folder, ['token', 'explain', token]), /^alive +no$/m);
    const { sessions } = JSON.parse(await grantdPrints(folder, ['user', 'show', 'alice', '--json']));
    assert.deepEqual(sessions, []);
  });

  test('numbers of new events are higher than any number that was used before', async () => {
    const { folder } = await restored(workbench, home, 'first.age');
    await grantdPrints(home.folder, ['token', 'revoke', ...(await issue(home.folder))]);
    await grantdPrints(folder, ['client', 'disable', 'demo-machine']);
    const last = async (of: string): Promise<number> =>
      JSON.parse(await grantdPrints(of, ['events', 'list', '--json'])).at(-1).number;
    assert.ok((await last(folder)) > (await last(home.folder)) + 1000);
  });

  test('can be sealed with a passphrase from a file, standard input or the environment', async () => {
    const passphrase = 'twelve characters and more';
    writeFileSync(join(home.folder, 'words'), `${passphrase}\n`, { mode: 0o600 });
    await grantdPrints(home.folder, ['backup', 'words.age', '--passphrase-file', 'words']);
    const environment = { GRANTD_BACKUP_PASSPHRASE: passphrase };
    await grantdPrints(home.folder, ['backup', 'verify', 'words.age'], '', environment);
    const open = ['backup', 'verify', 'words.age', '--passphrase-file', '-'];
    await grantdPrints(home.folder, open, `${passphrase}\n`);
    assert.deepEqual(await grantd(home.folder, open, { input: 'another passphrase' }), {
      code: 1,
      stdout: '',
      stderr: `grantd: the passphrase does not open ${join(home.folder, 'words.age')}: it is another one, or the backup was sealed for a key (--identity-file).\n`,
    });
    chmodSync(join(home.folder, 'words'), 0o644);
    const exposed = await grantd(home.folder, ['backup', 'more.age', '--passphrase-file', 'words']);
    assert.equal(exposed.code, 2);
    assert.match(exposed.stderr, /^grantd: --passphrase-file: \S+ is open to others .*: run chmod 600/);
  });

  test('for a key that is none names the flag', async () => {
    // The second has the form of a key, with a wrong checksum.
    for (const key of ['bad', `age1${'q'.repeat(58)}`]) {
      const { code, stderr } = await grantd(home.folder, ['backup', 'none.age', '--recipient', key]);
      assert.equal(code, 2);
      assert.match(stderr, /^grantd: --recipient: /);
    }
  });

  test('without the secret needs it from elsewhere', async () => {
    await grantdPrints(home.folder, ['backup', 'bare.age', '--no-secret', ...home.seal]);
    const { folder, shown, stderr } = await restored(workbench, home, 'bare.age');
    assert.equal(shown.secretFile, undefined);
    assert.match(stderr, /The backup does not contain the server’s secret: put it into/);
    assert.match((await grantd(folder, ['keys', 'rotate'])).stderr, /secret/);
  });

  test('of another server secret than GRANTD_SECRET is refused', async () => {
    const folder = workbench.folder();
    const { code, stderr } = await grantd(
      home.folder,
      ['restore', 'first.age', '--database', `sqlite:${databaseOf(folder)}`, ...home.open],
      { environment: { GRANTD_SECRET: 'x'.repeat(32) } },
    );
    assert.deepEqual(
      [code, stderr],
      [
        1,
        'grantd: the secret of the options (GRANTD_SECRET) is not the one of the backup: unset it, or set the same.\n',
      ],
    );
    assert.equal(existsSync(databaseOf(folder)), false);

    const backup = await grantd(home.folder, ['backup', 'other.age', ...home.seal], {
      environment: { GRANTD_SECRET: 'x'.repeat(32) },
    });
    assert.equal(backup.code, 1);
    assert.match(backup.stderr, /^grantd: the server’s secret does not fit the database \S+, so no backup/);
    assert.equal(existsSync(join(home.folder, 'other.age')), false);
  });
});
