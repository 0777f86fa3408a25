import formbody from '@fastify/formbody';
import { handler, mount, sendResponse, toHttpRequest } from '@grantd/core/fastify';
import Fastify from 'fastify';
import { portOf } from '../transports/listener.ts';
import { HANDLED, type Host, optionsOf, ownAnswer } from './host.ts';

export const FASTIFY_HOST: Host = {
  name: 'Fastify 5',
  async open(t, plan) {
    const { operation, onError, below: prefix = '' } = plan;
    const app = Fastify();
    app.setErrorHandler((error, _request, reply) => {
      onError?.(error);
      reply.code(HANDLED.status).send(HANDLED.body);
    });
    await app.register(
      async (scope) => {
        if (plan.parsesForms) await scope.register(formbody);
        else {
          const type = 'application/x-www-form-urlencoded';
          scope.addContentTypeParser(type, { parseAs: 'buffer' }, async (_: unknown, body: Buffer) => body);
        }
        scope.get('/own', async (request, reply) => {
          sendResponse(request, reply, ownAnswer(await toHttpRequest(request)));
          return reply;
        });
        if (operation) scope.all('/operation', handler(operation, optionsOf(plan)));
      },
      { prefix },
    );
    if (!operation) await app.register(mount(plan.server, optionsOf(plan)), { prefix });
    await app.listen({ host: '127.0.0.1', port: 0 });
    t.after(() => app.close());
    return portOf(app.server);
  },
};
