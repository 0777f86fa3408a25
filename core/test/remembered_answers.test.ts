import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import {
  type AdministrableStorage,
  AuthorizationServer,
  type AuthorizationServerOptions,
  errorResponse,
  type HttpRequest,
  type HttpResponse,
  type NewClient,
} from '@grantd/core';
import type { TokenRecord } from '../src/protocol/records.ts';
import { RememberedAnswers } from '../src/storage/remembered_answers.ts';
import { SHARED_STORES, type SharedStoreKind, SQLITE } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import {
  basic,
  CLIENTS,
  type GrantedTokens,
  ISSUER,
  openWorld,
  SECRET,
  secretOf,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const FORM = 'application/x-www-form-urlencoded';

/** A server whose store remembers answers, and one on the same database, as in another process, that caches nothing. */
interface Twins {
  readonly world: World;
  /** Of the other one. */
  readonly storage: AdministrableStorage;
  /** Answers that were given again so far. */
  hits(): number;
  ask(request: HttpRequest): Promise<HttpResponse>;
  /** The answer of the server without caches. */
  askAnew(request: HttpRequest): Promise<HttpResponse>;
}

async function openTwins(
  t: TestContext,
  options: WorldOptions = {},
  store: SharedStoreKind = SQLITE,
): Promise<Twins> {
  const world = await openWorld(t, options, { transport: FUNCTION, store });
  const clock = world.clock.read;
  const storage = await store.openAnother(world.storage, ISSUER, clock);
  t.after(() => storage.close());
  const uncached = {
    issuer: ISSUER,
    secret: SECRET,
    onEvent() {},
    ...options,
    storage,
    clock,
    cachedTokens: 0,
  };
  const twin = new AuthorizationServer(uncached);
  const { server } = world;
  return {
    world,
    storage,
    hits: () => world.storage.statistics?.().caches.answers?.hits ?? 0,
    ask: (request) => server.introspect(request).catch(errorResponse),
    askAnew: (request) => twin.introspect(request).catch(errorResponse),
  };
}

/** Declares a test of the stores that remember answers. */
function onEachStore(
  title: string,
  run: (open: (options?: WorldOptions) => Promise<Twins>, t: TestContext) => Promise<void>,
): void {
  for (const store of SHARED_STORES)
    test(`${title} (${store.name})`, (t) => run((options) => openTwins(t, options, store), t));
}

function asking(token: string, headers: HttpRequest['headers'] = {}, further = ''): HttpRequest {
  return {
    method: 'POST',
    url: '/token/introspect',
    headers: { authorization: basic('api'), 'content-type': FORM, ...headers },
    body: `token=${token}${further}`,
  };
}

/** Asks until the answer is remembered. The first use of a secret is written, which changes the client. */
async function remembered({ world, ask, hits }: Twins, request: HttpRequest): Promise<HttpResponse> {
  await ask(request);
  await world.server.flush();
  const answer = await ask(request);
  await ask(request);
  const before = hits();
  assert.deepEqual(await ask(request), answer);
  assert.equal(hits(), before + 1, 'it is remembered');
  return answer;
}

onEachStore(
  'an answer that was made twice is given again, with the same headers and the same event',
  async (open) => {
    const events: unknown[] = [];
    const twins = await open({ onEvent: (event) => events.push(event) });
    const request = { ...asking(await twins.world.machineToken()), id: 'r-1' };
    assert.equal(JSON.parse((await remembered(twins, request)).body).active, true);
    assert.deepEqual(await twins.ask(request), await twins.askAnew(request));
    assert.deepEqual(events.at(-1), events.at(-2));
  },
);

onEachStore('without authentication, answers are remembered too', async (open) => {
  const twins = await open({ authenticateIntrospect: false });
  const { authorization: _, ...headers } = asking('').headers;
  await remembered(twins, { ...asking(await twins.world.machineToken()), headers });
});

/** Requests that differ from a remembered one in one thing. */
const OTHERS: Readonly<Record<string, (request: HttpRequest) => Partial<HttpRequest>>> = {
  'another client': ({ headers }) => ({ headers: { ...headers, authorization: basic('machine') } }),
  'a wrong secret': ({ headers }) => ({ headers: { ...headers, authorization: basic('api', 'wrong') } }),
  'an empty Authorization header': ({ headers }) => ({ headers: { ...headers, authorization: '' } }),
  'no Authorization header': ({ headers: { authorization: _, ...headers } }) => ({ headers }),
  'the word undefined as Authorization header': ({ headers }) => ({
    headers: { ...headers, authorization: 'undefined' },
  }),
  'two Authorization headers': ({ headers }) => ({
    headers: { ...headers, authorization: [basic('api'), basic('machine')] },
  }),
  'the secret in the body': ({ headers: { authorization: _, ...headers }, body }) => ({
    headers,
    body: `${body}&client_id=api&client_secret=${encodeURIComponent(secretOf('api'))}`,
  }),
  'a second credential': ({ body }) => ({
    body: `${body}&client_secret=${encodeURIComponent(secretOf('api'))}`,
  }),
  'another media type': ({ headers }) => ({ headers: { ...headers, 'content-type': 'text/plain' } }),
  'no media type': ({ headers: { 'content-type': _, ...headers } }) => ({ headers }),
  'a compressed body': ({ headers }) => ({ headers: { ...headers, 'content-encoding': 'gzip' } }),
  'a preference for a JWT': ({ headers }) => ({
    headers: { ...headers, accept: 'application/token-introspection+jwt' },
  }),
  'another token': ({ body }) => ({ body: `${body}x` }),
  'a repeated token': ({ body }) => ({ body: `${body}&${body}` }),
  'an unknown hint': ({ body }) => ({ body: `${body}&token_type_hint=unknown` }),
  'the hint of codes': ({ body }) => ({ body: `${body}&token_type_hint=auth_code` }),
  'a scope that is needed': ({ body }) => ({ body: `${body}&scope=write` }),
  'an API that is needed': ({ body }) => ({ body: `${body}&resource=https%3A%2F%2Fother.example` }),
  'no body': () => ({ body: undefined }),
  'a parsed body': ({ body }) => ({ body: Object.fromEntries(new URLSearchParams(String(body))) }),
  'another method': () => ({ method: 'GET' }),
  'a certificate': () => ({ clientCertificate: { der: new Uint8Array([1]), hasTrustedChain: true } }),
};

for (const [difference, other] of Object.entries(OTHERS))
  onEachStore(`${difference} makes another request, which is answered anew`, async (open) => {
    const twins = await open();
    const request = asking(await twins.world.machineToken());
    await remembered(twins, request);
    const before = twins.hits();
    const changed: HttpRequest = { ...request, ...other(request) };
    const { body, headers, status } = await twins.ask(changed);
    const anew = await twins.askAnew(changed);
    assert.equal(twins.hits(), before);
    assert.equal(status, anew.status);
    assert.equal(headers['content-type'], anew.headers['content-type']);
    // The time of a JWT is its own.
    if (headers['content-type'] === 'application/json') assert.equal(body, anew.body);
  });

onEachStore(
  'credentials in the body, and an empty header in front of them, are two requests',
  async (open) => {
    const twins = await open();
    const credentials = `&client_id=api&client_secret=${encodeURIComponent(secretOf('api'))}`;
    const request = asking(await twins.world.machineToken(), { authorization: undefined }, credentials);
    await remembered(twins, request);
    const { headers } = request;
    for (const other of [
      { ...headers, authorization: '' },
      { ...headers, authorization: FORM, 'content-type': undefined },
      { ...headers, 'content-type': FORM.slice(0, -1), accept: FORM.slice(-1) },
    ]) {
      const changed = { ...request, headers: other };
      const [now, anew] = [await twins.ask(changed), await twins.askAnew(changed)];
      assert.deepEqual([now.status, now.body], [anew.status, anew.body]);
      assert.equal(now.status === 200, false);
    }
  },
);

interface Scene extends Twins {
  readonly tokens: GrantedTokens;
  readonly record: TokenRecord;
}

type Change = (scene: Scene, storage: World['storage']) => unknown;

async function replaced(
  { clients }: World['storage'],
  id: string,
  change: Partial<NewClient>,
): Promise<void> {
  const client = await clients.get(id);
  assert.ok(client);
  const { revision: _, generation: __, ...described } = client as NewClient & Record<string, unknown>;
  await clients.replace({ ...described, ...change } as NewClient, client);
}

/** Everything that ends a token, or takes from its reader the right to know it. */
const ENDINGS: Readonly<Record<string, Change>> = {
  'the token is revoked': ({ record }, { tokens }) => tokens.revoke(record),
  'its refresh token is revoked': async ({ world, tokens }) => world.revoke(tokens.refresh_token),
  'its family is revoked': ({ record }, { tokens }) => tokens.revokeFamily(record),
  'its grant is revoked': (_, storage) => storage.revokeGrants('alice', 'web'),
  'its user is revoked': (_, storage) => storage.revokeAll({ principal: 'subject', id: 'alice' }),
  'its session is revoked': (_, storage) =>
    storage.revokeAll({ principal: 'session', id: 'session of alice' }),
  'its client is revoked': (_, storage) => storage.revokeAll({ principal: 'client', id: 'web' }),
  'all earlier tokens are revoked': ({ world }, storage) =>
    storage.revokeAll({ issuedBeforeMs: world.clock.nowMs + 1000 }),
  'its user is disabled': (_, storage) => storage.setDisabled('subject', 'alice', true),
  'its client is disabled': (_, storage) => storage.setDisabled('client', 'web', true),
  'its client is disabled, and enabled again': async (_, storage) => {
    await storage.setDisabled('client', 'web', true);
    await storage.setDisabled('client', 'web', false);
  },
  'its client is removed': (_, { clients }) => clients.remove('web'),
  'its client is removed, and added again': async (_, { clients }) => {
    await clients.remove('web');
    await clients.add(CLIENTS.web);
  },
  'it expires': ({ world }) => world.clock.advance(24 * 3600),
  'the caller is disabled': (_, storage) => storage.setDisabled('client', 'api', true),
  'the caller is removed': (_, { clients }) => clients.remove('api'),
  'the secret of the caller is replaced': async ({ world }, storage) =>
    replaced(storage, 'api', { secrets: [await world.server.operator.hashClientSecret('another')] }),
  'the secret of the caller expires': async ({ world }, storage) => {
    const expiresAt = world.clock.seconds + 10;
    const secret = await world.server.operator.hashClientSecret(secretOf('api'));
    await replaced(storage, 'api', { secrets: [{ ...secret, expiresAt }] });
    world.clock.advance(11);
  },
  'the caller gets another API': (_, storage) =>
    replaced(storage, 'api', { resource: 'https://other.example' }),
};

for (const [ending, end] of Object.entries(ENDINGS))
  for (const by of ['this process', 'another process'] as const)
    onEachStore(`after ${ending} by ${by}, the remembered answer is not given`, async (open) => {
      const options = { introspectionPolicy: 'audience', defaultAudience: 'https://api.example' } as const;
      const twins = await open(options);
      const tokens = await twins.world.grant();
      const request = asking(tokens.access_token);
      const answer = await remembered(twins, request);
      const { jti } = JSON.parse(answer.body);
      const record = (await twins.world.storage.tokens.getByAccessToken(jti)) as TokenRecord;
      await end({ ...twins, tokens, record }, by === 'this process' ? twins.world.storage : twins.storage);
      const before = twins.hits();
      const now = await twins.ask(request);
      assert.deepEqual(now, await twins.askAnew(request));
      assert.notEqual(now.body, answer.body);
      assert.equal(twins.hits(), before);
    });

onEachStore('a secret that is about to expire ends the answer at its time', async (open) => {
  const twins = await open();
  const { world } = twins;
  const secret = await world.server.operator.hashClientSecret(secretOf('api'));
  await replaced(world.storage, 'api', { secrets: [{ ...secret, expiresAt: world.clock.seconds + 60 }] });
  const request = asking(await world.machineToken());
  await remembered(twins, request);
  world.clock.advance(60);
  assert.equal((await twins.ask(request)).status, 401);
});

onEachStore('the last use of a secret is still recorded each hour', async (open) => {
  const twins = await open({ accessTokenLifetime: 24 * 3600 });
  const { world } = twins;
  const request = asking(await world.machineToken());
  await remembered(twins, request);
  world.clock.advance(3600);
  await twins.ask(request);
  await world.server.flush();
  const [secret] = (await world.storage.clients.get('api'))?.secrets ?? [];
  assert.equal(secret?.lastUsedAtMs, world.clock.nowMs);
});

onEachStore('if the store is unavailable, a remembered answer is not given', async (open) => {
  const { world, ask, ...twins } = await open();
  const request = asking(await world.machineToken());
  await remembered({ world, ask, ...twins }, request);
  await world.storage.close();
  assert.equal((await ask(request)).status, 503);
});

onEachStore('after the clock was set forward and back, answers are those of the time', async (open) => {
  const twins = await open();
  const { clock } = twins.world;
  const request = asking(await twins.world.machineToken());
  const answer = await remembered(twins, request);
  clock.advance(24 * 3600);
  assert.equal(JSON.parse((await twins.ask(request)).body).active, false);
  clock.advance(-24 * 3600);
  assert.deepEqual(await twins.ask(request), answer);
  assert.deepEqual(await twins.askAnew(request), answer);
});

onEachStore('changes of others leave an answer remembered', async (open) => {
  const twins = await open();
  const { world, storage } = twins;
  const request = asking((await world.grant()).access_token);
  await remembered(twins, request);
  const other = await world.grant('bob');
  await world.revoke(other.refresh_token);
  await storage.revokeAll({ principal: 'subject', id: 'bob' });
  await storage.setDisabled('client', 'spa', true);
  const before = twins.hits();
  await twins.ask(request);
  assert.equal(twins.hits(), before + 1);
});

onEachStore('operator.forgetCached forgets answers', async (open) => {
  const twins = await open();
  const request = asking(await twins.world.machineToken());
  await remembered(twins, request);
  await twins.world.server.operator.forgetCached();
  const before = twins.hits();
  await twins.ask(request);
  assert.equal(twins.hits(), before);
});

/** Servers whose answers something else decides. */
const LIVE: Readonly<Record<string, WorldOptions>> = {
  'a policy of the host': { introspectionPolicy: () => true },
  'application claims': {
    applicationClaims: {
      claims: { role: { in: ['introspection'] } } as never,
      valuesOf: () => ({ role: 'x' }),
    },
  },
  'users that the host knows': { getSubjectState: () => 'active' },
  'no cache': { cachedTokens: 0 },
};

for (const [what, options] of Object.entries(LIVE))
  onEachStore(`with ${what}, no answer is remembered`, async (open) => {
    const twins = await open(options);
    await assertForgotten(twins, asking(await twins.world.machineToken()));
  });

async function assertForgotten({ world, ask, hits }: Twins, request: HttpRequest): Promise<void> {
  for (let time = 0; time < 4; time += 1) {
    assert.equal((await ask(request)).status, 200);
    await world.server.flush();
  }
  assert.equal(hits(), 0);
}

onEachStore('answers about dead and refresh tokens, and as JWTs, are not remembered', async (open) => {
  const twins = await open();
  const { access_token: token, refresh_token: refresh } = await twins.world.grant();
  await assertForgotten(twins, asking(token, { accept: 'application/token-introspection+jwt' }));
  await assertForgotten(twins, asking(refresh));
  await twins.world.revoke(token);
  await assertForgotten(twins, asking(token));
});

onEachStore('a secret that the client does not encode is reported each time', async (open) => {
  const twins = await open();
  const { world } = twins;
  const secret = 'a+secret';
  const record = await world.server.operator.hashClientSecret(secret);
  await replaced(world.storage, 'api', { secrets: [record] });
  const raw = { authorization: `Basic ${btoa(`api:${secret}`)}` };
  await assertForgotten(twins, asking(await world.machineToken(), raw));
  const reports = world.events.filter(({ type }) => type === 'client_secret_not_decoded');
  assert.equal(reports.length, 4);
});

onEachStore('lookups that a host has put around those of the store are asked each time', async (open) => {
  const { world } = await open();
  const request = asking(await world.machineToken());
  let isAlive = true;
  const { storage } = world;
  const around: AuthorizationServerOptions['storage'] = {
    ...storage,
    tokens: {
      ...storage.tokens,
      getByAccessToken: async (id) => (isAlive ? storage.tokens.getByAccessToken(id) : undefined),
    },
  };
  const server = new AuthorizationServer({
    issuer: ISSUER,
    secret: SECRET,
    storage: around,
    clock: world.clock.read,
  });
  const isActive = async () => JSON.parse((await server.introspect(request)).body).active;
  for (let time = 0; time < 4; time += 1) {
    assert.equal(await isActive(), true);
    await server.flush();
  }
  isAlive = false;
  assert.equal(await isActive(), false);
});

onEachStore('two servers with one store do not give each other’s answers', async (open) => {
  const twins = await open({ authenticateIntrospect: false });
  const { world } = twins;
  const { authorization: _, ...headers } = asking('').headers;
  const request = { ...asking(await world.machineToken()), headers };
  await remembered(twins, request);
  const { storage, clock } = world;
  const other = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage, clock: clock.read });
  await remembered(twins, request);
  assert.equal((await other.introspect(request).catch(errorResponse)).status, 401);
});

