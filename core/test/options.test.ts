// Long: tables with every option, its default, and values that do not fit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AuthorizationServer,
  type AuthorizationServerOptions,
  CLIENT_ALGORITHMS,
  ConfigurationError,
  DEFAULT_PATHS,
  type FoundToken,
  type HttpResponse,
  type IntrospectionPolicy,
  jwtVerifier,
  type PreviousServer,
  previousServer,
  STANDARD_CLAIMS_BY_SCOPE,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { resolveOptions } from '../src/options/resolved.ts';
import { ON_MEMORY } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import {
  basic,
  CLIENTS,
  type GrantedTokens,
  ISSUER,
  openWorld,
  PEOPLE,
  SECRET,
  specification,
  VERIFIER,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const REQUIRED = {
  issuer: ISSUER,
  secret: SECRET,
  storage: memoryStorage(),
} satisfies AuthorizationServerOptions;
const HS256 = { algorithm: 'HS256', secret: 'the secret of the previous server' } as const;
const OLD_TOKENS = { identify: () => undefined, getByAccessToken: () => undefined, revoke: () => {} };
/** Opens the description of a previous server, if there is one. */
function withPrevious<T extends object>(options: T): T {
  const { previousServer: described } = options as { previousServer?: PreviousServer };
  const isDescription = typeof described === 'object' && described !== null;
  return isDescription ? { ...options, previousServer: previousServer(described) } : options;
}

const OLD = { jwtService: jwtVerifier([HS256]), tokens: OLD_TOKENS };
const OIDC = { getUserClaims: (subject: string) => PEOPLE[subject] };
const INACTIVE = '{"active":false}';

// ── The options of the specification ──────────────────────────────────────────────────────────────────────

interface Combination {
  readonly authenticateIntrospect: boolean;
  readonly authenticateRevoke: boolean;
  readonly introspectionRequiresConfidentialClient: boolean;
  readonly useOpaqueRefreshTokens: boolean;
  readonly issuer: string;
  readonly isOidc: boolean;
}

const BOTH = [true, false] as const;

const COMBINATIONS: readonly Combination[] = BOTH.flatMap((authenticateIntrospect) =>
  BOTH.flatMap((authenticateRevoke) =>
    BOTH.flatMap((introspectionRequiresConfidentialClient) =>
      BOTH.flatMap((useOpaqueRefreshTokens) =>
        [ISSUER, `${ISSUER}/tenants/one`].flatMap((issuer) =>
          BOTH.map((isOidc) => ({
            authenticateIntrospect,
            authenticateRevoke,
            introspectionRequiresConfidentialClient,
            useOpaqueRefreshTokens,
            issuer,
            isOidc,
          })),
        ),
      ),
    ),
  ),
);

/** The server of a combination, with requests to the paths below its issuer. */
class CombinedServer {
  readonly world: World;
  readonly base: string;
  readonly scope: string;

  constructor(world: World, { issuer, isOidc }: Combination) {
    this.world = world;
    this.base = new URL(issuer).pathname.replace(/\/$/, '');
    this.scope = isOidc ? 'openid read' : 'read';
  }

  async ask(
    path: string,
    form: Readonly<Record<string, string>>,
    authorization?: string,
  ): Promise<HttpResponse> {
    const response = await this.world.server.handle({
      method: 'POST',
      url: this.base + path,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(authorization !== undefined && { authorization }),
      },
      body: new URLSearchParams(form).toString(),
    });
    assert.ok(response, `nothing answers at ${path}`);
    return response;
  }

  async grant(clientId: 'web' | 'spa'): Promise<GrantedTokens> {
    const code = await this.world.code('alice', clientId, this.scope);
    const { body } = await this.ask('/token', {
      grant_type: 'authorization_code',
      code,
      code_verifier: VERIFIER,
      redirect_uri: CLIENTS[clientId].redirectUris[0],
      client_id: clientId,
      ...(clientId === 'web' && { client_secret: 'the secret of web' }),
    });
    return JSON.parse(body);
  }

  /** The introspection result for a live token: `active`, `inactive` or the status of an error. */
  async introspected(token: string, credentials: Readonly<Record<string, string>>, authorization?: string) {
    const { status, body } = await this.ask('/token/introspect', { token, ...credentials }, authorization);
    return status === 200 ? (body === INACTIVE ? 'inactive' : 'active') : status;
  }

  /** Whether a token is still alive, without HTTP. */
  async isAlive(token: string): Promise<boolean> {
    return (await this.world.server.introspectToken(token)).active;
  }

  /** The effect of a revocation request on a token. */
  async revoked(token: string, credentials: Readonly<Record<string, string>>, authorization?: string) {
    const { status } = await this.ask('/token/revoke', { token, ...credentials }, authorization);
    return [status, (await this.isAlive(token)) ? 'alive' : 'dead'];
  }
}

