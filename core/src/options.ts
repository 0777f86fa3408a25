// The table of all options. The interface, checks, flags and documentation follow from it.

import type {
  AuthorizationServerOptions,
  OidcOptions,
  RegistrationOptions,
} from './authorization_server_options.ts';
import { DEFAULT_CACHED_TOKENS } from './cache.ts';
import type { DpopNonces, EndpointPaths, MayUseClient } from './clients/client.ts';
import type { CertificateReader } from './clients/distinguished_name.ts';
import type { IntrospectionPolicy, OpenTo } from './context.ts';
import { type Clock, type RandomSource, systemRandom } from './environment.ts';
import type { ServerEvent } from './http/events.ts';
import type { FetchDocument } from './http/fetch_document.ts';
import { isScopeToken } from './http/form.ts';
import { isJsonObject } from './http/http.ts';
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
import type { PreviousServer } from './previous_server/previous_jwts.ts';
import { type ClaimsByScope, STANDARD_CLAIMS_BY_SCOPE } from './protocol/claims.ts';
import {
  ASSERTION_ALGORITHMS,
  ASSERTION_AUDIENCES,
  type AssertionAlgorithm,
  type AssertionAudience,
  GRANT_TYPES,
  type GrantType,
  isResourceUri,
  PROFILE_NAMES,
  type ProfileName,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
  type TokenFormat,
} from './protocol/client_metadata.ts';
import { LONGEST_ID_TOKEN_LIFETIME } from './protocol/records.ts';
import type { AuthorizingStorage, Awaitable, Storage } from './storage/contract.ts';
import type { ApplicationClaims } from './tokens/application_claims.ts';
import type { DetailsTypes } from './tokens/authorization_details.ts';
import type { GetUserClaims, SubjectState } from './tokens/context.ts';
import type { JwtService, JwtVerifier } from './tokens/jwt_service.ts';
import type { AccessTokenVerifier } from './tokens/state.ts';

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

/**
 * ASCII without query and fragment, because issuer and paths go into headers and are compared character by character.
 */
