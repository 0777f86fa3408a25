// Clients that exchange tokens of users who sign in at the pages (docs/token_exchange.md).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EXCHANGE_GRANT } from '@grantd/core';
import { isConsent, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, introspect, newPkce, postForm, redeem } from './harness/protocol.ts';

const BILLING = 'https://billing.example';
const APPLICATION = { client_id: 'demo-spa', redirect_uri: 'http://localhost:4002/callback' };
const DESK = { client_id: 'desk', redirect_uri: 'http://localhost:4010/callback' };

for (const database of ANY_DATABASE) {
  describe(`consent to exchanges on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    let server: RunningServer;
    let secret = '';
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
      const add = (...args: string[]) => grantdPrints(server.folder, ['client', 'add', ...args]);
      await add(
        'billing',
        '--resource',
        BILLING,
        '--api-scope',
        'billing:write',
        '--api-scope',
        'billing:all',
      );
      const printed = await add(
        ...['desk', '--grant', EXCHANGE_GRANT, '--grant', 'authorization_code', '--api', BILLING],
        ...['--redirect-uri', DESK.redirect_uri, '--exchange-tokens-of', 'demo-spa'],
        ...['billing:write', 'billing:all'].flatMap((scope) => ['--scope', scope, '--exchange-scope', scope]),
        ...['--scope', 'openid'],
        ...['--exchange-consent-required', '--json'],
      );
      secret = JSON.parse(printed).client_secret;
    });
    after(() => workbench.clear());

    test('a client exchanges tokens of a user with their consent alone', async () => {
      const { who, browser } = await newPerson(server, 'consenting');
      const pkce = newPkce();
      const url = authorizationUrl(server.url, pkce, { ...APPLICATION, scope: 'openid api:read' });
      const tokens = await redeem(server.url, pkce, await signInAndConsent(browser, url, who), 'demo-spa');
      const exchange = async (scope = 'billing:write') => {
        const form = {
          ...{
            grant_type: EXCHANGE_GRANT,
            subject_token: tokens.access_token ?? '',
            resource: BILLING,
            scope,
          },
          subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        };
        const response = await postForm(`${server.url}/token`, form, basic('desk', secret));
        return { status: response.status, ...(await response.json()) };
      };
      const refusal = {
        ...{ status: 400, error: 'invalid_request' },
        error_description: 'the user has not consented to the client',
      };
      assert.deepEqual(await exchange(), refusal);
      await server.logged(({ reason }) => reason === 'exchange_consent_missing', 'why');

      const asking = { ...DESK, scope: 'billing:write', resource: BILLING };
      const page = await browser.get(authorizationUrl(server.url, newPkce(), asking));
      assert.ok(isConsent(page));
      assert.match(page.html, /billing:write/);
      await browser.submit(page, { decision: 'allow' });
      const token = (await exchange()).access_token;
      assert.equal((await introspect(server.url, token)).active, true);
      assert.deepEqual(await exchange('billing:write billing:all'), refusal);

      const account = await browser.get(`${server.url}/account`);
      const button = /<button id="end-access-desk" type="submit" name="([^"]*)" value="([^"]*)"/;
      const [, name = '', value = ''] = button.exec(account.html) ?? assert.fail(account.html);
      await browser.submit(account, { [name]: value });
      assert.deepEqual(await exchange(), refusal);
      assert.equal((await introspect(server.url, token)).active, false);
      assert.equal((await introspect(server.url, tokens.access_token)).active, true);
    });

    test('an ID token is exchanged until its user signs out', async () => {
      const { who, browser } = await newPerson(server, 'leaving');
      const pkce = newPkce();
      const asking = { ...DESK, scope: 'openid billing:write', resource: BILLING };
      const callback = await signInAndConsent(browser, authorizationUrl(server.url, pkce, asking), who);
      const ask = async (form: Readonly<Record<string, string>>) =>
        (await postForm(`${server.url}/token`, form, basic('desk', secret))).json();
      const { id_token } = await ask({
        ...{ grant_type: 'authorization_code', redirect_uri: DESK.redirect_uri },
        ...{ code: callback.searchParams.get('code') ?? '', code_verifier: pkce.verifier },
      });
      const exchange = () =>
        ask({
          ...{
            grant_type: EXCHANGE_GRANT,
            subject_token: id_token,
            resource: BILLING,
            scope: 'billing:write',
          },
          subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        });
      const token = (await exchange()).access_token;
      assert.equal((await introspect(server.url, token)).active, true);
      await browser.get(`${server.url}/logout?${new URLSearchParams({ id_token_hint: id_token })}`);
      assert.equal((await introspect(server.url, token)).active, false);
      assert.equal((await exchange()).error_description, 'the subject_token is not valid');
    });
  });
}
