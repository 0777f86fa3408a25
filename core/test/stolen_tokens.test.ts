// One story per binding, over TLS and on SQLite: a thief has everything that a user's application sent and received, but
// not its private key. The tests of each specification (rfc9449_dpop, rfc8705_bound_tokens) have the single rules.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import type { ClientMetadata } from '@grantd/core';
import { mount, tlsCertificateOf } from '@grantd/core/node';
import { AccessTokenIntrospector } from '@grantd/protect';
import { protect, tokenOf } from '@grantd/protect/node';
import { type MadeCertificate, newCertificate, thumbprintOf as thumbprint } from './harness/certificates.ts';
import { setMetadata } from './harness/client_metadata.ts';
import { type ProofChanges, proofOf, TOKEN_URL, thumbprintOf, USERINFO_URL } from './harness/dpop_proofs.ts';
import { SQLITE } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import {
  basic,
  CHALLENGE,
  CLIENTS,
  ISSUER,
  openWorld,
  secretOf,
  VERIFIER,
  type World,
} from './harness/world.ts';

const API = 'https://api.example';
const NOTES = `${API}/notes`;
const SERVER = await newCertificate({ names: [{ type: 'ip', value: '127.0.0.1' }] });
const [REDIRECT_URI] = CLIENTS.spa.redirectUris;

interface Sent {
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly certificate?: MadeCertificate | undefined;
  readonly method?: string;
}

interface Received {
  readonly status: number;
  readonly challenge: string;
  readonly body: string;
}

type Send = (path: string, sent?: Sent) => Promise<Received>;

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
}

/** Authorization server and API on one TLS port. The API introspects tokens over TLS, too. */
async function openScene(
  t: TestContext,
  metadata: ClientMetadata = {},
): Promise<{ world: World; send: Send }> {
  const world = await openWorld(t, { clientCertificates: true }, { transport: FUNCTION, store: SQLITE });
  await setMetadata(world, 'spa', { apis: [API], ...metadata });
  const endpoints = mount(world.server, { clientCertificate: tlsCertificateOf });
  const tokens = new AccessTokenIntrospector({
    issuer: ISSUER,
    audience: API,
    credentials: { clientId: 'api', clientSecret: secretOf('api') },
    clock: world.clock.read,
    fetch: async (url, { method = 'GET', headers, body }) => {
      const form = Object.fromEntries(new URLSearchParams(String(body ?? '')));
      const sent = {
        method,
        headers: Object.fromEntries(new Headers(headers)),
        ...(body != null && { form }),
      };
      const received = await send(new URL(url).pathname, sent);
      return new Response(received.body, {
        status: received.status,
        headers: { 'content-type': 'application/json' },
      });
    },
  });
  const guard = protect({
    ...{ tokens, scopes: ['read'], clock: world.clock.read, clientCertificate: tlsCertificateOf },
    dpop: { baseUrl: API },
  });
  const ca = SERVER.pem.cert;
  const server = createServer(
    { ...SERVER.pem, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      if (!request.url?.startsWith('/notes')) void endpoints(request, response);
      else void guard(request, response, () => response.end(tokenOf(request).sub));
    },
  );
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const send: Send = async (
    path,
    { form, headers = {}, certificate, method = form ? 'POST' : 'GET' } = {},
  ) => {
    const request = httpsRequest({
      ...{ host: '127.0.0.1', port, ca, agent: false, path, method },
      ...certificate?.pem,
      headers: { ...(form && { 'content-type': 'application/x-www-form-urlencoded' }), ...headers },
    });
    request.end(form && new URLSearchParams(form).toString());
    const [response] = await once(request, 'response');
    const challenge = response.headers['www-authenticate'] ?? '';
    return { status: response.statusCode, challenge, body: await text(response) };
  };
  return { world, send };
}

/** A code for the application `spa`, which has no secret. */
async function codeFor(world: World, parameters: Readonly<Record<string, string>> = {}): Promise<string> {
  const query = new URLSearchParams({
    ...{ client_id: 'spa', response_type: 'code', redirect_uri: REDIRECT_URI, scope: 'openid read' },
    ...{ code_challenge: CHALLENGE, code_challenge_method: 'S256', resource: API, ...parameters },
  });
  const url = `/authorize?${query}`;
  const request = await world.server.authorization.validate({ method: 'GET', url, headers: {} });
  const { headers } = await world.server.authorization.complete(request, { subject: 'alice' });
  return new URL(String(headers.location)).searchParams.get('code') ?? assert.fail('no code');
}

/** What redeems a code. The thief has the verifier, too. */
function codeForm(code: string) {
  const grant = { grant_type: 'authorization_code', client_id: 'spa', code };
  return { ...grant, code_verifier: VERIFIER, redirect_uri: REDIRECT_URI };
}

function refreshForm({ refresh_token }: Tokens) {
  return { grant_type: 'refresh_token', client_id: 'spa', refresh_token };
}

