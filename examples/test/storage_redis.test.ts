import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient } from 'redis';
import { removeClient, saveClient, setDisabled, signOut } from '../storage/redis/clients_and_people.ts';
import { connectRedis, type Redis, type RedisOptions } from '../storage/redis/connection.ts';
import { redisStorage } from '../storage/redis/storage.ts';
import { testConcurrency } from './concurrency_of_store.ts';
import { type ExampleStore, testByKit } from './kit_of_store.ts';
import { pairIn, pairOf } from './pairs.ts';
import { REDIS_ABSENCE, type RedisServer, startRedis } from './redis_server.ts';
import { type Host, serving, stocked, testHost, testServing } from './serving.ts';

describe('Redis', { skip: REDIS_ABSENCE }, () => {
  let server: RedisServer;
  let redis: Redis;
  const openClient = () => createClient({ url: server.url });
  /** For commands that are not operations of the store. */
  let client: ReturnType<typeof openClient>;
  /** Closes everything that a test leaves open. */
  const opened: Redis[] = [];
  const open = async (options: RedisOptions) => {
    const own = await connectRedis(server.url, options);
    opened.push(own);
    return own;
  };
  // Longer than the defaults, because other test files keep the machine busy.
  const PATIENT = { connectMs: 20_000, answerMs: 20_000 };

  const store: ExampleStore = {
    empty: () => client.flushAll(),
    async connect(clock) {
      const own = await open(PATIENT);
      return {
        storage: redisStorage(own, clock),
        saveClient: (record) => saveClient(own, record),
        // Users are not in Redis.
        addUser: async () => {},
        end: async () => own.end(),
      };
    },
  };

  before(async () => {
    server = await startRedis();
    redis = await open(PATIENT);
    client = openClient();
    await client.connect();
  });
  after(async () => {
    for (const own of opened) own.end();
    client.destroy();
    await server.stop();
  });

  testByKit('Redis', () => store);
  testServing('Redis', () => store);

  const host: Host = {
    setDisabled: (id, isDisabled) => setDisabled(redis, id, isDisabled),
    signOut: (id) => signOut(redis, id),
    removeClient: (id) => removeClient(redis, id),
  };
  testHost('Redis', () => store, host);
  testConcurrency('Redis', () => store, host);

  test('Redis: every token, code and grant goes by itself once nothing needs it', async () => {
    const { tokenOf, end } = await serving(store);
    await tokenOf('alice');
    const lasting = ['clients', 'origins_of_clients', 'clients_of_origin:https://app.example', 'keys'];
    const names = [...lasting, 'key_roles'].map((name) => `{grantd}:${name}`);
    for (const name of await client.keys('*'))
      assert.equal((await client.expireTime(name)) === -1, names.includes(name), name);
    await end();
  });

  test('Redis: the identifier of a client that was removed is not given again', async () => {
    const { saveClient: save, storage, end } = await stocked(store);
    const found = await storage.clients.get('app');
    assert.ok(found);
    await removeClient(redis, 'app');
    await assert.rejects(async () => save(found), /REMOVED/);
    await end();
  });

  test('Redis: a one-time identifier is kept beyond its expiry, as clocks differ', async () => {
    const { storage, end } = await stocked(store);
    const until = Math.floor(Date.now() / 1000) - 60;
    // For a caller whose clock is behind, it has not expired yet.
    const behind = redisStorage(redis, () => (until - 60) * 1000);
    assert.equal(await storage.oneTimeIdentifiers?.take('one', until), true);
    assert.equal(await behind.oneTimeIdentifiers.take('one', until), false);
    await end();
  });

  test('Redis: a server that stops answering is an outage within the bound, for each operation, until it answers again', {
    timeout: 30_000,
  }, async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    await stocked(store).then(({ end }) => end());
    const own = await open({ connectMs: 500, answerMs: 300, onError });
    const { tokens, clients, authorizationCodes, keys, ...storage } = redisStorage(own);
    const { refresh, access } = pairOf('alice');
    assert.equal(await tokens.issue([refresh, access], {}), 'issued');
    const next = pairIn(refresh);
    const asked: readonly (() => unknown)[] = [
      () => tokens.getByAccessToken(access.id),
      () => tokens.isRefreshTokenRevoked(refresh),
      () => tokens.rotate(refresh, next.refresh, [next.refresh, next.access]),
      () => tokens.revoke(access),
      () => tokens.revoke(refresh),
      () => clients.get('app'),
      () => clients.hasRedirectOrigin('https://app.example'),
      () => authorizationCodes.get('unknown'),
      () => keys.list(),
      () => keys.currentKeyId('RS256'),
      () => storage.oneTimeIdentifiers.take('one', refresh.expiresAt),
      () => storage.pending.get('pushed_request', 'one'),
    ];
    server.pause();
    try {
      const begun = performance.now();
      // All at once, and again when it is known that the server does not respond.
      for (let times = 0; times < 2; times++) {
        const outcomes = await Promise.allSettled(asked.map(async (ask) => ask()));
        assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(['rejected']));
      }
      await assert.rejects(connectRedis(server.url, { connectMs: 300, onError }), /within 300 ms/);
      const ms = performance.now() - begun;
      assert.ok(ms < 5000, `${ms} ms`);
    } finally {
      server.resume();
    }
    const record = await answered(async () => clients.get('app'));
    assert.equal(record?.id, 'app');
    own.end();
  });
});

/** The result when there is a connection again, within 10 seconds. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
