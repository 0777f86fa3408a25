// Long: each factor, with each way in which it is added, used, refused and removed.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { type Factors, NO_FACTORS } from '../src/data/factors.ts';
import { Authenticator, passkeyFormOf } from './harness/authenticator.ts';
import {
  Browser,
  type Credentials,
  hiddenFields,
  isConsent,
  isLogin,
  type Page,
  signInAndConsent,
} from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, payloadOf, redeem } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

const STEP_MS = 30_000;

for (const database of ANY_DATABASE) {
  describe(`sign-in with more than a password on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
    });

    const pkce = newPkce();
    const urlWith = (parameters: Readonly<Record<string, string>> = {}) =>
      authorizationUrl(server.url, pkce, parameters);
    const at = (path: string) => `${server.url}${path}`;
    const logged = (line: Readonly<Record<string, unknown>>) =>
      server.logged(
        (one) => Object.entries(line).every(([name, value]) => one[name] === value),
        JSON.stringify(line),
      );

    /** Presses a button of a form, or submits one of its fields. */
    async function press(browser: Browser, page: Page, fields: Readonly<Record<string, string>>) {
      return browser.post(at('/account/factors'), { ...hiddenFields(page), ...fields });
    }

    /** The codes of an app. */
    interface App {
      /** @param steps from now */
      code(steps?: number): string;
      readonly recoveryCodes: readonly string[];
    }

    async function addApp(browser: Browser): Promise<App> {
      const offer = await press(browser, await browser.get(at('/account/security')), { act: 'offer_totp' });
      const [, shown = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.html);
      const totp = new TOTP({ secret: Secret.fromBase32(shown.replaceAll(' ', '')) });
      const code = (steps = 0) => totp.generate({ timestamp: Date.now() + steps * STEP_MS });
      // An older code, so that the present one is still unused.
      const codes = await press(browser, offer, { act: 'confirm_totp', code: code(-1) });
      return { code, recoveryCodes: recoveryCodesOn(codes) };
    }

    function recoveryCodesOn({ html }: Page): readonly string[] {
      return [...html.matchAll(/<li><code>([^<]*)<\/code>/g)].map(([, code = '']) => code);
    }

    async function addPasskey(browser: Browser, name = 'Phone', counter = 0) {
      const authenticator = new Authenticator(server.url, counter);
      const { action, options, fields } = passkeyFormOf(await browser.get(at('/account/security')));
      const passkey = authenticator.create(options);
      const page = await browser.post(action, { ...fields, passkey, passkey_name: name });
      return { authenticator, page };
    }

    /** A user with a signed-in browser. */
    async function signedIn(name: string) {
      const { who, browser } = await newPerson(server, name);
      await browser.submit(await browser.get(at('/account')), { ...who });
      return { who, browser };
    }

    /** Enters the password of a user in a new browser. */
    async function passwordOf(who: Credentials, url = urlWith()) {
      const browser = new Browser(server.url);
      return { browser, page: await browser.submit(await browser.get(url), { ...who }) };
    }

    const isSecond = ({ html }: Page) =>
      html.includes('id="second-submit"') || html.includes('id="passkey-submit"');
    const submitSecond = (browser: Browser, page: Page, fields: Readonly<Record<string, string>>) =>
      browser.post(page.url, { ...hiddenFields(page), ...fields });

    /** The ID token that a page leads to. */
    async function idTokenAfter(browser: Browser, page: Page) {
      const left = isConsent(page) ? await browser.submit(page, { decision: 'allow' }) : page;
      const tokens = await redeem(server.url, pkce, new URL(left.url));
      const { acr, amr } = payloadOf(tokens.id_token);
      return { acr, amr, tokens };
    }

    test('OpenID Connect Core §2 without a factor, a password is the whole sign-in', async () => {
      const { who, browser } = await newPerson(server, 'ada');
      const callback = await signInAndConsent(browser, urlWith(), who);
      const tokens = await redeem(server.url, pkce, callback);
      const { acr, amr } = payloadOf(tokens.id_token);
      assert.deepEqual({ acr, amr }, { acr: 'urn:grantd:acr:password', amr: ['pwd'] });
      assert.equal((await introspect(server.url, tokens.access_token)).acr, 'urn:grantd:acr:password');
    });

    test('RFC 6238 §4 a user with an authenticator app enters a code after the password', async () => {
      const { who, browser: first } = await signedIn('bea');
      const app = await addApp(first);
      assert.equal(app.recoveryCodes.length, 10);
      const { browser, page } = await passwordOf(who);
      assert.equal(page.url, page.url.replace('/login?', '/login/second?'));
      assert.ok(isSecond(page));
      assert.equal(browser.cookies.has('grantd_session'), false, 'there is no session yet');
      const wrong = await submitSecond(browser, page, { code: '000000' });
      assert.equal(wrong.status, 403);
      assert.match(wrong.html, /This code is wrong/);
      const { acr, amr } = await idTokenAfter(
        browser,
        await submitSecond(browser, wrong, { code: app.code() }),
      );
      assert.deepEqual({ acr, amr }, { acr: 'urn:grantd:acr:multi-factor', amr: ['pwd', 'otp', 'mfa'] });
    });

    test('what is shown once stays after a reload: the secret of a new app until it is added, codes until they are saved', async () => {
      const { who, browser } = await signedIn('dina');
      const security = () => browser.get(at('/account/security'));
      const offer = await press(browser, await security(), { act: 'offer_totp' });
      const secretOn = ({ html }: Page) => /<code id="totp-secret">([^<]*)</.exec(html)?.[1];
      const secret = secretOn(offer) ?? assert.fail(offer.html);
      assert.equal(secretOn(await browser.get(offer.url)), secret);
      assert.ok(!offer.url.includes(secret.replaceAll(' ', '')));
      const { browser: stranger } = await signedIn('dan');
      assert.equal(secretOn(await stranger.get(offer.url)), undefined);
      const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) });
      const sent = { act: 'confirm_totp', code: totp.generate() };
      const codes = await press(browser, offer, sent);
      assert.equal(recoveryCodesOn(codes).length, 10);
      assert.deepEqual(recoveryCodesOn(await press(browser, offer, sent)), recoveryCodesOn(codes));
      assert.deepEqual(recoveryCodesOn(await browser.get(codes.url)), recoveryCodesOn(codes));
      assert.deepEqual(recoveryCodesOn(await stranger.get(codes.url)), []);
      for (const _ of ['once', 'again']) {
        const { headers, html: file } = await browser.submit(codes, { act: 'download_codes' });
        assert.equal(headers.get('content-disposition'), 'attachment; filename="recovery-codes.txt"');
        assert.equal(headers.get('cache-control'), 'no-store');
        const [title = '', , ...rest] = file.split('\r\n');
        assert.match(title, /^Recovery codes for localhost:\d+$/);
        assert.deepEqual(rest, [...recoveryCodesOn(codes), '']);
      }
      const after = await browser.get(offer.url);
      assert.equal(secretOn(after), undefined, 'nobody sees the secret of an app that was added');
      assert.match(after.html, /You already have an authenticator app/);

      assert.match((await security()).html, /id="show-recovery-codes"/);
      await database.run(
        server.folder,
        `UPDATE ${database.schema}sessions SET signed_in_at_ms = signed_in_at_ms - 601000 WHERE subject = '${await subjectOf('dina')}'`,
      );
      assert.deepEqual(recoveryCodesOn(await browser.get(codes.url)), [], 'the sign-in is old');
      const later = await passwordOf(who);
      await submitSecond(later.browser, later.page, {
        code: totp.generate({ timestamp: Date.now() + STEP_MS }),
      });
      const again = await later.browser.get(codes.url);
      assert.deepEqual(recoveryCodesOn(again), recoveryCodesOn(codes));
      const saved = await later.browser.submit(again, { act: 'codes_saved' });
      assert.doesNotMatch(saved.html, /id="show-recovery-codes"/);
      assert.deepEqual(recoveryCodesOn(await later.browser.get(codes.url)), []);
      const late = await later.browser.submit(again, { act: 'download_codes' });
      assert.equal(late.headers.get('content-disposition'), null, 'saved codes are not sent again');
    });

    test('RFC 6238 §5.2 a code counts once, in whatever browser', async () => {
      const { who, browser: first } = await signedIn('dora');
      const app = await addApp(first);
      const code = app.code();
      const mine = await passwordOf(who);
      assert.ok(isConsent(await submitSecond(mine.browser, mine.page, { code })));
      const thief = await passwordOf(who);
      const again = await submitSecond(thief.browser, thief.page, { code });
      assert.equal(again.status, 403);
      assert.match(again.html, /already used/);
      assert.equal(thief.browser.cookies.has('grantd_session'), false);
      await logged({ event: 'sign_in_failed', page: 'second', reason: 'code_used' });
      const older = await submitSecond(thief.browser, again, { code: app.code(-1) });
      assert.match(older.html, /already used/, 'neither does an earlier one');
    });

    test('after ten wrong codes, no code is checked for a while, from whatever browser', async () => {
      const { who, browser: first } = await signedIn('eve');
      const app = await addApp(first);
      const browsers = await Promise.all([passwordOf(who), passwordOf(who)]);
      const guess = (at: number) => {
        const { browser, page } = browsers[at % 2] ?? assert.fail();
        const fields =
          at % 3 === 0 ? { recovery_code: `aaaa-aaaa-aaaa-aaa${at}` } : { code: String(at).padStart(6, '0') };
        return submitSecond(browser, page, fields);
      };
      const answers = await Promise.all(Array.from({ length: 14 }, (_, at) => guess(at)));
      assert.equal(answers.filter(({ status }) => status === 403).length, 10, 'also if they come at once');
      assert.equal(answers.filter(({ status }) => status === 429).length, 4);
      const { browser, page } = await passwordOf(who);
      const right = await submitSecond(browser, page, { code: app.code() });
      assert.equal(right.status, 429);
      assert.match(right.headers.get('retry-after') ?? '', /^\d+$/);
      const [recoveryCode = ''] = app.recoveryCodes;
      assert.equal((await submitSecond(browser, page, { recovery_code: recoveryCode })).status, 429);
      await logged({ event: 'sign_in_failed', page: 'second', reason: 'too_many_codes' });
    });

    test('a recovery code replaces the second step once, and only digests of them are stored', async () => {
      const { who, browser: first } = await signedIn('fay');
      const { recoveryCodes } = await addApp(first);
      const [code = '', other = ''] = recoveryCodes;
      const one = await passwordOf(who);
      const typed = code.toUpperCase().replaceAll('-', ' ');
      const { acr } = await idTokenAfter(
        one.browser,
        await submitSecond(one.browser, one.page, { recovery_code: typed }),
      );
      assert.equal(acr, 'urn:grantd:acr:multi-factor');
      const two = await passwordOf(who);
      const again = await submitSecond(two.browser, two.page, { recovery_code: code });
      assert.equal(again.status, 403);
      assert.match(again.html, /wrong, or it was already used/);
      assert.match((await two.browser.get(at('/account'))).url, /\/login/, 'nothing is open to it');
      const stored = await withDatabaseOf(server, ({ factors }) => sameSubject(factors, 'fay'));
      assert.equal(stored.recoveryCodes, 9);
      assert.ok(!server.stdout().includes(other.slice(0, 9)) && !server.stderr().includes(other.slice(0, 9)));
    });

    async function subjectOf(name: string): Promise<string> {
      const person = await withDatabaseOf(server, ({ people }) => people.byName(name));
      return person?.subject ?? assert.fail(name);
    }

    async function sameSubject(factors: Factors, name: string) {
      return factors.of(await subjectOf(name));
    }

    test('WebAuthn §7.2 a passkey is a complete sign-in', async () => {
      const { browser: first } = await signedIn('cleo');
      const { authenticator, page: codes } = await addPasskey(first);
      assert.equal(recoveryCodesOn(codes).length, 10);
      const page = await signInByPasskey(authenticator);
      const { acr, amr } = await idTokenAfter(page.browser, page);
      assert.deepEqual({ acr, amr }, { acr: 'phr', amr: ['pop', 'user', 'mfa'] });
    });

    /** Sends the answer of a passkey on the sign-in page. */
    async function signInByPasskey(
      authenticator: Authenticator,
      deviation: Parameters<Authenticator['get']>[1] = {},
      browser = new Browser(server.url),
    ) {
      const { action, options, fields } = passkeyFormOf(await browser.get(urlWith()));
      const page = await browser.post(action, { ...fields, passkey: authenticator.get(options, deviation) });
      return { ...page, browser };
    }

    test('WebAuthn §7.2 an answer for another origin, RP ID, ceremony or user, or without user verification, is refused', async () => {
      const { browser: first } = await signedIn('gus');
      const { authenticator } = await addPasskey(first);
      const { port } = new URL(server.url);
      for (const deviation of [
        { origin: 'https://login.example' },
        { origin: `http://localhost.evil.example:${port}` },
        { origin: `http://evil.localhost:${port}` },
        { origin: `https://localhost:${port}` },
        { origin: 'http://localhost:1' },
        { rpId: 'evil.example' },
        { rpId: 'host' },
        { type: 'webauthn.create' },
        { userHandle: Buffer.from(await subjectOf('cleo')).toString('base64url') },
      ]) {
        const page = await signInByPasskey(authenticator, deviation);
        assert.equal(page.status, 403, JSON.stringify(deviation));
        assert.match(page.html, /This passkey cannot be used here/);
        assert.equal(page.browser.cookies.has('grantd_session'), false);
      }
      await logged({ event: 'sign_in_failed', page: 'login', reason: 'passkey_wrong' });
      const unverified = await signInByPasskey(authenticator, { isVerified: false });
      assert.match(unverified.html, /This key did not check that it is you/);
      assert.equal(unverified.browser.cookies.has('grantd_session'), false);
      assert.ok(isConsent(await signInByPasskey(authenticator)));
      const stranger = await signInByPasskey(new Authenticator(server.url));
      assert.match(stranger.html, /This passkey cannot be used here/);
    });

    test('WebAuthn §7.1 a passkey of another origin or RP ID, or without user verification, is not added', async () => {
      const { browser } = await signedIn('hal');
      for (const deviation of [
        { origin: 'https://login.example' },
        { rpId: 'evil.example' },
        { type: 'webauthn.get' },
      ]) {
        const { action, options, fields } = passkeyFormOf(await browser.get(at('/account/security')));
        const passkey = new Authenticator(server.url).create(options, deviation);
        const page = await browser.post(action, { ...fields, passkey, passkey_name: 'x' });
        assert.match(page.html, /The passkey or security key could not be added/, JSON.stringify(deviation));
      }
      const { action, options, fields } = passkeyFormOf(await browser.get(at('/account/security')));
      const unverified = new Authenticator(server.url).create(options, { isVerified: false });
      const page = await browser.post(action, { ...fields, passkey: unverified, passkey_name: 'x' });
      assert.match(page.html, /so it cannot be a passkey\. Add it as a security key instead/);
      const stored = await withDatabaseOf(server, ({ factors }) => sameSubject(factors, 'hal'));
      assert.deepEqual(stored, NO_FACTORS);
    });

    test('WebAuthn §13.4.3 a challenge counts once, and only in the browser and form for which it was made', async () => {
      const { browser: first } = await signedIn('ida');
      const { authenticator } = await addPasskey(first);
      const browser = new Browser(server.url);
      const { action, options, fields } = passkeyFormOf(await browser.get(urlWith()));
      const sent = { ...fields, passkey: authenticator.get(options) };
      const thief = new Browser(server.url);
      const own = passkeyFormOf(await thief.get(urlWith()));
      const foreign = await thief.post(own.action, { ...sent, form_token: own.fields.form_token ?? '' });
      assert.match(foreign.html, /That took too long/, 'the challenge is of another form');
      assert.equal((await thief.post(action, sent)).status, 403, 'the form is of another browser');
      const moved = await browser.post(action, {
        ...own.fields,
        ...sent,
        passkey_challenge: own.fields.passkey_challenge ?? '',
      });
      assert.match(moved.html, /That took too long/);
      assert.ok(isConsent(await browser.post(action, sent)));
      const replayed = await browser.post(action, { ...sent, again: 'yes' });
      assert.match(replayed.html, /That took too long/);
      await logged({ event: 'sign_in_failed', reason: 'passkey_challenge_used' });
    });

    test('WebAuthn §6.1.1 a signature counter that does not grow is refused', async () => {
      const { browser: first } = await signedIn('jo');
      const { authenticator } = await addPasskey(first, 'Key', 7);
      assert.ok(isConsent(await signInByPasskey(authenticator)));
      for (const counter of [0, 3, 8])
        assert.match((await signInByPasskey(authenticator, { counter })).html, /cannot be used here/);
      await logged({ event: 'sign_in_failed', reason: 'passkey_counter_wrong' });
      assert.ok(isConsent(await signInByPasskey(authenticator, { counter: 40 })));
    });

    test('a passkey is also the second step, but not the passkey of another user', async () => {
      const { who, browser: first } = await signedIn('kim');
      const { authenticator } = await addPasskey(first);
      const other = await addPasskey((await signedIn('lea')).browser);
      const { browser, page } = await passwordOf(who);
      assert.doesNotMatch(page.html, /id="second-submit"/);
      const { action, options, fields } = passkeyFormOf(page);
      assert.deepEqual(
        options.allowCredentials.map(({ id }) => id),
        [authenticator.id],
      );
      const foreign = await browser.post(action, { ...fields, passkey: other.authenticator.get(options) });
      assert.match(foreign.html, /This passkey or security key cannot be used for this account/);
      const again = passkeyFormOf(foreign);
      const passkey = authenticator.get(again.options);
      const { amr } = await idTokenAfter(
        browser,
        await browser.post(again.action, { ...again.fields, passkey }),
      );
      assert.deepEqual(amr, ['pwd', 'pop', 'user', 'mfa']);
    });

    test('RFC 8176 §2 a security key without PIN follows a password, and is no sign-in of its own', async () => {
      const { who, browser: first } = await signedIn('kurt');
      const key = new Authenticator(server.url, 1);
      const unverified = { isVerified: false };
      const form = passkeyFormOf(await first.get(at('/account/security')), 'add-security-key');
      const sent = { ...form.fields, passkey: key.create(form.options, unverified), passkey_name: 'U2F' };
      const codes = await first.post(form.action, sent);
      assert.equal(recoveryCodesOn(codes).length, 10);
      const replayed = await first.post(form.action, { ...sent, again: 'yes' });
      assert.match(replayed.html, /That took too long, or was done before/);
      const shown = await first.get(at('/account/security'));
      assert.match(shown.html, /<h3><bdi>U2F<\/bdi><\/h3>/);
      assert.match(
        await grantdPrints(server.folder, ['user', 'show', 'kurt']),
        /^security key [\w-]+ "U2F": added /m,
      );

      const thief = new Browser(server.url);
      const own = passkeyFormOf(await thief.get(urlWith()));
      const tried = await thief.post(own.action, { ...own.fields, passkey: key.get(own.options) });
      assert.match(tried.html, /This security key is a second step/);
      await logged({ event: 'sign_in_failed', page: 'login', reason: 'security_key_alone' });

      const { browser, page } = await passwordOf(who, urlWith({ acr_values: 'phr' }));
      assert.match(page.html, /Use your security key/);
      const { action, options, fields } = passkeyFormOf(page);
      const done = await browser.post(action, { ...fields, passkey: key.get(options, unverified) });
      const { acr, amr } = await idTokenAfter(browser, done);
      assert.deepEqual({ acr, amr }, { acr: 'phr', amr: ['pwd', 'pop', 'mfa'] });
      const security = await browser.get(at('/account/security'));
      assert.match(security.html, /With password and security key/);
      const removed = await press(browser, security, { remove_passkey: key.id });
      assert.match(removed.html, /The security key is removed/);
      assert.ok(!isSecond((await passwordOf(who)).page), 'nothing is left to ask for');
      const list = ['audit', 'list', '--subject', await subjectOf('kurt'), '--json'];
      const events = JSON.parse(await grantdPrints(server.folder, list));
      assert.deepEqual(
        events.flatMap(({ type, reason }: { type: string; reason: string }) =>
          /_factor_/.test(type) ? [`${type} ${reason}`] : [],
        ),
        ['person_factor_removed security_key', 'person_factor_added security_key'],
      );
    });

    test('NIST SP 800-63B §4.1.2.1 a user with a security key changes factors only after using it', async () => {
      const { who, browser: first } = await signedIn('kate');
      const key = new Authenticator(server.url);
      const form = passkeyFormOf(await first.get(at('/account/security')), 'add-security-key');
      const passkey = key.create(form.options, { isVerified: false });
      await first.post(form.action, { ...form.fields, passkey, passkey_name: 'U2F' });
      assert.match((await first.get(at('/account/security'))).html, /id="add-passkey"/, 'it was just used');
      await grantdPrints(server.folder, ['user', 'end-sessions', 'kate']);
      const { browser, page } = await passwordOf(who, at('/account/security'));
      assert.doesNotMatch(page.html, /id="add-passkey"|id="remove-passkey/);
      const { action, options, fields } = passkeyFormOf(page);
      const opened = await browser.post(action, {
        ...fields,
        passkey: key.get(options, { isVerified: false }),
      });
      assert.match(opened.html, /id="add-passkey"/);
    });

    test('a user sees the passkeys with their names and last use, and removes them; other browsers are signed out', async () => {
      const { browser } = await signedIn('mia');
      const { authenticator } = await addPasskey(browser, '  Phone <1>  ');
      await addPasskey(browser, '');
      const elsewhere = await signInByPasskey(authenticator);
      const page = await browser.get(at('/account/security'));
      assert.match(page.html, /<h3><bdi>Phone &lt;1&gt;<\/bdi><\/h3>/);
      assert.match(page.html, /last used just now/);
      assert.match(page.html, /never used/);
      assert.match(page.html, /On one device only/);
      const data = await browser.get(at('/account/data'));
      const exported = await browser.submit(data, { export_data: 'yes' });
      const { passkeys } = JSON.parse(exported.html);
      assert.deepEqual(
        passkeys.map(({ createdAt: _, lastUsedAt, ...rest }: Record<string, unknown>) => [
          rest,
          typeof lastUsedAt,
        ]),
        [
          [{ name: 'Phone <1>', isSecurityKey: false, isBackedUp: false }, 'string'],
          [{ name: 'Unknown browser', isSecurityKey: false, isBackedUp: false }, 'undefined'],
        ],
      );
      const elsewherePage = await browser.get(at('/account/security'));
      const removed = await press(browser, page, { remove_passkey: authenticator.id });
      assert.match(removed.html, /The passkey is removed, and all other browsers are signed out/);
      assert.ok(isLogin(await elsewhere.browser.get(at('/account'))));
      assert.match((await signInByPasskey(authenticator)).html, /cannot be used here/);
      assert.match(
        (await press(browser, elsewherePage, { remove_passkey: authenticator.id })).html,
        /Nothing has changed/,
        'from another window',
      );
    });

    test('session fixation at factor upgrade: a password alone opens nothing, and belongs to one browser and request', async () => {
      const { who, browser: first } = await signedIn('nina');
      const app = await addApp(first);
      const { browser, page } = await passwordOf(who);
      assert.ok(isLogin(await browser.get(at('/account'))), 'a half sign-in is no session');
      const elsewhere = await new Browser(server.url).get(page.url);
      assert.ok(isLogin(elsewhere), 'without its cookie');
      const other = await browser.get(urlWith({ state: 'another' }));
      assert.ok(isLogin(other));
      assert.ok(
        isLogin(await browser.get(other.url.replace('/login?', '/login/second?'))),
        'of another request',
      );

      const victim = new Browser(server.url);
      const { who: mallory, browser: mallorysFirst } = await signedIn('mallory');
      await addApp(mallorysFirst);
      const planted = await passwordOf(mallory);
      for (const [name, value] of planted.browser.cookies) victim.cookies.set(name, value);
      const seen = await victim.get(planted.page.url);
      assert.match(seen.html, /mallory/);
      const refused = await submitSecond(victim, seen, { code: app.code() });
      assert.equal(refused.status, 403, 'the code of one user does not finish the sign-in of another');
      assert.equal(victim.cookies.has('grantd_session'), false);
    });

    test('session fixation at factor upgrade: the session gets a new secret, and the earlier one is dead', async () => {
      const { who, browser: first } = await signedIn('olga');
      const before = first.cookies.get('grantd_session');
      const app = await addApp(first);
      assert.notEqual(first.cookies.get('grantd_session'), before, 'also by adding a factor');
      const { browser, page } = await passwordOf(who);
      await submitSecond(browser, page, { code: app.code() });
      const copied = new Browser(server.url);
      copied.cookies.set('grantd_session', before ?? '');
      assert.ok(isLogin(await copied.get(at('/account'))));
    });

    test('revoking all tokens of a user also ends their half sign-ins', async () => {
      const { who, browser: first } = await signedIn('noor');
      await idTokenAfter(first, await first.get(urlWith()));
      const app = await addApp(first);
      const { browser, page } = await passwordOf(who);
      assert.ok(isSecond(page));
      await grantdPrints(server.folder, ['token', 'revoke', '--user', 'noor']);
      const refused = await submitSecond(browser, page, { code: app.code() });
      assert.ok(isLogin(refused), refused.html);
      assert.equal(browser.cookies.has('grantd_session'), false);
    });

    test('a session from before the first factor is asked for it, and keeps its password', async () => {
      const { who, browser: other } = await signedIn('pia');
      const first = new Browser(server.url);
      await first.submit(await first.get(at('/account')), { ...who });
      const app = await addApp(first);
      const page = await other.get(at('/account'));
      assert.ok(isSecond(page));
      const before = other.cookies.get('grantd_session');
      const after = await submitSecond(other, page, { code: app.code() });
      assert.equal(after.url, at('/account'));
      assert.notEqual(other.cookies.get('grantd_session'), before);
    });

    test('OpenID Connect Core §3.1.2.1 acr_values asks only for what is missing', async () => {
      const { who, browser: first } = await signedIn('quin');
      const { authenticator } = await addPasskey(first);
      const app = await addApp(first);
      const { browser, page } = await passwordOf(who);
      const before = await idTokenAfter(browser, await submitSecond(browser, page, { code: app.code() }));
      assert.equal(before.acr, 'urn:grantd:acr:multi-factor');

      const same = await idTokenAfter(
        browser,
        await browser.get(urlWith({ acr_values: 'urn:grantd:acr:password' })),
      );
      assert.equal(same.acr, 'urn:grantd:acr:password', 'the class that was asked for');
      const strongest = urlWith({ acr_values: 'phr' });
      const silent = await browser.get(`${strongest}&prompt=none`);
      assert.equal(new URL(silent.url).searchParams.get('error'), 'login_required');
      const step = await browser.get(strongest);
      assert.ok(!isLogin(step) && isSecond(step));
      assert.doesNotMatch(step.html, /id="second-submit"/, 'a code does not reach it');
      const { action, options, fields } = passkeyFormOf(step);
      const after = await idTokenAfter(
        browser,
        await browser.post(action, { ...fields, passkey: authenticator.get(options) }),
      );
      assert.equal(after.acr, 'phr');
      assert.ok(!isSecond(await browser.get(strongest)), 'once is enough');
    });

    test('OpenID Connect Core §5.5.1.1 an essential class leads a user without a factor to one, and on to the client', async () => {
      const { who, browser } = await newPerson(server, 'rosa');
      const claims = JSON.stringify({
        id_token: { acr: { essential: true, values: ['urn:grantd:acr:multi-factor'] } },
      });
      const url = urlWith({ claims });
      const page = await browser.submit(await browser.get(url), { ...who });
      assert.match(page.url, /\/account\/security\?pending=/);
      assert.match(page.html, /id="factor-needed"/);
      const { action, options, fields } = passkeyFormOf(page);
      const authenticator = new Authenticator(server.url);
      const codes = await browser.post(action, {
        ...{ ...fields, passkey: authenticator.create(options), passkey_name: '' },
      });
      const { acr } = await idTokenAfter(browser, await browser.submit(codes, { act: 'codes_saved' }));
      assert.equal(acr, 'urn:grantd:acr:multi-factor');
      const silent = await new Browser(server.url).get(`${url}&prompt=none`);
      assert.equal(new URL(silent.url).searchParams.get('error'), 'login_required');
    });

    test('OpenID Connect Core §3.1.2.1 a class that a user cannot reach is a wish, unless it is essential', async () => {
      const { who, browser } = await newPerson(server, 'sam');
      const callback = await signInAndConsent(browser, urlWith({ acr_values: 'phr' }), who);
      const { id_token } = await redeem(server.url, pkce, callback);
      assert.equal(payloadOf(id_token).acr, 'urn:grantd:acr:password');
    });

    test('an old sign-in changes no factor', async () => {
      const { who, browser } = await signedIn('tess');
      const page = await browser.get(at('/account/security'));
      await database.run(
        server.folder,
        `UPDATE ${database.schema}sessions SET signed_in_at_ms = signed_in_at_ms - 601000 WHERE subject = '${await subjectOf('tess')}'`,
      );
      const refused = await press(browser, page, { act: 'offer_totp' });
      assert.ok(isLogin(refused));
      const old = await browser.get(at('/account/security'));
      assert.doesNotMatch(old.html, /id="add-totp"|id="add-passkey"/);
      const confirm = await press(browser, old, { act: 'confirm' });
      const fresh = await browser.submit(confirm, { ...who });
      assert.equal(fresh.url, at('/account/security'));
      assert.match(fresh.html, /id="add-totp"/);
    });

    test('reset-factors removes all factors, ends the sessions and revokes the tokens', async () => {
      const { who, browser } = await signedIn('una');
      const { authenticator } = await addPasskey(browser, 'Blue key');
      await addApp(browser);
      const page = await signInByPasskey(authenticator);
      const { tokens } = await idTokenAfter(page.browser, page);
      const shown = await grantdPrints(server.folder, ['user', 'show', 'una']);
      assert.match(shown, /^passkey [\w-]+ "Blue key": added .*, last used .*$/m);
      assert.match(shown, /^authenticator app: added /m);
      assert.match(shown, /^recovery codes: 10 unused$/m);
      assert.equal(
        await grantdPrints(server.folder, ['user', 'reset-factors', 'una']),
        'removed the passkeys, security keys, authenticator app and recovery codes of una, ended 2 sessions and revoked all their tokens',
      );
      assert.equal((await introspect(server.url, tokens.access_token)).active, false);
      for (const one of [browser, page.browser]) assert.ok(isLogin(await one.get(at('/account'))));
      assert.match((await signInByPasskey(authenticator)).html, /cannot be used here/);
      assert.equal((await browser.submit(await browser.get(at('/account')), { ...who })).url, at('/account'));
      assert.equal(
        await grantdPrints(server.folder, ['user', 'reset-factors', 'una']),
        'found no factors of una, ended 1 session and revoked all their tokens',
      );
      const events = JSON.parse(await grantdPrints(server.folder, ['events', 'list', '--json']));
      const subject = await subjectOf('una');
      const types = events.filter(({ target }: { target: string }) => target === subject);
      assert.deepEqual(
        types
          .map(({ type, actor }: { type: string; actor: string }) => `${type} ${actor}`)
          .filter((one: string) => one.includes('factor')),
        [
          `person_factor_added user:${subject}`,
          `person_factor_added user:${subject}`,
          'person_factors_reset cli',
        ],
      );
    });

    test('a removed user’s factors are removed, and so is their passkey', async () => {
      const { browser } = await signedIn('vera');
      const { authenticator } = await addPasskey(browser);
      await addApp(browser);
      const subject = await subjectOf('vera');
      await grantdPrints(server.folder, ['user', 'remove', 'vera', '--yes']);
      const left = await withDatabaseOf(server, ({ factors }) => factors.of(subject));
      assert.deepEqual(left, NO_FACTORS);
      assert.match((await signInByPasskey(authenticator)).html, /cannot be used here/);
    });

    test('a disabled user’s passkey opens nothing', async () => {
      const { browser } = await signedIn('wim');
      const { authenticator } = await addPasskey(browser);
      await grantdPrints(server.folder, ['user', 'disable', 'wim']);
      assert.match((await signInByPasskey(authenticator)).html, /This account is disabled/);
    });
  });
}
