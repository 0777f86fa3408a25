import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  namedStatements,
  PostgresConnections,
  rowsOf,
} from '@grantd/core/internal/storage/postgres/connections';
import { migratePostgres, type PostgresTables } from '@grantd/core/internal/storage/postgres/migrate';
import { Pool } from 'pg';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';

const TABLES: PostgresTables = {
  versions: 'music.versions',
  migrations: [
    'CREATE TABLE music.songs (id bigint PRIMARY KEY, title text NOT NULL); CREATE INDEX ON music.songs (title)',
    'ALTER TABLE music.songs ADD COLUMN is_loud boolean NOT NULL DEFAULT false',
  ],
};

const SQL = {
  add: 'INSERT INTO music.songs (id, title) VALUES ($1, $2) ON CONFLICT DO NOTHING',
  all: 'SELECT id, title, is_loud FROM music.songs ORDER BY id',
};

describe('tables that a host keeps beside the store', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  const pools: Pool[] = [];
  const connectionsTo = (url: string, pipeline: boolean) => {
    const pool = new Pool({ connectionString: url, pipeline });
    pool.on('error', () => {});
    pools.push(pool);
    return new PostgresConnections(pool);
  };
  let url: string;
  let connections: PostgresConnections;
  before(async () => {
    url = await disposableDatabase(await sharedPostgres());
    connections = connectionsTo(url, true);
  });
  after(() => Promise.all(pools.map((pool) => pool.end())));

  test('are created once by many processes that start together, and never again', async () => {
    const all = Array.from({ length: 6 }, (_, index) => connectionsTo(url, index % 2 === 0));
    await Promise.all(all.map((each) => migratePostgres(each, TABLES)));
    await migratePostgres(connections, TABLES);
    const sql = await namedStatements({ versions: 'SELECT version FROM music.versions' });
    assert.deepEqual((await connections.read([sql.versions])).rows, [{ version: 2 }]);
  });

  test('take rows in transactions, and give them back with numbers and booleans', async () => {
    const sql = await namedStatements(SQL);
    const results = await connections.write([
      [sql.add, 2 ** 40, 'one'],
      [sql.add, 2 ** 40, 'the same'],
    ]);
    assert.deepEqual(
      results.map(({ rowCount }) => rowCount),
      [1, 0],
    );
    await assert.rejects(
      connections.write([
        [sql.add, 1, 'undone'],
        [sql.add, 2, null],
      ]),
      { code: '23502' },
    );
    const rows = rowsOf<{ id: number; title: string; is_loud: boolean }>(await connections.read([sql.all]));
    assert.deepEqual(rows, [{ id: 2 ** 40, title: 'one', is_loud: false }]);
  });

  test('go through every version that they have not seen, each in its turn', async () => {
    const older = { ...TABLES, versions: 'later.versions' };
    const migrations = ['CREATE TABLE later.songs (id integer)', 'ALTER TABLE later.songs ADD title text'];
    await migratePostgres(connections, { ...older, migrations: migrations.slice(0, 1) });
    await migratePostgres(connections, { ...older, migrations });
    const sql = await namedStatements({ all: 'SELECT id, title FROM later.songs' });
    assert.deepEqual((await connections.read([sql.all])).rows, []);
  });

  test('stay as they are if a script fails or a newer program has migrated them', async () => {
    const broken = {
      versions: 'broken.versions',
      migrations: ['CREATE TABLE broken.a (id integer)', 'nonsense'],
    };
    await assert.rejects(migratePostgres(connections, broken), { code: '42601' });
    const sql = await namedStatements({ schema: "SELECT to_regnamespace('broken') IS NULL AS is_absent" });
    assert.deepEqual((await connections.read([sql.schema])).rows, [{ is_absent: true }]);

    await assert.rejects(migratePostgres(connections, { ...TABLES, migrations: [] }), {
      message:
        'the database was written by a newer program: music.versions says 2, usable from 2, and this one knows versions up to 0',
    });
  });

  test('are named in a way that means one thing', async () => {
    for (const versions of ['versions', 'Music.versions', 'a.b.c', "a.b'c", 'a. b', '']) {
      await assert.rejects(migratePostgres(connections, { versions, migrations: [] }), {
        name: 'TypeError',
        message: `versions: expected schema.table in lower case, not ${versions}`,
      });
    }
  });
});
