// Long: one suite on both databases, because each step needs the user of the one before.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { replay } from '../src/people/replay.ts';
import { Authenticator, passkeyFormOf } from './harness/authenticator.ts';
import { Browser, hiddenFields, isLogin, type Page, signInAndConsent, unescaped } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, redeem } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

/** An email in the mailbox of the demo. */
interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly links: readonly string[];
}

const NEW_PASSWORD = 'quartz falcon kettle';
const OLD_PASSWORD = 'correct horse';

for (const database of ANY_DATABASE) {
  describe(`self-service on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), [
        ...['--demo', '--sign-up', 'open', '--sign-up-domains', 'example.com,example.org'],
        // Each test has an address of its own, because visitors of one place share a limit.
        ...['--trusted-proxies', '127.0.0.1,::1'],
      ]);
    });

    let places = 0;
    const newBrowser = () => {
      places += 1;
      return new Browser(server.url, { 'x-forwarded-for': `198.51.100.${places}` });
    };

    /** A user with an address, and a browser that is signed in. */
    async function person(name: string, email = `${name}@example.com`, isVerified = true) {
      const { who } = await newPerson(server, name);
      await grantdPrints(server.folder, [
        ...['user', 'update', name, '--email', email, ...(isVerified ? ['--email-verified'] : [])],
      ]);
      return { who, email, browser: newBrowser() };
    }

    async function signedIn(browser: Browser, who: { username: string; password: string }): Promise<Page> {
      return browser.submit(await browser.get(`${server.url}/account`), who);
    }

    const canSignIn = async (username: string, password: string) =>
      !isLogin(await signedIn(newBrowser(), { username, password }));

    async function mailbox(): Promise<readonly Mail[]> {
      const { html } = await new Browser(server.url).get(`${server.url}/demo/mailbox`);
      return [...html.matchAll(/<article class="mail">([\s\S]*?)<\/article>/g)].map(([, article = '']) => ({
        to: unescaped(/<bdi>(.*?)<\/bdi>/.exec(article)?.[1] ?? ''),
        subject: unescaped(/<h2>(.*?)<\/h2>/.exec(article)?.[1] ?? ''),
        text: unescaped(article.replaceAll(/<[^>]*>/g, '')),
        links: [...article.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => unescaped(href)),
      }));
    }

    /** The newest email to an address, once there are that many. */
    async function mailTo(address: string, count = 1): Promise<Mail> {
      let mails: readonly Mail[] = [];
      for (let tries = 0; tries < 400 && mails.length < count; tries++) {
        mails = (await mailbox()).filter(({ to }) => to === address);
        if (mails.length < count) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const [newest] = mails;
      assert.ok(newest && mails.length === count, `${count} emails to ${address}, got ${mails.length}`);
      return newest;
    }

    const linkIn = ({ links: [link] }: Mail) => link ?? assert.fail('no link');

    /** Waits until the queue is empty, so that what was not sent is not only late. */
    async function queueIsEmpty(): Promise<void> {
      for (let tries = 0; tries < 400; tries++) {
        const waiting = await withDatabaseOf(server, ({ mails }) => mails.list(false, 10));
        if (waiting.length === 0) return;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.fail('the queue does not become empty');
    }

    async function askForReset(browser: Browser, username: string): Promise<Page> {
      return browser.submit(await browser.get(`${server.url}/forgot`), { username });
    }

    const asShown = ({ html }: Page) => html.replaceAll(/name="form_token" value="[^"]*"/g, '');

    test('each change of how a user signs in is told by email, in the language of the page or the user', async () => {
      const { who, email, browser } = await person('fred');
      await signedIn(browser, who);
      const press = async (page: Page, fields: Readonly<Record<string, string>>, query = '') =>
        browser.post(`${server.url}/account/factors${query}`, { ...hiddenFields(page), ...fields });
      const security = () => browser.get(`${server.url}/account/security`);
      const offer = await press(await security(), { act: 'offer_totp' });
      const [, shown = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.html);
      const totp = new TOTP({ secret: Secret.fromBase32(shown.replaceAll(' ', '')) });
      await press(offer, { act: 'confirm_totp', code: totp.generate() });
      assert.match((await mailTo(email)).text, /An authenticator app was added\./);
      await press(await security(), { act: 'recovery_codes' });
      assert.match((await mailTo(email, 2)).text, /New recovery codes were made\./);
      await press(await security(), { act: 'remove_totp' });
      assert.match((await mailTo(email, 3)).text, /The authenticator app was removed\./);
      await press(await security(), { act: 'remove_totp' });
      const form = passkeyFormOf(await security());
      const passkey = new Authenticator(server.url).create(form.options);
      await browser.post(form.action, { ...form.fields, passkey, passkey_name: 'Phone' });
      assert.match((await mailTo(email, 4)).text, /The passkey “Phone” was added\./);
      const { html } = await security();
      const [, id = ''] = /name="remove_passkey" value="([^"]*)"/.exec(html) ?? assert.fail(html);
      await press(await security(), { remove_passkey: id });
      assert.match((await mailTo(email, 5)).text, /The passkey “Phone” was removed\./);

      // The operator's commands, in the language of the user.
      const other = await person('frida');
      const sends = { GRANTD_SMTP_URL: 'smtp://127.0.0.1:25', GRANTD_MAIL_FROM: 'login@id.example' };
      const runs = (args: readonly string[], input = '', environment: Record<string, string> = sends) =>
        grantdPrints(server.folder, args, input, environment);
      await runs(['user', 'update', 'frida', '--claim', 'locale=de-AT']);
      await runs(['user', 'reset-factors', 'frida']);
      await runs(['user', 'set-password', 'frida', '--password-stdin'], NEW_PASSWORD, {});
      await queueIsEmpty();
      assert.ok(!(await mailbox()).some(({ to }) => to === other.email), 'no factor, and no mail server');
      await withDatabaseOf(server, async ({ factors, people }) => {
        const { subject = '' } = (await people.byName('frida')) ?? {};
        await factors.addTotp(subject, { sealed: '', createdAtMs: 1, countsFromMs: 0 }, 0);
      });
      await runs(['user', 'reset-factors', 'frida']);
      assert.match(
        (await mailTo(other.email)).text,
        /Alle Passkeys und .*, die Authenticator-App .* entfernt\./,
      );
      await runs(['user', 'set-password', 'frida', '--password-stdin'], NEW_PASSWORD);
      assert.match((await mailTo(other.email, 2)).subject, /^Ihr Passwort .* wurde geändert$/);
    });

    test('a forgotten password is replaced by a link, which ends all sessions and tokens and works once', async () => {
      const { who, email, browser } = await person('ada');
      const pkce = newPkce();
      const url = authorizationUrl(server.url, pkce, { scope: 'openid offline_access' });
      const tokens = await redeem(server.url, pkce, await signInAndConsent(browser, url, who));
      const visitor = newBrowser();
      const login = await visitor.get(`${server.url}/account`);
      assert.match(login.html, /<a id="forgot-password" href="\/forgot">/);
      assert.match((await askForReset(visitor, email)).html, /id="mail-sent"/);
      const link = linkIn(await mailTo(email));

      const form = await visitor.get(link);
      assert.equal(form.url, `${server.url}/link`, 'no page has the token in its URL');
      assert.match(form.html, /for the account <bdi class="name">ada<\/bdi>/);
      const done = await visitor.submit(form, { new_password: NEW_PASSWORD });
      assert.match(done.html, /Your password has changed/);
      assert.equal(visitor.cookies.has('grantd_link'), false);
      assert.ok(isLogin(await visitor.get(`${server.url}/account`)), 'a link signs nobody in');

      assert.ok(isLogin(await browser.get(`${server.url}/account`)));
      for (const token of [tokens.access_token, tokens.refresh_token])
        assert.equal((await introspect(server.url, String(token))).active, false);
      assert.deepEqual(
        [await canSignIn('ada', OLD_PASSWORD), await canSignIn('ada', NEW_PASSWORD)],
        [false, true],
      );
      assert.match((await mailTo(email, 2)).subject, /has changed/);
      const again = await visitor.get(link);
      assert.deepEqual([again.status, /no longer works/.test(again.html)], [400, true]);
      const events = await grantdPrints(server.folder, ['events', 'list', '--json']);
      assert.match(events, /"person_password_set"[^}]*"user:/);
    });

    test('concurrent uses of one link change the password once', async () => {
      const { email, browser } = await person('amy');
      await askForReset(browser, email);
      const form = await browser.get(linkIn(await mailTo(email)));
      const passwords = ['quartz falcon kettle', 'marble pigeon saucer', 'copper walrus teapot'];
      const pages = await Promise.all(passwords.map((one) => browser.submit(form, { new_password: one })));
      assert.deepEqual(pages.map(({ status }) => status).sort(), [200, 400, 400]);
      const works = [];
      for (const one of passwords) works.push(await canSignIn('amy', one));
      assert.deepEqual(
        works,
        pages.map(({ status }) => status === 200),
      );
    });

    test('known, unknown, unverified and disabled users get the same answer, and only the known one an email', async () => {
      const { email } = await person('bea');
      const unverified = await person('ben', 'ben@example.com', false);
      await person('bob');
      await grantdPrints(server.folder, ['user', 'disable', 'bob']);
      const typed = [
        email,
        'bea',
        'nobody@example.com',
        'nobody',
        unverified.email,
        'ben',
        'bob@example.com',
        'a\0b',
      ];
      const pages = [];
      for (const one of typed) pages.push(await askForReset(newBrowser(), one));
      const [first, ...others] = pages;
      assert.ok(first);
      for (const [at, page] of others.entries()) {
        assert.equal(page.status, first.status, `${typed[at]}`);
        assert.equal(asShown(page), asShown(first), `${typed[at]}`);
        assert.deepEqual([...page.headers.keys()], [...first.headers.keys()]);
      }
      await mailTo(email, 2);
      await queueIsEmpty();
      const others2 = (await mailbox()).filter(({ to }) =>
        ['ben@example.com', 'bob@example.com'].includes(to),
      );
      assert.deepEqual(others2, []);
    });

    test('the form of a link shows that it is done when it is sent later, and another form does not', async () => {
      const { email, browser } = await person('lea');
      await askForReset(browser, email);
      const address = linkIn(await mailTo(email));
      const [form, other] = [await browser.get(address), await browser.get(address)];
      const send = (page: Page, fields: Readonly<Record<string, string>> = {}) =>
        browser.submit(page, { new_password: NEW_PASSWORD, ...fields });
      const done = await send(form);
      assert.match(done.html, /Your password has changed/);
      const later = await send(form, { new_password: 'another long text', later: 'yes' });
      assert.deepEqual([later.status, asShown(later)], [200, asShown(done)]);
      assert.equal(await canSignIn('lea', NEW_PASSWORD), true, 'it has changed nothing');
      assert.match((await send(other)).html, /This link no longer works/);
      const copied = await newBrowser().post(form.url, { ...hiddenFields(form), new_password: NEW_PASSWORD });
      assert.match(copied.html, /This link no longer works/);
    });

    test('a link is built from the issuer, whatever Host header asked for it', async () => {
      const { email } = await person('cleo');
      const { hostname, port } = new URL(server.url);
      const { request } = await import('node:http');
      const send = (method: string, headers: Record<string, string>, body = '') =>
        new Promise<{ html: string; cookie: string }>((resolve, reject) => {
          const sent = request({ hostname, port, path: '/forgot', method, headers }, (response) => {
            let html = '';
            response.setEncoding('utf8');
            response.on('data', (text: string) => {
              html += text;
            });
            response.on('end', () =>
              resolve({
                html,
                cookie: (response.headers['set-cookie'] ?? [])
                  .map((one) => one.replace(/;.*/, ''))
                  .join('; '),
              }),
            );
          });
          sent.on('error', reject);
          sent.end(body);
        });
      const forged = {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-for': '192.0.2.77',
      };
      const form = await send('GET', forged);
      const [, token = ''] = /name="form_token" value="([^"]*)"/.exec(form.html) ?? [];
      await send(
        'POST',
        { ...forged, cookie: form.cookie, 'content-type': 'application/x-www-form-urlencoded' },
        new URLSearchParams({ form_token: token, username: email }).toString(),
      );
      const mail = await mailTo(email);
      assert.ok(linkIn(mail).startsWith(`${server.url}/link?token=`), linkIn(mail));
      assert.doesNotMatch(mail.text, /evil/);
    });

    test('a link’s token leaks by no Referer: its page redirects, and every page forbids it', async () => {
      const response = await fetch(`${server.url}/link?token=secret`, { redirect: 'manual' });
      assert.deepEqual(
        [response.status, response.headers.get('location'), response.headers.get('referrer-policy')],
        [303, '/link', 'no-referrer'],
      );
      const cookie = response.headers.get('set-cookie') ?? '';
      assert.match(cookie, /grantd_link=secret; Max-Age=60; Path=\/; HttpOnly; SameSite=Lax/);
      for (const path of ['/link', '/forgot', '/sign-up', '/demo/mailbox'])
        assert.equal((await fetch(server.url + path)).headers.get('referrer-policy'), 'no-referrer', path);
      await until(
        () => server.log().some(({ path }) => path === '/link') && !server.stdout().includes('secret'),
        'the log has the path without the token',
      );
    });

    test('a link ends when the password or the address changes, or the user is disabled or removed', async () => {
      const changes = [
        ['user', 'update', 'NAME', '--email', 'other@example.com', '--email-verified'],
        ['user', 'update', 'NAME', '--no-email-verified'],
        ['user', 'disable', 'NAME'],
        ['user', 'remove', 'NAME', '--yes'],
        ['user', 'set-password', 'NAME', '--password-stdin'],
      ];
      for (const [at, change] of changes.entries()) {
        const name = `dora${at}`;
        const { email, browser } = await person(name);
        await askForReset(browser, email);
        const form = await browser.get(linkIn(await mailTo(email)));
        const command = change.map((one) => (one === 'NAME' ? name : one));
        await grantdPrints(server.folder, command, 'another password');
        const used = await browser.submit(form, { new_password: NEW_PASSWORD });
        assert.deepEqual([used.status, /no longer works/.test(used.html)], [400, true], command.join(' '));
        assert.equal(await canSignIn(name, NEW_PASSWORD), false);
      }
    });

    test('a link from before a user was disabled stays unusable, however the user is enabled again', async () => {
      const enable = {
        command: (name: string) => grantdPrints(server.folder, ['user', 'enable', name]),
        import: (name: string) =>
          grantdPrints(
            server.folder,
            ['user', 'import', '--update', '-'],
            JSON.stringify({ username: name, disabled: false }),
          ),
        replay: (name: string) =>
          withDatabaseOf(server, async (database) => {
            const found = await database.people.byName(name);
            assert.ok(found);
            await replay(database, [
              { type: 'subject_enabled', target: found.subject, sequence: 1, atMs: 0 },
            ]);
          }),
      };
      for (const [way, enableBy] of Object.entries(enable)) {
        const name = `kurt-${way}`;
        const { email, browser } = await person(name);
        await askForReset(browser, email);
        const form = await browser.get(linkIn(await mailTo(email)));
        await grantdPrints(server.folder, ['user', 'disable', name]);
        await enableBy(name);
        const used = await browser.submit(form, { new_password: NEW_PASSWORD });
        assert.deepEqual([used.status, /no longer works/.test(used.html)], [400, true], way);
        assert.deepEqual(
          [await canSignIn(name, NEW_PASSWORD), await canSignIn(name, OLD_PASSWORD)],
          [false, true],
        );
      }
    });

    test('an administrator has a link sent to a user, who chooses a password with it once, in any browser', async () => {
      const { email, browser } = await person('paula');
      await signedIn(browser, { username: 'paula', password: OLD_PASSWORD });
      await askForReset(browser, email);
      const own = await browser.get(linkIn(await mailTo(email)));
      const send = (name: string, ...flags: readonly string[]) =>
        grantd(server.folder, ['user', 'send-password-link', name, ...flags]);
      const sent = await send('paula', '--json');
      assert.equal(sent.code, 0, sent.stderr);
      assert.equal(JSON.parse(sent.stdout).address, email);
      assert.equal((await browser.submit(own, { new_password: NEW_PASSWORD })).status, 400);
      assert.equal(await canSignIn('paula', OLD_PASSWORD), true, 'the password stays');
      const mail = await mailTo(email, 2);
      assert.match(mail.text, /An administrator of .* asks you to choose a new password/);
      assert.ok(!sent.stdout.includes('token='));

      const elsewhere = newBrowser();
      const form = await elsewhere.get(linkIn(mail));
      const done = await elsewhere.submit(form, { new_password: NEW_PASSWORD });
      assert.match(done.html, /Your password has changed/);
      const twice = await elsewhere.submit(form, { new_password: NEW_PASSWORD });
      assert.match(twice.html, /Your password has changed/, 'the same form again finds its work done');
      assert.deepEqual(
        [await canSignIn('paula', OLD_PASSWORD), await canSignIn('paula', NEW_PASSWORD)],
        [false, true],
      );
      assert.ok(isLogin(await browser.get(`${server.url}/account`)), 'all sessions have ended');
      assert.equal((await newBrowser().get(linkIn(mail))).status, 400, 'it works once');

      const filters = ['--subject', 'paula', '--type', 'password_link_requested'];
      const events = await grantdPrints(server.folder, ['audit', 'list', ...filters]);
      assert.match(events, /password_link_requested +\S+ +cli/);
      for (let count = 2; count <= 5; count++) assert.equal((await send('paula')).code, 0);
      const flooded = await send('paula');
      assert.deepEqual([flooded.code, /has got 5 emails .* within an hour/.test(flooded.stderr)], [1, true]);
    });

    test('no administrator has a link sent to a user without a verified address, or one who is disabled', async () => {
      const send = (name: string) => grantd(server.folder, ['user', 'send-password-link', name]);
      await person('quirin', 'quirin@example.com', false);
      const unverified = await send('quirin');
      assert.deepEqual([unverified.code, /no verified email address/.test(unverified.stderr)], [1, true]);
      await person('rosa');
      await grantdPrints(server.folder, ['user', 'disable', 'rosa']);
      const disabled = await send('rosa');
      assert.deepEqual([disabled.code, /rosa is disabled/.test(disabled.stderr)], [1, true]);
      await queueIsEmpty();
    });

    test('in another browser, a link needs the username too, and guesses are limited', async () => {
      const { email, browser } = await person('eve');
      // The first sign-in replaces the cheap hash of the tests, and a new hash ends links.
      assert.equal(await canSignIn('eve', OLD_PASSWORD), true);
      await askForReset(browser, email);
      const link = linkIn(await mailTo(email));
      const phone = newBrowser();
      const form = await phone.get(link);
      assert.match(form.html, /asked for in another browser/);
      assert.doesNotMatch(form.html.replace(email, ''), /\beve\b/, 'the page does not name the account');
      const guess = (tries: number) =>
        phone.submit(form, { username: `mallory${tries}`, new_password: NEW_PASSWORD });
      const statuses = [];
      for (let tries = 0; tries < 11; tries++) statuses.push((await guess(tries)).status);
      assert.deepEqual(statuses, [...Array(10).fill(403), 429]);
      assert.equal(await canSignIn('eve', OLD_PASSWORD), true);
      const other = newBrowser();
      const done = await other.submit(await other.get(link), { username: 'eve', new_password: NEW_PASSWORD });
      assert.match(done.html, /Your password has changed/);
    });

    test('a link that is sent many times at once takes up a limited number of hashes, and counts once', async (t) => {
      const usual = server;
      const home = await workbench.home();
      const gate = join(home, 'hashes_wait');
      server = await workbench.start(home, ['--demo'], { PASSWORD_GATE: gate });
      t.after(() => {
        server = usual;
      });
      const { email, browser } = await person('gus');
      await askForReset(browser, email);
      const form = await browser.get(linkIn(await mailTo(email)));
      writeFileSync(gate, '');
      const statuses: number[] = [];
      const sent = Array.from({ length: 60 }, async (_, at) => {
        const { status } = await browser.submit(form, { new_password: NEW_PASSWORD, again: String(at) });
        statuses.push(status);
      });
      // Those that the server takes wait for the gate, so that all others are answered before.
      const taken = 34;
      await until(() => statuses.length >= 60 - taken, 'the others are refused');
      rmSync(gate);
      await Promise.all(sent);
      const count = (status: number) => statuses.filter((item) => item === status).length;
      assert.deepEqual([count(200), count(400), count(503)], [1, taken - 1, 60 - taken]);
      assert.equal(await canSignIn('gus', NEW_PASSWORD), true);
    });

    test('one email serves all users of an address, each with a link of its own', async () => {
      await person('fay', 'family@example.com');
      await person('finn', 'Family@Example.com');
      const browser = newBrowser();
      await askForReset(browser, 'family@example.com');
      const mail = await mailTo('family@example.com');
      assert.match(mail.text, /Choose a new password for fay[\s\S]*Choose a new password for finn/);
      const [, second = ''] = mail.links;
      const done = await browser.submit(await browser.get(second), { new_password: NEW_PASSWORD });
      assert.equal(done.status, 200);
      assert.deepEqual(
        [await canSignIn('fay', OLD_PASSWORD), await canSignIn('finn', NEW_PASSWORD)],
        [true, true],
      );
    });

    /** How many emails were sent that were asked for with these names or addresses. */
    async function mailsFor(...typed: readonly string[]): Promise<number> {
      await queueIsEmpty();
      const sent = await withDatabaseOf(server, ({ mails }) => mails.mailbox(10_000));
      return sent.filter(({ recipient }) => typed.includes(recipient)).length;
    }

    test('a stranger’s requests for a link use up only their own, and every page looks the same', async () => {
      const { email } = await person('iris');
      const pageOf = ({ status, html }: Page) => ({
        status,
        html: html.replaceAll(/"form_token" value="[^"]*"/g, ''),
      });
      const stranger = newBrowser();
      for (const typed of ['nobody2@example.com', email, 'iris']) {
        const pages = [];
        for (let tries = 0; tries < 8; tries++) pages.push(pageOf(await askForReset(stranger, typed)));
        assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([200]), typed);
        assert.equal(new Set(pages.map(({ html }) => html)).size, 1, typed);
      }
      assert.equal(await mailsFor(email, 'iris'), 10, 'five for the address, and five for the name');
      // A sign-up with the address has its own count, and the user elsewhere has one too.
      const visitor = newBrowser();
      const form = await visitor.get(`${server.url}/sign-up`);
      assert.equal((await visitor.submit(form, { email })).status, 200);
      assert.equal(await mailsFor(email, 'iris'), 11);
      const owner = newBrowser();
      await askForReset(owner, email);
      assert.equal(await mailsFor(email, 'iris'), 12);
    });

    test('strangers at many places use up the emails of a user, who still has a link, and a browser of their own', async () => {
      const { who, email, browser: known } = await person('jens');
      await signedIn(known, who);
      for (let places = 0; places < 24; places++) await askForReset(newBrowser(), email);
      assert.equal(await mailsFor(email), 20);
      // The last link is as old as the limit at most, so one of them always works.
      const links = (await mailbox()).filter(({ to }) => to === email).flatMap((mail) => mail.links);
      assert.equal((await newBrowser().get(links.at(0) ?? '')).status, 200);
      for (const typed of [email, 'jens', 'JENS', 'jens', 'jens', 'jens']) await askForReset(known, typed);
      assert.equal(await mailsFor(email, 'jens', 'JENS'), 26, 'the browser has counts of its own');
      await askForReset(known, 'jens');
      assert.equal(await mailsFor(email, 'jens', 'JENS'), 26);
    });

    test('one place asks for thirty emails in an hour, whatever for', async () => {
      const browser = newBrowser();
      const statuses = [];
      for (let tries = 0; tries < 32; tries++)
        statuses.push((await askForReset(browser, `nobody-${tries}@example.com`)).status);
      assert.deepEqual(statuses, [...Array(30).fill(200), 429, 429]);
      const form = await browser.get(`${server.url}/sign-up`);
      assert.equal(
        (await browser.submit(form, { email: 'nobody@example.org' })).status,
        200,
        'a count of its own',
      );
    });

    test('chosen passwords are long and not common, and need no kinds of characters', async () => {
      const { email, browser } = await person('gina-longname');
      await askForReset(browser, email);
      const form = await browser.get(linkIn(await mailTo(email)));
      for (const [password, problem] of [
        ['short words', /too short/],
        ['x'.repeat(1025), /too long/],
        ['password1234', /Many people use/],
        ['Password1234!!', /Many people use/],
        ['aaaaaaaaaaaaaaa', /Many people use/],
        ['gina-longname', /must not be your username/],
        ['gina-longname@example.com', /must not be your username/],
      ] as const) {
        const page = await browser.submit(form, { new_password: password });
        assert.equal(page.status, 400);
        assert.match(page.html, problem);
        if (!password.startsWith('gina'))
          assert.ok(!page.html.includes(`value="${password}"`), 'no page repeats a password');
      }
      assert.equal((await browser.submit(form, { new_password: 'ein langer satz' })).status, 200);
    });

    test('a user changes the password with the current one: other sessions end, and the cookie is new', async () => {
      const { who, browser } = await person('hal');
      await signedIn(browser, who);
      const other = newBrowser();
      await signedIn(other, who);
      const security = `${server.url}/account/security`;
      const copied = new Browser(server.url);
      for (const [name, value] of browser.cookies) copied.cookies.set(name, value);
      const form = await browser.get(security);
      const wrong = await browser.submit(form, { current_password: 'wrong', new_password: NEW_PASSWORD });
      assert.deepEqual([wrong.status, /current password is wrong/.test(wrong.html)], [403, true]);
      const short = await browser.submit(form, { current_password: OLD_PASSWORD, new_password: 'short' });
      assert.deepEqual([short.status, /too short/.test(short.html)], [400, true]);
      const done = await browser.submit(form, { current_password: OLD_PASSWORD, new_password: NEW_PASSWORD });
      assert.match(done.html, /id="notice"[\s\S]*Your password has changed/);
      assert.ok(isLogin(await other.get(security)));
      assert.ok(isLogin(await copied.get(security)), 'a copied cookie is dead');
      assert.ok(!isLogin(await browser.get(security)));
      assert.match((await mailTo('hal@example.com')).subject, /has changed/);
      const statuses = [];
      const next = await browser.get(security);
      for (let tries = 0; tries < 11; tries++)
        statuses.push(
          (await browser.submit(next, { current_password: `guess ${tries}`, new_password: 'x' })).status,
        );
      assert.deepEqual(statuses, [...Array(10).fill(403), 429]);
    });

    test('the form that has changed the password finds its work done when it is sent later, and counts no attempt', async () => {
      const { who, browser } = await person('hedi');
      await signedIn(browser, who);
      const form = await browser.get(`${server.url}/account/security`);
      // An unknown field makes the body another one, as the time does: the stored answer does not fit.
      const press = (fields: Readonly<Record<string, string>>) => browser.submit(form, fields);
      const change = { current_password: OLD_PASSWORD, new_password: NEW_PASSWORD };
      for (let later = 0; later < 15; later++) {
        const { html } = await press({ ...change, later: String(later) });
        assert.match(html, /id="notice"[\s\S]*Your password has changed/);
      }
      await queueIsEmpty();
      await mailTo('hedi@example.com');
      // With other values, it is another change.
      assert.equal((await press({ ...change, new_password: 'another long text' })).status, 403);
      assert.equal(
        (await press({ current_password: NEW_PASSWORD, new_password: 'tulip barge omen' })).status,
        200,
      );
      assert.equal(await canSignIn('hedi', 'tulip barge omen'), true);
      const other = await browser.get(`${server.url}/account/security`);
      const elsewhere = { current_password: OLD_PASSWORD, new_password: 'tulip barge omen' };
      assert.equal((await browser.submit(other, elsewhere)).status, 403, 'another form');
    });

    test('a new address counts when its link was used, by its user, and the old one is told', async () => {
      const { who, browser, email } = await person('ida');
      await signedIn(browser, who);
      const change = async (typed: string, password = OLD_PASSWORD) =>
        browser.submit(await browser.get(`${server.url}/account/email`), {
          email: typed,
          current_password: password,
        });
      assert.equal((await change('new-ida@example.net', 'wrong')).status, 403);
      assert.equal((await change('not an address')).status, 400);
      assert.match((await change('new-ida@example.net')).html, /A link is on its way/);
      const link = linkIn(await mailTo('new-ida@example.net'));
      assert.match((await browser.get(`${server.url}/account`)).html, /ida@example\.com/);

      const stranger = await person('ivan');
      await signedIn(stranger.browser, stranger.who);
      assert.doesNotMatch((await stranger.browser.get(link)).html, /confirm-email/);

      const question = await browser.get(link);
      assert.match(question.html, /Your account will use <bdi class="name">new-ida@example\.net<\/bdi>/);
      const done = await browser.submit(question, { confirm_email: 'yes' });
      assert.match(done.html, /Your email address is confirmed[\s\S]*new-ida@example\.net/);
      const notice = await mailTo(email);
      assert.match(notice.text, /now uses the email address new-ida@example\.net/);
      const twice = await browser.submit(question, { confirm_email: 'yes' });
      assert.match(twice.html, /Your email address is confirmed/);
      const later = await browser.submit(question, { confirm_email: 'yes', again: 'later' });
      assert.match(later.html, /Your email address is confirmed/, 'the same form is done');
      await askForReset(newBrowser(), email);
      await queueIsEmpty();
      await mailTo(email, 1);
    });

    test('an account exists only after the owner of its address has made it', async () => {
      const visitor = newBrowser();
      const signUp = async (browser: Browser, email: string) =>
        browser.submit(await browser.get(`${server.url}/sign-up`), { email });
      assert.match((await visitor.get(`${server.url}/account`)).html, /<a id="sign-up" href="\/sign-up">/);
      assert.match((await signUp(visitor, 'x@elsewhere.example')).html, /Addresses of this domain cannot/);
      const sent = await signUp(visitor, 'kim@example.org');
      const { email: known } = await person('karl');
      assert.equal(
        asShown(await signUp(newBrowser(), known)),
        asShown(sent),
        'no answer tells that it is known',
      );
      const forKnown = await mailTo(known);
      assert.match(forKnown.subject, /already have an account/);
      assert.deepEqual(forKnown.links, []);

      // Whoever asked, only the mailbox's owner chooses name and password, and only then is there a user.
      const link = linkIn(await mailTo('kim@example.org'));
      assert.doesNotMatch(await grantdPrints(server.folder, ['user', 'list']), /kim/);
      const owner = newBrowser();
      const form = await owner.get(link);
      const fields = { username: 'kim', new_password: NEW_PASSWORD };
      assert.match((await owner.submit(form, { ...fields, username: 'KARL' })).html, /is taken/);
      assert.match((await owner.submit(form, { ...fields, username: ' ' })).html, /not allowed/);
      assert.match((await owner.submit(form, fields)).html, /Your account is ready/);
      assert.equal(await canSignIn('kim', NEW_PASSWORD), true);
      const shown = await grantdPrints(server.folder, ['user', 'show', 'kim', '--json']);
      assert.match(shown, /"email":"kim@example\.org","email_verified":true/);
      assert.equal((await visitor.get(link)).status, 400);
    });

    test('of two links with which one address signs up, one makes an account', async () => {
      const browsers = [newBrowser(), newBrowser()];
      const forms: Page[] = [];
      for (const [at, browser] of browsers.entries()) {
        const email = ['nina@example.org', 'nina@EXAMPLE.org'][at] ?? '';
        await browser.submit(await browser.get(`${server.url}/sign-up`), { email });
        forms.push(await browser.get(linkIn(await mailTo(email))));
      }
      const used = await Promise.all(
        browsers.map((browser, at) =>
          browser.submit(forms[at] ?? assert.fail(), { username: `nina${at}`, new_password: NEW_PASSWORD }),
        ),
      );
      assert.deepEqual(used.map(({ status }) => status).sort(), [200, 400]);
      const owners = await withDatabaseOf(server, ({ people }) =>
        people.byVerifiedEmail('nina@example.org', 5),
      );
      assert.equal(owners.length, 1);
    });

    test('an invited user has no password until they choose one by their link, which verifies the address', async () => {
      const invite = ['user', 'invite', 'lena', '--email', 'lena@example.com', '--claim', 'name=Lena'];
      assert.match(await grantdPrints(server.folder, invite), /^added and invited lena, sub /);
      assert.equal(await canSignIn('lena', ''), false);
      await until(() => true, 'the server looks');
      const link = linkIn(await mailTo('lena@example.com'));
      const opened = await fetch(link, { redirect: 'manual' });
      const [, seconds = ''] =
        /grantd_link=.*; Max-Age=(\d+);/.exec(opened.headers.get('set-cookie') ?? '') ?? [];
      const [weekInSeconds, age] = [7 * 24 * 60 * 60, Number(seconds)];
      assert.ok(age > weekInSeconds - 600 && age <= weekInSeconds, `as long as the link: ${seconds}`);
      const browser = newBrowser();
      const done = await browser.submit(await browser.get(link), { new_password: NEW_PASSWORD });
      assert.match(done.html, /Your account is ready/);
      assert.match((await signedIn(browser, { username: 'lena', password: NEW_PASSWORD })).html, /Verified/);
      assert.equal((await browser.get(link)).status, 400);
      const again = await grantd(server.folder, invite);
      assert.deepEqual([again.code, /already exists/.test(again.stderr)], [1, true]);
    });

    test('pre-hijacking: an account with the unverified address of another person gets no link, and keeps nobody from signing up', async () => {
      const { who } = await person('trojan', 'victim@example.com', false);
      await askForReset(newBrowser(), 'victim@example.com');
      const victim = newBrowser();
      await victim.submit(await victim.get(`${server.url}/sign-up`), { email: 'victim@example.com' });
      // The only email is that of the sign-up.
      const form = await victim.get(linkIn(await mailTo('victim@example.com')));
      const done = await victim.submit(form, { username: 'victim', new_password: NEW_PASSWORD });
      assert.match(done.html, /Your account is ready/);
      assert.ok(await canSignIn('victim', NEW_PASSWORD));
      // From now on, links go to the owner alone, and the other account has kept its password.
      await askForReset(newBrowser(), 'victim@example.com');
      const reset = await mailTo('victim@example.com', 2);
      assert.deepEqual([reset.links.length, /trojan/.test(reset.text)], [1, false]);
      assert.ok(await canSignIn('trojan', who.password));
    });

    test('users export their data, and delete their account with its data', async () => {
      const { who, browser, email } = await person('mia');
      const pkce = newPkce();
      const url = authorizationUrl(server.url, pkce, { scope: 'openid profile offline_access' });
      const tokens = await redeem(server.url, pkce, await signInAndConsent(browser, url, who));
      const page = await browser.get(`${server.url}/account/data`);
      const file = await browser.submit(page, { export_data: 'yes' });
      assert.equal(file.headers.get('content-disposition'), 'attachment; filename="account.json"');
      const data: Record<string, unknown> = JSON.parse(file.html);
      assert.deepEqual(Object.keys(data), [
        ...['issuer', 'sub', 'createdAt', 'claims', 'sessions', 'signIns', 'consents', 'grants', 'acting'],
      ]);
      assert.deepEqual(data.claims, { preferred_username: 'mia', email, email_verified: true });
      assert.deepEqual(
        (data.signIns as readonly Record<string, unknown>[]).map(({ methods, failed }) => methods ?? failed),
        [['pwd']],
      );
      assert.doesNotMatch(file.html, /argon2|hash|secret/);

      const fields = { current_password: OLD_PASSWORD, confirm: 'yes' };
      assert.equal((await browser.submit(page, { current_password: OLD_PASSWORD })).status, 400);
      assert.equal((await browser.submit(page, { ...fields, current_password: 'wrong' })).status, 403);
      assert.match((await browser.submit(page, fields)).html, /Your account is deleted/);
      assert.equal((await introspect(server.url, tokens.access_token)).active, false);
      assert.equal((await grantd(server.folder, ['user', 'show', 'mia'])).code, 1);
      assert.equal(await canSignIn('mia', OLD_PASSWORD), false);
      assert.match((await mailTo(email)).subject, /is deleted/);
    });

    test('forms that were not made for this browser change nothing', async () => {
      const { email, browser } = await person('nora');
      await askForReset(browser, email);
      const form = await browser.get(linkIn(await mailTo(email)));
      const { form_token: _, ...others } = hiddenFields(form);
      const forged = await browser.post(`${server.url}/link`, { ...others, new_password: NEW_PASSWORD });
      assert.equal(forged.status, 403);
      for (const path of ['/forgot', '/sign-up', '/account/security', '/account/data', '/account/email']) {
        if (path.startsWith('/account'))
          await signedIn(browser, { username: 'nora', password: OLD_PASSWORD });
        const page = await browser.post(server.url + path, { username: email, email, confirm: 'yes' });
        assert.equal(page.status, 403, path);
      }
      assert.equal(await canSignIn('nora', OLD_PASSWORD), true);
    });
  });
}
