import { type HttpBindings, serve } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { grantd, port } from './grantd.ts';

const app = new Hono<{ Bindings: HttpBindings }>();
app.use((context, next) => {
  const { incoming, outgoing } = context.env;
  return grantd.handle(incoming, outgoing) ? Promise.resolve(RESPONSE_ALREADY_SENT) : next();
});
app.get('/', (context) => context.text('the application'));
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' });
