// Begins early: backups and restores of a real PostgreSQL.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
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
import { setTimeout as pause } from 'node:timers/promises';
import { TABLES } from '../../core/src/storage/statements.ts';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { TABLES_TO_COPY } from '../src/data/program_migrations.ts';
import { databaseOf, issue } from './harness/backups.ts';
import { ALICE, Browser } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { BARE_POSTGRESQL } from './harness/databases.ts';
import {
  type Environment,
  environmentIn,
  environmentOf,
  PROGRAM,
  type RunningServer,
  until,
  Workbench,
} from './harness/program.ts';
import { basic, introspect, postForm } from './harness/protocol.ts';

describe('a backup of PostgreSQL', { skip: BARE_POSTGRESQL.absence }, () => {
  const workbench = new Workbench(BARE_POSTGRESQL);
  after(() => workbench.clear());
  let folder: string;
  let server: RunningServer;
  let seal: readonly string[];
  let tokens: readonly string[];
  const OPEN = ['--identity-file', 'backup.key'];
  const file = (name: string) => join(folder, name);
  const prints = (...args: readonly string[]) => grantdPrints(folder, args);
  const secret = () => environmentOf(folder).GRANTD_SECRET ?? '';

  before(async () => {
    folder = await workbench.home();
    server = await workbench.start(folder, ['--demo']);
    seal = ['--recipient', await prints('backup', 'new-key', 'backup.key')];
    tokens = await issue(folder, '--count', '1500', '--opaque');
    await prints('token', 'revoke', tokens[0] ?? '');
    await prints('backup', 'b.age', ...seal);
  });

  /** A folder whose commands use a new, empty database with the secret of the backup. */
  async function emptyTarget() {
    const target = await workbench.home();
    const environment: Environment = { ...environmentOf(target), GRANTD_SECRET: secret() };
    return { target, environment, url: environment.GRANTD_DATABASE ?? '' };
  }

  async function restored(backup: string, flags: readonly string[] = []) {
    const { environment, url } = await emptyTarget();
    const outcome = await grantd(folder, ['restore', backup, '--json', ...OPEN, ...flags], { environment });
    assert.equal(outcome.code, 0, outcome.stderr);
    const inTarget = (...args: readonly string[]) => grantdPrints(folder, args, '', environment);
    return { environment, url, inTarget, shown: JSON.parse(outcome.stdout), stderr: outcome.stderr };
  }

  const state = (explained: string) => /^alive +(yes|no)$/m.exec(explained)?.[1];

  test('is sealed, is of its owner alone, and is verified like one of SQLite', async () => {
    assert.equal(statSync(file('b.age')).mode & 0o777, 0o600);
    const bytes = readFileSync(file('b.age'));
    for (const text of [secret(), 'alice', 'SQLite format 3']) assert.equal(bytes.includes(text), false);
    const shown = JSON.parse(await prints('backup', 'verify', 'b.age', '--json', ...OPEN));
    assert.deepEqual([shown.issuer, shown.clients, shown.users, shown.secret], [server.url, 5, 1, true]);
    assert.ok(shown.activeTokens >= tokens.length - 1 && shown.lastEvent > 0);
    const verified = await prints('backup', 'verify', 'b.age', ...OPEN);
    assert.match(
      verified,
      /^written by .*, as an SQLite file with tables \d+ \(library\) and \d+ \(program\)$/m,
    );
    assert.match(await prints('migrate', 'status'), /^POSTGRESQL TABLES /m);
  });

  test('has every column that PostgreSQL has, except those of the server', async () => {
    const { folder: home } = { folder: workbench.folder() };
    await grantdPrints(home, [
      'restore',
      file('b.age'),
      '--identity-file',
      file('backup.key'),
      '--database',
      `sqlite:${databaseOf(home)}`,
    ]);
    const database = new DatabaseSync(databaseOf(home), { readOnly: true });
    const inFile = new Map(
      [...TABLES, ...TABLES_TO_COPY].map((table) => [
        table,
        database
          .prepare(`SELECT name FROM pragma_table_info('${table}')`)
          .all()
          .map(({ name }) => String(name)),
      ]),
    );
    database.close();
    const rows = await ask(
      { url: environmentOf(folder).GRANTD_DATABASE ?? '' },
      "SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) WHERE table_schema = 'grantd' AND table_type = 'BASE TABLE'",
    );
    const columns = rows.map((row) => [String(row.table_name), String(row.column_name)] as const);
    const missing = columns.filter(([table, column]) => inFile.get(table)?.includes(column) === false);
    assert.deepEqual(missing.map((one) => one.join('.')).sort(), [
      'issuers.epoch',
      'issuers.epoch_since',
      'issuers.epoch_timeline',
    ]);
    const absent = new Set(columns.map(([table]) => table).filter((table) => !inFile.has(table)));
    assert.deepEqual([...absent].sort(), [
      'api_requests',
      'people_words',
      'program_schema',
      'schema_versions',
      'sign_in_attempts',
      'sweeps',
      'unnumbered_events',
      'write_checks',
    ]);
  });

  test('is restored to an empty PostgreSQL database, and a server answers from it', async () => {
    const { environment, inTarget, shown, stderr, url } = await restored('b.age');
    assert.equal(shown.issuer, server.url);
    assert.equal(shown.secretFile, undefined);
    const { password } = new URL(url);
    assert.equal(`${JSON.stringify(shown)}${stderr}`.includes(password), false);
    assert.match(stderr, /may be active again/);
    const command = /^ {2}grantd (token revoke .*)$/m.exec(stderr)?.[1] ?? '';
    assert.match(command, /--database postgres:\/\/grantd@127\.0\.0\.1:\d+\/test_\w+$/);
    assert.match(await inTarget('audit', 'verify'), /./);
    const other = await workbench.start(folder, ['--issuer', server.url], environment);
    const [revoked = '', ...alive] = tokens;
    for (const token of [alive[0] ?? '', alive.at(-1) ?? ''])
      assert.equal((await introspect(other.url, token)).active, true);
    assert.equal((await introspect(other.url, revoked)).active, false);
    // A key of the backup signs.
    const issued = await postForm(
      `${other.url}/token`,
      { grant_type: 'client_credentials' },
      basic('demo-machine', 'demo-machine-secret'),
    );
    assert.equal(issued.status, 200, await issued.text());
    await other.stop();
    const events: { number: number }[] = JSON.parse(await inTarget('events', 'list', '--json'));
    const [last, live] = [events.at(-1)?.number ?? 0, JSON.parse(await prints('events', 'list', '--json'))];
    assert.ok(last > live.at(-1).number + 1000);
    await inTarget('audit', 'verify');
    await inTarget(...command.replace(/ --database \S+/, '').split(' '));
    assert.equal(state(await inTarget('token', 'explain', alive[0] ?? '')), 'no');
  });

  test('is restored to SQLite, and a backup of SQLite to PostgreSQL', async () => {
    const home = workbench.folder();
    const database = ['--database', `sqlite:${databaseOf(home)}`];
    await grantdPrints(home, ['restore', file('b.age'), '--identity-file', file('backup.key'), ...database]);
    assert.equal(readFileSync(`${databaseOf(home)}.secret`, 'utf8').trim(), secret());
    assert.equal(state(await grantdPrints(home, ['token', 'explain', tokens[1] ?? ''])), 'yes');
    await grantdPrints(home, ['audit', 'verify']);
    await grantdPrints(home, ['backup', file('sqlite.age'), ...seal]);
    const { inTarget } = await restored('sqlite.age', ['--revoke-tokens']);
    assert.equal(state(await inTarget('token', 'explain', tokens[1] ?? '')), 'no');
    await inTarget('audit', 'verify');
  });

  test('replays the events after it, also those that had no number yet', async () => {
    const [first = '', second = ''] = await issue(folder, '--count', '2', '--opaque');
    await prints('token', 'revoke', first);
    const browser = new Browser(server.url);
    await browser.submit(await browser.get(`${server.url}/account`), { ...ALICE });
    await prints('backup', 'then.age', ...seal);
    await prints('token', 'revoke', second);
    await prints('user', 'end-sessions', 'alice');
    await prints('client', 'disable', 'demo-api');
    writeFileSync(file('events.json'), await prints('events', 'list', '--json'));
    await prints('client', 'enable', 'demo-api');
    const { inTarget, shown } = await restored('then.age', ['--replay-events', 'events.json']);
    assert.deepEqual(shown.missing, []);
    assert.ok(shown.replayed.applied >= 2);
    for (const token of [first, second]) assert.equal(state(await inTarget('token', 'explain', token)), 'no');
    const clients: { client_id: string; disabled_at?: string }[] = JSON.parse(
      await inTarget('client', 'list', '--json'),
    );
    assert.ok(clients.find(({ client_id: id }) => id === 'demo-api')?.disabled_at);
    assert.deepEqual(JSON.parse(await inTarget('user', 'show', 'alice', '--json')).sessions, []);
    assert.match(await inTarget('user', 'list', '--search', 'ali'), /^alice /m);
  });

  test('is of one moment while servers write, and numbers every event as the database does', async () => {
    let isOver = false;
    const acknowledged: { token: string; atMs: number }[] = [];
    const write = async () => {
      while (!isOver) {
        const response = await postForm(
          `${server.url}/token`,
          { grant_type: 'client_credentials' },
          basic('demo-machine', 'demo-machine-secret'),
        );
        const { access_token: token } = (await response.json()) as { access_token: string };
        acknowledged.push({ token, atMs: Date.now() });
        await pause(10);
      }
    };
    const writers = [write(), write(), write(), write()];
    await until(() => acknowledged.length > 20, 'tokens are issued');
    const startedMs = Date.now();
    // This event has a lower id than others in the backup, and is committed after it.
    const late = ask(
      { url: environmentOf(folder).GRANTD_DATABASE ?? '' },
      `BEGIN; INSERT INTO grantd.unnumbered_events (issuer_id, at_ms, type, target)
       SELECT id, 1, 'token_revoked', 'late' FROM grantd.issuers; SELECT pg_sleep(4); COMMIT`,
    );
    await pause(200);
    await prints('backup', 'busy.age', ...seal);
    const countAfter = acknowledged.length;
    isOver = true;
    await Promise.all([...writers, late]);
    assert.ok(countAfter > acknowledged.filter(({ atMs }) => atMs < startedMs).length);
    const { inTarget, url } = await restored('busy.age');
    const before = acknowledged.filter(({ atMs }) => atMs < startedMs).slice(-5);
    for (const { token } of before) assert.equal(state(await inTarget('token', 'explain', token)), 'yes');
    // This numbers what is left.
    await prints('events', 'list', '--json');
    const [live, copy] = await Promise.all(
      [environmentOf(folder).GRANTD_DATABASE ?? '', url].map((one) =>
        ask(
          { url: one },
          'SELECT sequence, at_ms, type, target FROM grantd.events WHERE sequence < 1000000000',
        ),
      ),
    );
    const numbered = new Map((live ?? []).map((row) => [row.sequence, row]));
    assert.ok((copy ?? []).length > before.length);
    for (const row of copy ?? []) {
      const same = numbered.get(row.sequence);
      assert.deepEqual(same && { ...same }, { ...row });
    }
    await inTarget('audit', 'verify');
  });

  describe('changes nothing and says why in one line if', () => {
    async function refused(args: readonly string[], change: Readonly<Record<string, string>> = {}) {
      const { environment, url } = await emptyTarget();
      const outcome = await grantd(folder, args, { environment: { ...environment, ...change } });
      assert.notEqual(outcome.code, 0);
      assert.equal(outcome.stderr.split('\n').length, 2, outcome.stderr);
      const [there] = await ask({ url }, "SELECT to_regclass('grantd.issuers') IS NOT NULL AS it");
      if (there?.it === true) assert.deepEqual(await ask({ url }, 'SELECT 1 FROM grantd.issuers'), []);
      return outcome.stderr;
    }

    test('the key or passphrase is another one', async () => {
      const words = { GRANTD_BACKUP_PASSPHRASE: 'twelve characters and more' };
      await grantdPrints(folder, ['backup', 'words.age'], '', words);
      const message = await refused(['restore', 'words.age'], {
        GRANTD_BACKUP_PASSPHRASE: 'twelve other characters',
      });
      assert.match(message, /the passphrase does not open/);
    });

    test('the backup is cut off', async () => {
      copyFileSync(file('b.age'), file('cut.age'));
      truncateSync(file('cut.age'), statSync(file('cut.age')).size >> 1);
      assert.match(await refused(['restore', 'cut.age', ...OPEN]), /is damaged or cut off/);
    });

    test('the secret is another one, or missing', async () => {
      const other = { GRANTD_SECRET: 'x'.repeat(32) };
      assert.match(await refused(['restore', 'b.age', ...OPEN], other), /is not the one of the backup/);
      const backup = await grantd(folder, ['backup', 'other.age', ...seal], {
        environment: { ...environmentOf(folder), ...other },
      });
      assert.match(backup.stderr, /does not fit the database/);
      const { environment } = await emptyTarget();
      const { GRANTD_SECRET: _, ...without } = environment;
      const bare = workbench.folder();
      for (const args of [
        ['restore', file('b.age'), '--identity-file', file('backup.key')],
        ['backup', 'new.age', ...seal],
      ]) {
        const { code, stderr } = await grantd(bare, args, { environment: without });
        assert.notEqual(code, 0);
        assert.match(stderr, /GRANTD_SECRET/);
      }
      await grantdPrints(
        bare,
        ['restore', file('b.age'), '--identity-file', file('backup.key'), '--write-secret', 'kept'],
        '',
        without,
      );
      assert.equal(readFileSync(join(bare, 'kept'), 'utf8').trim(), secret());
      assert.equal(statSync(join(bare, 'kept')).mode & 0o777, 0o600);
      // What was written is what every other command reads.
      await grantdPrints(bare, ['secrets', 'status', '--secret-file', 'kept'], '', without);
    });

    test('the database is not empty', async () => {
      const { code, stderr } = await grantd(folder, ['restore', 'b.age', ...OPEN]);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /is not empty: it belongs to the issuer \S+\. Choose an empty database with --database\.\n$/,
      );
    });

    test('there is nothing to back up, or a newer program has changed the tables', async () => {
      assert.match(
        await refused(['backup', 'none.age', ...seal]),
        /is empty: choose another with --database/,
      );
      const { url, environment } = await restored('b.age');
      await ask({ url }, BARE_POSTGRESQL.newerProgramTables);
      const { code, stderr } = await grantd(folder, ['backup', 'none.age', ...seal], { environment });
      assert.equal(code, 1);
      assert.match(stderr, /are not those of this version of grantd .*: use the version of the servers\./);
      assert.equal(existsSync(file('none.age')), false);
    });
  });

  test('a killed restore leaves nothing that is served, and can be repeated', async () => {
    const { environment, url } = await emptyTarget();
    const args = ['restore', 'b.age', ...OPEN];
    const run = () => {
      const [node, main] = PROGRAM;
      return spawn(node, [main, ...args], {
        cwd: folder,
        env: environmentIn(folder, environment),
        stdio: 'ignore',
      });
    };
    const becomes = async (sql: string) => {
      for (let tries = 0; tries < 2000; tries += 1) {
        if ((await ask({ url }, sql)).length > 0) return;
        await pause(5);
      }
      throw new Error(`never: ${sql}`);
    };
    const child = run();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await becomes("SELECT 1 WHERE to_regclass('grantd.sign_ins') IS NOT NULL");
    const holding = ask({ url }, 'BEGIN; LOCK TABLE grantd.people; SELECT pg_sleep(2); COMMIT');
    // The import waits for this lock in the middle of its transaction.
    await Promise.race([
      becomes(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      ),
      ended,
    ]);
    child.kill('SIGKILL');
    await ended;
    await holding;
    const rows = await ask({ url }, 'SELECT 1 FROM grantd.issuers');
    if (rows.length === 0) {
      const { code, stderr } = await grantd(folder, ['serve', '--port', '0'], {
        environment: { ...environment, GRANTD_CREATE: 'false' },
      });
      assert.notEqual(code, 0);
      assert.match(stderr, /does not exist/);
      await grantdPrints(folder, args, '', environment);
    }
    assert.equal((await ask({ url }, 'SELECT 1 FROM grantd.issuers')).length, 1);
  });

  test('a server makes backups itself, and several processes make one at a time', async () => {
    mkdirSync(file('backups'));
    const flags = [
      '--backup-folder',
      'backups',
      '--backup-recipients',
      seal[1] ?? '',
      '--issuer',
      server.url,
    ];
    const other = await workbench.start(folder, flags);
    await until(() => other.log().some(({ event }) => event === 'backup_written'), 'a backup is written');
    const [name = ''] = readdirSync(file('backups'));
    await prints('backup', 'verify', join('backups', name), ...OPEN);
    await other.stop();

    const { url } = { url: environmentOf(folder).GRANTD_DATABASE ?? '' };
    const holding = ask(
      { url },
      "BEGIN; SELECT pg_advisory_xact_lock(hashtext('grantd.backup')), pg_sleep(3); COMMIT",
    );
    await pause(300);
    const { code, stderr } = await grantd(folder, ['backup', 'second.age', ...seal]);
    assert.deepEqual(
      [code, stderr],
      [1, 'grantd: another process is making a backup of this database: wait for it.\n'],
    );
    await holding;
  });
});
