// The table of all client metadata members, without their texts (client_member_texts.ts). Types, checks, flags and
// documentation follow from both.

import type { JWK } from 'jose';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import { RESPONSE_MODES, type ResponseMode } from './authorization_parameters.ts';
import {
  ASSERTION_ALGORITHMS,
  ASSERTION_AUDIENCES,
  type AssertionAlgorithm,
  AUTHENTICATION_METHODS,
  CLIENT_ALGORITHMS,
  type ClientAlgorithm,
  CONTENT_ENCRYPTIONS,
  clientAlgorithmOf,
  ENCRYPTION_ALGORITHMS,
  GRANT_TYPES,
  isPersonalScope,
  isResourceUri,
  MOST_KEYS,
  macAlgorithmOf,
  namesOf,
  PROFILE_NAMES,
  SIGN_IN_POLICIES,
  SIGNING_ALGORITHMS,
  TOKEN_FORMATS,
} from './client_metadata.ts';
import { block, type Kind, oneOf, seconds, text, trueOrFalse } from './option_kinds.ts';
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
  /** The server requests the URLs in it. */
  readonly isFetched?: true;
  /** Protects what the client receives. An unknown value is refused, because the default is no protection. */
  readonly isProtection?: true;
  /** Of no use to protection. An unfit value is left out and refuses no registration, because the client works without. */
  readonly isDispensable?: true;
  /** Has an effect only if the client has keys (`jwks` or `jwks_uri`). */
  readonly needsKeys?: true;
}

