import { mount } from '@grantd/core/h3';
import { fetching } from './fetching.ts';
import type { Transport } from './transport.ts';

/** The adapter for h3, as a middleware of an application without other paths. */
export const H3_APP: Transport = {
  name: 'the h3 adapter',
  async open(server) {
    const { H3 } = await import('h3');
    const app = new H3().use(mount(server)).all('/**', () => new Response(null, { status: 404 }));
    return fetching(server, (request) => app.fetch(request));
  },
};
