// Checks tokens for a gateway on the same machine, by a follower of a server elsewhere (ADR 176, docs/gateways.md).
import { createServer, type Server, type ServerResponse } from 'node:http';
import { hasResource, OAuthError, pathOf } from '@grantd/core';
import type { NodeRequest } from '@grantd/core/node';
import {
  AccessTokenFollower,
  type AccessTokenFollowerOptions,
  AuthorizationServerFault,
} from '@grantd/protect';
import { admitted, letPass, refuse, requirementsOf } from './exchange.ts';

const READY_PATHS: ReadonlySet<string> = new Set(['/health', '/health/ready']);

export interface FollowingCheckOptions extends AccessTokenFollowerOptions {
  readonly audience: readonly string[];
  /** Claims that the gateway gets as headers. */
  readonly headers: readonly string[];
}

/** A server that does not listen yet. It answers `/token/check`, and says at `/health/ready` whether it has contact. */
export class FollowingCheck {
  readonly http: Server;
  readonly follower: AccessTokenFollower;
  readonly #options: FollowingCheckOptions;

  /** @throws {ConfigurationError} an option is wrong */
  constructor({ headers, ...options }: FollowingCheckOptions) {
    this.#options = { headers, ...options };
    this.follower = new AccessTokenFollower(options);
    this.http = createServer((request, response) => {
      const path = pathOf({ url: request.url ?? '' });
      if (path === '/token/check') return void this.#check(request, response);
      if (path === '/health/live') return answerJson(response, 200, { status: 'ok' });
      if (READY_PATHS.has(path)) return this.#answerReady(response);
      response.writeHead(404, { 'content-length': 0 }).end();
    });
  }

  async close(): Promise<void> {
    this.http.close();
    this.http.closeIdleConnections();
    await this.follower.close();
  }

  async #check(request: NodeRequest, response: ServerResponse): Promise<void> {
    try {
      const { scopes, audience, acceptance } = requirementsOf(request);
      if (audience !== undefined && !hasResource(this.#options.audience, audience))
        throw new OAuthError('unauthorized_client', 'the audience is none of those that are followed', {
          ...{ status: 403, reason: 'resource_not_allowed', value: audience },
        });
      const { headers, rawHeaders } = request;
      const judged = { headers, rawHeaders, method: 'GET', url: '/' };
      const token = await admitted({ tokens: this.follower, scopes }, judged, response);
      if (audience !== undefined && !hasResource([token.claims.aud].flat(), audience))
        throw new OAuthError('insufficient_scope', 'the access token is for another API', {
          reason: 'audience_wrong',
        });
      letPass(request, response, token, { status: acceptance, claims: this.#options.headers });
    } catch (thrown) {
      refuse(request, response, thrown instanceof AuthorizationServerFault ? unavailable(thrown) : thrown);
    }
  }

  #answerReady(response: ServerResponse): void {
    const { isInContact, ageMs, endings, fault } = this.follower.status();
    answerJson(response, isInContact ? 200 : 503, {
      status: isInContact ? 'ok' : 'no_contact',
      ...(Number.isFinite(ageMs) && { age_ms: Math.round(ageMs) }),
      endings,
      ...(fault instanceof Error && { fault: fault.message }),
    });
  }
}

function unavailable({ headers }: AuthorizationServerFault): OAuthError {
  return new OAuthError('temporarily_unavailable', 'the access token cannot be checked at the moment', {
    headers,
  });
}

function answerJson(response: ServerResponse, status: number, document: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(document));
}
