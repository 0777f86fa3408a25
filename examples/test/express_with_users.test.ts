import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import type { NewClient } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { json, post } from './asking.ts';
import { assertLoopbackAlone } from './loopback.ts';
import { started } from './started.ts';

const FOLDER = join(import.meta.dirname, '..', 'express_with_users');
/** Inside the repository, so that the example's imports resolve. */
const COPIES = join(import.meta.dirname, '..', '..', '.test-results');

const REDIRECT_URI = 'http://localhost:8080/callback';
const VERIFIER = 'v'.repeat(43);
const HOSTILE_SCOPE = `<script>alert('1')</script>&`;

const APP: NewClient = {
  id: 'my-app',
  name: `<img src="x" onerror='1'>&amp;`,
  grantTypes: ['authorization_code'],
  scopes: ['openid', 'profile', 'email', HOSTILE_SCOPE],
  redirectUris: [REDIRECT_URI],
  metadata: { token_endpoint_auth_method: 'none' },
};

let url: string;
let folder: string;

/** The example in an application with a form parser. */
function copyThatParses(): string {
  mkdirSync(COPIES, { recursive: true });
  const copy = mkdtempSync(join(COPIES, 'express_with_users-'));
  cpSync(FOLDER, copy, { recursive: true });
  const host = join(copy, 'host.ts');
  const parsing = readFileSync(host, 'utf8').replace(/\bexpress\(\)/, '$&.use(express.urlencoded())');
  assert.match(parsing, /urlencoded/);
  writeFileSync(host, parsing);
  return copy;
}

/** The authorization request of the application. */
function asking(parameters: Readonly<Record<string, string>> = {}): string {
  const asked = new URLSearchParams({
    client_id: APP.id,
    response_type: 'code',
    redirect_uri: REDIRECT_URI,
    scope: 'openid profile email',
    state: 'a state',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    ...parameters,
  });
  return `${url}/authorize?${asked}`;
}

/** The page that the browser shows, and the cookies that it sends next. */
async function shown(
  parameters: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
) {
  const answer = await fetch(asking(parameters), { headers, redirect: 'manual' });
  const page = await answer.text();
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  return { answer, page, form: { asked: kept(page, 'asked'), seal: kept(page, 'seal') }, cookie: { cookie } };
}

