import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { checkRefusal } from '../checks/token_response.ts';
import { clientOf } from '../client.ts';
import { partsOf } from '../jws.ts';
import { type FlowChanges, type RelyingParty, randomText } from '../relying_party.ts';
import type { Modules } from './module.ts';

/** The code flow, and request parameters that must not matter. */
export const CODE_FLOW: Modules = {
  'oidcc-server': succeedsWith({}),
  'oidcc-server-client-secret-post': succeedsWith({}),
  'oidcc-idtoken-signature': async (party) => {
    const client = await clientOf(party, { id_token_signed_response_alg: undefined });
    checkSignature((await party.codeFlow(client)).tokens.idToken);
  },
  'oidcc-idtoken-rs256': async (party) => {
    const client = await clientOf(party, { id_token_signed_response_alg: 'RS256' });
    checkSignature((await party.codeFlow(client)).tokens.idToken);
  },
  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow': succeedsWith({ nonce: undefined }),
  'oidcc-display-page': succeedsWith({ display: 'page' }),
  'oidcc-display-popup': succeedsWith({ display: 'popup' }),
  'oidcc-ensure-request-with-unknown-parameter-succeeds': succeedsWith({ extra: 'foobar' }),
  'oidcc-login-hint': succeedsWith({ login_hint: 'someone@rp.example' }),
  'oidcc-ui-locales': succeedsWith({ ui_locales: 'se' }),
  'oidcc-claims-locales': succeedsWith({ claims_locales: 'se' }),
  'oidcc-ensure-request-with-acr-values-succeeds': async (party) => {
    const announced = party.provider.metadata.acr_values_supported;
    const asked = Array.isArray(announced) ? announced.map(String) : ['1', '2'];
    const { identity } = await succeeds(party, { request: { acr_values: asked.join(' ') } });
    assert.ok(asked.includes(String(identity.acr)), String(identity.acr));
  },
  'oidcc-ensure-request-with-valid-pkce-succeeds': async (party) => {
    const verifier = randomText(48);
    await succeeds(party, {
      request: {
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      },
      redemption: { code_verifier: verifier },
    });
  },
  'oidcc-ensure-post-request-succeeds': async (party) => {
    const endpoint = party.provider.at('authorization_endpoint');
    await succeeds(party, { send: (request) => party.browser.post(endpoint, request) });
  },
  'oidcc-codereuse': codeReuse(0),
  'oidcc-codereuse-30seconds': codeReuse(30),
};

async function succeeds(party: RelyingParty, changes: FlowChanges = {}) {
  const flow = await party.codeFlow(await clientOf(party), changes);
  assert.deepEqual(flow.pages, ['login', 'consent']);
  return flow;
}

function succeedsWith(request: NonNullable<FlowChanges['request']>) {
  return async (party: RelyingParty) => void (await succeeds(party, { request }));
}

/** A second use of a code is refused, however late, and revokes its tokens. */
function codeReuse(seconds: number) {
  return async (party: RelyingParty) => {
    const client = await clientOf(party);
    const { code, tokens } = await party.codeFlow(client);
    await wait(seconds * 1000);
    assert.equal(await checkRefusal(await party.redeem(client, code)), 'invalid_grant');
    assert.equal((await party.userInfo(tokens)).status, 401, 'RFC 6749 §4.1.2: its tokens are revoked');
  };
}

function checkSignature(idToken: string): void {
  const { alg, kid } = partsOf(idToken).header;
  assert.equal(alg, 'RS256');
  assert.equal(typeof kid, 'string');
}
