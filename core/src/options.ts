import type { EndpointPaths, GetUserClaims, IntrospectionPolicy } from './endpoints/context.ts';
import type { ServerEvent } from './endpoints/events.ts';
import { anyClientPolicy, audiencePolicy } from './endpoints/introspection_policy.ts';
import { resolveRegistration } from './endpoints/registration/registration_options.ts';
import type {
  RegistrationOptions,
  ResolvedRegistration,
} from './endpoints/registration/registration_settings.ts';
import type { ClaimsByScope } from './protocol/claims.ts';
import { STANDARD_CLAIMS_BY_SCOPE } from './protocol/claims.ts';
import type { Clock, RandomSource } from './protocol/environment.ts';
import type { FetchDocument } from './protocol/fetch_document.ts';
import { ConfigurationError } from './protocol/oauth_error.ts';
import { LONGEST_ID_TOKEN_LIFETIME, type TokenFormat } from './protocol/records.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from './protocol/signing_algorithm.ts';
import type { Awaitable, Storage } from './storage/contract.ts';
import type { Lifetimes, SubjectState } from './tokens/context.ts';
import {
  type FormerTokens,
  type ResolvedFormerTokens,
  resolveFormerTokens,
} from './tokens/former_token_options.ts';
import type { JwtService } from './tokens/jwt_service.ts';
import { REFRESH_TOKEN_ALGORITHM } from './tokens/refresh_token.ts';

/** OpenID Connect is on where this block is given. */
export interface OidcOptions {
  /** The attributes of a person, for UserInfo; a rejection is a storage fault (OpenID Connect Core §5.3). */
  readonly getUserClaims: GetUserClaims;
  /** Which scope permits which claims. Default: OpenID Connect Core §5.4. */
  readonly claimsByScope?: ClaimsByScope;
}

export interface AuthorizationServerOptions {
  /** URL that names this server, without query and fragment; base of every other URL (RFC 8414 §2). */
  readonly issuer: string;
  /** At least 32 characters; a list where it is being changed: the first is used, all are accepted. */
  readonly secret: string | readonly string[];
  readonly storage: Storage;
  /**
   * At least 32 characters, which never change: with others every pairwise subject identifier would be another
   * (OpenID Connect Core §8.1). Default: none, and no client can have pairwise subjects.
   */
  readonly pairwiseSecret?: string;
  /** Default: over `storage.keys`, which is needed then. */
  readonly jwtService?: JwtService;
  /**
   * Tokens of the server that was here before this one: they go on working until they expire, and stay where they are.
   * It needs `storage.getPrincipalState`. Default: there are none.
   */
  readonly formerTokens?: FormerTokens;
  /** OpenID Connect. Default: off. */
  readonly oidc?: OidcOptions;

  /** Dynamic registration of clients (RFC 7591, RFC 7592). Default: off. */
  readonly registration?: RegistrationOptions;
  /** Whether callers of introspection authenticate (RFC 7662 §2.1). Default: `true`. */
  readonly authenticateIntrospect?: boolean;
  /** Whether callers of revocation authenticate (RFC 7009 §2.1). Default: `true`. */
  readonly authenticateRevoke?: boolean;
  /** Whether public clients are kept from introspection; without effect where it is not authenticated. Default: `true`. */
  readonly introspectionRequiresConfidentialClient?: boolean;
  /** Who may learn about which token (RFC 7662 §4). Default: `any_client`; `audience` is the stricter ready-made one. */
  readonly introspectionPolicy?: 'any_client' | 'audience' | IntrospectionPolicy;

  /**
   * Whether a `token_type_hint` that the server does not know is ignored, as RFC 7009 §2.2.1 lets it be, instead of
   * refused. A client can have this of its own: `ignore_unknown_token_type_hint`. Default: `false`.
   */
  readonly ignoreUnknownTokenTypeHints?: boolean;
  /**
   * `aud` values of access tokens that UserInfo accepts, such as the issuer. Default: any, so an API can read the claims
   * of a person with the token that it was given.
   */
  readonly userInfoAudiences?: readonly string[];

