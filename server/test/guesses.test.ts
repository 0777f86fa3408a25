// Callers that guess secrets or tokens are slowed down, and no one can stop what works (RFC 7662 §4; ADR 177).
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import {
  AuthorizationServer,
  DEVICE_GRANT,
  deviceAuthorization,
  EXCHANGE_GRANT,
  type NewClient,
  type ServerEvent,
  ServerSecret,
  tokenExchange,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { exportJWK, SignJWT } from 'jose';
import { newCertificate, presented } from '../../core/test/harness/certificates.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { Feed } from '../src/follow/feed.ts';
import { TokenCheck } from '../src/gateways/token_check.ts';
import { Guesses } from '../src/limits/guesses.ts';
import { logThrough, RequestLog, within } from '../src/log/log.ts';
import { requestListener } from '../src/serve/http_server.ts';
import { newSigningKey } from './harness/client_key.ts';
import { Workbench } from './harness/program.ts';
import { basic, postForm } from './harness/protocol.ts';
import { scrape } from './harness/scrape.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const ISSUER = 'https://id.example';
const SECRET = 'the right secret';
const SERVER_SECRET = 'the secret of the server, in more than 32 characters';
const HOME = '192.0.2.1';
const STRANGER = '203.0.113.7';
const [INTROSPECT, REVOKE, TOKEN] = ['/token/introspect', '/token/revoke', '/token'];

interface Sender {
  /** Default: none, or what the form says. */
  readonly authorization?: string | undefined;
  readonly from?: string;
  /** Whether the connection has the certificate of the client `mutual`. */
  readonly hasCertificate?: boolean;
}

interface Answer {
  readonly status: number;
  /** Seconds. */
  readonly wait: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function answerOf(response: Response): Promise<Answer> {
  const body = await response.text();
  const { date: _, 'x-request-id': __, ...headers } = Object.fromEntries(response.headers);
  return { status: response.status, wait: Number(headers['retry-after'] ?? 0), body, headers };
}

const as = (id: string, secret = SECRET, from = HOME): Sender => ({ authorization: basic(id, secret), from });
const API = as('api');
const WEB = as('web');

/** A text in the form of a token. */
function unknownToken(kind: 'at' | 'rt' = 'at'): string {
  return `grantd_${kind}_${randomBytes(32).toString('base64url')}`;
}

const randomSecret = () => randomBytes(8).toString('hex');

async function listening(t: TestContext, listener: RequestListener): Promise<string> {
  const http = createServer(listener).listen(0, '127.0.0.1');
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  await once(http, 'listening');
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

/** A server with APIs, a web application, a public client and a client with a key. */
async function stage(
  t: TestContext,
  { wrong = 4, unknown = 8, workers = 1, authenticateIntrospect = true } = {},
) {
  const clock = { nowMs: Date.now() };
  const storage = memoryStorage();
  const requestLog = new RequestLog(logThrough(() => {}));
  const { settings: defaults } = readConfiguration({}, {});
  const limits = { addressRequestLimit: wrong, unknownTokenLimit: unknown };
  const settings = { ...defaults, ...limits, workers, authenticateIntrospect };
  const guesses = new Guesses({ settings, clients: storage.clients, requestLog, clock: () => clock.nowMs });
  requestLog.observe(guesses);
  const events: ServerEvent[] = [];
  const server = new AuthorizationServer({
    ...{ issuer: ISSUER, storage, secret: SERVER_SECRET },
    ...{ useOpaqueRefreshTokens: true, deviceAuthorization: deviceAuthorization() },
    tokenExchange: tokenExchange(),
    ...{ authenticateIntrospect, clientCertificates: true },
    onEvent(event) {
      events.push(event);
      requestLog.event(event);
    },
  });
  const secrets = [await server.operator.hashClientSecret(SECRET)];
  const grants = { grantTypes: ['refresh_token', DEVICE_GRANT], scopes: ['read', 'offline_access'] } as const;
  const exchanging = { ...grants, grantTypes: [EXCHANGE_GRANT] } as const;
  const key = await newSigningKey('ES256');
  const certificate = await newCertificate();
  const x5c = [certificate.certificate.toString('base64')];
  const certified = { ...(await exportJWK(certificate.keys.publicKey)), x5c };
  for (const client of [
    ...['api', 'other'].map((id) => ({ id, secrets, resource: `https://${id}.example` })),
    { id: 'web', secrets, ...grants },
    { id: 'service', secrets, ...exchanging },
    { id: 'app', metadata: { token_endpoint_auth_method: 'none' as const }, ...grants },
    {
      id: 'mutual',
      metadata: {
        token_endpoint_auth_method: 'self_signed_tls_client_auth' as const,
        jwks: { keys: [certified] },
      },
      ...grants,
    },
    {
      id: 'keyed',
      metadata: { token_endpoint_auth_method: 'private_key_jwt' as const, jwks: { keys: [key.publicKey] } },
    },
  ] satisfies readonly Partial<NewClient>[])
    await storage.clients.add({ grantTypes: [], scopes: [], redirectUris: [], ...client });
  const url = await listening(
    t,
    requestListener({
      ...{ server, guesses, requestLog, trustedProxies: ['127.0.0.1'] },
      clientCertificate: ({ headers }) => (headers['x-certified'] ? presented(certificate) : undefined),
      pages: async (_request, response) => void response.writeHead(404).end(),
    }),
  );
  const ask = async (
    path: string,
    form: Readonly<Record<string, string>>,
    { authorization, from = HOME, hasCertificate = false }: Sender = {},
  ): Promise<Answer> => {
    const headers = {
      'x-forwarded-for': from,
      ...(authorization !== undefined && { authorization }),
      ...(hasCertificate && { 'x-certified': 'yes' }),
    };
    const response = await fetch(url + path, { method: 'POST', body: new URLSearchParams(form), headers });
    return answerOf(response);
  };
  const preflight = async (path: string, { authorization = '', from = HOME }: Sender) => {
    const headers = { 'x-forwarded-for': from, authorization, origin: 'https://app.example' };
    return (await fetch(url + path, { method: 'OPTIONS', headers })).status;
  };
  const asserted = async () => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT({ jti: randomSecret() })
      .setProtectedHeader({ alg: 'ES256', kid: key.publicKey.kid })
      .setIssuer('keyed')
      .setSubject('keyed')
      .setAudience(ISSUER)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key.privateKey),
  });
  return {
    ...{ clock, storage, server, guesses, requestLog, events, ask, asserted, preflight },
    introspect: (token: string, sender = API) => ask(INTROSPECT, { token }, sender),
    revoke: (token: string, sender = WEB) => ask(REVOKE, { token }, sender),
    refresh: (refresh_token: string, sender = WEB, more = {}) =>
      ask(TOKEN, { grant_type: 'refresh_token', refresh_token, ...more }, sender),
    tryWrongSecret: (from = HOME, path = INTROSPECT, id = 'api') =>
      ask(path, { token: 'a' }, as(id, randomSecret(), from)),
    async issue(clientId = 'web', format: 'opaque' | 'jwt' = 'opaque') {
      const order = { clientId, format, subject: 'ada', refresh: true };
      const [{ accessToken, refreshToken = '' } = assert.fail()] = await server.operator.issueTokens(order);
      return { accessToken, refreshToken };
    },
  };
}