for (const combination of COMBINATIONS) {
  const { isOidc, ...options } = combination;
  const { authenticateIntrospect, authenticateRevoke, introspectionRequiresConfidentialClient } = options;
  const words = Object.entries(combination).map(([name, value]) => `${name}=${value}`);

  test(`grantd §4.1 the endpoints do what the options say: ${words.join(', ')}`, async (t) => {
    const { issuer, useOpaqueRefreshTokens } = options;
    const first = await openWorld(t, { issuer });
    const world = await secondServer(first, { ...options, ...(isOidc && { oidc: OIDC }) });
    const server = new CombinedServer(world, combination);
    const { access_token, refresh_token, ...others } = await server.grant('web');

    // grantd §2.1, OpenID Connect Core §3.1.3.3 formats and the ID token
    assert.equal(/^grantd_rt_/.test(refresh_token), useOpaqueRefreshTokens);
    assert.equal('id_token' in others, isOidc);

    // grantd §4.1, §5.2 who may introspect
    const nobody = authenticateIntrospect ? 401 : 'active';
    const ofPublic = authenticateIntrospect && introspectionRequiresConfidentialClient ? 401 : 'active';
    for (const token of [access_token, refresh_token]) {
      assert.equal(await server.introspected(token, {}, basic('api')), 'active');
      assert.equal(await server.introspected(token, { client_id: 'spa' }), ofPublic);
      assert.equal(await server.introspected(token, {}), nobody);
      assert.equal(await server.introspected(token, {}, basic('api', 'wrong')), nobody);
      assert.equal(await server.introspected(token, {}, 'Nonsense'), nobody);
    }

    // grantd §4.1, §6.2 who may revoke
    const byStrangers = authenticateRevoke ? [401, 'alive'] : [200, 'dead'];
    const byOthers = authenticateRevoke ? [200, 'alive'] : [200, 'dead'];
    const byNobody = await server.grant('web');
    assert.deepEqual(await server.revoked(byNobody.access_token, {}), byStrangers);
    const byWrongSecret = await server.grant('web');
    assert.deepEqual(
      await server.revoked(byWrongSecret.refresh_token, {}, basic('web', 'wrong')),
      byStrangers,
    );
    const byAnother = await server.grant('web');
    assert.deepEqual(await server.revoked(byAnother.refresh_token, {}, basic('api')), byOthers);
    const byItself = await server.grant('web');
    assert.deepEqual(await server.revoked(byItself.access_token, {}, basic('web')), [200, 'dead']);
    const ofPublicClient = await server.grant('spa');
    assert.deepEqual(await server.revoked(ofPublicClient.refresh_token, { client_id: 'spa' }), [200, 'dead']);
    assert.equal(await server.isAlive(access_token), true);

    // grantd §7.1 UserInfo exists with OpenID Connect, and a revoked token gets no claims
    assert.equal(world.server.serves(`${server.base}/userinfo`), isOidc);
    if (isOidc) {
      const userInfo = await server.ask('/userinfo', {}, `Bearer ${access_token}`);
      assert.deepEqual([userInfo.status, userInfo.body], [200, '{"sub":"alice"}']);
      assert.equal((await server.ask('/userinfo', {}, `Bearer ${byItself.access_token}`)).status, 401);
    } else {
      await assert.rejects(world.server.userInfoOf(access_token), { status: 404 });
    }

    // RFC 8414 §2 the document says the same
    const {
      issuer: told,
      introspection_endpoint_auth_methods_supported: introspectionMethods,
      revocation_endpoint_auth_methods_supported: revocationMethods,
      userinfo_endpoint,
    } = world.server.serverMetadata;
    assert.equal(told, issuer);
    assert.equal(
      Array.isArray(introspectionMethods) && introspectionMethods.includes('none'),
      ofPublic === 'active',
    );
    assert.equal(
      Array.isArray(revocationMethods) && revocationMethods.includes('client_secret_basic'),
      authenticateRevoke,
    );
    assert.equal(userinfo_endpoint, isOidc ? `${issuer}/userinfo` : undefined);
  });
}

// ── Validation ────────────────────────────────────────────────────────────────────────────────────────────

