import type { NewClient } from '@grantd/core';
import type { World } from './world.ts';

/** Registers a client of the tests anew, with all that it was and a change. */
export async function changeClient(
  { storage }: World,
  clientId: string,
  change: Partial<NewClient>,
): Promise<void> {
  const read = await storage.clients.get(clientId);
  if (!read) throw new Error(`there is no client ${clientId}`);
  const { generation: _, revision: __, disabledAtMs: ___, ...record } = read;
  if (!(await storage.clients.replace({ ...record, ...change }, read)))
    throw new Error(`${clientId} was changed in between`);
}
