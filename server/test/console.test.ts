// The console of operators: who may use it, and what it does.
// Long: every page of the console, in one signed-in browser.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { html } from 'hono/html';
import { Secret, TOTP } from 'otpauth';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { firstOf } from '../src/admin/audit.ts';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import { ConfigurationRefused } from '../src/config/refused.ts';
import { type Acts, actLink } from '../src/console/acts.ts';
import { BULK_ACTS, type BulkAct } from '../src/console/bulk_acts.ts';
import { CLIENTS } from '../src/console/clients.ts';
import { PAGES } from '../src/console/console.ts';
import { GROUPS } from '../src/console/groups.ts';
import { bulkForm } from '../src/console/lists.ts';
import { USERS } from '../src/console/users.ts';
import { postgresDatabase } from '../src/data/postgres_database.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { refuseOpenAdministration } from '../src/serve/exposure.ts';
import { EN } from '../src/texts/texts.ts';
import { Browser, hiddenFields, isLogin, unescaped } from './harness/browser.ts';
import { cheapHash } from './harness/cheap_hash.ts';
import { grantdPrints } from './harness/commands.ts';
import { ISSUER, PASSWORD, startConsole } from './harness/console_server.ts';
import { Workbench } from './harness/program.ts';
import { addConsent } from './harness/program_data.ts';

let set: Awaited<ReturnType<typeof startConsole>>;
before(async () => {
  set = await startConsole();
  await set.addUser('alice', ['admins']);
  await set.addUser('bob');
  await set.addClient('app');
});
after(() => set.close());

const PATHS = Object.keys(PAGES).map((name) => (name === 'overview' ? '' : `/${name}`));
const FORMS = PATHS.filter((path) => !['', '/issuers', '/help'].includes(path));

describe('who may use the console', () => {
  test('a visitor signs in first, and then sees it', async () => {
    const browser = new Browser(set.url);
    for (const path of PATHS) assert.ok(isLogin(await browser.get(`${set.url}/console${path}`)), path);
    const login = await browser.get(`${set.url}/console/users`);
    const page = await browser.submit(login, { username: 'alice', password: PASSWORD });
    assert.equal(page.url, `${set.url}/console/users`);
    assert.match(page.html, /<h1>Users<\/h1>/);
  });

  test('a sign-in leads back to the page with its query, and never to another site', async () => {
    const bob = await set.instance.people.byName('bob');
    for (const [asked, shown] of [
      [`/users?sub=${bob?.subject}&ask=end_access`, `/users?sub=${bob?.subject}&ask=end_access`],
      ['/clients?search=%2F%2Fevil.example%5C%0d', '/clients?search=%2F%2Fevil.example%5C%0d'],
      ['/audit?target=x&notice=made-up', '/audit'],
      [`/users?search=${'x'.repeat(600)}`, ''],
      ['', ''],
    ]) {
      const browser = new Browser(set.url);
      const login = await browser.get(`${set.url}/console${asked}`);
      const page = await browser.submit(login, { username: 'alice', password: PASSWORD });
      assert.equal(page.url, `${set.url}/console${shown}`);
    }
    // Values of a request are sealed, so none can be made up, and paths that only look like the console’s are none.
    for (const path of ['/console@evil.example/', '/console//evil.example', '/console.evil.example/']) {
      const page = await new Browser(set.url).get(`${set.url}${path}`);
      assert.equal(page.status, 404, path);
    }
  });

  test('a user outside the group gets a page that says what to do', async () => {
    const browser = await set.browserOf('bob');
    for (const path of PATHS) {
      const page = await browser.get(`${set.url}/console${path}`);
      assert.equal(page.status, 403, path);
      assert.match(page.html, /Ask an administrator to add you to the group/);
      assert.match(
        page.html,
        /<header class="bar">.*<bdi>bob<\/bdi>.*<h1>This page is for administrators<\/h1>/s,
      );
      assert.doesNotMatch(page.html, /id="(navigation|q|server-health)"/, 'what only administrators see');
    }
    assert.equal((await browser.post(`${set.url}/console/users`, { do: 'end_access' })).status, 403);
  });

  test('whoever leaves the group is out with the next request', async () => {
    const { subject } = await set.addUser('carol', ['admins']);
    const browser = await set.browserOf('carol');
    assert.equal((await browser.get(`${set.url}/console`)).status, 200);
    await set.instance.groups.beginEnd({ subject, group: 'admins' }, Date.now());
    assert.equal((await browser.get(`${set.url}/console`)).status, 403);
  });

  test('a sign-in of more than 12 hours ago does not count', async () => {
    assert.equal((await (await set.browserOf('alice', 11.9)).get(`${set.url}/console`)).status, 200);
    const browser = await set.browserOf('alice', 12.1);
    const login = await browser.get(`${set.url}/console/clients`);
    assert.ok(isLogin(login));
    const page = await browser.submit(login, { username: 'alice', password: PASSWORD });
    assert.equal(page.url, `${set.url}/console/clients`);
  });

  test('a user without a second factor adds one, and then gets the page that they asked for', async (t) => {
    const strict = await startConsole({ GRANTD_CONSOLE_SIGN_IN_POLICY: 'second_factor' });
    t.after(() => strict.close());
    const { subject } = await strict.addUser('alice', ['admins']);
    const browser = await strict.browserOf('alice');
    for (const path of PATHS)
      assert.match(
        (await browser.get(`${strict.url}/console${path}`)).url,
        /\/account\/security\?pending=/,
        path,
      );
    const security = await browser.get(`${strict.url}/console/users?search=al`);
    const offer = await browser.submit(security, { act: 'offer_totp' });
    const [, secret = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? [];
    const code = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) }).generate();
    const codes = await browser.submit(offer, { act: 'confirm_totp', code });
    const page = await browser.submit(codes, { act: 'codes_saved' });
    assert.equal(page.url, `${strict.url}/console/users?search=al`);

    // From then on, a password alone leads to the second step, also for a form.
    const other = await strict.browserOf('alice');
    for (const path of PATHS)
      assert.match((await other.get(`${strict.url}/console${path}`)).url, /\/second\?pending=/, path);
    assert.match((await other.post(`${strict.url}/console/users`, {})).url, /\/second\?pending=/);
    assert.equal(
      (await other.get(`${strict.url}/account`)).status,
      200,
      'the account needs no second factor',
    );
    assert.equal((await strict.instance.factors.of(subject)).hasTotp, true);
  });

  test('--console-sign-in-policy never weakens --sign-in-policy', async (t) => {
    const strict = await startConsole({ GRANTD_SIGN_IN_POLICY: 'second_factor' });
    t.after(() => strict.close());
    await strict.addUser('alice', ['admins']);
    const browser = await strict.browserOf('alice');
    assert.match((await browser.get(`${strict.url}/console`)).url, /\/account\/security\?pending=/);
  });

  test('for addresses outside --admin-from there is no such page', async () => {
    const statusFrom = async (address: string, path: string) => {
      const browser = await set.browserOf('alice', 0, { 'x-forwarded-for': address });
      return (await browser.get(`${set.url}/console${path}`)).status;
    };
    for (const path of PATHS)
      assert.deepEqual([await statusFrom('10.1.2.3', path), await statusFrom('192.0.2.1', path)], [200, 404]);
    const stranger = await set.browserOf('alice', 0, { 'x-forwarded-for': '192.0.2.1' });
    assert.equal((await stranger.post(`${set.url}/console/users`, {})).status, 404);
  });

  test('a form without the token of this session changes nothing', async () => {
    const { subject } = await set.addUser('dave', ['admins']);
    const browser = await set.browserOf('alice');
    const other = await set.browserOf('alice');
    const { form_token: foreign = '' } = hiddenFields(
      await other.get(`${set.url}/console/users?sub=${subject}`),
    );
    await browser.get(`${set.url}/console`);
    const keys = await set.instance.storage.keys.list();
    const events = await set.instance.storage.eventsAfter(0, 1000);
    for (const fields of [{}, { form_token: 'made up' }, { form_token: foreign }]) {
      for (const [path, change] of [
        ['/users', { sub: subject, do: 'end_access' }],
        ['/clients', { id: 'app', do: 'disable' }],
        ['/groups', { name: 'forged', description: '', do: 'add' }],
        ['/groups', { name: 'admins', username: 'bob', do: 'join' }],
        ['/groups', { name: 'admins', sub: subject, do: 'leave' }],
        ['/keys', { rotated: 'all', now: 'yes', do: 'rotate', keys: '' }],
        ['/tokens', { token: 'x', do: 'explain' }],
        ['/search', { q: 'bob' }],
      ] as const) {
        const page = await browser.post(`${set.url}/console${path}`, { ...change, ...fields });
        assert.equal(page.status, 403, path);
      }
    }
    assert.deepEqual(await set.instance.storage.eventsAfter(0, 1000), events);
    assert.deepEqual(await set.instance.storage.keys.list(), keys);
  });

  test('no page can be framed, and each one says so', async () => {
    const browser = await set.browserOf('alice');
    for (const path of PATHS) {
      const { headers } = await browser.get(`${set.url}/console${path}`);
      assert.match(
        headers.get('content-security-policy') ?? '',
        /frame-ancestors 'none'; base-uri 'none'$/,
        path,
      );
      assert.equal(headers.get('x-frame-options'), 'DENY', path);
      assert.equal(headers.get('cache-control'), 'no-store', path);
    }
  });

  test('problems keep the frame for administrators, and only they see the navigation', async (t) => {
    const own = await startConsole();
    t.after(() => own.close());
    await own.addUser('alice', ['admins']);
    const browser = await own.browserOf('alice');
    const assertFramed = (
      { status, html }: { status: number; html: string },
      expected: number,
      title: string,
    ) => {
      assert.equal(status, expected, title);
      assert.match(
        html,
        new RegExp(`id="navigation".*id="q".*<header id="content".*<h1>${title}</h1>.*id="problem"`, 's'),
      );
      assert.match(html, /<code id="request-number"/);
    };
    assertFramed(await browser.get(`${own.url}/console/nothing`), 404, 'Page not found');
    const stale = await browser.post(`${own.url}/console/users`, { do: 'disable', form_token: 'stale' });
    assertFramed(stale, 403, 'Please start again');
    assert.match(stale.html, /id="try-again" class="button primary" href="\/console\/users"/);
    assert.match(stale.html, /href="\/console\/users" aria-current="page"/);
    const wrongMethod = await browser.send(`${own.url}/console/users`, { method: 'PUT' });
    assertFramed(
      { status: wrongMethod.status, html: await wrongMethod.text() },
      405,
      'This page cannot be used that way',
    );
    const database = new DatabaseSync(own.file);
    database.exec('ALTER TABLE scope_texts RENAME TO scope_texts_away');
    database.close();
    const unavailable = await browser.get(`${own.url}/console/scopes`);
    assertFramed(unavailable, 503, 'Temporarily unavailable');
    assert.match(unavailable.html, /id="try-again" class="button primary" href="\/console\/scopes"/);
    assert.match(unavailable.html, /The log has the cause, under the request number\./);
    assert.doesNotMatch(stale.html, /The log has the cause/);
    // Visitors who are not signed in, and those of other addresses, get a page that says nothing about the console.
    const elsewhere = await own.browserOf('alice', 0, { 'x-forwarded-for': '192.0.2.1' });
    for (const other of [new Browser(own.url), elsewhere]) {
      const { status, html } = await other.get(`${own.url}/console/nothing`);
      assert.equal(status, 404);
      assert.doesNotMatch(html, /class="bar"|id="navigation"/);
    }
  });

  test('an outage that hides the session leaves the header, the number of the request and a way to try again', async (t) => {
    const own = await startConsole();
    t.after(() => own.close());
    await own.addUser('alice', ['admins']);
    const browser = await own.browserOf('alice');
    const database = new DatabaseSync(own.file);
    database.exec('ALTER TABLE sessions RENAME TO sessions_away');
    database.close();
    const { status, html } = await browser.get(`${own.url}/console/users?search=bob`);
    assert.equal(status, 503);
    assert.match(html, /class="bar".*<h1>Temporarily unavailable<\/h1>.*id="request-number".*id="problem"/s);
    assert.match(html, /id="try-again" class="button primary" href="\/console\/users\?search=bob"/);
    assert.doesNotMatch(html, /id="navigation"|id="q"|id="sign-out"/);
    assert.match(html, /The log has the cause, under the request number\./);
    // Without a session, nothing is hidden.
    const stranger = await new Browser(own.url).get(`${own.url}/console/nothing`);
    assert.doesNotMatch(stranger.html, /class="bar"|The log has the cause/);
  });

  test('a disabled administrator is out with the next request', async () => {
    const { subject } = await set.addUser('heidi', ['admins']);
    const browser = await set.browserOf('heidi');
    const form = hiddenFields(await browser.get(`${set.url}/console/tokens`));
    await set.instance.storage.setDisabled('subject', subject, true);
    for (const path of PATHS) assert.ok(isLogin(await browser.get(`${set.url}/console${path}`)), path);
    for (const path of FORMS) assert.ok(isLogin(await browser.post(`${set.url}/console${path}`, form)), path);
  });

  test('--console needs --admin-group, and either needs the other or the admin API', () => {
    const start = (environment: Readonly<Record<string, string>>) =>
      refuseOpenAdministration(readConfiguration({}, environment));
    assert.throws(
      () => start({ GRANTD_CONSOLE: 'true' }),
      new ConfigurationRefused('GRANTD_CONSOLE: expected --admin-group with it, the group of its users'),
    );
    assert.throws(
      () => start({ GRANTD_ADMIN_GROUP: 'admins' }),
      new ConfigurationRefused('GRANTD_ADMIN_GROUP: expected --admin-api or --console with it'),
    );
    start({ GRANTD_ADMIN_GROUP: 'admins', GRANTD_CONSOLE: 'true' });
  });
});

