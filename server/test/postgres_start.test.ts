import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { pgBouncerAbsence, startPgBouncer } from '../../core/test/harness/postgres_pgbouncer.ts';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { PROGRAM_TABLES } from '../src/data/postgres_tables.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { BARE_POSTGRESQL } from './harness/databases.ts';
import {
  type Environment,
  environmentOf,
  grantd as grantdProcess,
  type Outcome,
  Workbench,
} from './harness/program.ts';
import { basic, introspect, postForm, userInfo } from './harness/protocol.ts';

const workbench = new Workbench(BARE_POSTGRESQL);
after(() => workbench.clear());

const PASSWORD = 'a-password-of-the-database';

/** Every command, as the first access to the database. */
const COMMANDS: readonly (readonly string[])[] = [
  ['serve', '--port', '0'],
  ['client', 'list'],
  ['client', 'add', 'x', '--public'],
];

describe('a database on PostgreSQL', { skip: BARE_POSTGRESQL.absence }, () => {
  const databaseOf = (folder: string) => environmentOf(folder).GRANTD_DATABASE ?? '';

  function changed(url: string, change: (url: URL) => void): string {
    const other = new URL(url);
    change(other);
    return other.href;
  }

  /** The results of every command with these variables in a new folder. */
  function outcomes(environment: Environment): Promise<readonly Outcome[]> {
    const folder = workbench.folder();
    return Promise.all(COMMANDS.map((args) => grantd(folder, args, { environment })));
  }

  test('that cannot be reached is refused in a line with its host, port and code', async () => {
    const port = await freePort();
    const database = `postgres://grantd:${PASSWORD}@127.0.0.1:${port}/grantd`;
    for (const { code, stdout, stderr } of await outcomes({ GRANTD_DATABASE: database })) {
      const address = `postgres://grantd@127.0.0.1:${port}/grantd (host 127.0.0.1, port ${port})`;
      const reason = `ECONNREFUSED, connect ECONNREFUSED 127.0.0.1:${port}`;
      const remedy = 'check that PostgreSQL runs there and that the URL is right';
      assert.equal(stderr, `grantd: cannot connect to ${address}: ${reason}; ${remedy}.\n`);
      assert.deepEqual([code, stdout], [1, '']);
    }
  });

  test('that wants another password is refused in a line, without either password', async () => {
    const url = await disposableDatabase(await sharedPostgres());
    const { password, host } = new URL(url);
    const wrong = changed(url, (other) => {
      other.password = PASSWORD;
    });
    for (const { code, stdout, stderr } of await outcomes({ GRANTD_DATABASE: wrong })) {
      assert.match(stderr, /^grantd: cannot connect to postgres:\/\/grantd@[^\n]*: 28P01, [^\n]*\n$/);
      assert.match(stderr, new RegExp(`@${host}/.*; check the password, in PGPASSWORD or in the URL\\.`));
      assert.deepEqual([code, stdout], [1, '']);
      for (const one of [password, PASSWORD]) assert.ok(!stderr.includes(one));
    }
    const none = changed(url, (other) => {
      other.password = '';
    });
    for (const { code, stderr } of await outcomes({ GRANTD_DATABASE: none })) {
      assert.equal(code, 1);
      assert.match(stderr, /password must be a string; check the password, in PGPASSWORD or in the URL\.\n$/);
    }
  });

  test('that does not exist is refused with what to do', async () => {
    const url = changed((await sharedPostgres()).url, (other) => {
      other.pathname = 'nobodys';
    });
    for (const { code, stderr } of await outcomes({ GRANTD_DATABASE: url })) {
      assert.equal(code, 1);
      assert.match(
        stderr,
        /: 3D000, database "nobodys" does not exist; create the database first \(createdb\)\.\n$/,
      );
    }
  });

  test('docs/production.md starts with nothing: its statements and commands work in their order', async () => {
    const guide = readFileSync(join(import.meta.dirname, '../../docs/production.md'), 'utf8');
    const page = guide.slice(guide.indexOf('\n### Start with nothing\n'));
    const { url } = await sharedPostgres();
    const name = `test_${randomBytes(6).toString('hex')}`;
    const password = 'the password of the role';
    const [, statements = ''] = /```sql\n(.*?)```/s.exec(page) ?? [];
    assert.match(
      statements,
      /^ +CREATE ROLE grantd LOGIN PASSWORD '(.*)';\n +CREATE DATABASE grantd OWNER grantd;\n/,
    );
    for (const statement of statements.trim().split('\n'))
      await ask({ url }, statement.replaceAll('grantd', name).replace(/;$/, ''));

    const [, database = ''] = /export GRANTD_DATABASE=(\S+)/.exec(page) ?? [];
    const environment = {
      GRANTD_SECRET: randomBytes(32).toString('base64'),
      GRANTD_DATABASE: changed(database.replaceAll('grantd', name), (other) => {
        other.host = new URL(url).host;
      }),
      PGPASSWORD: password,
    };
    assert.ok(page.includes(`PGPASSWORD='${password}'`));
    const commands = [...page.matchAll(/^ *npx grantd (.*)$/gm)].map(([, words = '']) => words.split(' '));
    const [add = [], serve = [], ...checks] = commands.slice(0, 4);
    assert.deepEqual(
      [add[0], serve[0], ...checks.map((words) => words.join(' '))],
      [...['client', 'serve'], ...['migrate status', 'client list']],
    );
    const folder = workbench.folder();
    const without = await grantd(
      folder,
      add.filter((word) => word !== '--create'),
      { environment },
    );
    assert.equal(without.code, 1);
    assert.match(without.stderr, / does not exist, or it is empty/);
    assert.match(await grantdPrints(folder, add, '', environment), /grantd_cs_/);
    const server = await workbench.start(folder, serve.slice(1), environment);
    assert.equal((await fetch(new URL('/health/ready', server.url))).status, 200);
    await server.stop();
    for (const words of checks)
      assert.match(await grantdPrints(folder, words, '', environment), /shop|the tables are up to date/);
  });

  test('that cannot hold every text is refused with its encoding', async () => {
    const server = await sharedPostgres();
    for (const encoding of ['LATIN1', 'SQL_ASCII']) {
      const url = await disposableDatabase(server);
      const name = new URL(url).pathname.slice(1);
      await ask(server, `DROP DATABASE ${name}`);
      await ask(
        server,
        `CREATE DATABASE ${name} OWNER grantd ENCODING '${encoding}' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'`,
      );
      for (const { code, stderr } of await outcomes({ GRANTD_DATABASE: url, GRANTD_CREATE: 'true' })) {
        assert.ok(
          stderr.startsWith(`grantd: the database ${name} has the encoding ${encoding}, which`),
          stderr,
        );
        assert.equal(code, 1);
      }
    }
  });

  test('whose role lacks a right is refused with the GRANT, and needs no right that it does not use', async () => {
    const server = await sharedPostgres();
    const role = `Role ${randomBytes(6).toString('hex')}`;
    const { password } = new URL(server.url);
    await ask(server, `CREATE ROLE "${role}" LOGIN PASSWORD '${password}'`);
    const owned = await disposableDatabase(server);
    const name = new URL(owned).pathname.slice(1);
    const inside = { url: changed(server.url, (url) => Object.assign(url, { pathname: name })) };
    const environment = {
      GRANTD_DATABASE: changed(owned, (url) => Object.assign(url, { username: role })),
      GRANTD_CREATE: 'true',
      GRANTD_SECRET: 's'.repeat(40),
    };
    const add = () => grantd(workbench.folder(), ['client', 'add', 'x', '--public'], { environment });
    const refused = async (problem: string) => {
      const { code, stderr } = await add();
      const [refusal] = stderr.split('\n').slice(-2);
      assert.deepEqual([code, refusal], [1, `grantd: the role "${role}" may not ${problem}`]);
      const [, grant = assert.fail(stderr)] = /: run (GRANT .*?)(?:, or .*)?\n$/.exec(stderr) ?? [];
      return grant;
    };
    await refused(
      `create the schema grantd in the database ${name}: run GRANT CREATE ON DATABASE ${name} TO "${role}", ` +
        `or CREATE SCHEMA grantd AUTHORIZATION "${role}"`,
    );
    await ask(inside, 'CREATE SCHEMA grantd');
    const grant = `GRANT USAGE, CREATE ON SCHEMA grantd TO "${role}"`;
    assert.equal(await refused(`use the schema grantd: run ${grant}`), grant);
    await ask(inside, `GRANT USAGE ON SCHEMA grantd TO "${role}"`);
    assert.equal(await refused(`create tables in the schema grantd: run ${grant}`), grant);
    await ask(inside, grant);
    const done = await add();
    assert.equal(done.code, 0, done.stderr);
    await ask(inside, `REVOKE CREATE ON SCHEMA grantd FROM "${role}"`);
    assert.equal((await grantd(workbench.folder(), ['client', 'list'], { environment })).code, 0);
    await ask(inside, `REVOKE SELECT ON ALL TABLES IN SCHEMA grantd FROM "${role}"`);
    const { code, stderr } = await grantd(workbench.folder(), ['client', 'list'], { environment });
    assert.match(stderr, /^grantd: the role of postgres:.* may not use tables of grantd \(permission denied/);
    assert.equal(code, 1);
  });

  test('takes its password from PGPASSWORD, and warns of one among the arguments', async () => {
    const folder = workbench.folder();
    const url = await disposableDatabase(await sharedPostgres());
    const { password } = new URL(url);
    const without = changed(url, (other) => {
      other.password = '';
    });
    const environment = { GRANTD_SECRET: 's'.repeat(32), GRANTD_CREATE: 'true', PGPASSWORD: password };
    const added = await grantd(folder, ['client', 'add', 'x', '--database', without], { environment });
    assert.deepEqual([added.code, added.stderr.includes('can read the password')], [0, false]);

    const listed = await grantd(folder, ['client', 'list', '--database', url]);
    assert.equal(listed.code, 0);
    assert.match(
      listed.stderr,
      /^grantd: every user of this machine can read the password in --database: set PGPASSWORD, or GRANTD_DATABASE, instead\n$/,
    );
    assert.ok(![added, listed].some(({ stdout, stderr }) => (stdout + stderr).includes(password)));
  });

  test('is not created without a secret, and opened without one only by commands that need none', async () => {
    const folder = await workbench.home();
    const url = databaseOf(folder);
    const withoutSecret = { environment: { GRANTD_SECRET: '' } };
    const expected =
      /^grantd: (creating .*\ngrantd: )?GRANTD_SECRET: expected the server’s secret, .* openssl rand -base64 32\. .*\n$/;
    for (const args of [
      ['serve', '--port', '0'],
      ['client', 'add', 'x'],
      ['user', 'add', 'x', '--password-stdin'],
    ]) {
      const { code, stderr } = await grantd(folder, args, { ...withoutSecret, input: 'correct horse' });
      assert.equal(code, 2);
      assert.match(stderr, expected);
    }
    const schemas = await ask({ url }, "SELECT 1 FROM pg_namespace WHERE nspname = 'grantd'");
    assert.deepEqual(schemas, []);

    await grantdPrints(folder, ['client', 'add', 'web', '--scope', 'a']);
    const listed = await grantd(folder, ['client', 'list', '--json'], withoutSecret);
    assert.equal(JSON.parse(listed.stdout)[0].client_id, 'web');
    const person = { ...withoutSecret, input: 'correct horse' };
    assert.equal((await grantd(folder, ['user', 'add', 'bob', '--password-stdin'], person)).code, 0);
    for (const args of [
      ['serve', '--port', '0', '--issuer', 'http://localhost:4000'],
      ['token', 'issue', '--client', 'web'],
    ]) {
      const { code, stderr } = await grantd(folder, args, withoutSecret);
      assert.equal(code, 2);
      assert.match(stderr, expected);
    }
  });

  test('gets nothing written into it for options that are refused', async () => {
    const folder = await workbench.home();
    const environment = { GRANTD_AUTHENTICATE_INTROSPECT: 'false', GRANTD_INTROSPECTION_POLICY: 'audience' };
    for (const args of [
      ['serve', '--port', '0'],
      ['client', 'add', 'x'],
    ])
      assert.equal((await grantd(folder, args, { environment })).code, 2);
    const demo = ['serve', '--demo', '--port', '0', '--issuer', 'https://login.example.com'];
    assert.equal((await grantd(folder, demo)).code, 1);
    const schemas = await ask(
      { url: databaseOf(folder) },
      "SELECT 1 FROM pg_namespace WHERE nspname = 'grantd'",
    );
    assert.deepEqual(schemas, []);
  });

  test('is made once by many processes that start together', async () => {
    const folder = await workbench.home();
    const names = Array.from({ length: 6 }, (_, index) => `client-${index}`);
    const all = await Promise.all(
      names.map((name) =>
        grantdProcess(folder, ['client', 'add', name, '--public', '--issuer', 'https://id.example']),
      ),
    );
    assert.deepEqual(
      all.map(({ code, stderr }) => [code, /Error|rejected/.test(stderr)]),
      names.map(() => [0, false]),
    );
    const clients: { client_id: string }[] = JSON.parse(
      await grantdPrints(folder, ['client', 'list', '--json']),
    );
    assert.deepEqual(
      clients.map(({ client_id: id }) => id),
      names,
    );
    const versions = await ask({ url: databaseOf(folder) }, 'SELECT version FROM grantd.program_schema');
    assert.deepEqual(versions, [{ version: PROGRAM_TABLES.migrations.length }]);
  });

  test('belongs to one issuer, also if processes start together for several', async () => {
    const folder = await workbench.home();
    const issuers = ['https://a.example', 'https://b.example', 'https://c.example'];
    const all = await Promise.all(
      issuers.map((issuer) => grantdProcess(folder, ['client', 'add', 'x', '--public', '--issuer', issuer])),
    );
    const winners = issuers.filter((_, index) => all[index]?.code === 0);
    assert.equal(winners.length, 1);
    for (const { stderr } of all.filter(({ code }) => code !== 0))
      assert.match(
        stderr,
        new RegExp(`grantd: the database belongs to the issuer ${winners[0]}, not to https://`),
      );
  });

  test('that a newer program has written is refused', async () => {
    const folder = await workbench.home();
    await grantdPrints(folder, ['client', 'add', 'x', '--public']);
    await BARE_POSTGRESQL.run(folder, 'UPDATE grantd.program_schema SET version = 99, floor = 99');
    const { code, stderr } = await grantd(folder, ['client', 'list']);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      'grantd: the database was written by a newer program: grantd.program_schema says 99, usable from 99, ' +
        `and this one knows versions up to ${PROGRAM_TABLES.migrations.length}\n`,
    );
  });

  test('a column or table that was dropped is named at the start, and what to do', async () => {
    for (const [drop, missing] of [
      ['ALTER TABLE grantd.clients DROP COLUMN metadata', 'column "metadata" does not exist'],
      ['ALTER TABLE grantd.tokens DROP COLUMN claims', 'column "claims" of relation "tokens" does not exist'],
      ['DROP TABLE grantd.api_scopes', 'relation "grantd\\.api_scopes" does not exist'],
      ['ALTER TABLE grantd.people DROP COLUMN name_key', 'column "name_key" does not exist'],
      ['ALTER TABLE grantd.issuers DROP COLUMN issuer CASCADE', 'column "issuer" does not exist'],
    ] as const) {
      const folder = await workbench.home();
      await grantdPrints(folder, ['client', 'add', 'x', '--public']);
      await BARE_POSTGRESQL.run(folder, drop);
      const name = 'postgres://grantd@[^ ]+';
      const expected = `^grantd: ${name} lacks tables or columns of grantd \\(${missing}\\): restore the database from a backup\\.\n$`;
      for (const args of [
        ['serve', '--port', '0', '--issuer', 'http://localhost:4000'],
        ['client', 'list'],
      ]) {
        const { code, stdout, stderr } = await grantd(folder, args);
        assert.match(stderr, new RegExp(expected));
        assert.deepEqual([code, stdout], [1, '']);
      }
    }
  });

  test('serves several processes: each knows at once what another one did', async () => {
    const folder = await workbench.home();
    const issuer = ['--issuer', 'http://localhost:4000'];
    const [one, other] = await Promise.all([
      workbench.start(folder, ['--demo', ...issuer]),
      workbench.start(folder, ['--demo', ...issuer]),
    ]);
    const issue = ['token', 'issue', '--client', 'demo-web', '--user', 'alice'];
    const token = await grantdPrints(folder, issue);
    const machine = await postForm(
      `${one.url}/token`,
      { grant_type: 'client_credentials' },
      basic('demo-machine', 'demo-machine-secret'),
    );
    const { access_token: ofOne } = (await machine.json()) as { access_token: string };
    for (const { url } of [one, other]) {
      for (const each of [token, ofOne]) assert.equal((await introspect(url, each)).active, true);
      assert.equal((await userInfo(url, token)).status, 200);
    }
    const revoked = await postForm(
      `${other.url}/token/revoke`,
      { token },
      basic('demo-web', 'demo-web-secret'),
    );
    assert.equal(revoked.status, 200);
    assert.deepEqual(await introspect(one.url, token), { active: false });
    assert.equal((await userInfo(one.url, token)).status, 401);
    assert.equal((await introspect(other.url, ofOne)).active, true);
  });

  test('keeps what was answered by a server that was killed', async () => {
    const folder = await workbench.home();
    const first = await workbench.start(folder, ['--demo']);
    const issue = ['token', 'issue', '--client', 'demo-web', '--user', 'alice'];
    const [kept, revoked] = [await grantdPrints(folder, issue), await grantdPrints(folder, issue)];
    const demoWeb = basic('demo-web', 'demo-web-secret');
    assert.equal((await postForm(`${first.url}/token/revoke`, { token: revoked }, demoWeb)).status, 200);
    await first.stop('SIGKILL');
    const second = await workbench.start(folder, ['--demo', '--port', String(first.port)]);
    assert.equal((await introspect(second.url, kept)).active, true);
    assert.deepEqual(await introspect(second.url, revoked), { active: false });
  });

  test('works behind a pooler that gives each transaction another connection', {
    skip: pgBouncerAbsence(),
  }, async () => {
    const server = await sharedPostgres();
    const bouncer = await startPgBouncer(server, { poolMode: 'transaction' });
    try {
      const folder = await workbench.home();
      const environment = { GRANTD_DATABASE: bouncer.through(databaseOf(folder)) };
      const own = await workbench.start(folder, ['--demo'], environment);
      const issue = ['token', 'issue', '--client', 'demo-web', '--user', 'alice'];
      const token = await grantdPrints(folder, issue, '', environment);
      const answers = await Promise.all(Array.from({ length: 20 }, () => introspect(own.url, token)));
      assert.ok(answers.every(({ active }) => active === true));
      const claims = await Promise.all(Array.from({ length: 20 }, () => userInfo(own.url, token)));
      assert.ok(claims.every(({ status }) => status === 200));
      assert.equal((await fetch(`${own.url}/health`)).status, 200);
    } finally {
      await bouncer.remove();
    }
  });
});
