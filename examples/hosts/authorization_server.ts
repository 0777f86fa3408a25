// The authorization server that the example hosts mount, with a service and an API as clients.
import { AuthorizationServer, sweep } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';

export const port = Number(process.env.PORT ?? 3000);
export const issuer = process.env.ISSUER ?? `http://localhost:${port}`;

const storage = openSqliteStorage({ path: process.env.DATABASE ?? 'tokens.db', issuer });

export const server = new AuthorizationServer({
  issuer,
  secret: process.env.GRANTD_SECRET ?? '', // at least 32 characters, the same at every start
  storage,
});

await server.prepare(); // creates the signing keys at the first start
setInterval(() => sweep(storage).catch(console.error), 60_000).unref(); // deletes expired rows

// Has no effect if the clients are already registered.
await storage.clients.add({
  id: 'my-service',
  secrets: [await server.operator.hashClientSecret('its secret')],
  grantTypes: ['client_credentials'],
  scopes: ['read'],
  redirectUris: [],
  metadata: { apis: ['http://localhost:3001'] },
});
await storage.clients.add({
  id: 'my-api',
  secrets: [await server.operator.hashClientSecret("the API's secret")],
  grantTypes: [],
  scopes: [],
  redirectUris: [],
  resource: 'http://localhost:3001',
});
