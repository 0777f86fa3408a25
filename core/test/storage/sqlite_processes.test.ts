import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { openSqliteStorage, readStoredIssuer } from '../../src/storage/sql/sqlite/sqlite_storage.ts';
import { newClient, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';

/** Runs `sqlite_process.ts` in a process of its own. @returns what it printed */
async function inProcess(...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'sqlite_process.ts'), ...args]);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(errors, '');
  return output.trim();
}

test('two handles of one file see each other’s writes at once', async () => {
  const path = join(folder, 'two.db');
  const one = openSqliteStorage({ path, issuer });
  const other = openSqliteStorage({ path, issuer });
  one.clients.add(newClient('app'));
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
  one.clients.add(newClient('app'));
  const token = newToken('app');
  await one.tokens.issue([token], {});
  assert.equal(await other.clients.get('app'), undefined);
  assert.equal(await other.tokens.getByAccessToken(token.id), undefined);
  assert.equal(await other.clients.hasRedirectOrigin('https://app.example'), false);
  assert.equal(await other.clients.add(newClient('app')), true);
  await other.revokeAll({ principal: 'client', id: 'app' });
  await other.revokeAll({ issuedBeforeMs: Date.now() + 1 });
  assert.equal(await one.countAlive({ principal: 'client', id: 'app' }), 1);
  assert.deepEqual(await one.eventsAfter(0, 10), []);
  one.close();
  other.close();
});

test('several processes that start together on a new file all get on', { timeout: 60_000 }, async () => {
  const path = join(folder, 'started', 'together.db');
  const names = Array.from({ length: 6 }, (_, index) => `client-${index}`);
  const added = await Promise.all(names.map((name) => inProcess('add_client', path, issuer, name)));
  assert.deepEqual(
    added,
    names.map(() => 'true'),
  );
  const storage = openSqliteStorage({ path, issuer });
  assert.deepEqual(
    (await storage.clients.list()).map(({ id }) => id),
    names,
  );
  storage.close();
});

test('several processes that rotate one token give it one successor', { timeout: 60_000 }, async () => {
  const path = join(folder, 'rotate.db');
  const storage = openSqliteStorage({ path, issuer });
  storage.clients.add(newClient('app'));
  const tokens = Array.from({ length: 50 }, (_, index) =>
    newToken('app', { id: `refresh-${index}`, kind: 'refresh_token', familyId: `family-${index}` }),
  );
  await storage.tokens.issue(tokens, {});
  const ids = tokens.map(({ id }) => id);
  const outcomes = await Promise.all([1, 2, 3, 4].map(() => inProcess('rotate', path, issuer, ...ids)));
  const byToken = ids.map((_, index) => outcomes.map((outcome) => outcome.split(' ')[index]).sort());
  for (const of of byToken) assert.deepEqual(of, ['issued', 'superseded', 'superseded', 'superseded']);
  assert.equal(await storage.countAlive({ principal: 'client', id: 'app' }), tokens.length);
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
  assert.equal(await inProcess('stored_issuer', path), issuer);

  const empty = join(folder, 'empty.db');
  writeFileSync(empty, '');
  assert.equal(readStoredIssuer(empty), undefined);
});
