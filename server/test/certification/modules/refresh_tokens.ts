import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { newSigningKey } from '../../harness/client_key.ts';
import { checkRefusal, checkTokens, type Tokens } from '../checks/token_response.ts';
import { type Client, clientOf } from '../client.ts';
import { partsOf } from '../jws.ts';
import { type Flow, type Parameters, type RelyingParty, randomText } from '../relying_party.ts';
import { present } from '../verdict.ts';
import type { Modules } from './module.ts';

/** Milliseconds after which the provider fetches a client's keys again, if it lacks one. */
const KEYS_COOL_DOWN = 10_000;

const REFRESHING = { grant_types: ['authorization_code', 'refresh_token'] };
const OFFLINE = { scope: 'openid offline_access', prompt: 'consent' };

/** A refresh request (OpenID Connect Core §12). */
export const REFRESH_TOKENS: Modules = {
  'oidcc-refresh-token': async (party) => {
    checkAnnounced(party);
    const [first, second] = [await clientOf(party, REFRESHING), await clientOf(party, REFRESHING)];
    await refreshes(party, first, { scope: OFFLINE.scope });
    const { refreshToken } = await refreshes(party, second, {});
    assert.equal(await checkRefusal(await refresh(party, first, refreshToken)), 'invalid_grant');
  },
  'oidcc-refresh-token-rp-key-rotation': async (party) => {
    checkAnnounced(party);
    const { site } = party.operator;
    const path = `/${randomText(9)}/jwks`;
    const serve = (key: Client['key']) =>
      site.put(path, JSON.stringify({ keys: [present(key, 'the key').publicKey] }), 'application/json');
    const [before, after] = [party.operator.clientKey, await keyNamed('after')];
    const client = await clientOf(party, { ...REFRESHING, jwks: undefined, jwks_uri: serve(before) });
    const { tokens } = await party.codeFlow(client, { request: OFFLINE });
    serve(after);
    await wait(KEYS_COOL_DOWN + 200);
    await checkTokens(await refresh(party, { ...client, key: after }, tokens.refreshToken));
  },
};

function checkAnnounced({ provider }: RelyingParty): void {
  assert.ok(provider.list('scopes_supported').includes('offline_access'));
  assert.ok(provider.list('grant_types_supported').includes('refresh_token'));
}

async function keyNamed(kid: string) {
  const { privateKey, publicKey } = await newSigningKey('RS256');
  return { privateKey, publicKey: { ...publicKey, kid } };
}

/**
 * A code flow and a refresh.
 * @returns the tokens of the refresh
 */
async function refreshes(party: RelyingParty, client: Client, more: Parameters): Promise<Tokens> {
  const flow = await party.codeFlow(client, { request: OFFLINE });
  await wait(1100); // so that the new ID token has another iat
  const tokens = await checkTokens(await refresh(party, client, flow.tokens.refreshToken, more));
  assert.notEqual(tokens.accessToken, flow.tokens.accessToken);
  await checkSameSignIn(party, client, flow, tokens);
  assert.equal((await party.userInfo(tokens)).status, 200);
  return tokens;
}

function refresh(
  party: RelyingParty,
  client: Client,
  refreshToken: string | undefined,
  more: Parameters = {},
): Promise<Response> {
  const fields = { grant_type: 'refresh_token', refresh_token: present(refreshToken, 'the refresh token') };
  return party.tokenRequest(client, { ...fields, ...more });
}

/** The ID token of a refresh is about the same sign-in, issued now (OpenID Connect Core §12.2). */
async function checkSameSignIn(
  party: RelyingParty,
  client: Client,
  { identity: first, request }: Flow,
  tokens: Tokens,
): Promise<void> {
  // It should have no nonce; if it has one, it is that of the request.
  const { nonce } = partsOf(tokens.idToken).claims;
  const again = await party.identityIn(client, tokens, nonce === undefined ? undefined : request.nonce);
  for (const name of ['iss', 'sub', 'aud', 'azp', 'auth_time', 'sid'])
    assert.deepEqual(again[name], first[name], name);
  assert.ok(Number(again.iat) > Number(first.iat), 'iat is later');
}
