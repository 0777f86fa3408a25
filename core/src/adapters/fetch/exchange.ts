import type { AuthorizationServer } from '../../authorization_server.ts';
import { rendered } from '../../endpoints/fault.ts';
import { fromHttpResponse } from '../../protocol/fetch_response.ts';
import { mountedEndpoints, type Operation } from '../adapter_options.ts';
import type { FetchMountOptions, FetchOptions } from './fetch_options.ts';
import { type Known, toHttpRequest } from './http_request.ts';

/** Where a framework's handlers find the request in what they are given. */
export type RequestOf<Host> = (host: Host) => Request;

/**
 * Answers where the server has an endpoint at the request's path; elsewhere `undefined`, before anything was read.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mountedExchange<Host>(
  requestOf: RequestOf<Host>,
  server: AuthorizationServer,
  { strippedPath, ...options }: FetchMountOptions<Host>,
): (host: Host) => Promise<Response> | undefined {
  const endpoints = mountedEndpoints<Host>(server, strippedPath, (host) => ({ url: requestOf(host).url }));
  const { operation, onFault } = endpoints;
  const answer = operationExchange(requestOf, operation, { onFault, ...options });
  return (host) => (endpoints.serves(requestOf(host).url) ? answer(host) : undefined);
}

/** Answers by one operation; rejects with what it threw, where the host wants errors forwarded. */
export function operationExchange<Host>(
  requestOf: RequestOf<Host>,
  operation: Operation,
  { errors, headers, onFault, connection, body }: FetchOptions<Host>,
): (host: Host) => Promise<Response> {
  const plainRequest = async (host: Host) => {
    const read = await body?.(host);
    const known: Known = {
      ...(read !== undefined && { body: read }),
      ...(connection !== undefined && { connection: connection(host) }),
    };
    return toHttpRequest(requestOf(host), known);
  };
  return async (host) => {
    const answered = plainRequest(host).then(operation);
    const render = (thrown: unknown) => rendered(thrown, host, onFault);
    const answer = await (errors === 'forward' ? answered : answered.catch(render));
    // RFC 9110 §9.3.2: no body, whatever the runtime would make of it.
    const sent = requestOf(host).method === 'HEAD' ? { ...answer, body: '' } : answer;
    return fromHttpResponse(sent, headers?.(host));
  };
}