describe('tokens', () => {
  test('a pasted token is explained and revoked after a question, and no page, URL or log has it', async () => {
    const bob = await set.instance.people.byName('bob');
    const { access, refresh } = await set.tokensOf('app', bob?.subject ?? '');
    const browser = await set.browserOf('alice');
    const form = await browser.get(`${set.url}/console/tokens`);
    const explained = await browser.submit(form, { token: ` ${refresh}\n`, do: 'explain' });
    assert.match(explained.html, /<h1>Refresh token<\/h1>/);
    assert.match(explained.html, /<span class="badge good">active<\/span>/);
    assert.match(explained.html, /<bdi>bob<\/bdi>/);
    assert.match(
      explained.html,
      /<svg class="family" [^>]*aria-label="What the token belongs to: Grant, Family of rotations, Refresh token, Access token"/,
    );
    const asked = await browser.submit(explained, { do: 'ask' });
    assert.match(asked.html, /The whole grant ends/);
    assert.equal(await set.isActive(access), true);
    const revoked = await browser.submit(asked, { do: 'revoke' });
    assert.match(revoked.html, /The token is revoked\./);
    assert.match(revoked.html, /<span class="badge bad">inactive<\/span>/);
    assert.deepEqual([await set.isActive(access), await set.isActive(refresh)], [false, false]);
    for (const page of [explained, asked, revoked]) {
      assert.ok(!page.html.includes(refresh));
      assert.equal(page.url, `${set.url}/console/tokens`);
      assert.match(
        page.headers.get('content-security-policy') ?? '',
        /^default-src 'none'; script-src( 'sha256-[^']*'){1,3}; style-src 'sha256/,
      );
      assert.equal(page.headers.get('cache-control'), 'no-store');
    }
    assert.ok(!set.log().includes(refresh));

    const other = await set.browserOf('alice');
    const own = hiddenFields(await other.get(`${set.url}/console/tokens`));
    const { sealed = '' } = hiddenFields(asked);
    const taken = await other.post(`${set.url}/console/tokens`, { ...own, sealed, do: 'ask' });
    assert.equal(taken.status, 400, 'a sealed token is for its session only');
  });

  test('issued tokens are in a table, the newest first, by client and user, page by page', async () => {
    const { subject } = await set.addUser('issued', []);
    await set.addClient('issuing', { client_name: 'Issuing' });
    const browser = await set.browserOf('alice');
    const rowsOf = async (query: string) => {
      const { html } = await browser.get(`${set.url}/console/tokens?${query}`);
      const rows = [...html.matchAll(/<tr><td class="pick">.*?<\/tr>/gs)].map(([row]) => row);
      const [previous, next] = ['previous', 'next'].map((id) =>
        new RegExp(`<a id="${id}" class="button" href="[^"?]*\\?([^"]*)"`)
          .exec(html)?.[1]
          ?.replaceAll('&amp;', '&'),
      );
      return { html, rows, previous, next };
    };
    const none = await rowsOf('client=issuing');
    assert.match(none.html, /Nothing found.*id="all"/s);
    const tokens = [];
    for (let count = 0; count < 21; count++) tokens.push(await set.tokensOf('issuing', subject));
    const last = tokens.at(-1);
    const cli = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
    await call(cli, 'revokeToken', { token: last?.refresh ?? '' });

    const first = await rowsOf('client=Issuing&user=issued');
    assert.equal(first.rows.length, 40, 'access and refresh tokens of 20 issuances');
    const [newest = '', other = ''] = first.rows;
    for (const cell of [
      /<code class="identifier" title="[^"]+">[^<]+<\/code><\/a><button type="button" class="copy small"/,
      /data-title="Client"><a href="[^"]*id=issuing"><bdi>Issuing<\/bdi>/,
      /data-title="User"><a [^>]*><bdi>issued<\/bdi>/,
      /data-title="Issued"><time class="moment" datetime="[^"]+" title="[^"]+ UTC">just now<\/time>/,
      /data-title="Expires"><time [^>]+>in \d+ (minutes|hours?)|\d+ \w+ \d{4}/,
      /data-title="State"><span class="badge bad">inactive<\/span><p class="reason">The token was revoked: .*<code class="raw">revoked<\/code>/,
    ])
      assert.match(newest, cell);
    assert.deepEqual([newest, other].map((row) => /(Access|Refresh) token/.exec(row)?.[1]).toSorted(), [
      'Access',
      'Refresh',
    ]);
    assert.match(first.rows[2] ?? '', /data-title="State"><span class="badge good">active/);
    const second = await rowsOf(first.next ?? '');
    assert.equal(second.rows.length, 2);
    assert.equal(second.next, undefined);
    const back = await rowsOf(second.previous ?? '');
    assert.deepEqual(back.rows.length, 40, 'the page before');
    const shown = [...first.rows, ...second.rows].map((row) => /title="([^"]*)"/.exec(row)?.[1]);
    assert.equal(new Set(shown).size, 42);

    const [, id = ''] = /title="([^"]*)"/.exec(newest) ?? [];
    const page = await browser.get(`${set.url}/console/tokens?id=${encodeURIComponent(id)}`);
    assert.match(page.html, /<dt>Expires <code class="raw">expires_at<\/code><\/dt><dd><time [^>]*>.* UTC/);
    assert.equal((await browser.get(`${set.url}/console/tokens?client=issuing&cursor=x`)).status, 400);
    assert.equal((await rowsOf('user=no-such-user')).rows.length, 0);
  });

  test('an inactive token says who has ended it, when and by which request, with a link to the event', async () => {
    const { subject } = await set.addUser('ending');
    const explained = async (token: string) => {
      const browser = await set.browserOf('alice');
      const form = await browser.get(`${set.url}/console/tokens`);
      return { browser, ...(await browser.submit(form, { token, do: 'explain' })) };
    };
    const cli = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
    const endings = {
      revoked: (token: string) => call(cli, 'revokeToken', { token }),
      grant_revoked: (_: string, refresh: string) => call(cli, 'revokeToken', { token: refresh }),
      subject_revoked: () => call(cli, 'revokeAll', { sub: subject }),
    };
    for (const [reason, end] of Object.entries(endings)) {
      const { access, refresh } = await set.tokensOf('app', subject);
      assert.doesNotMatch((await explained(access)).html, /Ended by/);
      await end(access, refresh);
      assert.match(
        (await explained(access)).html,
        /<dt>Ended by<\/dt><dd>A command on the server .*?, <time/,
        reason,
      );
    }

    const { access } = await set.tokensOf('app', subject);
    const browser = await set.browserOf('alice');
    const form = await browser.get(`${set.url}/console/tokens`);
    const asked = await browser.submit(await browser.submit(form, { token: access, do: 'explain' }), {
      do: 'ask',
    });
    await browser.submit(asked, { do: 'revoke' });
    const alice = await set.instance.people.byName('alice');
    const page = await explained(access);
    const [ending = ''] = /<dt>Ended by<\/dt><dd>.*?<\/dd>/s.exec(page.html) ?? [];
    assert.match(
      ending,
      /<bdi>alice<\/bdi><\/a> revoked .* for <a href="[^"]*"><bdi>ending<\/bdi><\/a> from <bdi>127\.0\.0\.1<\/bdi>, <time/,
    );
    const pageAt = async (id: string) => {
      const [, href = ''] = new RegExp(`id="${id}" href="([^"]*)"`).exec(ending) ?? [];
      const { html } = await page.browser.get(`${set.url}${href.replaceAll('&amp;', '&')}`);
      return html;
    };
    assert.match(
      await pageAt('end'),
      new RegExp(`<code class="raw">actor</code></dt>.*console:${alice?.subject}`),
    );
    assert.deepEqual(typesIn(await pageAt('end-request')), ['token_revoked']);
    const { html } = await page.browser.get(`${set.url}/console/tokens?id=${'x'.repeat(65)}`);
    assert.match(html, /<title>Problem: /);
  });

  test('an unknown token says so, and an empty field is a problem', async () => {
    const browser = await set.browserOf('alice');
    const form = await browser.get(`${set.url}/console/tokens`);
    const unknown = await browser.submit(form, { token: 'nonsense', do: 'explain' });
    assert.match(unknown.html, /<h1>Not a token of this server<\/h1>/);
    assert.doesNotMatch(unknown.html, /id="revoke"/);
    assert.equal((await browser.submit(form, { token: ' ', do: 'explain' })).status, 400);
  });
});

