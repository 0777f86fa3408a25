// Long: short rules of forms, headers and URLs, which share nothing else.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  errorResponse,
  type HttpRequest,
  headerValue,
  MAX_BODY_BYTES,
  OAuthError,
  type ParsedForm,
  pathOf,
  STANDARD_CLAIMS_BY_SCOPE,
} from '@grantd/core';
import { bearerChallenges, clientChallenges, formatChallenges, readAccessToken } from '../src/http/bearer.ts';
import { ERROR_STATUS, INACTIVE_REASONS, REFUSAL_REASONS } from '../src/http/errors.ts';
import { isScopeToken, parseForm, parseScope, readForm, selectScopes } from '../src/http/form.ts';
import { LONGEST_PARAMETERS, queryOf } from '../src/http/http.ts';
import { isS256Challenge } from '../src/protocol/authorization_parameters.ts';
import { permittedClaims, permittedNames, requestedClaims } from '../src/protocol/claims.ts';
import { isPersonalScope } from '../src/protocol/client_metadata.ts';
import { isRegistrableRedirectUri, originOf, redirectUriMatches } from '../src/protocol/redirect_uri.ts';
import { METADATA_PROBLEMS } from '../src/registration/client_document.ts';
import { verifierFits } from '../src/token/authorization_code.ts';
import { opaqueKindOf } from '../src/tokens/opaque_token.ts';
import { CHALLENGE, VERIFIER } from './harness/world.ts';

const FORM = 'application/x-www-form-urlencoded';

function requestWith(body: string | ParsedForm, contentType: string | undefined = FORM): HttpRequest {
  const headers = contentType === '' ? {} : { 'content-type': contentType };
  return { method: 'POST', url: '/token', headers, body };
}

function entriesOf(body: string | ParsedForm, contentType?: string): readonly (readonly [string, string])[] {
  return [...readForm(requestWith(body, contentType))];
}

/** The error of a function: status, code, description. */
function refusalOf(run: () => unknown): readonly [number, string, string] {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof OAuthError, String(error));
    return [error.status, error.code, error.description];
  }
  return assert.fail('it was not refused');
}

const REPEATED = [400, 'invalid_request', 'a parameter is repeated'];
const NO_TEXT = [400, 'invalid_request', 'a parameter must be a string'];
const TOO_LARGE = [413, 'invalid_request', 'the request body is too large'];
const WRONG_TYPE = [400, 'invalid_request', 'the content type must be application/x-www-form-urlencoded'];

// ── Forms ─────────────────────────────────────────────────────────────────────────────────────────────────

test('RFC 6749 Appendix B a form is decoded: plus, percent, UTF-8', () => {
  assert.deepEqual(entriesOf('a=x+y&b=%C3%A4%20%2B&c=%F0%9F%98%80&d==&e&%66=1'), [
    ['a', 'x y'],
    ['b', 'ä +'],
    ['c', '😀'],
    ['d', '='],
    ['f', '1'],
  ]);
  assert.deepEqual(entriesOf('a=%&b=%zz'), [
    ['a', '%'],
    ['b', '%zz'],
  ]);
});

test('RFC 6749 §3.2 a parameter without a value counts as absent, an unknown one is kept', () => {
  assert.deepEqual(entriesOf('a=&b&c=1&=x'), [
    ['c', '1'],
    ['', 'x'],
  ]);
  for (const body of ['', '&&', '=']) assert.deepEqual(entriesOf(body), []);
  assert.deepEqual([...readForm({ method: 'POST', url: '/', headers: {} })], []);
});

test('RFC 6749 §3.2 a repeated parameter is refused, however it is written and whatever its values are', () => {
  for (const body of ['a=1&a=2', 'a=1&a=1', 'a=&a=', 'a&a=1', 'a=1&%61=2', 'b=1&a=1&c=1&a', '=&=']) {
    assert.deepEqual(
      refusalOf(() => entriesOf(body)),
      REPEATED,
      body,
    );
  }
  assert.deepEqual(
    refusalOf(() => parseForm('a=1&a=2')),
    REPEATED,
  );
});

