import type { KeyRecord } from '../../protocol/records.ts';
import type { SigningAlgorithm } from '../../protocol/signing_algorithm.ts';
import type { KeyRepository } from '../contract.ts';
import { RETIRED_KEY_SECONDS } from '../retention.ts';
import { type MemoryHandle, snapshot } from './tables.ts';

export function memoryKeys({ tables, clock }: MemoryHandle): Required<KeyRepository> {
  const find = (algorithm: SigningAlgorithm, status: KeyRecord['status']): KeyRecord | undefined =>
    [...tables().keys.values()].find(
      ({ record }) => record.algorithm === algorithm && record.status === status,
    )?.record;

  /** Stores a key, needed as long as before at the least, and until `neededUntil` (seconds). */
  const set = (record: KeyRecord, neededUntil = 0): void => {
    const { keys } = tables();
    const before = keys.get(record.kid)?.neededUntil ?? 0;
    keys.set(record.kid, { record: snapshot(record), neededUntil: Math.max(before, neededUntil) });
  };

  return {
    get: (kid) => tables().keys.get(kid)?.record,
    list() {
      return [...tables().keys.values()]
        .map(({ record }) => record)
        .sort((one, other) => one.createdAtMs - other.createdAtMs || (one.kid < other.kid ? -1 : 1));
    },
    currentKeyId(algorithm) {
      return find(algorithm, 'current')?.kid;
    },
    initialize(keys) {
      const missing = keys.filter(({ algorithm }) => find(algorithm, 'current') === undefined);
      for (const key of missing) set(key);
    },
    rotate(currentKid, next) {
      const current = tables().keys.get(currentKid)?.record;
      if (current?.status !== 'current') return false;
      if (next.algorithm !== current.algorithm || next.status !== 'next') {
        throw new TypeError(`the key to follow ${currentKid} must be a next one for ${current.algorithm}`);
      }
      const promoted = find(current.algorithm, 'next');
      if (promoted === undefined) throw new Error(`no key is ready to follow ${currentKid}`);

      // What it has signed so far is in its neededUntil already: each issuance sees to that.
      const nowMs = clock();
      const retired = { ...current, status: 'retired', retiredAtMs: nowMs } as const;
      set(retired, Math.floor(nowMs / 1000) + RETIRED_KEY_SECONDS);
      set({ ...promoted, status: 'current' });
      set(next);
      return true;
    },
    reseal(kid, sealed, resealed) {
      const record = tables().keys.get(kid)?.record;
      if (record?.sealedPrivateKey !== sealed) return false;
      set({ ...record, sealedPrivateKey: resealed });
      return true;
    },
  };
}
