import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { acrOf, afterStep, amrShown, byRecovery, levelOf, METHODS } from '../src/access/acr.ts';
import { MULTI_FACTOR, PASSWORD, PHISHING_RESISTANT } from '../src/config/acr.ts';
import {
  ACCOUNT_CHANGES,
  type AccountChange,
  type AccountHas,
  missingForChange,
} from '../src/people/account_changes.ts';
import { Authenticator, passkeyFormOf } from './harness/authenticator.ts';
import { Browser, type Credentials, hiddenFields, isConsent, type Page } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce, payloadOf, redeem } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

/** A user who has a browser in which they have signed in. */
function accountOf(server: RunningServer) {
  const at = (path: string) => `${server.url}${path}`;
  const press = async (browser: Browser, page: Page, fields: Readonly<Record<string, string>>) =>
    browser.post(at('/account/factors'), { ...hiddenFields(page), ...fields });
  return {
    at,
    press,
    async signedIn(name: string) {
      const { who, browser } = await newPerson(server, name);
      await browser.submit(await browser.get(at('/account')), { ...who });
      return { who, browser };
    },
    async signIn({ username, password }: Credentials) {
      const browser = new Browser(server.url);
      return {
        browser,
        page: await browser.submit(await browser.get(at('/account')), { username, password }),
      };
    },
    async addApp(browser: Browser) {
      const offer = await press(browser, await browser.get(at('/account/security')), { act: 'offer_totp' });
      const [, shown = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.html);
      const totp = new TOTP({ secret: Secret.fromBase32(shown.replaceAll(' ', '')) });
      // An app that is ahead is accepted, so the next code is a second one, also if the test takes long.
      const first = totp.generate();
      const codes = await press(browser, offer, { act: 'confirm_totp', code: first });
      return {
        code: () => totp.generate({ timestamp: Date.now() + 30_000 }),
        recoveryCodes: [...codes.html.matchAll(/<li><code>([^<]*)<\/code>/g)].map(([, code = '']) => code),
      };
    },
    async addPasskey(browser: Browser) {
      const authenticator = new Authenticator(server.url);
      const { action, options, fields } = passkeyFormOf(await browser.get(at('/account/security')));
      const page = await browser.post(action, { ...fields, passkey: authenticator.create(options) });
      return { authenticator, page };
    },
    async factorsOf(name: string) {
      return withDatabaseOf(server, async ({ people, factors }) =>
        factors.of((await people.byName(name))?.subject ?? assert.fail(name)),
      );
    },
  };
}

/** Every combination of what a user can have. */
function* everythingToHave(): Generator<AccountHas> {
  for (const passkeys of [0, 1])
    for (const passkeyCounts of passkeys === 0 ? [false] : [false, true])
      for (const hasTotp of [false, true])
        for (const totpCounts of hasTotp ? [false, true] : [false])
          for (const recoveryCodes of [0, 9])
            for (const hasPassword of [false, true])
              for (const heldLevel of [PASSWORD, MULTI_FACTOR, PHISHING_RESISTANT])
                yield { passkeys, passkeyCounts, hasTotp, totpCounts, recoveryCodes, hasPassword, heldLevel };
}

/** What a user can have shown. `level` is written down here, and not asked of the code. */
const SHOWN: readonly { readonly amr: readonly string[]; readonly level: number }[] = [
  { amr: ['pwd'], level: 1 },
  { amr: ['fed'], level: 1 },
  { amr: ['mfa', 'hwk', 'pop', 'user', 'fed'], level: 1 },
  { amr: ['pwd', 'otp', 'mfa'], level: 2 },
  { amr: ['fed', 'otp', 'mfa'], level: 2 },
  { amr: ['pop', 'user', 'mfa'], level: 3 },
  { amr: ['pwd', 'pop', 'user', 'mfa'], level: 3 },
  { amr: ['fed', 'pop', 'user', 'mfa'], level: 3 },
  // With a recovery code, or with a factor that was added with one.
  { amr: ['pwd', 'otp', 'mfa', 'recovery'], level: 0 },
  { amr: ['pop', 'user', 'mfa', 'recovery'], level: 0 },
  { amr: ['pwd', 'otp', 'pop', 'user', 'mfa', 'recovery'], level: 0 },
];

