import type { ClientMetadata } from '@grantd/core';
import { CLIENTS, type ClientId, type World } from './world.ts';

/** Gives a client of the tests more metadata; everything else of it stays. */
export async function setMetadata(
  { storage }: World,
  clientId: ClientId,
  metadata: ClientMetadata,
): Promise<void> {
  const { secretHash } = (await storage.clients.get(clientId)) ?? {};
  const isReplaced = await storage.clients.replace({
    ...CLIENTS[clientId],
    ...(secretHash !== undefined && { secretHash }),
    metadata,
  });
  if (!isReplaced) throw new Error(`there is no client ${clientId}`);
}
