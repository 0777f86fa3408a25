import { describe, type TestContext, test } from 'node:test';
import {
  type AdministrableStorage,
  AuthorizationServer,
  type AuthorizationServerOptions,
  type Claims,
  type NewClient,
  type OidcOptions,
  type ServerEvent,
} from '@grantd/core';
import { seedKeys } from './keys.ts';
import { type Place, THROUGH_EVERY_ADAPTER } from './places.ts';
import { SettableClock } from './settable_clock.ts';
import { MEMORY } from './stores.ts';
import { FUNCTION } from './transports/function.ts';
import type { OpenTransport, TestRequest, TestResponse } from './transports/transport.ts';

export const ISSUER = 'https://as.example';
export const SECRET = 'a secret of the tests with more than 32 characters';

/** The users of the tests, with attributes for every standard scope and some that no scope permits. */
export const PEOPLE: Readonly<Record<string, Claims>> = {
  alice: {
    sub: 'somebody-else',
    name: 'Alice Liddell',
    email: 'alice@example.org',
    email_verified: true,
    phone_number: '+44 1865 000000',
    address: { locality: 'Oxford' },
    password_hash: 'never to be seen',
  },
  bob: { name: 'Bob' },
};

const APIS = ['https://api.example', 'https://mail.example/v1'] as const;

export const CLIENTS = {
  web: {
    id: 'web',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['openid', 'profile', 'email', 'read', 'write'],
    redirectUris: ['https://web.example/callback'],
    metadata: { apis: APIS },
  },
  spa: {
    id: 'spa',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['openid', 'profile', 'read'],
    redirectUris: ['https://spa.example/callback'],
    metadata: { token_endpoint_auth_method: 'none' },
  },
  machine: {
    id: 'machine',
    grantTypes: ['client_credentials'],
    scopes: ['read', 'write'],
    redirectUris: [],
    metadata: { apis: APIS },
  },
  api: { id: 'api', grantTypes: [], scopes: [], redirectUris: [], resource: 'https://api.example' },
} as const satisfies Record<string, NewClient>;

export type ClientId = keyof typeof CLIENTS;

const CONFIDENTIAL: readonly string[] = ['web', 'machine', 'api'];

export function secretOf(clientId: string): string {
  return `the secret of ${clientId}`;
}

/** A whole server with its storage, clients and users. */
export class World {
  readonly server: AuthorizationServer;
  readonly storage: AdministrableStorage;
  readonly clock: SettableClock;
  readonly events: ServerEvent[];
  readonly #transport: OpenTransport;

  constructor(parts: {
    server: AuthorizationServer;
    storage: AdministrableStorage;
    clock: SettableClock;
    events: ServerEvent[];
    transport: OpenTransport;
  }) {
    this.server = parts.server;
    this.storage = parts.storage;
    this.clock = parts.clock;
    this.events = parts.events;
    this.#transport = parts.transport;
  }

  send(request: TestRequest): Promise<TestResponse> {
    return this.#transport.send(request);
  }

  /** Posts a form. Default: as the client with Basic authentication; without it if `as` is `null`. */
  post(
    path: string,
    parameters: Readonly<Record<string, string>>,
    as: ClientId | null = null,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<TestResponse> {
    return this.send({
      method: 'POST',
      path,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(as !== null && { authorization: basic(as) }),
        ...headers,
      },
      body: new URLSearchParams(parameters).toString(),
    });
  }

  introspect(token: string, as: ClientId | null = 'api', hint?: string): Promise<TestResponse> {
    return this.post(
      '/token/introspect',
      { token, ...(hint !== undefined && { token_type_hint: hint }) },
      as,
    );
  }

  /** Public clients send client_id in the form. */
  revoke(token: string, as: ClientId | null = 'web', hint?: string): Promise<TestResponse> {
    const parameters = { token, ...(hint !== undefined && { token_type_hint: hint }) };
    if (as === 'spa') return this.post('/token/revoke', { ...parameters, client_id: as });
    return this.post('/token/revoke', parameters, as);
  }

  /** For each token, whether introspection calls it active. */
  async alive(...tokens: readonly string[]): Promise<readonly boolean[]> {
    const answers: boolean[] = [];
    for (const token of tokens) {
      const { status, body } = await this.introspect(token);
      if (status !== 200) throw new Error(`introspection answered with ${status}: ${body}`);
      answers.push(JSON.parse(body).active);
    }
    return answers;
  }

  userInfo(accessToken: string): Promise<TestResponse> {
    return this.send({
      method: 'GET',
      path: '/userinfo',
      headers: { authorization: `Bearer ${accessToken}` },
    });
  }

  refresh(refreshToken: string, parameters: Readonly<Record<string, string>> = {}): Promise<TestResponse> {
    return this.post(
      '/token',
      { grant_type: 'refresh_token', refresh_token: refreshToken, ...parameters },
      'web',
    );
  }

  /** Access and refresh token of a user, issued by code. */
  async grant(person = 'alice', clientId: 'web' | 'spa' = 'web', scope?: string): Promise<GrantedTokens> {
    const code = await this.code(person, clientId, scope);
    const response = await this.redeem(code, clientId);
    if (response.status !== 200) throw new Error(`the code was not redeemed: ${response.body}`);
    return JSON.parse(response.body);
  }