test('RFC 8707 §2 the parameter resource may be repeated, its values stand one after another', () => {
  const [one, other] = ['https://one.example', 'https://other.example'];
  assert.deepEqual(entriesOf(`resource=${one}&resource=&resource=${other}`), [
    ['resource', `${one} ${other}`],
  ]);
  assert.deepEqual(entriesOf({ resource: [one, '', other] }), [['resource', `${one} ${other}`]]);
  assert.deepEqual(entriesOf({ resource: one }), [['resource', one]]);
  assert.deepEqual(entriesOf({ resource: [one] }), [['resource', one]]);
  assert.deepEqual(
    refusalOf(() => entriesOf({ resource: [one, 2] })),
    NO_TEXT,
  );
});

test('RFC 6749 §3.2 names that every object has are parameters like any other', () => {
  assert.deepEqual(entriesOf('__proto__=a&constructor=b&toString=c'), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['toString', 'c'],
  ]);
  const parsed: ParsedForm = JSON.parse('{"__proto__":"a","constructor":"b"}');
  assert.deepEqual(entriesOf(parsed), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
  assert.equal(readForm(requestWith({ a: '1' })).has('toString'), false);
});

test('RFC 6749 Appendix B another media type is refused, a parameter of the media type is not', () => {
  for (const type of [
    FORM,
    `${FORM};charset=UTF-8`,
    `${FORM} ; charset=x`,
    ' APPLICATION/X-WWW-Form-Urlencoded ',
  ]) {
    assert.deepEqual(entriesOf('a=1', type), [['a', '1']], type);
    assert.deepEqual(entriesOf({ a: '1' }, type), [['a', '1']], type);
  }
  for (const type of [
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    `${FORM}2`,
    `x${FORM}`,
    ';',
  ]) {
    assert.deepEqual(
      refusalOf(() => entriesOf('a=1', type)),
      WRONG_TYPE,
      type,
    );
    assert.deepEqual(
      refusalOf(() => entriesOf({ a: '1' }, type)),
      WRONG_TYPE,
      type,
    );
  }
  assert.deepEqual(
    refusalOf(() => entriesOf('a=1', '')),
    WRONG_TYPE,
  );
});

test('RFC 6749 §3.2 a form that the host has parsed may go without a media type', () => {
  assert.deepEqual(entriesOf({ a: '1', b: '' }, ''), [['a', '1']]);
});

test('RFC 6749 §3.2 a body of exactly 64 KiB is read, one byte more is 413, in bytes and not in characters', () => {
  assert.equal(MAX_BODY_BYTES, 65_536);
  const filled = (character: string, bytes: number) => {
    const size = Buffer.byteLength(character);
    const start = `a=${'x'.repeat((bytes - 2) % size)}`;
    return start + character.repeat((bytes - start.length) / size);
  };
  for (const character of ['x', 'ä', '€', '😀', '\u0000', '\ud800']) {
    const exact = filled(character, MAX_BODY_BYTES);
    assert.equal(Buffer.byteLength(exact), MAX_BODY_BYTES);
    assert.equal(entriesOf(exact).length, 1, character);
    assert.deepEqual(
      refusalOf(() => entriesOf(`${exact}x`)),
      TOO_LARGE,
      character,
    );
  }
  assert.deepEqual(
    refusalOf(() => entriesOf('ä'.repeat(40_000), 'application/json')),
    TOO_LARGE,
  );
});

test('RFC 6749 §3.2 a form that the host has parsed is held to the same rules', () => {
  assert.deepEqual(entriesOf({ a: '1', b: '2', c: '', d: undefined, e: null }), [
    ['a', '1'],
    ['b', '2'],
  ]);
  for (const value of [
    ['1', '2'],
    ['', ''],
    [undefined, undefined],
  ]) {
    assert.deepEqual(
      refusalOf(() => entriesOf({ a: value })),
      REPEATED,
    );
  }
  // The results of parsers that interpret brackets in `a[]=1`, `a[]=`, `a[][]=1` and `a[x]=1`, none of which is a
  // parameter `a`.
  for (const value of [['1'], [''], [], [['1']], { x: '1' }]) {
    assert.deepEqual(
      refusalOf(() => entriesOf({ a: value, b: '1' })),
      NO_TEXT,
      JSON.stringify(value),
    );
  }
  for (const value of [5, 0, true, false, {}, { x: '1' }, [['1']], [5], Symbol('x'), () => 'x', 5n]) {
    assert.deepEqual(
      refusalOf(() => entriesOf({ a: value })),
      NO_TEXT,
      String(value),
    );
  }
});

// ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────

test('RFC 9112 §3.2 the path is the same for an absolute URL and for a path, without query and fragment', () => {
  for (const [url, path, query] of [
    ['/token', '/token', ''],
    ['/token?a=1', '/token', 'a=1'],
    ['/token?a=1?b=2#c?d', '/token', 'a=1?b=2'],
    ['/token#?a', '/token', ''],
    ['https://x.example/token?a=1#b', '/token', 'a=1'],
    ['http://[::1]:4000/token', '/token', ''],
    ['https://x.example', '/', ''],
    ['https://x.example?a=1', '/', 'a=1'],
    ['https://a@x.example/a/../token', '/a/../token', ''],
    ['https://x.example/%2e%2e/token', '/%2e%2e/token', ''],
    ['https://x.example\\token', '\\token', ''],
    ['//evil.example/token', '//evil.example/token', ''],
    ['*', '*', ''],
    ['', '', ''],
    ['token', 'token', ''],
  ] as const) {
    assert.deepEqual([pathOf({ url }), queryOf({ url })], [path, query], url);
  }
});

test('RFC 9110 §5.3 several lines of a header are one, joined by commas', () => {
  const request = { method: 'GET', url: '/', headers: { a: 'x', b: ['x', 'y'], c: undefined, d: [] } };
  const values = ['a', 'b', 'c', 'd', 'e'].map((name) => headerValue(request, name));
  assert.deepEqual(values, ['x', 'x, y', undefined, '', undefined]);
});

const readBearer = (request: HttpRequest) => readAccessToken(request)?.token;

test('RFC 6750 §2.1 a bearer token is read from the header, whatever the case of the scheme', () => {
  const read = (authorization: string | readonly string[]) =>
    readBearer({ method: 'GET', url: '/userinfo?access_token=query', headers: { authorization } });
  for (const header of ['Bearer a-._~+/9==', 'bearer a-._~+/9==', 'BEARER   a-._~+/9==  ']) {
    assert.equal(read(header), 'a-._~+/9==');
  }
  for (const header of [
    '',
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Bearer =',
    'Bearer a=b',
    'Bearer ä',
    'Bearera',
    'Basic eDp5',
    'a',
    'Bearer a, Bearer b',
  ]) {
    const expected = [401, 'invalid_token', 'the Authorization header carries no bearer token'];
    assert.deepEqual(
      refusalOf(() => read(header)),
      expected,
      header,
    );
  }
  assert.equal(refusalOf(() => read(['Bearer a', 'Bearer b']))[1], 'invalid_token');
});

test('RFC 6750 §2.2 without a header the form of a POST is read, and a query never', () => {
  const url = '/userinfo?access_token=query';
  const headers = { 'content-type': FORM };
  assert.equal(readBearer({ method: 'POST', url, headers, body: 'access_token=a' }), 'a');
  assert.equal(readBearer({ method: 'GET', url, headers, body: 'access_token=a' }), undefined);
  assert.equal(readBearer({ method: 'GET', url, headers: {} }), undefined);
  assert.equal(readBearer({ method: 'POST', url, headers, body: 'access_token=' }), undefined);
  const both = { ...headers, authorization: 'Bearer b' };
  assert.equal(readBearer({ method: 'POST', url, headers: both, body: 'access_token=a' }), 'b');
  const json = { method: 'POST', url, headers: { 'content-type': 'application/json' }, body: '{}' };
  assert.deepEqual(
    refusalOf(() => readBearer(json)),
    WRONG_TYPE,
  );
});

// ── Scopes and claims ─────────────────────────────────────────────────────────────────────────────────────

