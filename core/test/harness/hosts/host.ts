import type { TestContext } from 'node:test';
import type { AuthorizationServer, HttpRequest, HttpResponse } from '@grantd/core';

/** A host for a test: an application with its own routes and the endpoints. */
export interface HostPlan {
  readonly server: AuthorizationServer;
  readonly errors?: 'render' | 'forward';
  readonly strippedPath?: string;
  /** Additional response headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The host's identifier of every request. */
  readonly id?: string;
  /** Whether the host parses forms first. */
  readonly parsesForms?: boolean;
  /** The path below which everything is mounted, including the host's own routes. */
  readonly below?: string;
  /** Serves only `/operation`, with all methods, and mounts nothing. */
  readonly operation?: (request: HttpRequest) => Promise<HttpResponse>;
  /** Receives each error that reaches the framework's error handling, which then responds with 418. */
  readonly onError?: (error: unknown) => void;
  /** Receives each fault that an adapter has rendered. */
  readonly onFault?: (fault: unknown) => void;
}

/** A host in one framework. It serves `GET /own` itself, with its view of the request, and 404 elsewhere. */
export interface Host {
  readonly name: string;
  /** Listens on loopback until the test ends. Resolves to the port. */
  open(t: TestContext, plan: HostPlan): Promise<number>;
}

/** The response of `GET /own`. */
export function ownAnswer({ method, url }: HttpRequest): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': 'text/plain', vary: ['A', 'B'] },
    body: `${method} ${url}`,
  };
}

/** The response of the hosts' error handling. */
export const HANDLED = { status: 418, body: 'handled by the host' };

/** The options of the adapter. */
export function optionsOf({ errors, strippedPath, headers, id, onFault }: HostPlan) {
  return {
    ...(onFault !== undefined && { onFault }),
    ...(errors !== undefined && { errors }),
    ...(strippedPath !== undefined && { strippedPath }),
    ...(headers !== undefined && { headers: () => headers }),
    ...(id !== undefined && { id: () => id }),
  };
}
