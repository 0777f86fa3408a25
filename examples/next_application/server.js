// The authorization server of the application, with a service as its client.
import { AuthorizationServer, sweep } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';

const issuer = process.env.ISSUER ?? 'http://localhost:3000';
const storage = openSqliteStorage({ path: process.env.DATABASE ?? 'tokens.db', issuer });

export const server = new AuthorizationServer({ issuer, secret: process.env.GRANTD_SECRET ?? '', storage });

await server.prepare();
setInterval(() => sweep(storage).catch(console.error), 60_000).unref(); // deletes expired rows
await storage.clients.add({
  id: 'my-service',
  secrets: [await server.operator.hashClientSecret('its secret')],
  grantTypes: ['client_credentials'],
  scopes: ['read'],
  redirectUris: [],
});
