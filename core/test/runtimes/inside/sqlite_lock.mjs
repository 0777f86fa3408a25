/* Writes through the package while another connection holds the file's one lock for writes. */
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStorage } from '@grantd/core/sqlite';

const path = 'locked.db';
const storage = openSqliteStorage({ path, issuer: 'https://as.example', busyTimeoutMs: 400 });
const other = new DatabaseSync(path);

async function writeWhileLocked(id, lockedForMs) {
  other.exec('BEGIN IMMEDIATE');
  const released = new Promise((resolve) => setTimeout(resolve, lockedForMs)).then(() =>
    other.exec('COMMIT'),
  );
  const client = { id, grantTypes: [], scopes: [], redirectUris: [] };
  const outcome = await storage.clients.add(client).then(
    () => 'written',
    () => 'refused',
  );
  await released;
  return outcome;
}

const short = await writeWhileLocked('one', 50);
const long = await writeWhileLocked('other', 2000);
other.close();
await storage.close();
console.log(`the bundle says: ${JSON.stringify({ short, long })}`);