test('every option that is left out has its default', () => {
  const { clock, random, onEvent, introspectionPolicy, storage, endpointUrls, ...resolved } =
    resolveOptions(REQUIRED);
  const urls = Object.entries(DEFAULT_PATHS).map(([name, path]) => [name, [ISSUER + path]]);
  assert.deepEqual(endpointUrls, Object.fromEntries(urls));
  assert.deepEqual(resolved, {
    issuer: ISSUER,
    secret: SECRET,
    jwtService: undefined,
    profile: undefined,
    previousServer: undefined,
    fetchDocument: undefined,
    pairwiseSecret: undefined,
    oidc: undefined,
    registration: undefined,
    clientDocuments: undefined,
    authenticateIntrospect: true,
    authenticateRevoke: true,
    introspectionRequiresConfidentialClient: true,
    ignoreUnknownTokenTypeHints: false,
    userInfoAudiences: undefined,
    applicationClaims: undefined,
    authorizationDetails: undefined,
    useOpaqueRefreshTokens: false,
    accessTokenFormat: 'jwt',
    apisWithPlainJwts: [],
    requestObjectAlgorithms: [...CLIENT_ALGORITHMS],
    clientAssertionLifetime: 300,
    clientAssertionAlgorithms: [...CLIENT_ALGORITHMS, 'HS256', 'HS384', 'HS512'],
    refuseRs256FromClients: false,
    dpopAlgorithms: [...CLIENT_ALGORITHMS],
    dpopNonces: 'offered',
    dpopProofLifetime: 120,
    clientCertificates: false,
    mtlsOrigin: undefined,
    accessTokenAlgorithm: 'RS256',
    idTokenAlgorithm: 'RS256',
    defaultAudience: ISSUER,
    deviceAuthorization: undefined,
    cachedTokens: 200_000,
    lifetimes: {
      accessToken: 3600,
      refreshToken: 14 * 24 * 60 * 60,
      refreshFamily: 90 * 24 * 60 * 60,
      idToken: 3600,
      authorizationCode: 60,
      pushedRequest: 60,
      refreshGrace: 10,
    },
    acrValues: [],
    strictScopes: false,
    tokenExchange: undefined,
    trustedIssuers: undefined,
    requirePushedAuthorizationRequests: false,
    requestUriHosts: [],
    strictRequestObjects: false,
    paths: DEFAULT_PATHS,
    getSubjectState: undefined,
    mayUseClient: undefined,
    recheckedAmr: [],
    accessTokenVerifier: undefined,
    insecureAllowGenericJwts: false,
    verifySecretForUnknownClients: true,
  });
  assert.equal(storage, REQUIRED.storage);
  assert.ok(Math.abs(clock() - Date.now()) < 1000);
  assert.deepEqual([random(7).length, random(32).length], [7, 32]);
  assert.notDeepEqual(random(32), random(32));
  assert.equal(onEvent, undefined);
  assert.equal(typeof introspectionPolicy, 'function');
  const { oidc } = resolveOptions({ ...REQUIRED, oidc: OIDC });
  assert.deepEqual(oidc?.claimsByScope, STANDARD_CLAIMS_BY_SCOPE);
  assert.equal(oidc?.getUserClaims('alice'), PEOPLE.alice);
});