/** Repeats a request until it is refused. @returns how many were not, and the refusal */
async function exhaust(work: () => Promise<Answer>): Promise<Answer & { readonly answered: number }> {
  for (let answered = 0; answered < 100; answered++) {
    const answer = await work();
    if (answer.status === 429) return { answered, ...answer };
  }
  return assert.fail('no request was refused');
}

test('an address that tries secrets has to wait for the time in the answer, and learns nothing before', async (t) => {
  const { clock, tryWrongSecret, introspect } = await stage(t);
  clock.nowMs += 20_000;
  const tried = as('api', randomSecret(), STRANGER);
  assert.equal((await introspect('a', tried)).status, 401);
  const { answered, ...refusal } = await exhaust(() => tryWrongSecret(STRANGER));
  assert.equal(answered, 3);
  assert.deepEqual(await introspect('a', tried), refusal);
  assert.deepEqual(JSON.parse(refusal.body), {
    error: 'temporarily_unavailable',
    error_description: `there were too many wrong secrets: try again in ${refusal.wait} seconds`,
  });
  assert.deepEqual(refusal.headers, {
    ...{ 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '60' },
    ...{
      'content-length': String(refusal.body.length),
      connection: 'keep-alive',
      'keep-alive': 'timeout=5',
    },
  });
  assert.deepEqual(await introspect('a', as('api', SECRET, STRANGER)), refusal, 'a right secret looks wrong');
  clock.nowMs += refusal.wait * 1000;
  assert.equal((await introspect('a', as('api', SECRET, STRANGER))).status, 200);
});

