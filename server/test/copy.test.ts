// Begins early: it runs many commands.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import type { AdministrableStorage } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { scriptOf } from '../../core/src/storage/migrations.ts';
import { SQLITE_STORE_TABLES } from '../../core/src/storage/sqlite/schema.ts';
import { freePort } from '../../core/test/harness/free_port.ts';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { PostgresStores } from '../../core/test/harness/postgres_store.ts';
import { ALICE, Browser, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, introspect, newPkce, postForm, userInfo } from './harness/protocol.ts';

const DEMO_WEB = basic('demo-web', 'demo-web-secret');

const TABLES = [
  'issuers',
  'clients',
  'redirect_origins',
  'api_scopes',
  'principals',
  'grants',
  'exchange_ends',
  'tokens',
  'authorization_codes',
  'signing_keys',
  'one_time_identifiers',
  'pending',
  'events',
  'people',
  'demo_issuers',
  'sessions',
  'session_clients',
  'consents',
  'logout_deliveries',
  'pairwise_secrets',
  'scope_texts',
  'removed_people',
  'groups',
  'group_members',
  'mails',
  'mailed_links',
  'upstream_identities',
  'upstream_sessions',
  'passkeys',
  'totp_secrets',
  'recovery_codes',
  'audit_heads',
  'audit_blocks',
  'sign_ins',
  'acting_uses',
  'personal_tokens',
  'document_denials',
];

/** A new PostgreSQL database: its URL without the password, and the variable with it. */
async function newTarget() {
  const url = await disposableDatabase(await sharedPostgres());
  const { password } = new URL(url);
  return { url, to: url.replace(`:${password}@`, '@'), environment: { PGPASSWORD: password } };
}

/** The number of rows per table of a target; empty if there are no tables. */
async function rowsIn(url: string): Promise<Readonly<Record<string, number>>> {
  const [made] = await ask({ url }, "SELECT 1 FROM pg_namespace WHERE nspname = 'grantd'");
  if (made === undefined) return {};
  const counts = TABLES.map((table) => `(SELECT count(*)::int FROM grantd.${table}) AS ${table}`);
  const [row] = await ask({ url }, `SELECT ${counts.join(', ')}`);
  return row as Readonly<Record<string, number>>;
}

const NO_ROWS = Object.fromEntries(TABLES.map((table) => [table, 0]));

async function tokensFrom(response: Response): Promise<{ access_token: string; refresh_token: string }> {
  assert.equal(response.status, 200);
  return (await response.json()) as { access_token: string; refresh_token: string };
}

interface ShownConsent {
  readonly client_id: string;
  readonly entries: readonly [{ readonly scopes: readonly string[] }];
}

/** The tokens of a user who signs in and consents. */
async function authorize(server: RunningServer, who = ALICE, browser = new Browser(server.url)) {
  const pkce = newPkce();
  const callback = await signInAndConsent(
    browser,
    authorizationUrl(server.url, pkce, { scope: 'openid offline_access' }),
    who,
  );
  const fields = {
    grant_type: 'authorization_code',
    code: callback.searchParams.get('code') ?? '',
    redirect_uri: 'http://localhost:4001/callback',
    code_verifier: pkce.verifier,
  };
  return tokensFrom(await postForm(`${server.url}/token`, fields, DEMO_WEB));
}

const refresh = (server: RunningServer, token: string): Promise<Response> =>
  postForm(`${server.url}/token`, { grant_type: 'refresh_token', refresh_token: token }, DEMO_WEB);

