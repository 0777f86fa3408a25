// The table of all options, without their texts (texts.ts). The interface, checks, flags and documentation follow
// from both.

import type { DpopNonces, MayUseClient } from '../clients/client.ts';
import type { CertificateReader } from '../clients/distinguished_name.ts';
import type { DeviceAuthorization } from '../device/device_authorization.ts';
import type { TokenExchange } from '../exchange/token_exchange.ts';
import type { EndpointPaths } from '../http/endpoint_names.ts';
import type { ServerEvent } from '../http/events.ts';
import type { FetchDocument } from '../http/fetch_document.ts';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject, isListOfTexts, isObject } from '../http/http.ts';
import { DEFAULT_CACHED_TOKENS } from '../platform/cache.ts';
import { type Clock, type RandomSource, systemRandom } from '../platform/environment.ts';
import type { AcceptedServer } from '../previous_server/previous_jwts.ts';
import { type ClaimsByScope, STANDARD_CLAIMS_BY_SCOPE } from '../protocol/claims.ts';
import {
  ASSERTION_ALGORITHMS,
  ASSERTION_AUDIENCES,
  type AssertionAlgorithm,
  type AssertionAudience,
  CLIENT_ALGORITHMS,
  type ClientAlgorithm,
  type GrantType,
  isResourceUri,
  LONGEST_ID_TOKEN_LIFETIME,
  OPEN_GRANT_TYPES,
  PROFILE_NAMES,
  type ProfileName,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
  type TokenFormat,
} from '../protocol/client_metadata.ts';
import {
  functionOf,
  hostValue,
  type Kind,
  listOf,
  oneOf,
  requiredSetting,
  type Setting,
  seconds,
  setting,
  settingWithoutDefault,
  text,
  textList,
  textOrList,
  trueOrFalse,
  wholeNumber,
} from '../protocol/option_kinds.ts';
import { PENDING_KINDS } from '../protocol/pending.ts';
import { isRegistrableRedirectUri } from '../protocol/redirect_uri.ts';
import type { ClientDocuments } from '../registration/client_documents.ts';
import type { IntrospectionPolicy, OpenTo } from '../request/context.ts';
import type { AuthorizingStorage, Awaitable, Storage } from '../storage/contract.ts';
import type { ApplicationClaims } from '../tokens/application_claims.ts';
import type { DetailsTypes } from '../tokens/authorization_details.ts';
import type { GetUserClaims, SubjectState } from '../tokens/context.ts';
import type { JwtService, JwtVerifier } from '../tokens/jwt_service.ts';
import { EXPECTED_SECRET } from '../tokens/server_secret.ts';
import type { AccessTokenVerifier } from '../tokens/state.ts';
import type { TrustedIssuers } from '../trust/trusted_issuers.ts';
import type {
  AuthorizationServerOptions,
  OidcOptions,
  RegistrationOptions,
} from './authorization_server_options.generated.ts';

/**
 * ASCII without query and fragment, because issuer and paths go into headers and are compared character by character.
 */
