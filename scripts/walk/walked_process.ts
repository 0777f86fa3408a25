// Runs the requests of the walk. It starts grantd twice, as a library on the memory store and as the program on an
// SQLite file that serves real HTTP, and asks V8 which code ran for one request.
//
// Its parent, `walk.ts`, reads the result from the IPC channel, because standard output is the program's log.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { AuthorizationServer, HttpRequest, NewClient, Storage } from '@grantd/core';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Browser, formAction, hiddenFields } from '../../server/test/harness/browser.ts';
import { type Executed, executedIn, inEach } from './executed.ts';
import { type Call, firstCalls } from './first_calls.ts';

/** Requests of each kind before the counted one, so that every cache is filled. */
const WARM_UP = 3;
/** Number of repetitions. Code that ran in only some of them belongs to a timer. */
const REPEATED = 4;
/** The log line is written after the response, by another thread. */
const AFTER_RESPONSE_MS = 60;
/** Longer than `WRITE_DELAY_MS`, after which the server writes the first use of a client secret in the background. */
const AFTER_FIRST_USE_MS = 300;

const LONG_MS = 3_600_000;

const WEB = {
  id: 'web',
  grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
  scopes: ['openid', 'profile', 'read'],
  redirectUris: ['https://web.example/callback'],
} as const satisfies NewClient;
const API = {
  id: 'api',
  grantTypes: [],
  scopes: [],
  redirectUris: [],
  resource: 'https://api.example',
} as const;
const SECRET = 'a client secret of the walk';
const ALICE = { username: 'alice', password: 'correct horse battery staple' };

const AUTHORIZATION_REQUEST = new URLSearchParams({
  client_id: WEB.id,
  response_type: 'code',
  redirect_uri: WEB.redirectUris[0],
  scope: 'openid profile',
  code_challenge: createHash('sha256').update(randomBytes(32)).digest('base64url'),
  code_challenge_method: 'S256',
});

/** Kinds of requests that each need tokens of their own. */
const REQUESTS_WITH_OWN_TOKENS = 3;

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
}

/** A running grantd. */
interface Place {
  readonly issuer: string;
  readonly tokens: readonly Tokens[];
  /** Requests that only this place answers. */
  readonly others: Readonly<Record<string, Prepare>>;
  send(path: string, request: Omit<HttpRequest, 'url'>): Promise<void>;
  close(): Promise<void>;
}

/** Prepares a request, which is not counted. @returns a function that sends it */
type Prepare = () => Promise<Send>;
type Send = () => Promise<void>;

export interface Walk {
  readonly place: 'library' | 'program';
  readonly request: string;
  readonly files: Executed;
}

// The program's regular work must not run: it would be counted in the request during which it runs.
const { setInterval: repeat } = globalThis;
Object.assign(globalThis, { setInterval: () => repeat(() => {}, LONG_MS).unref() });

const root = dirname(dirname(import.meta.dirname));
const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
// Set before the modules are loaded: V8 counts the blocks of a function only if it was compiled afterwards.
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

const results = process.argv[2] === 'calls' ? await callsOfIntrospection() : await allWalks(process.argv[3]);
process.send?.(results, undefined, undefined, () => process.exit(0));

async function allWalks(chosen: string | undefined): Promise<readonly Walk[]> {
  const walks: Walk[] = [];
  for (const [place, open] of [
    ['library', openLibrary],
    ['program', openProgram],
  ] as const) {
    if (chosen !== 'both' && chosen !== place) continue;
    const opened = await open();
    for (const [request, prepare] of Object.entries({ ...(await requestsTo(opened)), ...opened.others }))
      walks.push({ place, request, files: await walk(prepare) });
    await opened.close();
  }
  return walks;
}

/** In the library, where nothing else happens meanwhile, so that the order is always the same. */
async function callsOfIntrospection(): Promise<readonly Call[]> {
  const library = await openLibrary();
  const introspection = await (await requestsTo(library)).introspection();
  for (let time = 0; time < WARM_UP; time++) await introspection();
  await pause(AFTER_FIRST_USE_MS);
  await inspector.post('Profiler.takePreciseCoverage');
  await introspection();
  const { result } = await inspector.post('Profiler.takePreciseCoverage');
  return firstCalls(root, result, introspection);
}

async function walk(prepare: Prepare): Promise<Executed> {
  for (let time = 0; time < WARM_UP; time++) await (await prepare())();
  const runs: Executed[] = [];
  for (let time = 0; time < REPEATED; time++) {
    const send = await prepare();
    await pause(AFTER_RESPONSE_MS);
    await inspector.post('Profiler.takePreciseCoverage'); // and start counting again
    await send();
    await pause(AFTER_RESPONSE_MS);
    const { result } = await inspector.post('Profiler.takePreciseCoverage');
    runs.push(executedIn(root, result));
  }
  return inEach(runs);
}