test('RFC 6749 §3.3 a scope token has visible ASCII characters but for quote and backslash', () => {
  for (let code = 0; code <= 0x100; code++) {
    const isAllowed = code > 0x20 && code < 0x7f && code !== 0x22 && code !== 0x5c;
    assert.equal(isScopeToken(String.fromCharCode(code)), isAllowed, `U+${code.toString(16)}`);
  }
  for (const text of ['', 'a b', 'a\n', ' a', 'ä', '😀']) assert.equal(isScopeToken(text), false);
  assert.equal(isScopeToken("https://api.example/read:all!#$%&'()*+,-./[]^_`{|}~"), true);
});

test('RFC 6749 §3.3 scopes are split at spaces and listed once, in the requested order', () => {
  assert.deepEqual(parseScope('b a b'), ['b', 'a']);
  assert.deepEqual(parseScope('  a   b '), ['a', 'b']);
  const malformed = [400, 'invalid_scope', 'the scope is malformed'];
  for (const scope of ['', ' ', 'a\tb', 'a\u00a0b', 'a"']) {
    assert.deepEqual(
      refusalOf(() => parseScope(scope)),
      malformed,
    );
  }
});

test('RFC 6749 §3.3 scopes are selected from those that are allowed, by default all of them', () => {
  const allowed = ['read', 'write'];
  assert.deepEqual(selectScopes('write', allowed), ['write']);
  assert.deepEqual(selectScopes(undefined, allowed), allowed);
  assert.deepEqual(selectScopes(undefined, allowed, ['read']), ['read']);
  assert.deepEqual(selectScopes(undefined, []), []);
  const notAllowed = [400, 'invalid_scope', 'a scope is not allowed'];
  for (const scope of ['admin', 'read admin', 'Read', 'rea', 'constructor', '__proto__']) {
    assert.deepEqual(
      refusalOf(() => selectScopes(scope, allowed)),
      notAllowed,
    );
  }
  for (const scope of ['openid', 'profile', 'email', 'address', 'phone', 'offline_access']) {
    assert.equal(isPersonalScope(scope), true);
  }
  for (const scope of ['read', 'OpenID', 'constructor']) assert.equal(isPersonalScope(scope), false);
});

test('OpenID Connect Core §5.4 a scope permits its own claims, and an unknown scope permits none', () => {
  const everything = Object.fromEntries(
    Object.values(STANDARD_CLAIMS_BY_SCOPE)
      .flat()
      .map((name) => [name, name]),
  );
  const attributes = { ...everything, password_hash: 'x', sub: 'x', iss: 'x' };
  const permitted = (...scopes: readonly string[]) =>
    Object.keys(permittedClaims(attributes, permittedNames(scopes, STANDARD_CLAIMS_BY_SCOPE)));
  assert.deepEqual(permitted(), []);
  assert.deepEqual(permitted('openid'), []);
  assert.deepEqual(permitted('email'), ['email', 'email_verified']);
  assert.deepEqual(permitted('phone', 'address', 'phone'), [
    'address',
    'phone_number',
    'phone_number_verified',
  ]);
  assert.equal(permitted('profile').length, 14);
  assert.deepEqual(permitted('Email', 'read', 'admin'), []);
});

test('OpenID Connect Core §5.3.2 a claim without a value is left out, a false or empty one is not', () => {
  const attributes = { email: undefined, email_verified: false, name: null, nickname: '', updated_at: 0 };
  const permitted = permittedClaims(
    attributes,
    permittedNames(['email', 'profile'], STANDARD_CLAIMS_BY_SCOPE),
  );
  assert.deepEqual(permitted, { email_verified: false, nickname: '', updated_at: 0 });
});

test('OpenID Connect Core §5.4 names that every object has are neither scopes nor claims', () => {
  const attributes = JSON.parse(
    '{"__proto__":{"admin":true},"constructor":"x","toString":"x","length":5,"name":"Alice"}',
  );
  const scopes = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'];
  assert.deepEqual(permittedClaims(attributes, permittedNames(scopes, STANDARD_CLAIMS_BY_SCOPE)), {});
  assert.deepEqual(permittedClaims(attributes, permittedNames(scopes, {})), {});

  // A host may use any claim names. They stay members and change no prototype.
  const own = permittedClaims(attributes, permittedNames(['odd'], { odd: ['__proto__', 'constructor'] }));
  assert.deepEqual(Object.keys(own), ['__proto__', 'constructor']);
  const asked = requestedClaims(attributes, JSON.parse('{"__proto__":null,"constructor":null}'));
  assert.deepEqual(Object.keys(asked), ['__proto__', 'constructor']);
  for (const claims of [own, asked]) {
    assert.equal(Object.getPrototypeOf(claims), Object.prototype);
    assert.equal('admin' in claims, false);
  }
});

