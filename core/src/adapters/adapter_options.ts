import type { AuthorizationServer } from '../authorization_server.ts';
import { type OnFault, printFault } from '../http/error_response.ts';
import { ConfigurationError } from '../http/errors.ts';
import { type HttpRequest, type HttpResponse, pathOf, queryOf } from '../http/http.ts';
import { anyFunction, anyText, type KindsOf, oneOf } from '../option_kinds.ts';

/**
 * What every adapter can be told. `Incoming` is the request as the host's framework knows it, `Rest` what else the
 * framework hands to its handlers.
 */
export interface AdapterOptions<Incoming, Rest extends readonly unknown[] = []> {
  /**
   * `'render'` answers an error as its RFC says; `'forward'` hands what was thrown, an `OAuthError`, a `StorageFault` or a
   * `DocumentError`, which have status and headers, or whatever else, to the framework's own error handling. Default
   * `'render'`.
   */
  readonly errors?: 'render' | 'forward';
  /** Headers of each answer beside its own, which win. */
  readonly headers?: (request: Incoming, ...rest: Rest) => Readonly<Record<string, string>>;
  /**
   * The host's identifier of a request, which events name as `requestId`. Default: on Node the `id` of the request, where
   * the framework or a middleware has given it one; elsewhere none.
   */
  readonly id?: (request: Incoming, ...rest: Rest) => string | undefined;
  /**
   * Told of what is answered 500 or 503 and neither the server nor the framework's error handling has been told of: a
   * body that cannot be read, an answer that cannot be sent, what an operation of the host's own throws. Default: with
   * `mount` the server's `onEvent`, with `handler` the console.
   */
  readonly onFault?: OnFault<Incoming, Rest>;
}

export interface MountOptions<Incoming, Rest extends readonly unknown[] = []>
  extends AdapterOptions<Incoming, Rest> {
  /**
   * The part of the path that a proxy in front takes off before it passes a request on, such as `/auth`. Default: none
   * is taken off. Paths that arrive whole are known as well.
   */
  readonly strippedPath?: string;
}

/** The kinds of every adapter's options. */
export const ADAPTER_OPTIONS: KindsOf<AdapterOptions<never>> = {
  errors: oneOf('render', 'forward'),
  headers: anyFunction,
  id: anyFunction,
  onFault: anyFunction,
};

export const MOUNT_OPTIONS: KindsOf<MountOptions<never>> = { ...ADAPTER_OPTIONS, strippedPath: anyText };

export type Operation = (request: HttpRequest) => Promise<HttpResponse>;

/** The endpoints of a server as a mounted adapter sees them. */
interface MountedEndpoints<Incoming, Rest extends readonly unknown[]> {
  /** The endpoint at the path of this URL; `undefined` if there is none. */
  operationAt(url: string): Operation | undefined;
  /** Tells the server's `onEvent`; the console, where the request is for no endpoint. */
  readonly onFault: OnFault<Incoming, Rest>;
}

/**
 * @param identityOf what is known of a request before it is read
 * @throws {ConfigurationError} the stripped path is none
 */
export function mountedEndpoints<Incoming, Rest extends readonly unknown[] = []>(
  server: AuthorizationServer,
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

/** From a URL as it arrived to the one that the client asked for. */
function wholeUrls(server: AuthorizationServer, strippedPath: string | undefined): (url: string) => string {
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

/** For a path without an endpoint, if no further handler follows the adapter. */
export const notFound: Operation = async () => NOT_FOUND;

export const NOT_FOUND: HttpResponse = { status: 404, headers: {}, body: '' };
