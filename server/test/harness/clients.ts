import { join } from 'node:path';
import type { NewClient } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import type { RunningServer } from './program.ts';

/**
 * Registers a client directly in the database, with any setting of the library. Without a secret or method it is
 * public. The program sees it at once.
 */
export async function addClient({ folder, url }: RunningServer, client: NewClient): Promise<void> {
  const storage = openSqliteStorage({ path: join(folder, 'grantd-data', 'grantd.db'), issuer: url });
  try {
    const isPublic =
      client.secrets === undefined && client.metadata?.token_endpoint_auth_method === undefined;
    const metadata = { ...client.metadata, token_endpoint_auth_method: 'none' as const };
    await storage.clients.add(isPublic ? { ...client, metadata } : client);
  } finally {
    await storage.close();
  }
}