/** The value of a hidden field. */
function kept(page: string, name: string): string {
  const [, value = ''] = new RegExp(`name="${name}" value="([^"]*)"`).exec(page) ?? [];
  return value.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

/** The token request of the application after the browser has returned. */
function redemptionOf(back: URL): Readonly<Record<string, string>> {
  const code = back.searchParams.get('code') ?? '';
  return {
    grant_type: 'authorization_code',
    client_id: APP.id,
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: VERIFIER,
  };
}

const ALICE = { name: 'alice', password: 'wonderland' };

function testHost(example: () => string): void {
  let end = async () => {};
  before(async () => {
    const place = example();
    const owner = {
      after: (cleanUp: () => Promise<void>) => {
        end = cleanUp;
      },
    };
    ({ url, folder } = await started(owner, join(place, 'host.ts')));
    if (place !== FOLDER) rmSync(place, { recursive: true });
    const storage = openSqliteStorage({ path: join(folder, 'tokens.db'), issuer: url });
    await storage.clients.add(APP);
    await storage.close();
  });
  after(() => end());

  test("users of the host's own table sign in to another application, whose code is worth nothing without its verifier", async () => {
    const { answer, page, form, cookie } = await shown();
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('set-cookie') ?? '', /^browser=[0-9a-f-]{36}; HttpOnly; SameSite=Lax$/);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.match(page, /which asks for openid, profile, email</);

    const signedIn = await post(asking(), { ...form, ...ALICE }, cookie);
    assert.equal(signedIn.status, 303);
    const back = new URL(signedIn.headers.get('location') ?? '');
    assert.equal(`${back.origin}${back.pathname}`, REDIRECT_URI);
    assert.deepEqual([back.searchParams.get('state'), back.searchParams.get('iss')], ['a state', url]);

    const redemption = redemptionOf(back);
    const stolen = await post(`${url}/token`, { ...redemption, code_verifier: 'w'.repeat(43) });
    assert.deepEqual([stolen.status, (await json(stolen)).error], [400, 'invalid_grant']);
  });

  test('after a wrong password or an unknown name, the form is shown again and still works', async () => {
    const { form, cookie } = await shown();
    for (const wrong of [{ ...ALICE, password: 'looking-glass' }, { ...ALICE, name: 'nobody' }, {}]) {
      const asked = await post(asking(), { ...form, ...wrong }, cookie);
      assert.equal(asked.status, 401);
      assert.match(await asked.text(), /<p role="alert">Name or password is wrong\.<\/p>/);
    }
    assert.equal((await post(asking(), { ...form, ...ALICE }, cookie)).status, 303);
  });

  test('a form that this browser was not shown, or that was changed, signs no user in', async () => {
    const { form, cookie } = await shown();
    const changed = { ...form, asked: form.asked.replace('profile', '') };
    const another = await shown({ state: 'another' });
    for (const [asked, from] of [
      [form, {}],
      [form, another.cookie],
      [changed, cookie],
      [{ ...form, seal: another.form.seal }, cookie],
      [{ asked: form.asked }, cookie],
      [{}, cookie],
    ] as const) {
      const answer = await post(asking(), { ...asked, ...ALICE }, from);
      assert.deepEqual([answer.status, (await json(answer)).error], [400, 'invalid_request']);
    }
  });

  test('a browser has one cookie, and whatever it was shown with it still works', async () => {
    const first = await shown();
    const second = await shown({ state: 'another' }, first.cookie);
    assert.deepEqual(second.cookie, first.cookie);
    for (const { form } of [second, first])
      assert.equal((await post(asking(), { ...form, ...ALICE }, first.cookie)).status, 303);
  });

  test('what has a published password is there for this machine alone', () => assertLoopbackAlone(url));

  test('what may not be shown to anybody goes back to the application; what cannot go back is rendered', async () => {
    const silent = await shown({ prompt: 'none' });
    const back = new URL(silent.answer.headers.get('location') ?? '');
    assert.deepEqual([silent.answer.status, back.searchParams.get('error')], [303, 'login_required']);
    const astray = await shown({ redirect_uri: 'https://elsewhere.example/' });
    assert.deepEqual([astray.answer.status, JSON.parse(astray.page).error], [400, 'invalid_request']);
  });

  test('a name and a scope that are HTML stay text', async () => {
    const { page, answer } = await shown({ scope: HOSTILE_SCOPE, state: '"><script>' });
    assert.equal(answer.status, 200);
    assert.doesNotMatch(page, /<script|<img|"&gt;|&amp;/);
    assert.match(page, /&#60;img src=&#34;x&#34; onerror=&#39;1&#39;&#62;&#38;amp;/);
    assert.match(page, /asks for &#60;script&#62;alert\(&#39;1&#39;\)&#60;\/script&#62;&#38;</);
  });

  test('a code is redeemed with its verifier, and UserInfo returns the claims of the table while they exist', async () => {
    const { form, cookie } = await shown();
    const signedIn = await post(asking(), { ...form, ...ALICE }, cookie);
    const redeemed = await post(
      `${url}/token`,
      redemptionOf(new URL(signedIn.headers.get('location') ?? '')),
    );
    const { access_token: token, id_token: idToken, scope } = await json(redeemed);
    assert.deepEqual([redeemed.status, scope], [200, 'openid profile email']);
    const { sub, aud } = JSON.parse(atob(String(idToken).split('.')[1] ?? ''));
    assert.equal(aud, APP.id);
    const asked = () => fetch(`${url}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual(await json(await asked()), { sub, name: 'alice', email: 'alice@example.com' });

    const users = new DatabaseSync(join(folder, 'users.db'));
    users.exec("DELETE FROM users WHERE name = 'alice'");
    users.close();
    assert.equal((await asked()).status, 401);
  });
}

for (const [how, example] of [
  ['as it is', () => FOLDER],
  ['in an application that parses forms itself', copyThatParses],
] as const) {
  describe(`examples/express_with_users, ${how}`, () => testHost(example));
}
