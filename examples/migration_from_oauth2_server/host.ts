// The host after the move: the same tables and tokens, with grantd's endpoints.
import { createServer } from 'node:http';
import { AuthorizationServer, jwtVerifier, previousServer } from '@grantd/core';
import { mount } from '@grantd/core/node';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { jmondi } from '../coming_from/jmondi.ts';
import { newClient } from './old_clients.ts';
import { oldRepositories } from './old_repositories.ts';
import { openTables } from './old_tables.ts';

const { PORT = '3000', ISSUER: issuer = `http://localhost:${PORT}`, GRANTD_SECRET = '' } = process.env;
const { DATABASE = 'grantd.db', OLD_DATABASE = 'host.db', OLD_SECRET = '', IMPORT_CLIENTS } = process.env;

const old = openTables(OLD_DATABASE);
const { clients, users } = oldRepositories(old);
const storage = openSqliteStorage({ path: DATABASE, issuer });
const server = new AuthorizationServer({
  ...{ issuer, secret: GRANTD_SECRET, storage },
  oidc: { getUserClaims: users.find },
  getSubjectState: (id) => (users.find(id)?.disabled === 0 ? 'active' : 'disabled'),
  previousServer: previousServer({
    jwtService: jwtVerifier([{ algorithm: 'HS256', secret: OLD_SECRET }]),
    tokens: jmondi(old.database).tokens,
  }),
});
await server.prepare();
const imported = IMPORT_CLIENTS === 'yes' ? clients.all() : []; // at the first start
for (const client of imported) await storage.clients.add(await newClient(server, client));
createServer(mount(server)).listen(Number(PORT), '127.0.0.1');