async function requestsTo({ issuer, tokens, send }: Place) {
  let used = 0;
  const next = (): Required<Tokens> => {
    const { accessToken, refreshToken } = tokens[used++] ?? {};
    if (accessToken === undefined || refreshToken === undefined) throw new Error('too few tokens');
    return { accessToken, refreshToken };
  };
  const post = (
    path: string,
    clientId: string,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ) =>
    send(path, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${btoa(`${clientId}:${encodeURIComponent(SECRET)}`)}`,
        ...headers,
      },
      body: new URLSearchParams(form).toString(),
    });
  const { accessToken: known } = next();
  const tokenProof = await proofs(`${issuer}/token`);
  return {
    introspection: async () => () => post('/token/introspect', API.id, { token: known }),
    'introspection of a token that was not seen before': async () => () =>
      post('/token/introspect', API.id, { token: next().accessToken }),
    UserInfo: async () => () =>
      send('/userinfo', { method: 'GET', headers: { authorization: `Bearer ${known}` } }),
    revocation: async () => () => post('/token/revoke', WEB.id, { token: next().accessToken }),
    refresh: async () => () =>
      post('/token', WEB.id, { grant_type: 'refresh_token', refresh_token: next().refreshToken }),
    'token request with DPoP': async () => {
      const dpop = await tokenProof();
      return () => post('/token', WEB.id, { grant_type: 'client_credentials', scope: 'read' }, { dpop });
    },
  } satisfies Record<string, Prepare>;
}

/** @returns a function that makes proofs for POSTs to a URL (RFC 9449 §4.2) */
async function proofs(htu: string): Promise<() => Promise<string>> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: await exportJWK(publicKey) };
  return () =>
    new SignJWT({ jti: randomUUID(), htm: 'POST', htu })
      .setProtectedHeader(header)
      .setIssuedAt()
      .sign(privateKey);
}

/** A client with its API, and tokens of a user. */
async function prepared(
  server: AuthorizationServer,
  clients: { add(client: NewClient): unknown },
  subject = 'alice',
): Promise<readonly Tokens[]> {
  await server.prepare();
  for (const client of [WEB, API])
    await clients.add({ ...client, secrets: [await server.operator.hashClientSecret(SECRET)] });
  const count = 1 + REQUESTS_WITH_OWN_TOKENS * (WARM_UP + REPEATED);
  return server.operator.issueTokens({ clientId: WEB.id, subject, username: 'alice', refresh: true }, count);
}

async function openLibrary(): Promise<Place> {
  const { AuthorizationServer } = await import('@grantd/core');
  const { memoryStorage } = await import('@grantd/core/memory');
  const issuer = 'https://as.example';
  const storage = memoryStorage({ issuer });
  const server = new AuthorizationServer({
    issuer,
    secret: randomBytes(32).toString('base64url'),
    storage: storage satisfies Storage,
    oidc: { getUserClaims: () => ({ name: 'Alice' }) },
  });
  const operations: Readonly<Record<string, (request: HttpRequest) => Promise<{ status: number }>>> = {
    '/token/introspect': (request) => server.introspect(request),
    '/token/revoke': (request) => server.revoke(request),
    '/userinfo': (request) => server.userInfo(request),
    '/token': (request) => server.token(request),
  };
  return {
    issuer,
    tokens: await prepared(server, storage.clients),
    others: {},
    async send(url, request) {
      requireStatus(200, url, (await operations[url]?.({ ...request, url }))?.status);
    },
    async close() {},
  };
}

async function openProgram(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-walk-'));
  const { readConfiguration } = await import('../../server/src/config/configuration.ts');
  const { databaseOf } = await import('../../server/src/data/database_of.ts');
  const { openInstance } = await import('../../server/src/instance/instance.ts');
  const { openLog } = await import('../../server/src/log/log.ts');
  const { PasswordHasher } = await import('../../server/src/people/password_hasher.ts');
  const { createHttpServer, listenOn } = await import('../../server/src/serve/http_server.ts');
  const { serveDatabase } = await import('../../server/src/serve/lifecycle.ts');

  const environment = { GRANTD_DATABASE: `sqlite:${join(folder, 'grantd.db')}` };
  const configuration = readConfiguration({}, environment);
  const server = createHttpServer();
  const port = await listenOn(server.http, '127.0.0.1', 0);
  const issuer = `http://localhost:${port}`;
  const database = await databaseOf(configuration, environment);
  const instance = await openInstance(configuration, database, issuer, 'cli');
  const passwordHash = await new PasswordHasher().hash(ALICE.password);
  await instance.people.add({ name: ALICE.username, passwordHash, claims: { name: 'Alice' } });
  const person = await instance.people.byName(ALICE.username);
  const tokens = await prepared(await instance.server(), instance.storage.clients, person?.subject);
  await database.close();

  const ready = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<NodeJS.Signals>();
  const served = serveDatabase(
    { ...configuration, settings: { ...configuration.settings, port } },
    environment,
    {
      server,
      connections: server.connections,
      tls: undefined,
      log: await openLog('json'),
      ending: {
        requested: ending.promise,
        nearlyClosing: new Promise(() => {}),
        closing: ending.promise.then(() => {}),
      },
      sweeps: false,
      bringsDemo: false,
      started: () => ready.resolve(),
    },
  );
  await Promise.race([ready.promise, served]);
  return {
    issuer,
    tokens,
    others: {
      'password sign-in to the account page': () => signIn(issuer, '/account'),
      'password sign-in to an application': () => signIn(issuer, `/authorize?${AUTHORIZATION_REQUEST}`),
    },
    async send(path, { method, headers, body }) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: headers as Record<string, string>,
        ...(typeof body === 'string' && { body }),
      });
      await response.text();
      requireStatus(200, path, response.status);
    },
    async close() {
      ending.resolve('SIGTERM');
      await served;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Opens the sign-in page in a new browser. The walk begins when the user submits the page. */
async function signIn(issuer: string, from: string): Promise<Send> {
  const browser = new Browser(issuer);
  const page = await browser.get(`${issuer}${from}`);
  const body = new URLSearchParams({ ...hiddenFields(page), ...ALICE });
  return async () => {
    const { status } = await browser.send(new URL(formAction(page), page.url).href, { method: 'POST', body });
    requireStatus(303, '/login', status);
  };
}

function requireStatus(expected: number, path: string, status: number | undefined): void {
  if (status !== expected) throw new Error(`${path} answered ${status}`);
}
