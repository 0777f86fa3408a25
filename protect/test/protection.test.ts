import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  AccessTokenIntrospector,
  type AccessTokens,
  AuthorizationServerFault,
  ConfigurationError,
  type ProtectionOptions,
} from '@grantd/protect';
import { metadata, protect } from '@grantd/protect/fetch';
import { type NestRequest, protect as nestProtect } from '@grantd/protect/nest';
import { protect as nodeProtect, tokenOf } from '@grantd/protect/node';
import type { TestRequest, TestResponse } from '../../core/test/harness/transports/transport.ts';
import { ISSUER, openWorld } from '../../core/test/harness/world.ts';
import { PROTECTED_HOSTS } from './harness/protected_hosts.ts';
import type { ProtectedHost } from './harness/protected_web_hosts.ts';
import { API, AskedServer, apiToken, CREDENTIALS, OUTAGES } from './harness/resource_server.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** A protected API in one host, with its authorization server. */
async function openApi(t: TestContext, host: ProtectedHost, options: Partial<ProtectionOptions> = {}) {
  const world = await openWorld(t);
  const asked = new AskedServer(world);
  const tokens = new AccessTokenIntrospector({
    issuer: ISSUER,
    audience: API,
    credentials: CREDENTIALS,
    fetch: asked.fetch,
    clock: world.clock.read,
  });
  const api = await host.open({ tokens, scopes: ['read'], onFault: () => {}, ...options });
  t.after(() => api.close());
  const get = (headers: Readonly<Record<string, string>> = {}, changes: Partial<TestRequest> = {}) =>
    api.send({ method: 'GET', path: '/notes', headers, ...changes });
  const withToken = (token: string) => get({ authorization: `Bearer ${token}` });
  return { world, asked, get, withToken };
}

/** The right response to a refusal, in any framework. */
function refused(status: number, error: string, description: string, scope = 'read'): TestResponse {
  const challenge = `Bearer realm="api", error="${error}", error_description="${description}", scope="${scope}"`;
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'www-authenticate': challenge,
    },
    body: JSON.stringify({ error, error_description: description }),
  };
}

const UNAVAILABLE: TestResponse = {
  status: 503,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '1' },
  body: '{"error":"temporarily_unavailable","error_description":"the access token cannot be checked at the moment"}',
};

const MALFORMED = refused(400, 'invalid_request', 'the Authorization header carries no bearer token');
const REPEATED = refused(400, 'invalid_request', 'the access token was sent in more than one way');

/** Frameworks differ in their headers for an empty body. */
function bare({ status, headers: { 'content-type': _, ...headers }, body }: TestResponse): TestResponse {
  return { status, headers, body };
}

function missing(challenge = 'Bearer realm="api", scope="read"'): TestResponse {
  return { status: 401, headers: { 'cache-control': 'no-store', 'www-authenticate': challenge }, body: '' };
}

