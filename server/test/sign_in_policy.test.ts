import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import {
  acrOf,
  afterStep,
  amrShown,
  byRecovery,
  levelOf,
  METHODS,
  missingStep,
  NO_ACR,
  strictestOf,
} from '../src/access/acr.ts';
import { MULTI_FACTOR, PASSWORD, PHISHING_RESISTANT, rpIdOf, type SignInPolicy } from '../src/config/acr.ts';
import { Authenticator, passkeyFormOf } from './harness/authenticator.ts';
import { Browser, hiddenFields, isConsent, isLogin, type Page } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE, DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

for (const database of ANY_DATABASE) {
  describe(`the sign-in policy on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    test('phishing_resistant leads every user to a passkey, and then accepts nothing less', async () => {
      const flags = ['--demo', '--sign-in-policy', 'phishing_resistant'];
      const server = await workbench.start(await workbench.home(), flags);
      const { who, browser } = await newPerson(server, 'ada');
      const url = authorizationUrl(server.url, newPkce());
      const page = await browser.submit(await browser.get(url), { ...who });
      assert.match(page.url, /\/account\/security\?pending=/);
      assert.match(page.html, /id="factor-needed"/);
      const form = passkeyFormOf(page);
      const authenticator = new Authenticator(server.url);
      const passkey = authenticator.create(form.options);
      const codes = await browser.post(form.action, { ...form.fields, passkey, passkey_name: '' });
      assert.ok(isConsent(await browser.submit(codes, { act: 'codes_saved' })));

      const other = new Browser(server.url);
      const second = await other.submit(await other.get(url), { ...who });
      assert.match(second.url, /\/login\/second/);
      assert.doesNotMatch(second.html, /id="recovery-submit"|id="second-submit"/, 'no code is enough');
      const [recoveryCode = ''] = /<li><code>([^<]*)</.exec(codes.html)?.slice(1) ?? [];
      const fields = { ...hiddenFields(second), recovery_code: recoveryCode };
      assert.equal((await other.post(second.url, fields)).status, 403);
      const answer = passkeyFormOf(await other.get(second.url));
      const sent = { ...answer.fields, passkey: authenticator.get(answer.options) };
      assert.ok(isConsent(await other.post(answer.action, sent)));
      await server.stop();
    });

    test('password asks for no second factor, also of users who have one', async () => {
      const server = await workbench.start(await workbench.home(), [
        '--demo',
        '--sign-in-policy',
        'password',
      ]);
      const { who, browser } = await newPerson(server, 'bea');
      await browser.submit(await browser.get(`${server.url}/account`), { ...who });
      const form = passkeyFormOf(await browser.get(`${server.url}/account/security`));
      const passkey = new Authenticator(server.url).create(form.options);
      await browser.post(form.action, { ...form.fields, passkey, passkey_name: '' });
      const other = new Browser(server.url);
      const login = await other.get(authorizationUrl(server.url, newPkce()));
      assert.ok(isLogin(login));
      assert.ok(isConsent(await other.submit(login, { ...who })));
      await server.stop();
    });

    test('a policy that cannot be met is refused at the start, and names its option', async () => {
      const folder = await workbench.home();
      const policy = ['--sign-in-policy', 'phishing_resistant'];
      for (const [flags, expected] of [
        [
          ['--passkeys', 'false'],
          /--sign-in-policy: phishing_resistant needs passkeys, but --passkeys is off/,
        ],
        [
          ['--issuer', 'http://127.0.0.1:4000'],
          /--sign-in-policy: .* browsers offer no passkeys at the issuer http:\/\/127\.0\.0\.1:4000/,
        ],
        [['--issuer', 'https://[2001:db8::1]'], /--sign-in-policy: .*Use an https issuer with a host name/],
      ] as const) {
        for (const command of [
          ['serve', '--port', '0'],
          ['config', 'check'],
        ]) {
          const { code, stderr } = await grantd(folder, [...command, ...policy, ...flags]);
          assert.equal(code, 2, stderr);
          assert.match(stderr, expected);
        }
      }
      const { code } = await grantd(folder, ['config', 'check', ...policy]);
      assert.equal(code, 0);
    });
  });
}

for (const database of DATABASES) {
  describe(`the policies of clients and groups on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo', '--sign-in-policy', 'password']);
    });

    const at = (path: string) => `${server.url}${path}`;
    const request = (parameters = {}) => authorizationUrl(server.url, newPkce(), parameters);
    const prints = (...args: readonly string[]) => grantdPrints(server.folder, args);
    const pathOf = ({ url }: Page) => new URL(url).pathname;
    const isBack = ({ url }: Page) => url.startsWith('http://localhost:4001/callback');
    const silently = async (browser: Browser) =>
      new URL((await browser.get(request({ prompt: 'none' }))).url).searchParams.get('error');
    const signIn = async (browser: Browser, who: Readonly<Record<string, string>>) =>
      browser.submit(await browser.get(at('/account')), { ...who });
    const needed = (policy: string) => prints('client', 'update', 'demo-web', '--sign-in-policy', policy);
    const needsNothing = () => prints('client', 'update', 'demo-web', '--unset', 'sign-in-policy');

    /** Adds an app. @returns the next code, because each counts once. It is still accepted much later. */
    async function addApp(browser: Browser, page: Page): Promise<{ codes: Page; code: string }> {
      const action = page.url.replace('/security', '/factors');
      const offer = await browser.post(action, { ...hiddenFields(page), act: 'offer_totp' });
      const [, shown = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.html);
      const totp = new TOTP({ secret: Secret.fromBase32(shown.replaceAll(' ', '')) });
      const first = totp.generate();
      const codes = await browser.post(action, { ...hiddenFields(offer), act: 'confirm_totp', code: first });
      return { codes, code: totp.generate({ timestamp: Date.now() + 30_000 }) };
    }

    /** A user who has agreed to the client, and whose browser is signed in with a password. */
    async function agreed(name: string) {
      const { who, browser } = await newPerson(server, name);
      const consent = await browser.submit(await browser.get(request()), { ...who });
      assert.ok(isBack(await browser.submit(consent, { decision: 'allow' })));
      return { who, browser };
    }

    test('a client that needs a second factor makes a user without one add it, and others give only the missing step', async () => {
      const { who, browser } = await agreed('carl');
      assert.equal(await silently(browser), null);
      await needed('second_factor');
      assert.match(await prints('client', 'show', 'demo-web'), /^sign-in policy +second_factor$/m);
      // OpenID Connect Core §3.1.2.6: the user must interact, but is authenticated.
      assert.equal(await silently(browser), 'interaction_required');
      const enrolment = await browser.get(request());
      assert.match(enrolment.url, /\/account\/security\?pending=/);
      assert.match(enrolment.html, /id="factor-needed"/);
      const { codes, code } = await addApp(browser, enrolment);
      assert.ok(isBack(await browser.submit(codes, { act: 'codes_saved' })));
      assert.equal(await silently(browser), null);

      // The server itself asks for no second factor, so this session lacks only the step of the client.
      const other = new Browser(server.url);
      assert.equal(pathOf(await signIn(other, who)), '/account');
      assert.equal(await silently(other), 'login_required');
      const second = await other.get(request());
      assert.equal(pathOf(second), '/login/second');
      assert.ok(isBack(await other.submit(second, { code })));
      assert.equal(await silently(other), null);

      // A weaker wish of the request changes nothing.
      await needed('phishing_resistant');
      assert.equal(await silently(other), 'interaction_required');
      const passkeys = await other.get(request({ acr_values: 'urn:grantd:acr:password' }));
      assert.match(passkeys.url, /\/account\/security\?pending=/);
      await needsNothing();
      assert.equal(await silently(other), null);
    });

    test('second_factor_if_enrolled of a client asks only users who have a factor', async () => {
      const { who, browser } = await agreed('dina');
      await needed('second_factor_if_enrolled');
      assert.equal(await silently(browser), null);
      await addApp(browser, await browser.get(at('/account/security')));
      const other = new Browser(server.url);
      await signIn(other, who);
      assert.equal(await silently(other), 'login_required');
      await needsNothing();
      assert.equal(await silently(other), null);
    });

    test('the policy of a group holds for its members at every client, in sessions and for changes of factors', async () => {
      const { who, browser } = await agreed('emma');
      const { browser: stranger } = await agreed('finn');
      const { code } = await addApp(browser, await browser.get(at('/account/security')));
      const other = new Browser(server.url);
      await signIn(other, who);
      assert.equal(await silently(other), null);

      await prints('group', 'add', 'staff', '--sign-in-policy', 'second_factor');
      await prints('group', 'add-member', 'staff', 'emma');
      assert.equal(await silently(other), 'login_required');
      assert.equal(await silently(browser), null, 'it has used its app');
      assert.equal(await silently(stranger), null, 'it is no member');
      const second = await other.get(at('/account/security'));
      assert.equal(pathOf(second), '/login/second', 'nothing can be changed before');
      assert.equal(pathOf(await other.post(at('/account/factors'), { act: 'remove_totp' })), '/login/second');
      assert.equal(pathOf(await other.submit(second, { code })), '/account/security');

      await prints('group', 'update', 'staff', '--sign-in-policy', 'phishing_resistant');
      assert.equal(await silently(other), 'interaction_required');
      await prints('group', 'update', 'staff', '--no-sign-in-policy');
      assert.equal(await silently(other), null);
      await prints('group', 'update', 'staff', '--sign-in-policy', 'phishing_resistant');
      await prints('group', 'remove-member', 'staff', 'emma');
      assert.equal(await silently(other), null, 'it has left the group');
    });

    test('OpenID Connect Core §3.1.2.1 a user who cannot reach the desired class is asked for the strongest one that they can reach', async () => {
      const { who, browser } = await agreed('hugo');
      const strongest = request({ acr_values: 'phr' });
      assert.ok(isBack(await browser.get(strongest)), 'a user without a factor is asked for nothing');
      const { code } = await addApp(browser, await browser.get(at('/account/security')));
      const other = new Browser(server.url);
      await signIn(other, who);
      assert.equal(await silently(other), null, 'the policy alone needs no factor');
      const second = await other.get(strongest);
      assert.equal(pathOf(second), '/login/second');
      assert.ok(isBack(await other.submit(second, { code })));
      assert.ok(isBack(await other.get(strongest)), 'once is enough');
    });

    test('a refused policy names the reason, and changes nothing', async () => {
      const withoutPasskeys = { environment: { GRANTD_PASSKEYS: 'false' } };
      const refused = /--sign-in-policy: phishing_resistant needs passkeys, but --passkeys is off/;
      for (const [args, reason, more] of [
        [['group', 'add', 'rest', '--sign-in-policy', 'phishing_resistant'], refused, withoutPasskeys],
        [
          ['client', 'update', 'demo-web', '--sign-in-policy', 'phishing_resistant'],
          refused,
          withoutPasskeys,
        ],
        [
          ['client', 'update', 'demo-web', '--sign-in-policy', 'password'],
          /one of second_factor_if_enrolled, /,
        ],
        [
          ['group', 'add', 'rest', '--sign-in-policy', 'password'],
          /second_factor_if_enrolled, second_factor/,
        ],
        [['group', 'update', 'staff'], /--description, --sign-in-policy or --no-sign-in-policy/],
      ] as const) {
        const { code, stderr } = await grantd(server.folder, args, more);
        assert.equal(code, 2, stderr);
        assert.match(stderr, reason);
      }
      assert.doesNotMatch(await prints('group', 'list'), /rest/);
      assert.equal(
        JSON.parse(await prints('client', 'show', 'demo-web', '--json')).sign_in_policy,
        undefined,
      );
    });
  });
}

