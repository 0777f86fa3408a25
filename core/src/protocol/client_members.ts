// The table of all client metadata members. Types, checks, flags and documentation follow from it.

import type { JWK } from 'jose';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import { type Kind, oneOf, seconds, text, trueOrFalse } from '../option_kinds.ts';
import { RESPONSE_MODES, type ResponseMode } from './authorization_parameters.ts';
import {
  ACCEPTED_ALGORITHMS,
  ASSERTION_AUDIENCES,
  type AssertionAlgorithm,
  AUTHENTICATION_METHODS,
  CONTENT_ENCRYPTIONS,
  DEFAULT_CONTENT_ENCRYPTION,
  ENCRYPTION_ALGORITHMS,
  type EncryptedResponse,
  GRANT_TYPES,
  isPersonalScope,
  isResourceUri,
  MAC_ALGORITHMS,
  MOST_KEYS,
  macAlgorithmOf,
  PROFILE_NAMES,
  REGISTERED_GRANTS,
  REGISTERED_METHOD,
  SIGN_IN_POLICIES,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
  signingAlgorithmOf,
  TOKEN_FORMATS,
  USUAL_SECRET_METHODS,
} from './client_metadata.ts';
import { isRegistrableRedirectUri } from './redirect_uri.ts';

/** The type of a member's value. */
export interface MetadataKind<T> extends Kind<T> {
  /** For a list: the type of each value. */
  readonly each?: Kind<unknown>;
}

/** Facts about a member, other than its type. */
interface MemberFacts {
  /** The field of the client's record that stores it. Members without one are stored in `metadata`. */
  readonly field?: string;
  /** Derived from another member, and not stored. */
  readonly isDerived?: true;
  /** Can have values in several languages, as `member#tag` (RFC 7591 §2.2). */
  readonly isLocalizable?: true;
  /** Default when the record has no value, in words. */
  readonly defaultInWords?: string;
  /** Default when a client registers itself, in words. */
  readonly registeredInWords?: string;
  /** The server requests the URLs in it. */
  readonly isFetched?: true;
  /** Protects what the client receives. An unknown value is refused, because the default is no protection. */
  readonly isProtection?: true;
  /** Has an effect only if the client has keys (`jwks` or `jwks_uri`). */
  readonly needsKeys?: true;
  /** The program's flag, if not the member's name. Repeatable flags are always in the singular. */
  readonly flag?: string;
  /** Most clients have it, so the program's help shows it first. */
  readonly isUsual?: true;
}

/** One member of a client's metadata. */
export interface MetadataMember<T> extends MemberFacts {
  readonly kind: MetadataKind<T>;
  /** Description in one line, for the program's help and docs/client_metadata.md. */
  readonly about: string;
  /** Whether a client that registers itself may set it, or only an operator. */
  readonly setBy: 'client' | 'operator';
}

// ── Kinds ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Maximum characters of a URI. Some browsers and proxies reject longer ones. */
const MAX_URI_LENGTH = 2000;

/** Maximum values of a list, such as redirect URIs. */
const MAX_LIST_LENGTH = 50;

/** Maximum APIs of a client, and scopes of an API. */
const MAX_NAMES = 200;

/** A year in seconds. */
const MAX_AGE_SECONDS = 365 * 24 * 60 * 60;

function visible(most: number): Kind<string> {
  const form = new RegExp(`^[^\\p{C}\\p{Z}](?:[^\\p{C}]{0,${most - 1}})$`, 'u');
  return text('TEXT', `visible characters, at most ${most}`, (value) => form.test(value));
}

/** For links on pages, and for URLs that the server requests. Registration may restrict it to `https:`. */
const webUri = text('URL', `a web URL without credentials, at most ${MAX_URI_LENGTH} characters`, isWebUri);

const webUriWithoutFragment = text(
  'URL',
  `a web URL without credentials and fragment, at most ${MAX_URI_LENGTH} characters`,
  (uri) => isWebUri(uri) && !uri.includes('#'),
);

