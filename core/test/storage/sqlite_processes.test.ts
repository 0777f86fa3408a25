import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { readStoredIssuer } from '../../src/storage/sqlite/files.ts';
import { openSqliteStorage, type SqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { newClient, newCode, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';

/**
 * Runs `sqlite_process.ts` in separate processes, which begin together when all of them have started.
 * @returns the output of each, split into words
 */
async function inProcesses(...calls: readonly (readonly string[])[]): Promise<string[][]> {
  const running = calls.map((args) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'sqlite_process.ts'), ...args]);
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    return { child, lines, errors: text(child.stderr) };
  });
  await Promise.all(running.map(({ lines }) => lines.next()));
  for (const { child } of running) child.stdin.end();
  return Promise.all(
    running.map(async ({ lines, errors }) => {
      assert.equal(await errors, '');
      return String((await lines.next()).value ?? '').split(' ');
    }),
  );
}

/** Words that differ in their number. */
function numbered(word: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${word}-${index}`);
}

test('two handles of one file see each other’s writes at once', async () => {
  const path = join(folder, 'two.db');
  const one = openSqliteStorage({ path, issuer });
  const other = openSqliteStorage({ path, issuer });
  await one.clients.add(newClient('app'));
  const token = newToken('app');
  assert.equal(await other.tokens.issue([token], {}), 'issued');
  const record = await one.tokens.getByAccessToken(token.id);
  assert.ok(record);
  await one.tokens.revoke(record);
  assert.notEqual((await other.tokens.getByAccessToken(token.id))?.revokedAtMs, undefined);
  await other.setDisabled('client', 'app', true);
  assert.notEqual((await one.tokens.getByAccessToken(token.id))?.standing?.client?.disabledAtMs, undefined);
  one.close();
  other.close();
});

test('two issuers in one file do not see each other’s records', async () => {
  const path = join(folder, 'issuers.db');
  const one = openSqliteStorage({ path, issuer });
  const other = openSqliteStorage({ path, issuer: 'https://other.example' });
  await one.clients.add(newClient('app'));
  const token = newToken('app');
  await one.tokens.issue([token], {});
  assert.equal(await other.clients.get('app'), undefined);
  assert.equal(await other.tokens.getByAccessToken(token.id), undefined);
  assert.equal(await other.clients.hasRedirectOrigin('https://app.example'), false);
  assert.equal(await other.clients.add(newClient('app')), true);
  await other.revokeAll({ principal: 'client', id: 'app' });
  await other.revokeAll({ issuedBeforeMs: Date.now() + 1 });
  assert.equal((await one.countAlive({ principal: 'client', id: 'app' })).count, 1);
  assert.deepEqual(await one.eventsAfter(0, 10), []);
  one.close();
  other.close();
});

/**
 * The locks of this process on a file, as Linux lists them. If other processes lock files in the meantime, Linux can list
 * the same lock several times, although a process has it only once.
 */
function ownLocksOn(path: string): readonly string[] {
  const [pid, inode] = [` ${process.pid} `, `:${statSync(path).ino} `];
  const lines = readFileSync('/proc/locks', 'utf8').split('\n');
  const own = lines.filter((line) => line.includes(pid) && line.includes(inode));
  return [...new Set(own.map((line) => line.replace(/^\d+: /, '')))];
}

test('a second handle in one process leaves the first its locks', async (t) => {
  if (!existsSync('/proc/locks')) return t.skip('only Linux lists the locks of a file');
  const path = join(folder, 'locks.db');
  const one = openSqliteStorage({ path, issuer });
  const locks = ownLocksOn(path);
  if (locks.length === 0) return t.skip('this file system does not list its locks by the inode of the file');
  const other = openSqliteStorage({ path, issuer: 'https://other.example' });
  assert.deepEqual(ownLocksOn(path), locks);
  await other.close();
  assert.deepEqual(ownLocksOn(path), locks);
  await one.close();
});

test('several processes that start together on a new file all get on', { timeout: 60_000 }, async () => {
  const path = join(folder, 'started', 'together.db');
  const names = numbered('client', 6);
  const added = await inProcesses(...names.map((name) => ['add_client', path, issuer, name]));
  assert.deepEqual(
    added,
    names.map(() => ['true']),
  );
  const storage = openSqliteStorage({ path, issuer });
  assert.deepEqual(
    (await storage.clients.list()).map(({ id }) => id),
    names,
  );
  storage.close();
});

test('several processes that ask for the issuer and open, on one new file after another, all get on', {
  timeout: 60_000,
}, async () => {
  const path = join(folder, 'new-');
  const files = numbered('file', 30);
  await inProcesses(...Array.from({ length: 8 }, () => ['start', path, issuer, ...files]));
  for (const file of files) assert.equal(readStoredIssuer(path + file), issuer);
});

test('a file that another process holds is waited for no longer than was said', () => {
  const path = join(folder, 'held.db');
  const holder = new DatabaseSync(path);
  holder.exec('BEGIN EXCLUSIVE');
  const startedAtMs = performance.now();
  assert.throws(() => openSqliteStorage({ path, issuer, busyTimeoutMs: 400 }), /database is locked/);
  assert.throws(() => readStoredIssuer(path, 400), /database is locked/);
  const waitedMs = performance.now() - startedAtMs;
  assert.ok(waitedMs >= 700 && waitedMs < 4000, `waited ${waitedMs} ms`);
  holder.close();
});

/** A store with refresh tokens, each with its own family and grant. */
async function withRefreshTokens(name: string, ids: readonly string[]): Promise<SqliteStorage> {
  const storage = openSqliteStorage({ path: join(folder, name), issuer });
  await storage.clients.add(newClient('app'));
  const tokens = ids.map((id) =>
    newToken('app', { id, kind: 'refresh_token', familyId: `family of ${id}`, grantId: `grant of ${id}` }),
  );
  assert.equal(await storage.tokens.issue(tokens, {}), 'issued');
  return storage;
}

test('several processes that rotate one token give it one successor', { timeout: 60_000 }, async () => {
  const ids = numbered('refresh', 50);
  const storage = await withRefreshTokens('rotate.db', ids);
  const rotating = ['rotate', storage.path, issuer, ...ids];
  const outcomes = await inProcesses(rotating, rotating, rotating, rotating);
  const byToken = ids.map((_, index) => outcomes.map((outcome) => outcome[index]).sort());
  for (const of of byToken) assert.deepEqual(of, ['issued', 'superseded', 'superseded', 'superseded']);
  assert.equal((await storage.countAlive({ principal: 'client', id: 'app' })).count, 2 * ids.length);
  storage.close();
});

test('several processes that rotate tokens with one identifier rotate one of them', {
  timeout: 60_000,
}, async () => {
  const identifiers = numbered('proof', 50);
  const processes = ['a', 'b', 'c'];
  const tokensOf = (process: string) => identifiers.map((id) => `${id}/${process}`);
  const storage = await withRefreshTokens('rotate_once.db', processes.flatMap(tokensOf));
  const outcomes = await inProcesses(
    ...processes.map((process) => ['rotate_once', storage.path, issuer, ...tokensOf(process)]),
  );
  for (const [index, id] of identifiers.entries()) {
    const ofOne = outcomes.map((outcome) => outcome[index]);
    assert.deepEqual(ofOne.toSorted(), ['already_used', 'already_used', 'issued']);
    for (const [place, process] of processes.entries()) {
      const { supersededAtMs } = (await storage.tokens.getByRefreshToken(`${id}/${process}`)) ?? {};
      assert.equal(supersededAtMs !== undefined, ofOne[place] === 'issued', 'only that token was used');
    }
  }
  storage.close();
});

test('several processes that redeem one code give tokens for it once', { timeout: 60_000 }, async () => {
  const ids = numbered('code', 50);
  const storage = openSqliteStorage({ path: join(folder, 'redeem.db'), issuer });
  await storage.clients.add(newClient('app'));
  for (const id of ids)
    assert.equal(await storage.authorizationCodes.issue(newCode('app', id), {}), 'issued');
  const redeeming = ['redeem', storage.path, issuer, ...ids];
  const outcomes = await inProcesses(redeeming, redeeming, redeeming, redeeming);
  const byCode = ids.map((_, index) => outcomes.map((outcome) => outcome[index]).sort());
  const once = ['already_redeemed', 'already_redeemed', 'already_redeemed', 'issued'];
  for (const of of byCode) assert.deepEqual(of, once);
  assert.equal((await storage.countAlive({ principal: 'client', id: 'app' })).count, ids.length);
  storage.close();
});

for (const task of ['issue_from', 'rotate']) {
  const title = `processes that ${task} upon tokens while another revokes them leave nothing alive`;
  test(title, { timeout: 60_000 }, async () => {
    const ids = numbered('refresh', 200);
    const storage = await withRefreshTokens(`${task}_revoke.db`, ids);
    await inProcesses(...[task, task, task, 'revoke'].map((name) => [name, storage.path, issuer, ...ids]));
    assert.equal((await storage.countAlive({ principal: 'client', id: 'app' })).count, 0);
    storage.close();
  });
}

test('processes that issue for clients while another disables them leave nothing alive', {
  timeout: 60_000,
}, async () => {
  const ids = numbered('client', 100);
  const storage = openSqliteStorage({ path: join(folder, 'disable.db'), issuer });
  for (const id of ids) await storage.clients.add(newClient(id));
  await inProcesses(...['issue', 'issue', 'disable'].map((task) => [task, storage.path, issuer, ...ids]));
  for (const id of ids) {
    // After the client was enabled again, its tokens stay dead.
    await storage.setDisabled('client', id, false);
    assert.equal((await storage.countAlive({ principal: 'client', id })).count, 0, id);
  }
  storage.close();
});

test('processes that issue, rotate and issue beside while another revokes all of a client leave nothing of before alive', {
  timeout: 60_000,
}, async () => {
  const clients = numbered('client', 100);
  const storage = openSqliteStorage({ path: join(folder, 'revoke_all.db'), issuer });
  const tokens = clients.map((id) => {
    storage.clients.add(newClient(id));
    return newToken(id, { id: `refresh of ${id}`, kind: 'refresh_token', familyId: id, grantId: id });
  });
  assert.equal(await storage.tokens.issue(tokens, {}), 'issued');
  const refreshTokens = tokens.map(({ id }) => id);
  const calls: readonly (readonly [string, readonly string[]])[] = [
    ['issue_as_at_first', clients],
    ['rotate', refreshTokens],
    ['issue_from', refreshTokens],
    ['revoke_all', clients],
  ];
  await inProcesses(...calls.map(([task, names]) => [task, storage.path, issuer, ...names]));
  for (const id of clients)
    assert.equal((await storage.countAlive({ principal: 'client', id })).count, 0, id);
  storage.close();
});

test('the stored issuer is the first that opened the file, and asking for it makes no file', async () => {
  const path = join(folder, 'asked', 'grantd.db');
  assert.equal(readStoredIssuer(path), undefined);
  assert.equal(existsSync(join(folder, 'asked')), false);

  const storage = openSqliteStorage({ path, issuer });
  openSqliteStorage({ path, issuer: 'https://another.example' }).close();
  assert.equal(readStoredIssuer(path), issuer);
  storage.close();
  assert.equal(readStoredIssuer(path), issuer);
  assert.deepEqual(await inProcesses(['stored_issuer', path]), [[issuer]]);

  const empty = join(folder, 'empty.db');
  writeFileSync(empty, '');
  assert.equal(readStoredIssuer(empty), undefined);
});
