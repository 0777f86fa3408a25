import { type AuthorizationServer, type HttpRequest, type HttpResponse, OAuthError } from '@grantd/core';
import * as fetchAdapter from '@grantd/core/fetch';
import * as h3Adapter from '@grantd/core/h3';
import * as honoAdapter from '@grantd/core/hono';
import { H3, HTTPError } from 'h3';
import { Hono } from 'hono';

export type Answer = (request: Request) => Response | Promise<Response>;

/** The settings that every host of these tests supports. */
interface HostOptions {
  readonly errors?: 'render' | 'forward';
  readonly headers?: () => Readonly<Record<string, string>>;
  readonly onFault?: (fault: unknown) => void;
  readonly id?: () => string;
  readonly body?: () => string;
}

/** A host around an adapter. Its own pages and its error handling report what they receive. */
export interface FetchHost {
  readonly name: string;
  /** A request in the form of the host's framework. */
  received(request: Request): Request;
  mount(server: AuthorizationServer, options?: HostOptions & { readonly strippedPath?: string }): Answer;
  handler(operation: (request: HttpRequest) => Promise<HttpResponse>, options?: HostOptions): Answer;
}

/** The text of its own pages. */
export const OWN = 'the host’s own';

/** The host's own error handling. */
function explained(error: unknown): Response {
  const told = error instanceof OAuthError ? [error.status, error.code, error.headers] : String(error);
  return Response.json({ told }, { status: 418 });
}

/** A host whose pages throw, with its own error handling. */
export const caught =
  (answer: Answer): Answer =>
  async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      return explained(error);
    }
  };

const FETCH: FetchHost = {
  name: 'fetch',
  received: (request) => request,
  mount(server, options) {
    const answer = fetchAdapter.mount(server, options);
    return caught(async (request) => {
      const response = await answer(request);
      return response.status === 404 ? new Response(OWN) : response;
    });
  },
  handler: (operation, options) => caught(fetchAdapter.handler(operation, options)),
};

const honoApp = () => new Hono().onError(explained);

const HONO: FetchHost = {
  name: 'hono',
  received: (request) => request,
  mount(server, options) {
    const app = honoApp()
      .use(honoAdapter.mount(server, options))
      .all('*', (c) => c.text(OWN));
    return app.fetch;
  },
  handler: (operation, options) => honoApp().all('*', honoAdapter.handler(operation, options)).fetch,
};

const h3App = () =>
  new H3({
    silent: true,
    onError: (error) => explained(HTTPError.isError(error.cause) ? error.cause.cause : error.cause),
  });

const H3_APP: FetchHost = {
  name: 'h3',
  received: (request) => request,
  mount(server, options) {
    const app = h3App()
      .use(h3Adapter.mount(server, options))
      .all('/**', () => OWN);
    return app.fetch;
  },
  handler: (operation, options) => h3App().all('/**', h3Adapter.handler(operation, options)).fetch,
};

/** They need only web standards. */
export const WEB_HOSTS: readonly FetchHost[] = [FETCH, HONO, H3_APP];
