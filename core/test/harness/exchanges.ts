// Services that exchange tokens, each of which calls the next one.
import assert from 'node:assert/strict';
import { EXCHANGE_GRANT, type NewClient, tokenExchange } from '@grantd/core';
import { addClient, asClient, codeFor, issued, PKCE } from './token_endpoint.ts';
import type { TestResponse } from './transports/transport.ts';
import { type GrantedTokens, VERIFIER, type World, type WorldOptions } from './world.ts';

export const TYPE = 'urn:ietf:params:oauth:token-type:';
export const ACCESS_TOKEN = `${TYPE}access_token`;
export const WITH_EXCHANGE: WorldOptions = { tokenExchange: tokenExchange() };

export type Parameters = Readonly<Record<string, string>>;

/** Services, each of which calls the next one. */
const serviceOf = (id: string, resource: string, next: string) =>
  ({
    ...{ id, resource, grantTypes: [EXCHANGE_GRANT], scopes: ['read', 'write'], redirectUris: [] },
    metadata: { apis: [next, 'https://mail.example/v1'] },
  }) satisfies NewClient;
export const ORDERS = serviceOf('orders', 'https://api.example', 'https://billing.example');
export const BILLING = serviceOf('billing', 'https://billing.example', 'https://ledger.example');
export const LEDGER = serviceOf('ledger', 'https://ledger.example', 'https://api.example');

export function exchange(
  world: World,
  client: string,
  token: string,
  more: Parameters = {},
  headers: Parameters = {},
) {
  const form = { grant_type: EXCHANGE_GRANT, subject_token: token, subject_token_type: ACCESS_TOKEN };
  return asClient(world, client, { ...form, ...more }, headers);
}

export async function exchanged(
  world: World,
  client: string,
  token: string,
  more: Parameters = {},
): Promise<string> {
  return issued(await exchange(world, client, token, more)).access_token;
}

/** What alice's application gets. */
export async function tokensOfUser(
  world: World,
  more: Parameters = {},
  user = 'alice',
  signIn: { readonly acr?: string; readonly authTime?: number } = {},
): Promise<GrantedTokens> {
  const request = {
    ...{ client_id: 'web', redirect_uri: 'https://web.example/callback', ...PKCE },
    ...{ scope: 'openid read write', resource: 'https://api.example', ...more },
  };
  const form = { grant_type: 'authorization_code', redirect_uri: request.redirect_uri };
  const code = await codeFor(world, request, user, signIn);
  return issued(await asClient(world, 'web', { ...form, code, code_verifier: VERIFIER }));
}

/** As `issued`, of a response that also has a nonce for proofs. */
export function tokensIn({ status, body }: TestResponse): ReturnType<typeof issued> {
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

export interface Chain extends GrantedTokens {
  readonly orders: string;
  readonly billing: string;
  readonly ledger: string;
  /** Another one from the token of the application. */
  readonly aside: string;
}

export async function chainOf(world: World): Promise<Chain> {
  const tokens = await tokensOfUser(world);
  const orders = await exchanged(world, 'orders', tokens.access_token, {
    resource: 'https://billing.example',
  });
  const billing = await exchanged(world, 'billing', orders, { resource: 'https://ledger.example' });
  const ledger = await exchanged(world, 'ledger', billing, { resource: 'https://api.example' });
  const aside = await exchanged(world, 'orders', tokens.access_token, { audience: 'billing' });
  return { ...tokens, orders, billing, ledger, aside };
}

/** The names of the living tokens. */
export async function living(world: World, chain: Chain): Promise<string> {
  const names = ['refresh_token', 'access_token', 'orders', 'billing', 'ledger', 'aside'] as const;
  const alive = await world.alive(...names.map((name) => String(chain[name])));
  return names.filter((_, at) => alive[at]).join(' ');
}

/** A world with the services. */
export function withServices(run: (world: World) => Promise<void>) {
  return async (world: World) => {
    for (const client of [ORDERS, BILLING, LEDGER]) await addClient(world, client);
    await run(world);
  };
}
