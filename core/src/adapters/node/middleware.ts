import type { ServerResponse } from 'node:http';
import type { AuthorizationServer } from '../../authorization_server.ts';
import { rendered } from '../../endpoints/fault.ts';
import { requireKinds } from '../../protocol/option_kinds.ts';
import {
  ADAPTER_OPTIONS,
  type AdapterOptions,
  MOUNT_OPTIONS,
  type MountOptions,
  mountedEndpoints,
  type Operation,
} from '../adapter_options.ts';
import { answerTo } from './answer.ts';
import { type HostedRequest, identityOf, type NodeRequest } from './http_request.ts';
import { sendResponse } from './http_response.ts';

export type Next = (error?: unknown) => void;

/** Where the frameworks that are built of `(request, response, next)` differ. */
export type HostedOf<Incoming> = (request: Incoming) => HostedRequest;

/** Answers where the server has an endpoint; elsewhere `next`, or 404 where there is none. */
export function mountedMiddleware<Incoming extends NodeRequest>(
  hostedOf: HostedOf<Incoming>,
  server: AuthorizationServer,
  given: MountOptions<Incoming> = {},
): (request: Incoming, response: ServerResponse, next?: Next) => Promise<void> {
  requireKinds(given, MOUNT_OPTIONS);
  const { strippedPath, ...options } = given;
  const endpoints = mountedEndpoints<Incoming>(server, strippedPath, (request) =>
    identityOf(hostedOf(request)),
  );
  const { operation, onFault } = endpoints;
  const answer = operationMiddleware(hostedOf, operation, { onFault, ...options });
  return async (request, response, next) => {
    if (next === undefined || endpoints.serves(hostedOf(request).url ?? '')) {
      return answer(request, response, next);
    }
    next();
  };
}

/**
 * Answers by one operation. What goes wrong goes to `next`; where there is none, nobody would hear of a rejection but
 * the process, which it would end: errors are rendered then.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function operationMiddleware<Incoming extends NodeRequest>(
  hostedOf: HostedOf<Incoming>,
  operation: Operation,
  options: AdapterOptions<Incoming> = {},
): (request: Incoming, response: ServerResponse, next?: Next) => Promise<void> {
  requireKinds(options, ADAPTER_OPTIONS);
  const { errors, headers, onFault } = options;
  return async (request, response, next) => {
    const render = (thrown: unknown) => rendered(thrown, onFault, request);
    try {
      const answer = await answerTo(request, hostedOf(request), operation, next && errors, render);
      if (answer !== undefined) sendResponse(request, response, answer, headers?.(request));
    } catch (error) {
      if (next !== undefined) return next(error);
      const answer = render(error);
      if (!response.headersSent) sendResponse(request, response, answer);
      else if (!response.writableEnded) response.destroy();
    }
  };
}
