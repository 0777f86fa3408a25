// § refers to OpenID Connect Dynamic Client Registration.
import assert from 'node:assert/strict';
import { isConsent, isLogin } from '../../harness/browser.ts';
import { clientOf, register, usualMetadata } from '../client.ts';
import { jsonOf } from '../provider.ts';
import { type RelyingParty, randomText } from '../relying_party.ts';
import type { Modules } from './module.ts';

/** A picture of one pixel (PNG). */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Registered metadata and their effect (OpenID Connect Dynamic Client Registration §2). */
export const REGISTRATION: Modules = {
  'oidcc-registration-logo-uri': async (party) => {
    const logo = party.operator.site.put('/logo.png', PICTURE, 'image/png');
    // The client is unchecked, so no page shows its logo (§2 only recommends it). The flow works anyway.
    const client = await clientOf(party, { logo_uri: logo });
    const page = await party.browser.get(party.addressOf(party.request(client)));
    assert.ok(isLogin(page) && !page.html.includes('/logo?'), page.html);
    await party.codeFlow(client);
  },
  'oidcc-registration-policy-uri': links('policy_uri'),
  'oidcc-registration-tos-uri': links('tos_uri'),
  'oidcc-registration-jwks-uri': async (party) => {
    const jwks = JSON.stringify({ keys: [party.operator.clientKey.publicKey] });
    const uri = party.operator.site.put(`/${randomText(9)}/jwks`, jwks, 'application/json');
    await party.codeFlow(await clientOf(party, { jwks: undefined, jwks_uri: uri }));
  },
  'oidcc-registration-sector-uri': async (party) => {
    const client = await clientOf(party, pairwise(party, [party.operator.redirectUri]));
    const { identity } = await party.codeFlow(client);
    const other = await party.codeFlow(await clientOf(party));
    assert.notEqual(identity.sub, other.identity.sub, 'the person is another one to other clients');
  },
  'oidcc-registration-sector-bad': async (party) => {
    const metadata = usualMetadata(party);
    const sector = pairwise(party, [`${party.operator.redirectUri}/another`]);
    const answer = await register(party, { ...metadata, ...sector });
    assert.equal(answer.status, 400);
    assert.equal((await jsonOf(answer)).error, 'invalid_client_metadata');
  },
};

/** A sector whose document lists these redirect URIs. */
function pairwise({ provider, operator }: RelyingParty, redirectUris: readonly string[]) {
  assert.ok(provider.list('subject_types_supported').includes('pairwise'));
  const path = `/${randomText(9)}/redirect_uris.json`;
  const uri = operator.site.put(path, JSON.stringify(redirectUris), 'application/json');
  return { subject_type: 'pairwise', sector_identifier_uri: uri };
}

function links(member: 'policy_uri' | 'tos_uri') {
  return async (party: RelyingParty) => {
    const uri = `https://rp.example/${member}`;
    const client = await clientOf(party, { [member]: uri });
    const page = await party.browser.get(party.addressOf(party.request(client)));
    const question = await party.browser.submit(page, { ...party.operator.person });
    assert.ok(isLogin(page) && isConsent(question), question.html);
    // The suite asks for a picture of the first page.
    for (const { html } of [page, question]) assert.match(html, new RegExp(`<a [^>]*href="${uri}"`));
  };
}
