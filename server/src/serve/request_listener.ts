import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type AuthorizationServer, pathOf } from '@grantd/core';
import { mount } from '@grantd/core/node';
import type { RequestLog } from '../log/request_log.ts';

export interface Routes {
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  readonly health: (response: ServerResponse) => Promise<void>;
  readonly pages: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

/** The protocol's endpoints on the library's own adapter, `/health`, and pages for the rest. */
export function requestListener({ server, requestLog, health, pages }: Routes): RequestListener {
  const protocol = mount(server);
  const elsewhere = (request: IncomingMessage, response: ServerResponse) =>
    pathOf({ url: request.url ?? '' }) === '/health' ? health(response) : pages(request, response);

  return (request, response) => {
    const id = requestLog.begin(request, response);
    response.setHeader('x-request-id', id);
    // Unless the answer itself says otherwise; what is made for a malformed request says nothing.
    response.setHeader('cache-control', 'no-store');
    const answer = server.serves(request.url ?? '')
      ? protocol(Object.assign(request, { id }), response)
      : elsewhere(Object.assign(request, { id }), response);
    answer.catch((error: unknown) => {
      requestLog.failure(id, 'unexpected', error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'cache-control': 'no-store', 'content-length': 0 }).end();
    });
  };
}