describe('the search', () => {
  const search = async (q: string) => {
    const browser = await set.browserOf('alice');
    const form = hiddenFields(await browser.get(`${set.url}/console`));
    return browser.post(`${set.url}/console/search`, { ...form, q });
  };

  test('leads to the one thing with this name, address or identifier, and else shows what contains the text', async () => {
    const mailed = await set.addUser('searched', [], { email: 'Sought@mail.example', email_verified: true });
    const other = await set.addUser('searching', [], { email: 'seeker@mail.example' });
    for (const id of ['search-app', 'search-web']) await set.addClient(id);
    await set.instance.groups.add({ name: 'searchers', description: '' }, Date.now());
    for (const [text, url] of [
      ['searched', `/users?sub=${mailed.subject}`],
      [' sought@MAIL.example ', `/users?sub=${mailed.subject}`],
      ['seeker@mail.example', `/users?sub=${other.subject}`],
      [other.subject, `/users?sub=${other.subject}`],
      ['search-app', '/clients?id=search-app'],
      ['searchers', '/groups?name=searchers'],
      ['search', '/search?q=search'],
      ['', '/search'],
    ] as const)
      assert.equal((await search(text)).url, `${set.url}/console${url}`, text);
    const { html } = await search('search');
    for (const [kind, rows] of [
      ['users', 2],
      ['clients', 2],
      ['groups', 1],
    ] as const) {
      const [, list = ''] = new RegExp(`<h2 id="found-${kind}">[^]*?<ul[^>]*>([^]*?)</ul>`).exec(html) ?? [];
      assert.equal(list.match(/<li>/g)?.length, rows, kind);
    }
    for (let number = 0; number < 6; number += 1) await set.addUser(`sixfold ${number}`);
    const many = await search('sixfold');
    assert.match(many.html, /<a id="all-users" href="\/console\/users\?search=sixfold">All 6 in Users</);
  });

  test('explains a token or its identifier at once, and no URL, page or log has it', async () => {
    const bob = await set.instance.people.byName('bob');
    const { access, refresh } = await set.tokensOf('app', bob?.subject ?? '');
    const id = (await set.server.operator.explainToken(access)).record?.id ?? assert.fail();
    const foreign = `eyJhbGciOiJSUzI1NiJ9.${'e'.repeat(40)}.${'s'.repeat(40)}`;
    const unknown = 'x'.repeat(43);
    for (const [text, title] of [
      [access, 'Access token'],
      [`Bearer ${refresh}`, 'Refresh token'],
      [id, 'Access token'],
      [foreign, 'Not a token of this server'],
      [unknown, 'Search'],
    ] as const) {
      const page = await search(text);
      assert.equal(page.url, `${set.url}/console/search`);
      assert.ok(page.html.includes(`<h1>${title}</h1>`), title);
      assert.equal(page.status, 200);
      if (text !== id) assert.ok(!page.html.includes(text), title);
      assert.ok(!set.log().includes(text), title);
    }
    const browser = await set.browserOf('alice');
    const form = hiddenFields(await browser.get(`${set.url}/console`));
    const explained = await browser.post(`${set.url}/console/search`, { ...form, q: access });
    const asked = await browser.submit(explained, { do: 'ask' });
    await browser.submit(asked, { do: 'revoke' });
    assert.equal(await set.isActive(access), false);
  });
});

