import { join } from 'node:path';
import type { NewClient } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import type { RunningServer } from './program.ts';

/** Registers a client past the program, which sees it at once: with any setting that the library knows. */
export async function addClient({ folder, url }: RunningServer, client: NewClient): Promise<void> {
  const storage = openSqliteStorage({ path: join(folder, 'grantd-data', 'grantd.db'), issuer: url });
  try {
    await storage.clients.add(client);
  } finally {
    await storage.close();
  }
}
