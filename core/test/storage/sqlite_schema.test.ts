import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { scriptOf } from '../../src/storage/migrations.ts';
import { CLIENTS_SQL } from '../../src/storage/sqlite/clients.ts';
import { EVENTS_SQL, SWEEP_SQL } from '../../src/storage/sqlite/events.ts';
import { readStoredIssuer } from '../../src/storage/sqlite/files.ts';
import { KEYS_SQL, ONE_TIME_IDENTIFIERS_SQL, PENDING_SQL } from '../../src/storage/sqlite/keys.ts';
import { ADMINISTRATION_SQL, PRINCIPALS_SQL } from '../../src/storage/sqlite/principals.ts';
import { ISSUER_SQL, SQLITE_STORE_TABLES } from '../../src/storage/sqlite/schema.ts';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import {
  AUTHORIZATION_CODES_SQL,
  GRANTS_SQL,
  ISSUING_SQL,
  TOKENS_SQL,
} from '../../src/storage/sqlite/tokens.ts';
import { assertColumns, COLUMNS_OF_TABLES } from './columns_of_tables.ts';
import {
  goesOnWithRowsBeforeApis,
  goesOnWithRowsBeforeGrants,
  ISSUER,
  NOW_MS,
  rowsBeforeApis,
  rowsBeforeGrants,
} from './rows_before_grants.ts';
import { newClient, newCode, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();

const MIGRATIONS = SQLITE_STORE_TABLES.migrations.map(scriptOf);
const SCHEMA_VERSION = MIGRATIONS.length;
const issuer = 'https://issuer.example';
const DAY = 24 * 60 * 60;

/** A second connection to a new store's file. */
function newFile(name: string): { readonly path: string; readonly database: DatabaseSync } {
  const path = join(folder, name);
  openSqliteStorage({ path, issuer }).close();
  const database = new DatabaseSync(path);
  after(() => database.close());
  return { path, database };
}

const { database } = newFile('plans.db');

function planOf(sql: string): string[] {
  return database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => String(detail));
}

const STATEMENTS = Object.entries({
  administration: ADMINISTRATION_SQL,
  authorization_codes: AUTHORIZATION_CODES_SQL,
  clients: CLIENTS_SQL,
  events: EVENTS_SQL,
  grants: GRANTS_SQL,
  issuing: ISSUING_SQL,
  keys: KEYS_SQL,
  one_time_identifiers: ONE_TIME_IDENTIFIERS_SQL,
  principals: PRINCIPALS_SQL,
  pending: PENDING_SQL,
  sweep: SWEEP_SQL,
  tokens: TOKENS_SQL,
}).flatMap(([file, statements]) =>
  Object.entries<string>(statements).map(([name, sql]) => ({ file, name, sql })),
);

/** Statements that sort their rows: there are only a few keys, and few grants per user. */
const SORTS: readonly string[] = [KEYS_SQL.list, GRANTS_SQL.ofSubject];

for (const { file, name, sql } of STATEMENTS) {
  test(`the statement ${file}.${name} finds its rows by a key or an index`, () => {
    const steps = planOf(sql);
    for (const step of steps) {
      // Reads what a subquery has found, whose own steps are checked.
      if (step.startsWith('SCAN') && steps.includes(step.replace('SCAN', 'CO-ROUTINE'))) continue;
      // `json_each` reads the values of a parameter, and no rows.
      assert.doesNotMatch(step, /^SCAN (?!CONSTANT ROW|json_each VIRTUAL TABLE)|AUTOMATIC/, sql);
      if (!SORTS.includes(sql)) assert.doesNotMatch(step, /TEMP B-TREE/, sql);
      if (step.startsWith('SEARCH'))
        assert.match(step, /USING (INTEGER )?(PRIMARY KEY|(COVERING )?INDEX)/, sql);
    }
  });
}

