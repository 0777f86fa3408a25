// A Hono application on Cloudflare's runtime, without Node's modules. It keeps tokens in memory only: to keep them
// longer, implement the storage contract over storage that your Workers share.
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
    secrets: [await server.operator.hashClientSecret('its secret')],
    grantTypes: ['client_credentials'],
    scopes: ['read'],
    redirectUris: [],
  });
  return mount(server);
}

const app = new Hono<{ Bindings: Bindings }>();

// A Worker gets its bindings, and may create keys, with the first request. After a failure the next request retries.
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