const API = 'http://localhost:4003';
const TEN_MINUTES_MS = 600_000;
const CHANGES = Object.keys(ACCOUNT_CHANGES) as readonly AccountChange[];
const ASKS_PASSWORD: ReadonlySet<string> = new Set(['password', 'email_link', 'removal']);

describe('what a change of an account needs', () => {
  test('NIST SP 800-63B §4.1.2.1 every change, by what the user has, has shown, and when', () => {
    let cases = 0;
    for (const has of everythingToHave()) {
      const counting = has.passkeyCounts ? 3 : has.totpCounts ? 2 : 1;
      const needed = Math.max(counting, has.heldLevel);
      for (const { amr, level } of SHOWN)
        for (const ageMs of [0, TEN_MINUTES_MS, TEN_MINUTES_MS + 1, 8 * 60 * TEN_MINUTES_MS])
          for (const change of CHANGES) {
            const missing = missingForChange(change, has, { amr, ageMs });
            const isRecent = ageMs <= TEN_MINUTES_MS;
            const isEnough = level === 0 ? change === 'factors' : level >= needed;
            // A user without a factor types the password into the form itself.
            const isTyped = ASKS_PASSWORD.has(change) && has.hasPassword && needed === 1;
            const isAllowed = isEnough && (isRecent || isTyped);
            const about = JSON.stringify({ change, has, amr, ageMs, missing });
            assert.equal(missing === undefined, isAllowed, about);
            cases += 1;
            if (missing === undefined) continue;
            const waits = [
              ...(has.passkeyCounts ? [] : [has.passkeys]),
              has.hasTotp && !has.totpCounts ? 1 : 0,
            ];
            const canRecover = change === 'factors' && [has.recoveryCodes, ...waits].some((one) => one > 0);
            const isStuck = !isEnough && counting < needed && !canRecover;
            assert.equal(missing.step === 'wait', isStuck, about);
            if (missing.step !== 'second') continue;
            // The step that the pages ask for leads on.
            assert.equal(missing.level, needed, about);
            assert.equal(missing.takesRecovery, change === 'factors', about);
            const step = counting === 3 ? METHODS.passkey : counting === 2 ? METHODS.code : undefined;
            const methods = counting < needed ? byRecovery(METHODS.code) : (step ?? assert.fail(about));
            assert.equal(
              missingForChange(change, has, { amr: afterStep(amr, methods), ageMs }),
              undefined,
              about,
            );
          }
    }
    assert.ok(cases > 30_000, String(cases));
  });

  test('a factor that counts replaces one that rests on a recovery code', () => {
    const recovered = ['pwd', 'pop', 'user', 'mfa', 'recovery'];
    assert.deepEqual(afterStep(recovered, METHODS.code), ['pwd', 'otp', 'mfa']);
    assert.equal(levelOf(recovered), MULTI_FACTOR);
    assert.equal(acrOf(recovered, ['phr']), 'urn:grantd:acr:multi-factor');
    assert.deepEqual(amrShown(recovered), ['pwd', 'mfa']);
    assert.deepEqual(amrShown(['recovery', 'fed', 'otp', 'mfa']), ['fed', 'otp', 'mfa']);
    const passedOn = ['otp', 'mfa', 'fed', ...byRecovery(METHODS.code)];
    assert.deepEqual(afterStep(passedOn, ['pop']), ['otp', 'mfa', 'fed', 'pop']);
  });
});

