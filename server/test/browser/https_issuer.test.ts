import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Application, startApplication } from '../harness/application.ts';
import { Chromium } from '../harness/chromium.ts';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { grantdPrints } from '../harness/commands.ts';
import { Workbench } from '../harness/program.ts';
import { startTlsProxy, type TlsProxy } from '../harness/tls_proxy.ts';
import { Visit } from './visit.ts';

describe('an https issuer in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const workbench = new Workbench();
  let proxy: TlsProxy;
  let application: Application;
  let chromium: Chromium;
  before(async () => {
    proxy = await startTlsProxy();
    application = await startApplication();
    application.put('/callback', '<!doctype html><title>Back at the shop</title>');
    const args = ['--demo', '--issuer', proxy.origin, '--trusted-proxies', '127.0.0.1'];
    const server = await workbench.start(workbench.folder(), args);
    proxy.leadTo(server.port);
    await grantdPrints(server.folder, [
      ...['client', 'add', 'shop', '--public', '--scope=openid', '--scope=profile'],
      `--redirect-uri=${application.origin}/callback`,
    ]);
    chromium = await Chromium.start();
  });
  after(async () => {
    await chromium?.close();
    proxy?.close();
    application?.close();
    await workbench.clear();
  });

  test('a user signs in and consents, with cookies that are bound to the host and to TLS', async () => {
    const redirectUri = `${application.origin}/callback`;
    const page = await chromium.page({ ignoreHTTPSErrors: true, javaScriptEnabled: false });
    const visit = new Visit(page, proxy.origin, { client_id: 'shop', redirect_uri: redirectUri });
    await visit.authorizeAndSignIn();
    const cookies = await visit.person.cookies();
    assert.ok(cookies.some(({ name }) => name === '__Host-grantd_session'));
    for (const { name, domain, path, secure, httpOnly, sameSite } of cookies) {
      assert.match(name, /^__Host-/);
      assert.deepEqual(
        { domain, path, secure, httpOnly, sameSite },
        { domain: 'localhost', path: '/', secure: true, httpOnly: true, sameSite: 'Lax' },
        name,
      );
    }
    await visit.page.click('#consent-allow');
    const parameters = await visit.arrivalAt(redirectUri);
    assert.equal(parameters.get('iss'), proxy.origin);
    assert.ok(parameters.has('code'));
  });
});
