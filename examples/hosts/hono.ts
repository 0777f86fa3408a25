// Hono 4, here on Node; hono_on_workerd shows it on Cloudflare's runtime.
import { mount } from '@grantd/core/hono';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { port, server } from './authorization_server.ts';

const app = new Hono();
app.use(mount(server));
app.get('/', (context) => context.text('the application'));
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' });
