import type { AuthorizationServer } from '@grantd/core';
import { chosen, type OpenTransport } from './transport.ts';

/** A host that is called directly, without a connection. */
export function fetching(
  { issuer }: AuthorizationServer,
  answer: (request: Request) => Response | Promise<Response>,
): OpenTransport {
  return {
    async send({ method, path, headers, body }) {
      const init = { method, headers, ...(body !== undefined && { body }) };
      const response = await answer(new Request(new URL(path, issuer), init));
      return { status: response.status, headers: chosen(response.headers), body: await response.text() };
    },
    close: async () => {},
  };
}
