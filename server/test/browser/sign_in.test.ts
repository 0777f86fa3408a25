import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Application, startApplication } from '../harness/application.ts';
import { ALICE } from '../harness/browser.ts';
import { Chromium } from '../harness/chromium.ts';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { grantdPrints, type RunningServer, Workbench } from '../harness/program.ts';
import { authorizationUrl, newPkce } from '../harness/protocol.ts';

describe('signing in with Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const workbench = new Workbench();
  let server: RunningServer;
  let application: Application;
  let chromium: Chromium;
  before(async () => {
    application = await startApplication();
    application.put('/callback', '<!doctype html><title>Back</title>');
    server = await workbench.start(workbench.folder(), ['--demo']);
    await grantdPrints(server.folder, [
      'client',
      'add',
      'shop',
      '--name=The shop',
      `--redirect-uri=${application.origin}/callback`,
      '--scope=openid',
      '--scope=profile',
    ]);
    chromium = await Chromium.start();
  });
  after(async () => {
    await chromium?.close();
    application?.close();
    await workbench.clear();
  });

  test('a person signs in and consents without JavaScript', async () => {
    const page = await chromium.page({ javaScriptEnabled: false });
    const redirectUri = `${application.origin}/callback`;
    await page.goto(
      authorizationUrl(server.url, newPkce(), { client_id: 'shop', redirect_uri: redirectUri }),
    );
    await page.fill('#username', ALICE.username);
    await page.fill('#password', ALICE.password);
    await page.click('#login-submit');
    await page.click('#consent-allow');
    await page.waitForURL(`${redirectUri}?**`);
    const { searchParams } = new URL(page.url());
    assert.deepEqual([...searchParams.keys()].sort(), ['code', 'iss', 'state']);
    assert.equal(searchParams.get('state'), 'state-1');
  });
});