  /** Whether new refresh tokens are opaque rather than JWTs. Default: `false`. */
  readonly useOpaqueRefreshTokens?: boolean;
  /** Format of new access tokens, where a client has none of its own. Default: `jwt` (RFC 9068). */
  readonly accessTokenFormat?: TokenFormat;
  /** Default: `RS256`. */
  readonly accessTokenAlgorithm?: SigningAlgorithm;
  /** Default: `RS256`. */
  readonly idTokenAlgorithm?: SigningAlgorithm;
  /** `aud` of access tokens. Default: the issuer. */
  readonly defaultAudience?: string | readonly string[];

  /** Seconds. Default: 3600. */
  readonly accessTokenLifetime?: number;
  /** Seconds, counted anew at each rotation. Default: 1209600 (14 days). */
  readonly refreshTokenLifetime?: number;
  /** Seconds, a day at most. Default: 3600. */
  readonly idTokenLifetime?: number;
  /** Seconds (RFC 6749 §4.1.2). Default: 60. */
  readonly authorizationCodeLifetime?: number;
  /** Seconds during which the predecessor of a rotated refresh token may be retried. Default: 10. */
  readonly refreshGrace?: number;

  /** Seconds (RFC 9126 §2.2). Default: 60. */
  readonly pushedRequestLifetime?: number;
  /** Authentication context classes that a sign-in can have (OpenID Connect Core §2, `acr`). Default: none. */
  readonly acrValues?: readonly string[];
  /** Whether authorization requests must be pushed (RFC 9126 §5). Default: `false`; a client can ask it of its own. */
  readonly requirePushedAuthorizationRequests?: boolean;
  /**
   * Hosts, with port where it is not 443, of which a `request_uri` is fetched although the client did not register it
   * (RFC 9101 §10.4.1). Default: none.
   */
  readonly requestUriHosts?: readonly string[];

  /** Lets confidential clients leave out PKCE, which exposes them to code injection (RFC 9700 §2.1.1). Default: `false`. */
  readonly allowConfidentialClientsWithoutPkce?: boolean;
  /**
   * Fetches what clients name by URL: `jwks_uri`, `sector_identifier_uri`, `request_uri`, and delivers back-channel
   * logouts. It must not be led into the server's own network: `documentFetcher()` of `@grantd/core/node` is not.
   * Default: nothing is fetched, and what would need it is refused.
   */
  readonly fetchDocument?: FetchDocument;
  /** Paths below the issuer, where the host routes them elsewhere. */
  readonly paths?: Partial<EndpointPaths>;
  /** How a person stands with the host; a disabled or unknown one has no live token. Default: as storage says. */
  readonly getSubjectState?: (subject: string) => Awaitable<SubjectState>;
  /** Called for refusals, inactive answers, revocations and whose call was answered, for logs and audit. Default: faults go to `console.error`. */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: Clock;
  /** Default: the system's generator. */
  readonly random?: RandomSource;
}

/** The algorithms that the server signs with by itself. */
export function requiredAlgorithms(options: ResolvedOptions): readonly SigningAlgorithm[] {
  const algorithms = new Set<SigningAlgorithm>();
  if (options.accessTokenFormat === 'jwt') algorithms.add(options.accessTokenAlgorithm);
  if (!options.useOpaqueRefreshTokens) algorithms.add(REFRESH_TOKEN_ALGORITHM);
  if (options.oidc !== undefined) algorithms.add(options.idTokenAlgorithm);
  return [...algorithms];
}

/** A host that listens to nothing still learns what went wrong inside. */
function reportFault(event: ServerEvent): void {
  if (event.type === 'refused' && event.status >= 500) console.error('grantd', event.reason, event.cause);
}

