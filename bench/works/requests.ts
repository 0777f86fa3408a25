import type { PlannedRequest } from '../load/request_file.ts';
import {
  BENCH_CLIENTS,
  type BenchClient,
  basicAuthorization,
  CALLBACK,
  CODE_VERIFIER,
} from '../population/clients.ts';

/** The API, or another client, introspects each token. */
export function introspecting(
  tokens: readonly string[],
  introspector = BENCH_CLIENTS.api,
): readonly PlannedRequest[] {
  return tokens.map((token) => form('/token/introspect', introspector, { token }));
}

/** Each token's own client revokes it. */
export function revoking(tokens: readonly string[], owner: BenchClient): readonly PlannedRequest[] {
  return tokens.map((token) => form('/token/revoke', owner, { token }));
}

/** A client gets a token for itself. */
export function issuing(client: BenchClient): PlannedRequest {
  return form('/token', client, { grant_type: 'client_credentials', scope: 'read' });
}

export function refreshing(tokens: readonly string[], owner: BenchClient): readonly PlannedRequest[] {
  return tokens.map((refresh_token) => form('/token', owner, { grant_type: 'refresh_token', refresh_token }));
}

/** A client exchanges codes for an access token, a refresh token and an ID token. */
export function exchanging(codes: readonly string[], owner: BenchClient): readonly PlannedRequest[] {
  const purpose = { grant_type: 'authorization_code', redirect_uri: CALLBACK, code_verifier: CODE_VERIFIER };
  return codes.map((code) => form('/token', owner, { ...purpose, code }));
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
