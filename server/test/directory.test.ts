import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { DirectorySignIn } from '../src/people/directory.ts';
import { AccessEnding } from '../src/people/groups.ts';
import { Authenticator, passkeyFormOf } from './harness/authenticator.ts';
import { Browser, hiddenFields, isLogin, type Page, signInAndConsent, unescaped } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE, DATABASES, type TestDatabase } from './harness/databases.ts';
import { ACCOUNT, DirectoryServer, passwordOf, SUFFIX } from './harness/directory_server.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { openDatabase } from './harness/program_data.ts';
import { authorizationUrl, introspect, newPkce, redeem, userInfo } from './harness/protocol.ts';
import { serverCertificate } from './harness/tls.ts';

const groupDn = (name: string) => `cn=${name},ou=groups,${SUFFIX}`;

for (const database of DATABASES) {
  describe(`users of a directory on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    let directory: DirectoryServer;
    let server: RunningServer;
    before(async () => {
      const certificate = await serverCertificate();
      directory = await new DirectoryServer({ implicit: certificate }).start();
      const folder = await workbench.home();
      writeFileSync(join(folder, 'ca.pem'), certificate.pem.cert);
      writeFileSync(join(folder, 'password'), `${ACCOUNT.password}\n`, { mode: 0o600 });
      const options = {
        ldapUrl: [`ldaps://localhost:${directory.port}`],
        ldapCa: 'ca.pem',
        ldapBindDn: ACCOUNT.dn,
        ldapBindPasswordFile: 'password',
        ldapBase: `ou=people,${SUFFIX}`,
        ldapFilter: '(|(uid={username})(mail={username}))',
        ldapGroups: { [groupDn('staff')]: 'staff', [groupDn('ops')]: 'ops' },
        ldapTimeoutMs: 2000,
        // Each test has an address of its own, because attempts of one place share a limit.
        trustedProxies: ['127.0.0.1', '::1'],
      };
      writeFileSync(join(folder, 'grantd.json'), JSON.stringify(options));
      server = await workbench.start(folder, ['--demo', '--config', 'grantd.json', '--sign-up', 'open']);
      for (const group of ['staff', 'ops', 'local']) await prints('group', 'add', group);
    });
    after(async () => {
      await workbench.clear();
      await directory.stop();
    });
    beforeEach(() => directory.reset());

    const prints = (...args: readonly string[]) => grantdPrints(server.folder, args);
    const shown = async (name: string) => JSON.parse(await prints('user', 'show', name, '--json'));
    const pkce = newPkce();
    const url = (parameters = {}) => authorizationUrl(server.url, pkce, parameters);

    let places = 0;
    const newBrowser = () => {
      places += 1;
      return new Browser(server.url, { 'x-forwarded-for': `198.51.100.${places}` });
    };
    const signIn = async (
      username: string,
      password = passwordOf(username),
      browser = newBrowser(),
    ): Promise<Page> => browser.submit(await browser.get(`${server.url}/account`), { username, password });
    const isSignedIn = (page: Page) => page.status === 200 && !isLogin(page);
    const withoutTokens = ({ html }: Page) =>
      html
        .replaceAll(/name="form_token" value="[^"]*"/g, '')
        .replaceAll(/value="[^"]*" autocomplete="username"/g, '')
        .replaceAll(/pending=[\w.-]+/g, '');

    test('the first sign-in adds the user with claims and groups, and a later one brings them up to date', async () => {
      directory.addPerson('ada', { cn: 'Ada Byron', mail: 'ada@example.com', memberOf: [groupDn('staff')] });
      assert.ok(isSignedIn(await signIn('ada')));
      const first = await shown('ada');
      assert.deepEqual(
        [first.claims, first.groups, first.has_password, first.directory_id],
        [
          { name: 'Ada Byron', email: 'ada@example.com', email_verified: false },
          ['staff'],
          false,
          'id-of-ada',
        ],
      );
      await prints('user', 'update', 'ada', '--claim', 'nickname=Countess', '--add-group', 'local');
      directory.change('ada', {
        cn: 'Ada Lovelace',
        mail: undefined,
        memberOf: [groupDn('ops')],
        uid: 'ada.l',
      });
      assert.ok(isSignedIn(await signIn('ada.l', passwordOf('ada'))));
      const second = await shown('ada.l');
      assert.equal(second.sub, first.sub);
      assert.deepEqual(
        [second.claims, second.groups],
        [{ name: 'Ada Lovelace', nickname: 'Countess' }, ['local', 'ops']],
      );
      const events = await prints('events', 'list', '--json');
      assert.match(events, /"person_added"[^}]*"server"/);
    });

    test('leaving a group in the directory ends the access with the next sign-in', async () => {
      directory.addPerson('bea', { memberOf: [groupDn('staff')] });
      await prints('client', 'update', 'demo-web', '--allow-group', 'staff');
      try {
        const who = { username: 'bea', password: passwordOf('bea') };
        const asked = url({ scope: 'openid offline_access' });
        const tokens = await redeem(server.url, pkce, await signInAndConsent(newBrowser(), asked, who));
        const isActive = async () => (await introspect(server.url, String(tokens.access_token))).active;
        assert.deepEqual(await isActive(), true);
        directory.change('bea', { memberOf: [] });
        assert.ok(isSignedIn(await signIn('bea')));
        assert.deepEqual(
          [await isActive(), (await userInfo(server.url, String(tokens.access_token))).status],
          [false, 401],
        );
      } finally {
        await prints('client', 'update', 'demo-web', '--allow-everyone');
      }
    });

    test('two first sign-ins at the same time add one user', async () => {
      directory.addPerson('gus', { mail: 'gus@example.com' });
      directory.delayMs = 20;
      const pages = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          signIn(index % 2 === 0 ? 'gus' : 'gus@example.com', passwordOf('gus')),
        ),
      );
      assert.ok(pages.every(isSignedIn));
      const listed = JSON.parse(await prints('user', 'list', '--search', 'gus', '--json'));
      assert.equal(listed.length, 1);
    });

    // The rest does not depend on the database.
    if (!ANY_DATABASE.includes(database)) return;

    test('a wrong password, an unknown name, an empty password and an ambiguous name get the same page', async () => {
      directory.addPerson('cay', { mail: 'same@example.com' });
      directory.addPerson('cem', { mail: 'same@example.com' });
      const pages = [];
      for (const [name, password] of [
        ['cay', 'guessed'],
        ['nobody', 'guessed'],
        ['cay', ' '],
        ['cay', ''],
        ['same@example.com', passwordOf('cay')],
        ['c*', passwordOf('cay')],
      ] as const)
        pages.push(await signIn(name, password));
      assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([403]));
      assert.equal(new Set(pages.map(withoutTokens)).size, 1);
      assert.deepEqual(directory.sentFor('cay'), ['guessed', ' ']);
      await server.logged(({ reason }) => reason === 'directory_entry_ambiguous', 'why the name is refused');
    });

    test('a user with a local password stays local, and the directory is not asked', async () => {
      const { who } = await newPerson(server, 'dan');
      directory.addPerson('dan', { mail: 'dan@example.com' });
      assert.equal((await signIn('dan', passwordOf('dan'))).status, 403);
      assert.ok(isSignedIn(await signIn('dan', who.password)));
      assert.deepEqual([directory.filters, directory.binds], [[], []]);
      // By another name, the entry is found. Its username belongs to someone else here.
      assert.equal((await signIn('dan@example.com', passwordOf('dan'))).status, 403);
      await server.logged(({ reason }) => reason === 'directory_name_taken', 'whose name it is');
      assert.equal((await shown('dan')).directory_id, undefined);
    });

    test('an entry that is made again does not get the account of the earlier one, until an operator links them', async () => {
      directory.addPerson('fay');
      assert.ok(isSignedIn(await signIn('fay')));
      directory.change('fay', { entryUUID: 'id-of-the-next-fay' });
      const refused = await signIn('fay');
      assert.equal(refused.status, 403);
      const { sub } = await shown('fay');
      await prints('directory', 'link', 'fay', '--config', 'grantd.json');
      assert.ok(isSignedIn(await signIn('fay')));
      const linked = await shown('fay');
      assert.deepEqual([linked.sub, linked.directory_id], [sub, 'id-of-the-next-fay']);
    });

    test('an outage is a page with 503 and no attempt, and local users still sign in', async () => {
      const { who } = await newPerson(server, 'eli');
      directory.addPerson('eve');
      const browser = newBrowser();
      directory.refusals.set(ACCOUNT.dn, { code: 49 });
      for (let attempt = 0; attempt < 12; attempt++) {
        const page = await signIn('eve', passwordOf('eve'), browser);
        assert.deepEqual([page.status, page.headers.get('retry-after')], [503, '5']);
        assert.match(page.html, /Temporarily unavailable/);
      }
      assert.ok(isSignedIn(await signIn('eli', who.password, browser)));
      directory.refusals.clear();
      directory.isSilent = true;
      assert.equal((await signIn('eve')).status, 503);
      directory.isSilent = false;
      directory.drop();
      assert.ok(
        isSignedIn(await signIn('eve', passwordOf('eve'), browser)),
        'the outage was no wrong password',
      );
      const failure = await server.logged(({ reason }) => reason === 'directory_unavailable', 'what is away');
      assert.match(JSON.stringify(failure), /refuses the account cn=grantd/);
    });

    test('ten wrong passwords are enough, and the directory sees no more of them', async () => {
      directory.addPerson('fay');
      const browser = newBrowser();
      const statuses = [];
      for (let attempt = 0; attempt < 12; attempt++)
        statuses.push((await signIn('fay', `guess ${attempt}`, browser)).status);
      assert.deepEqual(statuses, [...Array(10).fill(403), 429, 429]);
      assert.equal(directory.sentFor('fay').length, 10);
    });

    test('guesses by other spellings and other names of one entry count together', async () => {
      directory.addPerson('gil smith', { mail: 'gil@example.com' });
      const spaced = newBrowser();
      const statuses = [];
      for (let attempt = 0; attempt < 12; attempt++) {
        const name = `gil${' '.repeat(attempt + 1)}smith`;
        statuses.push((await signIn(name, `guess ${attempt}`, spaced)).status);
      }
      assert.deepEqual(statuses, [...Array(10).fill(403), 429, 429]);
      directory.binds.length = 0;
      const browser = newBrowser();
      const pages = [];
      for (let attempt = 0; attempt < 12; attempt++) {
        const name = attempt % 2 === 0 ? 'gil smith' : 'gil@example.com';
        pages.push(await signIn(name, `guess ${attempt}`, browser));
      }
      assert.equal(directory.sentFor('gil smith').length, 10);
      // Its page does not tell that both are names of one entry.
      assert.equal(new Set(pages.map(withoutTokens)).size, 1);
      assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([403]));
      assert.equal((await signIn('gil smith', passwordOf('gil smith'), browser)).status, 403);
      await server.logged(({ reason }) => reason === 'directory_entry_limited', 'why it is refused');
      const elsewhere = newBrowser();
      for (let attempt = 0; attempt < 12; attempt++) {
        const name = attempt % 2 === 0 ? 'gil smith' : 'gil@example.com';
        assert.ok(
          isSignedIn(await signIn(name, passwordOf('gil smith'), elsewhere)),
          'successes do not add up',
        );
        elsewhere.cookies.clear();
      }
    });

    test('the password of a directory cannot be changed, reset or invited here', async () => {
      directory.addPerson('hal', { mail: 'hal@example.com' });
      const browser = newBrowser();
      assert.ok(isSignedIn(await signIn('hal', passwordOf('hal'), browser)));
      const page = await browser.get(`${server.url}/account/security`);
      assert.match(page.html, /id="password-of-directory"/);
      assert.doesNotMatch(page.html, /new_password/);
      await prints('user', 'update', 'hal', '--email', 'hal@example.com', '--email-verified');
      const visitor = newBrowser();
      await visitor.submit(await visitor.get(`${server.url}/forgot`), { username: 'hal' });
      const invited = await grantd(server.folder, ['user', 'invite', 'hal', '--email', 'hal@example.com']);
      assert.deepEqual([invited.code, /signs in through the directory/.test(invited.stderr)], [1, true]);
      const { html } = await new Browser(server.url).get(`${server.url}/demo/mailbox`);
      assert.doesNotMatch(html, /hal@example\.com/);
    });

    test('a stranger cannot sign up with the username of a directory user who has not signed in yet', async () => {
      directory.addPerson('pia', { mail: 'pia@work.example' });
      const stranger = newBrowser();
      await stranger.submit(await stranger.get(`${server.url}/sign-up`), { email: 'pia@work.example' });
      let link: string | undefined;
      for (let tries = 0; tries < 400 && link === undefined; tries++) {
        const { html } = await new Browser(server.url).get(`${server.url}/demo/mailbox`);
        link = /href="([^"]*\/link\?token=[^"]*)"/.exec(html)?.[1];
        if (link === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      let form = await stranger.get(unescaped(link ?? ''));
      const choose = async (username: string) => {
        const page = await stranger.submit(form, { username, new_password: 'quartz falcon kettle' });
        if (page.status === 400) form = page;
        return page;
      };
      // Spellings that readers confuse, other names of the entry, and letters of another script that look the same.
      for (const name of ['pia', 'PIA', 'ｐｉａ', 'pia@work.example', '\u0440\u0456\u0430']) {
        const page = await choose(name);
        assert.deepEqual(
          [page.status, /or one that looks like it, is taken/.test(page.html)],
          [400, true],
          name,
        );
      }
      directory.refusals.set(ACCOUNT.dn, { code: 49 });
      const outage = await choose('pia');
      assert.deepEqual([outage.status, outage.headers.get('retry-after')], [503, '5']);
      directory.refusals.clear();
      assert.equal((await choose('pina')).status, 200);
      assert.ok(isSignedIn(await signIn('pina', 'quartz falcon kettle')));
      assert.ok(isSignedIn(await signIn('pia')));
    });

    const STEP_MS = 30_000;
    const pathOf = (page: Page) => new URL(page.url).pathname;
    const isBack = (page: Page) => page.url.startsWith('http://localhost:4001/callback');

    /** Adds an authenticator app. */
    async function addApp(browser: Browser, page: Page) {
      const action = page.url.replace('/security', '/factors');
      const offer = await browser.post(action, { ...hiddenFields(page), act: 'offer_totp' });
      const [, secret = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.html);
      const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) });
      /** Each code counts once, and no older one after it. */
      const code = (steps = 0) => totp.generate({ timestamp: Date.now() + steps * STEP_MS });
      const codes = await browser.post(action, {
        ...hiddenFields(offer),
        act: 'confirm_totp',
        code: code(-1),
      });
      const recovery = [...codes.html.matchAll(/<li><code>([^<]*)<\/code>/g)].map(([, one = '']) => one);
      return { codes, code, recovery };
    }

    /** Asks for the page of an application, or signs in for it. */
    const request = (browser: Browser, parameters = {}) =>
      browser.get(url({ scope: 'openid', ...parameters }));
    const signInFor = async (browser: Browser, username: string, parameters = {}) =>
      browser.submit(await request(browser, parameters), { username, password: passwordOf(username) });
    /** Without an answer of the directory, sends something. */
    async function inOutage(send: () => Promise<Page>): Promise<void> {
      directory.refusals.set(ACCOUNT.dn, { code: 49 });
      const page = await send();
      assert.deepEqual([page.status, page.headers.get('retry-after')], [503, '5'], page.url);
      assert.doesNotMatch(page.html, /Wrong|wrong/);
      directory.refusals.clear();
    }
    const makeOld = async (name: string) => {
      const { sub } = await shown(name);
      const sessions = `${database.schema}sessions`;
      await database.run(
        server.folder,
        `UPDATE ${sessions} SET signed_in_at_ms = signed_in_at_ms - 601000 WHERE subject = '${sub}'`,
      );
    };

    test('the policies of groups and clients ask users of a directory for a second factor, and an outage in between is no wrong code', async () => {
      directory.addPerson('ria', { memberOf: [groupDn('ops')] });
      await prints('group', 'update', 'ops', '--sign-in-policy', 'second_factor');
      const browser = newBrowser();
      const enrolment = await signInFor(browser, 'ria');
      assert.match(enrolment.url, /\/account\/security\?pending=/);
      const { codes, code, recovery } = await addApp(browser, enrolment);
      const consent = await browser.submit(codes, { act: 'codes_saved' });
      assert.ok(isBack(await browser.submit(consent, { decision: 'allow' })));

      const other = newBrowser();
      await inOutage(() => signInFor(other, 'ria'));
      const second = await signInFor(other, 'ria');
      assert.equal(pathOf(second), '/login/second');
      const wrong = await other.submit(second, { code: '000000' });
      assert.deepEqual([wrong.status, /This code is wrong/.test(wrong.html)], [403, true]);
      await inOutage(() => other.submit(second, { code: code() }));
      assert.ok(isBack(await other.submit(second, { code: code() })), 'the outage has not used up the code');

      const third = newBrowser();
      const recovering = await signInFor(third, 'ria');
      const fields = { ...hiddenFields(recovering), recovery_code: recovery[0] ?? '' };
      await inOutage(() => third.post(recovering.url, fields));
      assert.ok(isBack(await third.post(recovering.url, fields)));
      assert.equal((await newBrowser().post(recovering.url, fields)).status, 403);

      // Leaving the group takes the policy along, with the next sign-in; the client can still ask.
      directory.change('ria', { memberOf: [] });
      await prints('group', 'update', 'ops', '--no-sign-in-policy');
      await prints('client', 'update', 'demo-web', '--sign-in-policy', 'phishing_resistant');
      try {
        const fourth = newBrowser();
        const asked = await signInFor(fourth, 'ria');
        assert.equal(pathOf(asked), '/login/second');
        const enrolling = await fourth.submit(asked, { code: code(1) });
        assert.match(enrolling.url, /\/account\/security\?pending=/);
        const form = passkeyFormOf(enrolling);
        const authenticator = new Authenticator(server.url);
        const added = { ...form.fields, passkey: authenticator.create(form.options), passkey_name: '' };
        assert.ok(isBack(await fourth.post(form.action, added)));
        const fifth = newBrowser();
        const byPasskey = passkeyFormOf(await signInFor(fifth, 'ria'));
        const answer = { ...byPasskey.fields, passkey: authenticator.get(byPasskey.options) };
        await inOutage(() => fifth.post(byPasskey.action, answer));
        assert.ok(isBack(await fifth.post(byPasskey.action, answer)));
        assert.deepEqual((await shown('ria')).groups ?? [], []);
      } finally {
        await prints('client', 'update', 'demo-web', '--unset', 'sign-in-policy');
      }
    });

    test('a user of a directory changes factors only after a new sign-in, which the directory checks', async () => {
      directory.addPerson('sam');
      const browser = newBrowser();
      await signIn('sam', passwordOf('sam'), browser);
      await makeOld('sam');
      const stale = await browser.get(`${server.url}/account/security`);
      const refused = await browser.post(`${server.url}/account/factors`, {
        ...hiddenFields(stale),
        act: 'offer_totp',
      });
      assert.ok(isLogin(refused), refused.url);
      await inOutage(() => browser.submit(refused, { username: 'sam', password: passwordOf('sam') }));
      assert.equal((await browser.submit(refused, { username: 'sam', password: 'guessed' })).status, 403);
      const fresh = await browser.submit(refused, { username: 'sam', password: passwordOf('sam') });
      assert.equal(pathOf(fresh), '/account/security');
      assert.equal((await addApp(browser, fresh)).recovery.length, 10);
    });

    test('max_age and acr_values ask the directory again, and a user whom it has disabled loses the session', async () => {
      directory.addPerson('tea');
      const browser = newBrowser();
      const consent = await signInFor(browser, 'tea');
      assert.ok(isBack(await browser.submit(consent, { decision: 'allow' })));
      await makeOld('tea');
      const again = await request(browser, { max_age: '300' });
      assert.ok(isLogin(again));
      await inOutage(() => browser.submit(again, { username: 'tea', password: passwordOf('tea') }));
      assert.ok(isBack(await browser.submit(again, { username: 'tea', password: passwordOf('tea') })));

      const { code } = await addApp(browser, await browser.get(`${server.url}/account/security`));
      const acr_values = 'urn:grantd:acr:multi-factor';
      await prints('user', 'end-sessions', 'tea');
      await prints('client', 'update', 'demo-web', '--unset', 'sign-in-policy');
      const half = await signInFor(browser, 'tea', { acr_values });
      assert.equal(pathOf(half), '/login/second');
      assert.ok(isBack(await browser.submit(half, { code: code() })));

      // A change in the directory alone ends nothing (ADR 92), a further step asks.
      const tokens = await redeem(server.url, pkce, new URL((await request(browser)).url));
      const isActive = async () => (await introspect(server.url, tokens.access_token)).active;
      await database.run(
        server.folder,
        `UPDATE ${database.schema}sessions SET amr = 'pwd' WHERE subject = '${(await shown('tea')).sub}'`,
      );
      const step = await request(browser, { acr_values });
      assert.equal(pathOf(step), '/login/second');
      directory.change('tea', { userAccountControl: '514' });
      assert.equal(await isActive(), true);
      await inOutage(() => browser.submit(step, { code: code(1) }));
      const out = await browser.submit(step, { code: code(1) });
      assert.ok(isLogin(out), out.url);
      assert.deepEqual([browser.cookies.has('grantd_session'), await isActive()], [false, false]);
      assert.match((await signIn('tea')).html, /This account is disabled/);

      // The operator ends the rest at once.
      directory.change('tea', { userAccountControl: undefined });
      const other = newBrowser();
      await other.submit(await signInFor(other, 'tea'), { code: code(1) });
      const offline = await request(other, { scope: 'openid offline_access' });
      const kept = await redeem(
        server.url,
        pkce,
        new URL((await other.submit(offline, { decision: 'allow' })).url),
      );
      await prints('user', 'disable', 'tea');
      assert.equal((await introspect(server.url, String(kept.refresh_token))).active, false);
      assert.ok(isLogin(await other.get(`${server.url}/account`)));
      await prints('user', 'enable', 'tea');
    });

    test('an operator moves a user to the directory and back', async () => {
      const { who, browser } = await newPerson(server, 'ida');
      assert.ok(isSignedIn(await signIn('ida', who.password, browser)));
      const { sub } = await shown('ida');
      directory.addPerson('i.dalton', { cn: 'Ida Dalton' });
      const flags = ['--config', 'grantd.json'];
      await prints('directory', 'link', 'ida', '--as', 'i.dalton', ...flags);
      assert.ok(isLogin(await browser.get(`${server.url}/account`)), 'the sessions have ended');
      assert.equal((await signIn('ida', who.password)).status, 403);
      assert.ok(isSignedIn(await signIn('i.dalton')));
      const linked = await shown('i.dalton');
      assert.deepEqual([linked.sub, linked.directory_id], [sub, 'id-of-i.dalton']);
      const { who: other } = await newPerson(server, 'ian');
      const taken = await grantd(server.folder, [
        'directory',
        'link',
        other.username,
        '--as',
        'i.dalton',
        ...flags,
      ]);
      assert.deepEqual([taken.code, /belongs to the user i\.dalton already/.test(taken.stderr)], [1, true]);
      await grantdPrints(
        server.folder,
        ['user', 'set-password', 'i.dalton', '--password-stdin'],
        'correct horse',
      );
      assert.ok(isSignedIn(await signIn('i.dalton', 'correct horse')));
      assert.equal((await shown('i.dalton')).directory_id, undefined);
    });

    test('directory test shows what a sign-in would bring, or says what is wrong', async () => {
      directory.addPerson('joe', { cn: 'Joe', memberOf: [groupDn('staff'), groupDn('x')] });
      const flags = ['--config', 'grantd.json'];
      const found = JSON.parse(await prints('directory', 'test', 'joe', '--json', ...flags));
      assert.deepEqual(found, {
        dn: `uid=joe,ou=people,${SUFFIX}`,
        id: 'id-of-joe',
        usernames: ['joe'],
        claims: { name: 'Joe' },
        groups: ['staff'],
        missingGroups: [],
        directoryGroups: [groupDn('staff'), groupDn('x')],
        disabled: false,
      });
      assert.deepEqual(directory.sentFor('joe'), []);
      assert.match(
        await prints('directory', 'test', 'joe', ...flags),
        /user +none yet; the first sign-in adds it/,
      );
      const absent = await grantd(server.folder, ['directory', 'test', 'nobody', ...flags]);
      assert.deepEqual([absent.code, /the directory has no user nobody/.test(absent.stderr)], [1, true]);
      directory.refusals.set(ACCOUNT.dn, { code: 49 });
      const refused = await grantd(server.folder, ['directory', 'test', 'joe', ...flags]);
      assert.deepEqual([refused.code, /refuses the account cn=grantd/.test(refused.stderr)], [1, true]);
    });

    test('a disabled user of this server stays out, and a password is in no log', async () => {
      directory.addPerson('kim');
      assert.ok(isSignedIn(await signIn('kim')));
      await prints('user', 'disable', 'kim');
      assert.match((await signIn('kim')).html, /This account is disabled/);
      assert.doesNotMatch(server.stdout() + server.stderr(), /password of |service-secret/);
    });

    test('config check names the option that is wrong', async () => {
      const check = (...flags: readonly string[]) =>
        grantd(server.folder, ['config', 'check', '--config', 'grantd.json', ...flags]);
      assert.equal((await check()).code, 0);
      const { code, stderr } = await check('--ldap-filter', '(uid={username}');
      assert.deepEqual([code, /--ldap-filter: expected a valid filter/.test(stderr)], [2, true]);
      const lonely = await grantd(server.folder, ['config', 'check', '--ldap-base', 'dc=example']);
      assert.match(lonely.stderr, /--ldap-base: expected --ldap-url with it/);
    });
  });
}

