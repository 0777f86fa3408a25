// Checks the options and adds their defaults.

import type { EndpointUrls } from '../clients/client.ts';
import { DEFAULT_PATHS, type EndpointPaths } from '../http/endpoint_names.ts';
import { ConfigurationError } from '../http/errors.ts';
import { isObject } from '../http/http.ts';
import { audiencePolicy, defaultPolicy } from '../introspection/introspection.ts';
import {
  type AssertionAlgorithm,
  PROFILE_NAMES,
  type ProfileName,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '../protocol/client_metadata.ts';
import { readOptions, requireKnownNames, type ValuesOf } from '../protocol/option_kinds.ts';
import { narrowingBy, usualAlgorithm } from '../protocol/profile.ts';
import { endpointUrl, urlAt } from '../protocol/redirect_uri.ts';
import type { IntrospectionPolicy, ResolvedRegistration } from '../request/context.ts';
import type { ClientRepository, Storage, TokenRepository } from '../storage/contract.ts';
import { groupsOf, isIssuing, requireStorage } from '../storage/groups.ts';
import type { RegistrableClients } from '../storage/host_storage.ts';
import { type DeclaredClaims, resolveApplicationClaims } from '../tokens/application_claims.ts';
import type { DetailsTypes } from '../tokens/authorization_details.ts';
import type { Lifetimes } from '../tokens/context.ts';
import { REFRESH_TOKEN_ALGORITHM } from '../tokens/mint.ts';
import type { AuthorizationServerOptions, OidcOptions } from './authorization_server_options.generated.ts';
import { ALL_OPTIONS, OIDC_OPTIONS, REGISTRATION_OPTIONS } from './options.ts';

/** Printable ASCII without query and fragment, because paths go into headers and are compared byte by byte. */
const PATH = /^\/(?!.*[?#\\])[\x21-\x7E]*$/;

/** Returns the algorithms that tokens need under these options. Clients can require further ones. */
export function requiredAlgorithms(options: ResolvedOptions): readonly SigningAlgorithm[] {
  const algorithms = new Set<SigningAlgorithm>();
  if (!groupsOf(options.storage).has('issuing')) return [];
  if (options.accessTokenFormat === 'jwt') algorithms.add(options.accessTokenAlgorithm);
  if (!options.useOpaqueRefreshTokens) algorithms.add(REFRESH_TOKEN_ALGORITHM);
  if (options.oidc !== undefined) algorithms.add(options.idTokenAlgorithm);
  return [...algorithms];
}

/**
 * Returns the algorithms whose keys are published from the start: those of tokens, and that of responses for clients that
 * register none. A host that stores its clients itself may use all, because the server sees no registration (ADR 123).
 */
export function publishedAlgorithms(options: ResolvedOptions): readonly SigningAlgorithm[] {
  const { profile, storage } = options;
  if (!('add' in storage.clients)) return SIGNING_ALGORITHMS;
  const usual = usualAlgorithm(profile === undefined ? {} : { metadata: { profile } });
  return [...new Set([...requiredAlgorithms(options), usual])];
}

/** Options with all defaults. */
export interface ResolvedOptions extends Omit<Values, ResolvedOption> {
  readonly introspectionPolicy: IntrospectionPolicy;
  readonly defaultAudience: string | readonly string[];
  readonly paths: EndpointPaths;
  readonly endpointUrls: EndpointUrls;
  readonly lifetimes: Lifetimes;
  readonly oidc: Required<OidcOptions> | undefined;
  readonly applicationClaims: DeclaredClaims | undefined;
  readonly authorizationDetails: DetailsTypes | undefined;
  readonly registration: ResolvedRegistration | undefined;
}

type Values = Omit<ValuesOf<typeof ALL_OPTIONS>, LifetimeOption>;
type ResolvedOption =
  | 'introspectionPolicy'
  | 'defaultAudience'
  | 'paths'
  | 'oidc'
  | 'applicationClaims'
  | 'authorizationDetails'
  | 'registration';
type LifetimeOption =
  | 'accessTokenLifetime'
  | 'refreshTokenLifetime'
  | 'refreshFamilyLifetime'
  | 'idTokenLifetime'
  | 'authorizationCodeLifetime'
  | 'pushedRequestLifetime'
  | 'refreshGrace';

/** Seconds: 90 days. */
const DEFAULT_FAMILY_LIFETIME = 90 * 24 * 60 * 60;

/**
 * Returns the options with defaults, frozen. The caller's object is not changed.
 * @throws {ConfigurationError} an option is wrong; the message names it and says what was expected
 */
export function resolveOptions(options: AuthorizationServerOptions<Storage>): ResolvedOptions {
  const {
    accessTokenLifetime,
    refreshTokenLifetime,
    refreshFamilyLifetime = Math.max(DEFAULT_FAMILY_LIFETIME, refreshTokenLifetime),
    idTokenLifetime,
    authorizationCodeLifetime,
    pushedRequestLifetime,
    refreshGrace,
    ...values
  } = readOptions(ALL_OPTIONS, options, undefined, narrowingBy(profileIn(options)));
  requireParts(values);
  if (values.mtlsOrigin !== undefined && !values.clientCertificates)
    throw new ConfigurationError('mtlsOrigin', 'the option clientCertificates with it');
  const clientAlgorithms = resolveClientAlgorithms(values);
  if (
    values.profile !== undefined &&
    clientAlgorithms.dpopAlgorithms.length === 0 &&
    !values.clientCertificates
  )
    throw new ConfigurationError(
      'dpopAlgorithms',
      `an algorithm, or the option clientCertificates, because of the profile ${values.profile}`,
    );
  const oidc = resolveOidc(values.oidc);
  const { authorizationDetails } = values;
  const paths = resolvePaths(values.paths);
  return Object.freeze({
    ...values,
    oidc,
    applicationClaims: resolveApplicationClaims(
      values.applicationClaims,
      oidc && new Set(Object.values(oidc.claimsByScope).flat()),
    ),
    authorizationDetails,
    registration: resolveRegistration(values, userScopes(oidc), authorizationDetails),
    introspectionPolicy: resolvePolicy(values),
    ...clientAlgorithms,
    // No profile needs UserInfo for tokens that APIs receive.
    userInfoAudiences: values.userInfoAudiences ?? (values.profile && [values.issuer]),
    defaultAudience: values.defaultAudience ?? values.issuer,
    lifetimes: Object.freeze({
      accessToken: accessTokenLifetime,
      refreshToken: refreshTokenLifetime,
      refreshFamily: refreshFamilyLifetime,
      idToken: idTokenLifetime,
      authorizationCode: authorizationCodeLifetime,
      pushedRequest: pushedRequestLifetime,
      refreshGrace,
    }),
    paths,
    endpointUrls: publicUrls(values, paths),
  });
}

/**
 * Returns the algorithms with which clients may sign.
 * @throws {ConfigurationError} refuseRs256FromClients empties a list
 */
function resolveClientAlgorithms({
  requestObjectAlgorithms,
  clientAssertionAlgorithms,
  dpopAlgorithms,
  refuseRs256FromClients: isRefused,
  storage,
}: Values) {
  const proofs = withoutRs('dpopAlgorithms', dpopAlgorithms, isRefused);
  return {
    requestObjectAlgorithms: withoutRs('requestObjectAlgorithms', requestObjectAlgorithms, isRefused),
    clientAssertionAlgorithms: withoutRs('clientAssertionAlgorithms', clientAssertionAlgorithms, isRefused),
    // A proof can be used once, so storage must remember it.
    dpopAlgorithms: storage.oneTimeIdentifiers === undefined ? [] : proofs,
  };
}

function withoutRs<Algorithm extends AssertionAlgorithm>(
  option: string,
  listed: readonly Algorithm[],
  isRefused: boolean,
): readonly Algorithm[] {
  if (!isRefused) return listed;
  const allowed = listed.filter((item) => !item.startsWith('RS'));
  if (listed.length > 0 && allowed.length === 0)
    throw new ConfigurationError(option, 'an algorithm that refuseRs256FromClients does not refuse');
  return allowed;
}

/**
 * Checks that storage and secret are there for what the other options need.
 * @throws {ConfigurationError} lists everything that is missing, with what needs it
 */
function requireParts(values: Values): void {
  const { storage, jwtService, registration, requirePushedAuthorizationRequests: mustPush } = values;
  const hasCodes = isObject(storage.authorizationCodes);
  const signs = jwtService === undefined && !hasOwnTokensAlone(storage);
  const needs = {
    ...(signs && { keys: 'the option jwtService is not set' }),
    ...(hasCodes && { issuing: 'storage has authorizationCodes, which are exchanged for tokens' }),
    ...(registration !== undefined && {
      registration: 'the option registration is set',
      oneTimeIdentifiers: 'registered clients can authenticate with assertions',
    }),
    ...(mustPush && { pending: PUSHED, oneTimeIdentifiers: PUSHED }),
  };
  const use = values.secret === undefined ? useOfSecret(values, signs) : undefined;
  const lacking = [
    ...(use === undefined ? [] : [`secret: expected a text of at least 32 characters, because ${use}`]),
    ...(use === undefined && values.secret === undefined && comparesSecrets(values) ? [NO_COMPARISON] : []),
    ...(jwtService === undefined && !signs && !hasOpaqueAccessTokens(storage) ? [NO_VERIFIER] : []),
    // A row that is found by the jti of a JWT would also be found by this text as a token.
    ...(hasAmbiguousKeys(values) ? [AMBIGUOUS_KEYS] : []),
  ];
  requireStorage(storage, needs, lacking);
}

function hasAmbiguousKeys({ jwtService, storage: { keys, tokens } }: Values): boolean {
  const verifiesJwts = jwtService !== undefined || keys !== undefined;
  // Of a storage that issues tokens, `requireStorage` demands digests.
  return verifiesJwts && tokens?.keyedBy === 'token' && !isIssuing(tokens);
}

const AMBIGUOUS_KEYS =
  'storage.tokens.keyedBy: expected the kinds with opaque tokens, such as { refresh_token: "token" }: a jti is no token';

/** A storage with the tokens of a host, and without keys of the server. */
function hasOwnTokensAlone({ keys, tokens }: Partial<Storage>): boolean {
  return keys === undefined && isObject(tokens) && !isIssuing(tokens as TokenRepository);
}

function hasOpaqueAccessTokens({ tokens }: Partial<Storage>): boolean {
  const { keyedBy } = tokens ?? {};
  return isObject(keyedBy)
    ? Reflect.get(keyedBy as object, 'access_token') !== undefined
    : keyedBy !== undefined;
}

const NO_VERIFIER = 'jwtService: expected a verifier, or access_token in storage.tokens.keyedBy';

/** Whether the server compares secrets of clients itself. */
function comparesSecrets({ authenticateIntrospect, authenticateRevoke, storage }: Values): boolean {
  return (authenticateIntrospect || authenticateRevoke) && storage.clients?.verifySecret === undefined;
}

const NO_COMPARISON =
  'storage.clients.verifySecret: expected a method, or the option secret if the server hashes client secrets';

const PUSHED = 'authorization requests must be pushed';

/** @returns what needs the server's secret, or `undefined` if nothing does */
function useOfSecret(values: Values, signs: boolean): string | undefined {
  const { tokens, oneTimeIdentifiers }: Partial<Storage> = values.storage;
  if (signs) return 'it encrypts the signing keys';
  if (tokens && isIssuing(tokens)) return 'refresh tokens derive from it';
  if (values.registration !== undefined) return 'clients can register';
  if (oneTimeIdentifiers !== undefined && values.dpopAlgorithms.length > 0)
    return 'nonces of DPoP derive from it';
  return undefined;
}

/** Returns the profile before the options are read, because it changes their defaults. */
function profileIn({ profile }: Pick<AuthorizationServerOptions, 'profile'>): ProfileName | undefined {
  return PROFILE_NAMES.find((name) => name === profile);
}

/** Returns the scopes that users can consent to and that need no API. */
function userScopes(oidc: OidcOptions | undefined): readonly string[] {
  return oidc === undefined ? [] : [...Object.keys(oidc.claimsByScope ?? {}), 'offline_access'];
}

function resolveOidc(oidc: OidcOptions | undefined): Required<OidcOptions> | undefined {
  if (oidc === undefined) return undefined;
  const { getUserClaims, claimsByScope } = readOptions(OIDC_OPTIONS, oidc, 'oidc');
  const copied = Object.entries(claimsByScope).map(([scope, claims]) => [scope, Object.freeze([...claims])]);
  return Object.freeze({ getUserClaims, claimsByScope: Object.freeze(Object.fromEntries(copied)) });
}

function resolveRegistration(
  { profile, registration, storage: { clients } }: Pick<Values, 'profile' | 'registration' | 'storage'>,
  personalScopes: readonly string[],
  detailsTypes: DetailsTypes | undefined,
): ResolvedRegistration | undefined {
  if (registration === undefined) return undefined;
  const values = readOptions(
    REGISTRATION_OPTIONS,
    registration,
    'registration',
    narrowingBy(profile, 'registration'),
  );
  if (!values.authorizationDetailsTypes.every((type) => detailsTypes?.names.includes(type)))
    throw new ConfigurationError('registration.authorizationDetailsTypes', 'types of authorizationDetails');
  return Object.freeze({
    ...values,
    scopes: Object.freeze(
      [...new Set([...personalScopes, ...values.scopes])].filter(
        (scope) => !values.closedScopes.includes(scope),
      ),
    ),
    clients: clients as ClientRepository & RegistrableClients, // `requireParts` has checked it
  });
}

function resolvePolicy({ introspectionPolicy: policy, authenticateIntrospect }: Values): IntrospectionPolicy {
  if (policy === 'any_client') return defaultPolicy;
  if (policy !== 'audience') return policy;
  if (authenticateIntrospect) return audiencePolicy;
  throw new ConfigurationError(
    'introspectionPolicy',
    'any_client or a function while introspection is not authenticated',
  );
}

function publicUrls({ issuer, mtlsOrigin }: Values, paths: EndpointPaths): EndpointUrls {
  const entries = Object.entries(paths).map(([name, path]) => {
    const url = endpointUrl(issuer, path);
    return [name, Object.freeze(mtlsOrigin === undefined ? [url] : [url, urlAt(mtlsOrigin, url)])];
  });
  return Object.freeze(Object.fromEntries(entries));
}

function resolvePaths(paths: Partial<EndpointPaths> = {}): EndpointPaths {
  requireKnownNames(paths, DEFAULT_PATHS, 'paths');
  for (const [name, path] of Object.entries(paths)) {
    if (typeof path !== 'string' || !PATH.test(path))
      throw new ConfigurationError(`paths.${name}`, 'a path with a leading slash');
  }
  const resolved = { ...DEFAULT_PATHS, ...paths };
  if (new Set(Object.values(resolved)).size < Object.keys(resolved).length)
    throw new ConfigurationError('paths', 'a path of its own for each endpoint');
  return Object.freeze(resolved);
}
