import type { OneTimeIdentifiers } from '../contract.ts';
import type { MemoryHandle } from './tables.ts';

export function memoryOneTimeIdentifiers({ tables, clock }: MemoryHandle): OneTimeIdentifiers {
  return {
    take(id, expiresAt) {
      const { oneTimeIdentifiers } = tables();
      const takenUntil = oneTimeIdentifiers.get(id);
      if (takenUntil !== undefined && takenUntil * 1000 > clock()) return false;
      oneTimeIdentifiers.set(id, expiresAt);
      return true;
    },
  };
}