/** Invalid values, and the name in the error. */
const BAD: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ...[
    '',
    'as.example',
    '/as',
    'ftp://as.example',
    'urn:x',
    'https://as.example?x',
    'https://as.example#x',
  ].map((issuer) => ['issuer', { issuer }] as const),
  ...[
    'https://',
    'https://a b',
    ' https://as.example',
    'https://u:p@as.example',
    'https://u@as.example',
    'https:as.example',
    'https:///',
    'https:///as.example',
    'https://as.example\\x',
    'https://例え.example',
    'https://as.example/ü',
  ].map((issuer) => ['issuer', { issuer }] as const),
  ...[undefined, null, 5, {}, new URL(ISSUER)].map((issuer) => ['issuer', { issuer }] as const),
  ...[undefined, null, '', 5, {}, [], 'x'.repeat(31), [SECRET, 'short'], [SECRET, 5], [[SECRET]]].map(
    (secret) => ['secret', { secret }] as const,
  ),
  ...[undefined, null, 5].map((storage) => ['storage', { storage }] as const),
  ['storage.clients', { storage: {} }],
  ...(['clients', 'tokens', 'authorizationCodes', 'keys'] as const).flatMap((part) =>
    [...(part === 'authorizationCodes' ? [] : [undefined]), null, 'x'].map(
      (value) => [`storage.${part}`, { storage: { ...REQUIRED.storage, [part]: value } }] as const,
    ),
  ),
  ...[
    null,
    5,
    {},
    { algorithms: 'RS256', sign() {}, verify() {}, publicKeys() {} },
    { algorithms: [], sign() {} },
  ].map((jwtService) => ['jwtService', { jwtService }] as const),
  ...[null, 'on'].map((oidc) => ['oidc', { oidc }] as const),
  ...[{}, { getUserClaims: 'x' }].map((oidc) => ['oidc.getUserClaims', { oidc }] as const),
  ...[5, 'x', { openid: 'sub' }, { openid: [5] }, { openid: null }].map(
    (claimsByScope) => ['oidc.claimsByScope', { oidc: { ...OIDC, claimsByScope } }] as const,
  ),
  ...(
    [
      'authenticateIntrospect',
      'authenticateRevoke',
      'introspectionRequiresConfidentialClient',
      'useOpaqueRefreshTokens',
    ] as const
  ).flatMap((name) => ['false', 'true', 0, 1, {}].map((value) => [name, { [name]: value }] as const)),
  ...['everyone', 5, {}, null].map(
    (introspectionPolicy) => ['introspectionPolicy', { introspectionPolicy }] as const,
  ),
  ['introspectionPolicy', { introspectionPolicy: 'audience', authenticateIntrospect: false }],
  ...[-1, 0.5, 10_000_001, '5', null].map((cachedTokens) => ['cachedTokens', { cachedTokens }] as const),
  ...['JWT', 'reference', 5].map(
    (accessTokenFormat) => ['accessTokenFormat', { accessTokenFormat }] as const,
  ),
  ...['none', 'HS256', 'rs256', 'RS512', 'ES384', 5].flatMap((algorithm) => [
    ['accessTokenAlgorithm', { accessTokenAlgorithm: algorithm }] as const,
    ['idTokenAlgorithm', { idTokenAlgorithm: algorithm }] as const,
  ]),
  ...['', [], [''], ['a', 5], 5, {}].map(
    (defaultAudience) => ['defaultAudience', { defaultAudience }] as const,
  ),
  ...['https://a.example', [], [''], [5], {}].map(
    (userInfoAudiences) => ['userInfoAudiences', { userInfoAudiences }] as const,
  ),
  ['ignoreUnknownTokenTypeHints', { ignoreUnknownTokenTypeHints: 'yes' }],
  ...(
    ['accessTokenLifetime', 'refreshTokenLifetime', 'idTokenLifetime', 'authorizationCodeLifetime'] as const
  ).flatMap((name) =>
    [0, -1, 1.5, NaN, Infinity, '60', 60n, 10 * 365 * 24 * 60 * 60 + 1].map(
      (value) => [name, { [name]: value }] as const,
    ),
  ),
  ...[0, 0.5, '60', NaN].map(
    (pushedRequestLifetime) => ['pushedRequestLifetime', { pushedRequestLifetime }] as const,
  ),
  ...['urn:a', [''], ['a b'], [1], [null]].map((acrValues) => ['acrValues', { acrValues }] as const),
  ...['a.example', ['https://a.example'], ['A.example'], ['a.example/'], [''], [1]].map(
    (requestUriHosts) => ['requestUriHosts', { requestUriHosts }] as const,
  ),
  ['requirePushedAuthorizationRequests', { requirePushedAuthorizationRequests: 'yes' }],
  [
    'storage.pending',
    {
      requirePushedAuthorizationRequests: true,
      storage: { ...REQUIRED.storage, pending: undefined },
    },
  ],
  [
    'storage.oneTimeIdentifiers',
    {
      requirePushedAuthorizationRequests: true,
      storage: { ...REQUIRED.storage, oneTimeIdentifiers: undefined },
    },
  ],
  ...[-1, 0.5, '10', NaN].map((refreshGrace) => ['refreshGrace', { refreshGrace }] as const),
  ...['token', '', '/to ken', '/tökén', '/token?x', '/token#x', 5, null].map(
    (token) => ['paths.token', { paths: { token } }] as const,
  ),
  ...[null, 5].map((previousServer) => ['previousServer', { previousServer }] as const),
  ...[{}, { jwtService: HS256 }, { jwtService: null }].map(
    (previousServer) => ['previousServer.jwtService', { previousServer }] as const,
  ),
  ...['', 5, null].map(
    (issuer) => ['previousServer.issuer', { previousServer: { ...OLD, issuer } }] as const,
  ),
  ...(['identify', 'getByAccessToken', 'revoke'] as const).map(
    (name) =>
      [
        `previousServer.tokens.${name}`,
        { previousServer: { ...OLD, tokens: { ...OLD_TOKENS, [name]: undefined } } },
      ] as const,
  ),
  ...(['getByRefreshToken', 'isRefreshTokenRevoked', 'isAccessTokenRevoked'] as const).map(
    (name) =>
      [
        `previousServer.tokens.${name}`,
        { previousServer: { ...OLD, tokens: { ...OLD_TOKENS, [name]: 5 } } },
      ] as const,
  ),
  [
    'storage.getPrincipalState',
    { previousServer: OLD, storage: { ...REQUIRED.storage, getPrincipalState: undefined } },
  ],
  ...[null, 5, { token: '/jwks' }, { token: '/x', jwks: '/x' }].map((paths) => ['paths', { paths }] as const),
  ...(['getSubjectState', 'onEvent', 'clock', 'random'] as const).flatMap((name) =>
    [null, 'x', 5, {}].map((value) => [name, { [name]: value }] as const),
  ),
];

test('a value that does not fit is refused with the name of its option and what was expected', () => {
  for (const [option, values] of BAD) {
    // Values that TypeScript would reject can come from JavaScript and from configuration files.
    const given = { ...REQUIRED, ...values } as AuthorizationServerOptions;
    assert.throws(
      () => new AuthorizationServer(withPrevious(given)),
      (error) => {
        assert.ok(error instanceof ConfigurationError, `${option}: ${error}`);
        assert.equal(error.option, option);
        assert.match(error.message, new RegExp(`^${option}: expected .+`));
        assert.doesNotMatch(error.message, /a secret of the tests/);
        return true;
      },
      `${option} was accepted`,
    );
  }
});

/** Misspelt names, with the message for each. */
const UNKNOWN: readonly (readonly [object, string])[] = [
  [{ accessTokenLifetme: 60 }, 'accessTokenLifetme: no such option. Did you mean accessTokenLifetime?'],
  [
    { introspection_policy: 'audience' },
    'introspection_policy: no such option. Did you mean introspectionPolicy?',
  ],
  [
    { oidc: { ...OIDC, claimsbyScope: {} } },
    'oidc.claimsbyScope: no such option. Did you mean claimsByScope?',
  ],
  [{ oidc: { ...OIDC, zzz: 1 } }, 'oidc.zzz: no such option; expected one of getUserClaims, claimsByScope'],
  [
    { registration: { openTo: 'anyone', maxClients: 5 } },
    'registration.maxClients: no such option. Did you mean mostClients?',
  ],
  [{ registration: { opento: 'anyone' } }, 'registration.opento: no such option. Did you mean openTo?'],
  [{ paths: { tokens: '/t' } }, 'paths.tokens: no such option. Did you mean token?'],
  [{ paths: JSON.parse('{"__proto__":"/x"}') }, 'paths.__proto__: no such option; expected one of '],
  [{ previousServer: { ...OLD, isuer: 'x' } }, 'previousServer.isuer: no such option. Did you mean issuer?'],
];

