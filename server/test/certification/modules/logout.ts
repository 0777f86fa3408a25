import assert from 'node:assert/strict';
import type { Page } from '../../harness/browser.ts';
import { until } from '../../harness/program.ts';
import { checkLogoutToken } from '../checks/logout_token.ts';
import { type Client, clientOf } from '../client.ts';
import { partsOf, signed, unsigned } from '../jws.ts';
import type { Flow, Parameters, RelyingParty } from '../relying_party.ts';
import type { Modules } from './module.ts';
import { longState, NEEDS_A_PAGE } from './sessions.ts';

/** RP-Initiated Logout, and the Back-Channel Logout that it causes. */
export const LOGOUT: Modules = {
  'oidcc-rp-initiated-logout': async (party) => {
    const state = longState();
    const { client, page } = await leave(party, ({ tokens }) => ({
      id_token_hint: tokens.idToken,
      post_logout_redirect_uri: party.operator.afterLogoutUri,
      state,
    }));
    checkLedBack(party, page, state);
    await checkSignedOut(party, client);
  },
  'oidcc-rp-initiated-logout-no-state': async (party) => {
    const { client, page } = await leave(party, ({ tokens }) => ({
      id_token_hint: tokens.idToken,
      post_logout_redirect_uri: party.operator.afterLogoutUri,
    }));
    checkLedBack(party, page, undefined);
    await checkSignedOut(party, client);
  },
  'oidcc-rp-initiated-logout-no-params': async (party) => signsOutOnAPage(party, () => ({})),
  'oidcc-rp-initiated-logout-only-state': async (party) =>
    signsOutOnAPage(party, () => ({ state: longState() })),
  'oidcc-rp-initiated-logout-no-post-logout-redirect-uri': async (party) =>
    signsOutOnAPage(party, ({ tokens }) => ({ id_token_hint: tokens.idToken, state: longState() })),
  'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri': leadsNowhere(({ operator }, { tokens }) => ({
    id_token_hint: tokens.idToken,
    post_logout_redirect_uri: `${operator.afterLogoutUri}/another`,
  })),
  'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri': leadsNowhere(
    ({ operator }, { tokens }) => ({
      id_token_hint: tokens.idToken,
      post_logout_redirect_uri: `${operator.afterLogoutUri}?foo=bar`,
    }),
  ),
  'oidcc-rp-initiated-logout-no-id-token-hint': leadsNowhere(({ operator }) => ({
    post_logout_redirect_uri: operator.afterLogoutUri,
  })),
  'oidcc-rp-initiated-logout-modified-id-token-hint': leadsNowhere(({ operator }, { tokens }) => ({
    id_token_hint: unsigned(partsOf(tokens.idToken).claims),
    post_logout_redirect_uri: operator.afterLogoutUri,
  })),
  'oidcc-rp-initiated-logout-bad-id-token-hint': leadsNowhere(async ({ operator }, { tokens }) => ({
    id_token_hint: await signed(partsOf(tokens.idToken).claims, operator.clientKey),
    post_logout_redirect_uri: operator.afterLogoutUri,
  })),
  'oidcc-backchannel-rp-initiated-logout': async (party) => {
    const state = longState();
    const { client, page, flow } = await leave(party, ({ tokens }) => ({
      id_token_hint: tokens.idToken,
      post_logout_redirect_uri: party.operator.afterLogoutUri,
      state,
    }));
    checkLedBack(party, page, state);
    const bodies = () => party.operator.site.bodiesAt('/backchannel_logout');
    await until(() => bodies().length > 0, 'the client is told');
    const [body = ''] = bodies();
    await checkLogoutToken(party.provider, client, new URLSearchParams(body), flow.identity);
    await checkSignedOut(party, client);
  },
};

type LogoutParameters = (flow: Flow) => Parameters | Promise<Parameters>;

/** Signs in, and opens the logout endpoint. */
async function leave(party: RelyingParty, parametersFor: LogoutParameters) {
  const client = await clientOf(party);
  const flow = await party.codeFlow(client);
  const parameters = new URLSearchParams(await parametersFor(flow));
  const page = await party.browser.get(`${party.provider.at('end_session_endpoint')}?${parameters}`);
  return { client, flow, page };
}

/** The browser is at the requested URI, with the state and nothing else (RP-Initiated Logout §3). */
function checkLedBack({ operator }: RelyingParty, page: Page, state: string | undefined): void {
  const { origin, pathname, searchParams, hash } = new URL(page.url);
  assert.equal(`${origin}${pathname}`, operator.afterLogoutUri);
  assert.deepEqual([...searchParams], state === undefined ? [] : [['state', state]]);
  assert.equal(hash, '');
}

/** No user is signed in any more. */
async function checkSignedOut(party: RelyingParty, client: Client): Promise<void> {
  const error = await party.refusedFlow(client, { request: { prompt: 'none', state: longState() } });
  assert.ok(NEEDS_A_PAGE.includes(error), error);
}

const isQuestion = ({ html }: Page) => html.includes('id="logout-yes"');

async function signsOutOnAPage(party: RelyingParty, parametersFor: LogoutParameters): Promise<void> {
  const { client, page } = await leave(party, parametersFor);
  const done = isQuestion(page) ? await party.browser.submit(page, { decision: 'yes' }) : page;
  assert.equal(new URL(done.url).origin, party.provider.issuer);
  assert.equal(done.status, 200);
  assert.match(done.html, /You are signed out/);
  await checkSignedOut(party, client);
}

/** The browser stays at the provider: on an error page, or on the question, whatever the user answers. */
function leadsNowhere(parametersFor: (party: RelyingParty, flow: Flow) => Parameters | Promise<Parameters>) {
  return async (party: RelyingParty) => {
    const { page } = await leave(party, (flow) => parametersFor(party, flow));
    assert.equal(new URL(page.url).origin, party.provider.issuer);
    if (!isQuestion(page)) {
      assert.equal(page.status, 400);
      return;
    }
    assert.equal(page.status, 200);
    const answered = await party.browser.submit(page, { decision: 'yes' });
    assert.equal(new URL(answered.url).origin, party.provider.issuer);
  };
}
