import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { AuthorizationServer, type ClientSecretRecord, rotatedSecrets } from '@grantd/core';
import { BreakableStore } from './harness/breakable_store.ts';
import { secondServer } from './harness/second_server.ts';
import { MEMORY } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import { basic, CLIENTS, openWorld, SECRET, secretOf, World } from './harness/world.ts';

const NEW_SECRET = 'a new secret of the tests with more than 32 characters';
const HOUR = 60 * 60;

/** Whether each secret authenticates the client `machine`. */
async function admitted(world: World, ...secrets: readonly string[]): Promise<readonly boolean[]> {
  const statuses: boolean[] = [];
  for (const secret of secrets) {
    const authorization = basic('machine', secret);
    const { status } = await world.post('/token/introspect', { token: 'x' }, null, { authorization });
    statuses.push(status === 200);
  }
  return statuses;
}

async function storedSecrets({ storage }: World): Promise<readonly ClientSecretRecord[]> {
  return (await storage.clients.get('machine'))?.secrets ?? [];
}

async function setSecrets({ storage }: World, secrets: readonly ClientSecretRecord[]): Promise<void> {
  const client = await storage.clients.get('machine');
  assert.ok(await storage.clients.replaceSecrets('machine', secrets, client ?? {}));
}

/** Adds a secret to the client `machine`, as an operator does. */
async function rotate(world: World, secret: string, overlap: number): Promise<void> {
  const added = await world.server.operator.hashClientSecret(secret);
  const nowMs = world.clock.read();
  await setSecrets(world, rotatedSecrets(await storedSecrets(world), added, { nowMs, overlap }));
}

const OLD = secretOf('machine');

test('a replaced secret authenticates until its end, to the second, however often it has matched', async (t) => {
  const world = await openWorld(t);
  await rotate(world, 'the new one', HOUR);
  assert.deepEqual(await admitted(world, OLD, 'the new one', 'another'), [true, true, false]);
  world.clock.advance(HOUR - 1);
  assert.deepEqual(await admitted(world, OLD, OLD, 'the new one'), [true, true, true]);
  world.clock.advance(1);
  assert.deepEqual(await admitted(world, OLD, 'the new one'), [false, true]);
});

test('without an overlap the replaced secret is refused at once', async (t) => {
  const world = await openWorld(t);
  assert.deepEqual(await admitted(world, OLD), [true]);
  await rotate(world, 'the new one', 0);
  assert.deepEqual(await admitted(world, OLD, 'the new one'), [false, true]);
});

test('at most two secrets are live, a further rotation ends the oldest', async (t) => {
  const world = await openWorld(t);
  await rotate(world, 'second', HOUR);
  await rotate(world, 'third', HOUR);
  assert.deepEqual(await admitted(world, OLD, 'second', 'third'), [false, true, true]);
  assert.equal((await storedSecrets(world)).length, 2);
});

test('a rotation does not prolong a secret, and revives no ended one', () => {
  const nowMs = 10_000;
  const added = { hash: 'added' };
  const afterRotation = (...secrets: readonly ClientSecretRecord[]) =>
    rotatedSecrets(secrets, added, { nowMs, overlap: 100 });
  assert.deepEqual(afterRotation({ hash: 'a' }), [added, { hash: 'a', expiresAt: 110 }]);
  assert.deepEqual(afterRotation({ hash: 'a', expiresAt: 20 }), [added, { hash: 'a', expiresAt: 20 }]);
  assert.deepEqual(afterRotation({ hash: 'a', expiresAt: 10 }), [added]);
  assert.deepEqual(afterRotation(added), [added], 'the same secret again has no end');
});

test('a client whose secrets have all ended stays confidential', async (t) => {
  const world = await openWorld(t);
  await setSecrets(world, [{ ...(await world.server.operator.hashClientSecret(OLD)), expiresAt: 1 }]);
  const asPublic = await world.post('/token/revoke', { token: 'x', client_id: 'machine' });
  assert.equal(asPublic.status, 401);
  assert.equal(world.lastReason, 'client_secret_missing');
});

test('a secret that authenticates under an old server secret is hashed under the new one', async (t) => {
  const world = await openWorld(t);
  await rotate(world, 'the new one', HOUR);
  const before = await storedSecrets(world);
  const both = await secondServer(world, { secret: [NEW_SECRET, SECRET] });
  const dependents = async () =>
    (await both.server.operator.secretDependents(await world.storage.clients.list())).secrets.map(
      ({ clients }) => clients.includes('machine'),
    );
  assert.deepEqual(await dependents(), [false, true]);
  assert.deepEqual(await admitted(both, OLD, 'the new one'), [true, true]);
  await both.server.flush();
  assert.deepEqual(await dependents(), [true, false]);
  const after = await storedSecrets(world);
  const times = (secrets: readonly ClientSecretRecord[]) =>
    secrets.map(({ createdAtMs, expiresAt }) => [createdAtMs, expiresAt]);
  assert.deepEqual(times(after), times(before));

  const changed = await secondServer(world, { secret: NEW_SECRET });
  assert.deepEqual(await admitted(changed, OLD, 'the new one', 'another'), [true, true, false]);
  assert.deepEqual(await admitted(world, OLD, 'the new one'), [false, false]);
});

