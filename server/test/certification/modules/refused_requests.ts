import assert from 'node:assert/strict';
import { checkError } from '../checks/authorization_response.ts';
import { clientOf, register, usualMetadata } from '../client.ts';
import { jsonOf } from '../provider.ts';
import { type RelyingParty, randomText } from '../relying_party.ts';
import type { Modules } from './module.ts';

/** Invalid requests: the error is a page if the redirect URI cannot be trusted, otherwise it goes to the client. */
export const REFUSED_REQUESTS: Modules = {
  'oidcc-response-type-missing': async (party) => {
    // Without a response type, the response can only use the query (OAuth 2.0 Multiple Response Types §2.1).
    const request = party.request(await clientOf(party), {
      response_type: undefined,
      response_mode: undefined,
    });
    const { pages, page, parameters } = await party.authorize(request);
    assert.deepEqual(pages, []);
    if (parameters === undefined) assert.equal(page.status, 400);
    else {
      const error = checkError(party.provider, parameters, request.state);
      assert.ok(['invalid_request', 'unsupported_response_type'].includes(error), error);
    }
  },
  'oidcc-ensure-registered-redirect-uri': async (party) => {
    const client = await clientOf(party);
    await leadsNowhere(party, { ...client, redirectUri: `${client.redirectUri}/${randomText(10)}` });
  },
  'oidcc-redirect-uri-query-mismatch': async (party) => {
    const { redirectUri } = party.operator;
    const client = await clientOf(party, { redirect_uris: [`${redirectUri}?dummy1=lorem&dummy2=ipsum`] });
    await leadsNowhere(party, { ...client, redirectUri: `${redirectUri}?dummy1=lorem&dummy2=dolor` });
  },
  'oidcc-redirect-uri-query-added': async (party) => {
    const client = await clientOf(party);
    await leadsNowhere(party, { ...client, redirectUri: `${client.redirectUri}?foo=bar` });
  },
  'oidcc-redirect-uri-query-OK': async (party) => {
    const { redirectUri } = party.operator;
    await party.codeFlow(
      await clientOf(party, { redirect_uris: [`${redirectUri}?dummy1=lorem&dummy2=ipsum`] }),
    );
  },
  'oidcc-ensure-redirect-uri-in-authorization-request': async (party) => {
    const client = await clientOf(party);
    const { pages, page, parameters } = await party.authorize(
      party.request(client, { redirect_uri: undefined }),
    );
    assert.deepEqual(pages, []);
    assert.equal(parameters, undefined);
    assert.equal(page.status, 400);
  },
  'oidcc-redirect-uri-regfrag': async (party) => {
    const answer = await register(party, {
      ...usualMetadata(party),
      redirect_uris: [`${party.operator.redirectUri}#foobar`],
    });
    assert.equal(answer.status, 400);
    assert.equal((await jsonOf(answer)).error, 'invalid_redirect_uri');
  },
};

/** The provider shows an error page, and no client gets a response. */
async function leadsNowhere(
  party: RelyingParty,
  client: Parameters<RelyingParty['request']>[0],
): Promise<void> {
  const { pages, page, parameters } = await party.authorize(party.request(client));
  assert.deepEqual(pages, []);
  assert.equal(parameters, undefined);
  assert.equal(page.status, 400);
  assert.match(page.html, /redirect_uri/);
}