// ── PKCE and redirect URIs ────────────────────────────────────────────────────────────────────────────────

test('RFC 7636 Appendix B the verifier of the example fits its challenge, and nothing else does', async () => {
  assert.equal(await verifierFits(VERIFIER, CHALLENGE), true);
  for (const verifier of [
    CHALLENGE,
    '',
    VERIFIER.slice(1),
    `${VERIFIER}a`,
    ` ${VERIFIER}`,
    `${VERIFIER}\n`,
  ]) {
    assert.equal(await verifierFits(verifier, CHALLENGE), false);
  }
  for (const challenge of ['', VERIFIER, CHALLENGE.slice(1), `${CHALLENGE}=`, CHALLENGE.toLowerCase()]) {
    assert.equal(await verifierFits(VERIFIER, challenge), false);
  }
});

test('RFC 7636 §4.1 a verifier has 43 to 128 unreserved characters', async () => {
  const { sha256 } = await import('../src/crypto/node.ts');
  const fits = async (verifier: string) => verifierFits(verifier, await sha256(verifier));
  for (const good of ['a'.repeat(43), 'a'.repeat(128), `-._~${'Z9'.repeat(20)}`])
    assert.equal(await fits(good), true);
  for (const bad of [
    'a'.repeat(42),
    'a'.repeat(129),
    `${'a'.repeat(42)}+`,
    `${'a'.repeat(42)}=`,
    `${'a'.repeat(42)}ä`,
  ]) {
    assert.equal(await fits(bad), false, bad);
  }
});

test('RFC 7636 §4.2 a challenge by S256 has 43 characters of base64url', () => {
  assert.equal(isS256Challenge(CHALLENGE), true);
  for (const text of [
    '',
    CHALLENGE.slice(1),
    `${CHALLENGE}A`,
    `${CHALLENGE.slice(1)}=`,
    `${CHALLENGE.slice(1)}+`,
    `${CHALLENGE}\n`,
  ]) {
    assert.equal(isS256Challenge(text), false, text);
  }
});