const WEB_URL = /^https?:\/\/(?!\/|.*[?#\\])[\x21-\x7E]+$/;
const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/;

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

const NONE_EMPTY = 'a list of texts, none empty';
const isSomeText = (item: string) => item !== '';

const secretText = (secret: string) => secret.length >= 32;

/**
 * Options that a text or a number can express. The program offers them as flags, variables and config file members. To
 * add an option, add an entry here, its text to `SHARED_OPTION_TEXTS`, and run `npm run docs`, which writes the interface
 * and the documentation (ADR 47).
 */
export const SHARED_OPTIONS = {
  authenticateIntrospect: setting(trueOrFalse, true),
  authenticateRevoke: setting(trueOrFalse, true),
  introspectionRequiresConfidentialClient: setting(trueOrFalse, true),
  profile: settingWithoutDefault(oneOf<ProfileName>(...PROFILE_NAMES)),
  introspectionPolicy: setting(introspectionPolicy, 'any_client'),
  ignoreUnknownTokenTypeHints: setting(trueOrFalse, false),
  userInfoAudiences: settingWithoutDefault(textList('AUDIENCES', NONE_EMPTY, isSomeText, 1)),
  strictScopes: setting(trueOrFalse, false),
  requirePushedAuthorizationRequests: setting(trueOrFalse, false),
  requestUriHosts: setting(
    textList('HOSTS', 'a list of hosts in lower case, such as client.example:8443', (host) =>
      HOST.test(host),
    ),
    [],
  ),
  requestObjectAlgorithms: setting(listOf<ClientAlgorithm>(CLIENT_ALGORITHMS, 1), [...CLIENT_ALGORITHMS]),
  clientAssertionAlgorithms: setting(listOf<AssertionAlgorithm>(ASSERTION_ALGORITHMS, 1), [
    ...ASSERTION_ALGORITHMS,
  ]),
  refuseRs256FromClients: setting(trueOrFalse, false),
  strictRequestObjects: setting(trueOrFalse, false),

  accessTokenFormat: setting(oneOf<TokenFormat>('jwt', 'opaque'), 'jwt'),
  accessTokenAlgorithm: setting(oneOf<SigningAlgorithm>(...SIGNING_ALGORITHMS), 'RS256'),
  idTokenAlgorithm: setting(oneOf<SigningAlgorithm>(...SIGNING_ALGORITHMS), 'RS256'),
  apisWithPlainJwts: setting(
    textList('RESOURCES', 'a list of absolute URIs without fragment', isResourceUri),
    [],
  ),
  useOpaqueRefreshTokens: setting(trueOrFalse, false),
  dpopAlgorithms: setting(listOf<ClientAlgorithm>(CLIENT_ALGORITHMS), [...CLIENT_ALGORITHMS]),
  dpopNonces: setting(oneOf<DpopNonces>('offered', 'required'), 'offered'),
  defaultAudience: settingWithoutDefault(textOrList('AUDIENCE', `a text or ${NONE_EMPTY}`, isSomeText)),

  cachedTokens: setting(wholeNumber(0, 10_000_000), DEFAULT_CACHED_TOKENS),

  accessTokenLifetime: setting(seconds(1), 3600),
  refreshTokenLifetime: setting(seconds(1), 14 * 24 * 60 * 60),
  refreshFamilyLifetime: settingWithoutDefault(seconds(0)),
  idTokenLifetime: setting(seconds(1, LONGEST_ID_TOKEN_LIFETIME), 3600),
  authorizationCodeLifetime: setting(seconds(1), 60),
  pushedRequestLifetime: setting(seconds(1, PENDING_KINDS.pushed_request.mostSeconds), 60),
  clientAssertionLifetime: setting(seconds(1, 24 * 60 * 60), 300),
  dpopProofLifetime: setting(seconds(1, 60 * 60), 120),
  refreshGrace: setting(seconds(0), 10),
};

/** What a function of the same name returns, so that a bundle has the code of an option only if the host sets it. */
function opened<V>(name: string): Kind<V> {
  return hostValue<V>(`what ${name}() returns`, (value) => isObject(value) && 'open' in value);
}

/** Options that only code can set, and options that the program sets in its own way. */
export const HOST_OPTIONS = {
  issuer: requiredSetting(
    text('URL', 'an http or https URL without query, fragment and credentials', isIssuer),
  ),
  secret: settingWithoutDefault(textOrList('SECRET', EXPECTED_SECRET, secretText), { isSecret: true }),
  storage: requiredSetting(hostValue<AuthorizingStorage | Storage>('a storage object', isObject)),
  pairwiseSecret: settingWithoutDefault(text('SECRET', 'a text of at least 32 characters', secretText), {
    isSecret: true,
  }),
  jwtService: settingWithoutDefault(
    hostValue<JwtVerifier | JwtService>(
      'an object with verify, or with algorithms, sign, verify and publicKeys',
      isJwtService,
    ),
  ),
  accessTokenVerifier: settingWithoutDefault(
    hostValue<AccessTokenVerifier>(
      'an object with verify',
      (value) => isObject(value) && 'verify' in value && typeof value.verify === 'function',
    ),
  ),
  insecureAllowGenericJwts: setting(trueOrFalse, false),
  verifySecretForUnknownClients: setting(trueOrFalse, true),
  previousServer: settingWithoutDefault(opened<AcceptedServer>('previousServer')),
  oidc: settingWithoutDefault(hostValue<OidcOptions>('an object')),
  applicationClaims: settingWithoutDefault(
    hostValue<ApplicationClaims>('an object with claims and valuesOf', isObject),
  ),
  authorizationDetails: settingWithoutDefault(
    hostValue<DetailsTypes>(
      'what authorizationDetails of @grantd/core/authorization_details returns',
      (value) => isObject(value) && 'names' in value,
    ),
  ),
  registration: settingWithoutDefault(hostValue<RegistrationOptions>('an object')),
  clientDocuments: settingWithoutDefault(opened<ClientDocuments>('clientDocuments')),
  deviceAuthorization: settingWithoutDefault(opened<DeviceAuthorization>('deviceAuthorization')),
  tokenExchange: settingWithoutDefault(opened<TokenExchange>('tokenExchange')),
  trustedIssuers: settingWithoutDefault(opened<TrustedIssuers>('trustedIssuers')),
  acrValues: setting(
    textList('ACR', 'a list of texts without spaces', (acr) => /^[^\s\0]+$/.test(acr)),
    [],
  ),
  fetchDocument: settingWithoutDefault(functionOf<FetchDocument>()),
  clientCertificates: setting(
    hostValue<boolean | CertificateReader>(
      'true, false, or await loadCertificateReader() of @grantd/core/client_certificates',
      (value) => typeof value === 'boolean' || typeof value === 'function',
    ),
    false,
  ),
  mtlsOrigin: settingWithoutDefault(
    text(
      'ORIGIN',
      'an https origin, such as https://mtls.example.com, and clientCertificates',
      isHttpsOrigin,
    ),
  ),
  paths: settingWithoutDefault(hostValue<Partial<EndpointPaths>>('an object of paths', isObject)),
  getSubjectState: settingWithoutDefault(functionOf<(subject: string) => Awaitable<SubjectState>>()),
  mayUseClient: settingWithoutDefault(functionOf<MayUseClient>()),
  recheckedAmr: setting(textList('METHODS', NONE_EMPTY, isSomeText), []),
  onEvent: settingWithoutDefault(functionOf<(event: ServerEvent) => void>()),
  clock: setting(functionOf<Clock>(), Date.now),
  random: setting(functionOf<RandomSource>(), systemRandom()),
};

/** Members of the option `oidc`. */
export const OIDC_OPTIONS = {
  getUserClaims: requiredSetting(functionOf<GetUserClaims>()),
  claimsByScope: setting(
    hostValue<ClaimsByScope>('a list of claims for each scope', isClaimsByScope),
    STANDARD_CLAIMS_BY_SCOPE,
  ),
};

/** Members of the option `registration`. */
export const REGISTRATION_OPTIONS = {
  openTo: requiredSetting(hostValue<OpenTo>('anyone, initial_access_token or a function', isOpenTo)),
  scopes: setting(textList('SCOPES', 'a list of scopes', isScopeToken), []),
  closedScopes: setting(textList('SCOPES', 'a list of scopes', isScopeToken), []),
  apis: setting(
    textList('URIS', 'a list of absolute URIs without fragment (RFC 8707 section 2)', isResourceUri),
    [],
  ),
  redirectUris: setting(
    textList(
      'URIS',
      'a list of absolute URIs without fragment, wildcard and credentials',
      isRegistrableRedirectUri,
    ),
    [],
  ),
  authorizationDetailsTypes: setting(
    textList('TYPES', 'a list of types, none empty', (type) => type !== ''),
    [],
  ),
  grantTypes: setting(listOf<GrantType>(OPEN_GRANT_TYPES), ['authorization_code', 'refresh_token']),
  allowInsecureUris: setting(trueOrFalse, false),
  assertionAudience: setting(oneOf<AssertionAudience>(...ASSERTION_AUDIENCES), 'issuer'),
  insecureAllowMissingPkce: setting(trueOrFalse, false),
  mostClients: setting(wholeNumber(1, Number.MAX_SAFE_INTEGER), 10_000),
  mostClientsPerAddress: setting(wholeNumber(1, Number.MAX_SAFE_INTEGER), 200),
};

/** Every option of `new AuthorizationServer()`. The type keeps the table and the generated interface in step. */
export const ALL_OPTIONS = { ...HOST_OPTIONS, ...SHARED_OPTIONS } satisfies {
  readonly [Name in keyof Required<AnyOptions>]: Setting<NonNullable<AnyOptions[Name]>, unknown>;
};

type AnyOptions = AuthorizationServerOptions<Storage>;

export function isHttpsOrigin(text: string): boolean {
  return text.startsWith('https://') && URL.parse(text)?.origin === text;
}

function isOpenTo(value: unknown): boolean {
  return value === 'anyone' || value === 'initial_access_token' || typeof value === 'function';
}

/**
 * Whether a text is a valid issuer: an http or https URL without query, fragment and credentials (RFC 8414 §2; ADR 1).
 */
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

function isClaimsByScope(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every(isListOfTexts);
}
