import assert from 'node:assert/strict';
import { checkKeys } from '../checks/keys.ts';
import type { Provider } from '../provider.ts';
import { KnownFailure } from '../verdict.ts';
import type { Module, Modules } from './module.ts';

/** The discovery document and the keys. */
export const DISCOVERY: Modules = {
  'oidcc-discovery-endpoint-verification': async ({ provider, variant }) => {
    checkMetadata(provider);
    checkKeys(await provider.keys());
    if (variant.registration === 'dynamic_client') {
      provider.at('registration_endpoint');
      checkDynamicProvider(provider);
    }
  },
  'oidcc-rp-initiated-logout-discovery-endpoint-verification': async ({ provider }) => {
    checkAddresses(provider);
    provider.at('end_session_endpoint');
  },
  'oidcc-backchannel-logout-discovery-endpoint-verification': async ({ provider }) => {
    checkAddresses(provider);
    provider.at('end_session_endpoint');
    assert.equal(provider.metadata.backchannel_logout_supported, true);
    assert.equal(provider.metadata.backchannel_logout_session_supported, true);
  },
  'oidcc-server-rotate-keys': rotateKeys,
  'oidcc-idtoken-unsigned': async ({ provider, remarks }) => {
    assert.equal(provider.list('id_token_signing_alg_values_supported').includes('none'), false);
    remarks.skip('id_token_signing_alg_values_supported does not list none');
  },
};

/** OpenID Connect Discovery §3, RFC 8414 §2. */
function checkMetadata(provider: Provider): void {
  const { issuer, metadata } = provider;
  checkAddresses(provider);
  for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri'])
    provider.at(name);
  assert.deepEqual(Object.keys(Object.fromEntries(new URL(issuer).searchParams)), []);
  assert.equal(new URL(issuer).hash, '');
  assert.ok(provider.list('response_types_supported').includes('code'));
  assert.ok(provider.list('grant_types_supported').includes('authorization_code'));
  assert.ok(provider.list('scopes_supported').includes('openid'));
  for (const scope of provider.list('scopes_supported')) assert.match(scope, /^[\x21\x23-\x5B\x5D-\x7E]+$/);
  const subjects = provider.list('subject_types_supported');
  assert.ok(subjects.length > 0 && subjects.every((type) => type === 'public' || type === 'pairwise'));
  for (const what of ['id_token', 'userinfo', 'request_object']) {
    assert.ok(provider.list(`${what}_signing_alg_values_supported`).includes('RS256'), what);
  }
  assert.ok(provider.list('claims_supported').includes('sub'));
  assert.ok(provider.list('code_challenge_methods_supported').includes('S256'));
  for (const name of [
    'claims_parameter_supported',
    'request_parameter_supported',
    'request_uri_parameter_supported',
  ])
    assert.equal(metadata[name], true, name);
}

/** Every URL is https and on the provider's host. */
function checkAddresses({ issuer, metadata }: Provider): void {
  for (const [name, url] of Object.entries(metadata)) {
    if (!name.endsWith('_endpoint') && name !== 'jwks_uri' && name !== 'issuer') continue;
    assert.ok(typeof url === 'string' && URL.canParse(url), name);
    assert.equal(new URL(url).protocol, 'https:', name);
    assert.equal(new URL(url).origin, new URL(issuer).origin, name);
  }
}

/** The requirements of OpenID Connect Core §15.2 for a dynamic provider. */
function checkDynamicProvider(provider: Provider): void {
  const types = provider.list('response_types_supported').map((type) => type.split(' ').sort().join(' '));
  const isComplete = ['code', 'id_token', 'id_token token'].every((type) => types.includes(type));
  if (!isComplete)
    throw new KnownFailure(
      'a dynamic provider must have the response types id_token and id_token token (OpenID Connect Core §15.2), and grantd refuses implicit responses',
    );
  assert.ok(provider.list('grant_types_supported').includes('implicit'));
}

/** After the operator rotates the keys, a new one signs, and the previous one still verifies. */
async function rotateKeys({ provider, operator }: Parameters<Module>[0]): Promise<void> {
  const before = await provider.keys();
  checkKeys(before);
  await operator.command(['keys', 'rotate', '--now', '--algorithm', 'RS256']);
  const after = await provider.keys();
  checkKeys(after);
  const known = new Set(before.map(({ kid }) => kid));
  const added = after.filter(({ kid }) => !known.has(kid));
  assert.ok(added.length > 0, 'there is a new key');
  // In tests, RSA keys have the same modulus and differ in their exponent.
  for (const { n, e } of added)
    assert.equal(
      before.some((key) => key.n === n && key.e === e),
      false,
      'it is another key',
    );
  for (const { kid } of before)
    assert.ok(
      after.some((key) => key.kid === kid),
      'the one before is still there',
    );
}
