// Whose passwords the server has: users of an identity provider have none here.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { OwnPasswords } from '../src/people/own_passwords.ts';
import { Browser, hiddenFields, isLogin, type Page, unescaped } from './harness/browser.ts';
import { cheapHash } from './harness/cheap_hash.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { withDatabaseOf } from './harness/stored.ts';

const PASSWORD = 'correct horse battery';

/** Spellings of an address that find the same user, or look as if they did. */
const SPELLINGS = [
  'ada@corp.example',
  ' ada@corp.example ',
  'ADA@Corp.Example',
  'ａｄａ@corp.example',
  'ada＠corp.example',
  'ada@ｃorp.example',
  'ada@соrр.example', // Cyrillic
];

test('a name leads to a provider in every spelling that finds its user', () => {
  const passwords = new OwnPasswords({
    providers: [{ domains: ['other.example'] }, { domains: ['corp.example'] }],
    identities: { ofSubject: async () => [] },
  });
  for (const name of SPELLINGS) assert.equal(passwords.areAskedOf(name), false, name);
  for (const name of [
    '',
    'ada',
    'corp.example',
    '@corp.example',
    'ada@mail.corp.example',
    'ada@corp.example.org',
  ])
    assert.equal(passwords.areAskedOf(name), true, name);
});

test('a name leads to the provider of its domain, in the letters of whichever script', () => {
  const passwords = new OwnPasswords({
    // пример.рф, παράδειγμα.ελ and bücher.example: Cyrillic and Greek letters can look like Latin ones.
    providers: ['xn--e1afmkfd.xn--p1ai', 'xn--hxajbheg2az3al.xn--qxam', 'xn--bcher-kva.example'].map(
      (domain) => ({ domains: [domain] }),
    ),
    identities: { ofSubject: async () => [] },
  });
  for (const name of [
    'иван@пример.рф',
    'ИВАН@Пример.РФ',
    'ivan@xn--e1afmkfd.xn--p1ai',
    'ada@παράδειγμα.ελ',
    'ada@bücher.example',
    'ada@BÜCHER.example.',
  ])
    assert.equal(passwords.areAskedOf(name), false, name);
  for (const name of ['иван@другой.рф', 'ada@bucher.example']) assert.equal(passwords.areAskedOf(name), true);
});

