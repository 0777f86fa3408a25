import { createHash, randomBytes } from 'node:crypto';

/** Client requests as plain HTTP. */
export function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}

export async function postForm(
  url: string,
  fields: Readonly<Record<string, string>>,
  authorization?: string,
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    body: new URLSearchParams(fields),
    ...(authorization !== undefined && { headers: { authorization } }),
  });
}

/** Introspects a token as `demo-api`. */
export async function introspect(url: string, token: string): Promise<Record<string, unknown>> {
  const response = await postForm(`${url}/token/introspect`, { token }, basic('demo-api', 'demo-api-secret'));
  return (await response.json()) as Record<string, unknown>;
}

export async function userInfo(url: string, accessToken: string): Promise<Response> {
  return fetch(`${url}/userinfo`, { headers: { authorization: `Bearer ${accessToken}` } });
}

interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** An authorization request of `demo-web`. */
export function authorizationUrl(
  url: string,
  pkce: Pkce,
  parameters: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({
    client_id: 'demo-web',
    response_type: 'code',
    redirect_uri: 'http://localhost:4001/callback',
    scope: 'openid profile',
    state: 'state-1',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    ...parameters,
  });
  return `${url}/authorize?${query}`;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
}

/** Redeems a code as `demo-web` or as a public client. */
export async function redeem(
  url: string,
  pkce: Pkce,
  callback: URL,
  clientId = 'demo-web',
): Promise<Tokens & { readonly error?: string }> {
  const response = await postForm(
    `${url}/token`,
    {
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      redirect_uri:
        callback.origin === 'null'
          ? (callback.href.split('?')[0] ?? '')
          : callback.origin + callback.pathname,
      code_verifier: pkce.verifier,
      ...(clientId !== 'demo-web' && { client_id: clientId }),
    },
    clientId === 'demo-web' ? basic('demo-web', 'demo-web-secret') : undefined,
  );
  return (await response.json()) as Tokens;
}

/** The payload of a JWT. */
export function payloadOf(jwt: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(jwt?.split('.')[1] ?? '', 'base64url').toString());
}
