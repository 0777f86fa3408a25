import assert from 'node:assert/strict';
import type { FetchDocument, RegistrationOptions } from '@grantd/core';
import type { TestResponse } from './transports/transport.ts';
import { ISSUER, type World } from './world.ts';

export type Members = Readonly<Record<string, unknown>>;

export const CALLBACK = 'https://app.example/callback';

/** The registration response for minimal metadata, except for members that differ each time. */
export const BY_DEFAULT = {
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code'],
  response_types: ['code'],
  scope: 'openid profile email address phone offline_access',
  id_token_signed_response_alg: 'RS256',
  token_endpoint_auth_method: 'client_secret_basic',
  application_type: 'web',
  subject_type: 'public',
};

/** Members of a response that differ each time. */
export interface Credentials {
  readonly client_id: string;
  readonly client_id_issued_at: number;
  readonly client_secret?: string;
  readonly client_secret_expires_at?: number;
  readonly registration_access_token: string;
  readonly registration_client_uri: string;
}

/** The client's credentials from its registration. */
export interface Registered extends Credentials {
  readonly metadata: Members;
}

/** The option for open registration, with a fetcher that returns `answers`. */
export function openRegistration(
  more: Partial<RegistrationOptions> = {},
  answers: Readonly<Record<string, unknown>> = {},
): { registration: RegistrationOptions; fetchDocument: FetchDocument } {
  return {
    registration: { openTo: 'anyone', ...more },
    fetchDocument: async (url) => {
      const answer = answers[url];
      if (answer instanceof Error) throw answer;
      return {
        status: answer === undefined ? 404 : 200,
        contentType: 'application/json',
        body: typeof answer === 'string' ? answer : JSON.stringify(answer ?? null),
      };
    },
  };
}

export function postRegistration(
  world: World,
  members: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  return world.send({
    method: 'POST',
    path: '/register',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof members === 'string' ? members : JSON.stringify(members),
  });
}

/** Registers a client, which must succeed. */
export async function register(
  world: World,
  members: Members = { redirect_uris: [CALLBACK] },
  headers: Readonly<Record<string, string>> = {},
): Promise<Registered> {
  const response = await postRegistration(world, members, headers);
  assert.equal(response.status, 201, response.body);
  return registeredIn(response);
}

/** A client information response, split into its parts. */
export function registeredIn({ body }: TestResponse): Registered {
  const {
    client_id,
    client_id_issued_at,
    client_secret,
    client_secret_expires_at,
    registration_access_token,
    registration_client_uri,
    ...metadata
  } = JSON.parse(body);
  return {
    client_id,
    client_id_issued_at,
    ...(client_secret !== undefined && { client_secret, client_secret_expires_at }),
    registration_access_token,
    registration_client_uri,
    metadata,
  };
}

/** A request to a client's configuration endpoint, at its `registration_client_uri`. A `GET` has no body. */
export function configure(
  world: World,
  method: string,
  { registration_client_uri: uri, registration_access_token: token }: Credentials,
  members?: unknown,
): Promise<TestResponse> {
  const hasBody = members !== undefined && method !== 'GET';
  return world.send({
    method,
    path: uri.slice(ISSUER.length),
    headers: {
      authorization: `Bearer ${token}`,
      ...(hasBody && { 'content-type': 'application/json' }),
    },
    ...(hasBody && { body: JSON.stringify(members) }),
  });
}
