// Passes, with which followers send nonces (ADR 175).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { OAuthError, ServerSecret, StorageFault } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { Contact, type ContactParts } from '../src/follow/contact.ts';

const NEWER = 'the secret of the server, in more than 32 characters';
const OLDER = 'an earlier secret of it, in more than 32 characters';
const MINUTE_MS = 60_000;

const secretOf = (...secrets: string[]) => new ServerSecret<ProgramSecretUse>(secrets);

async function storageWithApi() {
  const storage = memoryStorage();
  const secrets = [{ hash: 'a hash of a secret', createdAtMs: 1 }];
  const api = { id: 'api', grantTypes: [], scopes: [], redirectUris: [], secrets };
  await storage.clients.add({ ...api, resource: 'https://api.example' });
  const client = async () => (await storage.clients.get('api')) ?? assert.fail();
  return { storage, client };
}

/** A process that answers nonces. @returns what sends one, and returns the status of the response */
async function start(t: TestContext, parts: Pick<ContactParts, 'storage'> & Partial<ContactParts>) {
  const tail = { current: async () => '7.abcdefgh' };
  const contact = new Contact({
    secret: secretOf(NEWER),
    tail,
    path: '/token/follow',
    clock: Date.now,
    ...parts,
  });
  let passedOn = 0;
  const listener: RequestListener = (request, response) => {
    if (contact.takes(request, response, listener)) return;
    passedOn += 1;
    contact.answer(request, response).catch((error: unknown) => {
      response.writeHead(error instanceof OAuthError || error instanceof StorageFault ? error.status : 500);
      response.end();
    });
  };
  const http = createServer(listener).listen(0, '127.0.0.1');
  t.after(() => http.close());
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/token/follow?nonce=of-a-follower-that-asks`;
  const ask = async (pass: string) =>
    (await fetch(url, { headers: { authorization: `Bearer ${pass}` } })).status;
  return { contact, ask, passedOn: () => passedOn };
}

test('a pass is good in every process that has its secret, also as an earlier one', async (t) => {
  const { storage, client } = await storageWithApi();
  const { contact } = await start(t, { storage, secret: secretOf(OLDER) });
  const pass = await contact.newPass(await client(), MINUTE_MS);
  const { ask } = await start(t, { storage, secret: secretOf(NEWER, OLDER) });
  assert.deepEqual([await ask(pass), await ask(pass)], [200, 200]);
  const other = await start(t, { storage });
  assert.equal(await other.ask(pass), 401);
});

test('a pass ends with its time', async (t) => {
  const { storage, client } = await storageWithApi();
  let nowMs = 0;
  const { contact, ask } = await start(t, { storage, clock: () => nowMs });
  const pass = await contact.newPass(await client(), MINUTE_MS);
  nowMs = MINUTE_MS;
  assert.equal(await ask(pass), 200);
  nowMs += 1;
  assert.equal(await ask(pass), 401);
});

test('a pass ends with each change of its client, but not with the use of a secret', async (t) => {
  const { storage, client } = await storageWithApi();
  const { contact, ask, passedOn } = await start(t, { storage });
  const rotated = { hash: 'a hash of another secret', createdAtMs: 2 };
  const changes: Record<string, () => unknown> = {
    'another secret': async () => storage.clients.replaceSecrets('api', [rotated], await client()),
    'another resource': async () => {
      const { generation: _, revision: __, registrationRevision: ___, ...api } = await client();
      return storage.clients.replace({ ...api, resource: 'https://other.example' }, await client());
    },
    'its tokens are revoked': () => storage.revokeAll({ principal: 'client', id: 'api' }),
    'it is disabled': () => storage.setDisabled('client', 'api', true),
    'it is removed': () => storage.clients.remove('api'),
  };
  for (const [change, make] of Object.entries(changes)) {
    const pass = await contact.newPass(await client(), MINUTE_MS);
    const secrets = (await client()).secrets?.map((one) => ({ ...one, hash: 'rehashed', lastUsedAtMs: 3 }));
    await storage.clients.replaceSecrets('api', secrets ?? [], await client());
    const before = passedOn();
    assert.deepEqual([await ask(pass), await ask(pass)], [200, 200], change);
    assert.equal(passedOn(), before + 1, 'the second time, the pass is known');
    await make();
    assert.equal(await ask(pass), 401, change);
  }
});

test('without its storage, a process answers no nonce, and no pass is opened without a read', async (t) => {
  const { storage, client } = await storageWithApi();
  let current = async () => '7.abcdefgh';
  const { contact, ask } = await start(t, { storage, tail: { current: () => current() } });
  const pass = await contact.newPass(await client(), MINUTE_MS);
  assert.equal(await ask(pass), 200);
  current = () => Promise.reject(new StorageFault(new Error('down')));
  assert.equal(await ask(pass), 503);
});