describe('users and clients', () => {
  test('a user is found, disabled after a count, and enabled again', async () => {
    const { subject } = await set.addUser('erin');
    const { access } = await set.tokensOf('app', subject);
    const theirs = await set.browserOf('erin');
    const browser = await set.browserOf('alice');
    const list = await browser.get(`${set.url}/console/users?search=eri`);
    const [, found] = /href="\/console\/users\?sub=([\w-]+)"/.exec(list.html) ?? [];
    assert.equal(found, subject);
    const asked = await browser.get(`${set.url}/console/users?sub=${subject}&ask=disable`);
    assert.match(asked.html, /<dt>Active tokens<\/dt><dd>2<\/dd>/);
    assert.match(asked.html, /<dt>Sessions<\/dt><dd>1<\/dd>/);
    const disabled = await browser.submit(asked, { do: 'disable' });
    assert.match(disabled.html, /The user is disabled\./);
    assert.equal(await set.isActive(access), false);
    assert.ok(isLogin(await theirs.get(`${set.url}/account`)));
    const enabled = await browser.submit(disabled, { do: 'enable' });
    assert.match(enabled.html, /The user is enabled\./);
    assert.doesNotMatch(enabled.html, /cheap|scrypt/, 'no hash');
  });

  test('a list is sorted, filtered and turned in both directions', async () => {
    for (let number = 100; number < 160; number += 1) await set.addUser(`turning ${number}`);
    const browser = await set.browserOf('alice');
    const shown = async (url: string) => {
      const { html } = await browser.get(`${set.url}${url}`);
      const names = [...html.matchAll(/<th scope="row"><a [^>]*><bdi[^>]*>(.*?)<\/bdi>/g)].map(
        ([, name]) => name,
      );
      const linkTo = (id: string) =>
        unescaped(new RegExp(`id="${id}"[^>]* href="([^"]*)"`).exec(html)?.[1] ?? '');
      return { html, names, linkTo };
    };
    const first = await shown('/console/users?search=turning');
    assert.deepEqual([first.names.length, first.names[0], first.linkTo('previous')], [50, 'turning 100', '']);
    const second = await shown(first.linkTo('next'));
    assert.deepEqual([second.names.length, second.names[0], second.linkTo('next')], [10, 'turning 150', '']);
    assert.deepEqual((await shown(second.linkTo('previous'))).names, first.names);
    assert.deepEqual((await shown(second.linkTo('first'))).names, first.names);

    const newest = await shown('/console/users?search=turning&sort=created_at&descending=true');
    assert.match(newest.html, /<th scope="col"[^>]* aria-sort="descending"[^>]*><a href="[^"]*">Added</);
    const older = await shown(newest.linkTo('next'));
    assert.deepEqual(older.names.length, 10);
    assert.deepEqual((await shown(older.linkTo('previous'))).names, newest.names);
    const foreign = `${newest.linkTo('next')}&sort=username`.replace('sort=created_at&', '');
    assert.deepEqual((await shown('/console/users?factor=passkey')).names, []);
    assert.equal((await browser.get(`${set.url}/console/users?cursor=made-up`)).status, 400);
    assert.equal((await browser.get(`${set.url}${foreign}`)).status, 200, 'a name may look like a time');
    const wrong = first.linkTo('next').replace('search=turning', 'sort=created_at');
    assert.equal((await browser.get(`${set.url}${wrong}`)).status, 400);
    const unknown = await browser.get(`${set.url}/console/users?group=nobody`);
    assert.equal(unknown.status, 404);
  });

  test('a search that takes too long stops, and its cursors lead on in both directions', async (t) => {
    const own = await startConsole();
    t.after(() => own.close());
    const people = Array.from({ length: 2100 }, (_, index) => ({
      ...{ subject: `s${index}`, name: `user${1000 + index}`, passwordHash: '', claims: {} },
      ...{ groups: index < 950 ? [] : ['many'], links: [], mayLookAlike: false, importDigest: 'd' },
    }));
    await own.instance.groups.add({ name: 'many', description: '' }, 1);
    for (let begin = 0; begin < people.length; begin += 500)
      await own.instance.importedPeople.add(people.slice(begin, begin + 500), 'i');
    const calls = localCalls({ ...own.instance.actingAs('cli'), configuration: own.configuration });
    const list = async (wish: object) => {
      const asked = { group: 'many', within_ms: 0, limit: 100, ...wish };
      const page = await call(calls, 'listUsers', asked);
      const { items, looked_at: lookedAt, next_cursor: next, previous_cursor: previous } = page;
      const [first, last] = [items[0]?.username, items.at(-1)?.username];
      return { found: [items.length, first, last, lookedAt], next, previous };
    };
    const first = await list({});
    assert.deepEqual(first.found, [50, 'user1950', 'user1999', 1000]);
    const second = await list({ cursor: first.next });
    assert.deepEqual(second.found, [100, 'user2000', 'user2099', undefined]);
    const before = await list({ cursor: second.previous });
    assert.deepEqual(before.found, [50, 'user1950', 'user1999', 1000]);
    const further = await list({ cursor: before.previous });
    assert.deepEqual(
      [further.found, further.next, further.previous],
      [[0, undefined, undefined, undefined], undefined, undefined],
    );
    // Few are disabled, so all of them are known.
    assert.deepEqual(await list({ state: 'disabled' }), { ...further });
    assert.deepEqual((await list({ within_ms: undefined })).found, [100, 'user1950', 'user2049', undefined]);
    const browser = await own.browserOf((await own.addUser('alice', ['admins'])).name);
    const { html } = await browser.get(`${own.url}/console/groups?name=many`);
    assert.match(html, />user1950</);
  });

  test('several users are changed after one question, and each has an outcome', async () => {
    const [one, other] = [await set.addUser('several 1'), await set.addUser('several 2')];
    const alice = (await set.instance.people.byName('alice')) ?? assert.fail();
    const browser = await set.browserOf('alice');
    const picked = [one, other, alice].map(({ subject }) => `&picked=${subject}`).join('');
    const done = (await set.addUser('several 3')).subject;
    await set.instance.storage.setDisabled('subject', done, true);
    await set.browserOf('several 1');
    const url = `${set.url}/console/users?ask=bulk&do=disable${picked}&picked=${done}&picked=unknown`;
    const asked = await browser.get(url);
    assert.match(asked.html, /<h1>Disable 2 users\?<\/h1>/);
    const planIn = (html: string, title: string) =>
      [
        ...html.matchAll(new RegExp(`<th scope="row">(.*?)</th><td data-title="${title}">(.*?)</td>`, 'g')),
      ].map((row) =>
        row
          .slice(1)
          .map((cell) => cell.replaceAll(/<[^>]*>/g, ''))
          .join(': '),
      );
    assert.deepEqual(planIn(asked.html, 'What happens'), [
      'several 1: Will be disabled. 1 session ends.',
      'several 2: Will be disabled. No session ends.',
      'alice: Refused an administrator cannot be disabled: first remove them from the group of administrators',
      'several 3: Is already disabled.',
      'unknown: Refused there is no user with the sub unknown',
    ]);
    const sent = [...asked.html.matchAll(/name="picked" value="([^"]*)"/g)].map(([, subject]) => subject);
    assert.deepEqual(sent, [one.subject, other.subject]);
    const nothing = await browser.get(`${set.url}/console/users?ask=bulk&do=enable&picked=${one.subject}`);
    assert.match(nothing.html, /<h1>Nothing would change<\/h1>/);
    assert.doesNotMatch(nothing.html, /console-yes/);
    const send = (fields: Readonly<Record<string, string>>, subjects: readonly string[]) => {
      const body = new URLSearchParams({ ...hiddenFields(asked), ...fields });
      body.delete('picked');
      for (const subject of subjects) body.append('picked', subject);
      return browser.send(`${set.url}/console/users`, { method: 'POST', body });
    };
    const subjects = [one.subject, other.subject, alice.subject];
    const html = await (await send({ act: 'disable', do: 'bulk' }, subjects)).text();
    assert.match(html, /Done for 2 of 3\./);
    assert.deepEqual(planIn(html, 'Outcome'), [
      'several 1: Done',
      'several 2: Done',
      'alice: Refused an administrator cannot be disabled: first remove them from the group of administrators',
    ]);
    const disabled = await set.instance.storage.disabledSubjects(subjects);
    assert.deepEqual([...disabled.keys()].sort(), [one.subject, other.subject].sort());

    await set.instance.groups.add({ name: 'several', description: '' }, Date.now());
    const joining = await browser.get(`${set.url}/console/users?ask=bulk&do=join${picked}`);
    assert.match(joining.html, /<h1>Add 3 users to a group\?<\/h1>.*<option value="several">/s);
    const chosen = await browser.get(`${set.url}/console/users?ask=bulk&do=join${picked}&group=several`);
    assert.deepEqual(planIn(chosen.html, 'What happens').slice(0, 1), ['several 1: Will be added.']);
    const former = (await set.instance.people.bySubject(one.subject)) ?? assert.fail();
    await set.instance.people.update({ ...former, claims: { ...former.claims, groups: ['of old'] } });
    const joined = await send({ act: 'join', do: 'bulk', group: 'several' }, [one.subject, 'unknown']);
    assert.match(await joined.text(), /class="caution">.*do not see the groups of several 1/s);
    assert.deepEqual((await set.instance.people.bySubject(one.subject))?.groups, ['several']);
    const noAct = await browser.get(`${set.url}/console/users?ask=bulk&do=erase${picked}`);
    assert.equal(noAct.url, `${set.url}/console/users`);

    await call(
      localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration }),
      'addClient',
      { client_id: 'several', allowed_groups: ['several'] },
    );
    const leaving = await browser.get(`${set.url}/console/users?ask=bulk&do=leave${picked}`);
    assert.deepEqual(
      [...leaving.html.matchAll(/<option value="([^"]*)"/g)].map(([, name]) => name),
      ['', 'admins', 'several'],
      'no group is chosen at first',
    );
    const left = await browser.get(`${set.url}/console/users?ask=bulk&do=leave${picked}&group=several`);
    assert.match(left.html, /<h1>Remove several 1 from a group\?<\/h1>/);
    assert.deepEqual(planIn(left.html, 'What happens').slice(0, 2), [
      'several 1: Will be removed from the group. Clients for this group: several',
      'several 2: Is not a member.',
    ]);
    await send({ act: 'leave', do: 'bulk', group: 'several' }, [one.subject]);
    assert.deepEqual((await set.instance.people.bySubject(one.subject))?.groups, undefined);

    // Without the right, it goes no further.
    const own = [alice.subject, one.subject];
    await set.browserOf('several 1');
    const sessions = async (subject: string) =>
      (await set.instance.sessions.ofSubject(subject, Date.now())).length;
    const ended = await send({ act: 'end_sessions', do: 'bulk' }, own);
    assert.equal(ended.status, 403);
    assert.deepEqual(await Promise.all(own.map(sessions)), [0, 1]);
  });

  test('several groups are removed, after a plan that says who leaves them and which policy ends', async () => {
    const { groups, people } = set.instance;
    const calls = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
    for (const name of ['crowd', 'strict', 'empty', 'paying']) await call(calls, 'addGroup', { name });
    await call(calls, 'updateGroup', { group: 'strict', sign_in_policy: 'second_factor' });
    for (let at = 1; at <= 7; at++) {
      const { subject } = await set.addUser(`crowd ${at}`);
      await call(calls, 'addMember', { group: 'crowd', sub: subject });
      if (at === 1) await call(calls, 'addMember', { group: 'strict', sub: subject });
    }
    await call(calls, 'addClient', { client_id: 'payroll', allowed_groups: ['paying'] });
    const browser = await set.browserOf('alice');
    const list = await browser.get(`${set.url}/console/groups`);
    assert.match(list.html, /<input type="checkbox" name="picked" value="crowd".*id="bulk-remove"/s);
    const names = ['crowd', 'strict', 'empty', 'paying', 'admins'];
    const picked = names.map((name) => `&picked=${name}`).join('');
    const textsOf = (html: string) =>
      [...html.matchAll(/<th scope="row">(.*?)<\/th><td data-title="[^"]*">(.*?)<\/td>/g)].map((row) =>
        row
          .slice(1)
          .map((text) => text.replaceAll(/<[^>]*>/g, ''))
          .join(': '),
      );
    const asked = await browser.get(`${set.url}/console/groups?ask=bulk&do=remove${picked}`);
    assert.match(asked.html, /<h1>Remove 3 groups\?<\/h1>/);
    assert.deepEqual(textsOf(asked.html), [
      'crowd: Will be removed. 7 members leave: crowd 1, crowd 2, crowd 3, crowd 4, crowd 5 …',
      'strict: Will be removed. 1 member leaves: crowd 1 Sign-in policy: Second factor',
      'empty: Will be removed. Has no members.',
      'paying: Refused the client payroll is for the group paying',
      'admins: Refused the group of administrators cannot be removed',
    ]);
    assert.equal((await groups.list()).filter(({ name }) => names.includes(name)).length, 5);
    const body = new URLSearchParams({ ...hiddenFields(asked), act: 'remove', do: 'bulk' });
    body.delete('picked');
    for (const name of names) body.append('picked', name);
    const done = await browser.send(`${set.url}/console/groups`, { method: 'POST', body });
    const html = await done.text();
    assert.match(html, /Done for 3 of 5\./);
    assert.doesNotMatch(html, /href="[^"]*name=crowd"/, 'nothing leads to what is gone');
    assert.deepEqual(
      (await groups.list()).map(({ name }) => name).filter((name) => names.includes(name)),
      ['admins', 'paying'],
    );
    assert.equal((await people.byName('crowd 1'))?.groups, undefined);
  });

  test('a list says if nothing is selected, and keeps its filters', async () => {
    await set.addUser('picky');
    await set.addClient('picky', { client_name: 'Picky' });
    await set.tokensOf('picky', 'picky');
    const browser = await set.browserOf('alice');
    for (const [list, does, query, what] of [
      ['users', 'disable', 'search=picky&state=enabled', 'user'],
      ['clients', 'revoke_all', 'search=picky', 'client'],
      ['tokens', 'revoke', 'client=picky', 'token'],
      ['groups', 'remove', 'search=adm', 'group'],
    ] as const) {
      const page = await browser.get(`${set.url}/console/${list}?${query}`);
      const [, wish = ''] = /name="wish" value="([^"]*)"/.exec(page.html) ?? [];
      const sent = new URLSearchParams({ ask: 'bulk', wish: unescaped(wish), do: does });
      assert.doesNotMatch(page.html, /Select at least/);
      const back = await browser.get(`${set.url}/console/${list}?${sent}`);
      assert.equal(back.url, `${set.url}/console/${list}?${query}&unpicked=yes`);
      assert.match(back.html, new RegExp(`role="alert" id="unpicked".*Select at least one ${what}\\.`));
    }
  });

  test('an act that nothing can undo is red from the first button on, for one thing and for several', () => {
    const pages: Readonly<Record<string, Acts>> = { users: USERS, clients: CLIENTS, groups: GROUPS };
    const checked: string[] = [];
    for (const [list, { acts }] of Object.entries(pages))
      for (const [name, { isFinal = false, order }] of Object.entries<BulkAct>(
        BULK_ACTS[list as keyof typeof BULK_ACTS],
      )) {
        const [operation] = order('a', 'b');
        const single = Object.entries(acts).find(
          ([, act]) => act.operation === operation && act.form === undefined && act.also === undefined,
        );
        if (single === undefined) continue;
        checked.push(`${list} ${name}`);
        const [id, { asks, canUndo = false }] = single;
        assert.equal(isFinal, asks === true && !canUndo, `${name} and ${id}`);
        const link = String(actLink(pages[list] ?? assert.fail(), id, '/console', {}, EN));
        assert.equal(link.includes(' ending"'), isFinal, link);
        const form = String(bulkForm({ base: '/console' }, list as 'users', {}, html``, EN));
        assert.equal(form.includes(`id="bulk-${name}" type="submit" class="ending"`), isFinal, name);
      }
    assert.ok(checked.length >= 6, checked.join());
  });

  test('selected tokens are revoked after a plan, and so are all tokens of selected clients', async () => {
    const { subject } = await set.addUser('holder');
    for (const id of ['bulk-1', 'bulk-2', 'bulk-3']) await set.addClient(id);
    const [one, other, third] = [
      await set.tokensOf('bulk-1', subject),
      await set.tokensOf('bulk-1', subject),
      await set.tokensOf('bulk-2', subject),
    ];
    const browser = await set.browserOf('alice');
    const idOf = async (token: string) => (await set.server.operator.explainToken(token)).record?.id ?? '';
    const ids = await Promise.all([one.access, other.access].map(idOf));
    await call(
      localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration }),
      'revokeToken',
      { token: other.access },
    );
    const list = await browser.get(`${set.url}/console/tokens?client=bulk-1`);
    for (const id of ids)
      assert.ok(
        list.html.includes(`<input type="checkbox" name="picked" value="${id}" aria-label="Select ${id}">`),
      );
    assert.match(list.html, /id="bulk-revoke"/);
    const picked = ids.map((id) => `&picked=${encodeURIComponent(id)}`).join('');
    const asked = await browser.get(`${set.url}/console/tokens?ask=bulk&do=revoke${picked}`);
    assert.match(asked.html, /<h1>Revoke 1 token\?<\/h1>/);
    assert.match(asked.html, /Will be revoked\.[\s\S]*Is inactive already\./);
    assert.match(asked.html, /id="console-yes" type="submit" class="final"/);
    assert.equal(await set.isActive(one.access), true, 'a question ends nothing');
    assert.match((await browser.submit(asked, { do: 'bulk' })).html, /Done for 1 of 1\./);
    assert.deepEqual([await set.isActive(one.access), await set.isActive(third.access)], [false, true]);

    const clients = await browser.get(
      `${set.url}/console/clients?ask=bulk&do=revoke_all&picked=bulk-2&picked=bulk-3`,
    );
    assert.match(clients.html, /<h1>Revoke all tokens of bulk-\d\?<\/h1>/);
    assert.match(clients.html, /Loses all tokens\.<\/b> Active tokens: 2[\s\S]*Has no active tokens\./);
    assert.match((await browser.submit(clients, { do: 'bulk' })).html, /Done for 1 of 1\./);
    assert.equal(await set.isActive(third.access), false);
  });

  test('all tokens of a user end, and their sessions', async () => {
    const { subject } = await set.addUser('frank');
    const { access } = await set.tokensOf('app', subject);
    const theirs = await set.browserOf('frank');
    const browser = await set.browserOf('alice');
    const asked = await browser.get(`${set.url}/console/users?sub=${subject}&ask=end_access`);
    assert.match(
      (await browser.submit(asked, { do: 'end_access' })).html,
      /All access of the user has ended\./,
    );
    const { events } = await firstOf(
      set.instance.auditTrail.before(undefined, { type: 'subject_revoked' }),
      100,
    );
    const alice = await set.instance.people.byName('alice');
    assert.deepEqual([events[0]?.target, events[0]?.actor], [subject, `console:${alice?.subject}`]);
    assert.equal(await set.isActive(access), false);
    assert.ok(isLogin(await theirs.get(`${set.url}/account`)));
  });

  test('clients are sorted by name in any case, and those without a name come first', async () => {
    for (const [id, name] of [
      ['sorted-1', 'beta'],
      ['sorted-2', 'Alpha'],
      ['sorted-3', 'Gamma'],
      ['sorted-4', undefined],
    ] as const)
      await set.addClient(id, name === undefined ? {} : { client_name: name });
    const browser = await set.browserOf('alice');
    const idsIn = async (query: string) => {
      const { html } = await browser.get(`${set.url}/console/clients?search=sorted&${query}`);
      assert.match(html, /<th scope="col" aria-sort="(a|de)scending"><a href="[^"]*">Name</);
      return [...html.matchAll(/<th scope="row">.*?<bdi[^>]*>(.*?)<\/bdi>/g)].map(([, id]) => id);
    };
    const sorted = ['sorted-4', 'sorted-2', 'sorted-1', 'sorted-3'];
    assert.deepEqual(await idsIn('sort=client_name'), sorted);
    assert.deepEqual(await idsIn('sort=client_name&descending=true'), sorted.toReversed());
  });

  test('a client is shown without its secret, and disabled after a count', async () => {
    const { client_secret: secret = '' } = await set.addClient('shop/1');
    const bob = await set.instance.people.byName('bob');
    const { access } = await set.tokensOf('shop/1', bob?.subject ?? '');
    const browser = await set.browserOf('alice');
    const list = await browser.get(`${set.url}/console/clients?search=SHOP`);
    assert.match(list.html, /href="\/console\/clients\?id=shop%2F1"/);
    assert.doesNotMatch(list.html, /id=app"/);
    const link = /href="\/console\/clients\?id=shop%2F1"/;
    for (const [kind, isShown] of [
      ['operator', true],
      ['registered', false],
      ['document', false],
      ['any', true],
    ] as const) {
      const { html } = await browser.get(`${set.url}/console/clients?search=shop&kind=${kind}`);
      assert.equal(link.test(html), isShown, kind);
      assert.equal(html.includes(`<option value="${kind}" selected>`), kind !== 'any');
    }
    const page = await browser.get(`${set.url}/console/clients?id=shop%2F1`);
    assert.match(page.html, /https:\/\/app\.example\/cb/);
    assert.ok(!page.html.includes(secret) && !page.html.includes('hash'));
    const asked = await browser.get(`${set.url}/console/clients?id=shop%2F1&ask=disable`);
    assert.match(asked.html, /<dt>Active tokens<\/dt><dd>2<\/dd>/);
    assert.match((await browser.submit(asked, { do: 'disable' })).html, /The client is disabled\./);
    assert.equal(await set.isActive(access), false);
    assert.equal((await browser.get(`${set.url}/console/clients?id=nobody`)).status, 404);
  });
});