test('wrong secrets of a stranger stop neither what has worked at the same address, nor anything elsewhere', async (t) => {
  const { tryWrongSecret, introspect, issue, refresh, ask, asserted } = await stage(t);
  const { accessToken, refreshToken } = await issue();
  await introspect(accessToken);
  for (const path of [INTROSPECT, REVOKE, TOKEN]) await exhaust(() => tryWrongSecret(HOME, path, 'web'));
  assert.match((await introspect(accessToken)).body, /"active":true/);
  assert.match((await introspect(accessToken, as('other', SECRET, STRANGER))).body, /"active":true/);
  // A client without a secret guesses none.
  const { refreshToken: ofApp } = await issue('app');
  assert.equal((await refresh(ofApp, {}, { client_id: 'app' })).status, 200);
  assert.equal((await ask(INTROSPECT, { token: accessToken, ...(await asserted()) })).status, 200);
  assert.equal((await refresh(refreshToken)).status, 429, 'a secret that has not been seen');
});

test('a secret that an API sends again and again counts once, also if it is wrong', async (t) => {
  const { introspect } = await stage(t, { wrong: 2 });
  for (let request = 0; request < 20; request++)
    assert.equal((await introspect('a', as('api', 'of yesterday'))).status, 401);
  assert.equal((await introspect('a')).status, 200);
});

test('a client that guesses tokens to exchange is refused', async (t) => {
  const type = 'urn:ietf:params:oauth:token-type:access_token';
  const form = { grant_type: EXCHANGE_GRANT, subject_token_type: type };
  for (const guessOf of [
    async () => ({ subject_token: unknownToken() }),
    async (own: string) => ({ subject_token: own, actor_token: unknownToken(), actor_token_type: type }),
  ]) {
    const { ask, issue } = await stage(t);
    const { accessToken } = await issue('service');
    const exchange = (more: object) => ask(TOKEN, { ...form, ...more }, as('service', SECRET));
    const { answered, body } = await exhaust(async () => exchange(await guessOf(accessToken)));
    assert.equal(answered, 8);
    assert.match(body, /too many unknown tokens/);
    assert.equal((await exchange({ subject_token: accessToken })).status, 429, 'a hit looks like a miss');
  }
});

test('a client that guesses tokens is refused in each way to name itself, and it alone', async (t) => {
  const { clock, introspect, issue, refresh, ask, asserted } = await stage(t);
  const { accessToken, refreshToken } = await issue();
  const { answered, ...refusal } = await exhaust(() => introspect(unknownToken()));
  assert.equal(answered, 8);
  assert.match(refusal.body, /too many unknown tokens/);
  assert.deepEqual(await introspect(accessToken), refusal, 'a hit looks like a miss');
  const inBody = { token: accessToken, client_id: 'api', client_secret: SECRET, grant_type: 'a' };
  assert.equal((await ask(INTROSPECT, inBody)).status, 429);
  for (const id of ['%61pi', '\uFEFFapi'])
    assert.equal((await introspect(accessToken, as(id, SECRET, STRANGER))).status, 429);
  assert.match((await introspect(accessToken, as('other'))).body, /"active":true/);
  assert.equal((await exhaust(() => introspect(unknownToken(), WEB))).answered, 8);
  assert.equal((await refresh(refreshToken)).status, 200, 'strangers choose what is introspected, not this');
  clock.nowMs += refusal.wait * 1000;
  assert.match((await introspect(accessToken)).body, /"active":true/);
  assert.equal(
    (await exhaust(async () => ask(INTROSPECT, { token: unknownToken(), ...(await asserted()) }))).answered,
    8,
  );
});

