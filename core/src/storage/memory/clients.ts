import type { ApiRecord, ClientRecord } from '../../protocol/records.ts';
import { originOf } from '../../protocol/redirect_uri.ts';
import { requireClientRecord } from '../client_record.ts';
import type { ClientBasis, ClientRegistry } from '../contract.ts';
import type { Principals } from './principals.ts';
import { addEvent, type MemoryHandle, principalKey, snapshot } from './tables.ts';

export function memoryClients(handle: MemoryHandle, principals: Principals): ClientRegistry {
  const { tables } = handle;
  const withGeneration = (client: ClientRecord): ClientRecord => {
    const { generation = 0, disabledAtMs } = principals.find('client', client.id) ?? {};
    return { ...client, generation, ...(disabledAtMs !== undefined && { disabledAtMs }) };
  };

  const isAsRead = (client: ClientRecord, { generation = 0, revision = 0 }: ClientBasis): boolean =>
    client.revision === revision && withGeneration(client).generation === generation;

  const enabled = (): ClientRecord[] =>
    [...tables().clients.values()].filter(
      ({ id }) => principals.find('client', id)?.disabledAtMs === undefined,
    );

  return {
    get(id) {
      const client = tables().clients.get(id);
      return client && withGeneration(client);
    },
    hasRedirectOrigin(origin) {
      return enabled().some(({ redirectUris }) => redirectUris.some((uri) => originOf(uri) === origin));
    },
    findApis({ resources, scopes }) {
      const isNamed = (api: ApiRecord) =>
        resources.includes(api.resource) || api.scopes.some((scope) => scopes.includes(scope));
      return enabled().flatMap(apiOf).filter(isNamed);
    },
    add(client, mostRegistered = Infinity) {
      requireClientRecord(client);
      const { clients, principals: generations, firstClientGeneration: generation } = tables();
      if (clients.has(client.id)) return false;
      const registered = [...clients.values()].filter((other) => other.registrationTokenDigest !== undefined);
      if (registered.length >= mostRegistered) return false;
      clients.set(client.id, snapshot({ ...client, revision: 0, registrationRevision: 0 }));
      generations.set(principalKey('client', client.id), { generation, keepUntil: Infinity });
      return true;
    },
    list() {
      const ids = [...tables().clients.values()];
      return ids.map(withGeneration).sort((one, other) => (one.id < other.id ? -1 : 1));
    },
    replaceSecrets(id, secrets, basis) {
      const client = tables().clients.get(id);
      if (client?.secrets === undefined || !isAsRead(client, basis)) return false;
      tables().clients.set(id, snapshot({ ...client, secrets, revision: after(client.revision) }));
      return true;
    },
    replace(client, basis) {
      requireClientRecord(client);
      const { clients } = tables();
      const stored = clients.get(client.id);
      if (stored === undefined || !isAsRead(stored, basis)) return false;
      const revision = after(stored.revision);
      const registrationRevision = after(stored.registrationRevision);
      clients.set(client.id, snapshot({ ...client, revision, registrationRevision }));
      return true;
    },
    remove(id) {
      const held = tables();
      const generation = principals.find('client', id)?.generation ?? 0;
      if (!held.clients.delete(id)) return false;
      held.principals.delete(principalKey('client', id));
      held.firstClientGeneration = Math.max(held.firstClientGeneration, generation + 1);
      addEvent(handle, 'client_revoked', id);
      return true;
    },
  };
}

function apiOf({ id: clientId, resource, metadata }: ClientRecord): readonly ApiRecord[] {
  return resource === undefined ? [] : [{ clientId, resource, scopes: metadata?.api_scopes ?? [] }];
}

function after(revision = 0): number {
  return revision + 1;
}