describe('grants', () => {
  test('a grant of a user ends after a count, and only one of their own', async () => {
    const { subject } = await set.addUser('ivan');
    const { access } = await set.tokensOf('app', subject);
    const kept = await set.tokensOf('app', subject);
    const [first] = await set.instance.storage.grantsOf(subject);
    const explained = await set.server.operator.explainToken(access);
    assert.ok(explained.record?.grantId && first);
    const browser = await set.browserOf('alice');
    const page = await browser.get(`${set.url}/console/users?sub=${subject}`);
    assert.equal([...page.html.matchAll(/id="ask-end_client-/g)].length, 1, 'one row for both grants');
    assert.match(page.html, /data-title="Last used"><time [^>]*>just now<\/time>/);
    const both = await browser.get(`${set.url}/console/users?sub=${subject}&ask=end_client&client=app`);
    assert.match(both.html, /<dt>Grants that end<\/dt><dd>2<\/dd>[\s\S]*<dt>Active tokens<\/dt><dd>4<\/dd>/);
    const url = `${set.url}/console/users?sub=${subject}&ask=end_grant&grant=${explained.record.grantId}`;
    const asked = await browser.get(url);
    assert.match(asked.html, /<dt>Active tokens<\/dt><dd>2<\/dd>/);
    const bob = await set.instance.people.byName('bob');
    const foreign = { ...hiddenFields(asked), sub: bob?.subject ?? '', do: 'end_grant' };
    assert.equal((await browser.post(`${set.url}/console/users`, foreign)).status, 404, 'not a grant of bob');
    assert.equal(await set.isActive(access), true);
    assert.match((await browser.submit(asked, { do: 'end_grant' })).html, /The grant has ended\./);
    assert.deepEqual([await set.isActive(access), await set.isActive(kept.access)], [false, true]);
    assert.equal((await browser.get(url)).status, 404, 'an old question is over');
    const late = await browser.submit(asked, { do: 'end_grant', again: 'later' });
    assert.equal(late.status, 404, 'and so is its form');
  });
});

test('one act ends the access of an application and its consent, after a question that shows both', async () => {
  const { subject } = await set.addUser('kim');
  const { access, refresh } = await set.tokensOf('app', subject);
  await addConsent(set.instance, subject, 'app');
  const browser = await set.browserOf('alice');
  const page = await browser.get(`${set.url}/console/users?sub=${subject}`);
  assert.equal([...page.html.matchAll(/<a id="ask-[^"]*-app"/g)].length, 1, 'one row with one act');
  const asked = await browser.get(`${set.url}/console/users?sub=${subject}&ask=end_application&client=app`);
  assert.match(asked.html, /<h1>End the access of app to the data of kim\?<\/h1>/);
  for (const row of ['Grants that end</dt><dd>1', 'Active tokens</dt><dd>2', 'Consent</dt><dd>Is withdrawn'])
    assert.match(asked.html, new RegExp(`<dt>${row}<`));
  assert.equal(await set.isActive(access), true, 'a question ends nothing');
  const done = await browser.submit(asked, { do: 'end_application' });
  assert.match(done.html, /The access of the application has ended\./);
  assert.deepEqual([await set.isActive(access), await set.isActive(refresh)], [false, false]);
  assert.equal(await set.instance.consents.get({ subject, clientId: 'app' }), undefined);
  const late = await browser.get(`${set.url}/console/users?sub=${subject}&ask=end_application&client=app`);
  assert.equal(late.status, 404, 'an old question is over');
});

describe('groups', () => {
  test('the page of a group shows its sign-in policy', async () => {
    await set.instance.groups.add(
      { name: 'payroll', description: '', signInPolicy: 'phishing_resistant' },
      Date.now(),
    );
    await set.instance.groups.add({ name: 'guests', description: '' }, Date.now());
    const browser = await set.browserOf('alice');
    const payroll = await browser.get(`${set.url}/console/groups?name=payroll`);
    assert.match(
      payroll.html,
      /<dt>Sign-in policy <code class="raw">sign_in_policy<\/code><\/dt><dd>A passkey<\/dd>/,
    );
    const guests = await browser.get(`${set.url}/console/groups?name=guests`);
    assert.doesNotMatch(guests.html, /<dt>Sign-in policy/);
  });

  test('a group is added, gets a member, loses it after a question, and is removed', async () => {
    const { subject } = await set.addUser('judy');
    const browser = await set.browserOf('alice');
    const at = (query: string) => browser.get(`${set.url}/console/groups?${query}`);
    const add = async (name: string) =>
      browser.submit(await at('ask=add'), { name, description: 'On call', do: 'add' });
    assert.match((await add(' ops ')).html, /The group is added\./);
    const taken = await add('OPS');
    assert.equal(taken.status, 409);
    assert.match(taken.html, /Group OPS already exists/);
    assert.match(taken.html, /value="OPS"/, 'what was typed is there again');
    assert.equal((await add('')).status, 400);
    const join = async (username: string) =>
      browser.submit(await at('name=ops&ask=join'), { username, do: 'join' });
    assert.match((await join('nobody')).html, /id="field-username-problem"[\s\S]*no user with this name/i);
    assert.match((await join('judy')).html, /The user is now a member\./);
    assert.match((await join('judy')).html, /Nothing has changed\./);
    assert.deepEqual((await set.instance.people.bySubject(subject))?.groups, ['ops']);
    const form = await at('name=ops&ask=edit');
    const change = (policy: string, more = {}) =>
      browser.submit(form, { description: 'On call', sign_in_policy: policy, do: 'edit', ...more });
    assert.match((await change('')).html, /Nothing has changed\./);
    const question = await change('second_factor_if_enrolled');
    assert.match(question.html, /This can end access[\s\S]*Sign-in policy[\s\S]*second_factor_if_enrolled/);
    const changed = await browser.submit(question, { do: 'edit' });
    assert.match(changed.html, /The group is changed\./);
    assert.match(
      changed.html,
      /<dt>Sign-in policy <code class="raw">sign_in_policy<\/code><\/dt><dd>Second factor, if the user has one<\/dd>/,
    );
    const late = await change('second_factor', { confirmed: 'yes' });
    assert.equal(late.status, 409);
    assert.match(late.html, /Stored now: <code>Second factor, if the user has one<\/code>/);
    assert.equal((await set.instance.groups.byName('ops'))?.signInPolicy, 'second_factor_if_enrolled');
    const over = { description: 'On call', sign_in_policy: 'second_factor', confirmed: 'yes', do: 'edit' };
    assert.match((await browser.submit(late, over)).html, /The group is changed\./);
    assert.equal((await set.instance.groups.byName('ops'))?.signInPolicy, 'second_factor');
    const asked = await browser.get(`${set.url}/console/groups?name=ops&ask=leave&sub=${subject}`);
    assert.match(asked.html, /<h1>Remove judy from the group ops\?</);
    assert.match((await browser.submit(asked, { do: 'leave' })).html, /The user is no longer a member\./);
    const removal = await browser.get(`${set.url}/console/groups?name=ops&ask=remove`);
    const removed = await browser.submit(removal, { do: 'remove' });
    assert.match(removed.html, /The group is removed\./);
    const again = await browser.submit(removal, { do: 'remove', again: 'later' });
    assert.equal(again.status, 404, 'an old question is over');
    const { events } = await firstOf(
      set.instance.auditTrail.before(undefined, { type: 'group_member_removed' }),
      100,
    );
    const alice = await set.instance.people.byName('alice');
    assert.equal(events[0]?.actor, `console:${alice?.subject}`);
  });

  test('the group of administrators stays, and no administrator removes or disables themselves', async () => {
    const alice = await set.instance.people.byName('alice');
    const browser = await set.browserOf('alice');
    const post = (path: string, fields: Readonly<Record<string, string>>) =>
      browser.post(`${set.url}/console${path}`, { ...form, ...fields });
    const form = hiddenFields(await browser.get(`${set.url}/console/tokens`));
    const page = await browser.get(`${set.url}/console/groups?name=admins`);
    assert.doesNotMatch(page.html, /id="ask-remove"/);
    assert.ok(!page.html.includes(`id="ask-leave-${alice?.subject}"`));
    assert.equal((await browser.get(`${set.url}/console/groups?name=admins&ask=remove`)).status, 409);
    assert.equal((await post('/groups', { name: 'admins', do: 'remove' })).status, 409);
    // Another spelling names the same group.
    assert.equal((await post('/groups', { name: 'ADMINS', do: 'remove' })).status, 409);
    const own = { sub: alice?.subject ?? '' };
    for (const name of ['admins', 'Admins']) {
      const refused = await post('/groups', { name, ...own, do: 'leave' });
      assert.equal(refused.status, 409);
      assert.match(refused.html, /administrators cannot remove themselves/);
    }
    const ownPage = await browser.get(`${set.url}/console/users?sub=${own.sub}`);
    assert.match(ownPage.html, /first remove them/);
    assert.doesNotMatch(ownPage.html, /id="ask-leave-admins"/);
    assert.equal((await post('/users', { ...own, do: 'disable' })).status, 409);
    const mallory = await set.addUser('mallory', ['admins']);
    const others = await browser.get(`${set.url}/console/users?sub=${mallory.subject}`);
    assert.match(others.html, /id="ask-leave-admins"/);
    assert.equal((await post('/users', { sub: mallory.subject, do: 'disable' })).status, 409);
    assert.match(
      (await post('/groups', { name: 'admins', sub: mallory.subject, do: 'leave' })).html,
      /no longer/,
    );
    const late = await post('/users', { sub: mallory.subject, do: 'disable', again: 'later' });
    assert.match(late.html, /is disabled\./);
    const oscar = await set.addUser('oscar', ['admins']);
    const picked = `picked=${own.sub}&picked=${oscar.subject}`;
    const several = await browser.get(`${set.url}/console/users?ask=bulk&do=leave&group=admins&${picked}`);
    assert.match(several.html, /<title>Take administrator rights from oscar\?/);
    assert.match(several.html, /administrators cannot remove themselves/);
    const taken = await browser.submit(several, { do: 'bulk' });
    assert.match(taken.html, /Done for 1 of 1\./);
  });

  test('the last administrator cannot delete their own account, and commands warn', async (t) => {
    const own = await startConsole();
    t.after(() => own.close());
    await own.addUser('alice', ['admins']);
    const removal = async (name: string) => {
      const browser = await own.browserOf(name);
      const page = await browser.get(`${own.url}/account/data`);
      const fields = { ...hiddenFields(page), current_password: PASSWORD, confirm: 'yes' };
      return () => browser.post(`${own.url}/account/data`, fields);
    };
    const refused = await (await removal('alice'))();
    assert.equal(refused.status, 409);
    assert.match(refused.html, /You are the last administrator\. First add another one\./);
    const invited = await own.instance.people.add({ name: 'ivy', claims: {}, passwordHash: '' });
    assert.ok(invited);
    await own.instance.groups.addMember({ subject: invited.subject, group: 'admins' }, Date.now());
    assert.equal((await (await removal('alice'))()).status, 409, 'an invited user cannot sign in yet');
    await own.addUser('bob', ['admins']);
    const both = await Promise.all([removal('alice'), removal('bob')]);
    const answered = await Promise.all(both.map((submit) => submit()));
    assert.deepEqual(answered.map(({ status }) => status).sort(), [200, 409]);
    const [rest] = (await own.instance.people.list({ group: 'admins' })).filter(({ name }) => name !== 'ivy');
    assert.ok(rest);

    const warnings: string[] = [];
    const parts = { ...own.instance.actingAs('cli'), configuration: own.configuration };
    const commands = localCalls(parts, (warning) => warnings.push(String(warning)));
    await call(commands, 'removeMember', { group: 'admins', sub: rest.subject });
    const none =
      'no administrator is left who can sign in: grantd group add-member "admins" USERNAME adds one';
    assert.deepEqual(warnings, [none]);
    const { subject: sub } = await own.addUser('carol', ['admins']);
    await call(commands, 'disableUser', { sub });
    await call(commands, 'removeUser', { sub });
    assert.deepEqual(warnings, [none, none, none]);
  });

  test('of two administrators who remove each other, one stays', async () => {
    for (let round = 1; round <= 5; round++) {
      const pair = await Promise.all([
        set.addUser(`one ${round}`, ['admins']),
        set.addUser(`other ${round}`, ['admins']),
      ]);
      const browsers = await Promise.all(pair.map(({ name }) => set.browserOf(name)));
      const forms = await Promise.all(
        browsers.map(async (browser) => hiddenFields(await browser.get(`${set.url}/console/tokens`))),
      );
      const pages = await Promise.all(
        browsers.map((browser, at) => {
          const sub = pair[1 - at]?.subject ?? '';
          return browser.post(`${set.url}/console/groups`, {
            ...forms[at],
            name: 'admins',
            sub,
            do: 'leave',
          });
        }),
      );
      const left = await Promise.all(pair.map(({ subject }) => set.instance.people.bySubject(subject)));
      const members = left.filter((person) => person?.groups?.includes('admins'));
      assert.equal(members.length, 1, pages.map(({ status }) => status).join());
    }
  });
});

describe('keys', () => {
  const currentKeys = async () =>
    (await set.instance.storage.keys.list())
      .filter(({ status }) => status === 'current')
      .map(({ kid }) => kid);

  test('keys are listed by algorithm without their private part, and rotated after a question', async () => {
    const browser = await set.browserOf('alice');
    await set.addClient('elliptic', { id_token_signed_response_alg: 'ES256' });
    const page = await browser.get(`${set.url}/console/keys`);
    assert.match(page.html, /<th scope="col"[^>]*>Algorithm<\/th>.*<td data-title="Algorithm">RS256<\/td>/s);
    for (const { kid, sealedPrivateKey } of await set.instance.storage.keys.list()) {
      assert.ok(page.html.includes(`<code class="identifier" title="${kid}">${kid}</code>`));
      assert.ok(!page.html.includes(sealedPrivateKey));
    }
    const next = await browser.get(`${set.url}/console/keys?state=next`);
    const stored = await set.instance.storage.keys.list();
    assert.deepEqual(
      [...next.html.matchAll(/<code class="identifier" title="([^"]*)"/g)].map(([, kid]) => kid).toSorted(),
      stored.flatMap(({ kid, status }) => (status === 'next' ? [kid] : [])).toSorted(),
    );
    assert.match(next.html, /<td data-title="Health"><span class="badge">Not all clients know it<\/span>/);
    const asked = await browser.get(`${set.url}/console/keys?ask=RS256`);
    // Since the server has started, other tests may have taken a minute.
    assert.match(asked.html, /Some clients may not know the next key for another [45] minutes/);
    const before = await currentKeys();
    const { now: _, ...late } = hiddenFields(asked);
    const refused = await browser.post(`${set.url}/console/keys`, { ...late, do: 'rotate' });
    assert.equal(refused.status, 409, 'not without the word that it is early');
    assert.deepEqual(await currentKeys(), before);
    assert.match((await browser.submit(asked, { do: 'rotate' })).html, /New keys sign now\./);
    const rotated = await currentKeys();
    assert.equal(rotated.filter((kid) => !before.includes(kid)).length, 1, 'only one algorithm');
    const twice = await browser.submit(asked, { do: 'rotate' });
    assert.match(twice.html, /New keys sign now\./, 'a form that is sent twice rotates once');
    const again = await browser.submit(asked, { do: 'rotate', again: 'later' });
    assert.equal(again.status, 409, 'also later');
    const other = { ...hiddenFields(asked), rotated: 'all', do: 'rotate' };
    assert.equal((await browser.post(`${set.url}/console/keys`, other)).status, 409);
    assert.deepEqual(await currentKeys(), rotated);
    const { events } = await firstOf(set.instance.auditTrail.before(undefined, { type: 'key_rotated' }), 100);
    const alice = await set.instance.people.byName('alice');
    assert.equal(events[0]?.actor, `console:${alice?.subject}`);
  });

  test('forms that are sent at the same time rotate once', async () => {
    const browser = await set.browserOf('alice');
    const asked = await browser.get(`${set.url}/console/keys?ask=RS256`);
    const before = await set.instance.storage.keys.list();
    await Promise.all([1, 2, 3].map(() => browser.submit(asked, { do: 'rotate' })));
    assert.equal((await set.instance.storage.keys.list()).length, before.length + 1);
  });
});

test('PostgreSQL: the pages show and change the same', { skip: POSTGRES_ABSENCE }, async (t) => {
  const url = await disposableDatabase(await sharedPostgres());
  const limits = { connections: 4, connectTimeoutMs: 5000, statementTimeoutMs: 5000 };
  const create = { GRANTD_CREATE: 'true' };
  const other = await startConsole(create, postgresDatabase(url, { ...limits, onConnectionLost: () => {} }));
  t.after(() => other.close());
  const alice = await other.addUser('alice', ['admins']);
  const bob = await other.addUser('bob', ['admins']);
  await other.addClient('app');
  const { access } = await other.tokensOf('app', bob.subject);
  const browser = await other.browserOf('alice');
  const at = async (path: string) => {
    const page = await browser.get(`${other.url}/console${path}`);
    assert.equal(page.status, 200, path);
    return page;
  };
  for (const path of PATHS) await at(path);
  assert.match((await at('?count=yes')).html, /<dt>Active tokens<\/dt><dd>2<\/dd>/);
  const [grant] = await other.instance.storage.grantsOf(bob.subject);
  const asked = await at(`/users?sub=${bob.subject}&ask=end_grant&grant=${grant?.id}`);
  assert.match(asked.html, /<dt>Active tokens<\/dt><dd>2<\/dd>/);
  assert.match((await browser.submit(asked, { do: 'end_grant' })).html, /The grant has ended\./);
  assert.equal(await other.isActive(access), false);
  assert.match(
    (await browser.submit(await at('/keys?ask=RS256'), { do: 'rotate' })).html,
    /New keys sign now/,
  );
  const list = hiddenFields(await at('/groups?ask=add'));
  const added = { ...list, name: 'ops', description: '', do: 'add' };
  assert.match((await browser.post(`${other.url}/console/groups`, added)).html, /The group is added/);
  assert.match((await at('/audit?type=group_added')).html, /<bdi>alice<\/bdi><\/a> added the group/);
  // PostgreSQL stores no NUL, which must not look like an outage.
  for (const path of ['/users?search=a%00b', '/users?sub=%00', '/groups?name=%00', '/audit?target=%00'])
    assert.equal((await browser.get(`${other.url}/console${path}`)).status, 400, path);
  const nul = { ...list, name: 'ops', username: 'a\0b', do: 'join' };
  assert.equal((await browser.post(`${other.url}/console/groups`, nul)).status, 400);

  const theirs = await other.browserOf('bob');
  const leave = await Promise.all([
    at(`/groups?name=admins&ask=leave&sub=${bob.subject}`),
    theirs.get(`${other.url}/console/groups?name=admins&ask=leave&sub=${alice.subject}`),
  ]);
  await Promise.all([browser.submit(leave[0], { do: 'leave' }), theirs.submit(leave[1], { do: 'leave' })]);
  assert.equal((await other.instance.groups.byName('admins'))?.members, 1);
});

test('markup in names of users, groups and clients stays text', async () => {
  const name = `<img src=x onerror=alert(1)>"'&`;
  const person = await set.instance.people.add({
    ...{ name: 'xss', passwordHash: cheapHash(PASSWORD) },
    claims: { name, email: name, [name]: name },
  });
  await set.instance.groups.add({ name, description: name }, Date.now());
  await set.instance.groups.addMember({ subject: person?.subject ?? '', group: name }, Date.now());
  const members = { redirect_uris: ['https://app.example/cb'], client_name: name, allowed_groups: [name] };
  const cli = { ...set.instance.actingAs('cli'), configuration: set.configuration };
  await call(localCalls(cli), 'addClient', { ...members, client_id: 'a<b>"c' });
  const browser = await set.browserOf('alice');
  const query = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();
  for (const path of [
    ...['/users?search=xss', '/groups', '/clients', '/audit'],
    `/users?${query({ sub: person?.subject ?? '' })}`,
    ...['remove', `leave&sub=${person?.subject}`].map((ask) => `/groups?${query({ name })}&ask=${ask}`),
    `/groups?${query({ name })}`,
    `/clients?${query({ id: 'a<b>"c' })}`,
    `/clients?${query({ id: 'a<b>"c', ask: 'disable' })}`,
    `/clients?${query({ search: name })}`,
    `/audit?${query({ target: name })}`,
    `/users?${query({ sub: name })}`,
  ]) {
    const { html } = await browser.get(`${set.url}/console${path}`);
    assert.doesNotMatch(html, /<img[^>]*onerror|<b>|="[^"]*onerror=alert\(1\)>"'/, path);
  }
});

/** The types of the events on a page. */
function typesIn(html: string): readonly (string | undefined)[] {
  const found = html
    .replaceAll('<wbr>', '')
    .matchAll(/<code class="raw">(\w+)<\/code><\/td><td [^>]*><a id="event-/g);
  return [...found].map(([, type]) => type);
}

describe('overview and events', () => {
  test('the overview has keys and counts, and counts rows only when asked', async () => {
    const browser = await set.browserOf('alice');
    const page = await browser.get(`${set.url}/console`);
    assert.match(page.html, /<dt>Clients<\/dt><dd>\d+<\/dd>/);
    assert.doesNotMatch(page.html, /<dt>Active tokens/);
    const counted = await browser.get(`${set.url}/console?count=yes`);
    assert.match(counted.html, /<dt>Users<\/dt><dd>\d+<\/dd>/);
    assert.match(counted.html, /<dt>Active tokens<\/dt><dd>\d+<\/dd>/);
  });

  test('figures of the last hour are in tables, and as JSON for the script', async () => {
    const sample = {
      ...{ seconds: 10, requests: { introspection: 50, other: 5 }, refusals: { fault: 1 }, clients: {} },
      ...{
        latencies: [10],
        storage: [4],
        storageFaults: 0,
        issued: 3,
        revocations: 1,
        sweptRows: 0,
        failedSignIns: 0,
      },
    };
    set.history.add([
      { ...sample, atMs: 1_000_000 },
      { ...sample, requests: {}, atMs: 1_010_000 },
    ]);
    const browser = await set.browserOf('alice');
    const page = await browser.get(`${set.url}/console`);
    const row = /<span class="swatch s1"><\/span>Introspection<\/th><td>50<\/td><td>50<\/td><td>50<\/td>/;
    assert.match(page.html, row);
    assert.match(page.html, /Faults \(5xx\)<\/th><td>2<\/td><td>2<\/td><td>2<\/td>/);
    assert.match(page.html, /<h2 id="last-hour">Last 20 seconds<\/h2>/);
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.match(policy, /script-src 'self'( 'sha256-[^']*'){4}; connect-src 'self'; style-src 'sha256-/);
    assert.doesNotMatch(policy, /unsafe/);
    const users = await browser.get(`${set.url}/console/users`);
    assert.doesNotMatch(users.headers.get('content-security-policy') ?? '', /script-src 'self'|connect-src/);

    const { html: json, headers } = await browser.get(`${set.url}/console/figures`);
    assert.deepEqual(
      [headers.get('content-type'), headers.get('cache-control')],
      ['application/json', 'no-store'],
    );
    const { times, charts } = JSON.parse(json);
    assert.deepEqual(times, [1010]);
    assert.deepEqual(charts[0].series[0], {
      label: 'Introspection',
      values: [50],
      cells: ['50', '50', '50'],
    });
    const [, library = ''] = /src="(\/console\/uplot\.js[^"]*)"/.exec(page.html) ?? [];
    const script = await browser.get(`${set.url}${library}`);
    assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8');
    assert.match(script.html, /uPlot/);
  });

  test('figures are for administrators only', async () => {
    assert.ok(isLogin(await new Browser(set.url).get(`${set.url}/console/figures`)));
    assert.equal((await (await set.browserOf('bob')).get(`${set.url}/console/figures`)).status, 403);
    const stranger = await set.browserOf('alice', 0, { 'x-forwarded-for': '192.0.2.1' });
    for (const path of ['figures', 'uplot.js'])
      assert.equal((await stranger.get(`${set.url}/console/${path}`)).status, 404);
  });

  test('events are listed the newest first, by filters and in pages', async () => {
    const { groups } = set.instance.actingAs('console:sub-of-alice');
    for (let number = 1; number <= 51; number++)
      await groups.add({ name: `group ${number}`, description: '' }, Date.now());
    const browser = await set.browserOf('alice');
    const at = (query: string) => browser.get(`${set.url}/console/audit?${query}`);
    const page = await at('type=group_added');
    const targets = [...page.html.matchAll(/added the group <a href="[^"]*name=[^"]*"><bdi>([^<]*)<\/bdi>/g)];
    assert.equal(targets.length, 50);
    assert.equal(targets[0]?.[1], 'group 51');
    const [, next = ''] = /<a id="next" class="button" href="([^"]*)"/.exec(page.html) ?? [];
    const second = await browser.get(`${set.url}${next.replaceAll('&amp;', '&')}`);
    assert.match(second.html, /<bdi>group 1<\/bdi>/);

    const found = async (query: string) => typesIn((await at(query)).html);
    assert.deepEqual(await found('target=group+7'), ['group_added']);
    assert.deepEqual(await found('target=group+7&actor=cli'), []);
    assert.deepEqual(await found('target=group+7&since=2999-01-01+00:00'), []);
    assert.deepEqual(await found('target=group+7&until=2999-01-01'), ['group_added']);
    for (const range of ['hour', 'today', 'yesterday', 'week'])
      assert.deepEqual(await found(`target=group+7&range=${range}`), ['group_added'], range);
    for (const value of ['type=unheard', 'since=yesterday', 'until=2026-13-01T00:00', 'range=ever'])
      assert.equal((await at(value)).status, 400, value);
  });

  test('an event has a page with all that is recorded, which leads to other events', async () => {
    const { instance } = set;
    const alice = await instance.people.byName('alice');
    await instance
      .actingAs(`console:${alice?.subject}`)
      .groups.add({ name: 'told', description: '' }, Date.now());
    const browser = await set.browserOf('alice');
    const { html: list } = await browser.get(`${set.url}/console/audit?target=told`);
    assert.match(list, /<bdi>alice<\/bdi><\/a> added the group <a href="[^"]*name=told">/);
    const [, number = ''] = /id="event-(\d+)"/.exec(list) ?? [];
    const { html } = await browser.get(`${set.url}/console/audit?event=${number}`);
    assert.match(html, /<bdi>alice<\/bdi><\/a> added the group/);
    for (const [member, filter] of Object.entries({
      target: 'target=told',
      actor: 'actor=console%3A',
      type: 'type=group_added',
    }))
      assert.match(
        html,
        new RegExp(
          `<code class="raw">${member}</code></dt><dd><span class="copied"><a href="[^"]*\\?${filter}[^"]*"><code>`,
        ),
        member,
      );
    for (const other of ['0', 'x', '999999999999', `${number}x`])
      assert.equal((await browser.get(`${set.url}/console/audit?event=${other}`)).status, 404, other);
  });

  test('events of a user are found by the username, and those of a client by its name', async () => {
    const browser = await set.browserOf('alice');
    await set.addClient('shop-1', { client_name: 'Corner Shop' });
    const at = async (query: Readonly<Record<string, string>>) =>
      browser.get(`${set.url}/console/audit?${new URLSearchParams(query)}`);
    const ofShop = async (client: string) => typesIn((await at({ client })).html);
    assert.deepEqual(await ofShop('corner shop'), ['client_added']);
    assert.deepEqual(await ofShop('shop-1'), ['client_added']);
    assert.deepEqual(await ofShop('Corner'), []);
    assert.ok(typesIn((await at({ user: 'bob' })).html).includes('person_added'));
    await set.addClient('shop-2', { client_name: 'Corner Shop' });
    const { status, html } = await at({ client: 'Corner Shop' });
    assert.equal(status, 400);
    assert.match(html, /shop-1, shop-2/);
  });

  test('each filter leaves out the events without its value', async () => {
    const browser = await set.browserOf('alice');
    const { subject = '' } = (await set.instance.people.byName('bob')) ?? {};
    const types = async (filter: Record<string, string>) => {
      const { html } = await browser.get(`${set.url}/console/audit?${new URLSearchParams(filter)}`);
      return typesIn(html);
    };
    await set.instance
      .actingAs('console:sub-of-alice')
      .groups.addMember({ subject, group: 'group 7' }, Date.now());
    assert.ok((await types({ user: subject })).includes('group_member_added'));
    for (const name of ['user', 'client', 'actor', 'target', 'address', 'request'])
      assert.deepEqual(await types({ [name]: 'no such value' }), [], name);
  });

  test('the download has the same events as JSON Lines, with what the command prints', async () => {
    const browser = await set.browserOf('alice');
    const { headers, html } = await browser.get(`${set.url}/console/audit.jsonl?target=group+7`);
    assert.equal(headers.get('content-disposition'), 'attachment; filename="audit.jsonl"');
    assert.equal(headers.get('content-type'), 'application/jsonl');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    const { number, at, ...event } = JSON.parse(html);
    assert.ok(Number.isInteger(number) && !Number.isNaN(Date.parse(at)));
    const { type, target, actor } = event;
    assert.deepEqual(
      { type, target, actor },
      { type: 'group_added', target: 'group 7', actor: 'console:sub-of-alice' },
    );
    assert.equal((await (await set.browserOf('bob')).get(`${set.url}/console/audit.jsonl`)).status, 403);
  });

  test('a download that does not have all events ends with the URL of the next file', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'grantd-console-audit-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'grantd.db');
    const own = await startConsole({}, sqliteDatabase(path));
    t.after(() => own.close());
    await own.addUser('alice', ['admins']);
    const { events } = await firstOf(own.instance.auditTrail.before(undefined, {}), 1);
    const last = events[0]?.sequence ?? 0;
    const database = new DatabaseSync(path);
    database.exec(`
      WITH RECURSIVE added (n) AS (SELECT ${last + 1} UNION ALL SELECT n + 1 FROM added WHERE n < 60000)
      INSERT INTO events (issuer_id, sequence, at_ms, type, target, client_id, subject)
      SELECT (SELECT id FROM issuers), n, 0, 'group_added', 'group ' || n, iif(n % 2, 'one', NULL), iif(n % 2, NULL, 'two')
      FROM added`);
    database.close();
    await own.instance.auditTrail.seal(own.instance.secret());
    const browser = await own.browserOf('alice');
    const linesAt = async (url: string) => {
      const { status, html } = await browser.get(url);
      assert.equal(status, 200, url);
      return html.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    };

    const files: number[][] = [];
    for (let url = `${own.url}/console/audit.jsonl?type=group_added&target=`; ; ) {
      const lines = await linesAt(url);
      const { truncated, next } = lines.at(-1);
      files.push(lines.flatMap(({ number }) => (number === undefined ? [] : [number])));
      if (next === undefined) break;
      assert.equal(truncated, true);
      assert.ok(next.startsWith(`${ISSUER}/console/audit.jsonl?type=group_added&before=`), next);
      url = next.replace(ISSUER, own.url);
    }
    assert.deepEqual(files.map(({ length }) => length).slice(0, -1), Array(5).fill(10_000));
    const added = Array.from({ length: 60_000 - last }, (_, at) => 60_000 - at);
    assert.deepEqual(files.flat().slice(0, added.length), added);

    // Every block has both values, but no event does.
    const [only, ...others] = await linesAt(`${own.url}/console/audit.jsonl?client=one&user=two`);
    assert.equal(only.truncated, true);
    assert.match(only.next, /\/console\/audit\.jsonl\?user=two&client=one&before=\d+$/);
    assert.deepEqual([others, await linesAt(only.next.replace(ISSUER, own.url))], [[], []]);
  });
});

test('each of two workers shows what both have counted', async (t) => {
  const workbench = new Workbench();
  t.after(() => workbench.clear());
  const folder = workbench.folder();
  const first = await workbench.start(folder, ['--demo']);
  await grantdPrints(folder, ['group', 'add', 'admins']);
  await grantdPrints(folder, ['group', 'add-member', 'admins', 'alice']);
  await first.stop();
  const { port } = new URL(first.url);
  const flags = ['--console', '--admin-group', 'admins', '--console-sign-in-policy', 'password'];
  const server = await workbench.start(folder, ['--demo', '--port', port, '--workers', '2', ...flags]);
  const browser = new Browser(server.url);
  const login = await browser.get(`${server.url}/console/figures`);
  await browser.submit(login, { username: 'alice', password: 'wonderland' });
  const ask = async (path: string) => {
    // A new connection each time, so that the workers take turns.
    const headers = {
      connection: 'close',
      cookie: [...browser.cookies].map((one) => one.join('=')).join('; '),
    };
    return fetch(`${server.url}${path}`, { headers });
  };
  for (let request = 1; request <= 10; request++) await ask('/.well-known/openid-configuration');
  const counted = async () => {
    const { times, charts } = (await (await ask('/console/figures')).json()) as {
      readonly times: readonly number[];
      readonly charts: readonly { readonly series: readonly { readonly values: readonly number[] }[] }[];
    };
    return { times, others: charts[0]?.series.at(-1)?.values.reduce((sum, value) => sum + value, 0) ?? 0 };
  };
  // The first sample comes ten seconds after the start, with counts that workers have sent by then.
  for (let tries = 1; (await counted()).others * 10 < 10; tries++) {
    assert.ok(tries < 80, 'waited in vain for the counts');
    await pause(500);
  }
  const [one, other] = await Promise.all([counted(), counted()]);
  assert.deepEqual(one, other);
});

test('pages for users and for administrators have the language of the browser, also for odd tags', async () => {
  for (const [acceptLanguage, language] of [
    ['de-CH-1901', 'de'],
    ['de-AT', 'de'],
    ['DE', 'de'],
    ['de-x-private', 'de'],
    ['de_DE', 'de'],
    ['en-GB,de;q=0.9', 'en'],
    ['fr-FR,de;q=0.2,en;q=0.1', 'de'],
    ['de;q=0', 'en'],
    ['en;q=0,*', 'de'],
    ['*', 'en'],
    ['zh-Hant-TW', 'en'],
    ['', 'en'],
    [`de-${'a'.repeat(2000)}`, 'de'],
    [`${'a-'.repeat(1000)},de;q=0.5`, 'de'],
    [`${'fr,'.repeat(700)}de`, 'en'],
    ['en-US@posix;q=x, de;q=0.3', 'de'],
  ] as const) {
    const browser = await set.browserOf('alice', 0, { 'accept-language': acceptLanguage });
    for (const path of [
      '/account',
      '/account/security',
      '/console',
      '/console/users',
      '/forgot',
      '/no-such-page',
    ])
      assert.match(
        (await browser.get(set.url + path)).html,
        new RegExp(`<html lang="${language}"`),
        `${path}, ${acceptLanguage.slice(0, 40)}`,
      );
  }
});

test('every page is there in German', async () => {
  const browser = await set.browserOf('alice', 0, { 'accept-language': 'de' });
  for (const path of PATHS)
    assert.match((await browser.get(`${set.url}/console${path}`)).html, /<html lang="de">/, path);
});
