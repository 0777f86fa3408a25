import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ALICE, Browser, isConsent, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, introspect, newPkce, postForm, redeem } from './harness/protocol.ts';

const GOLDEN = join(import.meta.dirname, 'golden');
const ISSUER = 'http://localhost:4577';

const workbench = new Workbench();
after(() => workbench.clear());

const databaseOf = (folder: string) => join(folder, 'grantd-data', 'grantd.db');

/** A copy of a golden database, where the program expects it. */
function goldenHome(version: string): string {
  const folder = workbench.folder();
  mkdirSync(join(folder, 'grantd-data'));
  const packed = readFileSync(join(GOLDEN, version, 'grantd.db.gz'));
  writeFileSync(databaseOf(folder), gunzipSync(packed), { mode: 0o600 });
  const secret = readFileSync(join(GOLDEN, version, 'secret'));
  writeFileSync(`${databaseOf(folder)}.secret`, secret, { mode: 0o600 });
  return folder;
}

function versionsIn(folder: string): readonly unknown[] {
  const database = new DatabaseSync(databaseOf(folder), { readOnly: true });
  const library = database.prepare('PRAGMA user_version').get()?.user_version;
  const program = database.prepare('SELECT version FROM program_schema').get()?.version;
  database.close();
  return [library, program];
}

interface Golden {
  readonly active: readonly string[];
  readonly inactive: readonly string[];
  /** The subject identifier of ada. */
  readonly sub: string;
}

const golden = (version: string): Golden =>
  JSON.parse(readFileSync(join(GOLDEN, version, 'tokens.json'), 'utf8'));

for (const version of readdirSync(GOLDEN).filter((name) => name !== 'README.md')) {
  describe(`a database of ${version}`, () => {
    let server: RunningServer;
    const folder = goldenHome(version);
    const { active, inactive, sub } = golden(version);

    test('is migrated by a start, and its tokens are active or inactive as before', async () => {
      const before = versionsIn(folder);
      server = await workbench.start(folder, ['--issuer', ISSUER, '--use-opaque-refresh-tokens', 'false']);
      assert.notDeepEqual(versionsIn(folder), before);
      for (const token of active) assert.equal((await introspect(server.url, token)).active, true, token);
      for (const token of inactive) assert.deepEqual(await introspect(server.url, token), { active: false });
    });

    test('keeps its users, with their passwords and consents', async () => {
      for (const credentials of [ALICE, { username: 'ada', password: 'correct horse' }]) {
        const browser = new Browser(server.url);
        const pkce = newPkce();
        const url = authorizationUrl(server.url, pkce);
        const callback = await signInAndConsent(browser, url, credentials);
        assert.ok((await redeem(server.url, pkce, callback)).id_token);
        assert.equal(isConsent(await browser.get(url)), false);
      }
      const users = JSON.parse(await grantdPrints(folder, ['user', 'list', '--json']));
      const ada = users.find(({ username }: { username: string }) => username === 'ada');
      assert.equal(ada.sub, sub);
      const eve = users.find(({ username }: { username: string }) => username === 'eve');
      assert.ok(eve.disabled_at);
      const alice = JSON.parse(await grantdPrints(folder, ['user', 'show', 'alice', '--json']));
      assert.equal(alice.consents.length, 1);
    });

    test('keeps its clients with their secrets, and its refresh tokens', async () => {
      const request = { grant_type: 'client_credentials' };
      const right = basic('billing', 'a secret of forty-one characters in length');
      assert.equal((await postForm(`${server.url}/token`, request, right)).status, 200);
      assert.equal((await postForm(`${server.url}/token`, request, basic('billing', 'wrong'))).status, 401);
      const [refreshToken = ''] = active.slice(-1);
      const refreshed = await postForm(
        `${server.url}/token`,
        { grant_type: 'refresh_token', refresh_token: refreshToken },
        basic('demo-web', 'demo-web-secret'),
      );
      assert.equal(refreshed.status, 200);
      await server.stop();
    });
  });

  describe(`a database of ${version} is migrated`, () => {
    test('by grantd migrate up, and by no other command', async () => {
      const folder = goldenHome(version);
      const path = databaseOf(folder);
      const before = versionsIn(folder);
      for (const command of [
        ['client', 'list'],
        ['user', 'disable', 'ada'],
        ['token', 'issue', '--client', 'billing'],
        ['events', 'list'],
      ])
        assert.deepEqual(await grantd(folder, command), {
          code: 1,
          stdout: '',
          stderr:
            `grantd: the tables of ${path} are of an earlier version of grantd: stop every server of that version, ` +
            'then start the new one or run grantd migrate up. grantd migrate status shows the versions.\n',
        });
      const status = JSON.parse(await grantdPrints(folder, ['migrate', 'status', '--json']));
      assert.deepEqual([status.start, status.library.stored, status.program.stored], ['migrate', ...before]);
      assert.deepEqual(versionsIn(folder), before);

      await grantdPrints(folder, ['migrate', 'up']);
      const after = JSON.parse(await grantdPrints(folder, ['migrate', 'status', '--json']));
      assert.deepEqual([after.start, after.library.stored], ['serve', status.library.known]);
      assert.deepEqual(versionsIn(folder), [status.library.known, status.program.known]);
      assert.equal((await grantd(folder, ['client', 'list'])).code, 0);
      assert.equal(JSON.parse(await grantdPrints(folder, ['migrate', 'up', '--json'])).migrated, false);
    });

    test('only while no other process has it open', async () => {
      const folder = goldenHome(version);
      const before = versionsIn(folder);
      // A server of the earlier version holds its file open like this.
      const earlier = new DatabaseSync(databaseOf(folder));
      earlier.prepare('SELECT count(*) FROM tokens').get();
      for (const command of [
        ['migrate', 'up'],
        ['serve', '--port', '0', '--issuer', ISSUER],
      ]) {
        const { code, stderr } = await grantd(folder, command);
        assert.equal(code, 1);
        assert.match(stderr, /other processes use them: stop every server of the earlier version/);
      }
      assert.deepEqual(versionsIn(folder), before);
      earlier.close();
      await grantdPrints(folder, ['migrate', 'up']);
    });
  });
}

