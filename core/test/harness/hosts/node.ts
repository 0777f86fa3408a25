import { createServer, type RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { handler, mount, sendResponse, toHttpRequest } from '@grantd/core/node';
import { notFound, portOf } from '../transports/listener.ts';
import { HANDLED, type Host, optionsOf, ownAnswer } from './host.ts';

/** Without a framework: errors go to the last argument. */
export const NODE_HOST: Host = {
  name: 'node:http',
  open(t, plan) {
    const { server, operation, below = '', onError } = plan;
    const endpoints = operation ? handler(operation, optionsOf(plan)) : mount(server, optionsOf(plan));
    return listen(t, async (request, response) => {
      const handle = (error: unknown) => {
        if (error === undefined) return notFound(request, response);
        onError?.(error);
        response.writeHead(HANDLED.status).end(HANDLED.body);
      };
      try {
        if (request.url?.startsWith(`${below}/own`)) {
          return sendResponse(request, response, ownAnswer(await toHttpRequest(request)));
        }
        const paths = [request.url ?? '', `${plan.strippedPath ?? ''}${request.url}`];
        if (operation === undefined && paths.some((path) => server.serves(path))) {
          return await endpoints(request, response, handle);
        }
        if (request.url === `${below}/operation`) return await endpoints(request, response, handle);
        notFound(request, response);
      } catch (error) {
        handle(error);
      }
    });
  },
};

/** A listener on loopback that goes away with the test. */
export async function listen(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return portOf(server);
}
