import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { countingInThread } from '../src/serve/sweep_in_thread.ts';
import { Workbench } from './harness/program.ts';

const issuer = 'https://login.example';
const workbench = new Workbench();
after(() => workbench.clear());

async function opened() {
  const database = countingInThread(sqliteDatabase(join(workbench.folder(), 'grantd.db')));
  const { storage } = await database.open(issuer);
  after(() => database.close());
  const client = { grantTypes: ['client_credentials'], scopes: ['read'], redirectUris: [] } as const;
  for (const id of ['one', 'other']) await storage.clients.add({ id, ...client });
  const now = Math.floor(Date.now() / 1000);
  const tokens = ['one', 'one', 'other'].map((clientId, at) => ({
    ...({ id: `token-${at}`, digest: `digest-${at}`, kind: 'access_token', tokenType: 'Bearer' } as const),
    ...{ clientId, scopes: ['read'], issuedAtMs: Date.now(), expiresAt: now + 60, keepUntil: now + 60 },
  }));
  for (const token of tokens) await storage.tokens.issue([token], {});
  return storage;
}

/** Whether the event loop did other work before this was done. */
async function letsOthersWork(work: () => unknown): Promise<boolean> {
  let hasWorked = false;
  setImmediate(() => {
    hasWorked = true;
  });
  await work();
  return hasWorked;
}

test('live tokens are counted in a thread, while the server answers requests', async () => {
  const storage = await opened();
  const one = { principal: 'client', id: 'one' } as const;
  assert.deepEqual(await storage.countAlive(one), { count: 2, hasMore: false });
  const { count } = await storage.countAlive({ issuedBeforeMs: Number.MAX_SAFE_INTEGER });
  assert.equal(count, 3);
  const tokens = [{ kind: 'access_token', scopes: ['read'] }];
  assert.deepEqual(await storage.aliveOfClient('other', 10), { tokens, hasMore: false });
  const { tokens: first, hasMore } = await storage.aliveOfClient('one', 1);
  assert.deepEqual([first.length, hasMore], [1, true]);
  assert.ok(await letsOthersWork(() => storage.countAlive(one)));
  assert.ok(await letsOthersWork(() => storage.aliveOfClient('one', 10)));
});

test('counts at the same time wait for each other, and what was committed before is counted', async () => {
  const storage = await opened();
  const one = { principal: 'client', id: 'one' } as const;
  const before = storage.countAlive(one);
  const revoked = Promise.resolve(before).then(() => storage.revokeAll(one));
  assert.equal((await before).count, 2);
  await revoked;
  const counts = await Promise.all([
    storage.countAlive(one),
    storage.countAlive({ principal: 'client', id: 'other' }),
  ]);
  assert.deepEqual(
    counts.map(({ count }) => count),
    [0, 1],
  );
});