const WEB_URL = /^https?:\/\/(?!\/|.*[?#\\])[\x21-\x7E]+$/;
const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/;

const signingAlgorithm: Kind<SigningAlgorithm> = {
  ...oneOf(...SIGNING_ALGORITHMS),
  type: 'SigningAlgorithm',
};

/** A named policy, or a function of the host. */
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
 * Options that a text or a number can express. The program offers them as flags, variables and config file members. To
 * add an option, add an entry here and run `npm run docs`, which writes the interface and the documentation.
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
    'Whether introspection rejects public clients. If authenticateIntrospect is false, the option has no effect.',
    true,
  ),
  profile: optionWithoutDefault(
    'Endpoints',
    { ...oneOf<ProfileName>(...PROFILE_NAMES), type: 'ProfileName' },
    'FAPI 2.0 profile of the server and all its clients (docs/fapi.md). It changes the defaults of other options, and rejects values that it does not allow. You can also set a profile for single clients.',
    'none',
    { section: 'FAPI 2.0 Security Profile §5.3.2' },
  ),
  introspectionPolicy: option(
    'Endpoints',
    introspectionPolicy,
    'Who may introspect a token. any_client: every client, except that a self-registered client without a resource (which is no API) may introspect only its own tokens; audience: only the client to which the token was issued, and the APIs in the token’s audience.',
    'any_client',
    { section: 'RFC 7662 §4' },
  ),
  ignoreUnknownTokenTypeHints: option(
    'Endpoints',
    trueOrFalse,
    'Whether the server ignores an unknown token_type_hint instead of rejecting the request. For a single client, set ignore_unknown_token_type_hint.',
    false,
    { section: 'RFC 7009 §2.2.1' },
  ),
  userInfoAudiences: optionWithoutDefault(
    'Endpoints',
    textList('AUDIENCES', 'a list of texts, none empty', (one) => one !== '', 1),
    'Audiences (aud) that UserInfo accepts, such as the issuer. By default, UserInfo accepts tokens for any audience, so an API can use a token that it has received to read the user’s claims.',
    'any',
  ),
  strictScopes: option(
    'Endpoints',
    trueOrFalse,
    'Whether to reject authorization requests with scopes that the client may not have, instead of leaving them out. For a single client, set strict_scopes.',
    false,
    { section: 'RFC 6749 §3.3' },
  ),
  requirePushedAuthorizationRequests: option(
    'Endpoints',
    trueOrFalse,
    'Whether every authorization request must be pushed. You can also require this for single clients.',
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
  requestObjectAlgorithms: option(
    'Endpoints',
    listOf<SigningAlgorithm>('SigningAlgorithm', SIGNING_ALGORITHMS, 1),
    'Algorithms with which clients may sign request objects.',
    [...SIGNING_ALGORITHMS],
    { section: 'RFC 9101 §6.2', defaultInWords: SIGNING_ALGORITHMS.join(', ') },
  ),
  clientAssertionAlgorithms: option(
    'Endpoints',
    listOf<AssertionAlgorithm>('AssertionAlgorithm', ASSERTION_ALGORITHMS, 1),
    'Algorithms of the assertions that authenticate clients. client_secret_jwt needs HS256, HS384 or HS512, and private_key_jwt needs one of the others.',
    [...ASSERTION_ALGORITHMS],
    { section: 'RFC 7523 §3', defaultInWords: ASSERTION_ALGORITHMS.join(', ') },
  ),
  refuseRs256FromClients: option(
    'Endpoints',
    trueOrFalse,
    'Whether the server rejects RS256 signatures of clients. If true, it removes RS256 from requestObjectAlgorithms, clientAssertionAlgorithms and dpopAlgorithms.',
    false,
    { section: 'FAPI 2.0 Security Profile §5.4.1' },
  ),
  strictRequestObjects: option(
    'Endpoints',
    trueOrFalse,
    'Whether every request object needs aud, nbf and exp. By default, a request object in the parameter request needs only exp, and one from a request_uri needs none of them.',
    false,
    { section: 'FAPI 2.0 Message Signing §5.3.1' },
  ),

  accessTokenFormat: option(
    'Tokens',
    { ...oneOf<TokenFormat>('jwt', 'opaque'), type: 'TokenFormat' },
    'Format of new access tokens. For a single client, set access_token_format.',
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
    'APIs (resource URIs) whose verifiers reject the header typ: at+jwt. If such an API is the only audience of an access token, the token gets typ: JWT instead. UserInfo rejects such tokens.',
    [],
    { section: 'RFC 9068 §2.1', defaultInWords: 'none' },
  ),
  useOpaqueRefreshTokens: option(
    'Tokens',
    trueOrFalse,
    'Whether new refresh tokens are opaque instead of JWTs. Existing refresh tokens stay valid.',
    false,
  ),
  dpopAlgorithms: option(
    'Tokens',
    listOf<SigningAlgorithm>('SigningAlgorithm', SIGNING_ALGORITHMS),
    'Algorithms of the DPoP proofs with which clients bind tokens to a key. DPoP is off if the list is empty, or if the storage has no oneTimeIdentifiers.',
    [...SIGNING_ALGORITHMS],
    { section: 'RFC 9449 §5.1', defaultInWords: SIGNING_ALGORITHMS.join(', ') },
  ),
  dpopNonces: option(
    'Tokens',
    { ...oneOf<DpopNonces>('offered', 'required'), type: 'DpopNonces' },
    'Whether DPoP proofs may (offered) or must (required) contain a nonce of this server. A nonce shows that the client did not create the proof in advance.',
    'offered',
    { section: 'RFC 9449 §8' },
  ),
  defaultAudience: optionWithoutDefault(
    'Tokens',
    textOrList('AUDIENCE', 'a text or a list of texts, none empty', (one) => one !== ''),
    'Audience (aud) of access tokens if the request selects no API.',
    'the issuer',
  ),

  cachedTokens: option(
    'Tokens',
    wholeNumber(0, 10_000_000),
    'Maximum entries in each of two caches per process. One is for verified JWTs (about 60 bytes each). With SQLite, the other is for records of access tokens (usually 150 to 600 bytes each). The value 0 turns both caches off.',
    DEFAULT_CACHED_TOKENS,
  ),

  accessTokenLifetime: option('Lifetimes', seconds(1), 'Seconds until an access token expires.', 3600),
  refreshTokenLifetime: option(
    'Lifetimes',
    seconds(1),
    'Seconds until a refresh token expires. Each rotation issues a new refresh token with the full lifetime.',
    14 * 24 * 60 * 60,
  ),
  refreshFamilyLifetime: optionWithoutDefault(
    'Lifetimes',
    seconds(0),
    'Seconds until all refresh tokens that come from one sign-in expire, even if they were rotated. The user must then sign in again. 0 means no limit.',
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
    'Seconds within which the browser must present a pushed authorization request.',
    60,
    { section: 'RFC 9126 §2.2' },
  ),
  clientAssertionLifetime: option(
    'Lifetimes',
    seconds(1, 24 * 60 * 60),
    'Longest lifetime in seconds of assertions that authenticate clients. For a single client, set assertion_lifetime.',
    300,
    { section: 'RFC 7523 §3' },
  ),
  dpopProofLifetime: option(
    'Lifetimes',
    seconds(1, 60 * 60),
    'Seconds for which a DPoP proof is accepted after its time of issue (iat).',
    120,
    { section: 'RFC 9449 §11.1' },
  ),
  refreshGrace: option(
    'Lifetimes',
    seconds(0),
    'Seconds for which a client may use a refresh token again after its rotation, and gets the same new token. This helps clients that have lost a response.',
    10,
  ),
};

/** Options that only code can set, and options that the program sets in its own way. */
const HOST_OPTIONS = {
  issuer: requiredOption(
    'Host',
    text('URL', 'an http or https URL without query, fragment and credentials', isIssuer),
    'URL that names this server, and is the base of its other URLs.',
    { section: 'RFC 8414 §2' },
  ),
  secret: optionWithoutDefault(
    'Host',
    textOrList(
      'SECRET',
      'a text of at least 32 characters, or a list of such texts, newest first',
      secretText,
    ),
    'Secret of at least 32 characters. The server derives keys from it, which hash client secrets and encrypt signing keys. To rotate it, pass a list: the server uses the first secret for new hashes and encryption, and accepts data that was made with any secret of the list.',
    'none. Required if the server issues tokens, has signing keys or hashes client secrets',
    { isSecret: true },
  ),
  storage: requiredOption(
    'Host',
    hostValue<AuthorizingStorage | Storage>('S', 'a storage object', isObject),
    'Stores clients and tokens, and what else the server needs, in groups of methods.',
  ),
  pairwiseSecret: optionWithoutDefault(
    'Host',
    text('SECRET', 'a text of at least 32 characters', secretText),
    'Secret of at least 32 characters for pairwise subject identifiers. Never change it: every identifier would change.',
    'none, so no client can have pairwise subjects',
    { section: 'OpenID Connect Core §8.1', isSecret: true },
  ),
  jwtService: optionWithoutDefault(
    'Host',
    hostValue<JwtVerifier | JwtService>(
      'JwtVerifier | JwtService',
      'an object with verify, or with algorithms, sign, verify and publicKeys',
      isJwtService,
    ),
    'Signs and verifies JWTs. A server that issues no tokens only needs to verify them, as jwtVerifier() does.',
    'a service that uses storage.keys, which is then required unless all tokens are opaque (storage.tokens.keyedBy)',
  ),
  accessTokenVerifier: optionWithoutDefault(
    'Host',
    hostValue<AccessTokenVerifier>(
      'AccessTokenVerifier',
      'an object with verify',
      (value) => isObject(value) && 'verify' in value && typeof value.verify === 'function',
    ),
    'Verifies access tokens for UserInfo: signature, typ, issuer and record. The server then checks that the token is alive.',
    'the verifier of the library',
  ),
  insecureAllowGenericJwts: option(
    'Host',
    trueOrFalse,
    'Whether UserInfo also accepts access tokens whose typ is JWT or absent, if their record has the digest of the token or storage.tokens.identify names them. Other JWTs of the same key, such as ID tokens, may then pass for access tokens.',
    false,
    { section: 'RFC 9068 §2.1' },
  ),
  verifySecretForUnknownClients: option(
    'Host',
    trueOrFalse,
    'Whether the server also calls storage.clients.verifySecret for unknown clients, and ignores the result. Without these calls, the time of a response reveals which clients exist.',
    true,
  ),
  previousServer: optionWithoutDefault(
    'Host',
    hostValue<PreviousServer>('PreviousServer', 'an object'),
    'Describes the server that this one replaces. Its tokens are accepted until they expire. Requires storage.getPrincipalState.',
    'none',
  ),
  oidc: optionWithoutDefault(
    'Host',
    hostValue<OidcOptions>('OidcOptions', 'an object'),
    'Turns on OpenID Connect.',
    'off',
  ),
  applicationClaims: optionWithoutDefault(
    'Host',
    hostValue<ApplicationClaims>('ApplicationClaims', 'an object with claims and valuesOf', isObject),
    'Additional claims, such as roles, groups or a tenant, in tokens, UserInfo and introspection.',
    'none',
  ),
  authorizationDetails: optionWithoutDefault(
    'Host',
    hostValue<DetailsTypes>(
      'DetailsTypes',
      'what authorizationDetails of @grantd/core/authorization_details returns',
      (value) => isObject(value) && 'names' in value,
    ),
    'Types of authorization details that clients may request, each with a JSON Schema.',
    'none, so the server ignores authorization_details',
    { section: 'RFC 9396 §2' },
  ),
  registration: optionWithoutDefault(
    'Host',
    hostValue<RegistrationOptions>('RegistrationOptions', 'an object'),
    'Turns on dynamic client registration.',
    'off',
    { section: 'RFC 7591, RFC 7592' },
  ),
  acrValues: option(
    'Host',
    textList('ACR', 'a list of texts without spaces', (acr) => /^[^\s\0]+$/.test(acr)),
    'Authentication context classes (acr) that sign-ins can reach.',
    [],
    { section: 'OpenID Connect Core §2', defaultInWords: 'none' },
  ),
  fetchDocument: optionWithoutDefault(
    'Host',
    functionOf<FetchDocument>('FetchDocument'),
    'Fetches client URLs (jwks_uri, sector_identifier_uri, request_uri) and delivers back-channel logouts. It must refuse addresses inside the server’s own network, as documentFetcher() of @grantd/core/node does.',
    'the server refuses requests that need a fetch',
  ),
  clientCertificates: option(
    'Host',
    hostValue<boolean | CertificateReader>(
      'boolean | CertificateReader',
      'true, false, or await loadCertificateReader() of @grantd/core/client_certificates',
      (value) => typeof value === 'boolean' || typeof value === 'function',
    ),
    'Whether clients can bind tokens to TLS certificates, and authenticate with a registered certificate (self_signed_tls_client_auth). With loadCertificateReader, they can also authenticate by a name in a certificate (tls_client_auth). Adapters get the certificate from their option clientCertificate.',
    false,
    { section: 'RFC 8705 §2' },
  ),
  mtlsOrigin: optionWithoutDefault(
    'Host',
    text(
      'ORIGIN',
      'an https origin, such as https://mtls.example.com, and clientCertificates',
      isHttpsOrigin,
    ),
    'Origin at which clients present certificates. If it is not the issuer’s origin, browsers show no dialog for certificates. The metadata names its endpoints.',
    'the issuer’s origin',
    { section: 'RFC 8705 §5' },
  ),
  paths: optionWithoutDefault(
    'Host',
    hostValue<Partial<EndpointPaths>>('Partial<EndpointPaths>', 'an object of paths', isObject),
    'Paths of the endpoints, below the issuer. Set those that your application serves at other paths than the default.',
    'DEFAULT_PATHS',
  ),
  getSubjectState: optionWithoutDefault(
    'Host',
    functionOf<(subject: string) => Awaitable<SubjectState>>('(subject: string) => Awaitable<SubjectState>'),
    'Returns whether a user is enabled, disabled or unknown. Only enabled users have active tokens.',
    'the state in storage',
  ),
  mayUseClient: optionWithoutDefault(
    'Host',
    functionOf<MayUseClient>('MayUseClient'),
    'Returns whether a user may use a client that has allowed_groups. The server calls it before each code, code exchange and refresh. If it rejects, the response is 503. When a user may no longer use a client, also call storage.revokeGrants.',
    'no user may use a client that has allowed_groups',
  ),
  onEvent: optionWithoutDefault(
    'Host',
    functionOf<(event: ServerEvent) => void>('(event: ServerEvent) => void'),
    'Receives refusals, inactive tokens, revocations and successful requests, for logs and audits.',
    'console.error for faults',
  ),
  clock: option(
    'Host',
    functionOf<Clock>('Clock'),
    'Returns the current time in milliseconds since 1970.',
    Date.now,
    { defaultInWords: 'the system clock' },
  ),
  random: option(
    'Host',
    functionOf<RandomSource>('RandomSource'),
    'Returns the requested number of cryptographically random bytes.',
    systemRandom(),
    { defaultInWords: 'the system’s random generator' },
  ),
};

/** Members of the option `oidc`. */
export const OIDC_OPTIONS = {
  getUserClaims: requiredOption(
    'Host',
    functionOf<GetUserClaims>('GetUserClaims'),
    'Returns a user’s claims for UserInfo. If it rejects, the response is 503.',
    { section: 'OpenID Connect Core §5.3' },
  ),
  claimsByScope: option(
    'Host',
    hostValue<ClaimsByScope>('ClaimsByScope', 'a list of claims for each scope', isClaimsByScope),
    'Claims that each scope permits.',
    STANDARD_CLAIMS_BY_SCOPE,
    { section: 'OpenID Connect Core §5.4', defaultInWords: 'the standard claims of OpenID Connect' },
  ),
};

/** Members of the option `registration`. */
export const REGISTRATION_OPTIONS = {
  openTo: requiredOption(
    'Endpoints',
    hostValue<OpenTo>('OpenTo', 'anyone, initial_access_token or a function', isOpenTo),
    'Who may register: anyone, or callers with an initial access token from operator.newInitialAccessToken. With a function, your application checks the initial access token itself.',
    { section: 'RFC 7591 §3' },
  ),
  scopes: option(
    'Endpoints',
    textList('SCOPES', 'a list of scopes', isScopeToken),
    'Scopes that self-registered clients may obtain, in addition to the OpenID Connect scopes and offline_access.',
    [],
    { defaultInWords: 'none' },
  ),
  closedScopes: option(
    'Endpoints',
    textList('SCOPES', 'a list of scopes', isScopeToken),
    'Scopes that self-registered clients may not obtain, such as offline_access.',
    [],
    { defaultInWords: 'none' },
  ),
  apis: option(
    'Endpoints',
    textList('URIS', 'a list of absolute URIs without fragment (RFC 8707 section 2)', isResourceUri),
    'Resource URIs of the APIs that self-registered clients may request. A client keeps the list with which it registered.',
    [],
    { defaultInWords: 'none' },
  ),
  authorizationDetailsTypes: option(
    'Endpoints',
    textList('TYPES', 'a list of types, none empty', (type) => type !== ''),
    'Types of authorization details that self-registered clients may request.',
    [],
    { section: 'RFC 9396 §10', defaultInWords: 'none' },
  ),
  grantTypes: option(
    'Endpoints',
    listOf<GrantType>('GrantType', GRANT_TYPES),
    'Grant types that self-registered clients may use. With client_credentials, anyone who may register gets tokens without a user.',
    ['authorization_code', 'refresh_token'],
    { defaultInWords: 'authorization_code and refresh_token' },
  ),
  allowInsecureUris: option(
    'Endpoints',
    trueOrFalse,
    'For development only. Whether self-registered clients may use http and localhost, which exposes authorization codes on the network.',
    false,
  ),
  assertionAudience: option(
    'Endpoints',
    { ...oneOf<AssertionAudience>(...ASSERTION_AUDIENCES), type: 'AssertionAudience' },
    'Audience that assertions of self-registered clients may name. issuer: only the issuer; endpoint: also the URL of the endpoint that receives the assertion. With endpoint, an attacker’s authorization server could name this URL as one of its own endpoints, and replay the assertions that it gets from clients. Clients keep the setting with which they registered.',
    'issuer',
  ),
  insecureAllowMissingPkce: option(
    'Endpoints',
    trueOrFalse,
    'Whether self-registered confidential clients may omit PKCE, which exposes them to code injection. A client keeps the setting with which it registered.',
    false,
    { section: 'RFC 9700 §2.1.1' },
  ),
  mostClients: option(
    'Endpoints',
    wholeNumber(1, Number.MAX_SAFE_INTEGER),
    'Maximum number of self-registered clients. The server rejects further registrations.',
    10_000,
  ),
  mostClientsPerAddress: option(
    'Endpoints',
    wholeNumber(1, Number.MAX_SAFE_INTEGER),
    'Maximum number of self-registered clients from one IPv4 address or IPv6 /64, if anyone may register. Needs requests with a place.',
    200,
  ),
};

export const ALL_OPTIONS = { ...HOST_OPTIONS, ...SHARED_OPTIONS };

/** Every option of `new AuthorizationServer()`. The annotation keeps the table and the generated interface in step. */
const AUTHORIZATION_SERVER_OPTIONS: {
  readonly [Name in keyof Required<AnyOptions>]: Option<NonNullable<AnyOptions[Name]>, unknown>;
} = ALL_OPTIONS satisfies Record<keyof AnyOptions, unknown>;

type AnyOptions = AuthorizationServerOptions<Storage>;

/** The option tables by the name of the interface that is generated from them. */
export const OPTION_TABLES: Readonly<
  Record<
    string,
    {
      readonly about: string;
      /** Type parameters of the interface. */
      readonly parameters?: string;
      readonly place: string;
      readonly table: OptionTable;
    }
  >
> = {
  AuthorizationServerOptions: {
    about: 'Options of `new AuthorizationServer()`.',
    parameters: '<S extends Storage = AuthorizingStorage>',
    place: '',
    table: AUTHORIZATION_SERVER_OPTIONS,
  },
  OidcOptions: {
    about: 'Options of OpenID Connect, which is on if this block is set.',
    place: 'oidc.',
    table: OIDC_OPTIONS,
  },
  RegistrationOptions: {
    about: 'Options of dynamic client registration (RFC 7591) and later changes by clients (RFC 7592).',
    place: 'registration.',
    table: REGISTRATION_OPTIONS,
  },
};

export function isHttpsOrigin(text: string): boolean {
  return text.startsWith('https://') && URL.parse(text)?.origin === text;
}

function isOpenTo(value: unknown): boolean {
  return value === 'anyone' || value === 'initial_access_token' || typeof value === 'function';
}

/** Whether a text is a valid issuer: an http or https URL without query, fragment and credentials (RFC 8414 §2). */
export function isIssuer(text: string): boolean {
  const url = WEB_URL.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '';
}

function isJwtService(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { algorithms, sign, verify, publicKeys }: Partial<JwtService> = value;
  if (typeof verify !== 'function') return false;
  const signing: readonly unknown[] = [algorithms, sign, publicKeys];
  return (
    signing.every((member) => member === undefined) ||
    (Array.isArray(algorithms) && typeof sign === 'function' && typeof publicKeys === 'function')
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