describe('grantd copy', { skip: POSTGRESQL.absence }, () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  describe('of a database in use', () => {
    const BOB = { username: 'bob', password: 'correct horse' };
    let folder: string;
    let path: string;
    let target: Awaited<ReturnType<typeof newTarget>>;
    let environment: Readonly<Record<string, string>>;
    let server: RunningServer;
    /** The browser in which alice signed in before the copy. */
    let browser: Browser;
    let stores: PostgresStores;
    let storage: AdministrableStorage;
    /** Every token that was issued from the file, by its state. */
    let tokens: Readonly<
      Record<'signedIn' | 'refresh' | 'old' | 'opaque' | 'machine' | 'revoked' | 'disabled', string>
    >;
    let asItWas: Awaited<ReturnType<typeof told>>;

    const prints = (args: readonly string[], input = '') => grantdPrints(folder, args, input, environment);
    const explain = async (token: string) => JSON.parse(await prints(['token', 'explain', '--json'], token));

    /** Everything that the program prints about a database. */
    async function told(store: AdministrableStorage) {
      const explained = await Promise.all(Object.values(tokens).map(explain));
      const lists = ['client', 'user', 'group', 'keys'].map(async (what) =>
        JSON.parse(await prints([what, 'list', '--json'])),
      );
      // A server that starts on the copy records its configuration.
      const events = (await store.eventsAfter(0, 1000)).filter(({ type }) => type !== 'configuration_loaded');
      return { explained, lists: await Promise.all(lists), events };
    }

    before(async () => {
      folder = workbench.folder();
      path = join(folder, 'grantd-data', 'grantd.db');
      environment = {};
      const original = await workbench.start(folder, ['--demo']);
      for (const name of ['bob', 'mallory', 'gone'])
        await prints(['user', 'add', name, '--password-stdin', '--claim', 'email=x@y.example'], BOB.password);
      await prints(['group', 'add', 'staff']);
      await prints(['group', 'add-member', 'staff', 'bob']);
      await prints(['client', 'add', 'reports', '--scope', 'a', '--name', 'Ein “Name”']);
      const issue = async (...args: string[]) => prints(['token', 'issue', ...args]);
      const [old, revoked] = [
        await issue('--client', 'demo-web', '--user', 'alice'),
        await issue('--client', 'demo-web', '--user', 'alice'),
      ];
      await prints(['keys', 'rotate', '--now']);
      browser = new Browser(original.url);
      const signedIn = await authorize(original, ALICE, browser);
      const machine = await postForm(
        `${original.url}/token`,
        { grant_type: 'client_credentials' },
        basic('demo-machine', 'demo-machine-secret'),
      );
      tokens = {
        old,
        revoked,
        signedIn: signedIn.access_token,
        refresh: signedIn.refresh_token,
        machine: (await tokensFrom(machine)).access_token,
        opaque: await issue('--client', 'demo-web', '--user', 'bob', '--opaque'),
        disabled: await issue('--client', 'demo-web', '--user', 'mallory'),
      };
      assert.equal(
        (await postForm(`${original.url}/token/revoke`, { token: revoked }, DEMO_WEB)).status,
        200,
      );
      await prints(['user', 'disable', 'mallory']);
      await prints(['user', 'remove', 'gone', '--yes']);
      await original.stop();
      const file = openSqliteStorage({ path, issuer: original.url });
      asItWas = await told(file);
      await file.close();

      target = await newTarget();
      const args = ['copy', '--database', 'sqlite:grantd-data/grantd.db', '--to', target.to];
      const copied = await grantd(folder, args, { environment: target.environment });
      const secret = readFileSync(`${path}.secret`, 'utf8').trim();
      const output = copied.stdout + copied.stderr;
      assert.deepEqual([copied.code, output.includes(secret)], [0, false], copied.stderr);
      const counts = await rowsIn(target.url);
      assert.deepEqual([counts.removed_people, counts.groups, counts.group_members], [1, 1, 1]);
      assert.equal(
        copied.stdout,
        TABLES.map((table) => `${table.padEnd('one_time_identifiers'.length)}  ${counts[table]}\n`).join(''),
      );
      const command = `npx grantd serve --database '${target.to}' --secret-file '${path}.secret'`;
      assert.ok(copied.stderr.includes(`\n\n  ${command}\n\n`), copied.stderr);

      environment = {
        ...target.environment,
        ...{ GRANTD_SECRET_FILE: `${path}.secret`, GRANTD_DATABASE: target.to },
      };
      server = await workbench.start(folder, ['--port', String(original.port)], environment);
      stores = new PostgresStores(target.url);
      storage = await stores.open({ issuer: original.url });
    });
    after(() => stores?.end());

    test('copies what every command prints: tokens and why they are dead, clients, users, keys, events', async () => {
      assert.deepEqual(await told(storage), asItWas);
      assert.deepEqual(
        asItWas.explained.map(({ active }) => active),
        Object.keys(tokens).map((name) => name !== 'revoked' && name !== 'disabled'),
      );
      assert.equal(asItWas.events.filter(({ type }) => /_(?:revoked|disabled)$/.test(type)).length, 3);
    });

    test('lets the endpoints respond as before: live tokens stay alive, and dead ones stay dead', async () => {
      for (const [name, token] of Object.entries(tokens)) {
        const { active } = await introspect(server.url, token);
        assert.equal(active, name !== 'revoked' && name !== 'disabled', name);
      }
      assert.equal((await userInfo(server.url, tokens.signedIn)).status, 200);
      assert.equal((await userInfo(server.url, tokens.revoked)).status, 401);
      await prints(['user', 'enable', 'mallory']);
      assert.deepEqual(await introspect(server.url, tokens.disabled), { active: false });
    });

    test('lets a refresh token go on, once', async () => {
      const next = await tokensFrom(await refresh(server, tokens.refresh));
      assert.equal((await introspect(server.url, next.access_token)).active, true);
      const { record, reason } = await explain(tokens.refresh);
      assert.deepEqual([typeof record.superseded_at, reason], ['string', 'superseded']);
      await tokensFrom(await refresh(server, next.refresh_token));
    });

    test('lets users sign in with their passwords, except disabled users', async () => {
      await prints(['user', 'disable', 'mallory']);
      for (const who of [ALICE, BOB]) {
        const { access_token: token } = await authorize(server, who);
        assert.equal((await introspect(server.url, token)).username, who.username);
      }
      const url = authorizationUrl(server.url, newPkce());
      const browser = new Browser(server.url);
      const page = await browser.submit(await browser.get(url), { ...BOB, username: 'mallory' });
      assert.doesNotMatch(page.html, /id="consent-allow"/);
    });

    test('leaves users signed in, and asks no user for consent again', async () => {
      const silent = authorizationUrl(server.url, newPkce(), {
        scope: 'openid offline_access',
        prompt: 'none',
      });
      assert.ok(new URL((await browser.get(silent)).url).searchParams.has('code'));
      const shown = JSON.parse(await prints(['user', 'show', 'alice', '--json']));
      assert.ok(shown.sessions.length > 0);
      assert.deepEqual(
        shown.consents.map(({ client_id: id, entries: [{ scopes }] }: ShownConsent) => [id, scopes]),
        [['demo-web', ['openid', 'offline_access']]],
      );
    });

    test('numbers events after those that were there', async () => {
      const last = (await storage.eventsAfter(0, 1000)).at(-1)?.sequence ?? 0;
      const revoke = { token: tokens.machine };
      const machine = basic('demo-machine', 'demo-machine-secret');
      assert.equal((await postForm(`${server.url}/token/revoke`, revoke, machine)).status, 200);
      const events = await storage.eventsAfter(last, 1000);
      assert.deepEqual(
        events.map(({ sequence, type }) => [sequence, type]),
        [[last + 1, 'token_revoked']],
      );
    });

    test('brings the mark of demo data along: such a database serves this machine alone', async () => {
      const { code, stderr } = await grantd(
        folder,
        ['serve', '--host', '0.0.0.0', '--port', '0', '--issuer', server.url],
        {
          environment,
        },
      );
      assert.equal(code, 1);
      assert.match(stderr, /contains demo data with public passwords/);
    });

    test('refuses a target that holds something already, and leaves it as it is', async () => {
      const rows = await rowsIn(target.url);
      const { code, stdout, stderr } = await grantd(folder, ['copy', '--to', target.to], {
        environment: target.environment,
      });
      const { host, pathname } = new URL(target.url);
      assert.equal(
        stderr,
        `grantd: the database postgres://grantd@${host}${pathname} is not empty: it belongs to the issuer ${server.url}. ` +
          'Choose an empty database with --to.\n',
      );
      assert.deepEqual([code, stdout], [1, '']);
      assert.deepEqual(await rowsIn(target.url), rows);
    });
  });

  /** A small database in a file. */
  async function newSource() {
    const folder = workbench.folder();
    await grantdPrints(folder, ['client', 'add', 'web', '--public']);
    await grantdPrints(folder, ['user', 'add', 'bob', '--password-stdin'], 'correct horse');
    return { folder, path: join(folder, 'grantd-data', 'grantd.db') };
  }

  test('counts in JSON, and warns of a password in its arguments', async () => {
    const { folder, path } = await newSource();
    const { url, to, environment } = await newTarget();
    const { code, stdout, stderr } = await grantd(folder, ['copy', '--to', url, '--json']);
    const rows = { ...NO_ROWS, issuers: 1, clients: 1, people: 1, signing_keys: 0, events: 2 };
    assert.deepEqual(JSON.parse(stdout), { from: path, to, rows });
    assert.match(
      stderr,
      /^grantd: every user of this machine can read the password in --to: set PGPASSWORD instead\n/,
    );
    assert.deepEqual([code, (stdout + stderr).includes(environment.PGPASSWORD)], [0, false]);
  });

  test('tells an operator who passed the secret to pass it again, and never prints it', async () => {
    const folder = workbench.folder();
    const secret = 'a-secret-that-somebody-brings-along';
    await grantdPrints(folder, ['client', 'add', 'web', '--public'], '', { GRANTD_SECRET: secret });
    const { to, environment } = await newTarget();
    const { code, stdout, stderr } = await grantd(folder, ['copy', '--to', to], {
      environment: { ...environment, GRANTD_SECRET: secret },
    });
    assert.match(
      stderr,
      /with the same secret as before, and the password in\nPGPASSWORD:\n\n {2}npx grantd serve --database '[^']+'\n\n/,
    );
    assert.deepEqual([code, (stdout + stderr).includes(secret)], [0, false]);
  });

  test('a copy that fails half-way leaves nothing in the target, which can be copied to afterwards', async () => {
    const { folder, path } = await newSource();
    const { url, to, environment } = await newTarget();
    // A value that PostgreSQL cannot store, in the last table but one.
    change(path, 'UPDATE people SET claims = claims || char(0)');
    const failed = await grantd(folder, ['copy', '--to', to], { environment });
    assert.deepEqual([failed.code, failed.stdout], [1, '']);
    assert.match(failed.stderr, /^grantd: unsupported Unicode escape sequence\n$/);
    assert.deepEqual(await rowsIn(url), NO_ROWS);

    change(path, "UPDATE people SET claims = '{}'");
    await grantdPrints(folder, ['copy', '--to', to], '', environment);
    assert.equal((await rowsIn(url)).people, 1);
  });

  test('refuses a target that holds users although it holds no issuer', async () => {
    const { folder } = await newSource();
    const { url, to, environment } = await newTarget();
    await grantdPrints(folder, ['copy', '--to', to], '', environment);
    await ask({ url }, 'TRUNCATE grantd.issuers, grantd.events CASCADE');
    await grantdPrints(folder, ['copy', '--undo']);
    const rows = await rowsIn(url);
    const { code, stderr } = await grantd(folder, ['copy', '--to', to], { environment });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^grantd: the PostgreSQL database is in use already: it holds rows in grantd\."people"\n$/,
    );
    assert.deepEqual(await rowsIn(url), rows);
  });

  test('refuses a file that a server still runs on, and leaves nothing in the target', async () => {
    const { folder, path } = await newSource();
    const { url, to, environment } = await newTarget();
    const server = await workbench.start(folder, ['--issuer', 'http://localhost:4000']);
    const { code, stderr } = await grantd(folder, ['copy', '--to', to], { environment });
    assert.deepEqual([code, stderr], [1, `grantd: ${path} is in use: stop what serves from it first\n`]);
    assert.deepEqual(await rowsIn(url), NO_ROWS);
    await server.stop();
    await grantdPrints(folder, ['copy', '--to', to], '', environment);
  });

  test('marks the file, which no server or command uses then, until that is undone', async () => {
    const { folder, path } = await newSource();
    const { url, to, environment } = await newTarget();
    await grantdPrints(folder, ['copy', '--to', to], '', environment);
    for (const command of [
      ['serve', '--port', '0', '--issuer', 'http://localhost:4000'],
      ['client', 'list'],
      ['copy', '--to', to],
    ]) {
      const { code, stdout, stderr } = await grantd(folder, command, {
        environment: { PGPASSWORD: environment.PGPASSWORD ?? '' },
      });
      assert.deepEqual([code, stdout], [1, '']);
      if (command[0] === 'copy') continue;
      assert.ok(stderr.startsWith(`grantd: ${path} was copied to ${new URL(url).protocol}//`), stderr);
      assert.ok(stderr.includes(`grantd copy --undo --database sqlite:${path}`));
    }
    assert.equal(await grantdPrints(folder, ['copy', '--undo']), `${path} can be used again.`);
    assert.equal(await grantdPrints(folder, ['copy', '--undo']), `${path} was not copied.`);
    assert.equal((await grantd(folder, ['client', 'list'])).code, 0);
  });

  test('takes a file that an older version has left', async () => {
    const folder = workbench.folder();
    mkdirSync(join(folder, 'grantd-data'));
    const old = new DatabaseSync(join(folder, 'grantd-data', 'grantd.db'));
    old.exec('PRAGMA journal_mode = WAL');
    old.exec(scriptOf(SQLITE_STORE_TABLES.migrations[0] ?? ''));
    old.exec("PRAGMA user_version = 1; INSERT INTO issuers (issuer) VALUES ('https://id.example')");
    old.close();
    const { url, to, environment } = await newTarget();
    await grantdPrints(folder, ['copy', '--to', to], '', environment);
    assert.deepEqual(await rowsIn(url), { ...NO_ROWS, issuers: 1 });
  });

  test('refuses a missing file, and creates none', async () => {
    const folder = workbench.folder();
    const { url, to, environment } = await newTarget();
    const { code, stdout, stderr } = await grantd(folder, ['copy', '--to', to], { environment });
    const path = join(folder, 'grantd-data', 'grantd.db');
    assert.equal(stderr, `grantd: the database ${path} does not exist: choose another with --database.\n`);
    assert.deepEqual([code, stdout, existsSync(path)], [1, '', false]);
    assert.deepEqual(await rowsIn(url), {});
  });

  test('refuses a target that cannot be reached, in a line', async () => {
    const { folder } = await newSource();
    const port = await freePort();
    const { code, stdout, stderr } = await grantd(folder, [
      'copy',
      '--to',
      `postgres://grantd@127.0.0.1:${port}/x`,
    ]);
    assert.equal(
      stderr,
      `grantd: cannot connect to postgres://grantd@127.0.0.1:${port}/x (host 127.0.0.1, port ${port}): ` +
        `ECONNREFUSED, connect ECONNREFUSED 127.0.0.1:${port}; check that PostgreSQL runs there and that the URL is right.\n`,
    );
    assert.deepEqual([code, stdout], [1, '']);
  });

  test('goes from SQLite to PostgreSQL, and nowhere else', async () => {
    const { folder } = await newSource();
    const { to } = await newTarget();
    const copy = (args: readonly string[], environment = {}) =>
      grantd(folder, ['copy', ...args], { environment });
    const outcomes = await Promise.all([
      copy(['--database', to, '--to', to]),
      copy(['--to', to], { GRANTD_DATABASE: to }),
      copy(['--to', 'sqlite:other.db']),
      copy(['--to', 'postgres://user:pass#word@host/name']),
      copy([]),
    ]);
    assert.deepEqual(
      outcomes.map(({ code, stdout, stderr }) => [code, stdout, stderr.split('\n')[0]]),
      [
        [2, '', 'grantd: --database: expected sqlite:PATH, the file to copy from (--database)'],
        [2, '', 'grantd: GRANTD_DATABASE: expected sqlite:PATH, the file to copy from (--database)'],
        [2, '', 'grantd: --to: expected postgres://USER@HOST:PORT/DATABASE, the database to copy to'],
        [2, '', 'grantd: --to: expected postgres://USER@HOST:PORT/DATABASE, the database to copy to'],
        [2, '', 'grantd: --to: expected postgres://USER@HOST:PORT/DATABASE, the database to copy to'],
      ],
    );
    assert.equal(existsSync(join(folder, 'other.db')), false);
  });
});

function change(path: string, sql: string): void {
  const file = new DatabaseSync(path);
  file.exec(sql);
  file.close();
}
