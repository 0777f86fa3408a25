import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { MULTI_FACTOR, PASSWORD, PHISHING_RESISTANT, rpIdOf } from '../src/config/acr.ts';
import {
  acrOf,
  afterStep,
  amrShown,
  levelOf,
  METHODS,
  missingStep,
  NO_ACR,
  type SignInPolicy,
} from '../src/people/acr.ts';
import { Authenticator, passkeyFormOf } from './harness/authenticator.ts';
import { Browser, hiddenFields, isConsent, isLogin } from './harness/browser.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { grantd, Workbench } from './harness/program.ts';
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
      const [, next = ''] = /id="continue" class="[^"]*" href="([^"]*)"/.exec(codes.html) ?? [];
      assert.ok(isConsent(await browser.get(new URL(next, server.url).href)));

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

describe('what a sign-in lacks', () => {
  const POLICIES: readonly SignInPolicy[] = [
    ...(['password', 'second_factor_if_enrolled', 'second_factor', 'phishing_resistant'] as const),
  ];
  const LEVELS = [PASSWORD, MULTI_FACTOR, PHISHING_RESISTANT] as const;

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

  test('RFC 8176 §2 a key without user verification is not phishing-resistant', () => {
    assert.equal(levelOf(['pop']), PASSWORD);
    assert.equal(levelOf(['pwd', 'pop', 'mfa']), MULTI_FACTOR);
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
    assert.deepEqual(amrShown(withCode), ['fed', 'pwd', 'pop', 'user', 'otp', 'mfa']);
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
