// Runs alone: Hono's server replaces the global `Request` and `Response`.
// § refers to RFC 8705.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, request as httpsRequest, type RequestOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { mount, tlsCertificateOf } from '@grantd/core/node';
import {
  AccessTokenIntrospector,
  type AccessTokens,
  AccessTokenVerifier,
  EmbeddedAccessTokens,
  type ProtectionOptions,
  type VerifiedAccessToken,
} from '@grantd/protect';
import { protect as protectFetch } from '@grantd/protect/fetch';
import { protect as protectH3, tokenOf as tokenOfH3 } from '@grantd/protect/h3';
import { protect as protectHono } from '@grantd/protect/hono';
import { protect, tokenOf } from '@grantd/protect/node';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { H3, type H3Event } from 'h3';
import { toNodeHandler } from 'h3/node';
import { type Context, Hono } from 'hono';
import { type MadeCertificate, newCertificate, presented } from '../../core/test/harness/certificates.ts';
import { setMetadata } from '../../core/test/harness/client_metadata.ts';
import { basic, CLIENTS, ISSUER, openWorld, type World } from '../../core/test/harness/world.ts';
import { PROTECTED_HOSTS } from './harness/protected_hosts.ts';
import { API, AskedServer, CREDENTIALS } from './harness/resource_server.ts';

const AUTHORITY = await newCertificate({ subject: [{ CN: ['authority'] }], isCa: true });
const OWN = await newCertificate({ subject: [{ CN: ['own'] }], issuer: AUTHORITY });
const OTHER = await newCertificate({ subject: [{ CN: ['own'] }], issuer: AUTHORITY });
const SERVER = await newCertificate({
  subject: [{ CN: ['server'] }],
  names: [{ type: 'ip', value: '127.0.0.1' }],
  issuer: AUTHORITY,
});

const BODY = '{"sub":"machine","clientId":"machine","scopes":["read"]}';
const MISSING = 'the access token is bound to a client certificate';
const WRONG = 'the access token is bound to another client certificate';

/** Every way to check tokens. */
const WAYS: Readonly<Record<string, (world: World) => AccessTokens>> = {
  offline: ({ server, clock }) =>
    new AccessTokenVerifier({
      ...{ issuer: ISSUER, audience: API, clock: clock.read },
      fetch: new AskedServer({ server }).fetch,
    }),
  'by introspection': ({ server, clock }) =>
    new AccessTokenIntrospector({
      ...{ issuer: ISSUER, audience: API, credentials: CREDENTIALS, clock: clock.read },
      fetch: new AskedServer({ server }).fetch,
    }),
  'in the same process': ({ server }) => new EmbeddedAccessTokens({ server, audience: API }),
};

/** A server whose client `machine` gets only bound tokens, and a token that is bound to `OWN`. */
async function openBound(t: TestContext): Promise<{ readonly world: World; readonly token: string }> {
  const world = await openWorld(t, { clientCertificates: true });
  const { metadata } = CLIENTS.machine;
  await setMetadata(world, 'machine', { ...metadata, tls_client_certificate_bound_access_tokens: true });
  const { status, body } = await world.server.token({
    ...{ method: 'POST', url: '/token', clientCertificate: presented(OWN) },
    headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic('machine') },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read', resource: API }).toString(),
  });
  assert.equal(status, 200, body);
  return { world, token: JSON.parse(body).access_token };
}

/** Reads the header from a request of Node or Fetch, or from what Hono or h3 make of one. */
function headerOfTheTest(host: object): string {
  const request = 'req' in host ? Object(host.req) : host;
  const { headers } = 'raw' in request ? request.raw : request;
  return String(headers instanceof Headers ? headers.get('x-of-the-test') : headers['x-of-the-test']);
}

for (const host of PROTECTED_HOSTS) {
  describe(`certificates at an API in ${host.name}`, () => {
    for (const [way, tokensOf] of Object.entries(WAYS))
      test(`§3 a bound token needs its certificate, ${way}`, async (t) => {
        const { world, token } = await openBound(t);
        const certificates: Readonly<Record<string, MadeCertificate>> = { own: OWN, other: OTHER };
        const options = {
          ...{ tokens: tokensOf(world), scopes: ['read'], clock: world.clock.read },
          /** The test sets a header for what a TLS connection would say. */
          clientCertificate: (request: object) => {
            const certificate = certificates[headerOfTheTest(request)];
            return certificate && presented(certificate);
          },
        };
        const api = await host.open(options);
        t.after(() => api.close());
        const send = (certificate: string) =>
          api.send({
            ...{ method: 'GET', path: '/notes' },
            headers: { authorization: `Bearer ${token}`, 'x-of-the-test': certificate },
          });
        const { status, body } = await send('own');
        assert.deepEqual({ status, body }, { status: 200, body: BODY });
        for (const [certificate, description] of [
          ['other', WRONG],
          ['none', MISSING],
        ] as const) {
          const refused = await send(certificate);
          assert.deepEqual(
            [refused.status, refused.headers['www-authenticate']],
            [
              401,
              `Bearer realm="api", error="invalid_token", error_description="${description}", scope="read"`,
            ],
          );
        }
      });
  });
}

test('§3 without the option clientCertificate, bound tokens are refused, also on other runtimes', async (t) => {
  const { world, token } = await openBound(t);
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  const handler = protectFetch({ tokens, scopes: ['read'], clock: world.clock.read })(() => new Response());
  const response = await handler(
    new Request(`${API}/notes`, { headers: { authorization: `Bearer ${token}` } }),
  );
  assert.equal(response.status, 401);
  assert.match(response.headers.get('www-authenticate') ?? '', /bound to a client certificate/);
});