for (const database of ANY_DATABASE) {
  describe(`passwords beside an identity provider on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    const at = (path: string) => `${server.url}${path}`;

    before(async () => {
      const folder = await workbench.home();
      const provider = { client_id: 'c', client_secret: { env: 'PROVIDER_SECRET' }, name: 'Corporation' };
      const providers = { corp: { ...provider, issuer: 'http://127.0.0.1:9', domains: ['corp.example'] } };
      writeFileSync(join(folder, 'providers.json'), JSON.stringify(providers));
      const flags = ['--demo', '--sign-up', 'open', '--providers', 'providers.json'];
      server = await workbench.start(folder, flags, { PROVIDER_SECRET: 'secret' });
    });

    /** Adds a user with a verified address. @param link whether they are linked with a user of the provider */
    async function add(
      name: string,
      { hash = cheapHash(PASSWORD), link = false, email = `${name}@mail.example` } = {},
    ) {
      return withDatabaseOf(server, async ({ people, upstreamIdentities }) => {
        const person = await people.add({
          name,
          passwordHash: hash,
          claims: { email, email_verified: true },
        });
        const subject = person?.subject ?? assert.fail(name);
        const identity = {
          provider: 'corp',
          upstreamIssuer: 'http://127.0.0.1:9',
          upstreamSub: name,
          label: name,
        };
        if (link) await upstreamIdentities.link(identity, subject, 1);
        return { subject, email };
      });
    }

    async function ask(username: string): Promise<Page> {
      const browser = new Browser(server.url);
      return browser.submit(await browser.get(at('/forgot')), { username });
    }

    async function mailbox(): Promise<string> {
      return (await new Browser(server.url).get(at('/demo/mailbox'))).html;
    }

    /** Resolves when everything is sent that was asked for before. */
    async function sent(): Promise<string> {
      const { email } = await add(`last-${Date.now()}`);
      await ask(email);
      for (;;) {
        const html = await mailbox();
        if (html.includes(email)) return html;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }

    /** Posts a name and a password, whatever the page asks for. */
    async function post(username: string, password = PASSWORD) {
      const browser = new Browser(server.url);
      const login = await browser.get(at('/account'));
      const url = login.url;
      const page = await browser.post(url, { ...hiddenFields(login), username, password });
      return { page, browser };
    }

    const withoutVariables = ({ html }: Page, username: string) =>
      unescaped(html)
        .replaceAll(username, 'NAME')
        .replaceAll(/name="form_token" value="[^"]*"/g, '')
        .replaceAll(/pending=[\w-]*/g, '');

    test('users whose only way in is a provider get no link for a password', async () => {
      const own = await add('own');
      const linked = await add('linked', { hash: '', link: true });
      // With a password of their own, and with a link besides.
      const both = await add('both', { link: true });
      // Invited, and neither.
      const invited = await add('invited', { hash: '' });
      const ofDomain = await add('ada@corp.example', { email: 'ada@corp.example' });
      // Whom the sign-in page sends to the provider, although they have never been there.
      const expected = await add('expected', { hash: '', email: 'expected@Corp.Example' });
      const pages = [];
      for (const { email } of [own, linked, both, invited, ofDomain, expected])
        pages.push((await ask(email)).status);
      assert.deepEqual(new Set(pages), new Set([200]), 'the page does not tell');
      await ask('linked');
      await ask('ada@corp.example');
      await ask('expected');
      const html = await sent();
      for (const { email } of [own, both, invited]) assert.ok(html.includes(email), email);
      for (const { email } of [linked, ofDomain, expected]) assert.ok(!html.includes(email), email);
    });

    test('a link for a password ends when the user signs in through a provider instead', async () => {
      const { subject, email } = await add('moved', { hash: '' });
      const browser = new Browser(server.url);
      await browser.submit(await browser.get(at('/forgot')), { username: 'moved' });
      const html = await sent();
      const [, article = ''] = html.split(email);
      const [, url = ''] = /href="([^"]*\/link\?token=[^"]*)"/.exec(article) ?? assert.fail(html);
      const opened = await browser.get(unescaped(url));
      assert.equal(opened.status, 200);
      await withDatabaseOf(server, ({ upstreamIdentities }) =>
        upstreamIdentities.link(
          { provider: 'corp', upstreamIssuer: 'http://127.0.0.1:9', upstreamSub: 'm', label: 'm' },
          subject,
          1,
        ),
      );
      const refused = await browser.submit(opened, { new_password: PASSWORD });
      assert.equal(refused.status, 400);
      assert.match(refused.html, /This link no longer works/);
      const hash = await withDatabaseOf(
        server,
        async ({ people }) => (await people.bySubject(subject))?.passwordHash,
      );
      assert.equal(hash, '');
    });

    test('no administrator sends a link for a password to a user whose password is elsewhere', async () => {
      const { folder } = server;
      await add('distant', { hash: '', link: true, email: 'distant@mail.example' });
      await add('finn@corp.example', { email: 'finn@mail.example' });
      await add('desk', { hash: '', email: 'desk@mail.example' });
      await withDatabaseOf(server, async ({ people }) => {
        const desk = (await people.byName('desk')) ?? assert.fail();
        assert.ok(await people.setDirectoryId(desk.subject, 'id-of-desk'));
      });
      const send = (name: string, environment: Readonly<Record<string, string>>) =>
        grantd(folder, ['user', 'send-password-link', name], { environment });
      const knowing = { GRANTD_PROVIDERS: join(folder, 'providers.json') };
      for (const [name, where] of [
        ['distant', /signs in through an identity provider, so there is no password to choose/],
        ['finn@corp.example', /signs in through an identity provider, so there is no password to choose/],
        ['desk', /signs in through the directory, so there is no password to choose/],
      ] as const) {
        const { code, stderr } = await send(name, knowing);
        assert.deepEqual([code, where.test(stderr)], [1, true], `${name}: ${stderr}`);
      }
      // A command that does not know the providers leaves it to the server, which does.
      assert.equal((await send('finn@corp.example', {})).code, 0);
      assert.ok(!(await sent()).includes('finn@mail.example'));
      const failed = await grantd(folder, ['mail', 'list', '--failed']);
      assert.match(failed.stdout, /password_link +finn@mail\.example +failed/);
    });

    test('no invitation asks for a password that its user could not use', async () => {
      const { folder } = server;
      const invite = (name: string, environment = {}) =>
        grantd(folder, ['user', 'invite', name, '--email', `${name.split('@')[0]}@mail.example`], {
          environment,
        });
      const knowing = { GRANTD_PROVIDERS: join(folder, 'providers.json') };
      await add('guest', { hash: '', link: true, email: 'guest@mail.example' });
      for (const name of ['carol@corp.example', 'CAROL@Corp.Example', 'guest']) {
        const { code, stderr } = await invite(name, knowing);
        assert.equal(code, 1, name);
        assert.match(stderr, /signs in through an identity provider, so there is no password to choose/);
      }
      const found = await withDatabaseOf(server, ({ people }) => people.byName('carol@corp.example'));
      assert.equal(found, undefined, 'nothing was added');
      assert.equal((await invite('visitor', knowing)).code, 0);

      // A command that does not know the providers, and an import.
      assert.equal((await invite('dora@corp.example')).code, 0);
      const html = await sent();
      assert.ok(html.includes('visitor@mail.example'));
      assert.ok(!html.includes('dora@mail.example'));
      const failed = await grantd(folder, ['mail', 'list', '--failed', '--json']);
      assert.match(failed.stdout, /signs in through an identity provider, so there is no password/);
    });

    test('a posted password of a name of a provider’s domain is refused, whether there is such a user or not', async () => {
      await add('eve@corp.example');
      const pages = [];
      for (const [name, password] of [
        ['eve@corp.example', PASSWORD],
        ['eve@corp.example', 'wrong'],
        ['nobody@corp.example', PASSWORD],
      ] as const) {
        const { page, browser } = await post(name, password);
        assert.equal(page.status, 403);
        assert.ok(isLogin(page));
        assert.match(page.html, /sign in at their organisation/);
        assert.doesNotMatch(page.html, /id="password"/);
        assert.equal(browser.cookies.has('grantd_session'), false);
        pages.push(withoutVariables(page, name));
      }
      assert.equal(new Set(pages).size, 1, 'the pages are the same');
      for (const name of SPELLINGS.map((one) => one.replace(/^( ?)(ADA|ada|ａｄａ)/, '$1eve'))) {
        const { page, browser } = await post(name);
        assert.equal(page.status, 403, name);
        assert.equal(browser.cookies.has('grantd_session'), false, name);
      }
      // Others still sign in.
      await add('frank');
      assert.equal(new URL((await post('frank')).page.url).pathname, '/account');
      assert.equal((await post('frank', 'wrong')).page.status, 403);
      await server.logged((line) => line.reason === 'password_not_asked', 'password_not_asked');
    });

    test('nobody signs up with an address or a name whose password would open nothing', async () => {
      const browser = new Browser(server.url);
      const form = await browser.get(at('/sign-up'));
      for (const email of ['hal@corp.example', 'HAL@Corp.example']) {
        const refused = await browser.submit(form, { email });
        assert.equal(refused.status, 400);
        assert.match(refused.html, /Addresses of this domain cannot sign up here/);
      }
      await browser.submit(form, { email: 'hal@mail.example' });
      const html = await sent();
      const [, article = ''] = html.split('hal@mail.example');
      const [, url = ''] = /href="([^"]*\/link\?token=[^"]*)"/.exec(article) ?? assert.fail(html);
      const opened = await browser.get(unescaped(url));
      const fields = { username: 'hal@corp.example', new_password: PASSWORD };
      const refused = await browser.submit(opened, fields);
      assert.deepEqual([refused.status, /This username is not allowed/.test(refused.html)], [400, true]);
      assert.equal((await browser.submit(opened, { ...fields, username: 'hal' })).status, 200);
    });

    test('the account of such a user asks for no password either', async () => {
      await add('gil@corp.example');
      const { browser } = await post('frank');
      const { subject } = await withDatabaseOf(server, async ({ people }) => ({
        subject: (await people.byName('gil@corp.example'))?.subject ?? assert.fail(),
      }));
      // A session like that of a sign-in at the provider.
      await database.run(
        server.folder,
        `UPDATE ${database.schema}sessions SET subject = '${subject}', amr = 'fed' WHERE subject IN
          (SELECT subject FROM ${database.schema}people WHERE name = 'frank')`,
      );
      assert.doesNotMatch((await browser.get(at('/account/security'))).html, /id="current-password"/);
      const data = await browser.get(at('/account/data'));
      assert.doesNotMatch(data.html, /id="current-password"/);
      assert.equal((await browser.submit(data, { confirm: 'yes' })).status, 200);
      assert.match(await grantdPrints(server.folder, ['user', 'list']), /^frank/m);
      assert.doesNotMatch(await grantdPrints(server.folder, ['user', 'list']), /gil@/);
    });
  });
}