test('RFC 9700 §2.1 redirect URIs are compared to the letter, but for the port of a loopback address', () => {
  assert.equal(redirectUriMatches('https://a.example/cb', 'https://a.example/cb'), true);
  assert.equal(redirectUriMatches('http://127.0.0.1/cb', 'http://127.0.0.1:5/cb'), true);
  assert.equal(redirectUriMatches('http://127.0.0.1:5/cb', 'http://127.0.0.1/cb'), true);
  assert.equal(redirectUriMatches('http://[::1]:5/cb', 'http://[::1]:6/cb'), true);
  for (const [registered, requested] of [
    ['https://a.example:1/cb', 'https://a.example:2/cb'],
    ['http://localhost:1/cb', 'http://localhost:2/cb'],
    ['http://127.0.0.1/cb', 'http://[::1]/cb'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:5'],
    ['http://127.0.0.1:5/cb', 'http://127.0.0.1:5/cb?'],
    ['https://127.0.0.1:1/cb', 'https://127.0.0.1:2/cb'],
    ['http://127.0.0.1/cb', ''],
    ['', 'http://127.0.0.1/cb'],
    ['x', 'y'],
  ] as const) {
    assert.equal(redirectUriMatches(registered, requested), false, `${registered} and ${requested}`);
  }
});

test('RFC 6749 §3.1.2 a redirect URI is absolute, ASCII, without fragment, and nothing that a browser would run', () => {
  for (const uri of [
    'https://a.example/cb',
    'http://localhost:1/cb?x=1',
    'http://[::1]/',
    'com.example.app:/cb',
    'https://a.example',
  ]) {
    assert.equal(isRegistrableRedirectUri(uri), true, uri);
  }
  for (const uri of [
    '',
    '/cb',
    '//a.example/cb',
    'a.example/cb',
    'https://a.example/cb#',
    'https://a.example/#x',
    'https://a.example/c b',
    'https://a.example/cb\r\nSet-Cookie: x',
    'https://ä.example/cb',
    'https://a.example/ü',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'blob:https://a.example/x',
    'file:///etc/passwd',
    'about:blank',
    'https://',
    'https://a.example:99999/',
    'https:a.example/cb',
    'http:/localhost/cb',
    'HTTPS:///a.example/cb',
    'https:\\\\a.example/cb',
    'https://a.example\\@b.example/cb',
  ]) {
    assert.equal(isRegistrableRedirectUri(uri), false, uri);
  }
});

test('RFC 6454 §4 the origin of a redirect URI is that of the web, and a private scheme has none', () => {
  assert.equal(originOf('https://A.example:443/cb?x'), 'https://a.example');
  assert.equal(originOf('http://localhost:4001/cb'), 'http://localhost:4001');
  for (const uri of ['com.example.app:/cb', 'javascript:x', 'file:///x', 'x', ''])
    assert.equal(originOf(uri), undefined);
});

test('the prefix of an opaque value says its kind, and a longer or shorter prefix does not', () => {
  const body = 'A-z_0'.padEnd(43, 'x');
  assert.equal(opaqueKindOf(`grantd_at_${body}`), 'access_token');
  assert.equal(opaqueKindOf(`grantd_rt_${body}`), 'refresh_token');
  assert.equal(opaqueKindOf(`grantd_ac_${body}`), 'authorization_code');
  assert.equal(opaqueKindOf(`grantd_cs_${body}`), 'client_secret');
  for (const text of [
    '',
    body,
    `grantd_at_${body}x`,
    `grantd_at_${body.slice(1)}`,
    `GRANTD_AT_${body}`,
    `grantd_xx_${body}`,
    ` grantd_at_${body}`,
    `grantd_at_${body}\n`,
    `grantd_at_${body.slice(1)}=`,
  ]) {
    assert.equal(opaqueKindOf(text), undefined, text);
  }
});

// ── Challenges and errors ─────────────────────────────────────────────────────────────────────────────────

test('RFC 9110 §11.6.1 challenges are a list, their values quoted', () => {
  assert.equal(formatChallenges([]), '');
  assert.equal(formatChallenges([{ scheme: 'DPoP', parameters: {} }]), 'DPoP');
  const challenges = [
    { scheme: 'Bearer', parameters: { error: 'invalid_token', scope: undefined } },
    { scheme: 'DPoP', parameters: { algs: 'ES256 PS256', odd: 'say "hi" \\ bye, a=b' } },
  ];
  assert.equal(
    formatChallenges(challenges),
    'Bearer error="invalid_token", DPoP algs="ES256 PS256", odd="say \\"hi\\" \\\\ bye, a=b"',
  );
});

test('RFC 6750 §3 the challenge of a resource says error, description and scope; that of a client says the realm', () => {
  const error = new OAuthError('insufficient_scope', 'openid scope required', { scope: 'openid' });
  assert.equal(
    formatChallenges(bearerChallenges(error)),
    'Bearer error="insufficient_scope", error_description="openid scope required", scope="openid"',
  );
  assert.equal(
    formatChallenges(clientChallenges('https://as.example')),
    'Basic realm="https://as.example", charset="UTF-8"',
  );
});

test('RFC 6749 §5.2 every code of the catalogue has a status of an error', () => {
  for (const [code, status] of Object.entries(ERROR_STATUS)) {
    assert.match(code, /^[a-z_]+$/);
    assert.ok(status >= 400 && status < 600, code);
    const response = errorResponse(new OAuthError('invalid_request', 'x', { status }));
    assert.equal(response.status, status);
  }
});

/** Every call that creates an error, with its text up to the closing parenthesis. */
function refusalsInSource(): readonly string[] {
  const root = join(import.meta.dirname, '../src');
  const start =
    /\b(?:new OAuthError|refuse|refused|refusedScope|refusedAuthorization|invalidGrant|untrusted)\(/g;
  return globSync('**/*.ts', { cwd: root }).flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    return [...source.matchAll(start)].map(({ index }) => {
      let depth = 0;
      const from = source.indexOf('(', index);
      for (let at = from; at < source.length; at++) {
        if (source[at] === '(') depth += 1;
        if (source[at] === ')') depth -= 1;
        if (depth === 0) return source.slice(from, at);
      }
      return assert.fail(`a call in ${file} does not end`);
    });
  });
}

