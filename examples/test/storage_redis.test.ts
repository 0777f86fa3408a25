import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  connectRedis,
  type Redis,
  redisStorage,
  saveClient,
  setDisabled,
  signOut,
} from '../storage/redis/storage.ts';
import { type ExampleStore, testByKit } from './kit_of_store.ts';
import { REDIS_ABSENCE, type RedisServer, startRedis } from './redis_server.ts';
import { serving, testHost, testServing } from './serving.ts';

describe('Redis', { skip: REDIS_ABSENCE }, () => {
  let server: RedisServer;
  let redis: Redis;

  const store: ExampleStore = {
    empty: () => redis.flushAll(),
    async connect(clock) {
      const own = await connectRedis(server.url);
      return {
        storage: redisStorage(own, clock),
        saveClient: (client) => saveClient(own, client),
        // People are not in Redis.
        addUser: async () => {},
        end: async () => own.destroy(),
      };
    },
  };

  before(async () => {
    server = await startRedis();
    redis = await connectRedis(server.url);
  });
  after(async () => {
    redis.destroy();
    await server.stop();
  });

  testByKit('Redis', () => store);
  testServing('Redis', () => store);

  testHost('Redis', () => store, {
    setDisabled: (id, isDisabled) => setDisabled(redis, id, isDisabled),
    signOut: (id) => signOut(redis, id),
  });

  test('Redis: every token, code and grant goes by itself once nothing needs it', async () => {
    const { tokenOf, end } = await serving(store);
    await tokenOf('alice');
    const lasting = ['{grantd}:clients', '{grantd}:keys', '{grantd}:key_roles'];
    for (const name of await redis.keys('*'))
      assert.equal((await redis.expireTime(name)) === -1, lasting.includes(name), name);
    await end();
  });
});
