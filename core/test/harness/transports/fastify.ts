import { mount } from '@grantd/core/fastify';
import { portOf, sendHttp } from './listener.ts';
import type { Transport } from './transport.ts';

/** The suites expect events without request identifiers. */
export const UNIDENTIFIED = () => '';

export const FASTIFY: Transport = {
  name: 'the Fastify adapter',
  async open(server) {
    const { default: Fastify } = await import('fastify');
    const app = Fastify({ genReqId: UNIDENTIFIED });
    app.register(mount(server));
    app.setNotFoundHandler((_, reply) => reply.code(404).send());
    await app.listen({ host: '127.0.0.1', port: 0 });
    return { send: (request) => sendHttp(portOf(app.server), request), close: () => app.close() };
  },
};
