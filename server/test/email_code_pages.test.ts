// The pages for codes by email, with a real SMTP server.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { buttonOn, codeOf, follow, send } from './browser/form_crawl.ts';
import { Browser, hiddenFields, isConsent, isLogin, type Page } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

/** A mailbox for all addresses. */
async function openMailbox() {
  const mails: { readonly to: string; readonly content: string }[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onData(stream, { envelope }, done) {
      let content = '';
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        content += text;
      });
      stream.on('end', () => {
        for (const { address } of envelope.rcptTo) mails.push({ to: address, content });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  const to = (address: string) => mails.filter((mail) => mail.to === address).map(({ content }) => content);
  return {
    ...{ url, to },
    /** @returns the code of the email with this number, counted from 1 */
    async code(address: string, number = 1): Promise<string> {
      await until(() => to(address).length >= number, `email ${number} to ${address}`);
      return (
        /^ {4}([\d ]{6,19})\r?$/m.exec(to(address)[number - 1] ?? '')?.[1] ?? assert.fail(to(address).join())
      );
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

for (const database of ANY_DATABASE)
  describe(`a code by email on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    let mailbox: Awaited<ReturnType<typeof openMailbox>>;
    let server: RunningServer;
    before(async () => {
      mailbox = await openMailbox();
      const first = await workbench.start(await workbench.home(), ['--demo']);
      // It has to be there when the console opens.
      await grantdPrints(first.folder, ['group', 'add', 'admins']);
      const { port } = new URL(first.url);
      await first.stop();
      const console = ['--console', '--admin-group', 'admins', '--console-sign-in-policy', 'password'];
      server = await workbench.start(first.folder, ['--demo', ...flags('also'), ...console, '--port', port]);
    });
    after(async () => {
      await workbench.clear();
      await mailbox.close();
    });
    const flags = (way: string) => [
      ...['--email-code', way, '--smtp-url', mailbox.url, '--mail-from', 'login@id.example'],
      ...['--trusted-proxies', '127.0.0.1,::1'],
    ];

    let places = 0;
    /** A browser at an address of its own. */
    const newBrowser = (at = server) => {
      places += 1;
      return new Browser(at.url, { 'x-forwarded-for': `2001:db8:0:${places.toString(16)}::1` });
    };

    async function person(name: string) {
      const { who } = await newPerson(server, name);
      const email = `${name}@example.com`;
      await grantdPrints(server.folder, ['user', 'update', name, '--email', email, '--email-verified']);
      return { who, email };
    }

    /** Presses the button that sends a code. */
    async function ask(browser: Browser, username: string, url = `${server.url}/account`): Promise<Page> {
      const login = await browser.get(url);
      const [, action = ''] =
        /id="code-send"[^>]* formaction="([^"]*)"/.exec(login.html) ??
        /<form method="post" action="([^"]*)">[\s\S]*?id="code-send"/.exec(login.html) ??
        [];
      return browser.post(new URL(action, login.url).href, {
        ...hiddenFields(login),
        username,
        password: '',
      });
    }

    const FORM_TOKENS = /name="form_token" value="[^"]*"/g;
    const bodyOf = ({ html }: Page, name: string) =>
      html
        .replaceAll(FORM_TOKENS, '')
        .replaceAll(/pending=[^"&]*/g, '')
        .replaceAll(name, 'NAME');

    test('a code from the email signs in to an application, and the email says what asked', async () => {
      const { who, email } = await person('ada');
      const browser = newBrowser();
      const url = authorizationUrl(server.url, newPkce());
      const page = await ask(browser, 'Ada@example.com', url);
      assert.match(page.url, /\/login\/code\?pending=/);
      assert.match(page.html, /<bdi>Ada@example\.com<\/bdi>/);
      const code = await mailbox.code(email);
      const [mail = ''] = mailbox.to(email);
      assert.match(mail, /^Subject: Your code for /m);
      assert.doesNotMatch(
        mail.replace(/^ {4}\d{6}\r$/m, '').split('<html')[0] ?? '',
        /https?:\/\/|\b\d{6}\b/,
      );
      assert.match(mail, /from the network 2001:db8/);

      const wrong = await browser.submit(page, { code: code === '000000' ? '000001' : '000000' });
      assert.deepEqual([wrong.status, /no longer valid/.test(wrong.html)], [403, true]);
      const elsewhere = newBrowser();
      const foreign = await ask(elsewhere, 'ada', url);
      assert.equal((await elsewhere.submit(foreign, { code })).status, 403);
      const renewed = await browser.submit(wrong, { decision: 'again' });
      const second = await mailbox.code(email, 3);
      const replaced = await browser.submit(renewed, { code });
      assert.equal(replaced.status, 403, 'the browser has asked for another one');
      const fields = { ...hiddenFields(replaced), code: second };
      const pressed = await Promise.all([
        browser.post(replaced.url, fields),
        browser.post(replaced.url, fields),
      ]);
      for (const consent of pressed) assert.ok(isConsent(consent), consent.html);
      const again = newBrowser();
      assert.equal((await again.submit(await ask(again, who.username, url), { code })).status, 403);

      const account = await browser.get(`${server.url}/account/security`);
      assert.match(account.html, /With code by email/);
      const failed = ['audit', 'list', '--type', 'sign_in_failed', '--limit', '100'];
      assert.match(await grantdPrints(server.folder, failed), /email_code_wrong/);
      const used = await grantdPrints(server.folder, ['audit', 'list', '--type', 'mailed_link_used']);
      assert.match(used, /code/);
    });

    test('the page is the same for a name without a user, an administrator and a user at a limit', async () => {
      const { who } = await person('ben');
      const { email } = await person('cyd');
      await grantdPrints(server.folder, ['group', 'add-member', 'admins', 'cyd']);
      const pages: string[] = [];
      for (const name of [who.username, 'nobody', 'cyd']) {
        const browser = newBrowser();
        const page = await ask(browser, name);
        const wrong = await browser.submit(page, { code: '000000' });
        pages.push(bodyOf(page, name) + wrong.status + bodyOf(wrong, name));
      }
      assert.equal(new Set(pages).size, 1);
      const eager = newBrowser();
      for (let mail = 2; mail <= 8; mail += 1) {
        assert.equal((await ask(eager, 'ben')).status, 200);
        await mailbox.code('ben@example.com', Math.min(mail, 6));
      }
      await until(() => server.log().some(({ reason }) => reason === 'too_many_mails'), 'the limit');
      assert.equal(mailbox.to('ben@example.com').length, 6, 'one, and five for one place');
      assert.deepEqual(mailbox.to(email), []);
      // The code of the last email that was sent still counts.
      const page = await ask(eager, 'ben');
      const done = await eager.submit(page, { code: await mailbox.code('ben@example.com', 6) });
      assert.ok(!isLogin(done) && /<bdi>ben<\/bdi>/.test(done.html), done.html);
    });

    test('a user whose codes strangers have used up signs in with a longer one, in any browser', async () => {
      const { email } = await person('fin');
      for (let mail = 1; mail <= 20; mail += 1) {
        await ask(newBrowser(), 'fin');
        assert.match(await mailbox.code(email, mail), /^\d{6}$/);
      }
      const browser = newBrowser();
      const page = await ask(browser, email);
      const code = await mailbox.code(email, 21);
      assert.match(code, /^\d{4}( \d{4}){3}$/);
      assert.match(mailbox.to(email).at(-1) ?? '', /for 1 hour, in any browser/);
      const again = await browser.submit(page, { decision: 'again' });
      const done = await browser.submit(again, { code });
      assert.ok(!isLogin(done) && /<bdi>fin<\/bdi>/.test(done.html), done.html);
    });

    test('an address that is the username of another user makes no browser a known one', async () => {
      const own = ['--email-verified', '--email'];
      await newPerson(server, 'vic@old.example');
      await grantdPrints(server.folder, ['user', 'update', 'vic@old.example', ...own, 'vic@new.example']);
      const { who } = await newPerson(server, 'iris');
      await grantdPrints(server.folder, ['user', 'update', 'iris', ...own, 'vic@old.example']);
      const atOnePlace = () => new Browser(server.url, { 'x-forwarded-for': '2001:db8:1::1' });
      const [browser, stranger] = [atOnePlace(), atOnePlace()];
      await browser.submit(await browser.get(`${server.url}/account`), who);
      browser.cookies.delete('grantd_session');
      for (let mail = 1; mail <= 5; mail += 1) await ask(stranger, 'vic@old.example');
      const limited = () => server.log().filter(({ reason }) => reason === 'too_many_mails').length;
      const before = limited();
      await ask(browser, 'vic@old.example');
      await until(() => limited() > before, 'the limit of the place');
    });

    test('a session that began with a code opens no page after its user has become an administrator', async () => {
      const { who, email } = await person('dan');
      // The console is for this machine.
      const browser = new Browser(server.url);
      const done = await browser.submit(await ask(browser, ' Dan\u200b '), {
        code: await mailbox.code(email),
      });
      assert.match(done.html, /<bdi>dan<\/bdi>/);
      await grantdPrints(server.folder, ['group', 'add-member', 'admins', 'dan']);
      assert.ok(isLogin(await browser.get(`${server.url}/account`)));
      const login = await browser.get(`${server.url}/console`);
      assert.ok(isLogin(login), login.html);
      assert.doesNotMatch(login.html, /code-send/, 'no administrator gets a code');
      assert.match((await new Browser(server.url).get(`${server.url}/account`)).html, /code-send/);
      const action = login.url.replace('/login?', '/login/code?');
      const posted = await browser.post(action, { ...hiddenFields(login), username: 'dan' });
      assert.ok(isLogin(posted), posted.url);
      assert.match((await browser.submit(login, { ...who })).url, /\/console$/);
    });

    test('without a name, the page says so at the field, and keeps its links to other languages', async () => {
      const browser = newBrowser();
      const nameless = await ask(browser, ' ');
      assert.equal(nameless.status, 400);
      assert.match(nameless.html, /id="problem"[\s\S]*Enter your username first\./);
      const [, name = '', password = ''] =
        /(<input id="username"[^>]*>)[\s\S]*(<input id="password"[^>]*>)/.exec(nameless.html) ?? [];
      assert.match(name, / aria-describedby="problem" aria-invalid="true" autofocus/);
      assert.doesNotMatch(password, /aria-invalid/);
      const wrong = await browser.submit(nameless, { username: 'ada', password: 'wrong' });
      for (const page of [nameless, wrong]) {
        const [, link = ''] = /<a id="language-de" href="([^"]*)"/.exec(page.html) ?? assert.fail(page.html);
        const german = await browser.get(new URL(link.replaceAll('&amp;', '&'), page.url).href);
        assert.ok(isLogin(german), german.url);
        assert.match(german.html, /<html lang="de"/);
      }
    });

    test('a second factor is asked for after a code, unless the user has lost the right to the code', async () => {
      const { who, email } = await person('eve');
      const url = `${server.url}/account/security`;
      const world = { browser: newBrowser(), headers: {}, url, values: who };
      const offer = await follow(world, ['/login login-submit', '/account/factors add-totp']);
      const [, secret = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.html);
      await send(world, buttonOn(offer, world, '/account/factors confirm-totp'));

      const halfWay = async (mail: number) => {
        const browser = newBrowser();
        const page = await ask(browser, who.username);
        const next = await browser.submit(page, { code: await mailbox.code(email, mail) });
        assert.match(next.url, /\/login\/second\?/, next.html);
        return { browser, next };
      };
      // The app has told the user by email.
      const { browser, next } = await halfWay(2);
      assert.match((await browser.submit(next, { code: codeOf(secret, 1) })).html, /<bdi>eve<\/bdi>/);
      assert.match((await browser.get(url)).html, /With code by email and code/);
      const late = await halfWay(3);
      await grantdPrints(server.folder, ['group', 'add-member', 'admins', 'eve']);
      assert.ok(isLogin(await late.browser.submit(late.next, { code: codeOf(secret, 2) })));
    });

    test('with a code as the usual way, the page asks for the name, and for the password on request', async () => {
      const first = await workbench.start(await workbench.home(), ['--demo']);
      await first.stop();
      const own = await workbench.start(first.folder, [
        ...[
          '--demo',
          ...flags('first'),
          '--email-code-clients',
          'demo-web',
          '--port',
          new URL(first.url).port,
        ],
      ]);
      const browser = newBrowser(own);
      const url = authorizationUrl(own.url, newPkce());
      const login = await browser.get(url);
      assert.doesNotMatch(login.html, /name="password"/);
      const [, link = ''] = /id="use-password" href="([^"]*)"/.exec(login.html) ?? [];
      const form = await browser.get(new URL(link.replaceAll('&amp;', '&'), login.url).href);
      const wrong = await browser.submit(form, { username: 'alice', password: 'wrong' });
      assert.match(wrong.html, /name="password"/);
      const consent = await browser.submit(wrong, { username: 'alice', password: 'wonderland' });
      assert.ok(isConsent(consent), consent.html);
      const other = newBrowser(own);
      assert.match((await ask(other, 'alice', url)).url, /\/login\/code\?/);
      // The list of clients does not have the pages of this server.
      const elsewhere = await other.get(`${own.url}/account`);
      assert.match(elsewhere.html, /name="password"/);
      assert.doesNotMatch(elsewhere.html, /code-send/);
      const action = elsewhere.url.replace('/login?', '/login/code?');
      const posted = await other.post(action, { ...hiddenFields(elsewhere), username: 'alice' });
      assert.ok(isLogin(posted), posted.url);
    });

    test('options that do not belong together are refused at start', async () => {
      const refusal = async (...args: string[]) =>
        (await grantd(await workbench.home(), ['serve', ...args])).stderr;
      assert.match(await refusal('--email-code', 'also'), /emailCode|--email-code/);
      assert.match(
        await refusal('--demo', '--insecure-email-code-for-administrators'),
        /insecure-email-code-for-administrators: expected --email-code/,
      );
      assert.match(await refusal('--demo', '--email-code-groups', 'staff'), /groups: expected --email-code/);
      for (const [option, value] of [
        ['--email-code-groups', 'no such group'],
        ['--email-code-clients', 'no-such-client'],
      ] as const)
        assert.match(
          await refusal('--demo', '--port', '0', '--email-code', 'also', option, value),
          new RegExp(`${option}: there is no (?:group|client) ${value}`),
        );
    });
  });
