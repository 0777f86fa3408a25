import type {
  AuthorizationServerOptions,
  OidcOptions,
  RegistrationOptions,
} from './authorization_server_options.ts';
import type { EndpointPaths, GetUserClaims } from './clients/client.ts';
import type { IntrospectionPolicy, OpenTo } from './context.ts';
import type { Clock, RandomSource } from './environment.ts';
import type { FormerTokens } from './former_tokens/former_jwts.ts';
import type { ServerEvent } from './http/events.ts';
import type { FetchDocument } from './http/fetch_document.ts';
import { isJsonObject } from './http/json.ts';
import {
  functionOf,
  hostValue,
  type Kind,
  listOf,
  type Option,
  type OptionTable,
  oneOf,
  option,
  optionWithoutDefault,
  requiredOption,
  seconds,
  text,
  textList,
  textOrList,
  trueOrFalse,
  wholeNumber,
} from './option_kinds.ts';
import { type ClaimsByScope, STANDARD_CLAIMS_BY_SCOPE } from './protocol/claims.ts';
import {
  ASSERTION_AUDIENCES,
  type AssertionAudience,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from './protocol/client_metadata.ts';
import {
  GRANT_TYPES,
  type GrantType,
  LONGEST_ID_TOKEN_LIFETIME,
  type TokenFormat,
} from './protocol/records.ts';
import { isResourceUri, isScopeToken } from './protocol/scope.ts';
import type { Awaitable, Storage } from './storage/contract.ts';
import type { ApplicationClaims } from './tokens/application_claims.ts';
import type { SubjectState } from './tokens/context.ts';
import type { JwtService } from './tokens/jwt_service.ts';

export { isJsonObject } from './http/json.ts';
export * from './option_kinds.ts';

/** Default paths below the issuer. */
export const DEFAULT_PATHS: EndpointPaths = {
  token: '/token',
  introspection: '/token/introspect',
  revocation: '/token/revoke',
  userInfo: '/userinfo',
  authorization: '/authorize',
  endSession: '/logout',
  pushedAuthorizationRequest: '/par',
  jwks: '/jwks',
  registration: '/register',
};

/** ASCII, since issuer and paths go into headers and are compared to the letter; neither query nor fragment. */
const WEB_URL = /^https?:\/\/(?!\/|.*[?#\\])[\x21-\x7E]+$/;
const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/;

const signingAlgorithm: Kind<SigningAlgorithm> = {
  ...oneOf(...SIGNING_ALGORITHMS),
  type: 'SigningAlgorithm',
};

/** By its name, or a function of the host. */
const introspectionPolicy: Kind<'any_client' | 'audience' | IntrospectionPolicy> = {
  ...oneOf('any_client', 'audience'),
  expected: 'any_client, audience or a function',
  type: "'any_client' | 'audience' | IntrospectionPolicy",
  read: (value) =>
    value === 'any_client' || value === 'audience' || typeof value === 'function'
      ? (value as IntrospectionPolicy)
      : undefined,
};

const secretText = (secret: string) => secret.length >= 32;

/**
 * Options that a text or a number can express. The program has them as well, as flags, variables and names in its file.
 * An entry here is all that a new option takes: run `npm run docs`, which writes the interface and the documentation.
 */
export const SHARED_OPTIONS = {
  authenticateIntrospect: option(
    'Endpoints',
    trueOrFalse,
    'Whether introspection requires client authentication.',
    true,
    { section: 'RFC 7662 §2.1' },
  ),
  authenticateRevoke: option(
    'Endpoints',
    trueOrFalse,
    'Whether revocation requires client authentication.',
    true,
    { section: 'RFC 7009 §2.1' },
  ),
  introspectionRequiresConfidentialClient: option(
    'Endpoints',
    trueOrFalse,
    'Whether introspection refuses public clients. It has no effect if introspection is not authenticated.',
    true,
  ),
  introspectionPolicy: option(
    'Endpoints',
    introspectionPolicy,
    'Who may introspect which token: any client, or only the client that owns it and the APIs in its audience.',
    'any_client',
    { section: 'RFC 7662 §4' },
  ),
  ignoreUnknownTokenTypeHints: option(
    'Endpoints',
    trueOrFalse,
    'Whether an unknown token_type_hint is ignored instead of refused. A client can have this for itself: ignore_unknown_token_type_hint.',
    false,
    { section: 'RFC 7009 §2.2.1' },
  ),
  userInfoAudiences: optionWithoutDefault(
    'Endpoints',
    textList('AUDIENCES', 'a list of texts, none empty', (one) => one !== '', 1),
    'Audiences (aud) of access tokens that UserInfo accepts, such as the issuer. By default an API can read a user’s claims with the token that it received.',
    'any',
  ),
  requirePushedAuthorizationRequests: option(
    'Endpoints',
    trueOrFalse,
    'Whether every authorization request must be pushed. A client can require it for itself.',
    false,
    { section: 'RFC 9126 §5' },
  ),
  requestUriHosts: option(
    'Endpoints',
    textList('HOSTS', 'a list of hosts in lower case, such as client.example:8443', (host) =>
      HOST.test(host),
    ),
    'Hosts from which the server fetches a request_uri that the client did not register. Include the port if it is not 443.',
    [],
    { section: 'RFC 9101 §10.4.1', defaultInWords: 'none' },
  ),
  strictRequestObjects: option(
    'Endpoints',
    trueOrFalse,
    'Whether every request object needs nbf and exp. By default those in the parameter request need exp, and those behind a request_uri need neither.',
    false,
    { section: 'FAPI 2.0 Message Signing §5.3.1' },
  ),

  accessTokenFormat: option(
    'Tokens',
    { ...oneOf<TokenFormat>('jwt', 'opaque'), type: 'TokenFormat' },
    'Format of new access tokens. A client can have a format of its own.',
    'jwt',
    { section: 'RFC 9068' },
  ),
  accessTokenAlgorithm: option(
    'Tokens',
    signingAlgorithm,
    'Algorithm that signs new access tokens.',
    'RS256',
  ),
  idTokenAlgorithm: option('Tokens', signingAlgorithm, 'Algorithm that signs new ID tokens.', 'RS256'),
  apisWithPlainJwts: option(
    'Tokens',
    textList('RESOURCES', 'a list of absolute URIs without fragment', isResourceUri),
    'APIs (resource URIs) whose access tokens have the typ header JWT instead of at+jwt, because their verifier refuses at+jwt. It applies to tokens for such an API alone; UserInfo refuses them.',
    [],
    { section: 'RFC 9068 §2.1', defaultInWords: 'none' },
  ),
  useOpaqueRefreshTokens: option(
    'Tokens',
    trueOrFalse,
    'Whether new refresh tokens are opaque instead of JWTs. Refresh tokens of either kind stay valid when this changes.',
    false,
  ),
  defaultAudience: optionWithoutDefault(
    'Tokens',
    textOrList('AUDIENCE', 'a text or a list of texts, none empty', (one) => one !== ''),
    'Audience (aud) of access tokens for which the client named no resource.',
    'the issuer',
  ),

  accessTokenLifetime: option('Lifetimes', seconds(1), 'Seconds until an access token expires.', 3600),
  refreshTokenLifetime: option(
    'Lifetimes',
    seconds(1),
    'Seconds until a refresh token expires, counted anew at each rotation.',
    14 * 24 * 60 * 60,
  ),
  refreshFamilyLifetime: optionWithoutDefault(
    'Lifetimes',
    seconds(0),
    'Seconds after which the user signs in again, however often the refresh token was rotated. 0 is without end.',
    '7776000 (90 days), or refreshTokenLifetime if that is longer',
  ),
  idTokenLifetime: option(
    'Lifetimes',
    seconds(1, LONGEST_ID_TOKEN_LIFETIME),
    'Seconds until an ID token expires.',
    3600,
  ),
  authorizationCodeLifetime: option(
    'Lifetimes',
    seconds(1),
    'Seconds until an authorization code expires.',
    60,
    { section: 'RFC 6749 §4.1.2' },
  ),
  pushedRequestLifetime: option(
    'Lifetimes',
    seconds(1),
    'Seconds in which the browser must bring a pushed authorization request.',
    60,
    { section: 'RFC 9126 §2.2' },
  ),
  refreshGrace: option(
    'Lifetimes',
    seconds(0),
    'Seconds in which the client may retry with the predecessor of a rotated refresh token.',
    10,
  ),
};

/** Options that only code can give, and those that the program sets in its own way. */
const HOST_OPTIONS = {
  issuer: requiredOption(
    'Host',
    text('URL', 'an http or https URL without query, fragment and credentials', isIssuer),
    'URL that names this server. It is the base of every other URL.',
    { section: 'RFC 8414 §2' },
  ),
  secret: requiredOption(
    'Host',
    textOrList('SECRET', 'a text of at least 32 characters, or a list of them, the newest first', secretText),
    'Secret of at least 32 characters from which all keys derive. To change it, give a list: the server uses the first and accepts all.',
    { isSecret: true },
  ),
  storage: requiredOption(
    'Host',
    hostValue<Storage>('Storage', 'a storage object', isObject),
    'Where clients, tokens, codes and keys are kept.',
  ),
  pairwiseSecret: optionWithoutDefault(
    'Host',
    text('SECRET', 'a text of at least 32 characters', secretText),
    'Secret of at least 32 characters for pairwise subject identifiers. It must never change, since each identifier would change with it.',
    'none, and no client can have pairwise subjects',
    { section: 'OpenID Connect Core §8.1', isSecret: true },
  ),
  jwtService: optionWithoutDefault(
    'Host',
    hostValue<JwtService>(
      'JwtService',
      'an object with algorithms, sign, verify and publicKeys',
      isJwtService,
    ),
    'Signs and verifies JWTs.',
    'a service over storage.keys, which is required then',
  ),
  formerTokens: optionWithoutDefault(
    'Host',
    hostValue<FormerTokens>('FormerTokens', 'an object'),
    'Tokens of the server that this one replaces. They stay valid until they expire. It needs storage.getPrincipalState.',
    'none',
  ),
  oidc: optionWithoutDefault(
    'Host',
    hostValue<OidcOptions>('OidcOptions', 'an object'),
    'OpenID Connect.',
    'off',
  ),
  applicationClaims: optionWithoutDefault(
    'Host',
    hostValue<ApplicationClaims>('ApplicationClaims', 'an object with claims and valuesOf', isObject),
    'Claims of the application itself, such as roles, groups or a tenant, for tokens, UserInfo and introspection.',
    'none',
  ),
  registration: optionWithoutDefault(
    'Host',
    hostValue<RegistrationOptions>('RegistrationOptions', 'an object'),
    'Dynamic client registration.',
    'off',
    { section: 'RFC 7591, RFC 7592' },
  ),
  acrValues: option(
    'Host',
    textList('ACR', 'a list of texts without spaces', (acr) => /^[^\s\0]+$/.test(acr)),
    'Authentication context classes (acr) that a sign-in can have.',
    [],
    { section: 'OpenID Connect Core §2', defaultInWords: 'none' },
  ),
  fetchDocument: optionWithoutDefault(
    'Host',
    functionOf<FetchDocument>('FetchDocument'),
    'Fetches the URLs that clients name (jwks_uri, sector_identifier_uri, request_uri) and delivers back-channel logouts. It must refuse addresses inside the server’s own network, as documentFetcher() of @grantd/core/node does.',
    'the server fetches nothing, and refuses what would need it',
  ),
  paths: optionWithoutDefault(
    'Host',
    hostValue<Partial<EndpointPaths>>('Partial<EndpointPaths>', 'an object of paths', isObject),
    'Paths below the issuer, if the host routes them elsewhere.',
    'those of DEFAULT_PATHS',
  ),
  getSubjectState: optionWithoutDefault(
    'Host',
    functionOf<(subject: string) => Awaitable<SubjectState>>('(subject: string) => Awaitable<SubjectState>'),
    'Says whether a user is enabled, disabled or unknown. Only the tokens of an enabled user are active.',
    'as storage says',
  ),
  onEvent: option(
    'Host',
    functionOf<(event: ServerEvent) => void>('(event: ServerEvent) => void'),
    'Receives refusals, inactive answers, revocations and answered calls, for logs and audit.',
    reportFault,
    { defaultInWords: 'console.error for faults' },
  ),
  clock: option('Host', functionOf<Clock>('Clock'), 'Milliseconds since 1970.', () => Date.now(), {
    defaultInWords: 'the system’s clock',
  }),
  random: option(
    'Host',
    functionOf<RandomSource>('RandomSource'),
    'Random bytes, as many as asked for.',
    (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
    { defaultInWords: 'the system’s generator' },
  ),
};

/** Members of the option `oidc`. */
export const OIDC_OPTIONS = {
  getUserClaims: requiredOption(
    'Host',
    functionOf<GetUserClaims>('GetUserClaims'),
    'The attributes of a user, for UserInfo. A rejection is a storage fault.',
    { section: 'OpenID Connect Core §5.3' },
  ),
  claimsByScope: option(
    'Host',
    hostValue<ClaimsByScope>('ClaimsByScope', 'a list of claims for each scope', isClaimsByScope),
    'Which scope permits which claims.',
    STANDARD_CLAIMS_BY_SCOPE,
    { section: 'OpenID Connect Core §5.4', defaultInWords: 'those of OpenID Connect' },
  ),
};

/** Members of the option `registration`. */
export const REGISTRATION_OPTIONS = {
  openTo: requiredOption(
    'Endpoints',
    hostValue<OpenTo>('OpenTo', 'anyone, initial_access_token or a function', isOpenTo),
    'Who may register: everyone, clients with an initial access token from newInitialAccessToken, or clients with one that the host accepts.',
    { section: 'RFC 7591 §3' },
  ),
  scopes: optionWithoutDefault(
    'Endpoints',
    textList('SCOPES', 'a list of scopes', isScopeToken),
    'Scopes that such clients may obtain.',
    'those of OpenID Connect and offline_access, to which a user consents, and no scope of an API',
  ),
  apis: option(
    'Endpoints',
    textList('URIS', 'a list of absolute URIs without fragment (RFC 8707 section 2)', isResourceUri),
    'Resource URIs of the APIs that such clients may ask for. A client keeps the list with which it registered.',
    [],
    { defaultInWords: 'none' },
  ),
  grantTypes: option(
    'Endpoints',
    listOf<GrantType>('GrantType', GRANT_TYPES),
    'Grants that they may use. With client_credentials a stranger gets tokens without any user.',
    ['authorization_code', 'refresh_token'],
    { defaultInWords: 'authorization_code and refresh_token' },
  ),
  allowInsecureUris: option(
    'Endpoints',
    trueOrFalse,
    'Lets them use http and localhost, so that codes can be read on the way. For development only.',
    false,
  ),
  assertionAudience: option(
    'Endpoints',
    { ...oneOf<AssertionAudience>(...ASSERTION_AUDIENCES), type: 'AssertionAudience' },
    'Audience that their assertions may name: the issuer alone, or also the URL of the endpoint, which could mean another server as well. A client keeps the setting with which it registered.',
    'issuer',
  ),
  insecureAllowMissingPkce: option(
    'Endpoints',
    trueOrFalse,
    'Lets confidential clients that register themselves leave out PKCE, which exposes them to code injection. A client keeps the setting with which it registered.',
    false,
    { section: 'RFC 9700 §2.1.1' },
  ),
  mostClients: option(
    'Endpoints',
    wholeNumber(1, Number.MAX_SAFE_INTEGER),
    'How many self-registered clients there can be. Further registrations are refused. They are counted at each registration.',
    10_000,
  ),
};

export const ALL_OPTIONS = { ...HOST_OPTIONS, ...SHARED_OPTIONS };

/** Every option of `new AuthorizationServer()`. The annotation holds table and generated interface to each other. */
export const AUTHORIZATION_SERVER_OPTIONS: {
  readonly [Name in keyof Required<AuthorizationServerOptions>]: Option<
    NonNullable<AuthorizationServerOptions[Name]>,
    unknown
  >;
} = ALL_OPTIONS satisfies Record<keyof AuthorizationServerOptions, unknown>;

/** The tables behind the generated interfaces, by the name of the interface. */
export const OPTION_TABLES: Readonly<
  Record<string, { readonly about: string; readonly place: string; readonly table: OptionTable }>
> = {
  AuthorizationServerOptions: {
    about: 'Options of `new AuthorizationServer()`.',
    place: '',
    table: AUTHORIZATION_SERVER_OPTIONS,
  },
  OidcOptions: {
    about: 'OpenID Connect is on if this block is given.',
    place: 'oidc.',
    table: OIDC_OPTIONS,
  },
  RegistrationOptions: {
    about: 'Dynamic client registration (RFC 7591), and what clients may change later (RFC 7592).',
    place: 'registration.',
    table: REGISTRATION_OPTIONS,
  },
};

function isOpenTo(value: unknown): boolean {
  return value === 'anyone' || value === 'initial_access_token' || typeof value === 'function';
}

/** A host that listens to nothing still learns what went wrong inside. */
function reportFault(event: ServerEvent): void {
  if (event.type === 'refused' && event.status >= 500) console.error('grantd', event.reason, event.cause);
}

/** Whether a text can name a server: an http or https URL without query, fragment and credentials (RFC 8414 §2). */
export function isIssuer(text: string): boolean {
  const url = WEB_URL.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '';
}

function isJwtService(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { algorithms, sign, verify, publicKeys }: Partial<JwtService> = value;
  return (
    Array.isArray(algorithms) && [sign, verify, publicKeys].every((method) => typeof method === 'function')
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isClaimsByScope(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    Object.values(value).every(
      (claims) => Array.isArray(claims) && claims.every((claim) => typeof claim === 'string'),
    )
  );
}
