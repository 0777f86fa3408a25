import assert from 'node:assert/strict';
import {
  type AuthorizationRequest,
  errorResponse,
  type HttpRequest,
  type HttpResponse,
  type NewClient,
  OAuthError,
} from '@grantd/core';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { CHALLENGE, CLIENTS, ISSUER, secretOf, type World } from './world.ts';

export type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>;

export const CALLBACK = CLIENTS.web.redirectUris[0];

export const USUAL = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: CALLBACK,
  scope: 'openid read',
  state: 'xyz',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
} as const;

/** A form. `undefined` omits a parameter, a list repeats it. */
export function formOf(parameters: Parameters): URLSearchParams {
  return new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [value].flat().map((one) => [name, one]),
    ),
  );
}

/** A request with exactly these parameters. */
export function exactly(parameters: Parameters): HttpRequest {
  return { method: 'GET', url: `/authorize?${formOf(parameters)}`, headers: {} };
}

/** The content of a request, without the server's random identifier. */
export function asked({ parameters, ...request }: AuthorizationRequest): AuthorizationRequest {
  const { authorization_request_id: _, ...sent } = parameters;
  return { ...request, parameters: sent };
}

/** The result of the first step for the usual request with other parameters. */
export function accepted({ server }: World, parameters: Parameters = {}): Promise<AuthorizationRequest> {
  return server.authorization.validate(exactly({ ...USUAL, ...parameters }));
}

/** The response to a request that needs no page. */
export async function refusalOf(
  { server }: World,
  parameters: Parameters,
  base: Parameters = USUAL,
): Promise<HttpResponse> {
  return refused(server.authorization.validate(exactly({ ...base, ...parameters })));
}

/** The response to a step that must fail. */
export function refused(step: Promise<unknown>): Promise<HttpResponse> {
  return step.then(
    () => assert.fail('it was accepted'),
    (error: unknown) => {
      assert.ok(error instanceof OAuthError, String(error));
      return errorResponse(error);
    },
  );
}

/** An error that the browser takes to the client by redirect. */
export function redirected(
  error: string,
  description: string,
  {
    to = CALLBACK,
    state = 'xyz',
    separator = '?',
  }: { to?: string; state?: string | null; separator?: string } = {},
): HttpResponse {
  const query = formOf({ error, error_description: description, state: state ?? undefined, iss: ISSUER });
  const headers = { 'cache-control': 'no-store', location: `${to}${separator}${query}` };
  return { status: 303, headers, body: '' };
}

/** An error that stays at the server. */
export function shown(error: string, description: string, status = 400): HttpResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify({ error, error_description: description }),
  };
}

/** The code in the redirect. */
export function codeIn({ headers }: HttpResponse): string {
  const { searchParams, hash } = new URL(String(headers.location));
  return searchParams.get('code') ?? new URLSearchParams(hash.slice(1)).get('code') ?? '';
}

/** The request that a page of OAuth 2.0 Form Post Response Mode makes the browser send. */
export function postedBy({ body }: HttpResponse): {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
} {
  const action = /<form method="post" action="([^"]*)">/.exec(body)?.[1] ?? '';
  const inputs = body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  const fields = [...inputs].map(([, name = '', value = '']) => [decoded(name), decoded(value)]);
  return { action: decoded(action), fields: Object.fromEntries(fields) };
}

function decoded(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

/** A client that signs, with its key. */
export interface SigningClient {
  readonly publicKey: CryptoKey;
  readonly privateKey: CryptoKey;
  /** Signs claims as a request object. Missing claims and headers get their usual values. */
  sign(
    claims: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<string>;
}

/** Adds a confidential client with one key. */
export async function addSigningClient(
  { server, storage, clock }: World,
  client: Partial<NewClient> & { readonly id: string },
  algorithm = 'ES256',
): Promise<SigningClient> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: `key of ${client.id}` };
  await storage.clients.add({
    ...CLIENTS.web,
    secrets: [await server.operator.hashClientSecret(secretOf(client.id))],
    ...client,
    metadata: { jwks: { keys: [jwk] }, ...client.metadata },
  });
  return {
    publicKey,
    privateKey,
    sign: (claims, header = {}) =>
      new SignJWT({ iss: client.id, aud: ISSUER, client_id: client.id, exp: clock.seconds + 60, ...claims })
        .setProtectedHeader({ alg: algorithm, kid: jwk.kid, typ: 'oauth-authz-req+jwt', ...header })
        .sign(privateKey),
  };
}
