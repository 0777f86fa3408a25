/* A host that keeps a table of its own in the store's file, by `bun:sqlite`. */
import { Database } from 'bun:sqlite';
import { openSqliteStorage } from '@grantd/core/sqlite';

const path = 'together.db';
const storage = openSqliteStorage({ path, issuer: 'https://as.example' });
const own = new Database(path);
own.run('PRAGMA busy_timeout = 2000');
own.run('CREATE TABLE host_users (id TEXT PRIMARY KEY) STRICT');
own.run(`INSERT INTO host_users VALUES ('alice')`);
await storage.clients.add({ id: 'web', grantTypes: [], scopes: [], redirectUris: [] });
own.run(`INSERT INTO host_users VALUES ('bob')`);
const users = own.query('SELECT id FROM host_users ORDER BY id').all();
const client = await storage.clients.get('web');
own.close();
await storage.close();
console.log(`the bundle says: ${JSON.stringify({ users, client: client?.id })}`);
