import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { AdministrableStorage } from '@grantd/core';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { newClient } from './samples.ts';

describe('clients on PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  let stores: PostgresStores;
  let storage: AdministrableStorage;
  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    storage = await stores.open();
  });
  after(() => stores.end());
  beforeEach(async () => {
    await storage.clients.add(newClient('client'));
  });

  /**
   * The result of `act` when another process has uncommitted changes.
   * @param statements of that other process; there is one issuer
   */
  async function overtaking<T>(statements: readonly string[], act: () => T | Promise<T>): Promise<T> {
    const other = await stores.pool.connect();
    try {
      await other.query('BEGIN');
      for (const statement of statements) await other.query(statement);
      const answer = Promise.resolve(act());
      answer.catch(() => {}); // handled below
      const isWaiting = (await Promise.race([answer, wait(300, 'waiting')])) === 'waiting';
      assert.equal(isWaiting, true, 'it waits for the other process');
      await other.query('COMMIT');
      return await answer;
    } finally {
      other.release();
    }
  }

  const originsOf = async (id: string) => {
    const sql = 'SELECT origin FROM grantd.redirect_origins WHERE client_id = $1 ORDER BY origin';
    return (await stores.pool.query(sql, [id])).rows.map(({ origin }) => origin);
  };

  const NEW_ORIGIN =
    "INSERT INTO grantd.redirect_origins SELECT id, 'https://late.example', 'client' FROM grantd.issuers";
  const REPLACED = "UPDATE grantd.clients SET name = 'late', revision = revision + 1 WHERE id = 'client'";

  test('a client that is added while another process removes it begins above the removed one', async () => {
    const removal = [
      'UPDATE grantd.issuers SET first_client_generation = 7',
      'DELETE FROM grantd.redirect_origins',
      'DELETE FROM grantd.clients',
    ];
    assert.equal(await overtaking(removal, () => storage.clients.add(newClient('client'))), true);
    assert.equal((await storage.clients.get('client'))?.generation, 7);
  });

  test('a client is removed with what another process has stored of it a moment ago', async () => {
    const raised = "UPDATE grantd.clients SET generation = 20 WHERE id = 'client'";
    const removed = await overtaking([raised, NEW_ORIGIN], () => storage.clients.remove('client'));
    assert.equal(removed, true);
    assert.deepEqual(await originsOf('client'), []);
    await storage.clients.add(newClient('client'));
    assert.equal((await storage.clients.get('client'))?.generation, 21);
  });

  test('of two processes that replace a client as they read it the later one changes nothing', async () => {
    const replacement = { ...newClient('client'), redirectUris: ['https://new.example/cb'] };
    const read = await storage.clients.get('client');
    const before = await originsOf('client');
    const replaced = await overtaking([REPLACED], () => storage.clients.replace(replacement, read ?? {}));
    assert.equal(replaced, false);
    assert.deepEqual(await originsOf('client'), before);
    assert.equal((await storage.clients.get('client'))?.name, 'late');
  });

  test('a client that is replaced has no origin of what another process stored a moment ago', async () => {
    const replacement = { ...newClient('client'), redirectUris: ['https://new.example/cb'] };
    const read = await storage.clients.get('client');
    const locked = "SELECT 1 FROM grantd.clients WHERE id = 'client' FOR UPDATE";
    const replace = () => storage.clients.replace(replacement, read ?? {});
    assert.equal(await overtaking([locked, NEW_ORIGIN], replace), true);
    assert.deepEqual(await originsOf('client'), ['https://new.example']);
  });
});