test('nobody signs up with a name that readers take for one of the directory, in whatever script', async (t) => {
  const opened = await openDatabase(t, ANY_DATABASE[0] as TestDatabase);
  const asked: string[] = [];
  const hasName = (ofDirectory: string, typed: string) => {
    const directory = {
      ...{ groups: [], claims: [], areEmailsVerified: false, close() {} },
      authenticate: async () => ({ refused: 'person_unknown' as const }),
      byId: async () => undefined,
      async hasName(name: string) {
        asked.push(name);
        return name === ofDirectory;
      },
    };
    const { people, groups, storage } = opened;
    const access = new AccessEnding({ people, groups, storage });
    return new DirectorySignIn({ directory, people, groups, access, clients: storage.clients }).hasName(
      typed,
    );
  };
  const [cyrillic, greek] = ['\u0441\u043e\u0441\u043e-7', '\u03bf\u03c5\u03ba'];
  for (const typed of ['coco-7', 'COCO-7', cyrillic])
    assert.equal(await hasName(cyrillic, typed), true, typed);
  // The Greek upsilon resembles a y.
  for (const typed of ['oyk', '\u043e\u0443\u043a', greek])
    assert.equal(await hasName(greek, typed), true, typed);
  // Two Cyrillic letters resemble an h.
  for (const one of ['\u043d\u04bb', '\u04bb\u043d', '\u043d\u043d', 'hh'])
    assert.equal(await hasName(one, 'hh'), true, one);
  assert.equal(await hasName('nobody', 'h'.repeat(40)), true, 'more spellings than are asked for');
  assert.equal(await hasName('nobody', 'nhhhhhhhhhh'), false);
  asked.length = 0;
  assert.equal(await hasName(cyrillic, 'coco-7b'), false);
  assert.equal(await hasName('nobody', 'nadia'), false);
  assert.deepEqual(asked.includes('nadia') && asked.length <= 4, true, asked.join());
});
