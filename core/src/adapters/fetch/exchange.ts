import type { AuthorizationServer } from '../../authorization_server.ts';
import { rendered } from '../../endpoints/fault.ts';
import type { HttpResponse } from '../../protocol/http.ts';
import { requireKinds } from '../../protocol/option_kinds.ts';
import { mountedEndpoints, type Operation } from '../adapter_options.ts';
import {
  FETCH_MOUNT_OPTIONS,
  FETCH_OPTIONS,
  type FetchMountOptions,
  type FetchOptions,
} from './fetch_options.ts';
import { type BrokenBody, type Known, readRequest } from './http_request.ts';
import { responseTo } from './http_response.ts';

/** Where a framework's handlers find the request in what they are given. */
export type RequestOf<Host> = (host: Host) => Request;

/**
 * Answers where the server has an endpoint at the request's path; elsewhere `undefined`, before anything was read.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mountedExchange<Host, Rest extends readonly unknown[]>(
  requestOf: RequestOf<Host>,
  server: AuthorizationServer,
  given: FetchMountOptions<Host, Rest>,
): (host: Host, ...rest: Rest) => Promise<Response> | undefined {
  requireKinds(given, FETCH_MOUNT_OPTIONS);
  const { strippedPath, ...options } = given;
  const endpoints = mountedEndpoints<Host, Rest>(server, strippedPath, (host, ...rest) => ({
    url: requestOf(host).url,
    ...idOf(options.id, host, ...rest),
  }));
  const { operation, onFault } = endpoints;
  const answer = operationExchange<Host, Rest>(requestOf, operation, { onFault, ...options });
  return (host, ...rest) => (endpoints.serves(requestOf(host).url) ? answer(host, ...rest) : undefined);
}

/**
 * Answers by one operation; rejects with what it threw, where the host wants errors forwarded. What a body fails with on
 * its way is the host's in any case, which may have an answer to it: it can be a limit of its own.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function operationExchange<Host, Rest extends readonly unknown[]>(
  requestOf: RequestOf<Host>,
  operation: Operation,
  options: FetchOptions<Host, Rest>,
): (host: Host, ...rest: Rest) => Promise<Response> {
  requireKinds(options, FETCH_OPTIONS);
  const { errors, headers, onFault, id, connection, body } = options;
  const plainRequest = async (host: Host, ...rest: Rest) => {
    const read = await body?.(host, ...rest);
    const known: Known = {
      ...(read !== undefined && { body: read }),
      ...idOf(id, host, ...rest),
      ...(connection !== undefined && { connection: connection(host, ...rest) }),
    };
    return readRequest(requestOf(host), known);
  };
  return async (host, ...rest) => {
    const read = plainRequest(host, ...rest);
    const answered = read.then<HttpResponse | BrokenBody>((plain) =>
      'brokenBy' in plain ? plain : operation(plain),
    );
    const render = (thrown: unknown) => rendered(thrown, onFault, host, ...rest);
    const answer = await (errors === 'forward' ? answered : answered.catch(render));
    if ('brokenBy' in answer) {
      if (answer.isAbandoned) return new Response(null, { status: 400 }); // which nobody will read
      throw answer.brokenBy;
    }
    return responseTo(requestOf(host), answer, headers?.(host, ...rest));
  };
}

function idOf<Host, Rest extends readonly unknown[]>(
  id: FetchOptions<Host, Rest>['id'] | undefined,
  host: Host,
  ...rest: Rest
): Known {
  const given = id?.(host, ...rest);
  return given === undefined ? {} : { id: given };
}
