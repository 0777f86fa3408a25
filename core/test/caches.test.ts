import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import {
  AuthorizationServer,
  type AuthorizingStorage,
  type FetchDocument,
  type KeyRecord,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { SigningKeys, StoredKeysJwtService } from '../src/tokens/jwt_service.ts';
import { ServerSecret } from '../src/tokens/server_secret.ts';
import { asParameters, assertionOf, clientKey } from './harness/client_keys.ts';
import { INACTIVE } from './harness/responses.ts';
import { faultBy } from './harness/storage_fault.ts';
import { SQLITE } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import { CLIENTS, ISSUER, openWorld, SECRET } from './harness/world.ts';

/** Counts calls of a function of `node:crypto` until the test ends. */
function countCalls(t: TestContext, name: 'verify' | 'createHmac' | 'createPublicKey'): () => number {
  const counting = t.mock.method(crypto, name);
  syncBuiltinESMExports();
  t.after(() => {
    counting.mock.restore();
    syncBuiltinESMExports();
  });
  return () => counting.mock.callCount();
}

/** Counts the rows that SQLite looks up in a table until the test ends. */
function countLookUps(t: TestContext, table: string): () => number {
  const original = StatementSync.prototype.get;
  let count = 0;
  t.mock.method(StatementSync.prototype, 'get', function (this: StatementSync, ...args: unknown[]) {
    if (this.sourceSQL.includes(`FROM ${table}`)) count += 1;
    return Reflect.apply(original, this, args);
  });
  return () => count;
}

function jwtService(cachedTokens: number, keys = memoryStorage().keys): StoredKeysJwtService {
  return new StoredKeysJwtService(
    new SigningKeys(keys, new ServerSecret(SECRET), Date.now, []),
    cachedTokens,
  );
}

test('no more verified JWTs are cached than cachedTokens, and with 0 none', async (t) => {
  const checks = countCalls(t, 'verify');
  for (const cachedTokens of [0, 1, 40]) {
    const jwt = jwtService(cachedTokens);
    const tokens = [];
    for (let index = 0; index < 120; index++)
      tokens.push((await jwt.sign({ sub: `${index}` }, { type: 'at+jwt', algorithm: 'ES256' })).token);
    const checksOf = async (token: string) => {
      const before = checks();
      assert.equal((await jwt.verify(token)).verified, true);
      return checks() - before;
    };
    for (const token of tokens) assert.equal(await checksOf(token), 1);
    let cached = 0;
    for (const token of tokens.toReversed()) cached += 1 - (await checksOf(token));
    assert.ok(cached >= Math.floor(cachedTokens / 2) && cached <= cachedTokens, `${cached}`);
  }
});

test('the option cachedTokens reaches the cache of the storage', async () => {
  const limits: number[] = [];
  const storage: AuthorizingStorage = {
    ...memoryStorage(),
    cache: { limitTokens: (most) => limits.push(most), forgetCached() {} },
  };
  const options = { issuer: ISSUER, secret: SECRET, storage };
  new AuthorizationServer(options);
  new AuthorizationServer({ ...options, cachedTokens: 0 });
  assert.deepEqual(limits, [200_000, 0]);
});

for (const [cachedTokens, expected, name] of [
  [0, 2, 'with cachedTokens 0, each introspection reads the token and checks its signature'],
  [1000, 1, 'with cachedTokens 1000, only the first introspection of a token does'],
] as const)
  test(name, async (t) => {
    const world = await openWorld(t, { cachedTokens }, { transport: FUNCTION, store: SQLITE });
    const token = await world.machineToken();
    world.server.operator.forgetCached(); // the limits stay
    const counts = [countLookUps(t, 'tokens'), countCalls(t, 'verify')];
    for (const _ of ['first', 'second'])
      assert.equal(JSON.parse((await world.introspect(token)).body).active, true);
    assert.deepEqual(
      counts.map((count) => count()),
      [expected, expected],
    );
  });

test('operator.forgetCached empties every cache, each of which fills again', async (t) => {
  const uri = 'https://signer.example/jwks';
  let fetches = 0;
  const fetchDocument: FetchDocument = async () => {
    fetches += 1;
    const { publicJwk } = await clientKey('ES256');
    return { status: 200, contentType: 'application/json', body: JSON.stringify({ keys: [publicJwk] }) };
  };
  const world = await openWorld(t, { fetchDocument }, { transport: FUNCTION, store: SQLITE });
  await world.storage.clients.add({
    ...CLIENTS.machine,
    id: 'signer',
    metadata: { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: uri },
  });
  const token = await world.machineToken();
  const counts = {
    signatures: countCalls(t, 'verify'),
    importedKeys: countCalls(t, 'createPublicKey'),
    secrets: countCalls(t, 'createHmac'),
    tokenRows: countLookUps(t, 'tokens'),
    clientRows: countLookUps(t, 'clients'),
    keyRows: countLookUps(t, 'signing_keys'),
    clientKeySets: () => fetches,
  };
  const read = () => Object.entries(counts).map(([name, count]) => [name, count()] as const);

  /** What two introspections cost: as a client with a secret, and with keys at a URL. */
  const costs = async (): Promise<Readonly<Record<string, number>>> => {
    const before = new Map(read());
    assert.equal(JSON.parse((await world.introspect(token)).body).active, true);
    const assertion = asParameters(await assertionOf(world, 'signer', 'ES256'));
    const response = await world.post('/token/introspect', { token, ...assertion });
    assert.equal(JSON.parse(response.body).active, true);
    return Object.fromEntries(read().map(([name, count]) => [name, count - (before.get(name) ?? 0)]));
  };

  await costs();
  // The assertion writes its identifier, and a commit ends the cache of clients.
  const { clientRows, ...warm } = await costs();
  assert.deepEqual(new Set(Object.values(warm)), new Set([0]), JSON.stringify(warm));
  await world.server.operator.forgetCached();
  const { clientRows: _, ...cold } = await costs();
  assert.ok(
    Object.values(cold).every((count) => count > 0),
    JSON.stringify(cold),
  );
  assert.ok(clientRows !== undefined);
  const { clientRows: __, ...again } = await costs();
  assert.deepEqual(again, warm);
});

test('operator.forgetCached empties the cache of clients', async (t) => {
  const world = await openWorld(t, {}, { transport: FUNCTION, store: SQLITE });
  const lookUps = countLookUps(t, 'clients');
  await world.introspect('unknown');
  await world.introspect('unknown');
  assert.equal(lookUps(), 1);
  await world.server.operator.forgetCached();
  await world.introspect('unknown');
  assert.equal(lookUps(), 2);
});

test('operator.forgetCached: a signing key that was deleted by hand verifies nothing any more, whatever was under way', async () => {
  const { keys } = memoryStorage();
  const { token } = await jwtService(100, keys).sign(
    { sub: 'alice' },
    { type: 'at+jwt', algorithm: 'ES256' },
  );
  let isDeleted = false;
  let gate: Promise<unknown> = Promise.resolve();
  const jwt = jwtService(100, {
    ...keys,
    async get(kid): Promise<KeyRecord | undefined> {
      const found = isDeleted ? undefined : await keys.get(kid);
      await gate;
      return found ?? undefined;
    },
  });
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  const underWay = jwt.verify(token);
  await new Promise((resolve) => setImmediate(resolve));
  isDeleted = true;
  jwt.forgetCached();
  opened.resolve();
  assert.equal((await underWay).verified, true);
  assert.deepEqual(await jwt.verify(token), { verified: false, reason: 'unknown_key' });
});

test('operator.forgetCached revives nothing: a revoked token stays dead', async (t) => {
  const world = await openWorld(t, {}, { transport: FUNCTION, store: SQLITE });
  const { access_token } = await world.grant();
  assert.deepEqual(await world.alive(access_token), [true]);
  await world.revoke(access_token);
  assert.deepEqual(await world.introspect(access_token), INACTIVE);
  await world.server.operator.forgetCached();
  assert.deepEqual(await world.introspect(access_token), INACTIVE);
});

test('operator.forgetCached rejects with a StorageFault if the storage cannot empty its caches', async () => {
  const storage: AuthorizingStorage = {
    ...memoryStorage(),
    cache: { limitTokens() {}, forgetCached: () => Promise.reject(new Error('no connection')) },
  };
  const server = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage });
  await assert.rejects(server.operator.forgetCached(), faultBy(/no connection/));
});