for (const host of PROTECTED_HOSTS) {
  describe(`a protected API in ${host.name}`, () => {
    test('a token that permits the request lets it through, and the handler knows whose it is', async (t) => {
      const { world, withToken, get } = await openApi(t, host);
      const token = await apiToken(world, 'read write');
      const notes = '{"sub":"machine","clientId":"machine","scopes":["read","write"]}';
      const { status, body } = await withToken(token);
      assert.deepEqual({ status, body }, { status: 200, body: notes });
      assert.equal((await get({ authorization: `bearer  ${token} ` })).body, notes);
    });

    test('RFC 6750 §3.1 without credentials the challenge says nothing of an error', async (t) => {
      const { get } = await openApi(t, host);
      assert.deepEqual(bare(await get()), missing());
      assert.deepEqual(bare(await get({ authorization: 'Basic YTpi' })), missing());
      assert.deepEqual(bare(await get({}, { path: '/notes?access_token=abc' })), missing());
      assert.deepEqual(bare(await get({}, { method: 'HEAD' })), missing());
    });

    test('RFC 6750 §3.1 a malformed header is 400 invalid_request', async (t) => {
      const { world, get } = await openApi(t, host);
      const token = await apiToken(world);
      for (const authorization of [
        'Bearer',
        `Bearer ${token}, Bearer ${token}`,
        `Bearer ${token} more`,
        'Bearer ü',
      ]) {
        assert.deepEqual(await get({ authorization }), MALFORMED, authorization);
      }
    });

    test('RFC 6750 §3.1 a token that is sent in two ways is 400 invalid_request', async (t) => {
      const { world, get } = await openApi(t, host);
      const token = await apiToken(world);
      const authorization = `Bearer ${token}`;
      for (const name of ['access_token', 'access%5Ftoken'])
        assert.deepEqual(await get({ authorization }, { path: `/notes?x=1&${name}=${token}` }), REPEATED);
      if (!host.parsesForms) return;
      const posted = { method: 'POST', body: `access_token=${token}` };
      assert.deepEqual(await get({ ...FORM, authorization }, posted), REPEATED);
      assert.deepEqual(await get(FORM, { ...posted, path: `/notes?access_token=${token}` }), REPEATED);
    });

    test('RFC 6750 §3.1 an invalid token is 401 invalid_token', async (t) => {
      const { world, withToken } = await openApi(t, host);
      const token = await apiToken(world);
      await world.revoke(token, 'machine');
      assert.deepEqual(
        await withToken(token),
        refused(401, 'invalid_token', 'the access token is not active'),
      );
    });

    test('RFC 6750 §3.1 a token without the scopes is 403 insufficient_scope, and the challenge names them', async (t) => {
      const { world, withToken } = await openApi(t, host, { scopes: ['read', 'write'] });
      assert.deepEqual(
        await withToken(await apiToken(world, 'read')),
        refused(403, 'insufficient_scope', 'the access token lacks a required scope', 'read write'),
      );
    });

    test('an outage of the authorization server is 503, never 401', async (t) => {
      const { world, asked, withToken } = await openApi(t, host);
      const token = await apiToken(world);
      asked.outage = OUTAGES[0];
      assert.deepEqual(await withToken(token), UNAVAILABLE);
    });

    test('refusals and outages reach the host’s own error handling if it wants them, with the challenge', async (t) => {
      const { world, asked, get, withToken } = await openApi(t, host, { errors: 'forward' });
      const token = await apiToken(world);
      const told = async (response: Promise<TestResponse>) => {
        const { status, body } = await response;
        return { status, ...JSON.parse(body) };
      };
      const { name, status, challenge, cacheControl } = await told(get());
      assert.deepEqual([name, status, challenge], ['OAuthError', 401, missing().headers['www-authenticate']]);
      assert.equal(cacheControl, 'no-store');
      asked.outage = OUTAGES[0];
      assert.deepEqual(await told(withToken(token)), {
        name: 'AuthorizationServerFault',
        status: 503,
        cacheControl: 'no-store',
      });
    });

    test('an error that is neither a refusal nor an outage is the host’s', async (t) => {
      const tokens: AccessTokens = { verify: () => Promise.reject(new RangeError('a mistake')) };
      const { withToken } = await openApi(t, host, { tokens });
      const { status, body } = await withToken('token');
      assert.deepEqual([status, JSON.parse(body).name], [418, 'RangeError']);
    });

    test('RFC 9728 §5.1 the challenge names the metadata of the API if it has any', async (t) => {
      const resourceMetadata = `${API}/.well-known/oauth-protected-resource`;
      const { get, withToken } = await openApi(t, host, { resourceMetadata, realm: 'the "notes"' });
      const realm = 'Bearer realm="the \\"notes\\""';
      assert.deepEqual(
        bare(await get()),
        missing(`${realm}, scope="read", resource_metadata="${resourceMetadata}"`),
      );
      const { headers } = await withToken('unknown');
      assert.equal(
        headers['www-authenticate'],
        `${realm}, error="invalid_token", error_description="the access token is not active", scope="read", resource_metadata="${resourceMetadata}"`,
      );
    });

    test('RFC 9728 §3 the API serves its metadata, in the form with its path and at the root', async (t) => {
      const world = await openWorld(t);
      const audience = 'https://api.example/notes';
      const tokens = new AccessTokenIntrospector({
        ...{ issuer: ISSUER, audience, credentials: CREDENTIALS, clock: world.clock.read },
        fetch: new AskedServer(world).fetch,
      });
      const options = { tokens, scopes: ['read', 'write'], realm: 'Notes', resourceMetadata: true } as const;
      const api = await host.open(options);
      t.after(() => api.close());
      const send = (method: string, path: string) => api.send({ method, path, headers: {} });
      const root = '/.well-known/oauth-protected-resource';
      const document = {
        resource: audience,
        authorization_servers: [ISSUER],
        scopes_supported: ['read', 'write'],
        bearer_methods_supported: ['header'],
        resource_name: 'Notes',
      };
      for (const path of [`${root}/notes`, root, `${root}?x=1`]) {
        const { status, headers, body } = await send('GET', path);
        assert.deepEqual([status, JSON.parse(body)], [200, document], path);
        assert.equal(headers['content-type'], 'application/json');
        assert.equal(headers['cache-control'], 'public, max-age=3600');
        assert.equal(headers['access-control-allow-origin'], '*');
      }
      assert.deepEqual([(await send('HEAD', root)).status, (await send('HEAD', root)).body], [200, '']);
      const preflight = await send('OPTIONS', `${root}/notes`);
      assert.deepEqual([preflight.status, preflight.headers['access-control-allow-headers']], [204, '*']);
      assert.equal((await send('POST', root)).status, 405);
      assert.notEqual((await send('GET', `${root}/other`)).status, 200);

      // RFC 9728 §5.1
      const url = `https://api.example${root}/notes`;
      const { headers } = await send('GET', '/notes');
      const challenge = `Bearer realm="Notes", scope="read write", resource_metadata="${url}"`;
      assert.equal(headers['www-authenticate'], challenge);
    });
  });
}

