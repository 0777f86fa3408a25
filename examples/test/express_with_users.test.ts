import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { NewClient } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { json, post } from './asking.ts';
import { started } from './started.ts';

const REDIRECT_URI = 'http://localhost:8080/callback';
const VERIFIER = 'v'.repeat(43);
const HOSTILE_SCOPE = `<script>alert('1')</script>&`;

const APP: NewClient = {
  id: 'my-app',
  name: `<img src="x" onerror='1'>&amp;`,
  grantTypes: ['authorization_code'],
  scopes: ['openid', 'profile', 'email', HOSTILE_SCOPE],
  redirectUris: [REDIRECT_URI],
};

let url: string;
let folder: string;
let end = async () => {};

before(async () => {
  ({ url, folder } = await started(
    {
      after: (cleanUp) => {
        end = cleanUp;
      },
    },
    'express_with_users/host.ts',
  ));
  const storage = openSqliteStorage({ path: join(folder, 'tokens.db'), issuer: url });
  await storage.clients.add(APP);
  await storage.close();
});
after(() => end());

/** What the application sends the browser to. */
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

/** What the browser is shown, and what it sends along then. */
async function shown(parameters: Readonly<Record<string, string>> = {}) {
  const answer = await fetch(asking(parameters), { redirect: 'manual' });
  const page = await answer.text();
  const [, asked = ''] = /name="asked" value="([^"]*)"/.exec(page) ?? [];
  const unescaped = asked.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  return { answer, page, form: { asked: unescaped }, cookie: { cookie } };
}

/** What the application sends when the browser has come back to it. */
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

test("people of the host's own table sign in to another application, whose code is worth nothing without its verifier", async () => {
  const { answer, page, form, cookie } = await shown();
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('set-cookie') ?? '', /^[0-9a-f]{64}=1; HttpOnly; SameSite=Strict$/);
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

test('a wrong password, and a name that is nobody’s, are asked again, and the form still works', async () => {
  const { form, cookie } = await shown();
  for (const wrong of [{ ...ALICE, password: 'looking-glass' }, { ...ALICE, name: 'nobody' }, {}]) {
    const asked = await post(asking(), { ...form, ...wrong }, cookie);
    assert.equal(asked.status, 401);
    assert.match(await asked.text(), /<p role="alert">Name or password is wrong\.<\/p>/);
  }
  assert.equal((await post(asking(), { ...form, ...ALICE }, cookie)).status, 303);
});

test('others are answered while passwords are checked', async () => {
  const { form, cookie } = await shown();
  const answered: string[] = [];
  const attempts = Array.from({ length: 4 }, () =>
    post(asking(), { ...form, ...ALICE, password: 'looking-glass' }, cookie).then(() =>
      answered.push('attempt'),
    ),
  );
  await pause(50); // the first has begun
  await fetch(`${url}/jwks`);
  answered.push('keys');
  await Promise.all(attempts);
  assert.equal(answered[0], 'keys');
});

test('a form that this browser was not shown, or that somebody changed, signs nobody in', async () => {
  const { form, cookie } = await shown();
  const changed = { asked: form.asked.replace('profile', '') };
  const another = await shown({ state: 'another' });
  for (const [asked, from] of [
    [form, {}],
    [form, another.cookie],
    [changed, cookie],
    [{}, cookie],
  ] as const) {
    const answer = await post(asking(), { ...asked, ...ALICE }, from);
    assert.deepEqual([answer.status, (await json(answer)).error], [400, 'invalid_request']);
  }
});

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

test('a code is redeemed with its verifier, and UserInfo tells the claims of the table, as long as they are there', async () => {
  const { form, cookie } = await shown();
  const signedIn = await post(asking(), { ...form, ...ALICE }, cookie);
  const redeemed = await post(`${url}/token`, redemptionOf(new URL(signedIn.headers.get('location') ?? '')));
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
