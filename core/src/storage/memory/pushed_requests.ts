import type { PushedRequestRepository } from '../contract.ts';
import { type MemoryHandle, snapshot } from './tables.ts';

export function memoryPushedRequests({ tables }: MemoryHandle): PushedRequestRepository {
  return {
    add(request) {
      const { pushedRequests } = tables();
      if (pushedRequests.has(request.id)) throw new Error('a request with this identifier is stored already');
      pushedRequests.set(request.id, snapshot(request));
    },
    get(id) {
      return tables().pushedRequests.get(id);
    },
    remove(id) {
      tables().pushedRequests.delete(id);
    },
  };
}
