import { mount } from '@grantd/core/hono';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { server } from './sqlite.ts';

const app = new Hono();
app.use(mount(server));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' });
