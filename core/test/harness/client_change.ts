import type { NewClient } from '@grantd/core';
import type { World } from './world.ts';

/** A write behind an answer, such as the last use of a secret, can come in between. */
const MOST_ATTEMPTS = 5;

/** Registers a client of the tests anew, with all that it was and a change. */
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
