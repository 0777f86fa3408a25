import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { type PostgresCluster, startPostgres } from '../harness/postgres_cluster.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { type PgBouncerOptions, pgBouncerAbsence, startPgBouncer } from '../harness/postgres_pgbouncer.ts';
import { familyOf, runningProcesses, until } from '../harness/postgres_processes.ts';
import { ask } from '../harness/postgres_server.ts';
import { startStandby } from '../harness/postgres_standby.ts';

const options = { skip: POSTGRES_ABSENCE, timeout: 60_000 };

/** @returns whether it is still pending after 300 ms, far longer than any of these operations takes */
async function isWaiting(answer: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([answer, wait(300, 'waiting')])) === 'waiting';
}

describe('a PostgreSQL server of the tests', options, () => {
  let cluster: PostgresCluster;
  before(async () => {
    cluster = await startPostgres({ settings: { max_connections: 30 } });
    await cluster.ask('CREATE TABLE notes (text text PRIMARY KEY)');
  });
  after(() => cluster.remove());

  const add = (text: string) => cluster.ask('INSERT INTO notes VALUES ($1)', [text]);
  const has = async (text: string) =>
    (await cluster.ask('SELECT FROM notes WHERE text = $1', [text])).length === 1;

  test('a PostgreSQL server of the tests writes to the disk, and has the settings that were asked for', async () => {
    const rows = await cluster.ask(
      `SELECT name, setting FROM pg_settings
       WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'max_connections') ORDER BY name`,
    );
    assert.deepEqual(rows, [
      { name: 'fsync', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'max_connections', setting: '30' },
      { name: 'synchronous_commit', setting: 'on' },
    ]);
  });

  test('a PostgreSQL server of the tests asks for the password', async () => {
    const stranger = new Client({ connectionString: cluster.url.replace(/:[0-9a-f]+@/, ':guess@') });
    await assert.rejects(stranger.connect(), { code: '28P01' });
  });

  test('a PostgreSQL server that was killed is gone at once, and has what was committed when it is back', async () => {
    await add('before the kill');
    const { pid } = cluster;
    await cluster.kill();
    assert.deepEqual(
      runningProcesses().filter((running) => running.pid === pid || running.parent === pid),
      [],
    );
    await assert.rejects(has('before the kill'), { code: 'ECONNREFUSED' });
    await cluster.start();
    assert.notEqual(cluster.pid, pid);
    assert.equal(await has('before the kill'), true);
    assert.match(
      cluster.logs(),
      /database system was not properly shut down; automatic recovery in progress/,
    );
  });

  for (const mode of ['fast', 'immediate'] as const) {
    test(`a PostgreSQL server that was stopped (${mode}) has what was committed when it is back`, async () => {
      await add(`before it was stopped (${mode})`);
      await cluster.stop(mode);
      assert.throws(() => cluster.pid, /not running/);
      await cluster.start();
      assert.equal(await has(`before it was stopped (${mode})`), true);
    });
  }

  test('a paused PostgreSQL server answers no query until it is resumed', async () => {
    const client = new Client({ connectionString: cluster.url });
    await client.connect();
    await cluster.pause();
    const onOldConnection = client.query('SELECT');
    const onNewConnection = cluster.ask('SELECT');
    assert.equal(await isWaiting(Promise.race([onOldConnection, onNewConnection])), true);
    await cluster.resume();
    assert.equal((await onOldConnection).rowCount, 1);
    assert.equal((await onNewConnection).length, 1);
    await client.end();
  });

  test('a PostgreSQL server can be killed and stopped while it is paused', async () => {
    await cluster.pause();
    await cluster.kill();
    await cluster.start();
    await cluster.pause();
    await cluster.stop();
    await cluster.start();
    assert.equal((await cluster.ask('SELECT')).length, 1);
  });

  test('a PostgreSQL server that cannot start says why', async () => {
    await cluster.stop();
    cluster.configure('postgresql.auto.conf', { max_connections: 'many' });
    await assert.rejects(cluster.start(), /invalid value for parameter "max_connections": "many"/);
    cluster.configure('postgresql.auto.conf', { max_connections: 30 });
    await cluster.start();
  });
});