const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url');

/** The memory of a server, and a token whose answers it remembers. */
async function openMemory(t: TestContext) {
  const { storage, clock } = await openWorld(t, {}, { transport: FUNCTION, store: SQLITE });
  const { clients, tokens } = storage;
  const memories = new RememberedAnswers(clients, tokens, {
    of: ({ version }) => version?.toString(),
    now: () => undefined,
  });
  const live = { getSubjectState: undefined, applicationClaims: undefined, jwtService: undefined };
  const answers = memories.for({ ...live, previousServer: undefined, storage });
  const record = {
    id: 'x',
    digest: 'y',
    kind: 'access_token',
    clientId: 'web',
    scopes: [],
    version: 1,
    issuedAtMs: 1,
  };
  const standing = { client: { copied: 0, current: 0 } };
  const found = { record: { ...record, standing, expiresAt: clock.seconds + 60 } as TokenRecord, claims: {} };
  return { memories, answers, found, clock };
}

test('answers about fifty thousand tokens, asked in turns, are remembered', async (t) => {
  const { memories, answers, found, clock } = await openMemory(t);
  const most = 50_000;
  const keys = Array.from({ length: most }, (_, at) => digestOf(String(at)));
  const response = { status: 200, headers: {}, body: '{}' };
  const answer = { response, found, caller: undefined, untilMs: Number.POSITIVE_INFINITY };
  for (const key of keys) answers?.remember(key, answer, clock.nowMs);
  assert.ok(memories.use.size < most / 1000, `${memories.use.size} were seen once`);
  for (const key of keys) answers?.remember(key, answer, clock.nowMs);
  assert.ok(memories.use.size > most * 0.75, `${memories.use.size} were seen twice`);
});

