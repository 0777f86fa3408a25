import assert from 'node:assert/strict';
import { CLAIMS_OF } from '../checks/standard_claims.ts';
import { checkClaims, checkUserInfo } from '../checks/user_info.ts';
import { clientOf } from '../client.ts';
import { verified } from '../jws.ts';
import type { RelyingParty } from '../relying_party.ts';
import type { Modules } from './module.ts';

/** UserInfo: requests, claims by scope and by the claims parameter, and response forms. */
export const USER_INFO: Modules = {
  'oidcc-userinfo-get': asks(() => ({ method: 'GET' })),
  'oidcc-userinfo-post-header': asks(() => ({ method: 'POST' })),
  'oidcc-userinfo-post-body': asks((accessToken) => ({
    method: 'POST',
    headers: {},
    body: new URLSearchParams({ access_token: accessToken }),
  })),
  'oidcc-scope-profile': tells('openid profile'),
  'oidcc-scope-email': tells('openid email'),
  'oidcc-scope-address': tells('openid address'),
  'oidcc-scope-phone': tells('openid phone'),
  'oidcc-scope-all': tells('openid email phone address profile'),
  'oidcc-alternate-happy-flow': tells('email openid'),
  'oidcc-claims-essential': async (party) => {
    assert.equal(party.provider.metadata.claims_parameter_supported, true);
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } });
    const { tokens, identity } = await party.codeFlow(await clientOf(party), { request: { claims } });
    const said = await checkUserInfo(await party.userInfo(tokens), identity.sub);
    if (said.name === undefined)
      party.remarks.warn('UserInfo has no name: it returns claims only within the granted scopes');
  },
  'oidcc-userinfo-rs256': async (party) => {
    assert.ok(party.provider.list('userinfo_signing_alg_values_supported').includes('RS256'));
    const client = await clientOf(party, { userinfo_signed_response_alg: 'RS256' });
    const { tokens, identity } = await party.tokenFlow(client);
    const response = await party.userInfo(tokens);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^application\/jwt(;|$)/);
    const { claims } = await verified(await response.text(), await party.provider.keys());
    checkClaims(claims, identity.sub);
    assert.equal(claims.iss, party.provider.issuer);
    assert.deepEqual([claims.aud].flat(), [client.id]);
  },
};

function asks(init: (accessToken: string) => RequestInit) {
  return async (party: RelyingParty) => {
    const { tokens, identity } = await party.codeFlow(await clientOf(party));
    await checkUserInfo(await party.userInfo(tokens, init(tokens.accessToken)), identity.sub);
  };
}

/** Exactly the claims of the scopes, since the user has them all. */
function tells(scope: string) {
  return async (party: RelyingParty) => {
    const scopes = scope.split(' ');
    const announced = party.provider.list('scopes_supported');
    for (const one of scopes) assert.ok(announced.includes(one), one);
    const { tokens, identity } = await party.codeFlow(await clientOf(party), { request: { scope } });
    const claims = await checkUserInfo(await party.userInfo(tokens), identity.sub);
    const expected = scopes.flatMap((one) => CLAIMS_OF[one] ?? []);
    assert.deepEqual(Object.keys(claims).sort(), expected.sort());
  };
}
