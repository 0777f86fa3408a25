import type { NewClient } from '@grantd/core';
import type { World } from './world.ts';

/** A write after a response, such as the last use of a secret, can happen in between. */
const MOST_ATTEMPTS = 5;

/** Registers a client of the tests again with a change. */
export async function changeClient(
  { storage }: World,
  clientId: string,
  change: Partial<NewClient>,
): Promise<void> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const read = await storage.clients.get(clientId);
    if (!read) throw new Error(`there is no client ${clientId}`);
    const { generation: _, revision: __, disabledAtMs: ___, ...record } = read;
    if (await storage.clients.replace({ ...record, ...change }, read)) return;
  }
  throw new Error(`${clientId} was changed in between, each time`);
}