for (const database of ANY_DATABASE) {
  describe(`changes of an account on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    test('with the policy password, a password alone removes no authenticator app', async () => {
      const server = await workbench.start(await workbench.home(), [
        '--demo',
        '--sign-in-policy',
        'password',
      ]);
      const { signedIn, signIn, addApp, press, at, factorsOf } = accountOf(server);
      const { who, browser } = await signedIn('ada');
      await addApp(browser);
      const { browser: thief } = await signIn(who);
      const security = await thief.get(at('/account/security'));
      assert.doesNotMatch(security.html, /id="remove-totp"/);
      const answer = await press(thief, security, { act: 'remove_totp' });
      assert.match(answer.url, /\/login\/second\?/);
      assert.equal((await factorsOf('ada')).hasTotp, true);
      await server.stop();
    });

    test('a code of an app adds no passkey to the account of a user who has one', async () => {
      const server = await workbench.start(await workbench.home(), ['--demo']);
      const { signedIn, signIn, addApp, addPasskey, press, at, factorsOf } = accountOf(server);
      const { who, browser } = await signedIn('bea');
      const { code } = await addApp(browser);
      await addPasskey(browser);
      const { browser: thief, page } = await signIn(who);
      await thief.post(page.url, { ...hiddenFields(page), code: code() });
      const security = await thief.get(at('/account/security'));
      assert.doesNotMatch(security.html, /id="add-passkey"/);
      await press(thief, security, { act: 'remove_totp' });
      const { passkeys, hasTotp } = await factorsOf('bea');
      assert.deepEqual({ passkeys, hasTotp }, { passkeys: 1, hasTotp: true });
      await server.stop();
    });

    const SECURITY = '/account/security';
    const NEW_PASSWORD = 'a staple that is correct';

    /** Moves times of the database, such as that of a sign-in, into the past. */
    const age = (server: RunningServer, table: string, column: string, subject: string) =>
      database.run(
        server.folder,
        `UPDATE ${database.schema}${table} SET ${column} = ${column} - 90000000 WHERE subject = '${subject}'`,
      );

    test('every form of the account pages that changes something needs every factor, recently', async () => {
      const folder = await workbench.home();
      const provider = { client_id: 'c', client_secret: { env: 'PROVIDER_SECRET' } };
      const providers = { closed: { ...provider, name: 'Closed', issuer: 'http://127.0.0.1:9' } };
      writeFileSync(join(folder, 'providers.json'), JSON.stringify(providers));
      const tokens = ['--personal-tokens', '--personal-token-apis', API];
      const flags = ['--demo', '--sign-in-policy', 'password', '--providers', 'providers.json', ...tokens];
      const server = await workbench.start(folder, flags, { PROVIDER_SECRET: 'secret' });
      const { signedIn, signIn, addApp, addPasskey, at } = accountOf(server);
      const { who, browser } = await signedIn('cleo');
      await addApp(browser);
      const { authenticator } = await addPasskey(browser);

      const { password: current_password } = who;
      const { subject, passkeyId, linkId } = await withDatabaseOf(server, async (open) => {
        const { subject } = (await open.people.byName('cleo')) ?? assert.fail('cleo');
        const [passkey] = await open.factors.passkeysOf(subject);
        const identity = {
          provider: 'closed',
          upstreamIssuer: 'http://127.0.0.1:9',
          upstreamSub: '1',
          label: 'c',
        };
        const link = await open.upstreamIdentities.link(identity, subject, 1);
        return { subject, passkeyId: passkey?.id ?? '', linkId: link?.id ?? '' };
      });
      /** By route, what its forms send. `undefined`: only what a session alone may do. */
      const forms: Readonly<Record<string, readonly Readonly<Record<string, string>>[] | undefined>> = {
        '/account': undefined,
        '/account/sessions': undefined,
        '/account/applications': undefined,
        '/account/security': [{ current_password, new_password: NEW_PASSWORD }],
        '/account/factors': [
          { act: 'offer_totp' },
          { act: 'confirm_totp', totp_offer: '', code: '000000' },
          { act: 'remove_totp' },
          { act: 'recovery_codes' },
          { passkey: '{}', passkey_challenge: '' },
          { remove_passkey: passkeyId },
        ],
        '/account/tokens': [
          { name: 'x', api: API, scope: 'api:read', lifetime: '60' },
          { name: 'x', api: API, scope: 'api:read', lifetime: '60', end_token: '' },
          { saved: 'x' },
        ],
        '/account/data': [{ export_data: 'yes' }, { confirm: 'yes', current_password }],
        '/account/email': [{ email: 'thief@example.com', current_password }, { confirm_email: 'yes' }],
        '/upstream/:provider/connect': [{ decision: 'start' }, { decision: 'yes' }],
        '/upstream/:provider/unlink': [{ link: linkId }],
      };
      /** Routes that no session opens, and which therefore change nothing of its user. */
      const others = [
        ...[
          '/login',
          '/login/code',
          '/login/second',
          '/select',
          '/denied',
          '/consent',
          '/device',
          '/logout',
          '/forgot',
          '/link',
          '/sign-up',
        ],
        ...['sign_in', 'callback', 'backchannel_logout'].map((name) => `/upstream/:provider/${name}`),
      ];
      assert.deepEqual(
        routesWithForms().sort(),
        [...Object.keys(forms), ...others].sort(),
        'say what it changes',
      );

      const state = () =>
        withDatabaseOf(server, async ({ people, factors, upstreamIdentities, personalTokens }) => ({
          tokens: await personalTokens.ofSubject(subject, 0),
          person: await people.bySubject(subject),
          passkeys: await factors.passkeysOf(subject),
          totp: await factors.totpOf(subject),
          has: await factors.of(subject),
          links: await upstreamIdentities.ofSubject(subject),
        }));
      const before = await state();
      const sendAll = async (thief: Browser, expected: RegExp) => {
        for (const [route, sent = []] of Object.entries(forms))
          for (const fields of sent) {
            const page = await thief.get(at(SECURITY));
            const { form_token = '' } = hiddenFields(page);
            const answer = await thief.post(at(route.replace(':provider', 'closed')), {
              form_token,
              ...fields,
            });
            const about = `${route} ${JSON.stringify(fields)} ${answer.url}`;
            assert.match(new URL(answer.url).pathname, expected, about);
            assert.match(answer.headers.get('content-type') ?? '', /^text\/html/, about);
          }
        assert.deepEqual({ ...(await state()), passkeys: [] }, { ...before, passkeys: [] });
      };
      const { browser: thief } = await signIn(who);
      await sendAll(thief, /^\/login\/second$/);
      // The pages show no form that would be filled in in vain.
      assert.doesNotMatch((await thief.get(at(SECURITY))).html, /id="(?:new-password|add-totp|add-passkey)"/);
      assert.doesNotMatch((await thief.get(at('/account/data'))).html, /id="delete-account"/);

      // The same forms with everything that the user has, but too long ago.
      const owner = new Browser(server.url);
      const form = passkeyFormOf(await owner.get(at('/account')));
      await owner.post(form.action, { ...form.fields, passkey: authenticator.get(form.options) });
      await age(server, 'sessions', 'signed_in_at_ms', subject);
      await database.run(
        server.folder,
        `UPDATE ${database.schema}sessions SET signed_in_at_ms = signed_in_at_ms + 89000000 WHERE subject = '${subject}'`,
      );
      await sendAll(owner, /^\/login$/);

      // Signed in again, the user may.
      const again = passkeyFormOf(
        await owner.post(at('/account/factors'), {
          ...hiddenFields(await owner.get(at(SECURITY))),
          act: 'confirm',
        }),
      );
      const back = await owner.post(again.action, {
        ...again.fields,
        passkey: authenticator.get(again.options),
      });
      assert.equal(new URL(back.url).pathname, SECURITY);
      const sent = await owner.post(at('/account/data'), { ...hiddenFields(back), export_data: 'yes' });
      assert.equal(JSON.parse(sent.html).sub, subject);
      await server.stop();
    });

    test('a recovery code replaces a lost factor, which counts later, and opens nothing else', async () => {
      const server = await workbench.start(await workbench.home(), ['--demo']);
      const { signedIn, signIn, addPasskey, addApp, press, at, factorsOf } = accountOf(server);
      const { who, browser } = await signedIn('dora');
      const subject = await withDatabaseOf(server, async ({ people }) => {
        const person = (await people.byName('dora')) ?? assert.fail('dora');
        const claims = { email: 'dora@example.com', email_verified: true };
        await people.update({ ...person, claims });
        return person.subject;
      });
      const { authenticator: lost, page: shown } = await addPasskey(browser);
      const codes = [...shown.html.matchAll(/<li><code>([^<]*)<\/code>/g)].map(([, code = '']) => code);
      const byCode = async () => {
        const { browser: other, page } = await signIn(who);
        const [recovery_code = ''] = codes.splice(0, 1);
        await other.post(page.url, { ...hiddenFields(page), recovery_code });
        return other;
      };
      const acrWith = async (authenticator: Authenticator, acr_values = 'phr') => {
        const pkce = newPkce();
        const other = new Browser(server.url);
        const login = passkeyFormOf(await other.get(authorizationUrl(server.url, pkce, { acr_values })));
        const answer = { ...login.fields, passkey: authenticator.get(login.options) };
        const consent = await other.post(login.action, answer);
        const left = isConsent(consent) ? await other.submit(consent, { decision: 'allow' }) : consent;
        if (new URL(left.url).origin === server.url) return new URL(left.url).pathname;
        const { acr, amr } = payloadOf((await redeem(server.url, pkce, new URL(left.url))).id_token);
        return { acr, amr };
      };
      assert.deepEqual(await acrWith(lost), { acr: 'phr', amr: METHODS.passkey });

      const recovered = await byCode();
      // It replaces factors, and nothing else.
      const email = await recovered.get(at('/account/email'));
      assert.match(email.url, /\/login\/second\?/);
      assert.doesNotMatch(
        email.html,
        /id="recovery-submit"|id="second-submit"/,
        'only the passkey opens this',
      );
      const wasted = { ...hiddenFields(email), recovery_code: codes[0] ?? '' };
      assert.equal((await recovered.post(email.url, wasted)).status, 403);
      assert.equal((await factorsOf('dora')).recoveryCodes, 9, 'no code was used up');
      const { authenticator: found, page } = await addPasskey(recovered);
      assert.match(page.html, /Added with a recovery code\. Counts in full in 24 hours\./);
      const [mail = ''] =
        /<article[\s\S]*?<\/article>/.exec((await recovered.get(at('/demo/mailbox'))).html) ?? [];
      assert.match(mail, /dora@example\.com[\s\S]*was added\.[\s\S]*after a sign-in with a recovery code\./);

      // The new passkey signs in, but is not phishing-resistant, and is not named; the old one still is.
      assert.equal(await acrWith(found), '/login/second', 'there is a passkey that counts');
      const mfa = { acr: 'urn:grantd:acr:multi-factor', amr: ['mfa'] };
      assert.deepEqual(await acrWith(found, 'urn:grantd:acr:multi-factor'), mfa);
      assert.deepEqual(await acrWith(lost), { acr: 'phr', amr: METHODS.passkey });

      // Without the lost one, the account stays as protected as it was.
      const remove = { remove_passkey: (await passkeyIds(server, subject))[0] ?? '' };
      await press(recovered, await recovered.get(at(SECURITY)), remove);
      assert.equal((await factorsOf('dora')).passkeys, 1);
      assert.deepEqual(await acrWith(found), mfa, 'as much as there is');
      const essential = { id_token: { acr: { essential: true, values: ['phr'] } } };
      const unmet = await recovered.get(
        authorizationUrl(server.url, newPkce(), { claims: JSON.stringify(essential) }),
      );
      assert.equal(new URL(unmet.url).searchParams.get('error'), 'unmet_authentication_requirements');
      for (const path of ['/account/email', '/account/data']) {
        const { form_token = '' } = hiddenFields(await recovered.get(at(SECURITY)));
        const refused = await recovered.post(at(path), {
          form_token,
          export_data: 'yes',
          email: 'a@example.com',
        });
        assert.equal(refused.status, 403, path);
        assert.match(refused.html, /You cannot change this yet/);
      }
      // What is added then, waits too.
      const { code } = await addApp(recovered);
      const { browser: owner, page: second } = await signIn(who);
      await owner.post(second.url, { ...hiddenFields(second), code: code() });
      assert.match((await owner.get(at(SECURITY))).html, /id="remove-totp"/, 'it may be replaced again');
      assert.equal((await owner.get(at('/account/email'))).status, 403);

      // After a day, it counts.
      for (const table of ['passkeys', 'totp_secrets']) await age(server, table, 'counts_from_ms', subject);
      await age(server, 'people', 'held_until_ms', subject);
      assert.deepEqual(await acrWith(found), { acr: 'phr', amr: METHODS.passkey });
      await server.stop();
    });

    test('what was removed with a recovery code leaves no account that a password opens', async () => {
      const server = await workbench.start(await workbench.home(), ['--demo', '--recovery-hold', '3600']);
      const { signedIn, signIn, addApp, press, at, factorsOf } = accountOf(server);
      const { who, browser } = await signedIn('elsa');
      for (const act of ['constructor', 'toString', '__proto__'])
        assert.equal((await press(browser, await browser.get(at(SECURITY)), { act })).status, 200, act);
      const { recoveryCodes } = await addApp(browser);
      const { browser: thief, page } = await signIn(who);
      await thief.post(page.url, { ...hiddenFields(page), recovery_code: recoveryCodes[0] ?? '' });
      await press(thief, await thief.get(at(SECURITY)), { act: 'remove_totp' });
      const { hasTotp, held } = await factorsOf('elsa');
      assert.deepEqual({ hasTotp, level: held.level }, { hasTotp: false, level: MULTI_FACTOR });
      assert.ok(Math.abs(held.untilMs - Date.now() - 3_600_000) < 60_000);
      await addApp(thief);
      const added = await factorsOf('elsa');
      assert.deepEqual(added.held, { level: MULTI_FACTOR, untilMs: added.totpCountsFromMs });
      await press(thief, await thief.get(at(SECURITY)), { act: 'remove_totp' });
      const { browser: later, page: account } = await signIn(who);
      assert.equal(new URL(account.url).pathname, '/account', 'the password is all that there is');
      const refused = await press(later, await later.get(at(SECURITY)), { act: 'offer_totp' });
      assert.match(refused.html, /You cannot change this yet/);

      assert.match(
        await grantdPrints(server.folder, ['user', 'show', 'elsa']),
        /^changed with a recovery code: counts in full from 20/m,
      );
      assert.match(
        await grantdPrints(server.folder, ['user', 'confirm-factors', 'elsa']),
        /^the factors of elsa count now$/m,
      );
      assert.match(
        await grantdPrints(server.folder, ['user', 'confirm-factors', 'elsa']),
        /^elsa has no factors that wait$/m,
      );
      const offer = await press(later, await later.get(at(SECURITY)), { act: 'offer_totp' });
      assert.match(offer.html, /id="totp-secret"/);
      await server.stop();
    });
  });
}

async function passkeyIds(server: RunningServer, subject: string): Promise<readonly string[]> {
  const passkeys = await withDatabaseOf(server, ({ factors }) => factors.passkeysOf(subject));
  return passkeys.map(({ id }) => id);
}

/** The routes of the pages that receive forms, as the flows add them. */
function routesWithForms(): string[] {
  const folder = join(import.meta.dirname, '..', 'src', 'pages');
  return globSync('**/*.ts', { cwd: folder }).flatMap((file) => {
    const source = readFileSync(join(folder, file), 'utf8');
    return [...source.matchAll(/\broutes\.(?:form|post)\(\s*'([^']*)'/g)].map(([, path = '']) => path);
  });
}