test('strangers who send garbage to an API stop neither JWTs, nor tokens that the API has seen', async (t) => {
  const { introspect, issue, revoke } = await stage(t, { unknown: 16 });
  const [seen, { accessToken: jwt }] = [await issue(), await issue('web', 'jwt')];
  const garbage = ['a', `${jwt}a`, `${jwt.slice(0, -9)}AAAAAAAAA`, 'grantd_at_a', unknownToken('rt')];
  for (let round = 0; round < 20; round++)
    for (const token of garbage) assert.equal((await introspect(token)).body, '{"active":false}');
  for (let round = 0; round < 20; round++) {
    const { accessToken: ended } = await issue();
    await revoke(ended);
    assert.equal((await introspect(ended)).body, '{"active":false}');
  }
  for (let guess = 0; guess < 4; guess++) await introspect(unknownToken());
  assert.match((await introspect(seen.accessToken)).body, /"active":true/);
  await exhaust(() => introspect(unknownToken()));
  for (const token of [seen.accessToken, jwt]) assert.match((await introspect(token)).body, /"active":true/);
  assert.equal((await introspect('a')).body, '{"active":false}');
});

test('the revocation of a token that exists goes through every limit, and no other answer does', async (t) => {
  const { introspect, issue, revoke, tryWrongSecret, ask } = await stage(t, { wrong: 6 });
  const tokens = await Promise.all([issue(), issue(), issue('app'), issue(), issue('api')]);
  const [one, two, ofApp, three, foreign] = tokens.map(({ accessToken }) => accessToken) as string[];
  const isActive = async (token = '') =>
    (await introspect(token, as('other', SECRET, STRANGER))).body.includes('true');
  // The client's own limit.
  await exhaust(() => revoke(unknownToken()));
  assert.deepEqual([(await revoke(one ?? '')).status, await isActive(one)], [200, false]);
  for (const token of [foreign, unknownToken()]) assert.equal((await revoke(token ?? '')).status, 429);
  assert.equal(await isActive(foreign), true);
  // That of the address, for a secret that has not been seen.
  await exhaust(() => tryWrongSecret());
  const inBody = (token = '', client_secret = SECRET) =>
    ask(REVOKE, { token, client_id: 'web', client_secret });
  assert.equal((await inBody(two, randomSecret())).status, 429);
  assert.deepEqual([(await inBody(two)).status, await isActive(two)], [200, false]);
  await exhaust(() => ask(REVOKE, { token: unknownToken(), client_id: 'app' }));
  const ofPublic = await ask(REVOKE, { token: ofApp ?? '', client_id: 'app' });
  assert.deepEqual([ofPublic.status, await isActive(ofApp)], [200, false]);
  assert.equal(await isActive(three), true);
});

test('a holder of a token cannot use its revocation to try secrets without a limit', async (t) => {
  const { issue, tryWrongSecret, ask, events } = await stage(t);
  const { accessToken } = await issue('api');
  await exhaust(() => tryWrongSecret(STRANGER));
  events.length = 0;
  for (let guess = 0; guess < 20; guess++)
    await ask(REVOKE, { token: accessToken }, as('api', randomSecret(), STRANGER));
  assert.equal(events.filter(({ type }) => type === 'refused').length, 4);
});

test('refresh tokens that are guessed in the name of a public client count for the address', async (t) => {
  const { refresh, issue } = await stage(t);
  const asApp = (token: string, from: string) => refresh(token, { from }, { client_id: 'app' });
  const { answered, headers } = await exhaust(() => asApp(unknownToken('rt'), STRANGER));
  assert.equal(answered, 4);
  assert.equal(headers['access-control-allow-origin'], '*');
  const { refreshToken } = await issue('app');
  // Empty parameters prove nothing.
  const nothing = { client_id: 'app', client_secret: '', client_assertion: '', client_assertion_type: '' };
  for (const token of [refreshToken, unknownToken('rt')])
    assert.equal((await refresh(token, { from: STRANGER }, nothing)).status, 429);
  assert.equal((await asApp(refreshToken, STRANGER)).status, 429);
  assert.equal((await asApp(refreshToken, HOME)).status, 200);
  // One client of this address has proved who it is.
  const { refreshToken: ofWeb } = await issue('web');
  assert.equal((await refresh(ofWeb, as('web', SECRET, STRANGER))).status, 200);
});

test('a certificate proves who its client is, and not who a public client is', async (t) => {
  const { refresh } = await stage(t);
  const guess = (client_id: string) => () =>
    refresh(unknownToken('rt'), { from: STRANGER, hasCertificate: true }, { client_id });
  assert.equal((await exhaust(guess('app'))).answered, 4);
  assert.equal((await exhaust(guess('mutual'))).answered, 8);
});