test('what rests on more than two records is not remembered', async (t) => {
  const { memories, answers, found, clock } = await openMemory(t);
  memories.limitTo(100);
  const other = (change: Partial<TokenRecord>) => ({ ...found, record: { ...found.record, ...change } });
  const response = { status: 200, headers: {}, body: '{}' };
  const cases = {
    'a token': { found },
    'a refresh token': { found: other({ kind: 'refresh_token' }) },
    'an exchanged token': { found: other({ ancestors: [] }) },
    'a personal token': { found: { ...found, claims: { _personal: true } } },
    'an opaque token whose subject is derived': { found: other({ digest: 'x', subject: 'alice' }) },
    'a record without its client': { found: other({ standing: {} }) },
    'an identifier with a tab': { found: other({ id: 'x\ty' }) },
    'a record without a version': { found: other({ version: undefined as never }) },
    'credentials with effects': { found, untilMs: undefined },
    'a long answer': { found, response: { ...response, body: 'x'.repeat(2001) } },
  };
  for (const [name, change] of Object.entries(cases)) {
    const before = memories.use.size;
    const answer = { response, caller: undefined, untilMs: Number.POSITIVE_INFINITY, ...change };
    const key = digestOf(name);
    answers?.remember(key, answer, clock.nowMs);
    assert.equal(memories.use.size, before, 'one answer is too few');
    for (let time = 0; time < 2; time += 1) answers?.remember(key, answer, clock.nowMs);
    assert.equal(memories.use.size > before, name === 'a token', name);
  }
});
