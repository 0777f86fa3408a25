import type { TestContext } from 'node:test';
import type { AuthorizationServer, HttpRequest, HttpResponse } from '@grantd/core';

/** A host as a test wants it: an application of its own that has the endpoints as well. */
export interface HostPlan {
  readonly server: AuthorizationServer;
  readonly errors?: 'render' | 'forward';
  readonly strippedPath?: string;
  /** Headers of each answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The host's identifier of every request. */
  readonly id?: string;
  /** Whether the host reads forms before anybody else. */
  readonly parsesForms?: boolean;
  /** The path below which everything is mounted, the host's own routes as well. */
  readonly below?: string;
  /** Answers `POST /operation` alone; then nothing is mounted. */
  readonly operation?: (request: HttpRequest) => Promise<HttpResponse>;
  /** Told of each error that reaches the framework's error handling, which answers 418 then. */
  readonly onError?: (error: unknown) => void;
  /** Told of each fault that an adapter has rendered. */
  readonly onFault?: (fault: unknown) => void;
}

/** A host that a framework makes. It answers `GET /own` itself, with what it sees of the request, and 404 elsewhere. */
export interface Host {
  readonly name: string;
  /** Listens on loopback until the test is over; resolves to the port. */
  open(t: TestContext, plan: HostPlan): Promise<number>;
}

/** What `GET /own` answers. */
export function ownAnswer({ method, url }: HttpRequest): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': 'text/plain', vary: ['A', 'B'] },
    body: `${method} ${url}`,
  };
}

/** What the error handling of the hosts answers. */
export const HANDLED = { status: 418, body: 'handled by the host' };

/** The options that an adapter is mounted with. */
export function optionsOf({ errors, strippedPath, headers, id, onFault }: HostPlan) {
  return {
    ...(onFault !== undefined && { onFault }),
    ...(errors !== undefined && { errors }),
    ...(strippedPath !== undefined && { strippedPath }),
    ...(headers !== undefined && { headers: () => headers }),
    ...(id !== undefined && { id: () => id }),
  };
}