function tokensIn({ status, body }: Received): Tokens {
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

/** A token whose signature is over other claims. */
function changed(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  delete claims.cnf;
  return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
}

/** What an API learns about a token. */
async function introspected(send: Send, token: string): Promise<Record<string, unknown>> {
  const { status, body } = await send('/token/introspect', {
    form: { token },
    headers: { authorization: basic('api') },
  });
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

/** What a thief without a client's credentials gets from introspection, and with those of another client from revocation. */
async function assertNothingLearntOrEnded(
  send: Send,
  { access_token, refresh_token }: Tokens,
): Promise<void> {
  for (const token of [access_token, refresh_token]) {
    const asked = await send('/token/introspect', { form: { token, client_id: 'spa' } });
    assert.equal(asked.status, 401, asked.body);
    assert.doesNotMatch(asked.body, /active/);
    const headers = { authorization: basic('web') };
    const revoked = await send('/token/revoke', { form: { token }, headers });
    assert.deepEqual([revoked.status, revoked.body], [200, '']);
    assert.equal((await introspected(send, token)).active, true);
  }
}

/** With the application's identifier, which is public, a thief can end its tokens. Nothing more comes of them. */
async function assertOnlyAnEndIsLeft(send: Send, { access_token, refresh_token }: Tokens): Promise<void> {
  const ended = await send('/token/revoke', { form: { token: refresh_token, client_id: 'spa' } });
  assert.deepEqual([ended.status, ended.body], [200, '']);
  for (const token of [access_token, refresh_token])
    assert.deepEqual(await introspected(send, token), { active: false });
}

test('RFC 9449 §1 a thief without the key gets nothing for a stolen code, token or proof', async (t) => {
  const { world, send } = await openScene(t);
  const jkt = await thumbprintOf();
  const proof = (changes?: ProofChanges) => proofOf(world, changes);

  // The code of a request that named the key (RFC 9449 §10), with its verifier
  const code = await codeFor(world, { dpop_jkt: jkt });
  const redeem = async (dpop?: string) =>
    send('/token', { form: codeForm(code), ...(dpop !== undefined && { headers: { dpop } }) });
  const firstProof = await proof();
  const refusals: string[] = [];
  for (const dpop of [
    undefined,
    await proof({ key: 'of a thief' }),
    await proof({ htu: USERINFO_URL, htm: 'GET' }),
  ]) {
    const { status, body } = await redeem(dpop);
    assert.equal(status, 400, body);
    refusals.push(JSON.parse(body).error);
  }
  assert.deepEqual(refusals, ['invalid_dpop_proof', 'invalid_grant', 'invalid_dpop_proof']);
  const tokens = tokensIn(await redeem(firstProof));
  assert.equal(tokens.token_type, 'DPoP');
  const { access_token: token } = tokens;

  // The access token, at UserInfo and at an API
  const other = tokensIn(
    await send('/token', { form: codeForm(await codeFor(world)), headers: { dpop: await proof() } }),
  );
  for (const [path, htu, elsewhere] of [
    ['/userinfo', USERINFO_URL, NOTES],
    ['/notes', NOTES, USERINFO_URL],
  ] as const) {
    const sent = (dpop: string | undefined, scheme = 'DPoP', presented = token) =>
      send(path, {
        headers: { authorization: `${scheme} ${presented}`, ...(dpop !== undefined && { dpop }) },
      });
    const own = { htm: 'GET', htu, token };
    const used = await proof(own);
    const { status, body } = await sent(used);
    assert.equal(status, 200, body);
    assert.match(body, /alice/);
    const withoutCnf = changed(token);
    const attempts: Readonly<Record<string, readonly [Received, string]>> = {
      'the proof of the same request': [await sent(used), 'invalid_dpop_proof'],
      'a proof for the other endpoint': [
        await sent(await proof({ ...own, htu: elsewhere })),
        'invalid_dpop_proof',
      ],
      'a proof for the token endpoint': [await sent(firstProof), 'invalid_dpop_proof'],
      'a proof for another method': [
        await sent(await proof({ ...own, htm: 'DELETE' })),
        'invalid_dpop_proof',
      ],
      'a proof without ath': [await sent(await proof({ htm: 'GET', htu })), 'invalid_dpop_proof'],
      'a proof for another token': [
        await sent(await proof({ ...own, token: other.access_token })),
        'invalid_dpop_proof',
      ],
      'a proof by another key': [await sent(await proof({ ...own, key: 'of a thief' })), 'invalid_token'],
      'no proof': [await sent(undefined), 'invalid_dpop_proof'],
      'as a bearer token': [await sent(undefined, 'Bearer'), 'invalid_token'],
      'as a bearer token with a proof': [await sent(await proof(own), 'Bearer'), 'invalid_token'],
      'without its cnf': [await sent(undefined, 'Bearer', withoutCnf), 'invalid_token'],
      'without its cnf, by another key': [
        await sent(await proof({ ...own, token: withoutCnf, key: 'of a thief' }), 'DPoP', withoutCnf),
        'invalid_token',
      ],
    };
    for (const [attempt, [{ status, challenge, body }, error]] of Object.entries(attempts)) {
      assert.deepEqual([status, JSON.parse(body).error], [401, error], `${attempt} at ${path}`);
      assert.match(challenge, new RegExp(`error="${error}"`), `${attempt} at ${path}`);
    }
  }

  // The refresh token, which is bound because the client has no secret (RFC 9449 §5)
  for (const [dpop, error] of [
    [undefined, 'invalid_dpop_proof'],
    [firstProof, 'invalid_dpop_proof'],
    [await proof({ key: 'of a thief' }), 'invalid_grant'],
    [await proof({ htu: `${ISSUER}/par` }), 'invalid_dpop_proof'],
  ] as const) {
    const headers = dpop === undefined ? {} : { dpop };
    const { status, body } = await send('/token', { form: refreshForm(tokens), headers });
    assert.deepEqual([status, JSON.parse(body).error], [400, error]);
  }

  // Introspection tells the API to which key the token is bound (RFC 9449 §6.2), so that it is useless there without the proof.
  const { active, token_type, cnf } = await introspected(send, token);
  assert.deepEqual({ active, token_type, cnf }, { active: true, token_type: 'DPoP', cnf: { jkt } });
  assert.deepEqual((await introspected(send, tokens.refresh_token)).cnf, { jkt });
  assert.deepEqual(await introspected(send, changed(token)), { active: false });

  await assertNothingLearntOrEnded(send, tokens);

  // The owner has noticed nothing.
  for (const [path, htu] of [
    ['/userinfo', USERINFO_URL],
    ['/notes', NOTES],
  ] as const) {
    const dpop = await proof({ htm: 'GET', htu, token });
    assert.equal((await send(path, { headers: { authorization: `DPoP ${token}`, dpop } })).status, 200);
  }
  const headers = { dpop: await proof({ htu: TOKEN_URL }) };
  const refreshed = tokensIn(await send('/token', { form: refreshForm(tokens), headers }));
  assert.equal(refreshed.token_type, 'DPoP');
  await assertOnlyAnEndIsLeft(send, refreshed);
});

test('RFC 8705 §3 a thief without the certificate’s key gets nothing for a stolen code or token', async (t) => {
  const { world, send } = await openScene(t, { tls_client_certificate_bound_access_tokens: true });
  const own = await newCertificate({ subject: [{ CN: ['application'] }] });
  const thief = await newCertificate({ subject: [{ CN: ['application'] }] });
  const cnf = { 'x5t#S256': await thumbprint(own) };

  const form = codeForm(await codeFor(world));
  const withoutCertificate = await send('/token', { form });
  assert.deepEqual(
    [withoutCertificate.status, JSON.parse(withoutCertificate.body).error],
    [400, 'invalid_request'],
  );
  const tokens = tokensIn(await send('/token', { form, certificate: own }));
  const { access_token: token } = tokens;
  assert.equal(tokens.token_type, 'Bearer');

  for (const path of ['/userinfo', '/notes']) {
    const sent = async (certificate?: MadeCertificate, authorization = `Bearer ${token}`, dpop?: string) =>
      send(path, { certificate, headers: { authorization, ...(dpop !== undefined && { dpop }) } });
    const { status, body } = await sent(own);
    assert.equal(status, 200, body);
    const htu = path === '/userinfo' ? USERINFO_URL : NOTES;
    const attempts: Readonly<Record<string, Received>> = {
      'no certificate': await sent(),
      'a certificate with the same name': await sent(thief),
      'with a proof': await sent(thief, `DPoP ${token}`, await proofOf(world, { htm: 'GET', htu, token })),
      'without its cnf': await sent(thief, `Bearer ${changed(token)}`),
      'without its cnf or a certificate': await sent(undefined, `Bearer ${changed(token)}`),
    };
    for (const [attempt, { status, challenge, body }] of Object.entries(attempts)) {
      assert.deepEqual([status, JSON.parse(body).error], [401, 'invalid_token'], `${attempt} at ${path}`);
      assert.match(challenge, /error="invalid_token"/, `${attempt} at ${path}`);
    }
  }

  for (const certificate of [undefined, thief]) {
    const { status, body } = await send('/token', { form: refreshForm(tokens), certificate });
    assert.equal(status, 400, body);
  }

  const found = await introspected(send, token);
  assert.deepEqual([found.active, found.token_type, found.cnf], [true, 'Bearer', cnf]);
  assert.deepEqual((await introspected(send, tokens.refresh_token)).cnf, cnf);
  await assertNothingLearntOrEnded(send, tokens);

  const refreshed = tokensIn(await send('/token', { form: refreshForm(tokens), certificate: own }));
  assert.deepEqual((await introspected(send, refreshed.access_token)).cnf, cnf);
  await assertOnlyAnEndIsLeft(send, refreshed);
});