test('RFC 9728 §2 metadata need tokens that say whose they are and for which URL', () => {
  const verify = () => Promise.reject(new Error());
  for (const accepts of [undefined, { issuer: ISSUER }, { issuer: ISSUER, audience: ['notes', 'urn:notes'] }])
    assert.throws(
      () => protect({ tokens: { verify, ...(accepts && { accepts }) }, resourceMetadata: true }),
      /^ConfigurationError: resourceMetadata: expected a URL, because /,
    );
});

test('RFC 9728 §3 each audience has metadata at its path, and at the root the one without a path, or the first', async () => {
  const tokens: AccessTokens = {
    verify: () => Promise.reject(new Error()),
    accepts: {
      issuer: ISSUER,
      audience: ['urn:notes', 'https://api.example/a/?x=1', 'https://api.example/b'],
    },
  };
  const served = metadata({ tokens, dpop: { baseUrl: API, algorithms: ['ES256'] } });
  const resourceAt = async (path: string) => {
    const response = served(new Request(`https://api.example/.well-known/oauth-protected-resource${path}`));
    return response.status === 200 ? (await response.json()).resource : response.status;
  };
  assert.deepEqual(await Promise.all(['', '/a/', '/a', '/b'].map(resourceAt)), [
    'https://api.example/a/?x=1',
    'https://api.example/a/?x=1',
    404,
    'https://api.example/b',
  ]);
  const audience = ['https://api.example/a', 'https://api.example'];
  const both = metadata({ tokens: { ...tokens, accepts: { issuer: ISSUER, audience } } });
  const atRoot = both(new Request('https://api.example/.well-known/oauth-protected-resource'));
  assert.equal((await atRoot.json()).resource, 'https://api.example');
  const response = served(new Request('https://api.example/.well-known/oauth-protected-resource'));
  const { dpop_signing_alg_values_supported: algorithms } = await response.json();
  assert.deepEqual(algorithms, ['ES256']);
});

test('what else the runtime gives comes behind the token', async () => {
  const tokens: AccessTokens = {
    verify: async () => ({ sub: 'alice', clientId: 'web', scopes: [], expiresAt: undefined, claims: {} }),
  };
  const answer = protect({ tokens })(
    (_request, { sub }, env: { readonly name: string }) => new Response(sub + env.name),
  );
  const request = new Request(API, { headers: { authorization: 'Bearer x' } });
  assert.equal(await (await answer(request, { name: ' of workerd' })).text(), 'alice of workerd');
});

test('onFault gets each reason for an outage once a minute, without tokens and secrets', async (t) => {
  const world = await openWorld(t);
  const asked = new AskedServer(world);
  const { read: clock } = world.clock;
  const credentials = { clientId: 'api', clientSecret: 'the wrong secret' };
  const tokens = new AccessTokenIntrospector({ issuer: ISSUER, credentials, fetch: asked.fetch, clock });
  const answer = protect({ tokens, clock })(() => new Response());
  const authorization = `Bearer ${await apiToken(world)}`;
  const lines = linesOfConsole(t);
  const statuses: number[] = [];
  const ask = async () => {
    statuses.push((await answer(new Request(API, { headers: { authorization } }))).status);
  };

  const refused =
    'grantd: the authorization server is unavailable: the introspection endpoint answered with status 401';
  const unreached = 'grantd: the authorization server is unavailable: there was no answer';
  await ask();
  await ask();
  assert.deepEqual(lines, [refused]);
  asked.outage = OUTAGES[0];
  await ask();
  world.clock.advance(59);
  await ask();
  assert.deepEqual(lines, [refused, unreached]);
  world.clock.advance(1);
  await ask();
  await ask();
  assert.deepEqual(lines, [refused, unreached, unreached]);
  assert.deepEqual(statuses, [503, 503, 503, 503, 503, 503]);

  const refusal = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:443'), { code: 'ECONNREFUSED' });
  asked.outage = () => Promise.reject(new TypeError('fetch failed', { cause: refusal }));
  await ask();
  assert.equal(lines.at(-1), `${unreached} (ECONNREFUSED)`);
});

