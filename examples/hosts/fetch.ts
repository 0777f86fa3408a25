// A handler from Request to Response, for Bun.serve, Deno.serve or a Worker; here on Node.
import { mount } from '@grantd/core/fetch';
import { serve } from '@hono/node-server';
import { port, server } from './authorization_server.ts';

const endpoints = mount(server);
serve({
  port,
  hostname: '127.0.0.1',
  fetch: (request) => {
    if (new URL(request.url).pathname === '/') return new Response('the application');
    return endpoints(request);
  },
});