test('a database that a newer version has migrated is refused by commands, and grantd migrate names its versions', async () => {
  const folder = workbench.folder();
  await (await workbench.start(folder)).stop();
  const database = new DatabaseSync(databaseOf(folder));
  database.exec('UPDATE program_schema SET version = 99; UPDATE program_schema_floor SET version = 98');
  database.close();
  const status = JSON.parse(await grantdPrints(folder, ['migrate', 'status', '--json']));
  assert.deepEqual([status.start, status.program.stored], ['refuse', 99]);
  for (const command of [
    ['migrate', 'up'],
    ['client', 'list'],
  ]) {
    const { code, stderr } = await grantd(folder, command);
    assert.equal(code, 1);
    assert.match(stderr, /newer/);
  }
});

for (const version of readdirSync(GOLDEN).filter((name) => name !== 'README.md'))
  test(`an export of a database of ${version} is imported as a whole, whatever names and claims it allowed`, async () => {
    const folder = goldenHome(version);
    const database = new DatabaseSync(databaseOf(folder));
    const insert = database.prepare(
      'INSERT INTO people (issuer, subject, name, password_hash, claims, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
    );
    const old = [
      ['al\u0456ce', { email: ' alice2@example.com', email_verified: 'yes' }],
      ['ADA', {}],
      ['\u0430\u0434\u0430', { phone_number: 5551234, phone_number_verified: 'true' }],
      ['kate', { updated_at: '2024-01-31T00:00:00Z' }],
      ['k\u0430te', { address: 'Paris' }],
      ['ka\uff54e', { address: ['a', 'b'], nickname: true }],
      ['\u{1D41A}lice', {}],
      ['\u0438\u0432\u0430\u043d@example.com', {}],
      ['\u2460', {}],
    ] as const;
    for (const [index, [name, claims]] of old.entries())
      insert.run(ISSUER, `old-${index}`, name, '$no$hash', JSON.stringify(claims), index + 1);
    database.close();
    await grantdPrints(folder, ['migrate', 'up', '--issuer', ISSUER]);
    await grantdPrints(folder, ['user', 'export', 'all.jsonl']);
    const exported = readFileSync(join(folder, 'all.jsonl'), 'utf8');

    const elsewhere = workbench.folder();
    writeFileSync(join(elsewhere, 'all.jsonl'), exported);
    const args = ['user', 'import', 'all.jsonl', '--json', '--report'];
    const dry = await grantd(elsewhere, [...args, 'dry.jsonl', '--dry-run', '--create']);
    const run = await grantd(elsewhere, [...args, 'report.jsonl', '--create']);
    for (const { code, stdout, stderr } of [dry, run]) {
      assert.equal(code, 0, stderr + readFileSync(join(elsewhere, 'report.jsonl'), 'utf8'));
      assert.equal(JSON.parse(stdout).imported, exported.trim().split('\n').length);
      assert.match(stderr, /lines have something that was left out/);
    }
    const again = JSON.parse((await grantd(elsewhere, [...args, 'again.jsonl'])).stdout);
    assert.deepEqual([again.imported, again.failed, again.exists], [0, 0, 0]);
    const named = async (name: string) =>
      JSON.parse(await grantdPrints(elsewhere, ['user', 'show', name, '--json']));
    for (const [index, [name]] of old.entries()) assert.equal((await named(name)).sub, `old-${index}`, name);
    const [mixed, cyrillic, kate, other] = await Promise.all(
      ['al\u0456ce', '\u0430\u0434\u0430', 'kate', 'k\u0430te'].map(named),
    );
    assert.equal(mixed.claims.email, 'alice2@example.com');
    assert.equal(Object.hasOwn(mixed.claims, 'email_verified'), false, 'a text that says yes proves nothing');
    assert.deepEqual(
      [cyrillic.claims.phone_number, cyrillic.claims.phone_number_verified],
      ['5551234', true],
    );
    assert.deepEqual([kate.claims.updated_at, other.claims.address], [1706659200, { formatted: 'Paris' }]);
    const report = readFileSync(join(elsewhere, 'report.jsonl'), 'utf8');
    assert.match(report, /only the exact spelling finds this user/);
    assert.match(report, /claims: email_verified: left out: expected true or false/);
  });
