import { mount } from '@grantd/core/hono';
import { fetching } from './fetching.ts';
import type { Transport } from './transport.ts';

/** The adapter for Hono, as a middleware of an application without other paths. */
export const HONO: Transport = {
  name: 'the hono adapter',
  async open(server) {
    const { Hono } = await import('hono');
    const app = new Hono().use(mount(server)).notFound(() => new Response(null, { status: 404 }));
    return fetching(server, (request) => app.fetch(request));
  },
};
