// What a gateway asks for in a query, and the responses that it reads by their status alone (ADR 176).
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorResponse, OAuthError } from '@grantd/core';
import { type NodeRequest, sendResponse } from '@grantd/core/node';
import { isScopeToken } from '@grantd/core/options';
import type { VerifiedAccessToken } from '@grantd/protect';
import { type NodeProtectionOptions, protect, tokenOf } from '@grantd/protect/node';

/** What a gateway requires of a token. */
export interface Requirements {
  readonly scopes: readonly string[];
  /** Default: the resource of the gateway’s client. */
  readonly audience: string | undefined;
  /** Envoy, which appends its request, passes a request only after 200. */
  readonly acceptance: 200 | 204;
}

/**
 * Reads the query. An unknown parameter is refused, because a misspelled one would require nothing.
 * @throws {OAuthError} `invalid_request`
 */
export function requirementsOf({ method = '', url = '' }: NodeRequest): Requirements {
  const [, before = '', uri] = /^[^?]*\??(.*?)(?:(?:^|(?<=[?&]))uri=(.*))?$/.exec(url) ?? [];
  if (uri === undefined && method !== 'GET' && method !== 'HEAD')
    throw new OAuthError('invalid_request', 'the method is not allowed', {
      ...{ status: 405, reason: 'method_not_allowed', headers: { allow: 'GET, HEAD' } },
    });
  const query = new URLSearchParams(before);
  const malformed = (name: string, reason: 'parameter_invalid' | 'parameter_repeated') =>
    new OAuthError('invalid_request', `the parameter ${name} is not one that the endpoint accepts`, {
      reason,
    });
  for (const [name, value] of query) {
    if ((name !== 'scope' && name !== 'audience') || value === '') throw malformed(name, 'parameter_invalid');
  }
  const [audience, another] = query.getAll('audience');
  if (another !== undefined) throw malformed('audience', 'parameter_repeated');
  const scopes = query.getAll('scope').flatMap((scopes) => scopes.split(' '));
  if (!scopes.every(isScopeToken)) throw malformed('scope', 'parameter_invalid');
  return { scopes, audience, acceptance: uri === undefined ? 204 : 200 };
}

/**
 * Checks the token of a request.
 * @throws {OAuthError} it does not permit the request; with the challenge in its headers
 * @throws {AuthorizationServerFault} it could not be checked
 */
export function admitted(
  options: NodeProtectionOptions,
  request: Parameters<ReturnType<typeof protect>>[0],
  response: ServerResponse,
): Promise<VerifiedAccessToken> {
  const { promise, resolve, reject } = Promise.withResolvers<VerifiedAccessToken>();
  const next = (error?: unknown) =>
    error === undefined ? resolve(tokenOf(request)) : reject(asStatus(error));
  protect({ ...options, errors: 'forward' })(request, response, next).catch(reject);
  return promise;
}

/** Gateways pass 401 and 403 on, and some turn any other status into 500. A client could cause that with a malformed header. */
function asStatus(error: unknown): unknown {
  if (!(error instanceof OAuthError) || error.status !== 400) return error;
  return new OAuthError(error.code, error.description, { ...error, status: 401 });
}

export function letPass(
  request: IncomingMessage,
  response: ServerResponse,
  token: VerifiedAccessToken,
  {
    status,
    claims,
  }: {
    readonly status: 200 | 204 /** That the gateway gets as headers. */;
    readonly claims: readonly string[];
  },
): void {
  const headers = { ...headersFor(token, claims), 'cache-control': 'no-store' };
  sendResponse(request, response, { status, headers, body: '' });
}

/** @returns the status that was sent */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): { status: number } {
  const answer = errorResponse(error);
  // Without a token, there is no error code (RFC 6750 §3.1).
  const isBare = error instanceof OAuthError && error.reason === 'access_token_missing';
  sendResponse(request, response, isBare ? { ...answer, body: '' } : answer);
  return answer;
}

/** Each header is always sent, also empty, so that it replaces one that the gateway’s client may have sent. */
function headersFor(token: VerifiedAccessToken, claims: readonly string[]): Record<string, string> {
  const valueIn = (claim: string) => (claim === 'scope' ? token.scopes : token.claims[claim]);
  return Object.fromEntries(
    claims.map((claim) => [`x-auth-${claim.replaceAll('_', '-')}`, headerText(valueIn(claim))]),
  );
}

/**
 * A value in visible ASCII. Other bytes of its UTF-8 and `%` are percent-encoded, so no name can add a header. Members of
 * a list have a space between them.
 */
export function headerText(value: unknown): string {
  if (Array.isArray(value)) return value.map(headerText).join(' ');
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
  return text.replace(/[^\x21-\x24\x26-\x7E]/gu, (character) =>
    Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&'),
  );
}