  /** An authorization code after the user's approval, as the host gets it. */
  async code(person = 'alice', clientId: 'web' | 'spa' = 'web', scope?: string): Promise<string> {
    const client = CLIENTS[clientId];
    const query = new URLSearchParams({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: client.redirectUris[0],
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
      nonce: 'n-0S6_WzA2Mj',
      scope: scope ?? client.scopes.join(' '),
    });
    const url = `/authorize?${query}`;
    const request = await this.server.authorization.validate({ method: 'GET', url, headers: {} });
    const response = await this.server.authorization.complete(request, {
      subject: person,
      username: person,
      authTime: this.clock.seconds,
      sessionId: `session of ${person}`,
    });
    return new URL(String(response.headers.location)).searchParams.get('code') ?? '';
  }

  redeem(
    code: string,
    clientId: 'web' | 'spa' = 'web',
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<TestResponse> {
    const form = {
      grant_type: 'authorization_code',
      code,
      code_verifier: VERIFIER,
      redirect_uri: CLIENTS[clientId].redirectUris[0],
      ...(clientId === 'spa' && { client_id: clientId }),
      ...parameters,
    };
    return this.post('/token', form, clientId === 'spa' ? null : clientId);
  }

  /** The tokens from a refresh. */
  async rotated(
    refreshToken: string,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<GrantedTokens> {
    const response = await this.refresh(refreshToken, parameters);
    if (response.status !== 200) throw new Error(`the token was not refreshed: ${response.body}`);
    return JSON.parse(response.body);
  }

  /** An access token of a client for itself. */
  async machineToken(scope = 'read'): Promise<string> {
    const response = await this.post('/token', { grant_type: 'client_credentials', scope }, 'machine');
    return JSON.parse(response.body).access_token;
  }

  /** The reason of the last event that has one. */
  get lastReason(): string | undefined {
    return this.events.flatMap((event) => ('reason' in event ? [event.reason] : [])).at(-1);
  }
}

/** RFC 7636 Appendix B. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

export interface GrantedTokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token: string;
  readonly scope: string;
  readonly expires_in: number;
}

export function basic(clientId: string, secret = secretOf(clientId)): string {
  return `Basic ${btoa(`${clientId}:${encodeURIComponent(secret)}`)}`;
}

export type WorldOptions = Partial<Omit<AuthorizationServerOptions, 'storage' | 'clock'>>;

/** As the option `oidc` it turns OpenID Connect off. It is on by default. */
export const OIDC_OFF: OidcOptions = { getUserClaims: () => undefined };

/** Defaults. */
const PLAIN: Place = { transport: FUNCTION, store: MEMORY };

/** Opens a world that ends with the test. */
export async function openWorld(
  t: TestContext,
  options: WorldOptions = {},
  place: Place = PLAIN,
): Promise<World> {
  const clock = new SettableClock();
  const issuer = options.issuer ?? ISSUER;
  const store = await place.store.open(issuer, clock.read);
  const events: ServerEvent[] = [];
  const server = newServer(store.storage, clock, events, options);
  await seedKeys(store.storage, clock);
  for (const client of Object.values(CLIENTS)) {
    const secret =
      CONFIDENTIAL.includes(client.id) && (await server.operator.hashClientSecret(secretOf(client.id)));
    await store.storage.clients.add({ ...client, ...(secret && { secrets: [secret] }) });
  }
  const transport = await place.transport.open(server);
  t.after(async () => {
    await transport.close();
    await store.dispose();
  });
  return new World({ server, storage: store.storage, clock, events, transport });
}

function newServer(
  storage: AdministrableStorage,
  clock: SettableClock,
  events: ServerEvent[],
  { oidc = { getUserClaims: (subject) => PEOPLE[subject] }, ...options }: WorldOptions,
): AuthorizationServer {
  return new AuthorizationServer({
    issuer: ISSUER,
    secret: SECRET,
    // Successful responses are events of every request. The tests of events look at the others.
    onEvent: (event) => event.type !== 'answered' && events.push(event),
    ...(oidc !== OIDC_OFF && { oidc }),
    ...options,
    storage,
    clock: clock.read,
  });
}

/** Declares the tests of a specification once. Each runs at these places, in a new world. */
export function specification(title: string, places: readonly Place[], declare: (spec: Spec) => void): void {
  for (const place of places) declareAt(place, title, declare, () => true);
  for (const place of THROUGH_EVERY_ADAPTER) declareAt(place, title, declare, ({ isOfHttp }) => isOfHttp);
}

interface Rule {
  readonly sentence: string;
  readonly run: Run;
  readonly options: WorldOptions;
  readonly isOfHttp: boolean;
}

function declareAt(
  place: Place,
  title: string,
  declare: (spec: Spec) => void,
  isMeant: (rule: Rule) => boolean,
): void {
  const rules: Rule[] = [];
  const declaring =
    (isOfHttp: boolean): Declaring =>
    (sentence, run, options = {}) => {
      rules.push({ sentence, run, options, isOfHttp });
    };
  declare(Object.assign(declaring(false), { http: declaring(true) }));
  const meant = rules.filter(isMeant);
  if (meant.length === 0) return;
  describe(`${title}, through ${place.transport.name} on ${place.store.name}`, () => {
    for (const { sentence, run, options } of meant)
      test(sentence, async (t) => run(await openWorld(t, options, place), t));
  });
}

type Run = (world: World, t: TestContext) => Promise<void> | void;

type Declaring = (sentence: string, run: Run, options?: WorldOptions) => void;

/** A rule: a sentence that begins with its section, and its test. */
interface Spec extends Declaring {
  /** A rule of HTTP: method, media type, header, body or status. It also runs through every adapter. */
  readonly http: Declaring;
}
