import type { PlannedRequest } from '../load/request_file.ts';
import { BENCH_CLIENTS, type BenchClient, basicAuthorization } from '../population/clients.ts';

/** The API introspects each token. */
export function introspecting(tokens: readonly string[]): readonly PlannedRequest[] {
  return tokens.map((token) => form('/token/introspect', BENCH_CLIENTS.api, { token }));
}

/** Each token's own client revokes it. */
export function revoking(tokens: readonly string[], owner: BenchClient): readonly PlannedRequest[] {
  return tokens.map((token) => form('/token/revoke', owner, { token }));
}

/** A client gets a token for itself. */
export function issuing(client: BenchClient): PlannedRequest {
  return form('/token', client, { grant_type: 'client_credentials', scope: 'read' });
}

export function refreshing(tokens: readonly string[]): readonly PlannedRequest[] {
  return tokens.map((refresh_token) =>
    form('/token', BENCH_CLIENTS.web, { grant_type: 'refresh_token', refresh_token }),
  );
}

/** The user's application calls UserInfo. */
export function askingUserInfo(tokens: readonly string[], path = '/userinfo'): readonly PlannedRequest[] {
  return tokens.map((token) => ({ method: 'GET', path, authorization: `Bearer ${token}` }));
}

function form(
  path: string,
  client: BenchClient,
  parameters: Readonly<Record<string, string>>,
): PlannedRequest {
  return {
    method: 'POST',
    path,
    authorization: basicAuthorization(client),
    body: new URLSearchParams(parameters).toString(),
  };
}