/** Options with every default in its place. */
export interface ResolvedOptions
  extends Readonly<
    Required<Omit<AuthorizationServerOptions, OptionalOption | ResolvedOption | LifetimeOption>>
  > {
  readonly introspectionPolicy: IntrospectionPolicy;
  readonly paths: EndpointPaths;
  readonly lifetimes: Lifetimes;
  readonly oidc: Required<OidcOptions> | undefined;
  readonly registration: ResolvedRegistration | undefined;
  readonly jwtService: JwtService | undefined;
  readonly formerTokens: ResolvedFormerTokens | undefined;
  readonly fetchDocument: FetchDocument | undefined;
  readonly getSubjectState: AuthorizationServerOptions['getSubjectState'] | undefined;
  readonly pairwiseSecret: string | undefined;
  readonly userInfoAudiences: readonly string[] | undefined;
}

type OptionalOption =
  | 'oidc'
  | 'jwtService'
  | 'getSubjectState'
  | 'pairwiseSecret'
  | 'fetchDocument'
  | 'userInfoAudiences';
type ResolvedOption = 'introspectionPolicy' | 'paths' | 'registration' | 'formerTokens';
type LifetimeOption =
  | 'accessTokenLifetime'
  | 'refreshTokenLifetime'
  | 'idTokenLifetime'
  | 'authorizationCodeLifetime'
  | 'pushedRequestLifetime'
  | 'refreshGrace';

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
const HOST = /^[a-z0-9.-]+(:\d{1,5})?$/;
const PATH = /^\/(?!.*[?#\\])[\x21-\x7E]*$/;

/** Seconds; longer ones would not be exact any more in milliseconds, and nobody means them. */
const LONGEST_LIFETIME = 10 * 365 * 24 * 60 * 60;

/**
 * The options with their defaults, frozen. The caller's object is only read.
 * @throws {ConfigurationError} names the option and what was expected
 */
export function resolveOptions(options: AuthorizationServerOptions): ResolvedOptions {
  const storage = requireStorage(options);
  const oidc = resolveOidc(options.oidc);
  return Object.freeze({
    issuer: requireIssuer(options.issuer),
    secret: options.secret,
    storage,
    pairwiseSecret: resolvePairwiseSecret(options.pairwiseSecret),
    jwtService: resolveJwtService(options.jwtService),
    formerTokens: resolveFormerTokens(options.formerTokens, options.issuer, storage),
    oidc,
    registration: resolveRegistration(options.registration, storage, scopesOfPeople(oidc)),
    authenticateIntrospect: flag(options, 'authenticateIntrospect', true),
    authenticateRevoke: flag(options, 'authenticateRevoke', true),
    introspectionRequiresConfidentialClient: flag(options, 'introspectionRequiresConfidentialClient', true),
    introspectionPolicy: resolvePolicy(options),
    ignoreUnknownTokenTypeHints: flag(options, 'ignoreUnknownTokenTypeHints', false),
    userInfoAudiences: resolveUserInfoAudiences(options.userInfoAudiences),
    useOpaqueRefreshTokens: flag(options, 'useOpaqueRefreshTokens', false),
    accessTokenFormat: choice(options, 'accessTokenFormat', ['jwt', 'opaque'], 'jwt'),
    accessTokenAlgorithm: choice(options, 'accessTokenAlgorithm', SIGNING_ALGORITHMS, 'RS256'),
    idTokenAlgorithm: choice(options, 'idTokenAlgorithm', SIGNING_ALGORITHMS, 'RS256'),
    defaultAudience: requireAudience(options.defaultAudience ?? options.issuer),
    lifetimes: Object.freeze({
      accessToken: seconds(options, 'accessTokenLifetime', 3600),
      refreshToken: seconds(options, 'refreshTokenLifetime', 14 * 24 * 60 * 60),
      idToken: seconds(options, 'idTokenLifetime', 3600, 1, LONGEST_ID_TOKEN_LIFETIME),
      authorizationCode: seconds(options, 'authorizationCodeLifetime', 60),
      pushedRequest: seconds(options, 'pushedRequestLifetime', 60),
      refreshGrace: seconds(options, 'refreshGrace', 10, 0),
    }),
    acrValues: texts(options, 'acrValues', /^[^\s\0]+$/, 'texts without spaces'),
    requirePushedAuthorizationRequests: requirePushing(options),
    requestUriHosts: texts(
      options,
      'requestUriHosts',
      HOST,
      'hosts in lower case, such as client.example:8443',
    ),
    allowConfidentialClientsWithoutPkce: flag(options, 'allowConfidentialClientsWithoutPkce', false),
    fetchDocument: callable(options, 'fetchDocument', undefined),
    paths: resolvePaths(options.paths),
    getSubjectState: callable(options, 'getSubjectState', undefined),
    onEvent: callable(options, 'onEvent', reportFault),
    clock: callable(options, 'clock', () => Date.now()),
    random: callable(options, 'random', (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes))),
  });
}

/** What a person can consent to, without any API. */
function scopesOfPeople(oidc: OidcOptions | undefined): readonly string[] {
  return oidc === undefined ? [] : [...Object.keys(oidc.claimsByScope ?? {}), 'offline_access'];
}

/** Whether a text can name a server: an http or https URL without query, fragment and credentials (RFC 8414 §2). */
export function isIssuer(text: string): boolean {
  const url = WEB_URL.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '';
}

function requireIssuer(issuer: unknown): string {
  if (typeof issuer === 'string' && isIssuer(issuer)) return issuer;
  throw new ConfigurationError('issuer', 'an http or https URL without query, fragment and credentials');
}

function resolvePairwiseSecret(secret: unknown): string | undefined {
  if (secret === undefined || (typeof secret === 'string' && secret.length >= 32)) return secret;
  throw new ConfigurationError('pairwiseSecret', 'a text of at least 32 characters');
}

function requireStorage({ storage, jwtService }: AuthorizationServerOptions): Storage {
  for (const part of ['clients', 'tokens', 'authorizationCodes'] as const) {
    if (!isObject(storage?.[part])) throw new ConfigurationError(`storage.${part}`, 'a repository');
  }
  if (jwtService === undefined && !isObject(storage.keys)) {
    throw new ConfigurationError('storage.keys', 'a repository of signing keys, unless jwtService is given');
  }
  return storage;
}

function resolveJwtService(jwtService: JwtService | undefined): JwtService | undefined {
  if (jwtService === undefined) return undefined;
  const { algorithms, sign, verify, publicKeys }: Partial<JwtService> = jwtService ?? {};
  if (Array.isArray(algorithms) && [sign, verify, publicKeys].every((method) => typeof method === 'function'))
    return jwtService;
  throw new ConfigurationError('jwtService', 'an object with algorithms, sign, verify and publicKeys');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function resolveOidc(oidc: OidcOptions | undefined): Required<OidcOptions> | undefined {
  if (oidc === undefined) return undefined;
  if (typeof oidc?.getUserClaims !== 'function')
    throw new ConfigurationError('oidc.getUserClaims', 'a function');
  const claimsByScope = oidc.claimsByScope ?? STANDARD_CLAIMS_BY_SCOPE;
  const isValid =
    isObject(claimsByScope) &&
    Object.values(claimsByScope).every(
      (claims) => Array.isArray(claims) && claims.every((claim) => typeof claim === 'string'),
    );
  if (!isValid) throw new ConfigurationError('oidc.claimsByScope', 'a list of claims for each scope');
  const copied = Object.entries(claimsByScope).map(([scope, claims]) => [scope, Object.freeze([...claims])]);
  return Object.freeze({
    getUserClaims: oidc.getUserClaims.bind(oidc),
    claimsByScope: Object.freeze(Object.fromEntries(copied)),
  });
}

function resolvePolicy(options: AuthorizationServerOptions): IntrospectionPolicy {
  const { introspectionPolicy: policy = 'any_client' } = options;
  if (policy === 'audience' && options.authenticateIntrospect === false) {
    throw new ConfigurationError(
      'introspectionPolicy',
      'any_client or a function while introspection is not authenticated',
    );
  }
  if (policy === 'any_client') return anyClientPolicy;
  if (policy === 'audience') return audiencePolicy;
  if (typeof policy === 'function') return policy;
  throw new ConfigurationError('introspectionPolicy', 'any_client, audience or a function');
}

function requireAudience(audience: unknown): string | readonly string[] {
  if (typeof audience === 'string' && audience !== '') return audience;
  const isList = Array.isArray(audience) && audience.length > 0;
  if (isList && audience.every((one) => typeof one === 'string' && one !== ''))
    return Object.freeze([...audience]);
  throw new ConfigurationError('defaultAudience', 'a text or a list of texts, none empty');
}

function resolveUserInfoAudiences(audiences: unknown): readonly string[] | undefined {
  if (audiences === undefined) return undefined;
  const isList = Array.isArray(audiences) && audiences.length > 0;
  if (isList && audiences.every((one) => typeof one === 'string' && one !== ''))
    return Object.freeze([...audiences]);
  throw new ConfigurationError('userInfoAudiences', 'a list of texts, none empty');
}

function resolvePaths(paths: Partial<EndpointPaths> = {}): EndpointPaths {
  if (!isObject(paths)) throw new ConfigurationError('paths', 'an object of paths');
  for (const [name, path] of Object.entries(paths)) {
    if (!Object.hasOwn(DEFAULT_PATHS, name))
      throw new ConfigurationError(`paths.${name}`, 'no such endpoint');
    if (typeof path !== 'string' || !PATH.test(path)) {
      throw new ConfigurationError(`paths.${name}`, 'a path with a leading slash');
    }
  }
  const resolved = { ...DEFAULT_PATHS, ...paths };
  if (new Set(Object.values(resolved)).size < Object.keys(resolved).length) {
    throw new ConfigurationError('paths', 'a path of its own for each endpoint');
  }
  return Object.freeze(resolved);
}

function requirePushing(options: Options): boolean {
  const isRequired = flag(options, 'requirePushedAuthorizationRequests', false);
  if (!isRequired || isObject(options.storage.pushedRequests)) return isRequired;
  throw new ConfigurationError('storage.pushedRequests', 'a repository, where requests must be pushed');
}

type Options = AuthorizationServerOptions;

function flag<K extends keyof Options>(options: Options, name: K, byDefault: boolean): boolean {
  const value: unknown = options[name] ?? byDefault;
  if (typeof value === 'boolean') return value;
  throw new ConfigurationError(name, 'true or false');
}

function texts(
  options: Options,
  name: 'acrValues' | 'requestUriHosts',
  pattern: RegExp,
  expected: string,
): readonly string[] {
  const value: unknown = options[name] ?? [];
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string' && pattern.test(one));
  if (!isList) throw new ConfigurationError(name, `a list of ${expected}`);
  return Object.freeze([...value]);
}

function choice<T extends string>(
  options: Options,
  name: keyof Options,
  allowed: readonly T[],
  byDefault: T,
): T {
  const value: unknown = options[name] ?? byDefault;
  const chosen = allowed.find((one) => one === value);
  if (chosen === undefined) throw new ConfigurationError(name, `one of ${allowed.join(', ')}`);
  return chosen;
}

function seconds(
  options: Options,
  name: LifetimeOption,
  byDefault: number,
  least = 1,
  most = LONGEST_LIFETIME,
): number {
  const value: unknown = options[name] ?? byDefault;
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return Number(value);
  throw new ConfigurationError(name, `whole seconds from ${least} to ${most}`);
}

function callable<
  K extends 'fetchDocument' | 'getSubjectState' | 'onEvent' | 'clock' | 'random',
  D extends Options[K],
>(options: Options, name: K, byDefault: D): NonNullable<Options[K]> | D {
  const value = options[name];
  if (value === undefined) return byDefault;
  if (typeof value === 'function') return value.bind(options) as NonNullable<Options[K]>;
  throw new ConfigurationError(name, 'a function');
}
