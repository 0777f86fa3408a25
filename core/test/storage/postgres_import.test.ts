import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AdministrableStorage } from '@grantd/core';
import { PostgresConnections } from '@grantd/core/internal/storage/postgres/connections';
import { exportPostgres } from '@grantd/core/internal/storage/postgres/export';
import { importPostgres } from '@grantd/core/internal/storage/postgres/import';
import { migratePostgres } from '@grantd/core/internal/storage/postgres/migrate';
import { openSqliteConnection } from '@grantd/core/internal/storage/sqlite/connection';
import { exportSqlite } from '@grantd/core/internal/storage/sqlite/export';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { SQLITE_STORE_TABLES } from '../../src/storage/sqlite/schema.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { newClient, newCode, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const ISSUER = 'https://issuer.example';
const OTHER_ISSUER = 'https://other.example';
/** Seconds: long after these tests. */
const UNTIL = 4_000_000_000;

const REGISTERED = {
  resource: 'https://api.example',
  metadata: { 'client_name#de': `Ein “Name” \\n 'x'`, contacts: ['a@app.example'], default_max_age: 0 },
  registrationTokenDigest: 'digest',
  registeredAt: 1234,
} as const;

const ASKED_FOR = {
  claimsRequest: { userinfo: { name: null }, id_token: { acr: { essential: true, values: ['1'] } } },
  resources: ['https://api.example'],
};