test('if introspection authenticates no one, the address counts, whatever it presents', async (t) => {
  const { introspect } = await stage(t, { authenticateIntrospect: false });
  assert.equal((await exhaust(() => introspect(unknownToken(), { from: STRANGER }))).answered, 4);
  assert.equal((await introspect(unknownToken(), as('api', randomSecret(), STRANGER))).status, 429);
  assert.equal((await introspect(unknownToken(), { from: HOME })).status, 200);
});

test('a preflight request makes no secret known', async (t) => {
  const { tryWrongSecret, introspect, preflight } = await stage(t);
  for (let guess = 0; guess < 3; guess++) await tryWrongSecret(STRANGER);
  for (const path of [TOKEN, REVOKE]) assert.equal(await preflight(path, as('api', SECRET, STRANGER)), 204);
  await exhaust(() => tryWrongSecret(STRANGER));
  assert.equal((await introspect('a', as('api', SECRET, STRANGER))).status, 429);
});

test('what is answered at a limit does not make a secret known that was refused', async (t) => {
  const { tryWrongSecret, revoke, ask, introspect } = await stage(t);
  await exhaust(() => tryWrongSecret(STRANGER));
  const web = as('web', SECRET, STRANGER);
  const poll = { grant_type: DEVICE_GRANT, device_code: 'grantd_dc_unknown' };
  for (let round = 0; round < 2; round++) {
    assert.equal((await revoke(unknownToken(), web)).status, 429);
    assert.equal((await ask(TOKEN, poll, web)).status, 429);
    assert.equal((await introspect('a', web)).status, 429);
  }
});

test('a device may poll at every limit, and a poll tells no more than the others', async (t) => {
  const { ask, tryWrongSecret, refresh } = await stage(t);
  const started = await ask('/device_authorization', { scope: 'read' }, WEB);
  const { device_code } = JSON.parse(started.body);
  const poll = (code = device_code, sender = WEB) =>
    ask(TOKEN, { grant_type: DEVICE_GRANT, device_code: code }, sender);
  await exhaust(() => tryWrongSecret());
  assert.equal((await poll('grantd_dc_unknown')).status, 429);
  assert.equal((await poll(device_code, as('web', randomSecret()))).status, 429);
  for (let round = 0; round < 20; round++) {
    const { status, body } = await poll();
    assert.deepEqual([status, /authorization_pending|slow_down/.test(body)], [400, true], body);
  }
  await exhaust(() => refresh(unknownToken('rt')));
  assert.equal((await poll()).status, 400);
});

test('each worker has its share, and the largest limits keep a client below 2^20 tokens in a minute', async (t) => {
  const { tryWrongSecret, introspect } = await stage(t, { workers: 2 });
  assert.equal((await exhaust(() => introspect(unknownToken()))).answered, 4);
  assert.equal((await exhaust(() => tryWrongSecret())).answered, 2);
  const most = 200_000;
  const limit = (text: string) => readConfiguration({}, { GRANTD_UNKNOWN_TOKEN_LIMIT: text }).settings;
  assert.equal(limit(String(most)).unknownTokenLimit, most);
  assert.throws(() => limit(String(most + 1)));
  const kinds = ['introspection', 'revocation', 'refresh_token', EXCHANGE_GRANT, 'token_check'];
  assert.ok(kinds.length * most < 2 ** 20);
});

test('limits of 0 are none', async (t) => {
  const { tryWrongSecret, introspect } = await stage(t, { wrong: 0, unknown: 0 });
  for (let request = 0; request < 50; request++) {
    assert.equal((await tryWrongSecret()).status, 401);
    assert.equal((await introspect(unknownToken())).status, 200);
  }
});

