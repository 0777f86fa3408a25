// § refers to Form Post.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { HttpResponse } from '@grantd/core';
import {
  accepted,
  asked,
  CALLBACK,
  postedBy,
  refusalOf,
  refused,
  USUAL,
} from './harness/authorization_endpoint.ts';
import { CLIENTS, ISSUER, openWorld, type World } from './harness/world.ts';

const FORM_POST = { response_mode: 'form_post' };

async function granted(
  world: World,
  parameters: Readonly<Record<string, string>> = {},
): Promise<HttpResponse> {
  const request = await accepted(world, { ...FORM_POST, ...parameters });
  return world.server.authorization.complete(request, { subject: 'alice' });
}

async function addClient(world: World, redirectUri: string): Promise<void> {
  await world.storage.clients.add({ ...CLIENTS.spa, id: 'own', redirectUris: [redirectUri] });
}

test('§2 the code, state and iss are posted to the redirect URI by a form', async (t) => {
  const world = await openWorld(t);
  const response = await granted(world);
  const { action, fields } = postedBy(response);
  const { code = '', ...others } = fields;
  assert.equal(action, CALLBACK);
  assert.match(code, /^grantd_ac_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual(others, { state: 'xyz', iss: ISSUER });
  assert.equal('location' in response.headers, false);
  assert.equal((await world.redeem(code)).status, 200);
});

test('§2 the whole page', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(world, FORM_POST);
  const page = await world.server.authorization.refuse(request, 'access_denied', 'the person said no');
  assert.deepEqual(page, {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'none'; script-src 'sha256-ePniVEkSivX/c7XWBGafqh8tSpiRrKiqYeqbG7N1TOE='; " +
        "base-uri 'none'; frame-ancestors 'none'",
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    },
    body: `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Back to the application</title>
</head>
<body>
<form method="post" action="https://web.example/callback">
<input type="hidden" name="error" value="access_denied">
<input type="hidden" name="error_description" value="the person said no">
<input type="hidden" name="state" value="xyz">
<input type="hidden" name="iss" value="https://as.example">
<button type="submit">Continue</button>
</form>
<script>document.forms[0].submit()</script>
</body>
</html>
`,
  });
});

test('§2 the one script of the page is the one that its policy lets run', async (t) => {
  const { body, headers } = await granted(await openWorld(t));
  const scripts = [...body.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = '']) => script);
  assert.equal(scripts.length, 1);
  const hash = createHash('sha256').update(scripts.join()).digest('base64');
  assert.ok(String(headers['content-security-policy']).includes(`script-src 'sha256-${hash}';`));
});

test('§2 errors are posted too, with state and iss', async (t) => {
  const world = await openWorld(t);
  const response = await refusalOf(world, { ...FORM_POST, scope: 'admin' });
  assert.equal(response.status, 200);
  assert.deepEqual(postedBy(response), {
    action: CALLBACK,
    fields: {
      error: 'invalid_scope',
      error_description: 'a scope is not allowed',
      state: 'xyz',
      iss: ISSUER,
    },
  });
  await world.storage.setDisabled('subject', 'alice', true);
  const disabled = await refused(granted(world));
  assert.equal(postedBy(disabled).fields.error, 'access_denied');
});

test('§2 a request without a certain redirect URI gets no form post page, in any mode', async (t) => {
  const world = await openWorld(t);
  const response = await refusalOf(world, { ...FORM_POST, redirect_uri: 'https://evil.example/' });
  assert.equal(response.status, 400);
  assert.equal(response.headers['content-type'], 'application/json');
  assert.doesNotMatch(response.body, /evil/);
});

test('§4 nothing in state can leave its field', async (t) => {
  const world = await openWorld(t);
  for (const state of [
    '"><script>alert(1)</script>',
    "' onfocus=alert(1) autofocus x='",
    '</form><form action="https://evil.example">',
    '&quot;&#34;&#x22;&amp',
    '\r\n\r\n<script>alert(1)</script>\r \n',
    '<!--', // would hide the button
    '\u2028\u2029\ufeff🙂ä',
  ]) {
    const { body } = await granted(world, { state });
    assert.equal(postedBy({ status: 200, headers: {}, body }).fields.state, state);
    assert.deepEqual(
      [...body.matchAll(/<[a-z!/][^ >]*/gi)].map(([tag]) => tag),
      [
        '<!DOCTYPE',
        '<html',
        '<head',
        '<meta',
        '<meta',
        '<meta',
        '<title',
        '</title',
        '</head',
        '<body',
        '<form',
        '<input',
        '<input',
        '<input',
        '<button',
        '</button',
        '</form',
        '<script',
        '</script',
        '</body',
        '</html',
      ],
    );
    assert.equal(body.includes('\r'), false);
  }
});

test('§4 a state that HTML cannot hold is refused, and no page made of it', async (t) => {
  const world = await openWorld(t);
  const response = await refusalOf(world, { ...FORM_POST, state: 'a\0b' });
  const { error, error_description } = postedBy(response).fields;
  assert.deepEqual([error, error_description], ['invalid_request', 'a parameter contains a NUL character']);
});

test('§4 the form leads to the redirect URI, to the letter, and may be led on from there', async (t) => {
  const world = await openWorld(t);
  for (const redirectUri of [
    'https://own.example/a;b,c/cb?tenant=a&b="\'',
    'https://own.example:8443/cb',
    'http://127.0.0.1:4001/cb',
    'http://[::1]:4001/cb',
    'com.example.app:/cb',
  ]) {
    await addClient(world, redirectUri);
    const request = await accepted(world, { ...FORM_POST, client_id: 'own', redirect_uri: redirectUri });
    const page = await world.server.authorization.refuse(request, 'access_denied', 'no');
    assert.equal(postedBy(page).action, redirectUri);
    assert.doesNotMatch(String(page.headers['content-security-policy']), /form-action/);
    await world.storage.clients.remove('own');
  }
});

test('§2 the host receives the mode, and keeps it while it asks the user', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(world, FORM_POST);
  const { parameters, responseMode } = request;
  assert.equal(responseMode, 'form_post');
  const again = await world.server.authorization.resume(parameters);
  assert.equal(again.responseMode, 'form_post');
  assert.deepEqual(asked(request).parameters, { ...USUAL, ...FORM_POST });
});
