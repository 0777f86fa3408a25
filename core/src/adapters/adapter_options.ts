// Options and routing that all adapters share.

import { type OnFault, printFault } from '../http/error_response.ts';
import { ConfigurationError } from '../http/errors.ts';
import {
  type ClientCertificate,
  type HttpRequest,
  type HttpResponse,
  pathOf,
  queryOf,
} from '../http/http.ts';
import { anyFunction, anyText, type KindsOf, oneOf } from '../protocol/option_kinds.ts';
import type { MountedServer } from '../server/authorization_server.ts';

/**
 * Options of every adapter.
 * @typeParam Incoming the framework's request object
 * @typeParam Rest what else the framework passes to its handlers
 */
export interface AdapterOptions<Incoming, Rest extends readonly unknown[] = []> {
  /**
   * `'render'` answers errors as their RFC requires. `'forward'` passes the thrown value to the framework's error
   * handler. `OAuthError`, `StorageFault` and `DocumentError` carry a status and headers. Default: `'render'`.
   */
  readonly errors?: 'render' | 'forward';
  /** Adds headers to every response. Headers that the server sets itself win. */
  readonly headers?: (request: Incoming, ...rest: Rest) => Readonly<Record<string, string>>;
  /**
   * Returns the host's identifier of a request, which events carry as `requestId`. Default: on Node the `id` of the
   * request, which some frameworks and middleware set; elsewhere none.
   */
  readonly id?: (request: Incoming, ...rest: Rest) => string | undefined;
  /**
   * Returns the certificate that the client presented in the TLS handshake (RFC 8705). It needs the server's option
   * `clientCertificates`. Default: none.
   */
  readonly clientCertificate?: (request: Incoming, ...rest: Rest) => ClientCertificate | undefined;
  /**
   * Returns where a request comes from, for limits per sender: usually `senderOf` the address, which only the host
   * knows if it runs behind a proxy. Default: none, so such limits do not apply.
   */
  readonly place?: (request: Incoming, ...rest: Rest) => string | undefined;
  /**
   * Receives errors that lead to a 500 or 503 and that neither the server nor the framework reports: an unreadable
   * body, a response that cannot be sent, an exception from the host's own operation. Default: the server's `onEvent`
   * for `mount`, the console for `handler`.
   */
  readonly onFault?: OnFault<Incoming, Rest>;
}

export interface MountOptions<Incoming, Rest extends readonly unknown[] = []>
  extends AdapterOptions<Incoming, Rest> {
  /**
   * The part of the path that a proxy removes before it passes a request on, such as `/auth`. Requests with the whole
   * path still work. Default: none.
   */
  readonly strippedPath?: string;
}

export const ADAPTER_OPTIONS: KindsOf<AdapterOptions<never>> = {
  errors: oneOf('render', 'forward'),
  headers: anyFunction,
  id: anyFunction,
  clientCertificate: anyFunction,
  place: anyFunction,
  onFault: anyFunction,
};

export const MOUNT_OPTIONS: KindsOf<MountOptions<never>> = { ...ADAPTER_OPTIONS, strippedPath: anyText };

export type Operation = (request: HttpRequest) => Promise<HttpResponse>;

/** Finds a server's endpoints for a mounted adapter. */
interface MountedEndpoints<Incoming, Rest extends readonly unknown[]> {
  /** The endpoint at the path of this URL; `undefined` if there is none. */
  operationAt(url: string): Operation | undefined;
  /** Reports to the server's `onEvent`, or to the console if the path has no endpoint. */
  readonly onFault: OnFault<Incoming, Rest>;
}

/**
 * Undoes the stripped path before the server looks for an endpoint.
 * @param identityOf returns URL and identifier of a request whose body has not been read yet
 * @throws {ConfigurationError} `strippedPath` is not a path, or no endpoint is below it
 */
export function mountedEndpoints<Incoming, Rest extends readonly unknown[] = []>(
  server: MountedServer,
  strippedPath: string | undefined,
  identityOf: (request: Incoming, ...rest: Rest) => Pick<HttpRequest, 'url' | 'id'>,
): MountedEndpoints<Incoming, Rest> {
  const whole = wholeUrls(server, strippedPath);
  return {
    operationAt:
      strippedPath === undefined
        ? server.operationAt.bind(server)
        : (url) => {
            const operation = server.operationAt(whole(url));
            return operation && ((request) => operation({ ...request, url: whole(request.url) }));
          },
    onFault: (fault, request, ...rest) => {
      const identity = identityOf(request, ...rest);
      const url = whole(identity.url);
      if (server.serves(url)) server.reportFault(fault, { ...identity, url });
      else printFault(fault);
    },
  };
}

/** Returns a function from the URL as it arrived to the URL that the client requested. */
function wholeUrls(server: MountedServer, strippedPath: string | undefined): (url: string) => string {
  if (strippedPath === undefined) return (url) => url;
  if (!/^(\/[^/?#]+)+$/.test(strippedPath)) {
    throw new ConfigurationError('strippedPath', 'a path such as /auth, without a slash at its end');
  }
  if (!server.servesBelow(strippedPath)) {
    throw new ConfigurationError(
      'strippedPath',
      'the beginning of a path of the server, such as the issuer’s',
    );
  }
  return (url) => {
    if (server.serves(url)) return url;
    const query = queryOf({ url });
    return `${strippedPath}${pathOf({ url })}${query === '' ? '' : `?${query}`}`;
  };
}

/** Answers 404 if an adapter has no further handler to call. */
export const notFound: Operation = async () => NOT_FOUND;

export const NOT_FOUND: HttpResponse = { status: 404, headers: {}, body: '' };
