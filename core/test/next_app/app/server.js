import { AuthorizationServer } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';

const issuer = 'https://as.example/base/auth';
const storage = memoryStorage({ issuer });

export const server = new AuthorizationServer({
  issuer,
  secret: 'a secret of the tests with more than 32 characters',
  storage,
});

await server.prepare();
await storage.clients.add({
  id: 'machine',
  secrets: [await server.operator.hashClientSecret('its secret')],
  grantTypes: ['client_credentials'],
  scopes: ['read'],
  redirectUris: [],
});