test('an option with an unknown name is refused at construction, with the name that was probably meant', () => {
  for (const [options, message] of UNKNOWN) {
    assert.throws(
      () => new AuthorizationServer({ ...REQUIRED, ...withPrevious(options) }),
      (error) => {
        assert.ok(error instanceof ConfigurationError, `${message}: ${error}`);
        assert.equal(error.message.slice(0, message.length), message);
        return true;
      },
      `${message} was accepted`,
    );
  }
  // A host's own class may have additional members.
  class Previous {
    readonly pool = 'of the host';
    readonly jwtService = OLD.jwtService;
    readonly tokens = OLD_TOKENS;
  }
  new AuthorizationServer({ ...REQUIRED, previousServer: previousServer(new Previous()) });
});

const ISSUER_EXPECTED = 'issuer: expected an http or https URL without query, fragment and credentials';

test('a value of a wrong type is named without the value if it is a secret', () => {
  for (const [options, message] of [
    [
      { accessTokenLifetime: '60' },
      'accessTokenLifetime: expected whole seconds from 1 to 315360000, got the text "60"',
    ],
    [{ refreshGrace: -1 }, 'refreshGrace: expected whole seconds from 0 to 315360000, got -1'],
    [{ authenticateRevoke: 'no' }, 'authenticateRevoke: expected true or false, got the text "no"'],
    [{ onEvent: {} }, 'onEvent: expected a function, got an object'],
    [{ issuer: 'login.example.com' }, `${ISSUER_EXPECTED}, got the text "login.example.com"`],
    [{ issuer: 'https://user:password@a.example' }, `${ISSUER_EXPECTED}, got a text of 31 characters`],
    [{ issuer: `x${'y'.repeat(100)}` }, `${ISSUER_EXPECTED}, got a text of 101 characters`],
    [
      { pairwiseSecret: 'too short' },
      'pairwiseSecret: expected a text of at least 32 characters, got a text of 9 characters',
    ],
    [{ pairwiseSecret: 12345678 }, 'pairwiseSecret: expected a text of at least 32 characters, got a number'],
  ] as const) {
    const given = { ...REQUIRED, ...options } as unknown as AuthorizationServerOptions;
    assert.throws(() => new AuthorizationServer(given), { name: 'ConfigurationError', message });
  }
});

test('a list with a wrong element is refused by the index and the type of the element', () => {
  const texts = 'a list of texts, none empty';
  const hosts = 'a list of hosts in lower case, such as client.example:8443';
  const audience = 'a text or a list of texts, none empty';
  for (const [options, message] of [
    [
      { userInfoAudiences: ['a', 7] },
      `userInfoAudiences: expected ${texts}, got a list with a number at index 1`,
    ],
    [
      { userInfoAudiences: [''] },
      `userInfoAudiences: expected ${texts}, got a list with an empty text at index 0`,
    ],
    [{ userInfoAudiences: [] }, `userInfoAudiences: expected ${texts}, got an empty list`],
    [
      { requestUriHosts: ['a.example', 'B.example'] },
      `requestUriHosts: expected ${hosts}, got a list with a text of 9 characters at index 1`,
    ],
    [
      { defaultAudience: ['a', 'b', null] },
      `defaultAudience: expected ${audience}, got a list with null at index 2`,
    ],
    [{ acrValues: 'urn:a' }, 'acrValues: expected a list of texts without spaces, got the text "urn:a"'],
    [
      { secret: ['s'.repeat(32), 's'.repeat(31)] },
      'secret: expected a text of at least 32 characters, or a list of such texts, newest first, got a list with a text of 31 characters at index 1',
    ],
    [
      { registration: { openTo: 'anyone', grantTypes: ['refresh_token', ['client_credentials']] } },
      'registration.grantTypes: expected a list of authorization_code, refresh_token, client_credentials, urn:ietf:params:oauth:grant-type:device_code, got a list with a list at index 1',
    ],
  ] as const) {
    const given = { ...REQUIRED, ...options } as unknown as AuthorizationServerOptions;
    assert.throws(() => new AuthorizationServer(given), { name: 'ConfigurationError', message });
  }
});

