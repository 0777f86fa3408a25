// The endpoint that tells gateways by its status whether a request may pass (ADR 176).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportJWK } from 'jose';
import { type MadeCertificate, newCertificate } from '../../core/test/harness/certificates.ts';
import { headerText } from '../src/gateways/exchange.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { dpopKey } from './harness/dpop_key.ts';
import { grantd, type RunningServer, Workbench } from './harness/program.ts';
import { basic, postForm, type Tokens } from './harness/protocol.ts';
import { askOverTls, serverCertificate } from './harness/tls.ts';

const API = 'http://localhost:4003';
const OTHER_API = 'https://other.example';
const GATEWAY = { 'x-grantd-client': basic('demo-api', 'demo-api-secret') };

const CONFIG = {
  tokenCheck: true,
  tokenCheckHeaders: ['sub', 'client_id', 'scope', 'known_as'],
  tokenCheckAudiences: [OTHER_API],
  tokenCheckRequest: 'forwarded',
  applicationClaims: { known_as: { from: 'name', in: ['access_token'] } },
};

const ORIGINAL = {
  'x-forwarded-method': 'POST',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'api.example',
  'x-forwarded-uri': '/orders?page=2',
};

interface Checked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A check as the gateway of the demo’s API. */
async function checked(
  server: RunningServer,
  token: string | undefined,
  {
    query = '',
    headers = GATEWAY,
    method = 'GET',
  }: { query?: string; headers?: object; method?: string } = {},
): Promise<Checked> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${server.url}/token/check${query}`, {
    method,
    headers: { ...ORIGINAL, ...authorization, ...headers } as Record<string, string>,
  });
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.ok(response.headers.get('x-request-id'));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function machineToken(server: RunningServer, form: object = {}, dpop?: string): Promise<string> {
  const response = await fetch(`${server.url}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'api:read',
      resource: API,
      ...form,
    }),
    headers: {
      authorization: basic('demo-machine', 'demo-machine-secret'),
      ...(dpop !== undefined && { dpop }),
    },
  });
  const { access_token } = (await response.json()) as Tokens;
  return access_token;
}

