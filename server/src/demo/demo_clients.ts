import type { NewClient } from '@grantd/core';

type DemoClient = Omit<NewClient, 'secrets'> & { readonly secret?: string };

const PERSONAL = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];

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
    resource: 'http://localhost:4003',
  },
  spa: {
    id: 'demo-spa',
    name: 'Demo single-page application',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: PERSONAL,
    redirectUris: ['http://localhost:4002/callback'],
    // A page that is being developed: without it, whatever listens on loopback could be meant, and is always asked about.
    metadata: { application_type: 'web' },
  },
  machine: {
    id: 'demo-machine',
    name: 'Demo machine',
    secret: 'demo-machine-secret',
    grantTypes: ['client_credentials'],
    scopes: ['api:read', 'api:write'],
    redirectUris: [],
  },
} satisfies Record<string, DemoClient>;
