/** The adapter for h3 2, on every runtime that h3 runs on. */
import type { AuthorizationServer } from '../authorization_server.ts';
import type { HttpConnection } from '../protocol/http.ts';
import { exchange, exchangeAtPath, type Operation } from './fetch/exchange.ts';
import type { FetchOptions } from './fetch/fetch_options.ts';

/** What of h3's `H3Event` is needed here. */
export interface H3Event {
  /** `ip` is the peer, or whom its trusted proxies name. */
  readonly req: Request & { readonly ip?: string | undefined };
}

/** @typeParam Event h3's own, for callbacks that ask it more than the adapter does */
export type H3Options<Event extends H3Event = H3Event> = FetchOptions<Event>;

/**
 * A middleware that answers at the paths of the server and leaves all others to what follows: `app.use(mount(server))`.
 * h3 keeps nothing of a body that it has read: a host that calls `readBody` before says what it got by the option `body`.
 */
export function mount<Event extends H3Event = H3Event>(
  server: AuthorizationServer,
  options: H3Options<Event> = {},
): (event: Event, next: () => unknown) => unknown {
  const host = h3Host(options);
  return (event, next) => exchangeAtPath(server, host, event) ?? next();
}

/** One operation alone: `app.post('/introspect', handler((request) => server.introspect(request)))`. */
export function handler<Event extends H3Event = H3Event>(
  operation: Operation,
  options: H3Options<Event> = {},
): (event: Event) => Promise<Response> {
  const host = h3Host(options);
  return (event) => exchange(operation, host, event);
}

function h3Host<Event extends H3Event>(options: H3Options<Event>) {
  return { requestOf: ({ req }: Event): Request => req, options: { connection: peerOf, ...options } };
}

const peerOf = ({ req }: H3Event): HttpConnection => ({ remoteAddress: req.ip });