describe('a standby of the tests', options, () => {
  test('a commit waits for a synchronous standby, which has it when the primary is lost', async () => {
    const primary = await startPostgres();
    await primary.ask('CREATE TABLE notes (text text PRIMARY KEY)');
    const standby = await startStandby(primary, { synchronous: true });
    await primary.ask(`INSERT INTO notes VALUES ('at once')`);
    await standby.pause();
    const commit = primary.ask(`INSERT INTO notes VALUES ('after a while')`);
    assert.equal(await isWaiting(commit), true);
    await standby.resume();
    await commit;
    await assert.rejects(standby.ask(`INSERT INTO notes VALUES ('on the standby')`), { code: '25006' });
    await primary.kill();
    await standby.promote();
    await standby.ask(`INSERT INTO notes VALUES ('on the new primary')`);
    assert.deepEqual(await standby.ask('SELECT text FROM notes ORDER BY text'), [
      { text: 'after a while' },
      { text: 'at once' },
      { text: 'on the new primary' },
    ]);
    await Promise.all([primary.remove(), standby.remove()]);
  });

  test('a commit does not wait for an asynchronous standby', async () => {
    const primary = await startPostgres();
    const standby = await startStandby(primary, { synchronous: false });
    await standby.pause();
    await primary.ask('CREATE TABLE notes (text text PRIMARY KEY)');
    assert.deepEqual(await primary.ask('SELECT sync_state FROM pg_stat_replication'), [
      { sync_state: 'async' },
    ]);
    await Promise.all([primary.remove(), standby.remove()]);
  });
});

describe('the server that test files share', options, () => {
  test('disposable databases do not see each other, and belong to a role that is no superuser', async () => {
    const server = await sharedPostgres();
    const [one, other] = await Promise.all([disposableDatabase(server), disposableDatabase(server)]);
    await ask({ url: one }, 'CREATE TABLE notes ()');
    await ask({ url: other }, 'CREATE TABLE notes ()');
    assert.deepEqual(
      await ask({ url: one }, 'SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user'),
      [{ rolname: 'grantd', rolsuper: false }],
    );
  });
});

const pooled: PgBouncerOptions = { poolMode: 'transaction', poolSize: 1 };

test('PgBouncer in transaction mode puts two clients on one connection', {
  ...options,
  skip: POSTGRES_ABSENCE || pgBouncerAbsence(pooled),
}, async () => {
  const server = await sharedPostgres();
  const bouncer = await startPgBouncer(server, pooled);
  const url = bouncer.through(await disposableDatabase(server));
  const clients = [new Client({ connectionString: url }), new Client({ connectionString: url })];
  const backends: unknown[] = [];
  for (const client of clients) {
    await client.connect();
    backends.push((await client.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid);
  }
  assert.equal(backends[0], backends[1]);
  for (const client of clients) await client.end();
  await bouncer.remove();
});

test(
  'a process that is killed leaves neither servers nor folders, paused ones neither',
  options,
  async () => {
    const harness = join(import.meta.dirname, '..', 'harness', 'postgres_cluster.ts');
    const program = `
    const { startPostgres } = await import(${JSON.stringify(harness)});
    const cluster = await startPostgres();
    await cluster.pause();
    console.log(cluster.place.folder);
    setInterval(() => {}, 60_000);
  `;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { value: folder } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
    assert.ok(typeof folder === 'string' && existsSync(folder));
    const isThere = () => runningProcesses().some(({ command }) => command.includes(folder));
    assert.equal(isThere(), true);
    child.kill('SIGKILL');
    await until('the remains to be removed', 20_000, () => !isThere() && !existsSync(dirname(folder)));
  },
);

test('a server whose postmaster alone was killed is removed with its paused processes', options, async () => {
  const cluster = await startPostgres();
  const family = familyOf(cluster.pid);
  await cluster.pause();
  process.kill(cluster.pid, 'SIGKILL');
  await cluster.remove();
  assert.deepEqual(
    runningProcesses().filter((running) => family.some(({ pid }) => pid === running.pid)),
    [],
  );
});
