import { memoryStorage } from '@grantd/core/memory';
import type { LocalStoreKind } from '../../harness/stores.ts';

export const MEMORY: LocalStoreKind = {
  name: 'memory',
  open(issuer, clock) {
    return { storage: memoryStorage({ issuer, clock }), dispose: async () => {} };
  },
};

export const STORES = [MEMORY];