describe('the move from a SQLite file to PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  const path = join(temporaryFolder(), 'grantd.db');
  let stores: PostgresStores;
  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
  });
  after(() => stores.end());

  /** A few at once: on a busy machine, many would exceed the lease. */
  const tokensOf = async (storage: AdministrableStorage, ids: readonly string[]) => {
    const found = [];
    for (let i = 0; i < ids.length; i += 100)
      found.push(
        ...(await Promise.all(ids.slice(i, i + 100).map((id) => storage.tokens.getByAccessToken(id)))),
      );
    // Only SQLite tells versions.
    return found.map((record) => record && { ...record, version: undefined });
  };

  /** Everything that a store returns about the records below. */
  const contentOf = async (storage: AdministrableStorage, ids: readonly string[]) => ({
    clients: await storage.clients.list(),
    keys: await storage.keys.list(),
    tokens: await tokensOf(storage, ids),
    code: await storage.authorizationCodes.get('code'),
    events: await storage.eventsAfter(0, 1000),
    disabled: await storage.getPrincipalState('subject', 'disabled'),
    metadata: (await storage.clients.get('client'))?.metadata,
    grants: await storage.grantsOf('subject'),
    apis: await storage.clients.findApis?.({ resources: ['https://api.example'], scopes: ['pay'] }),
    isStillTaken: !(await storage.oneTimeIdentifiers.take('taken', UNTIL)),
    hasOrigin: await storage.clients.hasRedirectOrigin('https://app.example'),
    alive: (await storage.countAlive({ principal: 'client', id: 'client' })).count,
  });

  test('brings along every record of every issuer, and the server goes on with them', async () => {
    const file = openSqliteStorage({ path, issuer: ISSUER });
    const otherFile = openSqliteStorage({ path, issuer: OTHER_ISSUER });
    await otherFile.clients.add(newClient('elsewhere'));
    await otherFile.setDisabled('subject', 'elsewhere', true);
    await file.clients.add({
      ...newClient('client'),
      name: 'Ein “Name”\n',
      rotateRefreshTokens: false,
      ...REGISTERED,
    });
    await file.clients.add(newClient('removed'));
    const ofRemoved = newToken('removed');
    assert.equal(await file.tokens.issue([ofRemoved], {}), 'issued');
    await file.clients.remove('removed');
    await file.oneTimeIdentifiers.take('taken', UNTIL);
    const pushed = {
      kind: 'pushed_request',
      id: 'pushed',
      otherId: 'other',
      clientId: 'client',
      data: { scope: 'é "x" \0' },
      expiresAt: UNTIL,
    } as const;
    await file.pending.add(pushed);
    await file.pending.change({ ...pushed, version: 0 });
    await file.keys.initialize([
      {
        kid: 'key',
        algorithm: 'ES256',
        status: 'current',
        publicJwk: { kty: 'EC' },
        sealedPrivateKey: 'sealed',
        createdAtMs: 1,
      },
    ]);
    const tokens = Array.from({ length: 2500 }, (_, index) =>
      newToken('client', {
        keyId: 'key',
        claims: { index },
        ...(index % 2 === 0 && { subject: `subject-${index}` }),
      }),
    );
    for (let i = 0; i < tokens.length; i += 500) {
      assert.equal(await file.tokens.issue(tokens.slice(i, i + 500), {}), 'issued');
    }
    for (const token of tokens.slice(0, 5)) await file.tokens.revoke({ ...token });
    await file.authorizationCodes.issue(newCode('client', 'code'), {});
    await file.setDisabled('subject', 'disabled', true);

    const refreshToken = newToken('client', { kind: 'refresh_token', ...ASKED_FOR, subject: 'subject' });
    assert.equal(await file.tokens.issue([refreshToken], {}), 'issued');

    const ids = [...tokens.map(({ id }) => id), 'unknown'];
    const before = await contentOf(file, ids);
    const progress: [string, number][] = [];
    const elsewhere = { clients: await otherFile.clients.list(), events: await otherFile.eventsAfter(0, 10) };
    await file.close();
    await otherFile.close();
    const counts = await importPostgres(exportSqlite({ path }), {
      pool: stores.pool,
      onRows: (table, rows) => progress.push([table, rows]),
    });
    assert.equal(counts.get('tokens'), 2502);
    assert.equal(counts.get('grants'), 1);
    assert.equal(counts.get('clients'), 2);
    assert.deepEqual(
      progress.filter(([table]) => table === 'tokens'),
      [1000, 2000, 2502].map((rows) => ['tokens', rows]),
    );

    const storage = await stores.open({ issuer: ISSUER });
    assert.deepEqual(await contentOf(storage, ids), before);
    const other = await stores.open({ issuer: OTHER_ISSUER });
    assert.deepEqual(
      { clients: await other.clients.list(), events: await other.eventsAfter(0, 10) },
      elsewhere,
    );

    assert.deepEqual(await storage.pending.getByOtherId('pushed_request', 'other'), {
      ...pushed,
      version: 1,
    });
    const found = await storage.tokens.getByRefreshToken(refreshToken.id);
    assert.deepEqual({ claimsRequest: found?.claimsRequest, resources: found?.resources }, ASKED_FOR);

    // A new client with an old identifier does not revive the tokens of its predecessor from before the move.
    assert.equal(await storage.clients.add(newClient('removed')), true);
    const standing = (await storage.tokens.getByAccessToken(ofRemoved.id))?.standing?.client;
    assert.ok(standing && standing.copied < standing.current);

    // New events follow the copied ones.
    await storage.revokeAll({ principal: 'client', id: 'client' });
    const last = before.events.at(-1)?.sequence ?? 0;
    assert.deepEqual(
      (await storage.eventsAfter(last, 10)).map(({ sequence }) => sequence),
      [last + 1],
    );
    await stores.open();
  });

  test('leaves a database alone that is in use already', async () => {
    await assert.rejects(importPostgres(exportSqlite({ path }), { pool: stores.pool }), {
      message: 'the PostgreSQL database is in use already: it holds an issuer',
    });
  });

  test('takes all or nothing', async () => {
    const empty = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    try {
      const half = function* () {
        yield { table: 'issuers', rows: [{ id: 1, issuer: ISSUER, not_before_ms: null }] };
        throw new Error('the disk is gone');
      };
      await assert.rejects(importPostgres(half(), { pool: empty.pool }), /the disk is gone/);
      const { rows } = await empty.pool.query('SELECT FROM grantd.issuers');
      assert.equal(rows.length, 0);
    } finally {
      await empty.end();
    }
  });

  test('continues the numbers of events even if the last ones have been swept', async () => {
    const clock = { nowMs: 0 };
    const swept = join(temporaryFolder(), 'swept.db');
    const file = openSqliteStorage({ path: swept, issuer: ISSUER, clock: () => clock.nowMs });
    await file.setDisabled('subject', 'one', true);
    await file.setDisabled('subject', 'two', true);
    const last = (await file.eventsAfter(0, 10)).at(-1)?.sequence ?? 0;
    clock.nowMs = 365 * 24 * 60 * 60 * 1000;
    while ((await file.sweep(100)) > 0);
    assert.deepEqual(await file.eventsAfter(0, 10), []);
    await file.close();

    const empty = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    try {
      await importPostgres(exportSqlite({ path: swept }), { pool: empty.pool });
      const storage = await empty.open({ issuer: ISSUER });
      await storage.setDisabled('subject', 'three', true);
      assert.deepEqual(
        (await storage.eventsAfter(last, 10)).map(({ sequence, target }) => [sequence, target]),
        [[last + 1, 'three']],
      );
    } finally {
      await empty.end();
    }
  });

  test('brings tables of a host along, and refuses those that hold rows already', async () => {
    const own = join(temporaryFolder(), 'own.db');
    openSqliteStorage({ path: own, issuer: ISSUER }).close();
    const database = openSqliteConnection(own);
    database.exec("CREATE TABLE songs (title TEXT) STRICT; INSERT INTO songs VALUES ('one'), ('two')");
    database.close();
    const empty = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    const copy = () =>
      importPostgres(exportSqlite({ path: own, hostTables: ['songs'] }), { pool: empty.pool });
    try {
      await migratePostgres(new PostgresConnections(empty.pool), {
        versions: 'grantd.song_versions',
        migrations: ['CREATE TABLE grantd.songs (title text)'],
      });
      await empty.pool.query("INSERT INTO grantd.songs VALUES ('other')");
      await assert.rejects(copy(), {
        message: 'the PostgreSQL database is in use already: it holds rows in grantd."songs"',
      });
      await empty.pool.query('DELETE FROM grantd.songs');
      assert.equal((await copy()).get('songs'), 2);
    } finally {
      await empty.end();
    }
  });

  test('is refused for a file whose schema is not of this version, or that is not there', () => {
    const known = SQLITE_STORE_TABLES.migrations.length;
    const first = (file: string) => () => exportSqlite({ path: file }).next();
    const old = join(temporaryFolder(), 'old.db');
    openSqliteStorage({ path: old, issuer: ISSUER }).close();
    const setVersion = (version: number) => {
      const database = openSqliteConnection(old);
      database.exec(`PRAGMA user_version = ${version}`);
      database.close();
    };
    setVersion(1);
    assert.throws(first(old), {
      message:
        `${old} has the schema 1 of an older grantd, and this one exports the schema ${known}: ` +
        'open a store on it first, which brings it up to date',
    });
    setVersion(known + 1);
    assert.throws(first(old), {
      message: `${old} has the schema ${known + 1} of a newer grantd, and this one exports the schema ${known}: use the newer one`,
    });
    setVersion(0);
    assert.throws(first(old), { message: `${old} is not a grantd database` });

    const none = join(temporaryFolder(), 'none.db');
    assert.throws(first(none), /unable to open database file/);
    assert.equal(existsSync(none), false);
  });

  test('is refused while another process has the file open, and locks the file meanwhile', async () => {
    const file = openSqliteStorage({ path, issuer: ISSUER, busyTimeoutMs: 50 });
    assert.throws(() => exportSqlite({ path, busyTimeoutMs: 50 }).next(), {
      message: `${path} is in use: stop what serves from it first`,
    });
    assert.equal(await file.clients.add(newClient('late')), true);
    await file.close();

    const exporting = exportSqlite({ path });
    exporting.next();
    assert.throws(() => openSqliteStorage({ path, issuer: ISSUER, busyTimeoutMs: 50 }), /database is locked/);
    exporting.return();
    const again = openSqliteStorage({ path, issuer: ISSUER });
    assert.equal((await again.clients.get('late'))?.id, 'late');
    await again.close();
  });
});