/** Hosts that are built on Fetch, but keep Node's request. */
const ON_NODE: Readonly<Record<string, (options: ProtectionOptions) => RequestListener>> = {
  Hono: (options) => {
    const app = new Hono<{ Bindings: HttpBindings; Variables: { token: VerifiedAccessToken } }>();
    const guard = protectHono<Context<{ Bindings: HttpBindings; Variables: { token: VerifiedAccessToken } }>>(
      {
        ...options,
        clientCertificate: ({ env }) => tlsCertificateOf(env.incoming),
      },
    );
    app.get('/notes', guard, (context) => context.text(context.get('token').clientId ?? ''));
    return getRequestListener(app.fetch);
  },
  h3: (options) => {
    const app = new H3();
    const guard = protectH3<H3Event>({
      ...options,
      clientCertificate: ({ req }) => req.runtime?.node && tlsCertificateOf(req.runtime.node.req),
    });
    app.get('/notes', (event) => tokenOfH3(event).clientId, { middleware: [guard] });
    return toNodeHandler(app);
  },
};

for (const [name, listenerOf] of Object.entries(ON_NODE))
  test(`§3 over TLS, ${name} passes Node's request to tlsCertificateOf`, async (t) => {
    const { world, token } = await openBound(t);
    const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
    const ca = AUTHORITY.pem.cert;
    const server = createServer(
      { ...SERVER.pem, ca, requestCert: true, rejectUnauthorized: false },
      listenerOf({ tokens, scopes: ['read'], clock: world.clock.read }),
    );
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const send = async (certificate: MadeCertificate | undefined) => {
      const sent = httpsRequest({
        ...{ host: '127.0.0.1', port, ca, agent: false, path: '/notes' },
        ...certificate?.pem,
        headers: { authorization: `Bearer ${token}` },
      });
      sent.end();
      const [response] = await once(sent, 'response');
      return { status: response.statusCode, body: await text(response) };
    };
    assert.deepEqual(await send(OWN), { status: 200, body: 'machine' });
    for (const certificate of [OTHER, undefined]) assert.equal((await send(certificate)).status, 401);
  });

test('§3, RFC 9440 §2.2 the function of the README reads the certificate from the header of a proxy', async (t) => {
  const { world, token } = await openBound(t);
  const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8');
  const [code] = /^function clientCertificate\(.*?^}$/ms.exec(readme) ?? [];
  const clientCertificate = runInNewContext(`(${code})`, { Buffer });
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  const options = { tokens, scopes: ['read'], clock: world.clock.read, clientCertificate };
  const handler = protectFetch(options)(() => new Response());
  const statusWith = async (header?: string) => {
    const headers = new Headers({ authorization: `Bearer ${token}` });
    if (header !== undefined) headers.set('client-cert', header);
    return (await handler(new Request(`${API}/notes`, { headers }))).status;
  };
  const headerFor = (certificate: MadeCertificate) =>
    `:${Buffer.from(presented(certificate).der).toString('base64')}:`;
  assert.equal(await statusWith(headerFor(OWN)), 200);
  for (const header of [
    undefined,
    '',
    '::',
    headerFor(OTHER),
    headerFor(OWN).slice(1),
    `${headerFor(OWN)}, ${headerFor(OWN)}`,
    `${headerFor(OTHER)}, ${headerFor(OWN)}`,
  ])
    assert.equal(await statusWith(header), 401, header ?? 'no header');
});

test('§3 over TLS, tlsCertificateOf reads the certificate of the connection, at the server and at the API', async (t) => {
  const { world } = await openBound(t);
  const endpoints = mount(world.server, { clientCertificate: tlsCertificateOf });
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  const guard = protect({
    ...{ tokens, scopes: ['read'], clock: world.clock.read, clientCertificate: tlsCertificateOf },
  });
  const { pem } = SERVER;
  const ca = AUTHORITY.pem.cert;
  const server = createServer(
    { ...pem, ca, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      if (request.url !== '/notes') void endpoints(request, response);
      else guard(request, response, () => response.end(tokenOf(request).clientId));
    },
  );
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  /** A connection of its own, with a certificate or without one. */
  const send = async (certificate: MadeCertificate | undefined, options: RequestOptions, body?: string) => {
    const sent = httpsRequest({
      ...{ host: '127.0.0.1', port, ca, agent: false },
      ...certificate?.pem,
      ...options,
    });
    sent.end(body);
    const [response] = await once(sent, 'response');
    return { status: response.statusCode, body: await text(response) };
  };
  const issue = (certificate: MadeCertificate | undefined) =>
    send(
      certificate,
      {
        ...{ method: 'POST', path: '/token' },
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic('machine') },
      },
      new URLSearchParams({ grant_type: 'client_credentials', scope: 'read', resource: API }).toString(),
    );
  const refused = await issue(undefined);
  assert.deepEqual([refused.status, JSON.parse(refused.body).error], [400, 'invalid_request']);
  const issued = await issue(OWN);
  assert.equal(issued.status, 200, issued.body);
  const headers = { authorization: `Bearer ${JSON.parse(issued.body).access_token}` };
  assert.deepEqual(await send(OWN, { path: '/notes', headers }), { status: 200, body: 'machine' });
  for (const certificate of [OTHER, undefined])
    assert.equal((await send(certificate, { path: '/notes', headers })).status, 401);
  assert.equal(tlsCertificateOf({ socket: {} }), undefined, 'without TLS');
});
