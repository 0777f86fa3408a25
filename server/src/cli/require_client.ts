import type { ClientRecord } from '@grantd/core';
import { Refused } from '../instance/refused.ts';
import type { CommandParts } from './with_instance.ts';

/** @throws {Refused} there is no such client */
export async function requireClient({ storage }: CommandParts, id: string): Promise<ClientRecord> {
  const client = await storage.clients.get(id);
  if (!client) throw new Refused(`there is no client ${id}: grantd client list shows all.`);
  return client;
}