describe('the export of a PostgreSQL database', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  test('gives events the numbers that the database goes on to give, also if one commits late', async () => {
    const stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    const late = await stores.pool.connect();
    try {
      const storage = await stores.open({ issuer: ISSUER });
      const disable = (subject: string) => storage.setDisabled('subject', subject, true);
      await disable('numbered');
      assert.equal((await storage.eventsAfter(0, 10)).length, 1);
      await disable('before');
      // It takes its place among the rows now, and commits after the export.
      await late.query('BEGIN');
      await late.query(`
        INSERT INTO grantd.unnumbered_events (issuer_id, at_ms, type, target)
        SELECT id, 0, 'subject_disabled', 'late' FROM grantd.issuers WHERE issuer = '${ISSUER}'`);
      // More than one page of the cursor.
      for (let index = 0; index < 1005; index++) await disable(`after ${index}`);

      const exported = new Map<unknown, unknown>();
      await exportPostgres({ pool: stores.pool }, ({ table, rows }) => {
        if (table === 'events') for (const { target, sequence } of rows) exported.set(target, sequence);
      });
      await late.query('COMMIT');
      await disable('after the export');

      const live = await storage.eventsAfter(0, 10_000);
      assert.deepEqual(
        live.slice(-2).map(({ target }) => target),
        ['late', 'after the export'],
      );
      assert.deepEqual(
        [...exported],
        live.slice(0, -2).map(({ target, sequence }) => [target, sequence]),
      );
    } finally {
      late.release();
      await stores.end();
    }
  });
});
