// A Hono application on Cloudflare's runtime, with nothing of Node. Tokens live in the Worker's memory here, and as long
// as it: for more, implement the storage contract over what your Workers share.
import { AuthorizationServer } from '@grantd/core';
import { mount } from '@grantd/core/hono';
import { memoryStorage } from '@grantd/core/memory';
import { Hono } from 'hono';

interface Bindings {
  readonly ISSUER: string;
  readonly GRANTD_SECRET: string;
}

/** A Worker knows its bindings, and may make keys, once a request has come. */
let opened: Promise<AuthorizationServer> | undefined;

async function open({ ISSUER: issuer, GRANTD_SECRET: secret }: Bindings): Promise<AuthorizationServer> {
  const storage = memoryStorage({ issuer });
  const server = new AuthorizationServer({ issuer, secret, storage });
  await server.prepare();
  await storage.clients.add({
    id: 'my-service',
    secretHash: await server.hashClientSecret('its secret'),
    grantTypes: ['client_credentials'],
    scopes: ['read'],
    redirectUris: [],
  });
  return server;
}

const app = new Hono<{ Bindings: Bindings }>();
app.use(async (context, next) => {
  opened ??= open(context.env);
  return mount(await opened)(context, next);
});
app.get('/', (context) => context.text('the application'));

export default app;
