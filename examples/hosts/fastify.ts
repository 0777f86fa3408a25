// Fastify 5.
import { mount } from '@grantd/core/fastify';
import Fastify from 'fastify';
import { port, server } from './authorization_server.ts';

const app = Fastify();
await app.register(mount(server));
app.get('/', async () => 'the application');
await app.listen({ port });