test('storage without a method of a group that it has is refused at construction, which names the method', () => {
  const { storage } = REQUIRED;
  const parts = ['clients', 'tokens', 'authorizationCodes', 'keys', 'oneTimeIdentifiers', 'pending'] as const;
  const optional = [
    'clients.findApis',
    'clients.hasRedirectOrigin',
    'clients.add',
    'clients.list',
    'clients.listUnused',
    'clients.noteDocument',
    'clients.noteUse',
    'clients.replace',
    'clients.remove',
    'clients.removeAll',
    'clients.replaceSecrets',
    'tokens.isAccessTokenRevoked',
    'tokens.joinedClients',
    'tokens.takesOnce',
    'tokens.keepsAncestors',
    'tokens.descendantsOf',
    'tokens.exchangedFor',
    'authorizationCodes.takesOnce',
    'keys.reseal',
  ];
  for (const part of parts) {
    const methods = Object.keys(storage[part]).filter((name) => !optional.includes(`${part}.${name}`));
    assert.ok(methods.length > 0);
    for (const method of methods) {
      const without = { ...storage, [part]: { ...storage[part], [method]: undefined } };
      assert.throws(
        () => new AuthorizationServer({ ...REQUIRED, storage: without }),
        { name: 'ConfigurationError', option: `storage.${part}.${method}` },
        `storage.${part}.${method} was not missed`,
      );
    }
  }
  // Methods that drop what the repository says they take.
  const { rotate, ...tokens } = storage.tokens;
  const dropping: typeof rotate = (record, successor, issued) => rotate(record, successor, issued);
  const passing: typeof rotate = (...given) => rotate(...given);
  const withRotate = (method: typeof rotate) => ({ ...storage, tokens: { ...tokens, rotate: method } });
  new AuthorizationServer({ ...REQUIRED, storage: withRotate(passing) });
  assert.throws(() => new AuthorizationServer({ ...REQUIRED, storage: withRotate(dropping) }), {
    message: 'storage.tokens.rotate: expected the parameter once, because takesOnce is set',
  });
  // Options that others require.
  const registration = { openTo: 'anyone' } as const;
  const { oneTimeIdentifiers: _, ...reusable } = storage;
  new AuthorizationServer({ ...REQUIRED, storage: reusable });
  assert.throws(() => new AuthorizationServer({ ...REQUIRED, registration, storage: reusable }), {
    message:
      'storage.oneTimeIdentifiers: expected an object with take, because registered clients can authenticate with assertions',
  });
  for (const method of ['add', 'replace', 'remove']) {
    const without = { ...storage, clients: { ...storage.clients, [method]: undefined } };
    new AuthorizationServer({ ...REQUIRED, storage: without });
    assert.throws(() => new AuthorizationServer({ ...REQUIRED, registration, storage: without }), {
      option: `storage.clients.${method}`,
    });
  }
});

test('values at the edge of what is allowed are accepted', () => {
  const accepted: readonly WorldOptions[] = [
    { issuer: 'http://localhost:4000' },
    { issuer: 'https://as.example/' },
    { issuer: 'https://as.example/a/b' },
    { issuer: 'http://[::1]:1' },
    { secret: 'x'.repeat(32) },
    { secret: [SECRET] },
    { secret: Object.freeze([SECRET, 'y'.repeat(40)]) },
    { refreshGrace: 0 },
    { accessTokenLifetime: 1, authorizationCodeLifetime: 10 * 365 * 24 * 60 * 60 },
    { oidc: { ...OIDC, claimsByScope: {} } },
    { paths: {} },
    { paths: { token: '/jwks', jwks: '/token' } },
    { defaultAudience: ['https://a.example'] },
    { introspectionPolicy: () => true, authenticateIntrospect: false },
    { previousServer: previousServer(OLD) },
    { previousServer: previousServer({ ...OLD, issuer: 'the previous one' }) },
  ];
  for (const options of accepted) new AuthorizationServer({ ...REQUIRED, ...options });
});

test('a host with a JwtService of its own needs no repository of keys', async (t) => {
  const world = await openWorld(t);
  const { clients, tokens, authorizationCodes } = world.storage;
  const server = new AuthorizationServer({
    ...REQUIRED,
    storage: { clients, tokens, authorizationCodes },
    clock: world.clock.read,
    jwtService: {
      algorithms: ['RS256'],
      sign: async (claims) => ({
        token: `e30.${btoa(JSON.stringify(claims)).replaceAll('=', '')}.c`,
        keyId: 'of the host',
      }),
      verify: async (token) => ({
        verified: true,
        type: 'at+jwt',
        keyId: 'of the host',
        claims: JSON.parse(atob(token.split('.')[1] ?? '')),
      }),
      publicKeys: async () => [{ kty: 'RSA', kid: 'of the host' }],
    },
  });
  await server.prepare();
  const [issued] = await server.operator.issueTokens({ clientId: 'machine' });
  const { active, client_id } = await server.introspectToken(issued?.accessToken ?? '');
  assert.deepEqual([active, client_id], [true, 'machine']);
  const { body } = await server.jwks({ method: 'GET', url: '/jwks', headers: {} });
  assert.equal(body, '{"keys":[{"kty":"RSA","kid":"of the host"}]}');
  await assert.rejects(server.operator.rotateSigningKey('RS256'), /they belong to the option jwtService/);
});

// ── The caller's object ───────────────────────────────────────────────────────────────────────────────────

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFrozen(member);
  }
  return value;
}

