import { mount } from '@grantd/core/next';
import type { NextRequest } from 'next/server.js';
import { fetching } from './fetching.ts';
import type { Transport } from './transport.ts';

/** The route handlers for Next.js, called with its requests like a catch-all route at the root. */
export const NEXT: Transport = {
  name: 'the next adapter',
  async open(server) {
    const next = await import('next/server.js');
    const handlers = new Map(Object.entries(mount<NextRequest>(server)));
    return fetching(server, (request) => {
      const handler = handlers.get(request.method);
      // Next.js responds to methods that a route does not export.
      return handler?.(new next.NextRequest(request)) ?? new Response(null, { status: 405 });
    });
  },
};
