// The host after the move: the same tables, grantd's endpoints, and the tokens of before.
//   GRANTD_SECRET=… OLD_SECRET=… IMPORT_CLIENTS=yes node examples/migration_from_oauth2_server/host.ts
import { createServer } from 'node:http';
import { mount } from '@grantd/core/node';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { importClients } from './import_clients.ts';
import { newServer } from './new_server.ts';
import { oldRepositories } from './old_repositories.ts';
import { openTables } from './old_tables.ts';

const port = Number(process.env.PORT ?? 3000);
const issuer = process.env.ISSUER ?? `http://localhost:${port}`;
const { GRANTD_SECRET = '', DATABASE = 'grantd.db' } = process.env;
const { OLD_SECRET = '', OLD_DATABASE = 'host.db', IMPORT_CLIENTS } = process.env; // the clients at the first start only
if (OLD_SECRET === '') throw new Error('OLD_SECRET must be the secret that the old server signed with');

const old = oldRepositories(openTables(OLD_DATABASE));
const storage = openSqliteStorage({ path: DATABASE, issuer });
const key = new TextEncoder().encode(OLD_SECRET);
const server = await newServer(issuer, GRANTD_SECRET, storage, old, { algorithm: 'HS256', key });
if (IMPORT_CLIENTS === 'yes') await importClients(storage, server, old.clients);

createServer(mount(server)).listen(port);
