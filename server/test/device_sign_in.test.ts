// Every way in which a user who is not signed in comes to a device's request, and back with the same code. § refers to RFC 8628.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { Authenticator, passkeyFormOf } from './harness/authenticator.ts';
import { Browser, hiddenFields, isConsent, isLogin, type Page, unescaped } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import {
  COMMAND_LINE,
  type Codes,
  deviceCodes,
  enterCode,
  isCodeEntry,
  pollDevice,
} from './harness/devices.ts';
import { ACCOUNT, DirectoryServer, passwordOf, SUFFIX } from './harness/directory_server.ts';
import { IdentityProvider } from './harness/identity_provider.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { payloadOf } from './harness/protocol.ts';
import { serverCertificate } from './harness/tls.ts';
import { press } from './harness/upstream.ts';

const STEP_MS = 30_000;

/** From the sign-in page to the page that follows the sign-in. */
type SignIn = (browser: Browser, login: Page) => Promise<Page>;

for (const database of ANY_DATABASE) {
  describe(`ways to the page for codes of devices on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    let directory: DirectoryServer;
    let company: IdentityProvider;
    let server: RunningServer;
    before(async () => {
      const certificate = await serverCertificate();
      directory = await new DirectoryServer({ implicit: certificate }).start();
      company = await IdentityProvider.open();
      const folder = await workbench.home();
      writeFileSync(join(folder, 'ca.pem'), certificate.pem.cert);
      writeFileSync(join(folder, 'password'), `${ACCOUNT.password}\n`, { mode: 0o600 });
      const provider = { client_id: 'login', client_secret: { env: 'PROVIDER_SECRET' }, create_users: true };
      writeFileSync(
        join(folder, 'providers.json'),
        JSON.stringify({ company: { ...provider, name: 'Company', issuer: company.url } }),
      );
      const options = {
        ldapUrl: [`ldaps://localhost:${directory.port}`],
        ldapCa: 'ca.pem',
        ldapBindDn: ACCOUNT.dn,
        ldapBindPasswordFile: 'password',
        ldapBase: `ou=people,${SUFFIX}`,
        ldapFilter: '(uid={username})',
        providers: 'providers.json',
        signInPolicy: 'password',
      };
      writeFileSync(join(folder, 'grantd.json'), JSON.stringify(options));
      const secret = { PROVIDER_SECRET: 'the secret of the client at the provider' };
      server = await workbench.start(folder, ['--demo', '--config', 'grantd.json'], secret);
      await prints('client', 'add', 'cli', ...COMMAND_LINE);
      await prints('client', 'add', 'strict', ...COMMAND_LINE, '--sign-in-policy', 'second_factor');
      await prints('client', 'add', 'strictest', ...COMMAND_LINE, '--sign-in-policy', 'phishing_resistant');
    });
    after(async () => {
      await workbench.clear();
      await Promise.all([directory?.stop(), company?.close()]);
    });

    const prints = (...args: readonly string[]) => grantdPrints(server.folder, args);
    const at = (path: string) => `${server.url}${path}`;
    const pathOf = ({ url }: Page) => new URL(url).pathname;

    /** A user whose browser is signed in, to add factors. */
    async function signedIn(name: string) {
      const { who, browser } = await newPerson(server, name);
      await browser.submit(await browser.get(at('/account')), { ...who });
      return { who, browser, withPassword: (other: Browser, login: Page) => other.submit(login, { ...who }) };
    }

    async function addPasskey(browser: Browser, page?: Page) {
      const authenticator = new Authenticator(server.url);
      const form = passkeyFormOf(page ?? (await browser.get(at('/account/security'))));
      const passkey = authenticator.create(form.options);
      const codes = await browser.post(form.action, { ...form.fields, passkey, passkey_name: '' });
      return { authenticator, codes };
    }

    /** Adds an authenticator app. @returns codes for the present and other time steps */
    async function addApp(browser: Browser, page?: Page) {
      const security = page ?? (await browser.get(at('/account/security')));
      const action = security.url.replace('/security', '/factors');
      const offer = await browser.post(action, { ...hiddenFields(security), act: 'offer_totp' });
      const [, shown = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.html);
      const totp = new TOTP({ secret: Secret.fromBase32(shown.replaceAll(' ', '')) });
      const code = (steps = 0) => totp.generate({ timestamp: Date.now() + steps * STEP_MS });
      const fields = { ...hiddenFields(offer), act: 'confirm_totp', code: code(-1) };
      return { code, codes: await browser.post(action, fields) };
    }

    const byPasskey =
      (authenticator: Authenticator): SignIn =>
      (browser, page) => {
        const { action, options, fields } = passkeyFormOf(page);
        return browser.post(action, { ...fields, passkey: authenticator.get(options) });
      };

    async function consentTo(browser: Browser, entry: Page, given: Codes): Promise<Page> {
      const consent = await enterCode(browser, entry, given);
      assert.ok(isConsent(consent), `${consent.url} ${consent.html}`);
      return consent;
    }

    /** Allows access. @returns how the user has signed in, as the device learns it */
    async function allowed(browser: Browser, consent: Page, given: Codes, clientId = 'cli') {
      const done = await browser.submit(consent, { decision: 'allow' });
      assert.equal(pathOf(done), '/device/approved', done.html);
      const { id_token, error } = await pollDevice(server, given, clientId);
      assert.equal(error, undefined);
      const { amr, acr } = payloadOf(id_token);
      return { amr, acr };
    }

    /** Each prepares a user, and says how its session begins. */
    const WAYS: readonly (readonly [title: string, amr: readonly string[], () => Promise<SignIn>])[] = [
      [
        '§3.3 a user signs in with a passkey on the way, and is back at the page with the code',
        ['pop', 'user', 'mfa'],
        async () => byPasskey((await addPasskey((await signedIn('ada')).browser)).authenticator),
      ],
      [
        '§3.3 a user signs in at a provider on the way, and is back at the page with the code',
        ['fed'],
        async () => async (browser, login) => {
          const left = await press(browser, login, 'provider-company');
          const claims = { sub: 'bea-1', preferred_username: 'bea', name: 'Bea' };
          return browser.get(company.answer(left.url, claims).href);
        },
      ],
      [
        '§3.3 a user of a directory signs in on the way, and is back at the page with the code',
        ['pwd'],
        async () => {
          directory.addPerson('cora', { cn: 'Cora' });
          return (browser, login) =>
            browser.submit(login, { username: 'cora', password: passwordOf('cora') });
        },
      ],
    ];

    for (const [title, amr, prepare] of WAYS)
      test(title, async () => {
        const signIn = await prepare();
        for (const link of ['verification_uri', 'verification_uri_complete'] as const) {
          const given = await deviceCodes(server);
          const browser = new Browser(server.url);
          const login = await browser.get(given[link]);
          assert.ok(isLogin(login), login.html);
          assert.match(login.html, /to connect a device/);
          const entry = await signIn(browser, login);
          assert.ok(isCodeEntry(entry), `${entry.url} ${entry.html}`);
          const [, typed = ''] = /id="user-code"[^>]* value="([^"]*)"/.exec(entry.html) ?? [];
          assert.equal(unescaped(typed), link === 'verification_uri' ? '' : given.user_code);
          const consent = await consentTo(browser, entry, given);
          assert.deepEqual((await allowed(browser, consent, given)).amr, amr);
        }
      });

    test('a client that needs a second factor gets it after the code, and the request goes on', async () => {
      const { browser: own, withPassword } = await signedIn('dan');
      const { code } = await addApp(own);
      const given = await deviceCodes(server, { client_id: 'strict' });
      const browser = new Browser(server.url);
      const entry = await withPassword(browser, await browser.get(given.verification_uri_complete));
      // The page itself needs no more than a password here.
      const second = await enterCode(browser, entry, given);
      assert.equal(pathOf(second), '/login/second');
      const consent = await browser.submit(second, { code: code() });
      assert.ok(isConsent(consent), consent.html);
      assert.match(consent.html, /id="device-warning"/);
      assert.deepEqual(await allowed(browser, consent, given, 'strict'), {
        amr: ['pwd', 'otp', 'mfa'],
        acr: 'urn:grantd:acr:multi-factor',
      });

      // An app is not enough for a client that needs a passkey, and a passkey then is.
      const { authenticator } = await addPasskey(own);
      const strictest = await deviceCodes(server, { client_id: 'strictest' });
      const again = await browser.get(strictest.verification_uri);
      const asked = await enterCode(browser, again, strictest);
      assert.equal(pathOf(asked), '/login/second');
      const confirmed = await byPasskey(authenticator)(browser, asked);
      assert.ok(isConsent(confirmed), confirmed.html);
      assert.equal((await allowed(browser, confirmed, strictest, 'strictest')).acr, 'phr');
    });

    test('a user without the factor that the client needs adds it on the way', async () => {
      for (const [clientId, add] of [
        ['strict', addApp],
        ['strictest', addPasskey],
      ] as const) {
        const { browser } = await signedIn(`eve-${clientId}`);
        const given = await deviceCodes(server, { client_id: clientId });
        const enrolment = await enterCode(browser, await browser.get(given.verification_uri), given);
        assert.equal(pathOf(enrolment), '/account/security', enrolment.html);
        const { codes } = await add(browser, enrolment);
        const consent = await browser.submit(codes, { act: 'codes_saved' });
        assert.ok(isConsent(consent), `${consent.url} ${consent.html}`);
        await allowed(browser, consent, given, clientId);
      }
    });

    test('the policy of a group, and the class that a device requests, lead through a second step', async () => {
      const { who, browser: own, withPassword } = await signedIn('fay');
      const { code } = await addApp(own);
      const given = await deviceCodes(server, { acr_values: 'urn:grantd:acr:multi-factor' });
      const browser = new Browser(server.url);
      const entry = await withPassword(browser, await browser.get(given.verification_uri));
      const second = await enterCode(browser, entry, given);
      assert.equal(pathOf(second), '/login/second');
      await allowed(browser, await browser.submit(second, { code: code() }), given);

      await prints('group', 'add', 'staff', '--sign-in-policy', 'second_factor');
      await prints('group', 'add-member', 'staff', who.username);
      const later = await deviceCodes(server);
      const other = new Browser(server.url);
      const step = await withPassword(other, await other.get(later.verification_uri_complete));
      assert.equal(pathOf(step), '/login/second');
      const back = await other.submit(step, { code: code(1) });
      await allowed(other, await consentTo(other, back, later), later);
    });

    test('a device that needs a new sign-in asks an old session for it after the code', async () => {
      const { browser, withPassword } = await signedIn('gil');
      const given = await deviceCodes(server, { max_age: '0' });
      const login = await enterCode(browser, await browser.get(given.verification_uri), given);
      assert.ok(isLogin(login), login.html);
      const consent = await withPassword(browser, login);
      assert.ok(isConsent(consent), consent.html);
      await allowed(browser, consent, given);

      // There, a user can also give up.
      const cancelled = await deviceCodes(server, { max_age: '0' });
      const page = await enterCode(browser, await browser.get(cancelled.verification_uri), cancelled);
      const denied = await press(browser, page, 'login-cancel');
      assert.equal(pathOf(denied), '/device/denied', denied.html);
      assert.equal((await pollDevice(server, cancelled)).error, 'access_denied');
    });

    test('a session that has ended meanwhile costs no code: after another sign-in it is filled in', async () => {
      const { browser, withPassword } = await signedIn('kim');
      const given = await deviceCodes(server);
      const entry = await browser.get(given.verification_uri);
      await browser.submit(await browser.get(at('/logout')), { decision: 'yes' });
      const login = await enterCode(browser, entry, given);
      assert.ok(isLogin(login), login.html);
      const again = await withPassword(browser, login);
      assert.match(again.html, new RegExp(`value="${given.user_code}"`));
      await allowed(browser, await consentTo(browser, again, given), given);
    });

    test('another user can take over at the confirmation, and the device gets tokens of that user', async () => {
      const { browser } = await signedIn('hal');
      const { who } = await newPerson(server, 'ida');
      const given = await deviceCodes(server);
      const consent = await consentTo(browser, await browser.get(given.verification_uri), given);
      const [, change = ''] = /id="change-person" href="([^"]*)"/.exec(consent.html) ?? [];
      const login = await browser.get(new URL(unescaped(change), consent.url).href);
      const other = await browser.submit(login, { ...who });
      assert.match(other.html, /ida/);
      await browser.submit(other, { decision: 'allow' });
      const { id_token } = await pollDevice(server, given);
      const shown = JSON.parse(await prints('user', 'show', 'ida', '--json'));
      assert.equal(payloadOf(id_token).sub, shown.sub);
    });
  });
}
