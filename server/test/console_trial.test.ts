// The console signs in with an application in the browser.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { type Browser, hiddenFields, isConsent, type Page } from './harness/browser.ts';
import { ISSUER, startConsole } from './harness/console_server.ts';

const CALLBACK = `${ISSUER}/console/try`;
const SPA = {
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  application_type: 'web',
  redirect_uris: ['https://app.example/cb', CALLBACK],
  scope: 'openid email offline_access',
};

describe('a sign-in with an application from the console', () => {
  let own: Awaited<ReturnType<typeof startConsole>>;
  let ada: Browser;
  /** Of a proxy. */
  const headers = { 'x-forwarded-for': '127.0.0.1' };

  before(async () => {
    own = await startConsole();
    await own.addUser('ada', ['admins'], { email: 'ada@example.com', email_verified: true });
    await own.addUser('grace', ['admins']);
    ada = await own.browserOf('ada', 0, headers);
  });
  after(() => own.close());

  const add = (id: string, members: object = {}) =>
    call(localCalls({ ...own.instance.actingAs('cli'), configuration: own.configuration }), 'addClient', {
      ...{ ...SPA, ...members, client_id: id },
    });

  const at = (path: string) => new URL(path, own.url).href;

  /** The same path and query, at the address where this server listens. */
  const here = (url: string) => at(url.slice(new URL(url).origin.length));

  /** Presses the button on the page of a client. @returns where it leads */
  async function begin(browser: Browser, id: string): Promise<string> {
    const page = await browser.get(at(`/console/clients?id=${id}`));
    assert.match(page.html, /id="try-here"/, page.html);
    return press(browser, page, id);
  }

  async function press(browser: Browser, page: Page, id: string): Promise<string> {
    return (await browser.post(at('/console/try'), { ...hiddenFields(page), id, do: 'begin' })).url;
  }

  /** Answers the request, with a decision if there is a consent page. @returns where it leads */
  async function answer(browser: Browser, request: string, decision = 'allow'): Promise<string> {
    const page = await browser.get(here(request));
    return (isConsent(page) ? await browser.submit(page, { decision }) : page).url;
  }

  /** The whole sign-in. */
  async function attempt(browser: Browser, id: string, decision = 'allow'): Promise<Page> {
    const back = await answer(browser, await begin(browser, id), decision);
    assert.ok(back.startsWith(`${CALLBACK}?`), back);
    return browser.get(here(back));
  }

  test('the answer shows what the application gets, and a revocation shows that it has ended', async () => {
    await add('notes');
    const request = new URL(await begin(ada, 'notes'));
    const parameters = Object.fromEntries(request.searchParams);
    assert.equal(request.pathname, '/authorize');
    assert.deepEqual(
      { ...parameters, state: '', nonce: '', code_challenge: '' },
      {
        ...{ client_id: 'notes', redirect_uri: CALLBACK, response_type: 'code', scope: SPA.scope },
        ...{ state: '', nonce: '', code_challenge: '', code_challenge_method: 'S256' },
      },
    );
    const page = await ada.get(here(await answer(ada, request.href)));
    assert.equal(page.status, 200, page.html);
    assert.match(page.html, /What the application gets/);
    assert.match(page.html, /ada@example\.com/);
    assert.match(page.html, /<code>nonce<\/code>/);
    assert.equal(page.html.includes(parameters.nonce ?? '-'), true, 'the ID token is for this request');
    // The page tells no token, and its address loses the code.
    assert.doesNotMatch(page.html, /eyJ[\w-]+\.eyJ|grantd_(?:at|rt)_/);
    assert.match(page.html, /<link rel="canonical" href="\/console\/try\?id=notes">/);
    const ended = await ada.post(at('/console/try'), { ...hiddenFields(page), do: 'revoke' });
    assert.equal(ended.status, 200, ended.html);
    assert.equal(ended.html.match(/\{&quot;active&quot;:false\}/g)?.length, 2, ended.html);
    assert.match(ended.html, /invalid_token/);
    assert.doesNotMatch(own.log(), /code=|eyJ/);
  });

  test('an answer of another browser, administrator or request is not redeemed', async () => {
    await add('foreign');
    const grace = await own.browserOf('grace', 0, headers);
    const path = here(await answer(ada, await begin(ada, 'foreign')));
    const refused = async (browser: Browser, url: string) => {
      const shown = await browser.get(url);
      assert.equal(shown.status, 400);
      assert.match(shown.html, /This sign-in was not begun here/);
    };
    await refused(grace, path);
    grace.cookies.set('grantd_trial', ada.cookies.get('grantd_trial') ?? '');
    await refused(grace, path);
    await begin(grace, 'foreign');
    await refused(grace, path);
    await refused(ada, path.replace(/state=[^&]+/, 'state=of-another-request'));
    await refused(ada, path.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fother.example'));
    const shown = await ada.get(path);
    assert.equal(shown.status, 200, 'no refusal has used up the code');
    await refused(ada, path);
  });

  test('a refused consent shows the error of the application', async () => {
    await add('refused', { consent_required: true });
    const page = await attempt(ada, 'refused', 'deny');
    assert.match(page.html, /The application gets nothing/);
    assert.match(page.html, /<code>access_denied<\/code>/);
    assert.doesNotMatch(page.html, /change-client/, 'no rule has refused');
  });

  test('a refusal names the groups and policies behind it, and leads to where they are changed', async () => {
    await own.instance.groups.add({ name: 'staff', description: '' }, Date.now());
    const plain = { description: '' };
    const strict = { ...plain, signInPolicy: 'second_factor_if_enrolled' } as const;
    await own.instance.groups.change('admins', strict, plain);
    await add('limited', { allowed_groups: ['staff'], sign_in_policy: 'phishing_resistant' });
    const edit = '<a id="change-client" class="button" href="/console/clients?id=limited&amp;ask=edit">';
    const denied = await ada.get(here(await begin(ada, 'limited')));
    const back = (await ada.submit(denied, {})).url;
    const refused = await ada.get(here(back));
    assert.match(refused.html, /<code>access_denied<\/code>[\s\S]*the user is in none of them/, refused.html);
    assert.ok(refused.html.includes('<a href="/console/groups?name=staff"><bdi>staff</bdi></a>'));
    assert.ok(refused.html.includes(edit));
    /** As the server answers the request. */
    const failed = async (error: string) => {
      const { searchParams } = new URL(await begin(ada, 'limited'));
      const query = new URLSearchParams({ error, state: searchParams.get('state') ?? '', iss: ISSUER });
      return (await ada.get(at(`/console/try?${query}`))).html;
    };
    const unmet = await failed('unmet_authentication_requirements');
    assert.match(unmet, /<a href="\/console\/groups\?name=admins">group admins<\/a>: Second factor, if/);
    assert.match(unmet, /<a href="\/console\/clients\?id=limited">client limited<\/a>: A passkey/);
    assert.ok(unmet.includes(edit));
    for (const error of ['invalid_scope', 'invalid_target'])
      assert.ok((await failed(error)).includes(edit), error);
    assert.doesNotMatch(await failed('temporarily_unavailable'), /change-client/);
    await own.instance.groups.change('admins', plain, strict);
  });

  test('RFC 9449 §5 tokens of a client that needs proofs of possession are bound', async () => {
    await add('bound', { dpop_bound_access_tokens: true });
    const page = await attempt(ada, 'bound');
    assert.match(page.html, /What the application gets/, page.html);
    assert.match(page.html, /<code>cnf<\/code>/);
  });

  test('RFC 9126 §5 a client that must push its requests is tried with a pushed one', async () => {
    await add('pushed', { require_pushed_authorization_requests: true });
    const request = new URL(await begin(ada, 'pushed'));
    assert.deepEqual([...request.searchParams.keys()].toSorted(), ['client_id', 'request_uri']);
    const page = await ada.get(here(await answer(ada, request.href)));
    assert.match(page.html, /What the application gets/);
  });

  test('a scope of an API that the client may not request is left out, with the reason', async () => {
    await add('api', {
      ...{ token_endpoint_auth_method: 'client_secret_basic', grant_types: [], redirect_uris: [] },
      ...{ scope: '', resource: 'https://photos.example', api_scopes: ['photos:read'] },
    });
    await add('curious', { scope: 'openid photos:read' });
    const page = await attempt(ada, 'curious');
    assert.match(
      page.html,
      /<code>photos:read<\/code>[\s\S]*may not request[\s\S]*https:\/\/photos\.example/,
    );
  });

  test('the answer names the scopes of an API of which the client has none', async () => {
    await add('notes-api', {
      ...{ token_endpoint_auth_method: 'client_secret_basic', grant_types: [], redirect_uris: [] },
      ...{ scope: '', resource: 'https://notes.example', api_scopes: ['notes:read', 'notes:write'] },
    });
    const apis = ['https://notes.example'];
    await add('unscoped', { scope: 'openid', apis });
    const says =
      /<code>https:\/\/notes\.example<\/code>[\s\S]*none of its scopes[\s\S]*<code>notes:write<\/code>/;
    assert.match((await attempt(ada, 'unscoped')).html, says);
    await add('scoped', { scope: 'openid notes:read', apis });
    assert.doesNotMatch((await attempt(ada, 'scoped')).html, /none of its scopes/);
  });

  test('what the console cannot do for a client is said, and no request begins', async () => {
    const cases = [
      ['without', { redirect_uris: ['https://app.example/cb'] }, 'ask-allow_trial'],
      [
        'signing',
        { require_signed_request_object: true, jwks_uri: 'https://app.example/jwks' },
        'must be signed',
      ],
      ['posting', { response_modes: ['form_post'] }, 'response modes'],
    ] as const;
    for (const [id, members, says] of cases) {
      await add(id, members);
      const page = await ada.get(at(`/console/clients?id=${id}`));
      assert.equal(page.html.includes(says), true, `${id}: ${page.html}`);
      assert.doesNotMatch(page.html, /id="try-here"/);
      assert.equal(await press(ada, page, id), at(`/console/clients?id=${id}`));
    }
    const elsewhere = await own.browserOf('ada');
    const page = await elsewhere.get(at('/console/clients?id=notes'));
    assert.match(
      page.html,
      /open the console at <a href="http:\/\/localhost:4000\/console\/clients\?id=notes">/,
    );
  });

  test('the form of a new application offers the scopes of the APIs, and adds them to its own', async () => {
    await add('tasks-api', {
      ...{ token_endpoint_auth_method: 'client_secret_basic', grant_types: [], redirect_uris: [] },
      ...{ scope: '', resource: 'https://tasks.example', api_scopes: ['tasks:read', 'tasks:write'] },
    });
    const form = await ada.get(at('/console/clients?ask=add_spa'));
    assert.match(form.html, /name="scopes_of_apis" type="checkbox" value="tasks:read"/);
    const sent = await ada.submit(form, {
      ...{ client_id: 'tasks', redirect_uris: 'http://localhost:5173/', scope: 'openid tasks:read' },
      ...{ apis: 'https://tasks.example', scopes_of_apis: ['tasks:read', 'tasks:write'], do: 'add_spa' },
    });
    assert.match(sent.html, /The client is added/, sent.html);
    assert.equal(
      (
        await call(
          localCalls({ ...own.instance.actingAs('cli'), configuration: own.configuration }),
          'getClient',
          { client_id: 'tasks' },
        )
      ).scope,
      'openid tasks:read tasks:write',
    );
    const api = await ada.get(at('/console/clients?ask=add_api'));
    assert.doesNotMatch(api.html, /scopes_of_apis/);
  });

  test('the form of a new single-page application adds it, or tries it too and registers the page of the console', async () => {
    const form = await ada.get(at('/console/clients?ask=add_spa'));
    const typed = (id: string) => ({
      ...hiddenFields(form),
      ...{ client_id: id, redirect_uris: 'http://localhost:5173/', scope: 'openid email' },
    });
    const uris = async (id: string) => (await own.instance.storage.clients.get(id))?.redirectUris;
    const added = await ada.submit(form, { ...typed('added'), do: 'add_spa' });
    assert.match(added.html, /The client is added/);
    assert.deepEqual(await uris('added'), ['http://localhost:5173/']);

    const request = await ada.post(at('/console/clients'), { ...typed('tried'), do: 'try_spa' });
    assert.deepEqual(await uris('tried'), ['http://localhost:5173/', CALLBACK]);
    assert.match(request.url, /\/authorize\?.*client_id=tried/);
    const page = await ada.get(here(await answer(ada, request.url)));
    assert.match(page.html, /ada@example\.com/);

    const again = await ada.post(at('/console/clients'), { ...typed('tried'), do: 'try_spa' });
    assert.equal(again.url, request.url, 'a second press begins nothing else');

    // What was typed comes back with both buttons.
    const other = hiddenFields(await ada.get(at('/console/clients?ask=add_spa')));
    const refused = await ada.post(at('/console/clients'), { ...typed('tried'), ...other, do: 'try_spa' });
    assert.equal(refused.status, 409);
    assert.match(refused.html, /id="save-try_spa"[\s\S]*id="save-add_spa"/);
    const web = await ada.get(at('/console/clients?ask=add_web'));
    assert.doesNotMatch(web.html, /save-try/);
    const elsewhere = await own.browserOf('ada');
    const there = await elsewhere.get(at('/console/clients?ask=add_spa'));
    assert.doesNotMatch(there.html, /save-try_spa/, 'the redirect URI belongs to the address of the issuer');
    assert.match(there.html, /save-add_spa/);

    // Later, by an act with the usual plan.
    for (const [act, expected] of [
      ['allow_trial', ['http://localhost:5173/', CALLBACK]],
      ['end_trial', ['http://localhost:5173/']],
    ] as const) {
      const ask = await ada.get(at(`/console/clients?id=added&ask=${act}`));
      const lines = /<textarea id="field-redirect_uris"[^>]*>\n([^<]*)</.exec(ask.html)?.[1] ?? '';
      const sent = await ada.submit(ask, { redirect_uris: lines, do: act });
      assert.match(sent.html, /The client is changed/);
      assert.deepEqual(await uris('added'), expected);
    }
  });
});
