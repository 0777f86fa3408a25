// A Hono application on Cloudflare's runtime, with nothing of Node. Its tokens are in its memory, and gone with it: for
// more, implement the storage contract over what your Workers share.
import { AuthorizationServer } from '@grantd/core';
import { mount } from '@grantd/core/hono';
import { memoryStorage } from '@grantd/core/memory';
import { Hono } from 'hono';

interface Bindings {
  readonly ISSUER: string;
  readonly GRANTD_SECRET: string;
}

async function opened({ ISSUER: issuer, GRANTD_SECRET: secret }: Bindings) {
  const storage = memoryStorage({ issuer });
  const server = new AuthorizationServer({ issuer, secret, storage });
  await server.prepare();
  await storage.clients.add({
    id: 'my-service',
    secrets: [await server.hashClientSecret('its secret')],
    grantTypes: ['client_credentials'],
    scopes: ['read'],
    redirectUris: [],
  });
  return mount(server);
}

const app = new Hono<{ Bindings: Bindings }>();

// A Worker has its bindings, and may make keys, once a request has come. What failed is tried again by the next one.
let endpoints: ReturnType<typeof opened> | undefined;
app.use(async (context, next) => {
  endpoints ??= opened(context.env).catch((error) => {
    endpoints = undefined;
    throw error;
  });
  return (await endpoints)(context, next);
});
app.get('/', (context) => context.text('the application'));

export default app;
