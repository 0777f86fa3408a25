import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type AuthorizationServer, pathOf } from '@grantd/core';
import { mount } from '@grantd/core/node';
import type { RequestLog } from '../log/request_log.ts';
import type { HealthListener } from './health.ts';

/** What the adapter finds the identifier of a request at. */
type Identified = IncomingMessage & { id?: string };

export interface Routes {
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  readonly health: HealthListener;
  readonly pages: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

/** The protocol's endpoints on the library's own adapter, health checks, and pages for the rest. */
export function requestListener({ server, requestLog, health, pages }: Routes): RequestListener {
  const protocol = mount(server, { headers: ({ id }) => ({ 'x-request-id': String(id) }) });
  const elsewhere = async (request: IncomingMessage, response: ServerResponse, id: string) => {
    response.setHeader('x-request-id', id);
    // Unless the answer itself says otherwise; what is made for a malformed request says nothing.
    response.setHeader('cache-control', 'no-store');
    if (!(await health(pathOf({ url: request.url ?? '' }), response))) await pages(request, response);
  };

  return (request, response) => {
    const id = requestLog.begin(request, response);
    const identified: Identified = request;
    identified.id = id;
    const fail = (error: unknown) => {
      requestLog.failure(id, 'unexpected', error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'cache-control': 'no-store', 'content-length': 0 }).end();
    };
    const answer = server.serves(request.url ?? '')
      ? protocol(identified, response, fail)
      : elsewhere(identified, response, id);
    answer.catch(fail);
  };
}
