import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ALICE,
  Browser,
  hiddenFields,
  isConsent,
  isLogin,
  type Page,
  signInAndConsent,
} from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import {
  authorizationUrl,
  basic,
  introspect,
  newPkce,
  payloadOf,
  postForm,
  redeem,
} from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

const SPA = { client_id: 'demo-spa', redirect_uri: 'http://localhost:4002/callback' };
const APP = { client_id: 'phone-app', redirect_uri: 'com.example.app:/callback' };

for (const database of ANY_DATABASE) {
  describe(`consent and single sign-on on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
      await withDatabaseOf(server, async ({ storage }) => {
        await storage.clients.add({
          id: 'phone-app',
          grantTypes: ['authorization_code', 'refresh_token'],
          scopes: ['openid', 'profile', 'offline_access'],
          redirectUris: [APP.redirect_uri],
          metadata: { token_endpoint_auth_method: 'none' },
        });
      });
    });

    const pkce = newPkce();
    const urlWith = (parameters: Readonly<Record<string, string>> = {}) =>
      authorizationUrl(server.url, pkce, parameters);
    const errorOf = ({ url }: Page) => new URL(url).searchParams.get('error');

    /** The clients in a user's consents, as the operator sees them. */
    async function consentsOf(name: string): Promise<readonly string[]> {
      const shown = JSON.parse(await grantdPrints(server.folder, ['user', 'show', name, '--json']));
      return shown.consents.map(({ client_id: id }: { readonly client_id: string }) => id);
    }

    test('consent is not asked for again in any browser, unless more is requested', async () => {
      const { who, browser } = await newPerson(server, 'ada');
      const first = await browser.submit(await browser.get(urlWith()), who);
      assert.ok(isConsent(first));
      await browser.submit(first, { decision: 'allow' });
      for (const parameters of [{}, { scope: 'openid' }, { prompt: 'none' }]) {
        const left = new URL((await browser.get(urlWith(parameters))).url);
        assert.equal(left.origin, 'http://localhost:4001');
        assert.ok(left.searchParams.has('code'));
      }
      const wider = await browser.get(urlWith({ scope: 'openid profile email' }));
      assert.ok(isConsent(wider));
      await browser.submit(wider, { decision: 'deny' });
      assert.ok(isConsent(await browser.get(urlWith({ scope: 'openid email' }))), 'no is no consent');
      const again = await browser.get(urlWith({ scope: 'openid profile email' }));
      await browser.submit(again, { decision: 'allow' });

      const other = new Browser(server.url);
      const straight = await other.submit(await other.get(urlWith({ scope: 'openid email' })), who);
      assert.equal(new URL(straight.url).origin, 'http://localhost:4001');
    });

    test('scopes allowed for one API need consent again for another', async () => {
      const { who, browser } = await newPerson(server, 'abe');
      const [bank, mail] = ['https://bank.example', 'https://mail.example'];
      for (const [id, resource] of [
        ['bank', bank],
        ['mail', mail],
      ] as const)
        await grantdPrints(server.folder, ['client', 'add', id, '--resource', resource]);
      const client = { client_id: 'agent', redirect_uri: 'https://agent.example/cb' };
      const add = ['client', 'add', 'agent', '--public', '--redirect-uri', client.redirect_uri];
      await grantdPrints(server.folder, [
        ...[...add, '--scope', 'read', '--scope', 'write'],
        ...['--api', bank, '--api', mail],
      ]);
      const asks = (scope: string, more: Readonly<Record<string, string>> = {}) =>
        urlWith({ ...client, scope, ...more });

      await signInAndConsent(browser, asks('read', { resource: bank }), who);
      const mailConsent = await browser.get(asks('write', { resource: mail }));
      assert.ok(isConsent(mailConsent));
      await browser.submit(mailConsent, { decision: 'allow' });
      for (const asked of [asks('read', { resource: bank }), asks('write', { resource: mail })])
        assert.ok(new URL((await browser.get(asked)).url).searchParams.has('code'));
      for (const asked of [
        { scope: 'write', resource: bank },
        { scope: 'read', resource: mail },
        { scope: 'read write' },
      ]) {
        const { scope, ...more } = asked;
        const silent = await browser.get(asks(scope, { ...more, prompt: 'none' }));
        assert.equal(errorOf(silent), 'consent_required', JSON.stringify(asked));
      }
      const account = await browser.get(`${server.url}/account`);
      assert.equal([...account.html.matchAll(/class="agreed"/g)].length, 2);
    });

    test('offline_access needs consent once, even if the user agreed to everything else', async () => {
      const { who, browser } = await newPerson(server, 'bea');
      await signInAndConsent(browser, urlWith(), who);
      const scope = 'openid profile offline_access';
      assert.equal(errorOf(await browser.get(urlWith({ scope, prompt: 'none' }))), 'consent_required');
      const asked = await browser.get(urlWith({ scope, prompt: 'consent' }));
      assert.ok(isConsent(asked));
      const callback = new URL((await browser.submit(asked, { decision: 'allow' })).url);
      assert.ok((await redeem(server.url, pkce, callback)).refresh_token);
    });

    test('a new client with the identifier of a removed one has no consent', async () => {
      const { who, browser } = await newPerson(server, 'bess');
      const client = { client_id: 'brief', redirect_uri: 'https://brief.example/cb', scope: 'openid' };
      const add = ['client', 'add', 'brief', '--public', '--scope', 'openid', '--redirect-uri'];
      await grantdPrints(server.folder, [...add, client.redirect_uri]);
      await signInAndConsent(browser, urlWith(client), who);
      assert.ok(new URL((await browser.get(urlWith(client))).url).searchParams.has('code'));
      await grantdPrints(server.folder, ['client', 'remove', 'brief', '--yes']);

      const other = { ...client, redirect_uri: 'https://other.example/cb' };
      await grantdPrints(server.folder, [...add, other.redirect_uri]);
      assert.deepEqual(await consentsOf('bess'), []);
      assert.equal(errorOf(await browser.get(urlWith({ ...other, prompt: 'none' }))), 'login_required');
      const asked = await browser.get(urlWith(other));
      assert.ok(isConsent(asked));
      await browser.submit(asked, { decision: 'allow' });
      assert.ok(new URL((await browser.get(urlWith(other))).url).searchParams.has('code'));
      assert.deepEqual(await consentsOf('bess'), ['brief']);
    });

    test('a client whose tokens were all revoked, or that was disabled, needs consent again', async () => {
      const { who, browser } = await newPerson(server, 'bo');
      const client = { client_id: 'ended', redirect_uri: 'https://ended.example/cb', scope: 'openid' };
      const add = ['client', 'add', 'ended', '--public', '--scope', 'openid', '--redirect-uri'];
      await grantdPrints(server.folder, [...add, client.redirect_uri]);
      await signInAndConsent(browser, urlWith(client), who);
      for (const ends of [[['token', 'revoke', '--client', 'ended']], ['disable', 'enable']]) {
        for (const end of ends)
          await grantdPrints(server.folder, typeof end === 'string' ? ['client', end, 'ended'] : end);
        assert.deepEqual(await consentsOf('bo'), []);
        assert.doesNotMatch((await browser.get(`${server.url}/account`)).html, /value="ended"/);
        const asked = await browser.get(urlWith(client));
        assert.ok(isConsent(asked));
        await browser.submit(asked, { decision: 'allow' });
        assert.match((await browser.get(`${server.url}/account`)).html, /value="ended"/);
      }
    });

    test('a consent page is answered once, even if it is sent twice at the same time', async () => {
      const { who, browser } = await newPerson(server, 'carl');
      const login = await browser.get(urlWith());
      const consent = await browser.submit(login, who);
      assert.ok(isConsent(consent));
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => browser.submit(consent, { decision: 'allow' })),
      );
      const codes = answers.map(({ url }) => new URL(url).searchParams.get('code'));
      assert.equal(new Set(codes).size, 1, 'each press gets the one code');
      for (const other of [{ decision: 'deny' }, { decision: 'allow', again: 'in another window' }]) {
        const page = await browser.submit(consent, other);
        assert.equal(page.status, 400);
        assert.match(page.html, /You have already allowed this/);
      }
      const again = await browser.get(login.url);
      assert.match(again.html, /You have already answered this/, 'back to the sign-in page');
      await redeem(server.url, pkce, new URL(answers[0]?.url ?? ''));
    });

    test('another answer to an answered request says what was decided, and decides nothing', async () => {
      for (const [first, second, title] of [
        ['allow', 'deny', /You have already allowed this/],
        ['deny', 'allow', /You have already denied this/],
        ['deny', 'deny', /You have already denied this/],
      ] as const) {
        const name = `${first}-${second}`;
        const { who, browser } = await newPerson(server, name);
        const consent = await browser.submit(await browser.get(urlWith()), who);
        assert.ok(isConsent(consent));
        const { url } = await browser.submit(consent, { decision: first });
        const before = await consentsOf(name);
        assert.deepEqual(before, first === 'allow' ? ['demo-web'] : []);
        const page = await browser.submit(consent, { decision: second, again: 'after the back button' });
        assert.equal(page.status, 400);
        assert.match(page.html, title);
        const [, way] = /id="to-application" class="button primary" href="([^"]*)"/.exec(page.html) ?? [];
        assert.equal(way, `${new URL(url).origin}/`, 'where the first answer led');
        assert.deepEqual(await consentsOf(name), before);
        if (first === 'allow') assert.ok((await redeem(server.url, pkce, new URL(url))).access_token);
      }
    });

    test('a page with a pushed request_uri can be reloaded before and after sign-in', async () => {
      const { who, browser } = await newPerson(server, 'cora');
      const query = Object.fromEntries(new URL(urlWith()).searchParams);
      const secret = basic('demo-web', 'demo-web-secret');
      const pushed = await postForm(`${server.url}/par`, query, secret);
      const { request_uri: requestUri } = await pushed.json();
      const address = `${server.url}/authorize?${new URLSearchParams({ client_id: 'demo-web', request_uri: requestUri })}`;
      for (let times = 0; times < 3; times++) assert.ok(isLogin(await browser.get(address)));
      await browser.submit(await browser.get(address), who);
      const consent = await browser.get(address);
      assert.ok(isConsent(consent));
      const callback = new URL((await browser.submit(consent, { decision: 'allow' })).url);
      assert.ok((await redeem(server.url, pkce, callback)).access_token);
      assert.equal((await browser.get(address)).status, 400);
    });

    test('a client with --no-consent needs no consent, except with prompt=consent', async () => {
      const { who, browser } = await newPerson(server, 'cyd');
      const client = { client_id: 'own', redirect_uri: 'https://own.example/cb', scope: 'openid' };
      const add = ['client', 'add', 'own', '--public', '--scope', 'openid', '--no-consent'];
      await grantdPrints(server.folder, [...add, '--redirect-uri', client.redirect_uri]);
      assert.match(await grantdPrints(server.folder, ['client', 'show', 'own']), /consent required\s+false/);
      const silent = urlWith({ ...client, prompt: 'none' });
      assert.equal(errorOf(await browser.get(silent)), 'login_required');
      const left = await browser.submit(await browser.get(urlWith(client)), who);
      assert.ok(new URL(left.url).searchParams.has('code'));
      assert.ok(new URL((await browser.get(silent)).url).searchParams.has('code'));
      assert.ok(isConsent(await browser.get(urlWith({ ...client, prompt: 'consent' }))));

      await grantdPrints(server.folder, ['client', 'update', 'own', '--consent', 'true']);
      assert.equal(errorOf(await browser.get(silent)), 'login_required');
      assert.ok(isConsent(await browser.get(urlWith(client))));
    });

    test('a scope with a text is shown in it, under the name of its API and in the reader’s language', async () => {
      const { who, browser } = await newPerson(server, 'dan');
      const run = (...args: readonly string[]) => grantdPrints(server.folder, [...args]);
      const resource = 'https://vault.example/api';
      await run('client', 'add', 'vault', '--resource', resource, '--name', 'Example Vault');
      const texts = [
        '--name',
        'Open your vault',
        '--name',
        '#de=Ihren Tresor öffnen',
        '--description',
        'Only to look',
      ];
      const added = JSON.parse(await run('scope', 'add', 'open', '--api', 'vault', ...texts, '--json'));
      const expected = {
        scope: 'open',
        api: 'vault',
        texts: { name: 'Open your vault', 'name#de': 'Ihren Tresor öffnen', description: 'Only to look' },
      };
      assert.deepEqual(added, expected);
      await run('scope', 'add', 'ring', '--name', 'Ring <your> bell');
      const client = { client_id: 'keys', redirect_uri: 'https://keys.example/cb' };
      await run(
        'client',
        'add',
        'keys',
        '--public',
        '--redirect-uri',
        client.redirect_uri,
        '--scope',
        'open',
        '--scope',
        'ring',
        '--scope',
        'plain',
        '--api',
        resource,
      );
      const asked = { ...client, scope: 'open ring plain', resource };
      const page = await browser.submit(await browser.get(urlWith(asked)), who);
      assert.match(
        page.html,
        /What you allow at <bdi class="name">Example Vault<\/bdi>[\s\S]*Open your vault[\s\S]*Only to look/,
      );
      assert.match(page.html, /Ring &lt;your&gt; bell/);
      assert.match(page.html, /<code>plain<\/code>/);
      assert.doesNotMatch(page.html, /<code>(open|ring|https:\/\/vault\.example\/api)<\/code>/);
      const german = await browser.get(urlWith({ ...asked, ui_locales: 'de' }));
      assert.match(
        german.html,
        /Was Sie damit bei <bdi class="name">Example Vault<\/bdi> erlauben[\s\S]*Ihren Tresor öffnen/,
      );
      await browser.submit(page, { decision: 'allow' });
      const account = () => browser.get(`${server.url}/account`);
      assert.match((await account()).html, /At <bdi class="name">Example Vault<\/bdi>[\s\S]*Open your vault/);

      await run(
        'scope',
        'update',
        'open',
        '--api',
        'vault',
        '--name',
        'Look into your vault',
        '--name',
        '#de=',
      );
      assert.deepEqual(JSON.parse(await run('scope', 'show', 'open', '--api', 'vault', '--json')), {
        ...expected,
        texts: { name: 'Look into your vault', description: 'Only to look' },
      });
      assert.match((await account()).html, /Look into your vault/);
      await run('scope', 'remove', 'open', '--api', 'vault');
      assert.deepEqual(JSON.parse(await run('scope', 'list', '--json')), [
        { scope: 'ring', texts: { name: 'Ring <your> bell' } },
      ]);
      assert.match((await account()).html, /<code>open<\/code>/);
    });

    test('scope texts are refused if they are unreadable, or for a client that is no API', async () => {
      for (const [args, code, message] of [
        [['add', 'x'], 2, /--name: expected a text/],
        [['add', 'x', '--name', '#de=Nur deutsch'], 2, /--name: expected a text without a language tag/],
        [['add', 'x', '--name', '#German=X', '--name', '#=X'], 2, /--name: #=X: expected '#de=TEXT'/],
        [['add', 'x', '--name', 'two\nlines'], 2, /expected one line of at most 100 characters/],
        [['add', 'x', '--name', 'x'.repeat(101)], 2, /at most 100 characters/],
        [['add', 'a b', '--name', 'X'], 2, /SCOPE: expected a scope without spaces and quotes/],
        [['add', 'x', '--name', 'X', '--api', 'nobody'], 1, /there is no client nobody/],
        [['add', 'x', '--name', 'X', '--api', 'demo-web'], 1, /demo-web is not an API/],
        [['update', 'x'], 2, /nothing to update/],
        [['update', 'x', '--name', 'X'], 1, /the scope x has no texts: grantd scope list/],
        [['show', 'x', '--api', 'demo-api'], 1, /the scope x of demo-api has no texts/],
        [['remove', 'x'], 1, /has no texts/],
      ] as const) {
        const outcome = await grantd(server.folder, ['scope', ...args]);
        assert.equal(outcome.code, code, `${args.join(' ')}: ${outcome.stderr}`);
        assert.match(outcome.stderr, message);
      }
      await grantdPrints(server.folder, ['scope', 'add', 'twice', '--name', 'X']);
      const again = await grantd(server.folder, ['scope', 'add', 'twice', '--name', 'Y']);
      assert.match(again.stderr, /the scope twice already has texts: change them with grantd scope update/);
      const update = ['scope', 'update', 'twice', '--name', ''];
      assert.match(
        (await grantd(server.folder, update)).stderr,
        /--name: the text without a language tag is required/,
      );
      await grantdPrints(server.folder, ['scope', 'remove', 'twice']);
    });

    test('prompt=consent asks again', async () => {
      const { who, browser } = await newPerson(server, 'cleo');
      await signInAndConsent(browser, urlWith(), who);
      assert.ok(isConsent(await browser.get(urlWith({ prompt: 'consent' }))));
    });

    test('RFC 8252 §8.6 an app that others can impersonate always needs consent', async () => {
      const { who, browser } = await newPerson(server, 'dora');
      await signInAndConsent(browser, urlWith(), who);
      const consent = await browser.get(urlWith(APP));
      assert.ok(isConsent(consent));
      assert.doesNotMatch(consent.html, /com\.example/);
      const left = await browser.submit(consent, { decision: 'allow' });
      assert.match(left.url, /^com\.example\.app:\/callback\?code=/);
      assert.ok(isConsent(await browser.get(urlWith(APP))));
      assert.equal(errorOf(await browser.get(urlWith({ ...APP, prompt: 'none' }))), 'consent_required');
    });

    test('one sign-in is enough for several applications, which learn of the same session', async () => {
      const { who, browser } = await newPerson(server, 'eve');
      const web = await redeem(server.url, pkce, await signInAndConsent(browser, urlWith(), who));
      const consent = await browser.get(urlWith(SPA));
      assert.ok(isConsent(consent), 'nobody has to sign in again');
      const callback = new URL((await browser.submit(consent, { decision: 'allow' })).url);
      const spa = await redeem(server.url, pkce, callback, 'demo-spa');
      const [one, other] = [payloadOf(web.id_token), payloadOf(spa.id_token)];
      assert.match(String(one.sid), /^[\w-]{22}$/);
      assert.equal(one.sid, other.sid);
      assert.equal(one.auth_time, other.auth_time);
    });

    test('a new sign-in of the same user continues the session, one of another user ends it', async () => {
      const { who, browser } = await newPerson(server, 'fay');
      const before = await redeem(server.url, pkce, await signInAndConsent(browser, urlWith(), who));
      const again = await browser.get(urlWith({ prompt: 'login' }));
      assert.ok(isLogin(again));
      const callback = new URL((await browser.submit(again, who)).url);
      const tokens = await redeem(server.url, pkce, callback);
      assert.equal(payloadOf(tokens.id_token).sid, payloadOf(before.id_token).sid);
      assert.equal((await introspect(server.url, before.access_token)).active, true);

      const login = await browser.get(urlWith({ prompt: 'login' }));
      const [, other = ''] = /id="change-person" href="([^"]*)"/.exec(login.html) ?? [];
      const form = await browser.get(new URL(other.replaceAll('&amp;', '&'), server.url).href);
      assert.ok(isLogin(form));
      assert.match(form.html, /<input id="username" name="username" value=""/);
      const next = await browser.submit(form, { ...ALICE });
      assert.ok(isConsent(next) || new URL(next.url).searchParams.has('code'));
      for (const token of [before.access_token, tokens.access_token])
        assert.equal((await introspect(server.url, token)).active, false);
    });

    test('select_account asks whether to continue as the signed-in user', async () => {
      const { who, browser } = await newPerson(server, 'gwen');
      await signInAndConsent(browser, urlWith(), who);
      const choice = await browser.get(urlWith({ prompt: 'select_account' }));
      assert.match(choice.html, /id="account-continue"/);
      assert.match(choice.html, /id="account-other"/);
      for (const page of ['/consent?', '/authorize?', '/login?'])
        assert.match(
          (await browser.get(choice.url.replace('/select?', page))).html,
          /id="account-continue"/,
          'it cannot be skipped',
        );
      const left = await browser.submit(choice, { account: 'continue' });
      assert.ok(new URL(left.url).searchParams.has('code'));

      const stranger = new Browser(server.url);
      assert.ok(isLogin(await stranger.get(choice.url)));
      assert.equal((await stranger.submit(choice, { account: 'continue' })).status, 200);
      assert.equal(errorOf(await browser.get(urlWith({ prompt: 'none' }))), null);
    });

    test('an id_token_hint of another user leads to a sign-in as that user', async () => {
      const { who, browser } = await newPerson(server, 'hope');
      const mine = await redeem(server.url, pkce, await signInAndConsent(browser, urlWith(), who));
      const others = await redeem(
        server.url,
        pkce,
        await signInAndConsent(new Browser(server.url), urlWith()),
      );
      const hint = (token = '') => ({ id_token_hint: token });
      const fits = await browser.get(urlWith({ prompt: 'none', ...hint(mine.id_token) }));
      assert.ok(new URL(fits.url).searchParams.has('code'));
      const differs = urlWith({ prompt: 'none', ...hint(others.id_token) });
      assert.equal(errorOf(await browser.get(differs)), 'login_required');

      const login = await browser.get(urlWith(hint(others.id_token)));
      assert.ok(isLogin(login));
      const wrong = await browser.submit(login, who);
      assert.equal(wrong.status, 403);
      assert.match(wrong.html, /requires a different account/);
      assert.ok(new URL((await browser.get(urlWith())).url).searchParams.has('code'), 'still signed in');
      const right = await browser.submit(wrong, { ...ALICE });
      assert.ok(new URL(right.url).searchParams.has('code'));
    });

    test('the parameters of a request cannot be read in the addresses of the pages, nor changed there', async () => {
      const browser = new Browser(server.url);
      const login = await browser.get(urlWith({ state: 'a-very-secret-state' }));
      const sealed = new URL(login.url).searchParams.get('pending') ?? '';
      const bytes = Buffer.from(sealed, 'base64url');
      assert.doesNotMatch(bytes.toString('latin1'), /demo-web|secret/);
      for (const at of [0, 12, bytes.length - 1]) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ 1;
        const page = await browser.get(`${server.url}/login?pending=${changed.toString('base64url')}`);
        assert.equal(page.status, 400);
      }
    });

    test('a request that is too long for the address of a page gets a page that says so', async () => {
      const fields = Object.fromEntries(new URL(urlWith()).searchParams);
      const browser = new Browser(server.url);
      const longest = await browser.post(`${server.url}/authorize`, { ...fields, state: 'x'.repeat(5000) });
      assert.ok(isLogin(longest));
      const page = await browser.post(`${server.url}/authorize`, { ...fields, state: '€'.repeat(5000) });
      assert.equal(page.status, 414);
      assert.match(page.html, /The request is too large/);
    });

    test('sessions and consents survive a restart', async () => {
      const own = await workbench.start(await workbench.home(), ['--demo']);
      const browser = new Browser(own.url);
      await signInAndConsent(browser, authorizationUrl(own.url, pkce));
      await own.stop();
      await workbench.start(own.folder, ['--demo', '--port', String(own.port)]);
      const left = await browser.get(authorizationUrl(own.url, pkce, { prompt: 'none' }));
      assert.ok(new URL(left.url).searchParams.has('code'));
    });

    test('a form of one page does not work on another', async () => {
      const { who, browser } = await newPerson(server, 'iris');
      await signInAndConsent(browser, urlWith(), who);
      const choice = await browser.get(urlWith({ prompt: 'select_account consent' }));
      const consent = await browser.submit(choice, { account: 'continue' });
      assert.ok(isConsent(consent));
      const { form_token: formToken = '' } = hiddenFields(choice);
      const forged = await browser.submit(consent, { form_token: formToken, decision: 'allow' });
      assert.equal(forged.status, 403);
    });
  });
}
