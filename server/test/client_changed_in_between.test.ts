import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { AdministrableStorage, ClientRegistry, NewClient } from '@grantd/core';
import { removeClient, rotateSecret, setDisabled, updateClient } from '../src/cli/client.ts';
import type { AdministrationParts } from '../src/cli/command.ts';
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
  const parts: AdministrationParts = { admin, isJson: true };
  const printed: string[] = [];
  t.mock.method(console, 'log', (line: string) => void printed.push(line));
  return { parts, printed, stored: () => clients.get('shop') };
}

async function replaceSecret(clients: ClientRegistry, hash: string): Promise<boolean> {
  return clients.replaceSecrets('shop', [{ hash }], (await clients.get('shop')) ?? {});
}

const RENAMED = { members: { client_name: 'Store' }, unset: [] };

test('client update brings back no secret that was replaced since it read the client', async (t) => {
  const { parts, printed, stored } = await open(t, (clients, reading) =>
    reading === 1 ? replaceSecret(clients, 'rotated') : undefined,
  );
  await updateClient(parts, 'shop', RENAMED);
  const shop = await stored();
  assert.deepEqual([shop?.name, shop?.secrets], ['Store', [{ hash: 'rotated' }]]);
  assert.deepEqual(
    printed.map((line) => JSON.parse(line).client_name),
    ['Store'],
  );
});

test('client update says that it updated nothing if others change the client again and again', async (t) => {
  const { parts, printed, stored } = await open(t, (clients, reading) =>
    replaceSecret(clients, `rotated ${reading}`),
  );
  await assert.rejects(
    updateClient(parts, 'shop', RENAMED),
    new Refused('other commands keep changing shop. Nothing was updated: try again.'),
  );
  const shop = await stored();
  assert.deepEqual([shop?.name, shop?.secrets], [undefined, [{ hash: 'rotated 5' }]]);
  assert.deepEqual(printed, []);
});

const REMOVED: Readonly<Record<string, (parts: AdministrationParts) => Promise<void>>> = {
  'rotate-secret': (parts) => rotateSecret(parts, 'shop', 'generate', 0),
  remove: (parts) => removeClient(parts, 'shop'),
  disable: (parts) => setDisabled(parts, 'shop', true),
};

for (const [command, run] of Object.entries(REMOVED)) {
  test(`client ${command} says so if the client was removed meanwhile, and prints nothing else`, async (t) => {
    const { parts, printed, stored } = await open(t, (clients) => clients.remove('shop'));
    await assert.rejects(run(parts), Refused);
    assert.deepEqual([await stored(), printed], [undefined, []]);
  });
}

test('client rotate-secret creates no secret for a client that no longer has one', async (t) => {
  const { parts, printed, stored } = await open(t, async (clients) => {
    const read = await clients.get('shop');
    const { secrets: _, ...withoutSecret } = SHOP;
    const metadata = { token_endpoint_auth_method: 'none' } as const;
    await clients.replace({ ...withoutSecret, grantTypes: [], metadata }, read ?? {});
  });
  await assert.rejects(rotateSecret(parts, 'shop', 'generate', 0), Refused);
  assert.deepEqual([(await stored())?.secrets, printed], [undefined, []]);
});
