// Installs the program in an empty folder, as npm would publish it. Takes about 20 seconds of one core.
// Begins early: npm installs the program.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { installedProgram, packedPackages } from '../../core/test/harness/package/archives.ts';
import { ROOT } from '../../core/test/harness/package/packed.ts';
import { run } from '../../core/test/harness/package/run.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { BARE_POSTGRESQL } from './harness/databases.ts';
import { CHEAP_OPTIONS, Workbench } from './harness/program.ts';
import { introspect } from './harness/protocol.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'server', 'package.json'), 'utf8'));
/** The oldest supported version. */
const OLDEST_NODE = join(ROOT, 'runtimes', 'node_24', 'node_modules', 'node', 'bin', 'node');
/** Node 24's own warning that SQLite is experimental. */
const QUIET = { NODE_OPTIONS: `${CHEAP_OPTIONS} --disable-warning=ExperimentalWarning` };
const ISSUER = 'http://localhost:4000';
const folder = installedProgram(packedPackages());
const main = join(folder, 'node_modules', 'grantd', 'bin', 'grantd.mjs');
/** What `npx grantd` runs in that folder. */
const linked = join(folder, 'node_modules', '.bin', 'grantd');
const workbench = new Workbench();
after(() => workbench.clear());

for (const [kind, loading] of [
  ['an ES module', "const { embed } = await import('grantd');"],
  [
    'a CommonJS module',
    "const { embed } = process.getBuiltinModule('module').createRequire(process.cwd() + '/')('grantd');",
  ],
] as const)
  test(`${kind} embeds the installed program`, () => {
    const options = "{ issuer: 'https://app.example/auth', database: 'sqlite:embedded.db' }";
    const code = `${loading} const grantd = await embed(${options}); console.log(typeof grantd.handle); await grantd.close();`;
    const { status, stdout } = run(process.execPath, ['--input-type=module', '-e', code], folder);
    assert.deepEqual({ status, stdout }, { status: 0, stdout: 'function\n' });
  });

test('an application embeds the installed program on PostgreSQL', {
  skip: BARE_POSTGRESQL.absence,
}, async () => {
  const { GRANTD_DATABASE: database, GRANTD_SECRET: secret } = await BARE_POSTGRESQL.newDatabase();
  const options = { issuer: 'https://app.example/auth', database, secret, create: true };
  const code = `
    const { embed } = await import('grantd');
    for (const turn of ['new', 'again']) {
      const grantd = await embed(${JSON.stringify(options)});
      console.log(turn, typeof grantd.handle);
      await grantd.close();
    }`;
  const { status, stdout } = run(process.execPath, ['--input-type=module', '-e', code], folder);
  assert.deepEqual({ status, stdout }, { status: 0, stdout: 'new function\nagain function\n' });
});

for (const [name, node] of [
  ['24.7', OLDEST_NODE],
  ['26', process.execPath],
] as const) {
  test(`on Node ${name} the installed program prints its version`, () => {
    const { status, stdout } = run(node, [main, '--version'], folder);
    assert.deepEqual({ status, stdout }, { status: 0, stdout: `${version}\n` });
  });

  test(`on Node ${name} the installed program has the documentation`, () => {
    const { status, stdout } = run(node, [main, 'help', 'production'], folder);
    assert.equal(status, 0);
    assert.match(stdout, /^# Put grantd into production\n/);
  });

  test(`on Node ${name} the installed program serves with workers, and sweeps`, async () => {
    const path = join(workbench.folder(), 'grantd.db');
    const storage = openSqliteStorage({ path, issuer: ISSUER });
    await storage.oneTimeIdentifiers.take('expired', 1);
    await storage.close();
    const args = ['--database', `sqlite:${path}`, '--issuer', ISSUER, '--workers', '2', '--admin-api'];
    const environment = { GRANTD_SECRET: 'a secret of thirty-two characters', ...QUIET };
    const server = await workbench.start(folder, args, environment, [node, main]);
    const health = await fetch(`${server.url}/health`);
    assert.equal(health.status, 200);
    const signIn = await fetch(`${server.url}/account`);
    assert.match(await signIn.text(), /<form/);
    const refused = await fetch(`${server.url}/admin/keys`, { headers: { authorization: 'Bearer guessed' } });
    assert.deepEqual([refused.status, (await refused.json()).code], [401, 'invalid_token']);
    await server.logged(
      ({ event, rows }) => event === 'swept' && rows === 1,
      'that the identifier was swept',
    );
    assert.equal((await server.stop()).code, 0);
  });

  test(`on Node ${name} the installed program serves the demo, started as npx starts it`, async () => {
    const environment = { ...QUIET, PATH: `${dirname(node)}:${process.env.PATH}` };
    const program = ['/usr/bin/env', linked] as const;
    const server = await workbench.start(workbench.folder(), ['--demo'], environment, program);
    const [, token = ''] = /^ {2}(grantd_at_\S+)$/m.exec(server.stderr()) ?? [];
    const { active, client_id, username } = await introspect(server.url, token);
    assert.deepEqual([active, client_id, username], [true, 'demo-web', 'alice']);
    const [, url = ''] = /^ {2}(http\S+\/authorize\?\S+)$/m.exec(server.stderr()) ?? [];
    const callback = await signInAndConsent(new Browser(server.url), url);
    assert.ok(callback.searchParams.has('code'), callback.href);
    assert.equal((await server.stop()).code, 0);
  });
}
