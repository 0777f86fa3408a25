import type { ClientRecord } from '../../protocol/records.ts';
import { originOf } from '../../protocol/redirect_uri.ts';
import type { ClientRegistry } from '../contract.ts';
import type { Principals } from './principals.ts';
import { type MemoryHandle, principalKey, snapshot } from './tables.ts';

export function memoryClients({ tables }: MemoryHandle, principals: Principals): ClientRegistry {
  const withGeneration = (client: ClientRecord): ClientRecord => {
    const { generation = 0, disabledAtMs } = principals.find('client', client.id) ?? {};
    return { ...client, generation, ...(disabledAtMs !== undefined && { disabledAtMs }) };
  };

  return {
    get(id) {
      const client = tables().clients.get(id);
      return client && withGeneration(client);
    },
    hasRedirectOrigin(origin) {
      return [...tables().clients.values()].some(
        ({ id, redirectUris }) =>
          principals.find('client', id)?.disabledAtMs === undefined &&
          redirectUris.some((uri) => originOf(uri) === origin),
      );
    },
    add(client) {
      const { clients, principals: generations } = tables();
      if (clients.has(client.id)) return false;
      clients.set(client.id, snapshot(client));
      generations.set(principalKey('client', client.id), { generation: 0, keepUntil: Infinity });
      return true;
    },
    list() {
      const ids = [...tables().clients.values()];
      return ids.map(withGeneration).sort((one, other) => (one.id < other.id ? -1 : 1));
    },
    replaceSecretHash(id, secretHash) {
      const client = tables().clients.get(id);
      if (client?.secretHash === undefined) return false;
      tables().clients.set(id, { ...client, secretHash });
      return true;
    },
  };
}
