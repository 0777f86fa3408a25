import type { NewClient } from '@grantd/core';

export type DemoClient = Omit<NewClient, 'secrets'> & { readonly secret?: string };

const PERSONAL = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];

const API = 'http://localhost:4003';

/** Their secrets are known to everyone: they exist on loopback only. */
export const DEMO_CLIENTS = {
  web: {
    id: 'demo-web',
    name: 'Demo web application',
    secret: 'demo-web-secret',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: PERSONAL,
    redirectUris: ['http://localhost:4001/callback'],
    metadata: { post_logout_redirect_uris: ['http://localhost:4001/'] },
  },
  api: {
    id: 'demo-api',
    name: 'Demo API',
    secret: 'demo-api-secret',
    grantTypes: [],
    scopes: [],
    redirectUris: [],
    resource: API,
    metadata: { api_scopes: ['api:read', 'api:write'] },
  },
  spa: {
    id: 'demo-spa',
    name: 'Demo single-page application',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: [...PERSONAL, 'api:read'],
    redirectUris: ['http://localhost:4002/callback'],
    metadata: {
      // Without it, any program on loopback could be meant, and the person is asked each time.
      application_type: 'web',
      post_logout_redirect_uris: ['http://localhost:4002/'],
      apis: [API],
    },
  },
  machine: {
    id: 'demo-machine',
    name: 'Demo machine',
    secret: 'demo-machine-secret',
    grantTypes: ['client_credentials'],
    scopes: ['api:read', 'api:write'],
    redirectUris: [],
    metadata: { apis: [API] },
  },
} satisfies Record<string, DemoClient>;
