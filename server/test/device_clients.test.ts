// Every way to add a client for devices: public, and without a redirect URI. § refers to RFC 8628.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DEVICE_GRANT } from '@grantd/core';
import * as library from 'openid-client';
import { type Browser, isConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { COMMAND_LINE, enterCode } from './harness/devices.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, postForm } from './harness/protocol.ts';
import { discovered } from './harness/relying_party.ts';

const GRANTS = [DEVICE_GRANT, 'refresh_token'];
const SCOPE = 'openid offline_access';

for (const database of ANY_DATABASE) {
  describe(`clients for devices on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    let browser: Browser;
    before(async () => {
      const grants = ['--registration-grant-types', `authorization_code,${GRANTS}`];
      const options = ['--registration', 'token', ...grants, '--client-documents', 'open'];
      server = await workbench.start(await workbench.home(), [
        '--demo',
        '--insecure-development',
        ...options,
      ]);
      const person = await newPerson(server, 'ada');
      browser = person.browser;
      await browser.submit(await browser.get(`${server.url}/device`), person.who);
    });

    const prints = (...args: readonly string[]) => grantdPrints(server.folder, args);
    const isActive = async (token: string) => (await introspect(server.url, token)).active;

    /** From the codes to tokens, their refresh and their revocation. @returns the page that asked the user */
    async function wholeCourse(config: library.Configuration): Promise<string> {
      const given = await library.initiateDeviceAuthorization(config, { scope: SCOPE });
      const consent = await enterCode(browser, await browser.get(given.verification_uri), given);
      assert.ok(isConsent(consent), consent.html);
      await browser.submit(consent, { decision: 'allow' });
      const first = await library.pollDeviceAuthorizationGrant(config, { ...given, interval: 0 });
      assert.ok(first.claims()?.sub);
      const second = await library.refreshTokenGrant(config, first.refresh_token ?? '');
      assert.deepEqual(await Promise.all([first, second].map((one) => isActive(one.access_token))), [
        true,
        true,
      ]);
      await library.tokenRevocation(config, second.refresh_token ?? '');
      assert.deepEqual(await Promise.all([first, second].map((one) => isActive(one.access_token))), [
        false,
        false,
      ]);
      const again = library.refreshTokenGrant(config, second.refresh_token ?? '');
      await assert.rejects(again, { error: 'invalid_grant' });
      return consent.html;
    }

    test('§3.1 a client that the operator adds by command gets, refreshes and revokes tokens', async () => {
      await prints('client', 'add', 'added', ...COMMAND_LINE);
      await wholeCourse(await discovered(server, 'added', library.None()));
    });

    test('§3.1 a client of a file for apply gets, refreshes and revokes tokens', async () => {
      const client = { grant_types: GRANTS, token_endpoint_auth_method: 'none', scope: SCOPE };
      const file = JSON.stringify({ clients: { applied: client } });
      writeFileSync(join(server.folder, 'clients.yaml'), file);
      await prints('apply', '-f', 'clients.yaml', '--yes');
      await wholeCourse(await discovered(server, 'applied', library.None()));
    });

    test('§3.1 a client that registers itself gets the grant if the operator opens it, and users learn that it is unchecked', async () => {
      const initialAccessToken = await prints('client', 'registration-token');
      const metadata = { client_name: 'Box', grant_types: GRANTS, token_endpoint_auth_method: 'none' };
      const config = await library.dynamicClientRegistration(new URL(server.url), metadata, library.None(), {
        initialAccessToken,
        execute: [library.allowInsecureRequests],
      });
      const { grant_types, redirect_uris = [], response_types } = config.clientMetadata();
      assert.deepEqual([grant_types, redirect_uris, response_types], [GRANTS, [], []]);
      const asked = await wholeCourse(config);
      assert.match(asked, /id="registered-itself"/);
      assert.match(asked, /id="device-warning"/);
    });

    test('without that option, a registration with the grant keeps the others, and one with no other is refused', async () => {
      const folder = await workbench.home();
      const closed = await workbench.start(folder, ['--registration', 'open', '--insecure-development']);
      const register = async (members: object) =>
        (
          await fetch(`${closed.url}/register`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ token_endpoint_auth_method: 'none', ...members }),
          })
        ).json();
      const both = { grant_types: ['authorization_code', ...GRANTS], redirect_uris: ['http://127.0.0.1/'] };
      const { client_id, grant_types } = await register(both);
      assert.deepEqual(grant_types, ['authorization_code', 'refresh_token']);
      const request = await postForm(`${closed.url}/device_authorization`, { client_id });
      assert.deepEqual([request.status, (await request.json()).error], [400, 'unauthorized_client']);
      const refused = await register({ grant_types: GRANTS });
      assert.equal(refused.error, 'invalid_client_metadata');
      // The operator can allow it to one client.
      await grantdPrints(folder, [
        'client',
        'update',
        client_id,
        ...GRANTS.flatMap((grant) => ['--grant', grant]),
      ]);
      assert.equal((await postForm(`${closed.url}/device_authorization`, { client_id })).status, 200);
      await closed.stop();
    });

    test('a client with a document gets no codes, whatever its document lists', async () => {
      const site = createServer((_, response) => {
        const members = { client_id: id, grant_types: ['authorization_code', ...GRANTS] };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ ...members, redirect_uris: ['http://127.0.0.1/callback'] }));
      });
      await once(site.listen(0, '127.0.0.1'), 'listening');
      const id = `http://127.0.0.1:${(site.address() as AddressInfo).port}/client.json`;
      const request = async () => {
        const response = await postForm(`${server.url}/device_authorization`, {
          client_id: id,
          scope: SCOPE,
        });
        return [response.status, (await response.json()).error];
      };
      try {
        // Only an authorization fetches the document of a client that is not stored.
        assert.deepEqual(await request(), [401, 'invalid_client']);
        assert.notEqual((await grantd(server.folder, ['client', 'show', id])).code, 0);
        const client = { client_id: id, redirect_uri: 'http://127.0.0.1:50123/callback', scope: SCOPE };
        const consent = await browser.get(authorizationUrl(server.url, newPkce(), client));
        await browser.submit(consent, { decision: 'allow' });
        assert.deepEqual(await request(), [400, 'unauthorized_client']);
      } finally {
        site.close();
      }
    });
  });
}
