import fastify from 'fastify';
import { grantd, port } from './grantd.ts';

const app = fastify();
app.addHook('onRequest', async (request, reply) => {
  if (grantd.handle(request.raw, reply.raw)) reply.hijack();
});
app.get('/', async () => 'the application');
await app.listen({ port, host: '127.0.0.1' });
