import type { ClientMetadata, ClientRecord } from '@grantd/core';
import { CLIENTS, type ClientId, type World } from './world.ts';

/** Adds metadata to a client of the tests. */
export async function setMetadata(
  { storage }: World,
  clientId: ClientId,
  metadata: ClientMetadata,
): Promise<void> {
  const read = await storage.clients.get(clientId);
  const secrets = read?.secrets;
  const usual: Pick<ClientRecord, 'id' | 'metadata'> = CLIENTS[clientId];
  const method = usual.metadata?.token_endpoint_auth_method;
  const changed = {
    ...CLIENTS[clientId],
    ...(secrets !== undefined && { secrets }),
    metadata: { ...(method !== undefined && { token_endpoint_auth_method: method }), ...metadata },
  };
  if (!(await storage.clients.replace(changed, read ?? {})))
    throw new Error(`there is no client ${clientId}`);
}