for (const [name, sql] of Object.entries({
  accessToken: TOKENS_SQL.getAccessToken,
  refreshToken: TOKENS_SQL.getRefreshToken,
  authorizationCode: AUTHORIZATION_CODES_SQL.get,
})) {
  test(`the look-up ${name} reads six rows, each by its whole primary key`, () => {
    const steps = planOf(sql).sort();
    assert.equal(steps.length, 6, steps.join('\n'));
    assert.match(steps[0] ?? '', /^SEARCH c USING PRIMARY KEY \(issuer_id=\? AND id=\?\) LEFT-JOIN$/);
    assert.match(
      steps[1] ?? '',
      /^SEARCH e USING PRIMARY KEY \(issuer_id=\? AND kind=\? AND id=\?\) LEFT-JOIN$/,
    );
    assert.match(
      steps[2] ?? '',
      /^SEARCH g USING PRIMARY KEY \(issuer_id=\? AND kind=\? AND id=\?\) LEFT-JOIN$/,
    );
    assert.match(steps[3] ?? '', /^SEARCH i USING INTEGER PRIMARY KEY \(rowid=\?\)$/);
    assert.match(
      steps[4] ?? '',
      /^SEARCH s USING PRIMARY KEY \(issuer_id=\? AND kind=\? AND id=\?\) LEFT-JOIN$/,
    );
    assert.match(steps[5] ?? '', /^SEARCH t USING INDEX sqlite_autoindex_\w+_1 \(issuer_id=\? AND id=\?\)$/);
  });
}

test('the grants of a user are found by an index, and what they depend on by primary key', () => {
  const steps = planOf(GRANTS_SQL.ofSubject).toSorted();
  const reads = steps.filter((step) => step.startsWith('SEARCH '));
  const [code = '', token = ''] = reads.filter((step) => step.startsWith('SEARCH l '));
  assert.match(code, /USING INDEX authorization_codes_by_grant \(issuer_id=\? AND grant_id=\?\)$/);
  assert.match(token, /USING INDEX tokens_by_grant \(issuer_id=\? AND grant_id=\? AND expires_at>\?\)$/);
  assert.ok(reads.includes('SEARCH t USING INDEX grants_by_subject (issuer_id=? AND subject=?)'));
  const others = reads.filter((step) => !/^SEARCH [lt] /.test(step));
  for (const step of others) assert.match(step, /^SEARCH (?:[cegs]|issuers) USING (?:INTEGER )?PRIMARY KEY/);
  assert.deepEqual(
    steps.filter((step) => step.startsWith('SCAN ')),
    [],
  );
});

test('the issuer is found by an index', () => {
  assert.match(planOf(ISSUER_SQL.find).join(), /^SEARCH issuers USING COVERING INDEX/);
});

for (const table of Object.keys(COLUMNS_OF_TABLES)) {
  test(`the table ${table} has the columns that its records are read from`, () => {
    const found = database
      .prepare('SELECT name, type, "notnull" AS required FROM pragma_table_info(?)')
      .all(table);
    const columns = found.map(({ name, type, required }) => ({
      name: String(name),
      type: String(type),
      isNullable: required === 0,
    }));
    assertColumns(table, 'sqlite', columns);
  });
}

test('the schema of a new file has the version that this program knows', () => {
  assert.equal(database.prepare('PRAGMA user_version').get()?.user_version, SCHEMA_VERSION);
});

test('every table is strict, and every key begins with the issuer', () => {
  const tables = database
    .prepare('PRAGMA table_list')
    .all()
    .filter(({ name, type }) => type === 'table' && !String(name).startsWith('sqlite_'));
  assert.equal(tables.length, 15);
  for (const { name, strict } of tables) {
    assert.equal(strict, 1, `${name} is strict`);
    for (const index of database.prepare(`PRAGMA index_list(${name})`).all()) {
      const [first] = database.prepare(`PRAGMA index_info(${index.name})`).all();
      assert.match(String(first?.name), /^issuer(_id)?$/, `${index.name} begins with the issuer`);
    }
  }
});

test('a file that is up to date is opened again without a write', () => {
  const { path, database: other } = newFile('again.db');
  const version = () => other.prepare('PRAGMA data_version').get()?.data_version;
  const before = version();
  openSqliteStorage({ path, issuer }).close();
  assert.equal(version(), before);
});