test('a policy that needs passkeys fails closed at a server without passkeys', async (t) => {
  const [database] = DATABASES;
  assert.ok(database);
  const workbench = new Workbench(database);
  t.after(() => workbench.clear());
  const server = await workbench.start(await workbench.home(), ['--demo', '--passkeys', 'false']);
  const { who, browser } = await newPerson(server, 'gail');
  await grantdPrints(server.folder, [
    'client',
    'update',
    'demo-web',
    '--sign-in-policy',
    'phishing_resistant',
  ]);
  const { url } = await browser.submit(await browser.get(authorizationUrl(server.url, newPkce())), {
    ...who,
  });
  assert.equal(new URL(url).searchParams.get('error'), 'unmet_authentication_requirements');
});

describe('what a sign-in lacks', () => {
  const POLICIES: readonly SignInPolicy[] = [
    ...(['password', 'second_factor_if_enrolled', 'second_factor', 'phishing_resistant'] as const),
  ];
  const LEVELS = [PASSWORD, MULTI_FACTOR, PHISHING_RESISTANT] as const;

  test('of several policies the strictest holds, whichever it is', () => {
    for (const [at, one] of POLICIES.entries())
      for (const [other, another] of POLICIES.entries())
        assert.equal(strictestOf(one, another), POLICIES[Math.max(at, other)]);
    assert.equal(strictestOf('password', 'phishing_resistant', 'second_factor'), 'phishing_resistant');
  });

  test('a step never asks for less than the user has done, and one that is done lacks nothing', () => {
    for (const policy of POLICIES)
      for (const level of LEVELS)
        for (const reachable of LEVELS) {
          const step = missingStep(policy, NO_ACR, { level, reachable, highest: PHISHING_RESISTANT });
          if (step?.step === 'second') assert.ok(step.level > level && step.level <= reachable);
          if (level === PHISHING_RESISTANT) assert.equal(step, undefined);
        }
  });

  test('each policy asks for what its name says', () => {
    const table = POLICIES.map((policy) =>
      LEVELS.map((reachable) => {
        const missing = missingStep(policy, NO_ACR, { level: PASSWORD, reachable, highest: 3 });
        return missing === undefined
          ? '-'
          : missing.step === 'second'
            ? `second ${missing.level}`
            : missing.step;
      }),
    );
    assert.deepEqual(table, [
      ['-', '-', '-'],
      ['-', 'second 2', 'second 2'],
      ['enrol', 'second 2', 'second 2'],
      ['enrol', 'second 2', 'second 3'],
    ]);
  });

  test('a class that the server cannot reach is unmet if it is essential, and a wish otherwise', () => {
    const levels = { level: PASSWORD, reachable: PASSWORD, highest: MULTI_FACTOR };
    const essential = { required: ['phr'], desired: [] };
    assert.deepEqual(missingStep('password', essential, levels), { step: 'unmet' });
    assert.equal(missingStep('password', { required: [], desired: ['phr'] }, levels), undefined);
    assert.equal(missingStep('password', { required: ['other'], desired: ['other'] }, levels), undefined);
  });

  test('acr is the first requested class that is met, else the strongest', () => {
    const passkey = METHODS.passkey;
    assert.equal(levelOf(passkey), PHISHING_RESISTANT);
    assert.equal(acrOf(passkey), 'phr');
    assert.equal(
      acrOf(passkey, ['other', 'urn:grantd:acr:multi-factor', 'phr']),
      'urn:grantd:acr:multi-factor',
    );
    assert.equal(acrOf(METHODS.password, ['phr']), 'urn:grantd:acr:password');
  });

  test('RFC 8176 §2 a key without user verification is phishing-resistant only after something else', () => {
    assert.equal(levelOf(['pop']), PASSWORD);
    assert.equal(levelOf(METHODS.securityKey), MULTI_FACTOR);
    assert.equal(levelOf(['pop', 'pwd', 'fed', ...METHODS.securityKey]), PHISHING_RESISTANT);
    assert.equal(
      levelOf(['pwd', 'pop', 'user', 'fed', ...METHODS.code]),
      MULTI_FACTOR,
      'not the provider’s key',
    );
    const withKey = afterStep(METHODS.password, METHODS.securityKey);
    assert.deepEqual([withKey, acrOf(withKey)], [['pwd', 'pop', 'mfa'], 'phr']);
    const afterRecovery = afterStep([...METHODS.password, ...byRecovery(METHODS.code)], METHODS.securityKey);
    assert.deepEqual([afterRecovery, levelOf(afterRecovery)], [withKey, PHISHING_RESISTANT]);
    const waiting = afterStep(METHODS.password, byRecovery(METHODS.securityKey));
    assert.deepEqual([levelOf(waiting), amrShown(waiting)], [MULTI_FACTOR, ['pwd', 'mfa']]);
    const withoutPassword = afterStep(byRecovery(METHODS.passkey), METHODS.securityKey);
    assert.equal(levelOf(withoutPassword), MULTI_FACTOR, 'a key follows no passkey that waits');
  });

  test('methods that another provider passes on count for nothing here, and those of later steps do', () => {
    const passed = ['pwd', 'pop', 'user', 'otp', 'mfa', 'fed'];
    assert.deepEqual(
      [levelOf(passed), acrOf(passed), acrOf(passed, ['phr'])],
      [PASSWORD, undefined, undefined],
    );
    const withCode = afterStep(passed, METHODS.code);
    assert.deepEqual(withCode, ['pwd', 'pop', 'user', 'fed', 'otp', 'mfa']);
    assert.deepEqual([levelOf(withCode), acrOf(withCode)], [MULTI_FACTOR, 'urn:grantd:acr:multi-factor']);
    assert.equal(levelOf(afterStep(withCode, METHODS.passkey)), PHISHING_RESISTANT);
    assert.deepEqual(amrShown(withCode), withCode, 'tokens say what counts, as sessions do');
    assert.deepEqual(amrShown(METHODS.code), METHODS.code);
  });

  test('WebAuthn §4 the RP ID is the host of the issuer, where browsers offer passkeys', () => {
    const of = (issuer: string, passkeys = true) => rpIdOf({ passkeys }, issuer);
    assert.equal(of('https://id.example/tenant'), 'id.example');
    assert.equal(of('http://localhost:4000'), 'localhost');
    for (const issuer of ['http://id.example', 'https://192.0.2.1', 'https://[::1]', 'http://127.0.0.1:4000'])
      assert.equal(of(issuer), undefined, issuer);
    assert.equal(of('https://id.example', false), undefined);
  });
});