test('processes that disagree about the first server secret hash a secret at most once a minute', async (t) => {
  const world = await openWorld(t);
  const one = await secondServer(world, { secret: [NEW_SECRET, SECRET] });
  const other = await secondServer(world, { secret: [SECRET, NEW_SECRET] });
  const revision = async () => (await world.storage.clients.get('machine'))?.revision;
  const use = async () => {
    for (const server of [one, other, one, other]) {
      assert.deepEqual(await admitted(server, OLD), [true]);
      await server.server.flush();
    }
    return revision();
  };
  assert.equal(await use(), 1);
  world.clock.advance(59);
  assert.equal(await use(), 1);
  world.clock.advance(1);
  assert.equal(await use(), 2);
});

test('a hash that does not say its server secret gets to say it', async (t) => {
  const world = await openWorld(t);
  const { hash } = await world.server.operator.hashClientSecret(OLD);
  await setSecrets(world, [{ hash }]);
  const unknown = async () =>
    (await world.server.operator.secretDependents(await world.storage.clients.list())).unknown.clients;
  assert.deepEqual(await unknown(), ['machine']);
  assert.deepEqual(await admitted(world, OLD), [true]);
  await world.server.flush();
  assert.deepEqual(await unknown(), []);
  const [secret] = await storedSecrets(world);
  assert.deepEqual([secret?.hash, secret?.createdAtMs], [hash, undefined]);
});

test('a secret that is replaced before its use is written is not brought back', async (t) => {
  const world = await openWorld(t);
  const both = await secondServer(world, { secret: [NEW_SECRET, SECRET] });
  assert.deepEqual(await admitted(both, OLD), [true]);
  await rotate(world, 'the new one', 0);
  const replaced = await storedSecrets(world);
  await both.server.flush();
  assert.deepEqual(await storedSecrets(world), replaced);
});

test('the last use of a secret is written after the response, at most once an hour', async (t) => {
  const store = new BreakableStore(MEMORY);
  const world = await openWorld(t, {}, { transport: FUNCTION, store });
  const lastUse = async () => (await storedSecrets(world))[0]?.lastUsedAtMs;
  const isWritten = async () => {
    store.asked.clear();
    assert.deepEqual(await admitted(world, OLD), [true]);
    assert.equal(store.asked.has('clients.replaceSecrets'), false, 'the answer waits for no write');
    await world.server.flush();
    return store.asked.has('clients.replaceSecrets');
  };
  assert.equal(await lastUse(), undefined);
  assert.deepEqual(await admitted(world, 'wrong'), [false]);
  await world.server.flush();
  assert.equal(await lastUse(), undefined, 'a wrong secret is no use');

  const firstUseMs = world.clock.read();
  assert.equal(await isWritten(), true);
  world.clock.advance(HOUR - 1);
  assert.equal(await isWritten(), false);
  assert.equal(await lastUse(), firstUseMs);
  world.clock.advance(1);
  assert.equal(await isWritten(), true);
  assert.equal(await lastUse(), firstUseMs + HOUR * 1000);
});

test('the use of a secret leaves the registration as it is, upon which consent rests', async (t) => {
  const world = await openWorld(t);
  const machine = await world.storage.clients.get('machine');
  assert.ok(machine);
  const { generation: _, revision: __, registrationRevision: ___, ...client } = machine;
  await world.storage.clients.add({ ...client, id: 'stranger', registeredAt: 1 });
  const authorization = basic('stranger', OLD);
  const { status } = await world.post('/token/introspect', { token: 'x' }, null, { authorization });
  assert.equal(status, 200);
  const before = await world.storage.clients.get('stranger');
  await world.server.flush();
  const after = await world.storage.clients.get('stranger');
  assert.notEqual(after?.revision, before?.revision, 'the use is written');
  assert.equal(after?.registrationRevision, before?.registrationRevision);
});

