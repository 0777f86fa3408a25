import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageFault } from '@grantd/core';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { addressOf, openPool } from '../src/instance/database/postgres_pool.ts';
import { postgresStatements } from '../src/instance/database/postgres_statements.ts';
import { Refused } from '../src/instance/refused.ts';
import { POSTGRESQL } from './harness/databases.ts';

test('a database on PostgreSQL is called by its address, never with a password', () => {
  const names = {
    'postgres://user:secret@db.example:6432/name': 'postgres://user@db.example:6432/name',
    'postgresql://user:s%40cret@db.example/name?sslmode=disable': 'postgres://user@db.example:5432/name',
    'postgres://user@[2001:db8::1]/name?password=secret': 'postgres://user@[2001:db8::1]:5432/name',
    'postgres://user:secret@/name?host=/run/postgresql': 'postgres://user@%2Frun%2Fpostgresql:5432/name',
  };
  for (const [url, name] of Object.entries(names)) assert.equal(addressOf(url).name, name);
});

test('a certificate that is not there is refused before anything is asked', () => {
  assert.throws(
    () => addressOf('postgres://user:secret@db.example/name?sslrootcert=/nowhere.pem'),
    (error: unknown) =>
      error instanceof Refused && /ENOENT/.test(error.message) && !/secret/.test(error.message),
  );
});

describe('a pool of connections to PostgreSQL', { skip: POSTGRESQL.absence }, () => {
  const limits = { connections: 2, connectTimeoutMs: 5000, statementTimeoutMs: 5000 };

  test('cuts a connection that is given back as broken, whatever it still waits for', async () => {
    const { pool, close } = openPool(await disposableDatabase(await sharedPostgres()), limits, () => {});
    const client = await pool.connect();
    const answer = assert.rejects(client.query('SELECT pg_sleep(60)'), /Connection terminated/);
    client.release(true);
    assert.equal(client.connection.stream.destroyed, true);
    await answer;
    await close();
  });

  test('asks for no settings while it connects, which a pooler would refuse, and tells its name', async () => {
    const { pool, close } = openPool(await disposableDatabase(await sharedPostgres()), limits, () => {});
    const { rows } = await pool.query(
      "SELECT name FROM pg_settings WHERE source = 'client' AND name NOT IN ('client_encoding', 'application_name')",
    );
    assert.deepEqual(rows, []);
    assert.deepEqual((await pool.query('SHOW application_name')).rows, [{ application_name: 'grantd' }]);
    await close();
  });

  test('rejects a statement that is not answered in time, and answers the next one', async () => {
    const { pool, close } = openPool(
      await disposableDatabase(await sharedPostgres()),
      { ...limits, connections: 1 },
      () => {},
    );
    const ask = postgresStatements(pool, 300);
    const begun = performance.now();
    await assert.rejects(ask('SELECT pg_sleep(60)'), StorageFault);
    assert.ok(performance.now() - begun < 2000);
    assert.deepEqual((await ask('SELECT $1::int AS answer', 42)).rows, [{ answer: 42 }]);
    await close();
  });

  test('rejects a statement of which the server warns, as of a commit that may not have been replicated', async () => {
    const { pool, close } = openPool(await disposableDatabase(await sharedPostgres()), limits, () => {});
    const ask = postgresStatements(pool, 5000);
    const warning =
      "DO $$ BEGIN RAISE WARNING 'might not have been replicated' USING ERRCODE = '57014'; END $$";
    await assert.rejects(
      ask(warning),
      (error: unknown) => error instanceof StorageFault && /replicated/.test(String(error.cause)),
    );
    await ask("DO $$ BEGIN RAISE NOTICE 'nothing of interest'; END $$");
    await close();
  });

  test('is closed in time while a connection is in use, and again without a word', async () => {
    const { pool, close } = openPool(await disposableDatabase(await sharedPostgres()), limits, () => {});
    const client = await pool.connect();
    const answer = assert.rejects(client.query('SELECT pg_sleep(60)'), /Connection terminated/);
    const begun = performance.now();
    await close();
    await close();
    assert.ok(performance.now() - begun < 3000);
    await answer;
    client.release();
  });
});
