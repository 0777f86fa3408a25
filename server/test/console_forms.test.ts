// The forms of the console: which operations they reach, and what they do with what is typed.
// Long: the forms of all pages share one server and one administrator.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { ALL_OPERATIONS } from '../src/admin/table.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { actText } from '../src/console/acts.ts';
import { PAGES } from '../src/console/console.ts';
import { fieldsOf } from '../src/console/fields.ts';
import type { ConsolePageName } from '../src/console/frame.ts';
import { jsonProblem } from '../src/console/json_problem.ts';
import { prepareClient } from '../src/instance/personal_tokens_client.ts';
import { documentOf } from '../src/pages/drawing/layout.ts';
import { OwnTokens, tokensOf } from '../src/people/personal_tokens.ts';
import { textsIn } from '../src/texts/texts.ts';
import { type Browser, hiddenFields, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';
import { samplePages } from './pages/sample_pages.ts';

describe('operations', () => {
  test('each operation that changes something has a form of the console', () => {
    const reached = new Set<string>(
      Object.values(PAGES).flatMap(({ acts, performs = [] }) => [
        ...performs,
        ...Object.values(acts?.acts ?? {}).map(({ operation }) => operation),
      ]),
    );
    const changing = ALL_OPERATIONS.filter(([, { method }]) => method !== 'GET').map(([id]) => id);
    const missing = changing.filter((id) => !reached.has(id));
    assert.deepEqual(missing, []);
  });

  test('the pages say in their own language what each field of a form is', () => {
    const hints: Readonly<Record<string, string>> = textsIn('de').console.forms.hints;
    const operations = new Map(ALL_OPERATIONS);
    const fields = Object.values(PAGES).flatMap(({ acts }) =>
      Object.values(acts?.acts ?? {}).flatMap(({ operation }) => {
        const found = operations.get(operation);
        return found === undefined || !('body' in found) || found.body === undefined
          ? []
          : fieldsOf(found.body, { first: [] }, {});
      }),
    );
    const english = fields.filter(({ about }) => about !== undefined).map(({ name }) => name);
    // Fields of no form: what the URL names, and what the console decides.
    const hidden = ['sub', 'grant_id', 'dry_run', 'count', 'address'];
    const missing = english.filter((name) => {
      const last = name.split('.').at(-1) ?? '';
      return !hidden.includes(last) && !Object.hasOwn(hints, last);
    });
    assert.ok(english.length > 100);
    assert.deepEqual(missing, []);
  });

  test('each question about a thing names in its title everything that it is about', () => {
    let asked = 0;
    for (const [page, { acts }] of Object.entries(PAGES))
      for (const [name, { asks, form, of = {}, also = [], names }] of Object.entries(acts?.acts ?? {})) {
        const [, ...others] = new Set([...Object.values(of), ...also]);
        // A form without a thing adds one, and shows what was typed.
        if (asks === undefined || (form !== undefined && Object.keys(of).length === 0)) continue;
        asked++;
        assert.equal(names !== undefined, others.length > 0, `${page} ${name}`);
        for (const language of ['en', 'de']) {
          const title = actText(page as ConsolePageName, name, textsIn(language)).title('<name>', '<other>');
          for (const part of ['<name>', ...(others.length > 0 ? ['<other>'] : [])])
            assert.ok(title.includes(part), `${page} ${name}: ${title}`);
        }
      }
    assert.ok(asked > 20, String(asked));
  });

  test('each question of the sample pages has these names in its title', async () => {
    const named: Readonly<Record<string, readonly string[]>> = {
      console_revoke_token: ['photos/web', 'bob'],
      console_bulk_ask: ['bob'],
      console_bulk_groups: ['2'],
      console_end_application: ['bob', 'Photos'],
      console_change_group: ['staff'],
      console_rotate_key: ['ES256'],
      console_disable_user: ['bob'],
      console_revoke_client: ['web'],
    };
    for (const language of ['en', 'de'])
      for (const [name, page] of samplePages(language)) {
        const html = String(await documentOf(page));
        if (!html.includes('id="console-yes"')) continue;
        const [, title = ''] = /<h1[^>]*>(.*?)<\/h1>/s.exec(html) ?? [];
        assert.ok(named[name], `${name}: which names does it need?`);
        for (const part of named[name]) assert.ok(title.includes(part), `${name}: ${title}`);
      }
  });

  test('a page has a link or a button for each act', async () => {
    const pages = await Promise.all(
      [...samplePages('en').values()].map(async (page) => String(await documentOf(page))),
    );
    const html = pages.map(unescaped).join('\n');
    const linked = (page: string, act: string) => {
      const links = [...html.matchAll(/href="(\/console\/[^"]*)"/g)].map(
        ([, url = '']) => new URL(url, 'http://x'),
      );
      const forms = [...html.matchAll(/<form method="post" action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
      return (
        links.some(
          ({ pathname, searchParams }) => pathname === `/console/${page}` && searchParams.get('ask') === act,
        ) ||
        forms.some(
          ([, action = '', inner = '']) => action === `/console/${page}` && inner.includes(`value="${act}"`),
        )
      );
    };
    const unlinked = Object.entries(PAGES).flatMap(([page, { acts }]) =>
      Object.keys(acts?.acts ?? {}).flatMap((act) => (linked(page, act) ? [] : [`${page}: ${act}`])),
    );
    assert.deepEqual(unlinked, []);
  });
});

test('a user who is locked somewhere is shown as locked, with the button that unlocks', async () => {
  for (const [language, verdict, why] of [
    ['en', /class="badge wait">Locked from one place until </, /after too many wrong attempts/],
    ['de', /class="badge wait">Gesperrt von einem Ort aus bis </, /nach zu vielen falschen Versuchen/],
  ] as const) {
    const page = samplePages(language).get('console_support_locked');
    assert.ok(page);
    const html = String(await documentOf(page));
    assert.match(html, verdict);
    assert.match(html, why);
    const ways = html.slice(html.indexOf('id="ways"'));
    assert.match(
      ways,
      language === 'en' ? /Locked from one place until / : /Gesperrt von einem Ort aus bis /,
    );
    assert.match(html, /<button id="unlock" type="submit" name="do" value="unlock">/);
    assert.doesNotMatch(html, /badge good/);
  }
});

test('the place of a mistake in JSON is a line and a column', () => {
  for (const [text, place] of [
    ['{"a": 1}', undefined],
    ['[1, "b", null, {"c": [-1.5e3]}]\n', undefined],
    ['{\n  "a": 1,\n}', [3, 1]],
    ['{"a" 1}', [1, 6]],
    ["{'a': 1}", [1, 2]],
    ['{"a": [1, 2}', [1, 12]],
    ['{"a": 01}', [1, 7]],
    ['{"a": "b', [1, 7]],
    ['{"a": 1} x', [1, 10]],
    ['', [1, 1]],
    ['{"a": tru}', [1, 7]],
  ] as const) {
    assert.deepEqual(jsonProblem(text), place, text);
    if (place === undefined) JSON.parse(text);
    else assert.throws(() => JSON.parse(text), text);
  }
});

describe('forms', () => {
  let set: Awaited<ReturnType<typeof startConsole>>;
  let browser: Browser;
  before(async () => {
    set = await startConsole();
    await set.addUser('alice', ['admins']);
    browser = await set.browserOf('alice');
  });
  after(() => set.close());

  const at = (path: string) => browser.get(`${set.url}/console/${path}`);
  const commands = () => localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
  const userOf = async (name: string) => (await call(commands(), 'listUsers', { username: name })).items[0];

  test('each form opens, in both languages, and has no secret', async () => {
    const { subject } = await set.addUser('oscar', ['admins']);
    await set.addClient('opened');
    await call(commands(), 'addScopeTexts', { scope: 'email', texts: { name: 'Your address' } });
    // Behind a proxy, the console may be at the address of the issuer, so every button is there.
    const reader = await set.browserOf('alice', 0, { 'x-forwarded-for': '127.0.0.1' });
    const given = `name=admins&sub=${subject}&id=opened&scope=email`;
    for (const [page, { acts }] of Object.entries(PAGES))
      for (const [act, { form }] of Object.entries(acts?.acts ?? {})) {
        if (form === undefined) continue;
        for (const language of ['en', 'de']) {
          const url = `${set.url}/console/${page}?${given}&ask=${act}&ui_language=${language}`;
          const shown = await reader.get(url);
          assert.equal(shown.status, 200, `${page} ${act} ${shown.html.slice(-2000)}`);
          assert.ok(shown.html.includes(`id="save-${act}"`), `${page} ${act}`);
          assert.doesNotMatch(shown.html, /type="password"[^>]* value=/);
        }
      }
  });

  test('the host of a document is denied from the page of its client, after a count, and allowed again', async () => {
    const id = 'https://docs.example:8443/client.json';
    const { clients } = set.instance.storage;
    await clients.add({
      id,
      grantTypes: [],
      scopes: [],
      redirectUris: [],
      documentValidAt: 1,
      registeredAt: 1,
    });
    const page = await at(`clients?id=${encodeURIComponent(id)}`);
    assert.match(page.html, /id="ask-deny_document"[\s\S]*id="ask-deny_host"/);
    const form = await at(`clients?id=${encodeURIComponent(id)}&ask=deny_host`);
    assert.match(form.html, /name="rule"[^>]*value="docs\.example"/);
    const wrong = await browser.submit(form, { do: 'deny_host', rule: 'docs.example:8443' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.html, /id="field-rule-problem"/);
    const question = await browser.submit(form, {
      do: 'deny_host',
      rule: 'docs.example',
      note: 'Ticket 4711',
    });
    assert.match(question.html, /<dt>Clients<\/dt>\s*<dd>1<\/dd>/);
    assert.match(question.html, /<dt>Active tokens<\/dt>\s*<dd>0<\/dd>/);
    assert.ok(await clients.get(id), 'nothing has changed yet');
    const done = await browser.submit(question, { do: 'deny_host' });
    assert.match(done.html, /It is denied\./);
    assert.match(
      done.html,
      /<code>docs\.example<\/code>[\s\S]*Ticket 4711[\s\S]*id="ask-allow-docs\.example"/,
    );
    assert.equal(await clients.get(id), undefined);
    const [denial] = await set.instance.deniedDocuments.list();
    assert.match(denial?.deniedBy ?? '', /^console:/);
    const allowing = await at('clients?rule=docs.example&ask=allow');
    assert.match((await browser.submit(allowing, { do: 'allow' })).html, /It is allowed again\./);
    assert.deepEqual(await set.instance.deniedDocuments.list(), []);
    assert.doesNotMatch((await at('clients?id=opened')).html, /deny_host/);
  });

  test('a user is added, changed and invited, with mistakes at their fields', async () => {
    const form = await at('users?ask=add');
    const add = (fields: Readonly<Record<string, string>>) => browser.submit(form, { do: 'add', ...fields });
    const typed = { username: 'peggy', 'claims.email': 'peggy@example.com', claims: '{\n "a": 1,\n}' };
    const wrong = await add({ ...typed, password: 'correct horse' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.html, /id="field-claims-problem"[\s\S]*This is not JSON\. Line 3, column 1\./);
    assert.match(
      wrong.html,
      /<textarea id="field-claims"[^>]* aria-describedby="field-claims-problem[^>]* aria-invalid="true" autofocus>/,
    );
    assert.match(wrong.html, /<a href="#field-claims">Other claims<\/a>/);
    assert.match(wrong.html, /value="peggy@example\.com"/, 'what was typed is there');
    assert.ok(!wrong.html.includes('correct horse'), 'but no password');
    const short = await add({ ...typed, claims: '', password: 'short' });
    assert.match(short.html, /id="field-password-problem"[\s\S]*at least 8 characters/);
    assert.match(
      (await add({ ...typed, claims: '' })).html,
      /id="field-password-problem"[\s\S]*A value is needed here/,
    );
    const bad = await add({ ...typed, 'claims.email': 'peggy', claims: '', password: 'correct horse' });
    assert.match(bad.html, /id="field-claims-email-problem"/);
    for (const [claim, value, expected] of [
      ['birthdate', '30.11.1990', 'a date such as 1990-01-31'],
      ['birthdate', '2023-02-30', 'a date such as 1990-01-31'],
      ['picture', 'foo', 'a URL such as'],
      ['website', 'javascript:alert(1)', 'a URL such as'],
      ['zoneinfo', '+01:00', 'a time zone such as'],
      ['locale', 'Deutsch (DE)', 'a language tag such as'],
    ] as const) {
      const unfit = await add({
        ...typed,
        [`claims.${claim}`]: value,
        claims: '',
        password: 'correct horse',
      });
      assert.equal(unfit.status, 400, value);
      const problem = unfit.html.split(`id="field-claims-${claim}-problem"`)[1]?.slice(0, 200) ?? '';
      assert.match(problem, new RegExp(`expected ${expected}`, 'i'), value);
    }
    const added = await add({ ...typed, claims: '{"desk": 7, "floor": 2}', password: 'correct horse' });
    assert.match(added.html, /The user is added\./);
    const before = await userOf('peggy');
    assert.deepEqual(before?.claims, { email: 'peggy@example.com', desk: 7, floor: 2 });

    const edit = await at(`users?sub=${before?.sub}&ask=edit`);
    assert.match(edit.html, /&quot;desk&quot;: 7/);
    const change = {
      ...{
        do: 'edit',
        username: 'peggy',
        'claims.email': 'peggy@example.com',
        'claims.email_verified': 'yes',
      },
      ...{ 'claims.name': 'Peggy', claims: '{"desk": 8}' },
    };
    assert.match((await browser.submit(edit, change)).html, /The user is changed\./);
    const changed = { email: 'peggy@example.com', email_verified: true, name: 'Peggy', desk: 8 };
    assert.deepEqual((await userOf('peggy'))?.claims, changed);
    const outdated = await browser.submit(edit, { ...change, 'claims.name': 'Pegs', again: 'later' });
    assert.equal(outdated.status, 409);
    assert.match(outdated.html, /id="field-claims-name-stored"[^>]*>Stored now: <code>Peggy<\/code>/);
    assert.deepEqual((await userOf('peggy'))?.claims, changed);
    await browser.submit(outdated, { ...change, 'claims.name': 'Pegs' });
    assert.equal((await userOf('peggy'))?.claims.name, 'Pegs');

    const invitation = { do: 'invite', username: 'quentin', 'invitation.email': 'q@example.com' };
    const invited = await browser.submit(await at('users?ask=invite'), invitation);
    assert.match(invited.html, /The user is invited\.[\s\S]*The email waits until a server/);
    assert.equal((await set.instance.mails.list(false, 10))[0]?.recipient, 'q@example.com');
  });

  test('a client is added, and its secret is shown until it is stored', async () => {
    const form = await at('clients?ask=add_web');
    const fields = {
      ...{ client_id: 'site', client_name: 'Site', redirect_uris: 'https://site.example/cb' },
      ...{ post_logout_redirect_uris: '', scope: 'openid email' },
    };
    const wrong = await browser.submit(form, { ...fields, client_id: 'a site', do: 'add_web' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.html, /Use up to 200 letters, digits and signs, without spaces\./);
    assert.match(wrong.html, /value="a site"/);
    const added = await browser.submit(form, { ...fields, do: 'add_web' });
    assert.match(added.html, /The client is added\./);
    const [, secret = ''] = /<code id="new-secret">([^<]+)</.exec(added.html) ?? [];
    assert.ok(secret.length > 20);
    assert.ok(!added.url.includes(secret));
    const other = await set.browserOf('alice');
    assert.ok(
      !(await other.get(`${set.url}/console/clients?id=site`)).html.includes(secret),
      'another session',
    );
    assert.ok((await at('clients?id=site')).html.includes(secret), 'it stays');
    const client = await set.instance.storage.clients.get('site');
    assert.equal(await set.server.operator.isClientSecret(secret, client?.secrets ?? []), true);
    const saved = await browser.submit(await at('clients?id=site'), { id: 'site', do: 'secret_saved' });
    assert.match(saved.html, /The secret is not shown any more\./);
    assert.ok(!(await at('clients?id=site')).html.includes(secret));
    assert.ok(!set.log().includes(secret));

    const rotated = await browser.submit(await at('clients?id=site&ask=rotate_secret'), {
      ...{ do: 'rotate_secret', overlap: '3600', client_secret: '' },
    });
    assert.match(rotated.html, /The client has a new secret\.[\s\S]*id="new-secret"/);
    assert.equal((await set.instance.storage.clients.get('site'))?.secrets?.length, 2);
  });

  test('each kind of client is added, and its page says how to try it', async () => {
    await call(commands(), 'addClient', {
      client_id: 'notes',
      resource: 'https://notes.example',
      api_scopes: ['notes:read'],
    });
    for (const [kind, fields, tries] of [
      ['spa', { redirect_uris: 'https://spa.example/' }, /<!doctype html>[\s\S]*https:\/\/spa\.example\//],
      ['native', { redirect_uris: 'http://127.0.0.1/cb' }, /oidc\.None\(\)/],
      ['machine', { apis: 'https://notes.example', scope: 'notes:read' }, /grant_type=client_credentials/],
      ['api', { resource: 'https://api.example', api_scopes: 'api:read\napi:write' }, /token\/introspect/],
    ] as const) {
      const form = await at(`clients?ask=add_${kind}`);
      const offersSecret = form.html.includes('name="client_secret"');
      assert.equal(offersSecret, kind === 'machine' || kind === 'api', kind);
      const page = await browser.submit(form, { client_id: `my-${kind}`, ...fields, do: `add_${kind}` });
      assert.match(page.html, /The client is added\./, kind);
      assert.match(unescaped(page.html), tries, kind);
    }
    const spa = await call(commands(), 'getClient', { client_id: 'my-spa' });
    assert.deepEqual([spa.type, spa.token_endpoint_auth_method], ['public', 'none']);
    const api = await call(commands(), 'getClient', { client_id: 'my-api' });
    assert.deepEqual(api.api_scopes, ['api:read', 'api:write']);
  });

  test('a name that is taken is refused at its field, which has the focus', async () => {
    await set.addClient('taken');
    for (const [page, act, field, fields] of [
      ['users', 'add', 'username', { username: 'ALICE', password: 'correct horse' }],
      ['clients', 'add_web', 'client_id', { client_id: 'taken', redirect_uris: 'https://a.example/' }],
      ['groups', 'add', 'name', { name: 'Admins' }],
    ] as const) {
      const form = await at(`${page}?ask=${act}`);
      const wrong = await browser.submit(form, { do: act, ...fields });
      assert.equal(wrong.status, 409, page);
      const name = new RegExp(`<input id="field-${field}"[^>]* aria-invalid="true" autofocus>`);
      assert.match(wrong.html, name, page);
      assert.match(wrong.html, new RegExp(`id="field-${field}-problem"[^>]*>.*already exists`), page);
      assert.equal(wrong.html.match(/autofocus/g)?.length, 1, page);
    }
  });

  test('the first field of a form has the focus', async () => {
    for (const [path, field] of [
      ['users?ask=add', 'username'],
      ['clients?ask=add_spa', 'client_name'],
      ['groups?ask=add', 'name'],
    ] as const) {
      const { html } = await at(path);
      assert.deepEqual(
        [...html.matchAll(/id="([^"]*)"[^>]* autofocus/g)].map(([, id]) => id),
        [`field-${field}`],
      );
    }
  });

  test('each wrong redirect URI is named by its line, with what is wrong', async () => {
    const uris = [
      'https://a.example/',
      '',
      'localhost:3000/cb',
      'com.example.app:/cb',
      'https://a.example/*',
      'https://u@a.example/',
    ];
    for (const [language, words] of [
      [
        'en',
        /Line 3: Begin with https:\/\/[^<]*<br>Line 4: A web application needs [^<]*<br>Line 5: Remove the fragment[^<]*<br>Line 6: Remove the username/,
      ],
      [
        'de',
        /Zeile 3: Beginnen [^<]*<br>Zeile 4: Eine Webanwendung [^<]*<br>Zeile 5: Entfernen[^<]*<br>Zeile 6: Entfernen Sie Benutzername/,
      ],
    ] as const) {
      const form = await at(`clients?ask=add_spa&ui_language=${language}`);
      const sent = { do: 'add_spa', client_id: 'unfit', redirect_uris: uris.join('\r\n') };
      const wrong = await browser.submit(form, sent);
      assert.equal(wrong.status, 400);
      assert.match(wrong.html, words);
    }
    await at('clients?ui_language=en');
    assert.equal(await set.instance.storage.clients.get('unfit'), undefined);
  });

  test('the page of a client warns about its scopes as long as it has to, and links to the field', async () => {
    const uri = 'https://ledger.example';
    const api = { client_id: 'ledger', resource: uri, api_scopes: ['ledger:read'] };
    await call(commands(), 'addClient', api);
    const form = await at('clients?ask=add_spa');
    assert.ok(form.html.includes(`name="apis" type="checkbox" value="${uri}"`), 'the form offers the API');
    const added = await browser.submit(form, {
      ...{ do: 'add_spa', client_id: 'scoped', redirect_uris: 'https://scoped.example/' },
      scope: 'openid ledger:read ledger:reed openid,email',
    });
    assert.doesNotMatch(added.html, /grantd client update/);
    const cautions = ({ html }: { readonly html: string }) =>
      [...html.matchAll(/<p class="caution">.*?cope.*?<code>([^<]*)<.*?href="([^"]*)"/g)].map(
        ([, scope, url = '']) => [scope, unescaped(url)],
      );
    const edit = '/console/clients?id=scoped&ask=edit';
    const expected = [
      ['ledger:read', `${edit}#field-apis`],
      ['ledger:reed', `${edit}#field-scope`],
      ['openid,email', `${edit}#field-scope`],
    ];
    assert.deepEqual(cautions(added), expected);
    assert.deepEqual(cautions(await at('clients?id=scoped')), expected, 'also on the next visit');
    await call(commands(), 'updateClient', { client_id: 'scoped', apis: [uri], scope: 'openid ledger:read' });
    assert.deepEqual(cautions(await at('clients?id=scoped')), []);
  });

  test('every member of a client can be changed, and a change that can end access is asked about', async () => {
    await set.addClient('edited', { client_name: 'Before' });
    const form = await at('clients?id=edited&ask=edit');
    const typed = { ...fieldsIn(form.html), do: 'edit' };
    assert.match((await browser.submit(form, typed)).html, /Nothing has changed\./);
    const named = { ...typed, client_name: 'After', 'client_name#de': 'Danach', consent_required: 'no' };
    assert.match((await browser.submit(form, named)).html, /The client is changed\./);
    const client = await call(commands(), 'getClient', { client_id: 'edited' });
    assert.deepEqual(
      [client.client_name, client['client_name#de'], client.consent_required],
      ['After', 'Danach', false],
    );
    const first = await at('clients?id=edited&ask=edit');
    const unused = { ...fieldsIn(first.html), scope: 'openid offline_access email', do: 'edit' };
    assert.match((await browser.submit(first, unused)).html, /The client is changed\./, 'it ends nothing');
    const { subject } = await set.addUser('of edited');
    await set.tokensOf('edited', subject);
    const next = await at('clients?id=edited&ask=edit');
    const scope = { ...fieldsIn(next.html), scope: 'openid', do: 'edit' };
    const question = await browser.submit(next, scope);
    const back = await browser.submit(question, { back: 'yes' });
    assert.match(back.html, /<h1[^>]*>Change After \(edited\)[\s\S]*name="scope" value="openid"/);
    assert.match((await call(commands(), 'getClient', { client_id: 'edited' })).scope ?? '', /email/);
    assert.match(
      question.html,
      /This can end access[\s\S]*<code>openid offline_access email<\/code> → <code>openid<\/code>/,
    );
    const hidden = { ...hiddenIn(question.html), do: 'edit' };
    assert.match((await browser.submit(question, hidden)).html, /The client is changed\./);
    assert.equal((await call(commands(), 'getClient', { client_id: 'edited' })).scope, 'openid');
    await call(commands(), 'revokeAll', { client_id: 'edited' });
    const last = await at('clients?id=edited&ask=edit');
    const wrong = await browser.submit(last, { ...fieldsIn(last.html), jwks_uri: 'ftp://x', do: 'edit' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.html, /<details class="part" open>[\s\S]*id="field-jwks_uri-problem"/);
  });

  test('a link for a password goes to the verified address, which the question names, and to no other user', async () => {
    const { subject } = await set.addUser('ines', [], { email: 'ines@example.com', email_verified: true });
    const other = await set.addUser('jana', [], { email: 'jana@example.com' });
    assert.match((await at(`users?sub=${subject}`)).html, /ask=password_link/);
    assert.doesNotMatch((await at(`users?sub=${other.subject}`)).html, /ask=password_link/);
    const question = await at(`users?sub=${subject}&ask=password_link`);
    assert.match(question.html, /ines@example\.com/);
    const done = await browser.submit(question, { ...hiddenIn(question.html), do: 'password_link' });
    assert.match(
      done.html,
      /The email with the link is on its way\.[\s\S]*waits until a server with --smtp-url/,
    );
    const mails = await set.instance.mails.list(false, 10);
    assert.deepEqual(
      mails.flatMap(({ template, recipient }) => (template === 'password_link' ? [recipient] : [])),
      ['ines@example.com'],
    );
    const refused = await browser.submit(question, {
      ...{ ...hiddenIn(question.html), sub: other.subject, do: 'password_link' },
    });
    assert.match(refused.html, /no verified email address/);
  });

  test('texts of a scope are added, changed and removed in both languages', async () => {
    const add = { do: 'add', scope: 'profile', 'texts.name': 'Your profile', 'texts.name#de': 'Ihr Profil' };
    const added = await browser.submit(await at('scopes?ask=add'), add);
    assert.match(added.html, /The texts of the scope are added\.[\s\S]*Ihr Profil/);
    const change = {
      do: 'edit',
      scope: 'profile',
      name: 'Your profile',
      'name#de': '',
      description: 'Name and picture',
    };
    await browser.submit(await at('scopes?ask=edit&scope=profile'), change);
    const { texts } = await call(commands(), 'getScopeTexts', { scope: 'profile' });
    assert.deepEqual(texts, { name: 'Your profile', description: 'Name and picture' });
    const question = await at('scopes?ask=remove&scope=profile');
    assert.match((await browser.submit(question, { do: 'remove', scope: 'profile' })).html, /are removed\./);
  });

  test('the audit trail is verified, and old tokens are counted before they are revoked', async () => {
    // Nothing has sealed this trail yet.
    const verify = async () =>
      browser.submit(await at('audit'), { do: 'verify', again: crypto.randomUUID() });
    assert.match(
      (await verify()).html,
      /Events were changed or removed[\s\S]*No chain protects the events yet/,
    );
    const restart = await browser.submit(await at('audit?ask=restart'), {
      do: 'restart',
      reason: 'first chain',
    });
    assert.match((await browser.submit(restart, { do: 'restart' })).html, /A new chain begins\./);
    assert.match((await verify()).html, /All events are as they were recorded\.[\s\S]*head: /);
    const { subject } = await set.addUser('ruth');
    await set.addClient('app');
    const { access } = await set.tokensOf('app', subject);
    // Tokens of the same millisecond are not from before.
    for (const issuedByMs = Date.now(); Date.now() === issuedByMs; ) await new Promise(setImmediate);
    const time = new Date(Date.now()).toISOString();
    const form = await at('tokens?ask=revoke_before');
    const question = await browser.submit(form, { do: 'revoke_before', issued_before: time });
    assert.match(question.html, /<dt>Active tokens<\/dt><dd>2<\/dd>/);
    assert.equal(await set.isActive(access), true);
    assert.match((await browser.submit(question, { do: 'revoke_before' })).html, /All tokens are revoked\./);
    assert.equal(await set.isActive(access), false);
    const late = await browser.submit(form, { do: 'revoke_before', issued_before: '2999-01-01 00:00' });
    assert.equal(late.status, 400);
    assert.match(late.html, /id="field-issued_before-problem"/);
  });
});

test('personal access tokens that fit a description end after a question that names them and their users', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addUser('alice', ['admins']);
  const browser = await set.browserOf('alice');
  const api = 'https://notes.example';
  const commands = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
  await call(commands, 'addClient', { client_id: 'notes', resource: api, api_scopes: ['notes:read'] });
  const policy = {
    ...{ apis: [api], scopes: undefined, groups: undefined, lifetime: 3600, limit: 20 },
    binding: 'none',
  } as const;
  await prepareClient(set.instance.storage, policy);
  const { issuer, storage, personalTokens, clock } = set.instance;
  const secret = set.instance.secret();
  const own = new OwnTokens({ issuer, policy, storage, personalTokens, secret, clock, queue: undefined });
  const [bob, carol] = [await set.addUser('bob'), await set.addUser('carol')];
  const make = async (person: typeof bob, name: string) => {
    const wanted = { name, resource: api, scopes: ['notes:read'], lifetime: 60, binding: '', language: 'en' };
    assert.ok('id' in (await own.make(person, wanted)));
  };
  for (let count = 1; count <= 9; count++) await make(bob, `<b>job ${count}</b>`);
  for (const name of ['phone', 'laptop']) await make(carol, name);
  const left = async () =>
    (await Promise.all([bob, carol].map(({ subject }) => tokensOf(set.instance, subject)))).flat().length;

  const form = await browser.get(`${set.url}/console/tokens?ask=end_personal`);
  const end = (fields: Readonly<Record<string, string>>) =>
    browser.submit(form, { do: 'end_personal', ...fields });
  const open = await end({});
  assert.equal(open.status, 400);
  assert.match(open.html, /id="field-issued_before-problem"/);
  const none = await end({ beyond_policy: 'yes' });
  assert.match(none.html, /id="field-beyond_policy-problem"[\s\S]*Expected the option personalTokens/);
  const question = await end({ resource: api });
  assert.match(question.html, /<dt>Active tokens<\/dt><dd>11<\/dd>[\s\S]*<dt>Users<\/dt><dd>2<\/dd>/);
  // Tokens of the same millisecond can come in any order.
  assert.equal([...question.html.matchAll(/<dt><bdi>(?:bob|carol)<\/bdi><\/dt>/g)].length, 10);
  assert.match(question.html, /<dt>And more<\/dt><dd>1<\/dd>/);
  assert.match(question.html, /<bdi>&lt;b&gt;job \d&lt;\/b&gt;<\/bdi>/);
  assert.equal(await left(), 11, 'a question ends nothing');
  const done = await browser.submit(question, { ...hiddenIn(question.html), do: 'end_personal' });
  assert.match(done.html, /The personal access tokens have ended\./);
  assert.equal(await left(), 0);
});

/** The hidden fields of a page, of which a name can have several. */
function hiddenIn(html: string): Record<string, string[]> {
  const fields: Record<string, string[]> = {};
  for (const [, name = '', value = ''] of html.matchAll(
    /<input type="hidden" name="([^"]*)" value="([^"]*)">/g,
  ))
    fields[name] = [...(name === 'form_token' ? [] : (fields[name] ?? [])), unescaped(value)];
  return fields;
}

/** What a browser sends of the form of an act, if nothing is changed. */
function fieldsIn(html: string): Record<string, string | string[]> {
  const [, form = ''] = /<form method="post"[^>]*class="form"[^>]*>([\s\S]*?)<\/form>/.exec(html) ?? [];
  const fields: Record<string, string | string[]> = {};
  for (const [, name = '', value = ''] of form.matchAll(
    /<input id="[^"]*" name="([^"]*)"(?: type="number"[^>]*?)? value="([^"]*)"/g,
  ))
    fields[name] = unescaped(value);
  for (const [, name = '', value = ''] of form.matchAll(
    /<textarea id="[^"]*" name="([^"]*)"[^>]*>\n?([\s\S]*?)<\/textarea>/g,
  ))
    fields[name] = unescaped(value);
  for (const [, name = '', value = ''] of form.matchAll(
    /name="([^"]*)" type="checkbox" value="([^"]*)" checked/g,
  ))
    fields[name] = [fields[name] ?? [], unescaped(value)].flat();
  for (const [, name = '', inner = ''] of form.matchAll(
    /<select id="[^"]*" name="([^"]*)"[^>]*>([\s\S]*?)<\/select>/g,
  ))
    fields[name] = unescaped(/<option value="([^"]*)" selected/.exec(inner)?.[1] ?? '');
  return { ...hiddenFields({ html } as never), ...fields };
}