test('the caller’s options are only read: deeply frozen ones serve every endpoint', async (t) => {
  const first = await openWorld(t);
  const { clients, tokens, authorizationCodes, keys } = first.storage;
  const storage = {
    clients: { ...clients },
    tokens: { ...tokens },
    authorizationCodes: { ...authorizationCodes },
    keys: { ...keys },
  };
  const server = new AuthorizationServer(
    deepFrozen({
      issuer: ISSUER,
      secret: [SECRET],
      storage,
      clock: first.clock.read,
      oidc: { ...OIDC, claimsByScope: { openid: [], profile: ['name'] } },
      defaultAudience: ['https://api.example'],
      paths: { jwks: '/keys' },
    }),
  );
  await server.prepare();
  const code = await first.code();
  const headers = { authorization: basic('web'), 'content-type': 'application/x-www-form-urlencoded' };
  const post = (url: string, form: Readonly<Record<string, string>>) =>
    server.handle({ method: 'POST', url, headers, body: new URLSearchParams(form).toString() });
  const redeemed = await post('/token', {
    grant_type: 'authorization_code',
    code,
    code_verifier: VERIFIER,
    redirect_uri: CLIENTS.web.redirectUris[0],
  });
  const { access_token, refresh_token } = JSON.parse(redeemed?.body ?? '');
  assert.deepEqual(await server.userInfoOf(access_token), { name: 'Alice Liddell', sub: 'alice' });
  assert.equal((await post('/token', { grant_type: 'refresh_token', refresh_token }))?.status, 200);
  assert.equal((await post('/token/introspect', { token: access_token }))?.status, 200);
  assert.equal((await post('/token/revoke', { token: access_token }))?.status, 200);
  assert.equal((await server.introspectToken(access_token)).active, false);
  await server.operator.rotateSigningKey('RS256');
});

test('what the caller changes afterwards changes nothing', async (t) => {
  const world = await openWorld(t);
  const claimsByScope = { openid: [], profile: ['name'] };
  const options = {
    issuer: ISSUER,
    secret: [SECRET],
    storage: world.storage,
    clock: world.clock.read,
    oidc: { getUserClaims: OIDC.getUserClaims, claimsByScope },
    defaultAudience: ['https://api.example'],
    paths: { token: '/oauth/token' },
  };
  const server = new AuthorizationServer(options);
  const before = structuredClone(server.serverMetadata);
  const { access_token } = await world.grant();

  options.secret[0] = 'another secret with more than 32 characters';
  options.defaultAudience.push('https://evil.example');
  options.paths.token = '/elsewhere';
  options.oidc.claimsByScope.profile.push('password_hash');
  Object.assign(claimsByScope, { read: ['email'] });
  options.oidc.getUserClaims = () => ({ name: 'Mallory' });
  options.issuer = 'https://evil.example';

  assert.deepEqual(structuredClone(server.serverMetadata), before);
  assert.deepEqual(await server.userInfoOf(access_token), { name: 'Alice Liddell', sub: 'alice' });
  const [issued] = await server.operator.issueTokens({ clientId: 'machine' });
  const { aud } = await server.introspectToken(issued?.accessToken ?? '');
  assert.deepEqual(aud, ['https://api.example']);
  const [one, other] = [
    await server.operator.hashClientSecret('x'),
    await world.server.operator.hashClientSecret('x'),
  ];
  assert.equal(one.hash, other.hash);
});

test('no default is shared between servers in a way that one could change for the other', () => {
  const { lifetimes, paths, oidc } = resolveOptions({ ...REQUIRED, oidc: OIDC });
  for (const part of [lifetimes, paths, oidc, oidc?.claimsByScope, oidc?.claimsByScope.profile]) {
    assert.equal(Object.isFrozen(part), true);
  }
});

// ── Clock and randomness ──────────────────────────────────────────────────────────────────────────────────

test('all random values come from the given source', async (t) => {
  const world = await openWorld(t);
  let drawn = 0;
  const random = (bytes: number) => new Uint8Array(bytes).fill(++drawn);
  const server = (await secondServer(world, { random, accessTokenFormat: 'opaque' })).server;
  const bodyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64url');
  assert.equal(server.operator.newClientSecret(), `grantd_cs_${bodyOf(1)}`);
  const [issued] = await server.operator.issueTokens({ clientId: 'machine' });
  assert.equal(issued?.accessToken, `grantd_at_${bodyOf(drawn)}`);
});

test('time is what the clock says, whatever the system’s says', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  assert.deepEqual(await world.alive(access_token), [true]);
  const ahead = new AuthorizationServer({
    ...REQUIRED,
    storage: world.storage,
    clock: () => world.clock.nowMs + 3600_000,
  });
  assert.equal((await ahead.introspectToken(access_token)).active, false);
  const [issued] = await ahead.operator.issueTokens({ clientId: 'machine' });
  assert.equal(issued?.expiresAt, world.clock.seconds + 7200);
});

// ── Introspection policies ────────────────────────────────────────────────────────────────────────────────

