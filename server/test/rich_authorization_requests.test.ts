// § refers to RFC 9396.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Browser, isConsent, isLogin, signInAndConsent, unescaped } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, newPkce, payloadOf, postForm } from './harness/protocol.ts';

const PAGE = readFileSync(
  join(import.meta.dirname, '..', '..', 'docs', 'rich_authorization_requests.md'),
  'utf8',
);
const [, CONFIGURATION = ''] = /^ *```json\n(.*?)^ *```$/ms.exec(PAGE) ?? [];
const COMMANDS = [...PAGE.matchAll(/^ *npx grantd (client add .*)$/gm)].map(([, words = '']) => words);

const BANK = 'https://bank.example';
const REDIRECT_URI = 'https://shop.example/callback';
const PAYMENT = {
  type: 'payment',
  amount: '123.50',
  currency: 'EUR',
  creditor: { name: 'Merchant A', iban: 'DE02100100109307118603' },
  locations: [BANK],
};

for (const database of ANY_DATABASE) {
  describe(`authorization details on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    let shop: string;
    let bank: string;
    before(async () => {
      const folder = await workbench.home();
      writeFileSync(join(folder, 'grantd.json'), CONFIGURATION);
      server = await workbench.start(folder, ['--demo', '--config', 'grantd.json']);
      const secrets: string[] = [];
      for (const command of COMMANDS) {
        const { client_secret: secret } = JSON.parse(
          await grantdPrints(folder, [...command.split(' '), '--json']),
        );
        secrets.push(basic(/add (\S+)/.exec(command)?.[1] ?? '', secret));
      }
      [bank = '', shop = ''] = secrets;
    });

    const pkce = newPkce();

    /** Parameters of a request of the shop. */
    function parametersWith(details: readonly object[], more: Readonly<Record<string, string>> = {}) {
      const authorization_details = JSON.stringify(details);
      const client = { client_id: 'shop', redirect_uri: REDIRECT_URI, scope: 'openid' };
      return { ...client, authorization_details, ...more };
    }

    const urlFor = (...of: Parameters<typeof parametersWith>) =>
      authorizationUrl(server.url, pkce, parametersWith(...of));

    /** Pushes a request, and returns the URL to which the client sends the browser. */
    async function push(...of: Parameters<typeof parametersWith>): Promise<string> {
      const { searchParams } = new URL(urlFor(...of));
      const response = await postForm(`${server.url}/par`, Object.fromEntries(searchParams), shop);
      const { request_uri } = await response.json();
      assert.equal(response.status, 201);
      return `${server.url}/authorize?${new URLSearchParams({ client_id: 'shop', request_uri })}`;
    }

    async function redeem(callback: URL) {
      const code = callback.searchParams.get('code') ?? assert.fail(callback.href);
      const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI };
      const response = await postForm(`${server.url}/token`, { ...form, code_verifier: pkce.verifier }, shop);
      assert.equal(response.status, 200);
      return response.json();
    }

    /** The consent page for details, as text without markup. */
    async function consentText(browser: Browser, details: readonly object[]): Promise<string> {
      const page = await browser.get(urlFor(details));
      assert.ok(isConsent(page), page.html);
      const [access = ''] = /<div id="scopes".*?<\/div>/s.exec(page.html) ?? [];
      return unescaped(access.replaceAll(/<[^>]*>/g, '')).replaceAll(/\s+/g, ' ');
    }

    test('§3, §7, §9 a pushed payment is shown in words, approved, and reaches the API', async () => {
      const { who, browser } = await newPerson(server, 'ada');
      const login = await browser.get(await push([PAYMENT], { ui_locales: 'de' }));
      assert.ok(isLogin(login));
      const consent = await browser.submit(login, who);
      assert.ok(isConsent(consent));
      const name = (text: string) => `<bdi class="name">${text}</bdi>`;
      assert.ok(
        consent.html.includes(
          `<span>${name('123.50')} ${name('EUR')} an ${name('Merchant A')} zahlen</span> ` +
            '<span class="detail">Einmalig, von einem Konto Ihrer Wahl</span> ' +
            `<span class="detail"><code dir="auto">creditor.iban</code> ${name(PAYMENT.creditor.iban)}</span> ` +
            `<span class="detail"><code dir="auto">locations</code> ${name(BANK)}</span>`,
        ),
        consent.html,
      );
      const left = await browser.submit(consent, { decision: 'allow' });
      const tokens = await redeem(new URL(left.url));
      assert.deepEqual(tokens.authorization_details, [PAYMENT]);
      assert.deepEqual(payloadOf(tokens.access_token).authorization_details, [PAYMENT]);
      const asked = await postForm(`${server.url}/token/introspect`, { token: tokens.access_token }, bank);
      assert.deepEqual((await asked.json()).authorization_details, [PAYMENT]);

      const account = await browser.get(`${server.url}/account`);
      assert.ok(account.html.includes(`Pay ${name('123.50')} ${name('EUR')} to ${name('Merchant A')}`));
      const shown = JSON.parse(await grantdPrints(server.folder, ['user', 'show', 'ada', '--json']));
      assert.deepEqual(shown.consents[0].entries[0].authorization_details, [PAYMENT]);
    });

    test('§3 users are asked for the same details again, and for scopes only once', async () => {
      const { who, browser } = await newPerson(server, 'bea');
      await signInAndConsent(browser, urlFor([PAYMENT]), who);
      const url = (more: Readonly<Record<string, string>>) =>
        authorizationUrl(server.url, pkce, {
          ...{ client_id: 'shop', redirect_uri: REDIRECT_URI, scope: 'openid' },
          ...more,
        });
      const scopesAlone = new URL((await browser.get(url({}))).url);
      assert.ok(scopesAlone.searchParams.has('code'), 'the consent covers the scopes');

      assert.ok(isConsent(await browser.get(urlFor([PAYMENT]))));
      const silent = await browser.get(urlFor([PAYMENT], { prompt: 'none' }));
      assert.equal(new URL(silent.url).searchParams.get('error'), 'consent_required');

      const page = await browser.get(urlFor([PAYMENT]));
      const denied = await browser.submit(page, { decision: 'deny' });
      assert.equal(new URL(denied.url).searchParams.get('error'), 'access_denied');
    });

    test('§3, §12 the page shows every member, however hostile, and no value becomes markup', async () => {
      const { who, browser } = await newPerson(server, 'cleo');
      await signInAndConsent(browser, urlFor([PAYMENT]), who);
      const hostile = { name: '<b>{iban}</b>\u202E', iban: ' ' };
      const text = await consentText(browser, [
        { ...PAYMENT, creditor: hostile, reference: '</bdi><script>' },
        { ...PAYMENT, amount: '1.00' },
      ]);
      assert.equal(
        text.trim(),
        'What you allow Pay 123.50 EUR to <b>{iban}</b>\\u{202E} Once, from an account that you choose ' +
          'creditor.iban " " locations https://bank.example reference </bdi><script> ' +
          'Pay 1.00 EUR to Merchant A Once, from an account that you choose ' +
          'creditor.iban DE02100100109307118603 locations https://bank.example ' +
          'And Know who you are An identifier for your account Where it can use this access https://bank.example',
      );
      const { html } = await browser.get(urlFor([{ ...PAYMENT, creditor: hostile }]));
      assert.ok(html.includes('&lt;b&gt;{iban}&lt;/b&gt;') && !html.includes('<b>'));
    });

    test('§3, UTS 39 §5.4 no value can look like another one: mirrored, blank, hidden or covered', async () => {
      const { who, browser } = await newPerson(server, 'mira');
      await signInAndConsent(browser, urlFor([PAYMENT]), who);
      for (const [reference, shown] of [
        ['\u202E231 ot', '\\u{202E}231 ot'],
        ['\u20667\u2069', '\\u{2066}7\\u{2069}'],
        ['\u3164', '\\u{3164}'],
        ['\u2800', '\\u{2800}'],
        ['1\u200B0', '1\\u{200B}0'],
        ['\u{E0041}1', '\\u{E0041}1'],
        ['1\u0008', '1\\u{8}'],
        [`1${'\u0336'.repeat(6)}`, `1${'\u0336'.repeat(4)}\\u{336}\\u{336}`],
        ['two\nlines, \u2600\uFE0F, प्रिया', 'two lines, \u2600\uFE0F, प्रिया'],
      ] as const) {
        const text = await consentText(browser, [{ ...PAYMENT, reference }]);
        assert.ok(text.includes(`reference ${shown} And`), `${text} has not ${shown}`);
      }
    });

    test('§2 the longest list of details passes through all pages', async () => {
      const { who, browser } = await newPerson(server, 'dora');
      const long = { ...PAYMENT, creditor: { ...PAYMENT.creditor, name: 'ß'.repeat(70) } };
      const details = Array.from({ length: 14 }, (_, at) => ({ ...long, amount: `${at}.00` }));
      assert.ok(Buffer.byteLength(JSON.stringify(details)) > 3800);
      const tokens = await redeem(await signInAndConsent(browser, await push(details), who));
      assert.deepEqual(tokens.authorization_details, details);
    });

    test('§5, §10 details that do not fit the type, or of a type not registered for the client, are refused', async () => {
      const errorAt = async (url: string) => {
        const response = await fetch(url, { redirect: 'manual' });
        return new URL(response.headers.get('location') ?? '').searchParams.get('error');
      };
      const unknown = { ...PAYMENT, tip: '1.00' };
      assert.equal(await errorAt(urlFor([unknown])), 'invalid_authorization_details');
      const demo = authorizationUrl(server.url, pkce, { authorization_details: JSON.stringify([PAYMENT]) });
      assert.equal(await errorAt(demo), 'invalid_authorization_details');
      const metadata = await fetch(`${server.url}/.well-known/oauth-authorization-server`);
      assert.deepEqual((await metadata.json()).authorization_details_types_supported, ['payment']);
    });
  });
}

test('§6, §10 machines and clients that register themselves get only types that the operator opened to them', async () => {
  const workbench = new Workbench();
  try {
    const folder = workbench.folder();
    const schema = { additionalProperties: false };
    const types = {
      probe: { schema, texts: { name: 'Probe' }, clientCredentials: true },
      payment: { schema, texts: { name: 'Pay' } },
    };
    const content = { authorizationDetails: types, registrationAuthorizationDetailsTypes: ['probe'] };
    writeFileSync(join(folder, 'grantd.json'), JSON.stringify({ ...content, registration: 'open' }));
    const server = await workbench.start(folder, ['--config', 'grantd.json']);

    const machine = ['client', 'add', 'machine', '--grant', 'client_credentials', '--json'];
    const allowed = Object.keys(types).map((type) => `--authorization-details-type=${type}`);
    const { client_secret: secret } = JSON.parse(await grantdPrints(folder, [...machine, ...allowed]));
    const ask = async (type: string) => {
      const form = { grant_type: 'client_credentials', authorization_details: JSON.stringify([{ type }]) };
      const response = await postForm(`${server.url}/token`, form, basic('machine', secret));
      const { error, authorization_details } = await response.json();
      return error ?? authorization_details;
    };
    assert.deepEqual(await ask('probe'), [{ type: 'probe' }]);
    assert.equal(await ask('payment'), 'invalid_authorization_details');

    const register = async (type: string) => {
      const metadata = { redirect_uris: [REDIRECT_URI], authorization_details_types: [type] };
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify(metadata);
      const response = await fetch(`${server.url}/register`, { method: 'POST', headers, body });
      const { error, authorization_details_types } = await response.json();
      return error ?? authorization_details_types;
    };
    assert.deepEqual(await register('probe'), ['probe']);
    assert.deepEqual(await register('payment'), [], 'a type that is not open is left out');
  } finally {
    await workbench.clear();
  }
});

describe('the types in the config file', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  const schema = {
    properties: { amount: {}, note: {}, creditor: { properties: { name: {} } } },
    required: ['amount', 'creditor'],
    additionalProperties: false,
  };
  const texts = { name: 'Pay {amount}' };
  for (const [what, type, message] of [
    ['a misspelt keyword', { schema: { ...schema, require: [] }, texts }, 'schema: .*keywords, got require'],
    ['no name', { schema, texts: { 'name#de': 'Zahlen' } }, 'texts.name: expected a text without'],
    ['an optional member', { schema, texts: { name: 'Pay {note}' } }, 'got {note}'],
    ['a member within', { schema, texts: { name: 'To {creditor.name}' } }, 'got {creditor.name}'],
    ['a lone brace', { schema, texts: { name: 'Pay {amount' } }, 'texts.name: expected braces only'],
    [
      'a long text',
      { schema, texts: { ...texts, 'description#de': 'a'.repeat(301) } },
      '#de: expected one line',
    ],
    [
      'an unknown text',
      { schema, texts: { ...texts, title: 'a' } },
      'texts.title: expected name or description',
    ],
  ] as const) {
    test(`§11.3 ${what} is found at the start, before a database is created`, async () => {
      const folder = workbench.folder();
      writeFileSync(join(folder, 'a.json'), JSON.stringify({ authorizationDetails: { payment: type } }));
      const { code, stderr } = await grantd(folder, ['serve', '--config', 'a.json', '--port', '0']);
      assert.equal(code, 2, stderr);
      assert.match(stderr, new RegExp(`authorizationDetails in a\\.json: payment\\..*${message}`));
      assert.equal((await grantd(folder, ['client', 'list'])).code, 1, 'there is no database');
    });
  }
});