/** A file of the first version: with a current key that has signed tokens, and no record of their lifetimes. */
function fileOfVersion1(name: string, keepUntil: readonly number[]): string {
  const path = join(folder, name);
  const old = new DatabaseSync(path);
  old.exec('PRAGMA journal_mode = WAL');
  old.exec(MIGRATIONS[0] ?? '');
  old.exec('PRAGMA user_version = 1');
  old.exec(`
    INSERT INTO issuers (id, issuer) VALUES (1, '${issuer}'), (2, 'https://other.example');
    INSERT INTO clients (issuer_id, id, grant_types, scopes, redirect_uris) VALUES (1, 'app', '[]', '[]', '[]');
    INSERT INTO signing_keys
      (issuer_id, kid, algorithm, status, public_jwk, sealed_private_key, created_at_ms, needed_until)
    VALUES (1, 'retired', 'ES256', 'retired', '{}', 'sealed', 1, 1234), (1, 'a', 'ES256', 'current', '{}', 'sealed', 2, NULL),
      (1, 'b', 'ES256', 'next', '{}', 'sealed', 3, NULL), (2, 'other', 'ES256', 'current', '{}', 'sealed', 4, NULL)`);
  const insert = old.prepare(`
    INSERT INTO tokens (issuer_id, id, kind, digest, client_id, scopes, issued_at_ms, expires_at, keep_until, key_id,
      client_generation)
    VALUES (1, ?, 'access_token', 'digest', 'app', '[]', 1, ?, ?, 'a', 0)`);
  for (const until of keepUntil) insert.run(`token-${until}`, until, until);
  old.close();
  return path;
}

test('a file of version 1 is brought up to date once, and its keys stay for the tokens that they signed before', async () => {
  const path = fileOfVersion1('version-1.db', [100, 30 * DAY + 1]);
  const clock = { nowMs: 0 };
  const storage = openSqliteStorage({ path, issuer, clock: () => clock.nowMs });
  const migrated = new DatabaseSync(path, { readOnly: true });
  assert.equal(migrated.prepare('PRAGMA user_version').get()?.user_version, SCHEMA_VERSION);
  const keys = migrated.prepare('SELECT kid, needed_until FROM signing_keys ORDER BY kid').all();
  assert.deepEqual(
    keys.map(({ kid, needed_until }) => [kid, needed_until]),
    [
      ['a', 31 * DAY],
      ['b', 0],
      ['other', 0],
      ['retired', 1234],
    ],
  );
  migrated.close();

  const next = {
    kid: 'c',
    algorithm: 'ES256',
    status: 'next',
    publicJwk: {},
    sealedPrivateKey: '',
    createdAtMs: 5,
  } as const;
  assert.equal(await storage.keys.rotate('a', next), true);
  const kidsAt = async (seconds: number) => {
    clock.nowMs = seconds * 1000;
    while ((await storage.sweep(100)) > 0);
    return (await storage.keys.list()).map(({ kid }) => kid);
  };
  assert.deepEqual(await kidsAt(30 * DAY), ['a', 'b', 'c']);
  assert.equal((await storage.tokens.getByAccessToken(`token-${30 * DAY + 1}`))?.keyId, 'a');
  assert.deepEqual(await kidsAt(31 * DAY), ['b', 'c']);
  await storage.close();
});

