import type { KeyRecord, KeyRepository } from '@grantd/core';

type StoredKey = Omit<KeyRecord, 'status' | 'retiredAtMs'>;

/** The signing keys. A host that signs elsewhere passes a `JwtService` to the server instead. */
export function redisKeys(run: (name: string, argument: object) => Promise<unknown>): KeyRepository {
  const list = async (): Promise<readonly KeyRecord[]> => {
    const rows = (await run('listKeys', {})) as readonly string[];
    return rows
      .map((row): KeyRecord => {
        const { record, status, retiredAtMs } = JSON.parse(row);
        const key: StoredKey = JSON.parse(record);
        return { ...key, status, ...(retiredAtMs && { retiredAtMs: Number(retiredAtMs) }) };
      })
      .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.kid < b.kid ? -1 : 1));
  };

  return {
    list,
    get: async (kid) => (await list()).find((key) => key.kid === kid),
    currentKeyId: async (algorithm) => (await run('currentKey', { algorithm })) as string | null,
    async initialize(keys) {
      await run('initializeKeys', { keys: keys.map(rowOf) });
    },
    rotate: async (currentKid, next) => (await run('rotateKey', { currentKid, next: rowOf(next) })) === 1,
  };
}

function rowOf({ status, retiredAtMs: _, ...key }: KeyRecord) {
  return { kid: key.kid, algorithm: key.algorithm, status, record: JSON.stringify(key) };
}