test('a use that cannot be written fails no request, and is written after the outage', async (t) => {
  const store = new BreakableStore(MEMORY);
  const world = await openWorld(t, {}, { transport: FUNCTION, store });
  const isWritten = async () => {
    store.asked.clear();
    assert.deepEqual(await admitted(world, OLD), [true]);
    await world.server.flush();
    return store.asked.has('clients.replaceSecrets');
  };
  for (const failure of ['rejects', 'throws', 'rejects as a thenable'] as const) {
    store.break('clients.replaceSecrets', failure);
    assert.equal(await isWritten(), true, 'tried');
    assert.equal(await isWritten(), false, 'not tried again at once');
    world.clock.advance(61);
  }
  store.repair();
  assert.equal(await isWritten(), true);
  assert.equal((await storedSecrets(world))[0]?.lastUsedAtMs, world.clock.read());
});

test('a write of uses ends when all are written, even if another one begins meanwhile', async (t) => {
  const world = await openWorld(t);
  await rotate(world, 'the new one', HOUR);
  const { clients } = world.storage;
  const held = Promise.withResolvers<void>();
  const replaceSecrets: NonNullable<typeof clients.replaceSecrets> = async (id, secrets, client) => {
    const isSecond = secrets.every(({ lastUsedAtMs }) => lastUsedAtMs !== undefined);
    if (isSecond) await held.promise;
    return clients.replaceSecrets?.(id, secrets, client) ?? false;
  };
  const server = new AuthorizationServer({
    ...{ issuer: world.server.issuer, secret: SECRET, clock: world.clock.read },
    storage: { ...world.storage, clients: { ...clients, replaceSecrets } },
  });
  const host = new World({ ...world, server, transport: await FUNCTION.open(server) });
  assert.deepEqual(await admitted(host, OLD, 'the new one'), [true, true]);

  let isFirstFinished = false;
  const first = server.flush().then(() => {
    isFirstFinished = true;
  });
  const second = server.flush();
  await setTimeout(50);
  assert.equal(isFirstFinished, false);
  held.resolve();
  await Promise.all([first, second]);
  assert.ok((await storedSecrets(world)).every(({ lastUsedAtMs }) => lastUsedAtMs !== undefined));
});

test('a host that cannot replace secrets still authenticates clients', async (t) => {
  const world = await openWorld(t);
  const { replaceSecrets: _, ...clients } = world.storage.clients;
  const server = new AuthorizationServer({
    issuer: world.server.issuer,
    secret: [NEW_SECRET, SECRET],
    storage: { ...world.storage, clients },
    clock: world.clock.read,
  });
  const host = new World({ ...world, server, transport: await FUNCTION.open(server) });
  const before = await storedSecrets(world);
  assert.deepEqual(await admitted(host, OLD, 'another'), [true, false]);
  await host.server.flush();
  assert.deepEqual(await storedSecrets(world), before);
});

test('signing keys are sealed under the new server secret by the next start', async (t) => {
  const world = await openWorld(t);
  const token = (await world.post('/token', { grant_type: 'client_credentials' }, 'machine')).body;
  const { access_token: accessToken } = JSON.parse(token);
  await assert.rejects(
    (await secondServer(world, { secret: NEW_SECRET })).server.prepare(),
    /another server secret/,
  );
  await (await secondServer(world, { secret: [NEW_SECRET, SECRET] })).server.prepare();

  const changed = await secondServer(world, { secret: NEW_SECRET });
  await changed.server.prepare();
  const { secrets, lost } = await changed.server.operator.secretDependents([]);
  const keys = (await world.storage.keys.list()).map(({ kid }) => kid);
  assert.deepEqual(
    secrets.map(({ signingKeys }) => signingKeys.toSorted()),
    [keys.toSorted()],
  );
  assert.deepEqual(lost, { clients: [], signingKeys: [] });
  const stranger = await secondServer(world, {
    secret: 'a third server secret, with more than 32 characters',
  });
  const dependents = await stranger.server.operator.secretDependents([]);
  assert.deepEqual(dependents.lost.signingKeys.toSorted(), keys.toSorted());
  assert.equal((await changed.server.introspectToken(accessToken)).active, true);
});

test('the operator sees which clients depend on each secret, on an unknown one, and on a lost one', async (t) => {
  const world = await openWorld(t);
  const { secrets } = await world.server.operator.secretDependents([]);
  const fingerprint = secrets[0]?.fingerprint ?? assert.fail();
  const under = (id: string, serverSecret?: string) => ({
    ...CLIENTS.web,
    id,
    secrets: [{ hash: 'a', ...(serverSecret !== undefined && { serverSecret }) }],
  });
  const clients = [under('current', fingerprint), under('lost', 'gone'), under('unknown')];
  const dependents = await world.server.operator.secretDependents(clients);
  assert.deepEqual(
    [dependents.secrets.map((one) => one.clients), dependents.unknown.clients, dependents.lost.clients],
    [[['current']], ['unknown'], ['lost']],
  );
});
