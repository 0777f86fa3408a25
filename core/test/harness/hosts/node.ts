import { createServer, type RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { handler, mount, sendResponse, toHttpRequest } from '@grantd/core/node';
import { notFound, portOf } from '../transports/listener.ts';
import { HANDLED, type Host, optionsOf, ownAnswer } from './host.ts';

/** Without a framework: the endpoints come first, errors and all other requests go to their last argument. */
export const NODE_HOST: Host = {
  name: 'node:http',
  open(t, plan) {
    const { server, operation, below = '', onError } = plan;
    const endpoints = operation ? handler(operation, optionsOf(plan)) : mount(server, optionsOf(plan));
    const ownPages: RequestListener = async (request, response) => {
      if (!request.url?.startsWith(`${below}/own`)) return notFound(request, response);
      sendResponse(request, response, ownAnswer(await toHttpRequest(request)));
    };
    return listen(t, (request, response) => {
      const next = (error?: unknown) => {
        if (error === undefined) return ownPages(request, response);
        onError?.(error);
        response.writeHead(HANDLED.status).end(HANDLED.body);
      };
      if (operation && request.url !== `${below}/operation`) return next();
      return endpoints(request, response, next);
    });
  },
};

/** A listener on loopback that ends with the test. */
export async function listen(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return portOf(server);
}
