import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DEVICE_GRANT } from '@grantd/core';
import * as library from 'openid-client';
import { isConsent, isLogin } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { COMMAND_LINE, type Codes, deviceCodes, isCodeEntry, pollDevice } from './harness/devices.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { introspect } from './harness/protocol.ts';

for (const database of ANY_DATABASE) {
  describe(`the page for codes of devices on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
      await grantdPrints(server.folder, ['client', 'add', 'cli', ...COMMAND_LINE]);
    });

    const codes = (parameters = {}) => deviceCodes(server, parameters);
    const poll = (given: Codes) => pollDevice(server, given);

    test('a user signs in, enters the code, sees who asks and where from, and the device gets tokens', async () => {
      const { who, browser } = await newPerson(server, 'ada');
      const given = await codes();
      assert.equal((await poll(given)).error, 'authorization_pending');
      const login = await browser.get(given.verification_uri);
      assert.ok(isLogin(login));
      const entry = await browser.submit(login, who);
      assert.ok(isCodeEntry(entry), entry.url);
      const consent = await browser.submit(entry, {
        user_code: given.user_code.toLowerCase().replace('-', ' '),
      });
      assert.ok(isConsent(consent), consent.html);
      assert.match(consent.html, /id="device-warning"/);
      assert.match(consent.html, /id="device-origin">Requested [\s\S]*?127\.0\.0\.1/);
      const done = await browser.submit(consent, { decision: 'allow' });
      assert.match(done.url, /\/device\/approved$/);
      const { access_token } = await poll(given);
      assert.equal((await introspect(server.url, access_token)).active, true);
    });

    test('the link of a device fills in its code, and the user still decides: a denial ends the request', async () => {
      const { who, browser } = await newPerson(server, 'bea');
      const given = await codes();
      const entry = await browser.submit(await browser.get(given.verification_uri_complete), who);
      assert.ok(isCodeEntry(entry), entry.url);
      assert.match(entry.html, new RegExp(`value="${given.user_code}"`));
      assert.match(entry.html, new RegExp(`href="\\?user_code=${given.user_code}&amp;ui_language=de"`));
      const consent = await browser.submit(entry, { user_code: given.user_code });
      assert.ok(isConsent(consent));
      assert.match((await browser.submit(consent, { decision: 'deny' })).url, /\/device\/denied$/);
      assert.equal((await poll(given)).error, 'access_denied');
      const again = await browser.submit(await browser.get(given.verification_uri), {
        user_code: given.user_code,
      });
      assert.match(again.html, /id="problem"/);
    });

    test('each request of a device is asked about, also after an earlier consent, and by a trusted client', async () => {
      const { who, browser } = await newPerson(server, 'cleo');
      const add = ['client', 'add', 'own-cli', '--public', '--grant', DEVICE_GRANT];
      await grantdPrints(server.folder, [...add, '--scope', 'openid', '--no-consent']);
      await browser.submit(await browser.get((await codes()).verification_uri), who);
      for (const clientId of ['cli', 'cli', 'own-cli']) {
        const given = await codes({ client_id: clientId, scope: 'openid' });
        const entry = await browser.get(given.verification_uri);
        const consent = await browser.submit(entry, { user_code: given.user_code });
        assert.ok(isConsent(consent), clientId);
        await browser.submit(consent, { decision: 'allow' });
      }
    });

    test('wrong codes are limited for a user, and a right one does not count', async () => {
      const { who, browser } = await newPerson(server, 'dan');
      const given = await codes();
      const entry = await browser.submit(await browser.get(given.verification_uri), who);
      const letters = 'BCDFGHJKLM';
      for (const letter of letters)
        assert.equal((await browser.submit(entry, { user_code: letter.repeat(8) })).status, 400, letter);
      const limited = await browser.submit(entry, { user_code: given.user_code });
      assert.equal(limited.status, 429);
      assert.ok(!isConsent(limited));
      // Another user is not affected.
      const other = await newPerson(server, 'eve');
      const theirs = await other.browser.submit(await other.browser.get(given.verification_uri), other.who);
      assert.ok(isConsent(await other.browser.submit(theirs, { user_code: given.user_code })));
    });

    test('openid-client polls until the user has decided, and ending access in the account ends its tokens', async () => {
      const { who, browser } = await newPerson(server, 'fay');
      const config = await library.discovery(new URL(server.url), 'cli', undefined, library.None(), {
        execute: [library.allowInsecureRequests],
      });
      const given = await library.initiateDeviceAuthorization(config, { scope: 'openid notes:read' });
      const entry = await browser.submit(await browser.get(given.verification_uri), who);
      const consent = await browser.submit(entry, { user_code: given.user_code });
      await browser.submit(consent, { decision: 'allow' });
      const tokens = await library.pollDeviceAuthorizationGrant(config, { ...given, interval: 1 });
      assert.equal((await introspect(server.url, tokens.access_token)).active, true);
      const applications = await browser.get(`${server.url}/account/applications?end=cli`);
      await browser.submit(applications, { end_access: 'cli' });
      assert.equal((await introspect(server.url, tokens.access_token)).active, false);
    });
  });
}
