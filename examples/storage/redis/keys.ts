import type { KeyRecord, KeyRepository } from '@grantd/core';
import type { Redis } from './storage.ts';

type StoredKey = Omit<KeyRecord, 'status' | 'retiredAtMs'>;

/** The keys that sign; a host that signs elsewhere gives the server a `JwtService`, and needs none of this. */
export function redisKeys(
  redis: Redis,
  run: (name: string, argument: object) => Promise<unknown>,
): KeyRepository {
  const list = async (): Promise<readonly KeyRecord[]> => {
    const all = redis.multi().hGetAll('{grantd}:keys').hGetAll('{grantd}:key_roles');
    const [keys, roles, retired] = await all.hGetAll('{grantd}:retired_keys').exec<'typed'>();
    return Object.values(keys)
      .map((text): KeyRecord => {
        const key: StoredKey = JSON.parse(text);
        const retiredAt = retired[key.kid];
        if (retiredAt !== undefined) return { ...key, status: 'retired', retiredAtMs: Number(retiredAt) };
        const isCurrent = roles[`current ${key.algorithm}`] === key.kid;
        return { ...key, status: isCurrent ? 'current' : 'next' };
      })
      .sort((one, other) => one.createdAtMs - other.createdAtMs || (one.kid < other.kid ? -1 : 1));
  };

  return {
    list,
    get: async (kid) => (await list()).find((key) => key.kid === kid),
    currentKeyId: (algorithm) => redis.hGet('{grantd}:key_roles', `current ${algorithm}`),
    async initialize(keys) {
      await run('initializeKeys', { keys: keys.map(rowOf) });
    },
    rotate: async (currentKid, next) => (await run('rotateKey', { currentKid, next: rowOf(next) })) === 1,
  };
}

function rowOf({ status, retiredAtMs: _, ...key }: KeyRecord) {
  return { kid: key.kid, algorithm: key.algorithm, status, record: JSON.stringify(key) };
}