test('followers and gateways share the limit of secrets, and tokens that a gateway receives have one', async (t) => {
  const { storage, server, guesses, requestLog } = await stage(t);
  const parts = { storage, server, guesses, requestLog };
  const feed = new Feed({
    ...parts,
    ...{
      secret: new ServerSecret<ProgramSecretUse>(SERVER_SECRET),
      clock: Date.now,
      accessTokenLifetime: 3600,
    },
  });
  t.after(() => feed.close());
  const check = new TokenCheck({
    ...parts,
    settings: {
      ...{ tokenCheckFrom: ['127.0.0.1'], tokenCheckAudiences: ['https://api.example'] },
      ...{ tokenCheckRequest: 'none', tokenCheckHeaders: [] },
    },
  });
  const of = (endpoint: Pick<TokenCheck, 'answer'>) =>
    listening(t, (request, response) => {
      void within({ address: HOME }, () => endpoint.answer(request, response, 'id'));
    });
  const [follow, gateway] = [await of(feed), await of(check)];
  const join = async (secret = SECRET): Promise<Answer> => {
    const response = await postForm(follow, {}, basic('api', secret));
    if (response.status !== 200) return answerOf(response);
    await response.body?.cancel();
    return { status: 200, wait: 0, body: '', headers: {} };
  };
  const verify = async (token: string, client?: string) => {
    const query = client === undefined ? '?audience=https://api.example' : '';
    const headers = { authorization: `Bearer ${token}`, ...(client && { 'x-grantd-client': client }) };
    return answerOf(await fetch(gateway + query, { headers }));
  };
  const API_CLIENT = basic('api', SECRET);
  // Both clients of a gateway guess, each for itself.
  for (const client of [API_CLIENT, undefined]) {
    const { answered, wait } = await exhaust(() => verify(unknownToken(), client));
    assert.equal(answered, 8);
    assert.ok(wait > 0);
  }
  assert.equal((await join()).status, 200);
  const { answered } = await exhaust(() => join(randomSecret()));
  assert.equal(answered, 4);
  assert.equal((await join()).status, 200, 'a secret that has worked');
  const other = (secret: string) => basic('other', secret);
  assert.equal((await verify('a', other(randomSecret()))).status, 429);
  assert.equal((await verify('a', other(SECRET))).status, 429);
  assert.equal((await verify('a', API_CLIENT)).status, 401);
});

test('the program refuses guesses by the address that a proxy reports, logs and counts them, and each worker has its share', async () => {
  const limits = ['--address-request-limit', '4', '--unknown-token-limit', '6', '--workers', '2'];
  const shown = ['--log-addresses', 'full', '--metrics-port', '0', '--trusted-proxies', '127.0.0.1,::1'];
  const server = await workbench.start(workbench.folder(), ['--demo', ...limits, ...shown]);
  // Workers take turns by connection.
  const ask = (
    path: string,
    form: Readonly<Record<string, string>>,
    id: string,
    secret: string,
    from: string,
  ) =>
    fetch(server.url + path, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { authorization: basic(id, secret), 'x-forwarded-for': from, connection: 'close' },
    });
  const statusesOf = async (work: () => Promise<Response>) => {
    const statuses: number[] = [];
    for (let request = 0; request < 24; request++) statuses.push((await work()).status);
    return statuses;
  };
  for (const path of [INTROSPECT, REVOKE, TOKEN]) {
    const statuses = await statusesOf(() =>
      ask(path, { token: 'a' }, 'demo-api', randomSecret(), `${path.length}.0.0.1`),
    );
    assert.ok(statuses.filter((status) => status === 401).length <= 4, String(statuses));
    assert.equal(statuses.at(-1), 429);
  }
  const ofClient = await statusesOf(() =>
    ask(INTROSPECT, { token: unknownToken() }, 'demo-api', 'demo-api-secret', HOME),
  );
  assert.ok(ofClient.filter((status) => status === 200).length <= 6, String(ofClient));
  const issued = await ask(
    TOKEN,
    { grant_type: 'client_credentials' },
    'demo-machine',
    'demo-machine-secret',
    HOME,
  );
  const { access_token: token } = await issued.json();
  assert.match(await (await ask(INTROSPECT, { token }, 'demo-api', 'demo-api-secret', HOME)).text(), /true/);
  const { address } = await server.logged(
    ({ event, reason }) => event === 'request' && reason === 'too_many_wrong_secrets',
    'the refusal of a secret',
  );
  assert.equal(address, `${INTROSPECT.length}.0.0.1`);
  const { sum } = await scrape(server);
  const refused = (operation: string, reason: string) =>
    sum('grantd_requests_total', { operation, reason, status: '429', result: 'refused' });
  for (const operation of ['introspection', 'revocation', 'token'])
    assert.ok(refused(operation, 'too_many_wrong_secrets') >= 20);
  assert.ok(refused('introspection', 'too_many_unknown_tokens') >= 18);
});
