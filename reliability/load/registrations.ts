import { type AuthorizationServer, type ClientRegistry, EXCHANGE_GRANT, type NewClient } from '@grantd/core';

const SCOPES = ['openid', 'profile', 'read'];

/** The clients of every load. Their secrets are `secretOf(id)`. */
export const CLIENTS = {
  opaque: machine('machine-opaque', 'opaque'),
  jwt: machine('machine-jwt', 'jwt'),
  web: {
    id: 'web',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: SCOPES,
    redirectUris: ['https://web.example/callback'],
    accessTokenFormat: 'opaque',
  },
  service: service('service', 'opaque'),
  otherService: service('other-service', 'jwt'),
  api: { id: 'api', grantTypes: [], scopes: [], redirectUris: [], resource: 'https://api.example' },
} as const satisfies Record<string, NewClient>;

export function secretOf(clientId: string): string {
  return `secret-of-${clientId}`;
}

/** A client that exchanges tokens of the application and of the services. */
function service(id: string, accessTokenFormat: 'opaque' | 'jwt') {
  return {
    ...{ id, accessTokenFormat, grantTypes: [EXCHANGE_GRANT], scopes: ['read'], redirectUris: [] },
    metadata: { exchange_tokens_of: ['web', 'service', 'other-service'] },
  } satisfies NewClient;
}

/** A client with the grant `client_credentials`. */
export function machine(id: string, accessTokenFormat: 'opaque' | 'jwt') {
  return {
    id,
    grantTypes: ['client_credentials'],
    scopes: ['read'],
    redirectUris: [],
    accessTokenFormat,
  } as const satisfies NewClient;
}

export async function register(
  server: AuthorizationServer,
  clients: ClientRegistry,
  client: NewClient,
): Promise<void> {
  await clients.add({ ...client, secrets: [await server.operator.hashClientSecret(secretOf(client.id))] });
}