test('RFC 6749 §5.2 every description in the source has only the characters that a description may have', () => {
  const literals = refusalsInSource().flatMap((call) => [...call.matchAll(/'([^'\n]*)'|`([^`\n]*)`/g)]);
  const texts = literals.map(([, quoted, template]) => quoted ?? template ?? '');
  assert.ok(texts.filter((text) => text.includes(' ')).length > 40, 'the walk through the source finds them');
  for (const text of texts) {
    const withoutNames = text.replaceAll(/\$\{(?:name|[A-Z_]+)\}/g, 'name'); // a constant, in capitals
    assert.match(withoutNames, /^[\x20-\x21\x23-\x5B\x5D-\x7E]*$/, text);
    assert.equal(withoutNames.includes('${'), false, `no data of a request: ${text}`);
  }
  // Those of client metadata are in one table.
  const sentences = Object.values<(...names: string[]) => string>(METADATA_PROBLEMS);
  for (const say of sentences) assert.match(say('name', 'name'), /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/);
});

test('RFC 6749 §5.2 the one template in a description is filled with names from the source', () => {
  const root = join(import.meta.dirname, '../src');
  const calls = globSync('**/*.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/requireParameter\(([^)]*)\)/g)].map(
      ([, args = '']) => args,
    ),
  );
  const fromSource = calls.filter((args) => !args.includes(': Form'));
  assert.ok(fromSource.length >= 5);
  for (const args of fromSource) assert.match(args, /^form, '[a-z_]+'$/);
});

test('reason codes are stable words, each explained in one sentence', () => {
  for (const [code, sentence] of Object.entries({ ...INACTIVE_REASONS, ...REFUSAL_REASONS })) {
    assert.match(code, /^[a-z_]+$/);
    assert.match(sentence, /^[A-Z].+\.$|^token_type_hint .+\.$/);
  }
  assert.match(REFUSAL_REASONS.body_too_large, new RegExp(` ${MAX_BODY_BYTES / 1024} KiB`));
  assert.match(REFUSAL_REASONS.parameters_too_long, new RegExp(` ${LONGEST_PARAMETERS} characters`));
});

test('RFC 6749 §5.2 an error response has error and error_description, and not its cause', () => {
  const cause = new Error('the password of the database is hush');
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  assert.deepEqual(errorResponse(new OAuthError('invalid_grant', 'no', { cause, reason: 'code_unknown' })), {
    status: 400,
    headers,
    body: '{"error":"invalid_grant","error_description":"no"}',
  });
  for (const thrown of [cause, 'hush', undefined, null, { status: 200, body: 'hush' }]) {
    assert.deepEqual(errorResponse(thrown), {
      status: 500,
      headers,
      body: '{"error":"server_error","error_description":"an unexpected error"}',
    });
  }
});

test('RFC 6749 §5.2 a refusal keeps everything about it when headers are added', () => {
  const cause = new Error('x');
  const details = {
    status: 418,
    reason: 'unexpected',
    scope: 's',
    clientId: 'c',
    redirectTo: '/x',
    cause,
  } as const;
  const error = new OAuthError('invalid_request', 'x', { ...details, headers: { a: '1' } });
  const more = error.withHeaders({ b: ['2', '3'] });
  const { status, reason, scope, clientId, redirectTo, code, description } = more;
  assert.deepEqual({ status, reason, scope, clientId, redirectTo, cause: more.cause }, details);
  const uncached = { 'cache-control': 'no-store' };
  assert.deepEqual([code, description], ['invalid_request', 'x']);
  assert.deepEqual(more.headers, { ...uncached, a: '1', b: ['2', '3'] });
  assert.deepEqual(error.headers, { ...uncached, a: '1' });
});