for (const database of DATABASES) {
  describe(`a check for a gateway with ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    const command = (...args: string[]) => grantdPrints(server.folder, args);
    before(async () => {
      const folder = await workbench.home();
      writeFileSync(join(folder, 'grantd.json'), JSON.stringify(CONFIG));
      server = await workbench.start(folder, ['--demo', '--config', 'grantd.json']);
    });

    test('204 with what the API may know, and no body', async () => {
      const token = await machineToken(server);
      for (const method of ['GET', 'HEAD']) {
        const { status, headers, text } = await checked(server, token, { method, query: '?scope=api:read' });
        assert.deepEqual([status, text, headers.get('content-length')], [204, '', null]);
        const sent = [...headers].filter(([name]) => name.startsWith('x-auth-'));
        assert.deepEqual(Object.fromEntries(sent), {
          'x-auth-sub': 'demo-machine',
          'x-auth-client-id': 'demo-machine',
          'x-auth-scope': 'api:read',
          'x-auth-known-as': '',
        });
      }
      const line = await server.logged(({ operation }) => operation === 'token_check', 'that it was checked');
      assert.deepEqual([line.clientId, line.status], ['demo-api', 204]);
    });

    test('401 with a challenge for what is no token, and 403 for what it lacks', async () => {
      const token = await machineToken(server);
      const missing = await checked(server, undefined, { query: '?scope=api:read' });
      assert.equal(missing.headers.get('www-authenticate'), challenged('scope="api:read"'));
      assert.deepEqual([missing.status, missing.text], [401, '']);
      for (const authorization of ['Bearer', 'Bearer a b', 'Bearer x', 'Basic eDp5', `Bearer ${token}x`]) {
        const answer = await checked(server, undefined, { headers: { ...GATEWAY, authorization } });
        assert.equal(answer.status, 401, authorization);
        assert.match(
          answer.headers.get('www-authenticate') ?? '',
          /^DPoP .*, Bearer |^Bearer /,
          authorization,
        );
      }
      const lacking = await checked(server, token, { query: '?scope=api:read&scope=api:write' });
      assert.equal(lacking.status, 403);
      assert.match(
        lacking.headers.get('www-authenticate') ?? '',
        /error="insufficient_scope".*scope="api:read api:write"/,
      );
      const elsewhere = await checked(server, token, { query: `?audience=${OTHER_API}` });
      assert.equal(elsewhere.status, 403);
      assert.match(elsewhere.headers.get('www-authenticate') ?? '', /insufficient_scope.*another API/);
      const named = await checked(server, token, { query: `?audience=${API}` });
      assert.equal(named.status, 204);
    });

    test('two tokens in one request are no token', async () => {
      const token = await machineToken(server);
      const status = await new Promise((resolve, reject) => {
        const headers = Object.entries({ host: 'localhost', ...ORIGINAL, ...GATEWAY }).flat();
        const lines = ['authorization', `Bearer ${token}`, 'authorization', `Bearer ${token}`];
        request(`${server.url}/token/check`, { headers: [...headers, ...lines] })
          .once('response', (response) => resolve(response.resume().statusCode))
          .once('error', reject)
          .end();
      });
      assert.equal(status, 401);
      const inUrl = { ...GATEWAY, 'x-forwarded-uri': '/orders?access_token=x' };
      assert.equal((await checked(server, token, { headers: inUrl })).status, 401);
    });

    test('a gateway that is not known or asks wrongly gets no answer about the token', async () => {
      const token = await machineToken(server);
      const added = async (...args: string[]) =>
        JSON.parse(await command('client', 'add', ...args, '--json')).client_secret as string;
      const other = await added('other-api', '--resource', OTHER_API);
      const as = (id: string, secret: string) => ({ headers: { 'x-grantd-client': basic(id, secret) } });
      const answers: Readonly<Record<string, Parameters<typeof checked>[2] & object>> = {
        nobody: { headers: {} },
        'a wrong secret': as('demo-api', 'wrong'),
        'no secret': as('demo-api', ''),
        'its name alone': { headers: { 'x-grantd-client': 'demo-api' } },
        'the name of a public client': { headers: { 'x-grantd-client': 'demo-spa' } },
        'a public client': as('demo-spa', ''),
        'a client that is no API': as('demo-machine', 'demo-machine-secret'),
        'an audience of another': { ...as('other-api', other), query: `?audience=${API}` },
        'an audience that is not allowed': { query: '?audience=https://secret.example' },
      };
      for (const [who, how] of Object.entries(answers)) {
        const { status, headers } = await checked(server, token, how);
        assert.deepEqual([status, headers.get('www-authenticate')], [403, null], who);
      }
      assert.equal((await checked(server, token, as('other-api', other))).status, 401, 'its own audience');
      for (const query of [
        '?scopes=a',
        '?scope=',
        '?audience=',
        '?scope=%22',
        `?audience=${API}&audience=${API}`,
      ])
        assert.equal((await checked(server, token, { query })).status, 400, query);
      assert.equal((await checked(server, token, { method: 'POST' })).status, 405);
      const { 'x-forwarded-uri': _, ...without } = { ...ORIGINAL, ...GATEWAY };
      const response = await fetch(`${server.url}/token/check`, {
        headers: { ...without, authorization: `Bearer ${token}` },
      });
      assert.equal(response.status, 400);
    });

    test('Envoy appends the path: any method, 200, and nothing in it counts as a requirement', async () => {
      const token = await machineToken(server);
      for (const method of ['GET', 'POST', 'DELETE']) {
        const query = '?scope=api:read&uri=/orders?scope=api:write&audience=x&uri=y';
        assert.equal((await checked(server, token, { method, query })).status, 200, method);
      }
      const query = '?scope=api:write&uri=/orders';
      assert.equal((await checked(server, token, { query })).status, 403);
    });

    test('a name cannot add a header, and what a client writes into X-Auth-Sub does not come back', async () => {
      const claim = 'name=Zoë\r\nX-Auth-Scope: admin';
      await grantdPrints(
        server.folder,
        ['user', 'add', 'zoe', '--password-stdin', '--claim', claim],
        'correct horse',
      );
      await command('client', 'update', 'demo-machine', '--scope', 'api:read', '--scope', 'api:write');
      const issued = ['token', 'issue', '--client', 'demo-spa', '--user', 'zoe', '--scope', 'api:read'];
      const token = (await command(...issued, '--config', 'grantd.json')).trim();
      const headers = { ...GATEWAY, 'x-auth-sub': 'admin', 'x-auth-known-as': 'admin' };
      const answer = await checked(server, token, { headers });
      assert.equal(answer.status, 204, answer.text);
      assert.equal(answer.headers.get('x-auth-known-as'), 'Zo%C3%AB%0D%0AX-Auth-Scope:%20admin');
      assert.equal(answer.headers.get('x-auth-scope'), 'api:read');
      assert.notEqual(answer.headers.get('x-auth-sub'), 'admin');
      await command('user', 'disable', 'zoe');
      assert.equal((await checked(server, token)).status, 401, 'a disabled user');
    });

    test('a token bound to a key needs a proof for what the client requested, and each proof counts once', async () => {
      const { proof } = await dpopKey();
      const token = await machineToken(server, {}, await proof('POST', `${server.url}/token`));
      const with_ = (dpop: string, scheme = 'DPoP') =>
        checked(server, undefined, { headers: { ...GATEWAY, authorization: `${scheme} ${token}`, dpop } });
      const proofFor = (method: string, url: string) => proof(method, url, token);
      const right = await proofFor('POST', 'https://api.example/orders');
      assert.equal((await with_(right)).status, 204);
      assert.equal((await with_(right)).status, 401, 'again');
      for (const [method, url] of [
        ['GET', 'https://api.example/orders'],
        ['POST', 'https://api.example/others'],
        ['POST', 'https://other.example/orders'],
        ['GET', `${server.url}/token/check`],
      ] as const) {
        const { status, headers } = await with_(await proofFor(method, url));
        assert.equal(status, 401, `${method} ${url}`);
        assert.match(headers.get('www-authenticate') ?? '', /^DPoP .*error="invalid_dpop_proof"/);
      }
      const stolen = await with_(await proofFor('POST', 'https://api.example/orders'), 'Bearer');
      assert.equal(stolen.status, 401, 'as a bearer token');
    });

    test('a token that was revoked is refused by the next check', async () => {
      const token = await machineToken(server);
      assert.equal((await checked(server, token)).status, 204);
      await postForm(`${server.url}/token/revoke`, { token }, basic('demo-machine', 'demo-machine-secret'));
      const { status, headers } = await checked(server, token);
      assert.equal(status, 401);
      assert.match(headers.get('www-authenticate') ?? '', /error="invalid_token"/);
    });

    test('an outage is 503, and passes no token', async () => {
      const token = await machineToken(server);
      const tokens = `${database.schema}tokens`;
      await database.run(server.folder, `ALTER TABLE ${tokens} RENAME TO gone_tokens`);
      try {
        const { status, headers } = await checked(server, token);
        assert.deepEqual([status, headers.has('retry-after')], [503, true]);
        assert.equal(headers.get('x-auth-sub'), null);
      } finally {
        await database.run(server.folder, `ALTER TABLE ${database.schema}gone_tokens RENAME TO tokens`);
      }
      assert.equal((await checked(server, token)).status, 204);
    });
  });
}

describe('gateways without a secret', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  test('a trusted address needs no credentials, but an audience; credentials count first', async () => {
    const flags = ['--token-check', '--token-check-from', '127.0.0.1', '--token-check-audiences', API];
    const server = await workbench.start(await workbench.home(), ['--demo', ...flags]);
    const token = await machineToken(server);
    const query = `?audience=${API}`;
    const statusOf = async (how: Parameters<typeof checked>[2]) => (await checked(server, token, how)).status;
    assert.equal(await statusOf({ headers: {}, query }), 204);
    assert.equal(await statusOf({ headers: { 'x-forwarded-for': '203.0.113.7' }, query }), 204);
    assert.equal(await statusOf({ headers: {} }), 400);
    assert.equal(await statusOf({ headers: {}, query: '?audience=https://secret.example' }), 403);
    const wrong = { 'x-grantd-client': basic('demo-api', 'wrong') };
    assert.equal(await statusOf({ headers: wrong, query }), 403);
  });

  test('another address is no gateway, whatever it says about itself', async () => {
    const flags = ['--token-check', '--token-check-from', '127.0.0.2', '--token-check-audiences', API];
    const server = await workbench.start(await workbench.home(), ['--demo', ...flags]);
    const headers = { 'x-forwarded-for': '127.0.0.2', 'x-real-ip': '127.0.0.2', forwarded: 'for=127.0.0.2' };
    const answer = await checked(server, await machineToken(server), { headers, query: `?audience=${API}` });
    assert.equal(answer.status, 403);
  });

  test('RFC 8705 §3 a gateway has a certificate of its own, and passes that of its client', async () => {
    const site = await serverCertificate();
    const [own, callers, thief] = [await newCertificate(), await newCertificate(), await newCertificate()];
    const folder = workbench.folder();
    writeFileSync(join(folder, 'tls.pem'), site.pem.cert, { mode: 0o600 });
    writeFileSync(join(folder, 'tls.key'), site.pem.key, { mode: 0o600 });
    const server = await workbench.start(folder, [
      ...['--tls-certificate', 'tls.pem', '--tls-key', 'tls.key', '--mtls-port', '0', '--token-check'],
      ...['--issuer', 'https://localhost', '--token-check-certificate-header', 'X-Client-Cert'],
    ]);
    const add = async (id: string, certificate: MadeCertificate, ...flags: string[]) => {
      const x5c = [certificate.certificate.toString('base64')];
      const jwk = { ...(await exportJWK(certificate.keys.publicKey)), x5c };
      writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [jwk] }));
      const method = [
        '--auth-method',
        'self_signed_tls_client_auth',
        '--jwks-file',
        join(folder, 'keys.json'),
      ];
      await grantdPrints(folder, ['client', 'add', id, ...method, ...flags]);
    };
    await add('gateway', own, '--resource', OTHER_API);
    await add(
      ...([
        'caller',
        callers,
        '--grant',
        'client_credentials',
        '--scope',
        'read',
        '--api',
        OTHER_API,
      ] as const),
      '--tls-client-certificate-bound-access-tokens',
    );
    const port = server.mtlsPort ?? assert.fail();
    const form = { grant_type: 'client_credentials', client_id: 'caller', resource: OTHER_API };
    const issued = await askOverTls(site, port, '/token', { form, certificate: callers });
    const statusAt = async (at: number, gateway?: MadeCertificate, client?: MadeCertificate) => {
      const headers = {
        ...{ 'x-grantd-client': 'gateway', authorization: `Bearer ${issued.json.access_token}` },
        ...(client !== undefined && { 'x-client-cert': `:${client.certificate.toString('base64')}:` }),
      };
      const ask = { headers, ...(gateway !== undefined && { certificate: gateway }) };
      return (await askOverTls(site, at, '/token/check?scope=read', ask)).status;
    };
    assert.equal(await statusAt(port, own, callers), 204);
    for (const client of [undefined, thief, own]) assert.equal(await statusAt(port, own, client), 401);
    assert.equal(await statusAt(port, thief, callers), 403);
    assert.equal(await statusAt(port, undefined, callers), 403);
    assert.equal(await statusAt(server.port, undefined, callers), 403);
  });
});

describe('the endpoint for gateways', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  test('does not exist unless it is on', async () => {
    const server = await workbench.start(await workbench.home(), ['--demo']);
    const headers = { ...GATEWAY, authorization: `Bearer ${await machineToken(server)}` };
    const answer = await fetch(`${server.url}/token/check`, { headers });
    const unknown = await fetch(`${server.url}/token/chuck`, { headers });
    assert.deepEqual([answer.status, unknown.status], [404, 404]);
    const textOf = async (response: Response) =>
      (await response.text()).replaceAll(response.headers.get('x-request-id') ?? '-', '');
    assert.equal(await textOf(answer), (await textOf(unknown)).replaceAll('chuck', 'check'));
  });

  const REFUSED: readonly (readonly [flags: readonly string[], said: string])[] = [
    [['--token-check-from', '10.0.0.7'], '--token-check-from: expected --token-check-audiences with it'],
    [['--token-check-audiences', API], '--token-check-audiences: expected --token-check with it'],
    [['--token-check-request', 'original'], '--token-check-request: expected --token-check with it'],
    [
      ['--token-check-certificate-header', 'X-Cert'],
      '--token-check-certificate-header: expected --token-check with it',
    ],
    [
      [
        ...['--token-check', '--token-check-audiences', API, '--token-check-from', '10.0.0.0/8'],
        ...['--trusted-proxies', '192.0.2.1,10.1.2.3'],
      ],
      '--token-check-from: expected no address in --trusted-proxies, got 10.0.0.0/8: everyone behind the proxy could check tokens',
    ],
  ];
  for (const [flags, said] of REFUSED)
    test(`does not start: ${said.split(',', 1)[0]}`, async () => {
      const { code, stderr } = await grantd(workbench.folder(), ['serve', '--port', '0', ...flags]);
      assert.deepEqual([code, stderr.trim()], [2, `grantd: ${said}`]);
    });
});

test('values of headers are visible ASCII, whatever a claim contains', () => {
  const values: readonly (readonly [value: unknown, text: string])[] = [
    ['a\r\nSet-Cookie: b', 'a%0D%0ASet-Cookie:%20b'],
    ['100%', '100%25'],
    ['\u0000\u007f\ud800', '%00%7F%EF%BF%BD'],
    ['日本', '%E6%97%A5%E6%9C%AC'],
    [['staff', 'on call'], 'staff on%20call'],
    [true, 'true'],
    [{ a: 1 }, '{"a":1}'],
    [undefined, ''],
    [null, ''],
  ];
  for (const [value, text] of values) assert.equal(headerText(value), text);
});

/** A challenge to a request without a token, at an API that accepts proofs. */
function challenged(parameters: string): string {
  const algorithms = 'algs="RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519"';
  return `Bearer realm="api", ${parameters}, DPoP realm="api", ${parameters}, ${algorithms}`;
}
