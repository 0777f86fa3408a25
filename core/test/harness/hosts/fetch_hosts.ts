import * as nextAdapter from '@grantd/core/next';
import { NextRequest } from 'next/server.js';
import { caught, type FetchHost, OWN, WEB_HOSTS } from './web_hosts.ts';

function nextRequest(request: Request): NextRequest {
  return request instanceof NextRequest ? request : new NextRequest(request);
}

/** Next.js has a file per page, and its own way to handle errors. */
const NEXT: FetchHost = {
  name: 'next',
  received: nextRequest,
  mount(server, options) {
    const handlers = new Map(Object.entries(nextAdapter.mount<NextRequest>(server, options)));
    return caught(async (request) => {
      const response = await handlers.get(request.method)?.(nextRequest(request));
      return response === undefined || response.status === 404 ? new Response(OWN) : response;
    });
  },
  handler(operation, options) {
    const POST = nextAdapter.handler<NextRequest>(operation, options);
    return caught((request) => POST(nextRequest(request)));
  },
};

export const FETCH_HOSTS: readonly FetchHost[] = [...WEB_HOSTS, NEXT];
