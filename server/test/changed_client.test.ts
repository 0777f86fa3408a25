import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Browser, isConsent, isLogin, leavingLink, type Page, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type LogoutReceiver, openLogoutReceiver } from './harness/logout_receiver.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce, payloadOf, redeem } from './harness/protocol.ts';

const CALLBACK = 'https://stranger.example/cb';
const MEMBERS = {
  redirect_uris: [CALLBACK],
  scope: 'openid',
  client_name: 'Stranger',
  token_endpoint_auth_method: 'none',
};

interface Stranger {
  readonly client_id: string;
  readonly registration_client_uri: string;
  readonly registration_access_token: string;
}

/** Clients that register themselves and then change. */
for (const database of DATABASES) {
  describe(`clients that are registered anew between two steps, on ${database.name}`, {
    skip: database.absence,
  }, () => {
    const workbench = new Workbench(database);
    let server: RunningServer;
    let receiver: LogoutReceiver;
    before(async () => {
      receiver = await openLogoutReceiver();
      const args = ['--demo', '--registration', 'open', '--insecure-development'];
      server = await workbench.start(await workbench.home(), args);
    });
    after(async () => {
      await workbench.clear();
      await receiver.close();
    });

    const pkce = newPkce();
    const urlOf = ({ client_id }: Stranger, parameters: Readonly<Record<string, string>> = {}) =>
      authorizationUrl(server.url, pkce, { client_id, redirect_uri: CALLBACK, scope: '', ...parameters });
    /** For an unchecked client, errors leave by a link. */
    const answerOf = (page: Page) => {
      const url = leavingLink(page) ?? page.url;
      const { searchParams } = new URL(url);
      return searchParams.has('code') ? 'a code' : searchParams.get('error');
    };

    async function register(members: object = {}): Promise<Stranger> {
      const response = await fetch(`${server.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...MEMBERS, ...members }),
      });
      assert.equal(response.status, 201);
      return (await response.json()) as Stranger;
    }

    function registerAnew(stranger: Stranger, members: object): Promise<Response> {
      return fetch(stranger.registration_client_uri, {
        method: 'PUT',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${stranger.registration_access_token}`,
        },
        body: JSON.stringify({ client_id: stranger.client_id, ...MEMBERS, ...members }),
      });
    }

    test('the user allows exactly what the page showed, whatever the client registers meanwhile', async () => {
      const { who, browser } = await newPerson(server, 'ada');
      const stranger = await register();
      const page = await browser.submit(await browser.get(urlOf(stranger)), who);
      assert.ok(isConsent(page));
      assert.equal(
        (await registerAnew(stranger, { scope: 'openid profile email phone offline_access' })).status,
        200,
      );
      const again = await browser.submit(page, { decision: 'allow' });
      assert.ok(isConsent(again), 'the client is another one: the person is asked about that one');
      const left = new URL((await browser.submit(again, { decision: 'allow' })).url);
      const tokens = await redeem(server.url, pkce, left, stranger.client_id);
      assert.equal(JSON.parse(JSON.stringify(tokens)).scope, 'openid');
      assert.ok(isConsent(await browser.get(urlOf(stranger, { scope: 'openid profile' }))));
    });

    test('the user’s answer is for the application that the page named', async () => {
      const { who, browser } = await newPerson(server, 'bea');
      const stranger = await register();
      const page = await browser.submit(await browser.get(urlOf(stranger)), who);
      await registerAnew(stranger, { client_name: 'Another name' });
      const again = await browser.submit(page, { decision: 'allow' });
      assert.ok(isConsent(again));
      assert.match(again.html, /Another name/);
      assert.equal(answerOf(await browser.submit(again, { decision: 'allow' })), 'a code');

      const outdated = await browser.get(urlOf(stranger, { prompt: 'consent' }));
      await registerAnew(stranger, { client_name: 'One more name' });
      assert.equal(answerOf(await browser.submit(outdated, { decision: 'deny' })), 'access_denied');
    });

    test('a client’s secret that is used or rotated meanwhile asks the user nothing again', async () => {
      const { who, browser } = await newPerson(server, 'bob');
      const url = authorizationUrl(server.url, pkce, { scope: 'openid profile' });
      const page = await browser.submit(await browser.get(url), who);
      assert.ok(isConsent(page));
      await grantdPrints(server.folder, ['client', 'rotate-secret', 'demo-web', '--overlap', '3600']);
      assert.equal(answerOf(await browser.submit(page, { decision: 'allow' })), 'a code');
    });

    test('a self-registered client needs consent again after any change', async () => {
      const { who, browser } = await newPerson(server, 'bess');
      const stranger = await register();
      await signInAndConsent(browser, urlOf(stranger), who);
      assert.equal(answerOf(await browser.get(urlOf(stranger, { prompt: 'none' }))), 'a code');
      const redirect_uris = ['https://quite-other.example/x'];
      await registerAnew(stranger, { client_name: 'Quite Other', redirect_uris });
      const [redirect_uri = ''] = redirect_uris;
      const silent = await browser.get(urlOf(stranger, { redirect_uri, prompt: 'none' }));
      assert.equal(answerOf(silent), 'login_required');
      const page = await browser.get(urlOf(stranger, { redirect_uri }));
      assert.ok(isConsent(page));
      assert.equal(answerOf(await browser.submit(page, { decision: 'allow' })), 'a code');
      assert.equal(answerOf(await browser.get(urlOf(stranger, { redirect_uri, prompt: 'none' }))), 'a code');
    });

    test('an answer to one question does not answer another, whatever the URL says', async () => {
      const { who, browser } = await newPerson(server, 'cleo');
      const stranger = await register();
      const page = await browser.submit(await browser.get(urlOf(stranger)), who);
      await registerAnew(stranger, { client_name: 'Another name' });
      const fresh = await browser.get(page.url);
      const [old, current] = [page, fresh].map(({ html }) => /question=([\w-]+)/.exec(html)?.[1] ?? '');
      assert.ok(old && current && old !== current);
      const forged = { ...page, html: page.html.replace(old, current) };
      assert.equal((await browser.submit(forged, { decision: 'allow' })).status, 403);
    });

    test('a scope that the client has lost when the user answers is left out, and the user is asked again', async () => {
      const { who, browser } = await newPerson(server, 'dora');
      const stranger = await register({ scope: 'openid email' });
      const page = await browser.submit(await browser.get(urlOf(stranger)), who);
      await registerAnew(stranger, { scope: 'openid' });
      const again = await browser.submit(page, { decision: 'allow' });
      assert.ok(isConsent(again));
      assert.equal(answerOf(await browser.submit(again, { decision: 'allow' })), 'a code');
    });

    test('with prompt=none a client learns nothing about a user who never consented', async () => {
      const { who, browser } = await newPerson(server, 'eve');
      const own = await register();
      const left = await signInAndConsent(browser, urlOf(own), who);
      const { sub } = payloadOf((await redeem(server.url, pkce, left, own.client_id)).id_token);
      const stranger = await register({ client_name: 'Spy' });
      const meaning = (value: unknown) => ({ claims: JSON.stringify({ id_token: { sub: { value } } }) });
      const asked = [{}, meaning(sub), meaning('somebody else'), { max_age: '0' }, { max_age: '9999' }];
      for (const parameters of asked) {
        for (const one of [browser, new Browser(server.url)])
          assert.equal(
            answerOf(await one.get(urlOf(stranger, { prompt: 'none', ...parameters }))),
            'login_required',
            JSON.stringify(parameters),
          );
      }
      const silent = (parameters: Readonly<Record<string, string>>) =>
        browser.get(urlOf(own, { prompt: 'none', ...parameters }));
      assert.equal(answerOf(await silent(meaning(sub))), 'a code');
      assert.equal(answerOf(await silent(meaning('somebody else'))), 'login_required');
    });

    test('OpenID Connect Core §8.1 a client with pairwise subjects cannot move to another host, nor get logout tokens there', async () => {
      const pairwise = { subject_type: 'pairwise' };
      const stranger = await register(pairwise);
      for (const members of [
        { ...pairwise, redirect_uris: ['https://victim.example/cb'] },
        { subject_type: 'public' },
        {},
        { ...pairwise, backchannel_logout_uri: 'https://elsewhere.example/logout' },
      ]) {
        const response = await registerAnew(stranger, members);
        assert.deepEqual([response.status, (await response.json()).error], [400, 'invalid_client_metadata']);
      }
      const redirect_uris = ['https://stranger.example/another'];
      const backchannel_logout_uri = 'https://stranger.example/logout';
      const fine = await registerAnew(stranger, { ...pairwise, redirect_uris, backchannel_logout_uri });
      assert.equal(fine.status, 200);
    });

    test('Back-Channel Logout §2.4 a logout token has the sub and sid that the client received', async () => {
      const { who, browser } = await newPerson(server, 'fay');
      const clients = ['one', 'two'].map((name) => ({ name, callback: `https://${name}.example/cb` }));
      const told = [];
      for (const { name, callback } of clients) {
        await grantdPrints(server.folder, [
          ...['client', 'add', name, '--public', '--scope', 'openid', '--redirect-uri', callback],
          ...[
            '--subject-type',
            'pairwise',
            '--backchannel-logout-uri',
            receiver.url,
            '--insecure-development',
          ],
        ]);
        const url = authorizationUrl(server.url, pkce, {
          client_id: name,
          redirect_uri: callback,
          scope: 'openid',
        });
        const page = await browser.get(url);
        const next = isLogin(page) ? await browser.submit(page, who) : page;
        const left = new URL((await browser.submit(next, { decision: 'allow' })).url);
        told.push(payloadOf((await redeem(server.url, pkce, left, name)).id_token));
      }
      assert.equal(new Set(told.map(({ sub }) => sub)).size, 2);
      assert.equal(new Set(told.map(({ sid }) => sid)).size, 2, 'sectors do not share a session either');
      await grantdPrints(server.folder, [
        ...[
          'client',
          'update',
          'one',
          '--redirect-uri',
          'https://moved.example/cb',
          '--insecure-development',
        ],
      ]);

      const question = await browser.get(`${server.url}/logout?id_token_hint=`);
      await browser.submit(question, { decision: 'yes' });
      await until(() => receiver.heard.length === 2, 'both hear of it');
      const named = (tokens: readonly Readonly<Record<string, unknown>>[]) =>
        tokens.map(({ aud, sub, sid }) => `${aud} ${sub} ${sid}`).sort();
      assert.deepEqual(named(receiver.heard), named(told));
    });

    test('RP-Initiated Logout §2 the session of a pairwise client’s ID token is the one that is signed in', async () => {
      const { who, browser } = await newPerson(server, 'gwen');
      const client = { client_id: 'two', redirect_uri: 'https://two.example/cb', scope: 'openid' };
      const left = await signInAndConsent(browser, authorizationUrl(server.url, pkce, client), who);
      const { id_token = '' } = await redeem(server.url, pkce, left, 'two');
      const done = await browser.get(
        `${server.url}/logout?${new URLSearchParams({ id_token_hint: id_token })}`,
      );
      assert.match(done.html, /You are signed out/, 'nobody was asked');
    });
  });
}