test('a file of version 2 is brought up to date, and what was alive in it lives on', async () => {
  const path = join(folder, 'version-2.db');
  const old = new DatabaseSync(path);
  old.exec('PRAGMA journal_mode = WAL');
  for (const migration of MIGRATIONS.slice(0, 2)) old.exec(migration);
  old.exec('PRAGMA user_version = 2');
  old.exec(rowsBeforeGrants(''));
  old.close();

  const storage = openSqliteStorage({ path, issuer: ISSUER, clock: () => NOW_MS });
  const migrated = new DatabaseSync(path, { readOnly: true });
  assert.equal(migrated.prepare('PRAGMA user_version').get()?.user_version, SCHEMA_VERSION);
  assert.equal(migrated.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
  await goesOnWithRowsBeforeGrants(storage);
  assert.deepEqual(migrated.prepare('PRAGMA foreign_key_check').all(), []);
  migrated.close();
  await storage.close();
});

test('a file of version 3 is migrated, and the numbers of its events continue', async () => {
  const path = join(folder, 'version-3.db');
  const old = new DatabaseSync(path);
  old.exec('PRAGMA journal_mode = WAL');
  for (const migration of MIGRATIONS.slice(0, 3)) old.exec(migration);
  old.exec('PRAGMA user_version = 3');
  old.exec(`
    INSERT INTO issuers (id, issuer) VALUES (1, '${issuer}'), (2, 'https://other.example');
    INSERT INTO events (issuer_id, at_ms, type, target)
    VALUES (1, 10, 'subject_disabled', 'one'), (2, 11, 'subject_disabled', 'two'), (1, 12, 'subject_enabled', 'one'),
      (2, 13, 'subject_enabled', 'swept');
    DELETE FROM events WHERE target = 'swept'`);
  old.close();

  const options = { path, clock: () => 20 };
  const storage = openSqliteStorage({ ...options, issuer });
  const other = openSqliteStorage({ ...options, issuer: 'https://other.example' });
  await storage.setDisabled('subject', 'next', true);
  await other.setDisabled('subject', 'next', true);
  const disabled = { type: 'subject_disabled', target: 'next', subject: 'next', atMs: 20, sequence: 5 };
  assert.deepEqual(await storage.eventsAfter(0, 10), [
    { type: 'subject_disabled', target: 'one', atMs: 10, sequence: 1 },
    { type: 'subject_enabled', target: 'one', atMs: 12, sequence: 3 },
    disabled,
  ]);
  assert.deepEqual(await other.eventsAfter(2, 10), [disabled]);
  await storage.close();
  await other.close();
});

test('clients in a file of version 4 keep the APIs that they could ask for, which is said once', async () => {
  const path = join(folder, 'version-4.db');
  const old = new DatabaseSync(path);
  old.exec('PRAGMA journal_mode = WAL');
  for (const migration of MIGRATIONS.slice(0, 4)) old.exec(migration);
  old.exec('PRAGMA user_version = 4');
  old.exec(rowsBeforeApis(''));
  old.close();

  const assumed: string[] = [];
  const options = { path, issuer: ISSUER, onAssumption: (assumption: string) => assumed.push(assumption) };
  const storage = openSqliteStorage(options);
  await goesOnWithRowsBeforeApis(storage);
  await storage.close();
  await openSqliteStorage(options).close();
  await openSqliteStorage({ ...options, path: join(folder, 'new-without-assumption.db') }).close();
  assert.deepEqual(assumed, ['clients_allowed_every_api']);
});

test('a file of version 5 is brought up to date, and only grants that were over at a sweep are gone', async () => {
  const path = join(folder, 'version-5.db');
  const old = new DatabaseSync(path);
  old.exec('PRAGMA journal_mode = WAL');
  for (const migration of MIGRATIONS.slice(0, 2)) old.exec(migration);
  old.exec(rowsBeforeGrants(''));
  for (const migration of MIGRATIONS.slice(2, 5)) old.exec(migration);
  old.exec(`
    PRAGMA user_version = 5;
    INSERT INTO sweeps (issuer_id, swept_until) VALUES (1, 5);
    INSERT INTO principals (issuer_id, kind, id, generation, keep_until) VALUES (1, 'grant', 'left', 9, 5);
    INSERT INTO grants (issuer_id, grant_id, client_id, subject, scopes, created_at_ms, client_generation,
      subject_generation, grant_generation)
    VALUES (1, 'grant', 'app', 'alice', '[]', 1, 3, 5, 7), (1, 'left', 'app', 'alice', '[]', 1, 3, 5, 9)`);
  old.close();

  const storage = openSqliteStorage({ path, issuer: ISSUER, clock: () => NOW_MS });
  const migrated = new DatabaseSync(path, { readOnly: true });
  const idsOf = (sql: string) =>
    migrated
      .prepare(sql)
      .all()
      .map(({ id }) => id);
  assert.deepEqual(idsOf('SELECT id FROM principals ORDER BY id'), ['alice', 'grant', 'session', 'waiting']);
  assert.deepEqual(idsOf('SELECT grant_id AS id FROM grants'), ['grant']);
  assert.notEqual(await storage.tokens.getByRefreshToken('refresh'), undefined);
  migrated.close();
  await storage.close();
});

test('sweeping takes a grant along with its last token or code, and sessions a few a call', async () => {
  const path = join(folder, 'swept-grants.db');
  const clock = { nowMs: 1000 * DAY };
  const storage = openSqliteStorage({ path, issuer, clock: () => clock.nowMs });
  await storage.clients.add(newClient('app'));
  const tokenOf = (grantId: string, keepUntil: number) => {
    const tied = { subject: 'user', grantId, sessionId: `of-${grantId}` };
    return newToken('app', { ...tied, expiresAt: keepUntil, keepUntil, issuedAtMs: clock.nowMs });
  };
  const until = 2 * DAY - 10;
  const tokens = [
    tokenOf('two', until),
    tokenOf('two', until + 1),
    tokenOf('one', until),
    tokenOf('third', until + 5),
  ];
  assert.equal(await storage.tokens.issue(tokens, {}), 'issued');
  const code = { ...newCode('app', 'code'), issuedAtMs: clock.nowMs, expiresAt: until };
  assert.equal(await storage.authorizationCodes.issue(code, {}), 'issued');
  const observer = new DatabaseSync(path, { readOnly: true });
  const left = () => {
    const idsOf = (sql: string) =>
      observer
        .prepare(sql)
        .all()
        .map(({ id }) => id);
    const grants = idsOf('SELECT grant_id AS id FROM grants ORDER BY id');
    assert.deepEqual(idsOf("SELECT id FROM principals WHERE kind = 'grant' ORDER BY id"), grants);
    return [grants, idsOf("SELECT id FROM principals WHERE kind = 'session' ORDER BY id")];
  };

  clock.nowMs = until * 1000;
  assert.equal(await storage.sweep(10), 2 + 2);
  assert.deepEqual(left(), [[code.grantId, 'third', 'two'].toSorted(), ['of-one', 'of-third', 'of-two']]);
  clock.nowMs += 5000;
  assert.equal(await storage.sweep(10), 2 + 2 + 2);
  assert.deepEqual(left(), [[code.grantId], ['of-one', 'of-third', 'of-two']]);
  clock.nowMs = (until + DAY) * 1000;
  assert.deepEqual(
    [await storage.sweep(2), await storage.sweep(2), await storage.sweep(2)],
    [1 + 2 + 2, 1, 0],
  );
  assert.deepEqual(left(), [[], []]);
  observer.close();
  await storage.close();
});

test('sweeping takes the oldest events first, and leaves those that a clock wrote which was ahead', async () => {
  const clock = { nowMs: 5000 };
  const options = { path: join(folder, 'swept.db'), issuer, clock: () => clock.nowMs };
  const storage = openSqliteStorage({ ...options, eventRetentionSeconds: 10 });
  const write = async (target: string, atMs: number) => {
    clock.nowMs = atMs;
    await storage.setDisabled('subject', target, true);
  };
  await write('first', 1000);
  await write('ahead', 9000);
  await write('second', 2000);
  const targetsAfterSweep = async (nowMs: number) => {
    clock.nowMs = nowMs;
    while ((await storage.sweep(2)) > 0);
    return (await storage.eventsAfter(0, 10)).map(({ target, sequence }) => [target, sequence]);
  };
  assert.deepEqual(await targetsAfterSweep(11_500), [
    ['ahead', 2],
    ['second', 3],
  ]);
  assert.deepEqual(await targetsAfterSweep(12_500), [['ahead', 2]]);
  assert.deepEqual(await targetsAfterSweep(19_500), []);
  await write('third', 19_600);
  assert.deepEqual(await targetsAfterSweep(19_700), [['third', 4]]);
  await storage.close();
});

test('a key’s row is written when the day changes until which it is needed, and not with each token', async () => {
  const path = join(folder, 'needed.db');
  const storage = openSqliteStorage({ path, issuer });
  await storage.clients.add(newClient('app'));
  const key = { kid: 'a', algorithm: 'ES256', publicJwk: {}, sealedPrivateKey: '', createdAtMs: 1 } as const;
  await storage.keys.initialize([{ ...key, status: 'current' }]);
  const observer = new DatabaseSync(path);
  observer.exec(`
    CREATE TABLE written (needed_until INTEGER) STRICT;
    CREATE TRIGGER written_key AFTER UPDATE ON signing_keys BEGIN
      INSERT INTO written (needed_until) VALUES (new.needed_until);
    END`);
  for (const keepUntil of [100, 200, DAY, DAY + 1, 5, 2 * DAY - 1]) {
    const token = newToken('app', { keyId: 'a', expiresAt: keepUntil, keepUntil });
    assert.equal(await storage.tokens.issue([token], {}), 'issued');
  }
  const written = observer.prepare('SELECT needed_until FROM written').all();
  assert.deepEqual(
    written.map(({ needed_until }) => needed_until),
    [DAY, 2 * DAY],
  );
  observer.close();
  await storage.close();
});

test('the rows of a session and a grant are written when the day changes until which they are kept, and not with each token', async () => {
  const path = join(folder, 'sessions.db');
  const storage = openSqliteStorage({ path, issuer, clock: () => 0 });
  await storage.clients.add(newClient('app'));
  const observer = new DatabaseSync(path);
  observer.exec(`
    CREATE TABLE written (kind TEXT, keep_until INTEGER) STRICT;
    CREATE TRIGGER written_principal AFTER UPDATE ON principals BEGIN
      INSERT INTO written (kind, keep_until) VALUES (new.kind, new.keep_until);
    END`);
  const tied = { subject: 'user', sessionId: 'session', grantId: 'grant', familyId: 'family' };
  const tokenUntil = (keepUntil: number) =>
    newToken('app', { ...tied, kind: 'refresh_token', expiresAt: keepUntil, keepUntil });
  const times = [100, 200, DAY, DAY + 1, 5, 2 * DAY - 1];
  for (const time of times) assert.equal(await storage.tokens.issue([tokenUntil(time)], {}), 'issued');
  const writtenOf = (kind: string) =>
    observer
      .prepare('SELECT keep_until FROM written WHERE kind = ?')
      .all(kind)
      .map(({ keep_until }) => keep_until);
  for (const kind of ['session', 'grant']) assert.deepEqual(writtenOf(kind), [2 * DAY], kind);

  // Likewise a refresh.
  let presented = tokenUntil(2 * DAY);
  assert.equal(await storage.tokens.issue([presented], {}), 'issued');
  for (const time of times.map((early) => early + DAY)) {
    const successor = tokenUntil(time);
    assert.equal(await storage.tokens.rotate(presented, successor, [successor]), 'issued');
    presented = successor;
  }
  for (const kind of ['session', 'grant']) assert.deepEqual(writtenOf(kind), [2 * DAY, 3 * DAY], kind);
  assert.deepEqual(writtenOf('subject'), []);
  observer.close();
  await storage.close();
});

test('a file that a newer program wrote is refused and left as it is', () => {
  const { path, database: newer } = newFile('newer.db');
  const state = { version: SCHEMA_VERSION + 2, floor: SCHEMA_VERSION + 1 };
  newer.exec(`PRAGMA user_version = ${state.version}; UPDATE schema_floor SET version = ${state.floor}`);
  assert.throws(() => openSqliteStorage({ path, issuer }), {
    message:
      `${path} was written by a newer grantd (schema ${state.version}, usable from schema ${state.floor}); ` +
      `this one knows schemas up to ${SCHEMA_VERSION}`,
  });
  assert.equal(newer.prepare('PRAGMA user_version').get()?.user_version, state.version);
});

for (const version of [0, 3, SCHEMA_VERSION, SCHEMA_VERSION + 1])
  test(`a database of another program, with user_version ${version}, is refused and left as it is`, () => {
    const path = join(folder, `foreign_${version}.db`);
    const foreign = new DatabaseSync(path);
    foreign.exec(`CREATE TABLE songs (title TEXT); PRAGMA user_version = ${version}`);
    foreign.close();
    const before = readFileSync(path);
    const refusal = { message: `${path} is not a grantd database` };
    assert.throws(() => readStoredIssuer(path), refusal);
    assert.throws(() => openSqliteStorage({ path, issuer }), refusal);
    assert.deepEqual(readFileSync(path), before);
  });

test('a file that is no database is refused and left as it is', () => {
  const path = import.meta.filename;
  const before = readFileSync(path, 'utf8');
  assert.throws(() => openSqliteStorage({ path, issuer }), /not a database/);
  assert.equal(readFileSync(path, 'utf8'), before);
});

/** Undoes the later versions. */
function undoUntil(file: DatabaseSync, version: number): void {
  for (const migration of SQLITE_STORE_TABLES.migrations.slice(version).reverse()) {
    assert.ok(typeof migration === 'object' && 'down' in migration);
    file.exec(migration.down);
  }
  file.exec(`PRAGMA user_version = ${version}`);
}

test('registrations of earlier versions count as used at the migration, and as long as they have tokens', async () => {
  const path = join(folder, 'version-11.db');
  const before = openSqliteStorage({ path, issuer: ISSUER });
  const registered = { registrationTokenDigest: 'digest', registeredAt: 1 };
  const expiresAt = Math.floor(Date.now() / 1000) + 90 * DAY;
  await before.clients.add({ ...newClient('idle'), ...registered });
  await before.clients.add({ ...newClient('busy'), ...registered, resource: 'https://Api.example' });
  await before.clients.add(newClient('operators'));
  for (const clientId of ['busy', 'operators'])
    await before.tokens.issue([newToken(clientId, { expiresAt, keepUntil: expiresAt })], {});
  await before.close();

  const old = new DatabaseSync(path);
  undoUntil(old, 11);
  old.close();

  const from = Math.floor(Date.now() / 1000);
  const storage = openSqliteStorage({ path, issuer: ISSUER });
  const used = async (id: string) => (await storage.clients.get(id))?.usedUntil;
  const idle = (await used('idle')) ?? 0;
  assert.ok(idle >= from && idle <= Date.now() / 1000, String(idle));
  assert.equal(await used('busy'), expiresAt);
  assert.equal(await used('operators'), undefined);
  const found = await storage.clients.findApis?.({ resources: ['https://api.example/'], scopes: [] });
  assert.deepEqual(
    found?.map(({ clientId }) => clientId),
    ['busy'],
  );
  await storage.close();
});

test('pushed requests of an earlier version are pending rows, and the earlier version goes on with them', async () => {
  const path = join(folder, 'pushed.db');
  const before = openSqliteStorage({ path, issuer: ISSUER, clock: () => 0 });
  const kept = { kind: 'pushed_request', id: 'kept', clientId: 'app', expiresAt: 60 } as const;
  const data = { scope: 'é "x" \0' };
  await before.pending.add({ ...kept, data });
  await before.close();
  const earlier = new DatabaseSync(path);
  undoUntil(earlier, 11);
  const add = `INSERT INTO pushed_requests (issuer_id, id, client_id, parameters, expires_at) VALUES (1, :id, 'app', '{"a":"b"}', :until)`;
  earlier.prepare(add).run({ id: 'before', until: 61 });

  const storage = openSqliteStorage({ path, issuer: ISSUER, clock: () => 0 });
  const found = async (id: string) => (await storage.pending.get('pushed_request', id))?.data;
  assert.deepEqual([await found('kept'), await found('before')], [data, { a: 'b' }]);
  earlier.prepare(add).run({ id: 'after', until: 62 });
  assert.deepEqual(await found('after'), { a: 'b' });
  const get =
    'SELECT id, client_id, parameters, expires_at FROM pushed_requests WHERE issuer_id = 1 AND id = :id';
  const row = earlier.prepare(get).get({ id: 'kept' });
  assert.deepEqual(Object.values(row ?? {}), ['kept', 'app', JSON.stringify(data), 60]);
  earlier.exec("DELETE FROM pushed_requests WHERE issuer_id = 1 AND id = 'kept'");
  assert.equal(await found('kept'), undefined);
  earlier.exec(`DELETE FROM pushed_requests WHERE rowid IN (
    SELECT rowid FROM pushed_requests WHERE issuer_id = 1 AND expires_at <= 62 ORDER BY expires_at LIMIT 1)`);
  assert.deepEqual([await found('before'), await found('after')], [undefined, { a: 'b' }]);
  earlier.close();
  await storage.close();
});
