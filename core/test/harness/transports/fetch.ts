import { mount } from '@grantd/core/fetch';
import { chosen, type Transport } from './transport.ts';

/** The Fetch adapter. */
export const FETCH: Transport = {
  name: 'the fetch adapter',
  async open(server) {
    const answer = mount(server);
    return {
      async send({ method, path, headers, body }) {
        const url = new URL(path, server.issuer);
        const response = await answer(
          new Request(url, { method, headers, ...(body !== undefined && { body }) }),
        );
        return { status: response.status, headers: chosen(response.headers), body: await response.text() };
      },
      close: async () => {},
    };
  },
};