specification('Introspection policy (RFC 7662 §4)', ON_MEMORY, (spec) => {
  spec('grantd §5.3 by default every authenticated confidential client may ask', async (world) => {
    const token = await world.machineToken();
    for (const client of ['web', 'api', 'machine'] as const) {
      assert.equal(JSON.parse((await world.introspect(token, client)).body).active, true);
    }
  });

  spec(
    'CVE-2024-47077 with the audience policy the caller is held against the token: its client and its resource servers',
    async (world) => {
      const token = await world.machineToken();
      const { refresh_token, access_token } = await world.grant();
      const answers = async (which: string, client: 'web' | 'api' | 'machine') => {
        const { status, body } = await world.introspect(which, client);
        assert.equal(status, 200);
        return body === INACTIVE ? 'inactive' : JSON.parse(body).active;
      };
      assert.deepEqual([await answers(token, 'machine'), await answers(token, 'api')], [true, true]);
      assert.equal(await answers(token, 'web'), 'inactive');
      assert.deepEqual(
        world.events.map((event) => [event.type, 'reason' in event && event.reason, event.clientId]),
        [['inactive', 'policy', 'web']],
      );
      assert.deepEqual(
        [await answers(access_token, 'web'), await answers(access_token, 'api')],
        [true, true],
      );
      assert.equal(await answers(access_token, 'machine'), 'inactive');
      assert.deepEqual(
        [await answers(refresh_token, 'web'), await answers(refresh_token, 'api')],
        [true, 'inactive'],
      );
    },
    { introspectionPolicy: 'audience', defaultAudience: ['https://api.example', 'https://b.example'] },
  );

  spec(
    'grantd §5.3 with the audience policy a resource must be in the audience as a whole, not as a part of it',
    async (world) => {
      await world.storage.clients.add({ ...CLIENTS.api, id: 'part', resource: 'https://api.example' });
      assert.deepEqual(await world.introspect(await world.machineToken(), 'api'), {
        status: 200,
        headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
        body: INACTIVE,
      });
    },
    { introspectionPolicy: 'audience', defaultAudience: 'https://api.example/v2' },
  );

  const asked: (readonly [string | undefined, string, string])[] = [];
  spec(
    'grantd §5.3 a policy of the host’s own learns who asks about which live token, and its refusal looks like any inactive token',
    async (world) => {
      asked.length = 0;
      const token = await world.machineToken();
      const { access_token } = await world.grant();
      assert.equal(JSON.parse((await world.introspect(token, 'web')).body).active, true);
      assert.equal((await world.introspect(token, 'api')).body, INACTIVE);
      assert.equal((await world.introspect('no token', 'web')).body, INACTIVE);
      assert.equal((await world.introspect(token, 'web', 'auth_code')).body, INACTIVE);
      await world.revoke(access_token);
      assert.equal((await world.introspect(access_token, 'web')).body, INACTIVE);
      assert.deepEqual(asked, [
        ['web', 'machine', 'read'],
        ['api', 'machine', 'read'],
      ]);
    },
    {
      introspectionPolicy: async (caller, { record, claims }) => {
        asked.push([caller?.id, record.clientId, String(claims.scope)]);
        return caller?.id === 'web';
      },
    },
  );

  spec(
    'grantd §5.3 a policy that fails is a 500 without details',
    async (world) => {
      const { status, body } = await world.introspect(await world.machineToken());
      assert.deepEqual(
        [status, body],
        [500, '{"error":"server_error","error_description":"an unexpected error"}'],
      );
    },
    { introspectionPolicy: () => Promise.reject(new Error('the rules are gone')) },
  );

  spec(
    'grantd §5.3 if introspection is not authenticated, a policy has no caller',
    async (world) => {
      assert.equal((await world.introspect(await world.machineToken())).body, INACTIVE);
    },
    { authenticateIntrospect: false, introspectionPolicy: (caller) => caller !== undefined },
  );
});

test('grantd §5.3 the audience policy does not treat two absent values as equal', async () => {
  const { introspectionPolicy } = resolveOptions({ ...REQUIRED, introspectionPolicy: 'audience' });
  const token = (claims: FoundToken['claims']): FoundToken => ({
    claims,
    record: { id: 'x', kind: 'access_token', clientId: 'web', scopes: [], issuedAtMs: 0, expiresAt: 1 },
  });
  const may = (...[caller, found]: Parameters<IntrospectionPolicy>) => introspectionPolicy(caller, found);
  const { resource, ...plain } = CLIENTS.api;
  assert.equal(await may(plain, token({})), false);
  assert.equal(await may(plain, token({ aud: [undefined] })), false);
  assert.equal(await may(undefined, token({ aud: resource })), false);
  assert.equal(await may({ ...plain, resource }, token({ aud: [resource] })), true);
  assert.equal(await may({ ...plain, resource }, token({ aud: resource })), true);
  assert.equal(await may({ ...plain, resource }, token({ aud: { [resource]: true } })), false);
});

test('grantd §5.3 the audience policy lets an operator’s client with follow_all see every token', async () => {
  const { introspectionPolicy } = resolveOptions({ ...REQUIRED, introspectionPolicy: 'audience' });
  const record = { id: 'x', kind: 'access_token', clientId: 'web', scopes: [], issuedAtMs: 0 } as const;
  const found: FoundToken = { claims: { aud: 'https://other.example' }, record: { ...record, expiresAt: 1 } };
  const follower = { ...CLIENTS.api, metadata: { follow_all: true } };
  assert.equal(await introspectionPolicy(follower, found), true);
  assert.equal(await introspectionPolicy({ ...follower, registeredAt: 1 }, found), false);
  assert.equal(await introspectionPolicy({ ...follower, metadata: { follow_all: false } }, found), false);
});
