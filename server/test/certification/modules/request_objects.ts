// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { checkError } from '../checks/authorization_response.ts';
import { type Client, clientOf } from '../client.ts';
import { signed, unsigned } from '../jws.ts';
import { type Parameters, type RelyingParty, randomText } from '../relying_party.ts';
import { present } from '../verdict.ts';
import type { Modules } from './module.ts';

/** Requests in a JWT, by value and by reference (OpenID Connect Core §6). */
export const REQUEST_OBJECTS: Modules = {
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported': unsignedByValue,
  'oidcc-ensure-request-object-with-redirect-uri': unsignedByValue,
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported': skipsUnsigned,
  'oidcc-request-uri-unsigned': skipsUnsigned,
  'oidcc-request-uri-signed-rs256': async (party) => {
    const { provider } = party;
    assert.equal(provider.metadata.request_uri_parameter_supported, true);
    assert.ok(provider.list('request_object_signing_alg_values_supported').includes('RS256'));
    const path = `/requesturi/${randomText(72)}`;
    const uri = party.operator.site.put(path, '', 'application/jwt');
    const client = await clientOf(party, { request_uris: [uri], request_object_signing_alg: 'RS256' });
    await party.codeFlow(client, {
      async send(request) {
        const claims = { ...request, aud: provider.issuer, iss: client.id };
        party.operator.site.put(
          path,
          await signed(claims, present(client.key, 'the key')),
          'application/jwt',
        );
        return party.browser.get(party.addressOf({ ...beside(request), request_uri: uri }));
      },
    });
  },
};

/** Parameters that stay in the URL, because OAuth 2.0 requires them there (§6.1). */
function beside({ client_id = '', response_type = '', scope = '' }: Parameters): Parameters {
  return { client_id, response_type, scope };
}

/** The suite skips a provider that announces this. The refusal is checked here anyway. */
async function unsignedByValue(party: RelyingParty): Promise<void> {
  const client = await clientOf(party);
  const request = party.request(client);
  const address = party.addressOf({ ...beside(request), request: unsigned(request) });
  const { pages, page } = await party.authorize(request, () => party.browser.get(address));
  assert.deepEqual(pages, []);
  assert.equal(page.status, 400, 'without a redirect URI that counts, it is a page');
  await refusesUnsignedBesideRedirectUri(party, client);
  await skipsUnsigned(party);
}

async function refusesUnsignedBesideRedirectUri(party: RelyingParty, client: Client): Promise<void> {
  const request = party.request(client);
  const { parameters } = await party.authorize({ ...request, request: unsigned(request) });
  assert.ok(parameters);
  assert.equal(checkError(party.provider, parameters, request.state), 'invalid_request_object');
}

async function skipsUnsigned({ provider, remarks }: RelyingParty): Promise<void> {
  const algorithms = provider.list('request_object_signing_alg_values_supported');
  assert.equal(algorithms.includes('none'), false);
  remarks.skip('request_object_signing_alg_values_supported does not list none');
}
