import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { AdministrableStorage, ClientRegistry, NewClient } from '@grantd/core';
import { type AdminCalls, call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import { Refused } from '../src/config/refused.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { openInstance } from '../src/instance/instance.ts';
import { ISSUER } from './harness/program_data.ts';

const SHOP: NewClient = {
  id: 'shop',
  secrets: [{ hash: 'old' }],
  grantTypes: ['client_credentials'],
  scopes: ['read'],
  redirectUris: [],
};

/** A command's dependencies. Another process changes the client each time after it was read. */
async function open(t: TestContext, meanwhile: (clients: ClientRegistry, reading: number) => unknown) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-client-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const configuration = readConfiguration({}, { GRANTD_ISSUER: ISSUER });
  const database = sqliteDatabase(join(folder, 'grantd.db'));
  t.after(() => database.close());
  const instance = await openInstance(configuration, database, ISSUER, 'server');
  const { clients } = instance.storage;
  await clients.add(SHOP);

  let readings = 0;
  const get: ClientRegistry['get'] = async (id) => {
    const read = await clients.get(id);
    readings += 1;
    await meanwhile(clients, readings);
    return read;
  };
  const storage: AdministrableStorage = { ...instance.storage, clients: { ...clients, get } };
  const admin = localCalls({ ...instance, storage, configuration });
  return { admin, stored: () => clients.get('shop') };
}

async function replaceSecret(clients: ClientRegistry, hash: string): Promise<boolean> {
  return clients.replaceSecrets('shop', [{ hash }], (await clients.get('shop')) ?? {});
}

const RENAMED = { client_id: 'shop', client_name: 'Store' };

test('client update brings back no secret that was replaced since it read the client', async (t) => {
  const { admin, stored } = await open(t, (clients, reading) =>
    reading === 1 ? replaceSecret(clients, 'rotated') : undefined,
  );
  assert.equal((await call(admin, 'updateClient', RENAMED)).client_name, 'Store');
  const shop = await stored();
  assert.deepEqual([shop?.name, shop?.secrets], ['Store', [{ hash: 'rotated' }]]);
});

test('client update says that it updated nothing if others change the client again and again', async (t) => {
  const { admin, stored } = await open(t, (clients, reading) => replaceSecret(clients, `rotated ${reading}`));
  await assert.rejects(
    call(admin, 'updateClient', RENAMED),
    new Refused('other commands keep changing shop. Nothing was updated: try again.'),
  );
  const shop = await stored();
  assert.deepEqual([shop?.name, shop?.secrets], [undefined, [{ hash: 'rotated 5' }]]);
});

const REMOVED: Readonly<Record<string, (admin: AdminCalls) => Promise<unknown>>> = {
  'rotate-secret': (admin) => call(admin, 'rotateClientSecret', { client_id: 'shop', overlap: 0 }),
  remove: (admin) => call(admin, 'removeClient', { client_id: 'shop' }),
  disable: (admin) => call(admin, 'disableClient', { client_id: 'shop' }),
};

for (const [command, run] of Object.entries(REMOVED)) {
  test(`client ${command} says so if the client was removed meanwhile`, async (t) => {
    const { admin, stored } = await open(t, (clients) => clients.remove('shop'));
    await assert.rejects(run(admin), Refused);
    assert.equal(await stored(), undefined);
  });
}

test('client rotate-secret creates no secret for a client that no longer has one', async (t) => {
  const { admin, stored } = await open(t, async (clients) => {
    const read = await clients.get('shop');
    const { secrets: _, ...withoutSecret } = SHOP;
    const metadata = { token_endpoint_auth_method: 'none' } as const;
    await clients.replace({ ...withoutSecret, grantTypes: [], metadata }, read ?? {});
  });
  await assert.rejects(call(admin, 'rotateClientSecret', { client_id: 'shop', overlap: 0 }), Refused);
  assert.equal((await stored())?.secrets, undefined);
});