/** One member of a client's metadata. */
export interface MetadataMember<T> extends MemberFacts {
  readonly kind: MetadataKind<T>;
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

function webUrl(without: string, fits: (uri: string) => boolean): Kind<string> {
  return text('URL', `a web URL without ${without}, at most ${MAX_URI_LENGTH} characters`, fits);
}

/** For links on pages, and for URLs that the server requests. Registration may restrict it to `https:`. */
const webUri = webUrl('credentials', isWebUri);

const webUriWithoutFragment = webUrl(
  'credentials and fragment',
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
  const scopes = value.split(' ').filter((item) => item !== '');
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
    const values = value.map(each.read).filter((item) => item !== undefined);
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

/** The most servers for which a client may obtain identity assertions. */
const MAX_SERVERS = 20;

/** What a client may obtain for another authorization server: an identity assertion. */
export interface IdentityAssertionPolicy {
  /** The identifier of the client at the other server. */
  readonly client_id: string;
  /** The client of this server as which the other server signs users in. `sub` is as in its ID tokens. Default: the client. */
  readonly signs_in_as?: string;
  /** The most scopes of the other server. Without them, the assertion names none. */
  readonly scopes?: readonly string[];
  /** The most APIs of the other server, by URI. Without them, the assertion names none. */
  readonly resources?: readonly string[];
  /** The types of authorization details that it may name. Default: none */
  readonly authorization_details_types?: readonly string[];
  /** Whether it names the verified email address of the user. Default: `false` */
  readonly email?: boolean;
  /** The most seconds that it lives. Default: 300 */
  readonly lifetime?: number;
}

const POLICY_MEMBERS: { readonly [Name in keyof Required<IdentityAssertionPolicy>]: Kind<unknown> } = {
  client_id: visible(MAX_URI_LENGTH),
  signs_in_as: visible(MAX_URI_LENGTH),
  scopes: listOf(apiScope),
  resources: listOf(resourceUri),
  authorization_details_types: listOf(visible(128)),
  email: trueOrFalse,
  lifetime: seconds(1, 60 * 60),
};

/** By the issuer of the other server (RFC 8414 §2), in exactly this spelling. */
type IdentityAssertionPolicies = { readonly [issuer: string]: IdentityAssertionPolicy };

const identityAssertions: Kind<IdentityAssertionPolicies> = {
  ...block(
    `at most ${MAX_SERVERS} issuers of other servers, each with client_id and any of ${Object.keys(POLICY_MEMBERS).slice(1).join(', ')}`,
    (value) => {
      const entries = Object.entries(value);
      const isFit = entries.every(
        ([issuer, policy]) => isWebUri(issuer) && !/[?#]/.test(issuer) && isPolicy(policy),
      );
      return isFit && entries.length <= MAX_SERVERS ? (value as IdentityAssertionPolicies) : undefined;
    },
  ),
  placeholder: 'FILE',
};

function isPolicy(value: unknown): boolean {
  const kinds = new Map<string, Kind<unknown>>(Object.entries(POLICY_MEMBERS));
  // An empty list looks like a limit, and an assertion without its values has none.
  const isFit = ([name, item]: readonly [string, unknown]) =>
    kinds.get(name)?.read(item) !== undefined && !(Array.isArray(item) && item.length === 0);
  return isJsonObject(value) && 'client_id' in value && Object.entries(value).every(isFit);
}

/** Algorithms that the server signs with. */
const serverSigning = oneOf(...SIGNING_ALGORITHMS);
/** Algorithms that clients sign with. EdDSA has two names. */
const clientSigning: Kind<ClientAlgorithm> = {
  ...oneOf<string>(...CLIENT_ALGORITHMS.flatMap(namesOf)),
  fromText: clientAlgorithmOf,
  read: clientAlgorithmOf,
};
/** Algorithms of client assertions: with a private key, or with the client's secret. */
const assertionSigning: Kind<AssertionAlgorithm> = {
  ...oneOf<string>(...ASSERTION_ALGORITHMS.flatMap(namesOf)),
  fromText: (alg) => clientAlgorithmOf(alg) ?? macAlgorithmOf(alg),
  read: (alg) => clientAlgorithmOf(alg) ?? macAlgorithmOf(alg),
};
const keyManagement = oneOf(...ENCRYPTION_ALGORITHMS);
const contentEncryption = oneOf(...CONTENT_ENCRYPTIONS);
const responseMode = oneOf(...(Object.keys(RESPONSE_MODES) as readonly ResponseMode[]));

// ── The members ───────────────────────────────────────────────────────────────────────────────────────────

/** Defines a member that clients and operators can set. */
function member<T>(kind: MetadataKind<T>): MetadataMember<T>;
function member<T, const F extends MemberFacts>(kind: MetadataKind<T>, facts: F): MetadataMember<T> & F;
function member<T>(kind: MetadataKind<T>, facts?: MemberFacts): MetadataMember<T> {
  return { kind, setBy: 'client', ...facts };
}

/** Defines a member that only operators can set. */
function operators<T>(kind: MetadataKind<T>): MetadataMember<T>;
function operators<T, const F extends MemberFacts>(kind: MetadataKind<T>, facts: F): MetadataMember<T> & F;
function operators<T>(kind: MetadataKind<T>, facts?: MemberFacts): MetadataMember<T> {
  return { kind, setBy: 'operator', ...facts };
}

const DISPENSABLE = { isDispensable: true } as const;
const FETCHED = { isFetched: true } as const;
/** Of links for users. */
const LINK = { isLocalizable: true, isDispensable: true } as const;
const ENCRYPTION = { needsKeys: true, isProtection: true } as const;

/** All members. Types of records and documents, checks, flags and docs/client_metadata.md are derived from the table. */
const METADATA_MEMBERS = {
  // RFC 7591 §2
  redirect_uris: member(listOf(returnUri), { field: 'redirectUris' }),
  token_endpoint_auth_method: member(oneOf(...AUTHENTICATION_METHODS)),
  grant_types: member(listOf(oneOf(...GRANT_TYPES)), { field: 'grantTypes' }),
  response_types: member(listOf(oneOf('code')), { isDerived: true }),
  client_name: member(visible(200), { field: 'name', isLocalizable: true }),
  client_uri: member(webUri, LINK),
  logo_uri: member(webUri, { ...LINK, ...FETCHED }),
  scope: member(scope, { field: 'scopes' }),
  strict_scopes: member(trueOrFalse),
  contacts: member(listOf(visible(200)), DISPENSABLE),
  policy_uri: member(webUri, LINK),
  tos_uri: member(webUri, LINK),
  jwks_uri: member(webUri, FETCHED),
  jwks: member(keySet),
  software_id: member(visible(200), DISPENSABLE),
  software_version: member(visible(200), DISPENSABLE),

  // OpenID Connect Dynamic Client Registration §2
  application_type: member(oneOf('web', 'native')),
  sector_identifier_uri: member(webUri, FETCHED),
  subject_type: member(oneOf('public', 'pairwise')),
  id_token_signed_response_alg: member(serverSigning, { field: 'idTokenAlgorithm' }),
  id_token_encrypted_response_alg: member(keyManagement, ENCRYPTION),
  id_token_encrypted_response_enc: member(contentEncryption),
  userinfo_signed_response_alg: member(serverSigning),
  userinfo_encrypted_response_alg: member(keyManagement, ENCRYPTION),
  userinfo_encrypted_response_enc: member(contentEncryption),
  request_object_signing_alg: member(clientSigning, { ...DISPENSABLE, needsKeys: true }),
  token_endpoint_auth_signing_alg: member(assertionSigning),
  default_max_age: member(seconds(0, MAX_AGE_SECONDS)),
  require_auth_time: member(trueOrFalse),
  default_acr_values: member(listOf(visible(200))),
  initiate_login_uri: member(webUri, DISPENSABLE),
  request_uris: member(listOf(webUri), { ...FETCHED, ...DISPENSABLE }),

  // RFC 9126 §6, RFC 9101 §10.5, RFC 9449 §5.2, RFC 8705 §2.1.2, RFC 8705 §3.4, JARM §3, FAPI 2.0 Message Signing §5.3.3,
  // RFC 9396 §10, RFC 9701 §6
  require_pushed_authorization_requests: member(trueOrFalse),
  require_signed_request_object: member(trueOrFalse, { needsKeys: true }),
  dpop_bound_access_tokens: member(trueOrFalse),
  tls_client_auth_subject_dn: member(visible(MAX_URI_LENGTH)),
  tls_client_auth_san_dns: member(dnsName),
  tls_client_auth_san_uri: member(resourceUri),
  tls_client_auth_san_ip: member(ipAddress),
  tls_client_auth_san_email: member(emailAddress),
  tls_client_certificate_bound_access_tokens: member(trueOrFalse),
  response_modes: member(listOf(responseMode)),
  authorization_signed_response_alg: member(serverSigning),
  authorization_encrypted_response_alg: member(keyManagement, ENCRYPTION),
  authorization_encrypted_response_enc: member(contentEncryption),
  authorization_details_types: member(listOf(visible(128), MAX_NAMES)),
  introspection_signed_response_alg: member(serverSigning),
  introspection_encrypted_response_alg: member(keyManagement, ENCRYPTION),
  introspection_encrypted_response_enc: member(contentEncryption),

  // RP-Initiated Logout §3.1, Back-Channel Logout §2.2
  post_logout_redirect_uris: member(listOf(returnUri), DISPENSABLE),
  backchannel_logout_uri: member(webUriWithoutFragment, FETCHED),
  backchannel_logout_session_required: member(trueOrFalse),

  // This server's own
  brand_color: member(color, DISPENSABLE),
  kind: operators(oneOf('agent')),
  profile: operators(oneOf(...PROFILE_NAMES)),
  assertion_audience: operators(oneOf(...ASSERTION_AUDIENCES)),
  assertion_lifetime: operators(seconds(1, 24 * 60 * 60)),
  insecure_allow_missing_pkce: operators(trueOrFalse),
  id_token_user_claims: operators(trueOrFalse),
  ignore_unknown_token_type_hint: operators(trueOrFalse),
  insecure_redirect_uris: operators(trueOrFalse),
  consent_required: operators(trueOrFalse),
  allowed_groups: operators(listOf(visible(128), MAX_NAMES)),
  sign_in_policy: operators(oneOf(...SIGN_IN_POLICIES)),
  resource: operators(resourceUri, { field: 'resource' }),
  api_scopes: operators(listOf(apiScope, MAX_NAMES)),
  apis: operators(listOf(resourceUri, MAX_NAMES)),
  follow_all: operators(trueOrFalse),
  exchange_tokens_of: operators(listOf(visible(MAX_URI_LENGTH), MAX_NAMES)),
  exchange_scopes: operators(listOf(apiScope, MAX_NAMES)),
  exchange_impersonates: operators(trueOrFalse),
  exchange_without_proof: operators(trueOrFalse),
  exchange_user_actors: operators(trueOrFalse),
  exchange_consent_required: operators(trueOrFalse),
  exchange_step_up_scopes: operators(listOf(apiScope, MAX_NAMES)),
  identity_assertions: operators(identityAssertions),
  set_by_operator: operators(listOf(visible(200), MAX_NAMES)),
  access_token_format: operators(oneOf(...TOKEN_FORMATS), { field: 'accessTokenFormat' }),
  access_token_lifetime: operators(seconds(1)),
  access_token_signed_response_alg: operators(serverSigning, { field: 'accessTokenAlgorithm' }),
  rotate_refresh_tokens: operators(trueOrFalse, { field: 'rotateRefreshTokens' }),
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
 * Removes what is not offered, or is unfit, from a value that a client sent: values of a list, or the whole value (RFC
 * 7591 §3.2.1).
 * @returns `undefined` if nothing is left. A value of a wrong type comes back as it is.
 */
export function offeredValue(
  { kind, isProtection, isDispensable }: MetadataMember<unknown>,
  value: unknown,
): unknown {
  const { each } = kind;
  const isOpen = ({ isChoice }: Kind<unknown>) => isDispensable === true || isChoice === true;
  const isUnfit = (of: Kind<unknown>, item: unknown) =>
    typeof item === 'string' && of.read(item) === undefined;
  if (each === undefined) return isOpen(kind) && !isProtection && isUnfit(kind, value) ? undefined : value;
  if (!Array.isArray(value) || !isOpen(each) || value.length === 0) return value;
  const offered = value.filter((item) => !isUnfit(each, item));
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
