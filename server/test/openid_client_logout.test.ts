import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as client from 'openid-client';
import { Browser } from './harness/browser.ts';
import { addClient } from './harness/clients.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { codeFlow, discovered } from './harness/relying_party.ts';

const REDIRECT_URI = 'http://localhost:4001/callback';
const AFTERWARDS = 'http://localhost:4001/bye';

const workbench = new Workbench();
after(() => workbench.clear());

describe('logout by openid-client', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
    await addClient(server, {
      id: 'leaving',
      grantTypes: ['authorization_code', 'refresh_token'],
      scopes: ['openid', 'profile', 'email', 'offline_access'],
      redirectUris: [REDIRECT_URI],
      metadata: { post_logout_redirect_uris: [AFTERWARDS] },
    });
  });

  /** @returns whether the session's refresh token still works after its end */
  async function outlives(scope: string): Promise<boolean> {
    const configuration = await discovered(server, 'leaving', client.None());
    const browser = new Browser(server.url);
    const tokens = await codeFlow(server, configuration, {
      browser,
      redirectUri: REDIRECT_URI,
      parameters: { scope, prompt: 'consent' },
    });
    assert.equal(typeof tokens.claims()?.sid, 'string');
    const url = client.buildEndSessionUrl(configuration, {
      id_token_hint: tokens.id_token ?? '',
      post_logout_redirect_uri: AFTERWARDS,
      state: 'bye-1',
    });
    const page = await browser.get(url.href);
    const left = page.html.includes('id="logout-yes"')
      ? await browser.submit(page, { decision: 'yes' })
      : page;
    assert.equal(left.url, `${AFTERWARDS}?state=bye-1`);
    return client.refreshTokenGrant(configuration, tokens.refresh_token ?? '').then(
      () => true,
      (error: unknown) => {
        if (error instanceof client.ResponseBodyError && error.error === 'invalid_grant') return false;
        throw error;
      },
    );
  }

  test('leads back with the state, and ends what the session granted', async () => {
    assert.equal(await outlives('openid profile'), false);
  });

  test('offline_access outlives the session', async () => {
    assert.equal(await outlives('openid profile offline_access'), true);
  });
});
