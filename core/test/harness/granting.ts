import type { Approval } from '@grantd/core';
import { PKCE } from './token_endpoint.ts';
import type { TestResponse } from './transports/transport.ts';
import { basic, type GrantedTokens, VERIFIER, type World } from './world.ts';

/** Parameters of a form, of which some may be repeated. */
export type Fields = Readonly<Record<string, string | readonly string[]>>;

/** The request, the user's approval, and the redemption. */
export interface Granting {
  readonly request?: Fields;
  readonly approval?: Partial<Approval>;
  readonly redemption?: Fields;
}

/** A grant by code to a confidential client of the test. alice approves all scopes of the client. */
export async function grantTo(
  world: World,
  clientId: string,
  granting: Granting = {},
): Promise<GrantedTokens> {
  const response = await redeemed(world, clientId, granting);
  if (response.status !== 200) throw new Error(`the code was not redeemed: ${response.body}`);
  return JSON.parse(response.body);
}

/** The same, returning any response to the redemption. */
export async function redeemed(
  world: World,
  clientId: string,
  granting: Granting = {},
): Promise<TestResponse> {
  const code = await approvedCode(world, clientId, granting);
  const redirectUri = await redirectUriOf(world, clientId);
  const fields = { code, redirect_uri: redirectUri, code_verifier: VERIFIER, ...granting.redemption };
  return askForTokens(world, clientId, { grant_type: 'authorization_code', ...fields });
}

/** The code after alice's approval. */
export async function approvedCode(
  world: World,
  clientId: string,
  { request = {}, approval = {} }: Granting = {},
): Promise<string> {
  const client = await world.storage.clients.get(clientId);
  const query = formOf({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: await redirectUriOf(world, clientId),
    scope: client?.scopes.join(' ') ?? '',
    ...PKCE,
    ...request,
  });
  const url = `/authorize?${query}`;
  const checked = await world.server.authorization.validate({ method: 'GET', url, headers: {} });
  const { headers } = await world.server.authorization.complete(checked, {
    subject: 'alice',
    username: 'alice',
    authTime: world.clock.seconds,
    sessionId: 'session of alice',
    ...approval,
  });
  return new URL(String(headers.location)).searchParams.get('code') ?? '';
}

/** A request to the token endpoint with Basic authentication. */
export function askForTokens(world: World, clientId: string, fields: Fields): Promise<TestResponse> {
  return world.send({
    method: 'POST',
    path: '/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basic(clientId),
    },
    body: formOf(fields),
  });
}

function formOf(fields: Fields): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  return new URLSearchParams(pairs).toString();
}

async function redirectUriOf(world: World, clientId: string): Promise<string> {
  return (await world.storage.clients.get(clientId))?.redirectUris[0] ?? '';
}
