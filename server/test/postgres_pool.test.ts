import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageFault } from '@grantd/core';
import { PostgresConnections } from '@grantd/core/internal/storage/postgres/connections';
import { migratePostgres, requireUsableTables } from '@grantd/core/internal/storage/postgres/migrate';
import { openPostgresStorage } from '@grantd/core/postgres';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { ConfigurationRefused } from '../src/config/refused.ts';
import { peopleTable } from '../src/data/people.ts';
import { addressOf, openPool } from '../src/data/postgres_database.ts';
import { PROGRAM_TABLES, postgresProgramTables } from '../src/data/postgres_tables.ts';
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
      error instanceof ConfigurationRefused &&
      /sslrootcert: .nowhere\.pem: expected a readable file/.test(error.message) &&
      !/secret/.test(error.message),
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

  test('asks for no settings that a pooler would refuse while it connects, and sends its name', async () => {
    const { pool, close } = openPool(await disposableDatabase(await sharedPostgres()), limits, () => {});
    const { rows } = await pool.query(
      "SELECT name FROM pg_settings WHERE source = 'client' AND name NOT IN ('client_encoding', 'application_name')",
    );
    assert.deepEqual(rows, []);
    assert.deepEqual((await pool.query('SHOW application_name')).rows, [{ application_name: 'grantd' }]);
    await close();
  });

  const ISSUER = 'https://id.example';
  const BOB = { name: 'bob', passwordHash: 'hash', claims: {} };

  /** The program's user data in a new database. */
  async function newPeople(statementTimeoutMs: number) {
    const url = await disposableDatabase(await sharedPostgres());
    const { pool, close } = openPool(url, { ...limits, connections: 1 }, () => {});
    // Changes of the program's tables write into the library's table of events.
    await openPostgresStorage({ pool, issuer: ISSUER });
    const connections = new PostgresConnections(pool, { statementTimeoutMs });
    await migratePostgres(connections, PROGRAM_TABLES);
    const tables = postgresProgramTables(
      connections,
      ISSUER,
      requireUsableTables(connections, PROGRAM_TABLES),
    );
    return { url, people: peopleTable(tables), close };
  }

  test('rejects a statement that is not answered in time, and answers the next one', async () => {
    const { url, people, close } = await newPeople(300);
    const other = openPool(url, limits, () => {});
    const holder = await other.pool.connect();
    await holder.query('BEGIN; LOCK TABLE grantd.people');
    const begun = performance.now();
    await assert.rejects(people.byName('bob'), StorageFault);
    assert.ok(performance.now() - begun < 2000);
    await holder.query('COMMIT');
    holder.release();
    assert.equal(await people.byName('bob'), undefined);
    await other.close();
    await close();
  });

  test('rejects a write of which the server warns, as of a commit that may not have been replicated', async () => {
    const { url, people, close } = await newPeople(5000);
    await ask(
      { url },
      `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          RAISE NOTICE 'nothing of interest';
          IF NEW.name = 'bob' THEN
            RAISE WARNING 'might not have been replicated' USING ERRCODE = '57014';
          END IF;
          RETURN NEW;
        END $$;
      CREATE TRIGGER warn AFTER INSERT ON grantd.people FOR EACH ROW EXECUTE FUNCTION warn()`,
    );
    await assert.rejects(
      people.add(BOB),
      (error: unknown) => error instanceof StorageFault && /replicated/.test(String(error.cause)),
    );
    assert.equal((await people.add({ ...BOB, name: 'alice' }))?.name, 'alice');
    await close();
  });

  test('is closed in time while a connection is in use, and again without a word', async () => {
    const { pool, close } = openPool(await disposableDatabase(await sharedPostgres()), limits, () => {});
    const client = await pool.connect();
    // Users of a connection listen for its loss, as the library does.
    client.on('error', () => {});
    const answer = assert.rejects(client.query('SELECT pg_sleep(60)'), /Connection terminated/);
    const begun = performance.now();
    await close();
    await close();
    assert.ok(performance.now() - begun < 3000);
    await answer;
    client.release();
  });
});