/** A URI to which the server sends the browser. Private-use schemes are allowed. */
const returnUri = text(
  'URI',
  `an absolute URI without fragment and wildcard, at most ${MAX_URI_LENGTH} characters`,
  (uri) => uri.length <= MAX_URI_LENGTH && isRegistrableRedirectUri(uri) && !hasCredentials(uri),
);

const dnsName = text('NAME', 'a DNS name', (name) => /^[\w*.-]{1,253}$/.test(name));

const ipAddress = text('ADDRESS', 'an IP address', (address) => /^[\da-f:.]{2,45}$/i.test(address));

const emailAddress = text('EMAIL', 'an e-mail address', (email) =>
  /^[\x21-\x7E]{1,254}@[\w.-]{1,253}$/.test(email),
);

/** RFC 8707 §2. */
const resourceUri = text(
  'URI',
  'an absolute URI without fragment (RFC 8707 section 2)',
  (uri) => uri.length <= MAX_URI_LENGTH && isResourceUri(uri),
);

const color = text('#RRGGBB', 'a colour as #rrggbb', (value) => /^#[0-9a-f]{6}$/i.test(value));

const scope = text('SCOPE', 'scopes separated by spaces (RFC 6749 section 3.3)', (value) => {
  const scopes = value.split(' ').filter((one) => one !== '');
  return value.length <= MAX_URI_LENGTH && scopes.length > 0 && scopes.every(isScopeToken);
});

/** A scope that an API can declare. Those of OpenID Connect already have a meaning. */
const apiScope = text(
  'SCOPE',
  'one scope (RFC 6749 section 3.3) that OpenID Connect does not define',
  (value) => value.length <= MAX_URI_LENGTH && isScopeToken(value) && !isPersonalScope(value),
);

function listOf<T>(each: Kind<T>, most = MAX_LIST_LENGTH): MetadataKind<readonly T[]> {
  const read = (value: unknown) => {
    if (!Array.isArray(value) || value.length > most) return undefined;
    const values = value.map(each.read).filter((one) => one !== undefined);
    return values.length === value.length ? [...new Set(values)] : undefined;
  };
  return {
    expected: `at most ${most} values, each of them ${each.expected}`,
    type: `readonly ${each.type}[]`,
    placeholder: each.placeholder,
    each,
    fromText: (value) => read([value]),
    read,
  };
}

/** A JWK set (RFC 7517 §5). Registration also checks that its keys are public and of a supported type. */
const keySet: Kind<{ readonly keys: readonly JWK[] }> = {
  expected: `a JWK set of at most ${MOST_KEYS} public keys, at least one of them of the type RSA, EC or OKP`,
  type: 'object',
  placeholder: 'FILE',
  fromText: () => undefined,
  read: (value) => (isKeySet(value) ? value : undefined),
};

function isKeySet(value: unknown): value is { readonly keys: readonly JWK[] } {
  return isJsonObject(value) && Array.isArray(value.keys);
}

function isWebUri(uri: string): boolean {
  return (
    uri.length <= MAX_URI_LENGTH &&
    /^https?:\/\/[\x21-\x7E]+$/i.test(uri) &&
    URL.canParse(uri) &&
    !hasCredentials(uri)
  );
}

function hasCredentials(uri: string): boolean {
  const url = URL.parse(uri);
  return url !== null && (url.username !== '' || url.password !== '');
}

/** Algorithms that the server signs with. */
const serverSigning = oneOf(...SIGNING_ALGORITHMS);
/** Algorithms that clients sign with. EdDSA has two names. */
const clientSigning: Kind<SigningAlgorithm> = {
  ...oneOf<string>(...ACCEPTED_ALGORITHMS),
  fromText: signingAlgorithmOf,
  read: signingAlgorithmOf,
};
/** Algorithms of client assertions: with a private key, or with the client's secret. */
const assertionSigning: Kind<AssertionAlgorithm> = {
  ...oneOf<string>(...ACCEPTED_ALGORITHMS, ...MAC_ALGORITHMS),
  fromText: (alg) => signingAlgorithmOf(alg) ?? macAlgorithmOf(alg),
  read: (alg) => signingAlgorithmOf(alg) ?? macAlgorithmOf(alg),
};
const keyManagement = oneOf(...ENCRYPTION_ALGORITHMS);
const contentEncryption = oneOf(...CONTENT_ENCRYPTIONS);
const responseMode = oneOf(...(Object.keys(RESPONSE_MODES) as readonly ResponseMode[]));

// ── The members ───────────────────────────────────────────────────────────────────────────────────────────

/** Defines a member that clients and operators can set. */
function member<T, const F extends MemberFacts>(kind: MetadataKind<T>, about: string, facts: F) {
  return { kind, about, setBy: 'client', ...facts } as const;
}

/** Defines a member that only operators can set. */
function operators<T, const F extends MemberFacts>(kind: MetadataKind<T>, about: string, facts: F) {
  return { kind, about, setBy: 'operator', ...facts } as const;
}

const encryptedIf = (kind: EncryptedResponse) => ({
  defaultInWords: `${DEFAULT_CONTENT_ENCRYPTION}, if ${kind}_encrypted_response_alg is set`,
});

/** All members. Types of records and documents, checks, flags and docs/client_metadata.md are derived from it. */
const METADATA_MEMBERS = {
  // RFC 7591 §2
  redirect_uris: member(
    listOf(returnUri),
    'URIs to which the server may send the browser with the authorization response',
    {
      field: 'redirectUris',
      isUsual: true,
    },
  ),
  token_endpoint_auth_method: member(oneOf(...AUTHENTICATION_METHODS), 'how the client authenticates', {
    defaultInWords: USUAL_SECRET_METHODS.join(' or '),
    registeredInWords: REGISTERED_METHOD,
    flag: 'auth-method',
    isUsual: true,
  }),
  grant_types: member(listOf(oneOf(...GRANT_TYPES)), 'the grants that the client may use', {
    field: 'grantTypes',
    registeredInWords: REGISTERED_GRANTS.join(' and '),
    flag: 'grant',
    isUsual: true,
  }),
  response_types: member(
    listOf(oneOf('code')),
    'the response types, which the server derives from grant_types',
    {
      isDerived: true,
    },
  ),
  client_name: member(visible(200), 'name of the client, as users see it', {
    field: 'name',
    isLocalizable: true,
    flag: 'name',
    isUsual: true,
  }),
  client_uri: member(webUri, 'URL of a page about the application', { isLocalizable: true }),
  logo_uri: member(
    webUri,
    'URL of the logo that the server shows when it asks the user about the client, for example on the consent page. Not shown if the client registered itself',
    {
      isLocalizable: true,
      isFetched: true,
      isUsual: true,
    },
  ),
  scope: member(scope, 'the scopes that the client may get', {
    field: 'scopes',
    registeredInWords: 'every scope that self-registered clients may get',
    isUsual: true,
  }),
  strict_scopes: member(
    trueOrFalse,
    'whether authorization requests with scopes that the client may not have are refused, instead of leaving them out',
    { defaultInWords: "the server's option strictScopes" },
  ),
  contacts: member(
    listOf(visible(200)),
    'ways to reach the people who run the client, such as email addresses',
    {},
  ),
  policy_uri: member(webUri, "URL of the client's privacy policy", { isLocalizable: true }),
  tos_uri: member(webUri, "URL of the client's terms of service", { isLocalizable: true }),
  jwks_uri: member(webUri, "URL of the client's public keys", { isFetched: true, isUsual: true }),
  jwks: member(keySet, "the client's public keys", { flag: 'jwks-file', isUsual: true }),
  software_id: member(visible(200), 'identifier of the client software, the same for all installations', {}),
  software_version: member(visible(200), 'version of the client software', {}),

  // OpenID Connect Dynamic Client Registration §2
  application_type: member(
    oneOf('web', 'native'),
    "kind of application. web: a web application; native: an application on the user's device",
    {
      registeredInWords: 'native if a redirect URI is on a loopback address, otherwise web',
    },
  ),
  sector_identifier_uri: member(
    webUri,
    'URL of a JSON list that contains all redirect URIs of the client. With the subject_type pairwise, clients whose URLs have the same host get the same sub for a user',
    { isFetched: true },
  ),
  subject_type: member(
    oneOf('public', 'pairwise'),
    'which clients get the same sub for a user. public: all public clients; pairwise: only the clients of one sector. The sector of a client is the host of its sector_identifier_uri, otherwise the host of its https redirect URIs. A client with neither is a sector of its own',
    {
      defaultInWords: 'public',
    },
  ),
  id_token_signed_response_alg: member(serverSigning, "algorithm that signs the client's ID tokens", {
    field: 'idTokenAlgorithm',
    defaultInWords: "the server's option idTokenAlgorithm",
    registeredInWords: "RS256 if the server signs with it, otherwise the server's option idTokenAlgorithm",
  }),
  id_token_encrypted_response_alg: member(
    keyManagement,
    "key management algorithm (JWE alg) that encrypts the client's ID tokens and logout tokens",
    { defaultInWords: 'none, so they are signed but not encrypted', needsKeys: true, isProtection: true },
  ),
  id_token_encrypted_response_enc: member(
    contentEncryption,
    "content encryption algorithm (JWE enc) of the client's ID tokens and logout tokens",
    encryptedIf('id_token'),
  ),
  userinfo_signed_response_alg: member(
    serverSigning,
    'algorithm that signs UserInfo responses for the client. With this member, they are JWTs',
    {
      defaultInWords: 'none, so they are not signed',
    },
  ),
  userinfo_encrypted_response_alg: member(
    keyManagement,
    'key management algorithm (JWE alg) that encrypts UserInfo responses for the client',
    { defaultInWords: 'none, so they are not encrypted', needsKeys: true, isProtection: true },
  ),
  userinfo_encrypted_response_enc: member(
    contentEncryption,
    'content encryption algorithm (JWE enc) of UserInfo responses for the client',
    encryptedIf('userinfo'),
  ),
  request_object_signing_alg: member(
    clientSigning,
    'algorithm with which the client must sign request objects',
    {
      defaultInWords: 'any that the server accepts',
      needsKeys: true,
    },
  ),
  token_endpoint_auth_signing_alg: member(
    assertionSigning,
    'algorithm with which the client must sign the assertions that authenticate it',
    {
      defaultInWords: 'any that the server accepts',
      flag: 'auth-signing-alg',
    },
  ),
  default_max_age: member(
    seconds(0, MAX_AGE_SECONDS),
    'default for the parameter max_age of authorization requests',
    {},
  ),
  require_auth_time: member(
    trueOrFalse,
    "whether the client's ID tokens must contain auth_time. ID tokens of grantd as a program always do. An application that embeds the library must supply the time if the value is true",
    {
      defaultInWords: 'false',
    },
  ),
  default_acr_values: member(
    listOf(visible(200)),
    'default for the parameter acr_values of authorization requests',
    {},
  ),
  initiate_login_uri: member(webUri, 'URL of the client at which other sites can start a sign-in', {}),
  request_uris: member(listOf(webUri), "URLs from which the server may fetch the client's request objects", {
    isFetched: true,
  }),

  // RFC 9126 §6, RFC 9101 §10.5, RFC 9449 §5.2, RFC 8705 §2.1.2, RFC 8705 §3.4, JARM §3, FAPI 2.0 Message Signing §5.3.3,
  // RFC 9396 §10, RFC 9701 §6
  require_pushed_authorization_requests: member(
    trueOrFalse,
    'whether the client must push authorization requests',
    {
      defaultInWords: 'false',
    },
  ),
  require_signed_request_object: member(trueOrFalse, 'whether the client must send signed request objects', {
    defaultInWords: 'false',
    needsKeys: true,
  }),
  dpop_bound_access_tokens: member(
    trueOrFalse,
    'whether the client must send DPoP proofs, so that all its access tokens are bound to a key (RFC 9449 section 5.2)',
    { defaultInWords: 'false' },
  ),
  tls_client_auth_subject_dn: member(
    visible(MAX_URI_LENGTH),
    'if the client authenticates with tls_client_auth: the subject that its certificate must have, such as CN=client,O=Example,C=DE (RFC 8705 section 2.1.2)',
    {},
  ),
  tls_client_auth_san_dns: member(
    dnsName,
    'if the client authenticates with tls_client_auth: the DNS name that its certificate must contain',
    {},
  ),
  tls_client_auth_san_uri: member(
    resourceUri,
    'if the client authenticates with tls_client_auth: the URI that its certificate must contain',
    {},
  ),
  tls_client_auth_san_ip: member(
    ipAddress,
    'if the client authenticates with tls_client_auth: the IP address that its certificate must contain',
    {},
  ),
  tls_client_auth_san_email: member(
    emailAddress,
    'if the client authenticates with tls_client_auth: the email address that its certificate must contain',
    {},
  ),
  tls_client_certificate_bound_access_tokens: member(
    trueOrFalse,
    'whether the client must present its TLS certificate, so that all its access tokens are bound to it (RFC 8705 section 3.4)',
    { defaultInWords: 'false' },
  ),
  response_modes: member(
    listOf(responseMode),
    'the response modes that the client may use (FAPI 2.0 Message Signing section 5.3.3)',
    { defaultInWords: 'all', flag: 'response-mode' },
  ),
  authorization_signed_response_alg: member(
    serverSigning,
    'algorithm that signs authorization responses for the client, in the response modes that end with jwt',
    { defaultInWords: "RS256; with a FAPI 2.0 profile, the algorithm of the client's ID tokens" },
  ),
  authorization_encrypted_response_alg: member(
    keyManagement,
    'key management algorithm (JWE alg) that encrypts authorization responses for the client, in the response modes that end with jwt',
    { defaultInWords: 'none, so they are signed but not encrypted', needsKeys: true, isProtection: true },
  ),
  authorization_encrypted_response_enc: member(
    contentEncryption,
    'content encryption algorithm (JWE enc) of authorization responses for the client',
    encryptedIf('authorization'),
  ),
  authorization_details_types: member(
    listOf(visible(128), MAX_NAMES),
    'types of authorization details that the client may request (RFC 9396 section 10)',
    {},
  ),
  introspection_signed_response_alg: member(
    serverSigning,
    "algorithm that signs introspection responses for the client, if they are JWTs. With this member, they always are. Without it, they are JWTs if the request's Accept header asks for one, or if introspection_encrypted_response_alg is set",
    {
      defaultInWords: "RS256; with a FAPI 2.0 profile, the algorithm of the client's ID tokens",
    },
  ),
  introspection_encrypted_response_alg: member(
    keyManagement,
    'key management algorithm (JWE alg) that encrypts introspection responses for the client. With this member, they are always JWTs',
    { defaultInWords: 'none, so they are not encrypted', needsKeys: true, isProtection: true },
  ),
  introspection_encrypted_response_enc: member(
    contentEncryption,
    'content encryption algorithm (JWE enc) of introspection responses for the client',
    encryptedIf('introspection'),
  ),

  // RP-Initiated Logout §3.1, Back-Channel Logout §2.2
  post_logout_redirect_uris: member(listOf(returnUri), 'URIs to which the browser may return after logout', {
    isUsual: true,
  }),
  backchannel_logout_uri: member(
    webUriWithoutFragment,
    'URL of the client to which the server sends a logout token when a session ends in which the user signed in to the client',
    {
      isFetched: true,
      isUsual: true,
    },
  ),
  backchannel_logout_session_required: member(
    trueOrFalse,
    "whether logout tokens for the client must contain the session ID (sid). grantd's logout tokens always contain it, so the value changes nothing",
    {},
  ),

  // This server's own
  brand_color: member(
    color,
    'colour of the buttons on the pages for consent, account choice, sign-out and denied access, when they concern the client. Not used if the client registered itself',
    {},
  ),
  profile: operators(
    oneOf(...PROFILE_NAMES),
    'the FAPI 2.0 profile that the client must follow (docs/fapi.md)',
    {
      defaultInWords: 'the profile of the server (its option profile), if it has one',
    },
  ),
  assertion_audience: operators(
    oneOf(...ASSERTION_AUDIENCES),
    'audience (aud) that the server accepts in the assertions with which the client authenticates. issuer: only the issuer; endpoint: also the URL of the endpoint that receives the assertion',
    { defaultInWords: 'issuer' },
  ),
  assertion_lifetime: operators(
    seconds(1, 24 * 60 * 60),
    'longest lifetime in seconds of assertions that authenticate the client',
    { defaultInWords: "the server's option clientAssertionLifetime" },
  ),
  insecure_allow_missing_pkce: operators(
    trueOrFalse,
    'whether the client may omit PKCE. Without PKCE, an attacker can inject a stolen authorization code into the client, so set it only for confidential clients that do not support PKCE',
    { defaultInWords: 'false' },
  ),
  id_token_user_claims: operators(
    trueOrFalse,
    "whether the client's ID tokens contain the user claims that the granted scopes permit, such as name and email",
    { defaultInWords: 'false' },
  ),
  ignore_unknown_token_type_hint: operators(
    trueOrFalse,
    'whether the server ignores an unknown token_type_hint of the client, instead of rejecting the request (RFC 7009 section 2.2)',
    { defaultInWords: 'false' },
  ),
  insecure_redirect_uris: operators(
    trueOrFalse,
    'whether the client may use http redirect URIs that are not on loopback. Authorization codes are then readable on the network, so set it only for development',
    { defaultInWords: 'false' },
  ),
  consent_required: operators(
    trueOrFalse,
    'whether a user must consent before the client gets access. If a request has prompt=consent, the user must consent even if the value is false',
    { defaultInWords: 'true', flag: 'consent' },
  ),
  allowed_groups: operators(
    listOf(visible(128), MAX_NAMES),
    'groups whose members may use the client. In an application that embeds the library, the list has no effect: the option mayUseClient decides',
    { defaultInWords: 'everyone may use the client', flag: 'allow-group', isUsual: true },
  ),
  sign_in_policy: operators(
    oneOf(...SIGN_IN_POLICIES),
    "what a sign-in to the client needs, if that is stricter than the server's option signInPolicy: a second factor if the user has added one, a second factor from everyone, or a passkey. grantd as a program enforces it. An application that embeds the library must enforce it itself",
    { defaultInWords: "the server's option signInPolicy" },
  ),
  resource: operators(
    resourceUri,
    'if the client is an API: its URI, which is the audience (aud) of access tokens for it',
    {
      field: 'resource',
      isUsual: true,
    },
  ),
  api_scopes: operators(
    listOf(apiScope, MAX_NAMES),
    'if the client is an API: the scopes that belong to it. Only access tokens for this API can contain them',
    { isUsual: true },
  ),
  apis: operators(
    listOf(resourceUri, MAX_NAMES),
    'URIs of the APIs for which the client may request tokens',
    {
      isUsual: true,
    },
  ),
  set_by_operator: operators(
    listOf(visible(200), MAX_NAMES),
    'if the client registered itself: the members of its metadata that it cannot change. When an operator sets or unsets a member, the server adds it to this list',
    {},
  ),
  access_token_format: operators(oneOf(...TOKEN_FORMATS), "format of the client's access tokens", {
    field: 'accessTokenFormat',
    defaultInWords: "the server's option accessTokenFormat",
  }),
  access_token_signed_response_alg: operators(
    serverSigning,
    "algorithm that signs the client's access tokens",
    {
      field: 'accessTokenAlgorithm',
      defaultInWords: "the server's option accessTokenAlgorithm",
    },
  ),
  rotate_refresh_tokens: operators(
    trueOrFalse,
    'whether the client gets a new refresh token each time it uses one. Public clients always do',
    {
      field: 'rotateRefreshTokens',
      defaultInWords: 'true',
    },
  ),
} satisfies Readonly<Record<string, MetadataMember<unknown>>>;

type Members = typeof METADATA_MEMBERS;

/** Names of all members, without language tags. */
export type MemberName = keyof Members;

export const MEMBER_NAMES = Object.keys(METADATA_MEMBERS) as readonly MemberName[];

export function isMemberName(name: string): name is MemberName {
  return Object.hasOwn(METADATA_MEMBERS, name);
}

/** Whether the value is an algorithm that the server signs with. */
export function isServerAlgorithm(name: MemberName): boolean {
  return memberOf(name).kind === serverSigning;
}

/** Whether the values are web URLs. */
export function isWebUrl(name: MemberName): boolean {
  const { kind } = memberOf(name);
  return [webUri, webUriWithoutFragment].includes((kind.each ?? kind) as Kind<string>);
}

/**
 * Removes what is not offered from a value that a client sent: values of a list, or the whole value (RFC 7591 §3.2.1).
 * @returns `undefined` if nothing is left. A value of a wrong type comes back as it is.
 */
export function offeredValue({ kind, isProtection }: MetadataMember<unknown>, value: unknown): unknown {
  if (kind.isChoice && typeof value === 'string' && !isProtection)
    return kind.read(value) === undefined ? undefined : value;
  const { each } = kind;
  if (!each?.isChoice || !Array.isArray(value) || value.length === 0) return value;
  const offered = value.filter((one) => typeof one !== 'string' || each.read(one) !== undefined);
  return offered.length > 0 ? offered : undefined;
}

/** Whether the server requests the URLs in it. */
export function isFetched(name: string): boolean {
  const [base] = withoutTag(name);
  return isMemberName(base) && memberOf(base).isFetched === true;
}

export function memberOf(name: MemberName): MetadataMember<unknown> {
  return METADATA_MEMBERS[name];
}

/** Names of the members with this fact. */
type Having<F> = { [Name in MemberName]: Members[Name] extends F ? Name : never }[MemberName];

type ValueOf<M> = M extends { readonly kind: Kind<infer V> } ? V : never;

/** Members that users read, and that can have values in several languages (RFC 7591 §2.2). */
export type LocalizedMember = Having<{ readonly isLocalizable: true }>;

/** Form of a language tag (BCP 47). */
export const LANGUAGE_TAG = /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,5}$/;

/** Splits `client_name#de` into the member's name and the language tag. */
export function withoutTag(name: string): readonly [base: string, tag?: string] {
  const end = name.indexOf('#');
  return end === -1 ? [name] : [name.slice(0, end), name.slice(end + 1)];
}

type Localized = { readonly [Name in `${LocalizedMember}#${string}`]: string };

/** A client's whole metadata, in the names of RFC 7591 §2 and its extensions. */
export type ClientDocument = { readonly [Name in MemberName]?: ValueOf<Members[Name]> } & Localized;

/**
 * Metadata without a field of its own in the client's record. Names and values are as on the wire, so that storage does
 * not have to translate them.
 */
export type ClientMetadata = Omit<
  { readonly [Name in MemberName]?: ValueOf<Members[Name]> },
  Having<{ readonly field: string }> | Having<{ readonly isDerived: true }>
> &
  Localized;
