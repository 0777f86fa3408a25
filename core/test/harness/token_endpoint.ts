import assert from 'node:assert/strict';
import type { NewClient, SigningAlgorithm } from '@grantd/core';
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';
import type { TestResponse } from './transports/transport.ts';
import { basic, CHALLENGE, type GrantedTokens, secretOf, type World } from './world.ts';
export const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store', vary: 'Origin' };
export const DEAD_CODE = refused('invalid_grant', 'the authorization code is not valid');
export const WRONG_REDIRECT_URI = refused('invalid_grant', 'the redirect_uri does not match');
export const MISSING_VERIFIER = refused('invalid_grant', 'the code_verifier is missing');
export const NO_CHALLENGE = refused('invalid_grant', 'the authorization request had no code_challenge');
export const WRONG_VERIFIER = refused('invalid_grant', 'the code_verifier does not match');
export const DEAD_REFRESH_TOKEN = refused('invalid_grant', 'the refresh token is not valid');
export const OVERTAKEN = refused('invalid_grant', 'the grant is no longer valid');
export const SCOPE_NOT_ALLOWED = refused('invalid_scope', 'a scope is not allowed');
export const SCOPE_MALFORMED = refused('invalid_scope', 'the scope is malformed');
export const UNAUTHORIZED = refused('unauthorized_client', 'the client may not use this grant_type');
export const GRACE_MS = 10_000;
export const NEW_SECRET = 'the secret that follows it, with more than 32 characters';

export function refused(error: string, description: string, status = 400): TestResponse {
  return { status, headers: HEADERS, body: JSON.stringify({ error, error_description: description }) };
}

export function issued(response: TestResponse): GrantedTokens & { readonly token_type: string } {
  assert.equal(response.status, 200, response.body);
  assert.deepEqual(response.headers, HEADERS);
  return JSON.parse(response.body);
}

/** A client of the test. Default: confidential. */
export async function addClient(world: World, client: NewClient, isPublic = false): Promise<void> {
  const secrets = isPublic ? undefined : [await world.server.operator.hashClientSecret(secretOf(client.id))];
  const metadata = { ...client.metadata, ...(isPublic && { token_endpoint_auth_method: 'none' as const }) };
  await world.storage.clients.add({ ...client, metadata, ...(secrets !== undefined && { secrets }) });
}

export function asClient(
  world: World,
  id: string,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  return world.post('/token', parameters, null, { authorization: basic(id), ...headers });
}

/** A code for an authorization request of the test. The user approves everything. */
export async function codeFor(
  world: World,
  parameters: Readonly<Record<string, string>>,
  subject = 'alice',
  signIn: { readonly acr?: string; readonly amr?: readonly string[]; readonly authTime?: number } = {},
): Promise<string> {
  const url = `/authorize?${new URLSearchParams({ response_type: 'code', ...parameters })}`;
  const request = await world.server.authorization.validate({ method: 'GET', url, headers: {} });
  const { headers } = await world.server.authorization.complete(request, { subject, ...signIn });
  return new URL(String(headers.location)).searchParams.get('code') ?? '';
}

export const PKCE = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };

/** The payload of a JWT that verifies with the published JWKS. */
export async function verified(
  world: World,
  token: string,
): Promise<{ header: unknown; payload: JWTPayload }> {
  const { body } = await world.send({ method: 'GET', path: '/jwks', headers: {} });
  const currentDate = new Date(world.clock.nowMs);
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(JSON.parse(body)), {
    currentDate,
  });
  return { header: protectedHeader, payload };
}

export async function currentKeyId(world: World, algorithm: SigningAlgorithm): Promise<unknown> {
  return world.storage.keys.currentKeyId(algorithm);
}