test('a host that listens is given the fault itself; of one that is forwarded it hears anyway', async (t) => {
  const lines = linesOfConsole(t);
  const fault = new AuthorizationServerFault(new Error('the reason'));
  const tokens: AccessTokens = { verify: () => Promise.reject(fault) };
  const told: unknown[] = [];
  const onFault = (item: unknown) => told.push(item);
  const request = new Request(API, { headers: { authorization: 'Bearer x' } });
  const [rendering, forwarding] = (['render', 'forward'] as const).map((errors) =>
    protect({ tokens, errors, onFault })(() => new Response()),
  );
  assert.equal((await rendering?.(request))?.status, 503);
  assert.deepEqual(told, [fault]);
  await assert.rejects(async () => forwarding?.(request), fault);
  assert.deepEqual([told.length, lines], [1, []]);
});

test('a host that cannot listen changes no response', async (t) => {
  const lines = linesOfConsole(t);
  const tokens: AccessTokens = { verify: () => Promise.reject(new AuthorizationServerFault('the reason')) };
  const onFault = () => {
    throw new Error('the log is full');
  };
  const answer = protect({ tokens, onFault })(() => new Response());
  const request = new Request(API, { headers: { authorization: 'Bearer x' } });
  assert.equal((await answer(request)).status, 503);
  assert.deepEqual(lines, ['onFault failed Error: the log is full']);
});

/** The output to `console.error` until the test is over. */
function linesOfConsole(t: TestContext): readonly string[] {
  const lines: string[] = [];
  const { error } = console;
  console.error = (...parts: readonly unknown[]) => {
    lines.push(parts.join(' '));
  };
  t.after(() => {
    console.error = error;
  });
  return lines;
}

test('tokenOf in an unprotected handler throws an error that says so', () => {
  assert.throws(() => tokenOf({}), TypeError);
});

test('options of a protection that do not fit are refused at once', () => {
  const tokens: AccessTokens = { verify: () => Promise.reject(new Error('unused')) };
  const cases: readonly (readonly [object, string])[] = [
    [{ scopes: ['two words'] }, 'scopes'],
    [{ realm: 'ü' }, 'realm'],
    [{ realm: '' }, 'realm'],
    [{ resourceMetadata: 'nowhere' }, 'resourceMetadata'],
    [{ errors: 'forwad' }, 'errors'],
    [{ tokens: undefined }, 'tokens'],
    [{ tokens: {} }, 'tokens'],
  ];
  for (const [change, option] of cases) {
    assert.throws(
      () => protect({ tokens, ...change }),
      (error) => error instanceof ConfigurationError && error.option === option,
      option,
    );
  }
  assert.throws(
    () => protect({ tokens, resourceMetadata: 'ftp://api.example' }),
    new ConfigurationError('resourceMetadata', 'an http or https URL'),
  );
});

test('two Authorization headers are refused, although Node shows only the first', async () => {
  const tokens: AccessTokens = { verify: () => Promise.reject(new Error('unused')) };
  const statuses: number[] = [];
  const response = { setHeader() {}, writeHead: (status: number) => statuses.push(status), end: () => {} };
  const rawHeaders = ['Authorization', 'Bearer a', 'authorization', 'Bearer b'];
  const request = { method: 'GET', url: '/', headers: { authorization: 'Bearer a' }, rawHeaders };
  await nodeProtect({ tokens })(request, response, () => assert.fail('it was let through'));
  assert.deepEqual(statuses, [400]);
});

test('Nest: two Authorization headers are refused on either platform, and a response ends the request', async () => {
  const tokens: AccessTokens = { verify: () => Promise.reject(new Error('unused')) };
  const guard = nestProtect({ tokens });
  const lines = {
    headers: { authorization: 'Bearer a' },
    rawHeaders: ['Authorization', 'Bearer a', 'authorization', 'Bearer b'],
  };
  const statuses: number[] = [];
  const outcomes: unknown[] = [];
  const note = (outcome: unknown) => outcomes.push(outcome);
  const answered = (request: NestRequest) =>
    new Promise((resolve) => {
      const ofNode = { setHeader() {}, writeHead: (status: number) => statuses.push(status), end: resolve };
      const ofFastify = { code: (status: number) => statuses.push(status), headers: () => {}, send: resolve };
      const response = 'raw' in request ? ofFastify : ofNode;
      const http = { getRequest: () => request, getResponse: () => response };
      guard.canActivate({ switchToHttp: () => http }).then(note, note);
    });
  await answered({ method: 'GET', url: '/', ...lines });
  await answered({ method: 'GET', url: '/', raw: lines });
  await new Promise((resolve) => setTimeout(resolve)); // all reports of the guard have arrived then
  assert.deepEqual([statuses, outcomes], [[400, 400], []]);
});

test('a wrapped handler of Fetch accepts the runtime’s second argument: Deno checks its length', () => {
  const tokens: AccessTokens = { verify: () => Promise.reject(new Error('nobody asks')) };
  assert.equal(protect({ tokens })(() => new Response()).length, 2);
});
