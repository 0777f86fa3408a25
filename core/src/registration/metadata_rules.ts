// Rules that client metadata must keep, and its defaults.
import { acceptedAlgorithms, METHODS, provesNothing } from '../clients/authentication.ts';
import { formatScope } from '../http/form.ts';
import {
  type ClientDocument,
  isFetched,
  isMemberName,
  isServerAlgorithm,
  isWebUrl,
  MEMBER_NAMES,
  memberOf,
  withoutTag,
} from '../protocol/client_members.ts';
import {
  type AssertionAlgorithm,
  type AssertionAudience,
  AUTHENTICATION_METHODS,
  type AuthenticationMethod,
  type ClientAlgorithm,
  type ContentEncryption,
  DEFAULT_CONTENT_ENCRYPTION,
  ENCRYPTED_RESPONSES,
  type EncryptedResponse,
  type GrantType,
  hasPairwiseSubjects,
  isSendableResource,
  MOST_KEYS,
  type ProfileName,
  REGISTERED_GRANTS,
  REGISTERED_METHOD,
  requirementsOf,
  type SigningAlgorithm,
} from '../protocol/client_metadata.ts';
import { bindsTokensToKey, memberRulesOf, stricterProfile } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { isExposedRedirectUri, isOwnMachine } from '../protocol/redirect_uri.ts';
import { fitsAlgorithm, readPublicKeys } from '../tokens/public_keys.ts';
import { sectorOf, webHostOf } from '../tokens/subject_identifier.ts';
import {
  ClientMetadataError,
  type MetadataProblem,
  type Registrant,
  Rejections,
  reject,
  responseTypesOf,
} from './client_document.ts';

/** What metadata may contain. It depends on who wrote it and on what the server can do. */
export interface RegistrationPolicy {
  readonly registrant: Registrant;
  /** Of the server. */
  readonly issuer: string;
  /** The profile of the server. */
  readonly profile: ProfileName | undefined;
  /** Allowed scopes; `undefined` allows all. */
  readonly scopes: readonly string[] | undefined;
  /** Allowed types of authorization details; `undefined` allows all. */
  readonly authorizationDetailsTypes: readonly string[] | undefined;
  readonly grantTypes: readonly GrantType[];
  /** Algorithms that the server can sign with. */
  readonly signingAlgorithms: readonly SigningAlgorithm[];
  /** Algorithms with which clients may sign request objects. */
  readonly requestObjectAlgorithms: readonly ClientAlgorithm[];
  /** Algorithms with which clients may sign assertions. */
  readonly clientAssertionAlgorithms: readonly AssertionAlgorithm[];
  readonly authenticationMethods: readonly AuthenticationMethod[];
  /** Whether requests carry certificates of clients. */
  readonly acceptsCertificates: boolean;
  /** Whether the server can fetch URLs of clients. */
  readonly canFetch: boolean;
  /** Returns why the server would refuse to fetch a URL, as a literal. */
  readonly refusalOf: (url: string) => string | undefined;
  readonly hasPairwiseSubjects: boolean;
  /** The resource of a client that exists already. It is not checked again. */
  readonly registeredResource: string | undefined;
  /** URIs to which every client may return (ADR 168). */
  readonly redirectUris: readonly string[];
  /** Allows `http:` and localhost. For development only. */
  readonly allowInsecureUris: boolean;
  /** Default for clients that sign assertions. */
  readonly assertionAudience: AssertionAudience;
  /** Default for confidential clients. */
  readonly insecureAllowMissingPkce: boolean;
}

type Rule = (document: ClientDocument, policy: RegistrationPolicy, rejections: Rejections) => void;

/**
 * Checks members against each other and against the server. A rule that reads a wrong member says nothing.
 * @param rejections gets the members that break a rule
 */
export function checkRules(
  document: ClientDocument,
  policy: RegistrationPolicy,
  rejections: Rejections,
): void {
  const unfit = new Set(rejections.all.map(({ member }) => member));
  for (const rule of RULES) {
    const own = new Rejections();
    let depends = false;
    const watched = new Proxy(document, {
      get(target, name) {
        depends ||= unfit.has(String(name));
        return Reflect.get(target, name);
      },
    });
    rule(watched, policy, own);
    if (!depends) for (const error of own.all) rejections.add(error);
  }
}

/** Grant types and response types must fit together (RFC 7591 §2.1). */
const requireWorkableGrants: Rule = (document, { grantTypes: allowed }, { reject }) => {
  const { grant_types: grantTypes = [], response_types: responseTypes } = document;
  if (!grantTypes.every((grant) => allowed.includes(grant)))
    reject('grant_types', 'wrong', allowed.join(', '));
  for (const grant of grantTypes) {
    const { needs, isForConfidentialClients } = requirementsOf(grant);
    if (needs !== undefined && !grantTypes.some((other) => needs.includes(other)))
      reject('grant_types', 'grant_needs', grant, needs.join(' or '));
    if (isForConfidentialClients && isPublic(document)) reject('grant_types', 'confidential', grant);
  }
  const fitting = responseTypesOf(grantTypes);
  if (responseTypes !== undefined && responseTypes.length !== fitting.length)
    reject('response_types', 'no_code');
};

const requireApi: Rule = ({ resource, api_scopes: scopes }, { registeredResource }, { reject }) => {
  if (scopes !== undefined && resource === undefined) reject('api_scopes', 'needs', 'resource');
  if (resource !== undefined && resource !== registeredResource && !isSendableResource(resource))
    reject('resource', 'unstable_uri');
};

const requireStepUp: Rule = (document, _, { reject }) => {
  const { exchange_step_up_scopes: scopes, default_acr_values: classes, default_max_age: maxAge } = document;
  if (scopes !== undefined && classes === undefined && maxAge === undefined)
    reject('exchange_step_up_scopes', 'needs', 'default_acr_values or default_max_age');
};

/** No server is both ends (ADR 187). A pairwise identifier of this client means nothing there. */
const requireOtherServers: Rule = (
  { identity_assertions: policies = {}, subject_type: type },
  { issuer },
  { reject },
) => {
  if (Object.hasOwn(policies, issuer)) reject('identity_assertions', 'own_issuer');
  const isKnown = Object.values(policies).every(({ signs_in_as: client }) => client !== undefined);
  if (type === 'pairwise' && !isKnown) reject('identity_assertions', 'signs_in_as');
};

/** A client has `jwks` or `jwks_uri`, not both (RFC 7591 §2), and at least one if a member needs keys. */
const requireKeys: Rule = (document, _, { reject }) => {
  const { jwks, jwks_uri: uri } = document;
  if (jwks !== undefined && uri !== undefined) reject('jwks_uri', 'both_keys');
  if (jwks !== undefined || uri !== undefined) return;
  for (const name of MEMBER_NAMES) {
    if (memberOf(name).needsKeys !== true) continue;
    if (document[name] !== undefined && document[name] !== false) reject(name, 'needs', 'jwks or jwks_uri');
  }
};

const requireAuthentication: Rule = (document, policy, { reject }) => {
  const { authenticationMethods, clientAssertionAlgorithms: accepted } = policy;
  const { token_endpoint_auth_method: method, token_endpoint_auth_signing_alg: algorithm } = document;
  if (algorithm !== undefined && !signsAssertions(document))
    reject('token_endpoint_auth_signing_alg', 'goes_with', ASSERTION_METHODS.join(' or '));
  if (method !== undefined && !authenticationMethods.includes(method))
    reject('token_endpoint_auth_method', 'unsupported', method);
  const algorithms = method && acceptedAlgorithms(method, accepted);
  if (algorithm !== undefined && algorithms?.includes(algorithm) === false)
    reject('token_endpoint_auth_signing_alg', 'algorithms', String(method), algorithms.join(', '));
  const missing = method && METHODS[method].missingFrom?.(document);
  if (method === undefined || missing === undefined) return;
  // The method may be the default of the profile, which the registration does not name.
  const profile = profileFor(document, policy);
  const because = profile === undefined ? '' : `, because of the profile ${profile}`;
  reject('token_endpoint_auth_method', 'lacks', method, missing + because);
};

const ASSERTION_METHODS = AUTHENTICATION_METHODS.filter(
  (name) => METHODS[name].assertionAlgorithms !== undefined,
);

function signsAssertions({ token_endpoint_auth_method: method }: ClientDocument): boolean {
  return method !== undefined && ASSERTION_METHODS.includes(method);
}

export function isPublic({ token_endpoint_auth_method: method }: ClientDocument): boolean {
  return method !== undefined && provesNothing(method);
}

/** A client keeps the rules of its profile, or of the server's if that is stricter. */
const requireProfile: Rule = (document, policy, { reject }) => {
  const name = profileFor(document, policy);
  if (name === undefined) return;
  for (const [member, { allows, expected }] of memberRulesOf(name))
    if (!allows(document[member])) reject(member, 'profile', expected, name);
  if (bindsTokensToKey(document) && document.dpop_bound_access_tokens === false)
    reject('dpop_bound_access_tokens', 'profile', 'true', name);
};

function profileFor(
  { profile }: ClientDocument,
  policy: Pick<RegistrationPolicy, 'profile'>,
): ProfileName | undefined {
  return stricterProfile(policy.profile, profile);
}

/** PKCE is all that protects the codes of a public client (RFC 9700 §2.1.1). */
const requirePkceOfPublicClients: Rule = (document, _, { reject }) => {
  if (isPublic(document) && document.insecure_allow_missing_pkce === true)
    reject('insecure_allow_missing_pkce', 'pkce');
};

/** Without certificates, the client would get no token (RFC 8705 §3.4). */
const requireCertificates: Rule = (document, { acceptsCertificates }, { reject }) => {
  if (document.tls_client_certificate_bound_access_tokens === true && !acceptsCertificates)
    reject('tls_client_certificate_bound_access_tokens', 'certificates');
};

/** A client cannot register an algorithm with which it may not sign. */
const requireAcceptedRequestObjects: Rule = (document, { requestObjectAlgorithms: accepted }, { reject }) => {
  const { request_object_signing_alg: algorithm } = document;
  if (algorithm !== undefined && !accepted.includes(algorithm))
    reject('request_object_signing_alg', 'one_of', accepted.join(', '));
};

const requireSignable: Rule = (document, { signingAlgorithms }, { reject }) => {
  for (const name of MEMBER_NAMES.filter(isServerAlgorithm)) {
    const algorithm = document[name];
    if (algorithm !== undefined && !signingAlgorithms.some((item) => item === algorithm))
      reject(name, 'one_of', signingAlgorithms.join(', '));
  }
};

/**
 * Without a key encryption algorithm nothing is encrypted (OpenID Connect Dynamic Client Registration §2, JARM §3, RFC
 * 9701 §6). Without a key for it, nothing could be sent. Keys at a URL may come later.
 */
const requireWholeEncryption: Rule = (document, _, { reject }) => {
  for (const kind of ENCRYPTED_RESPONSES) {
    const algorithm = document[`${kind}_encrypted_response_alg`];
    if (algorithm === undefined && document[`${kind}_encrypted_response_enc`] !== undefined)
      reject(`${kind}_encrypted_response_enc`, 'needs', `${kind}_encrypted_response_alg`);
    const keys = document.jwks && readPublicKeys(document.jwks, MOST_KEYS);
    if (algorithm !== undefined && keys?.some((jwk) => fitsAlgorithm(jwk, algorithm)) === false)
      reject(`${kind}_encrypted_response_alg`, 'key_for', algorithm);
  }
};

/** A client with pairwise subjects must belong to exactly one sector (OpenID Connect Core §8.1). */
const requireSector: Rule = (document, { hasPairwiseSubjects }, { reject }) => {
  const { redirect_uris: redirectUris = [], subject_type: type } = document;
  if (type !== 'pairwise') return;
  if (!hasPairwiseSubjects) reject('subject_type', 'unsupported', 'pairwise');
  else if (sectorOf({ redirectUris, metadata: document }) === undefined)
    reject('sector_identifier_uri', 'sector');
};

/**
 * Logout tokens carry the subject, and a client that registered itself has not proven that it owns the logout URI. With
 * pairwise subjects it must therefore be on a host of its redirect URIs or its sector. An operator knows the owner.
 */
const requireLogoutInSector: Rule = (document, { registrant }, { reject }) => {
  const { backchannel_logout_uri: uri, sector_identifier_uri: sector, redirect_uris: own = [] } = document;
  if (registrant === 'operator' || document.subject_type !== 'pairwise' || uri === undefined) return;
  const hosts = [...own.map(webHostOf), sector === undefined ? undefined : new URL(sector).hostname];
  if (!hosts.includes(new URL(uri).hostname))
    reject('backchannel_logout_uri', 'wrong', 'an https host of the redirect URIs, with pairwise subjects');
};

const requireFetcher: Rule = (document, { canFetch }, { reject }) => {
  const fetched = ['jwks_uri', 'sector_identifier_uri', 'request_uris', 'backchannel_logout_uri'] as const;
  for (const name of fetched) if (document[name] !== undefined && !canFetch) reject(name, 'no_fetch');
};

/** Users follow these URLs, or the server fetches them. The client may not change those of the operator. */
const requireUsableUrls: Rule = (document, policy, { reject }) => {
  for (const [name, value] of Object.entries(document)) {
    const [base] = withoutTag(name);
    if (policy.registrant === 'client' && isSetByOperator(document, name)) continue;
    for (const url of [value].flat()) {
      const problem = urlProblem(base, url, policy);
      if (problem !== undefined) reject(base, ...problem);
    }
  }
};

/**
 * Why a URL cannot be used, if the member has URLs. From self-registered clients they must be https. At registration, the
 * server rejects URLs that it would later refuse to fetch.
 */
export function urlProblem(
  name: string,
  url: unknown,
  { registrant, allowInsecureUris, refusalOf }: RegistrationPolicy,
): MetadataProblem | undefined {
  if (!isMemberName(name) || !isWebUrl(name)) return undefined;
  const isSecure = typeof url === 'string' && new URL(url).protocol === 'https:';
  if (!isSecure && registrant === 'client' && !allowInsecureUris) return ['wrong', 'https'];
  const refusal = isFetched(name) ? refusalOf(String(url)) : undefined;
  return refusal === undefined ? undefined : ['not_fetched', refusal];
}

/** Whether a client that registered itself may not change a member, because the operator has set it in its language. */
export function isSetByOperator({ set_by_operator: set = [] }: ClientDocument, name: string): boolean {
  return set.includes(name) || set.includes(withoutTag(name)[0]);
}

/** Users trust a client by its name, so an unchecked client must not have a name that looks like another one. */
const requireReadableName: Rule = (document, { registrant }, { reject }) => {
  if (registrant === 'operator') return;
  const problem = unreadableNameOf(document);
  if (problem !== undefined) reject('client_name', 'wrong', problem);
};

/** Checks the client's name in every language, as `unreadableName` does. */
export function unreadableNameOf(document: ClientDocument): string | undefined {
  for (const [name, value] of Object.entries(document)) {
    if (withoutTag(name)[0] !== 'client_name') continue;
    const problem = unreadableName(String(value));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const RULES: readonly Rule[] = [
  requireProfile,
  requireReadableName,
  requireReturnUris,
  requireWorkableGrants,
  requireCertificates,
  requireApi,
  requireStepUp,
  requireOtherServers,
  requireAuthentication,
  requirePkceOfPublicClients,
  requireFetcher,
  requireKeys,
  requireSignable,
  requireAcceptedRequestObjects,
  requireWholeEncryption,
  requireSector,
  requireLogoutInSector,
  requireUsableUrls,
];

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Checks redirect URIs by application type (OpenID Connect Dynamic Client Registration §2, RFC 8252 §7, §8.4). An
 * operator may register any, but `http:` to another machine needs `insecure_redirect_uris`.
 */
function requireReturnUris(
  document: ClientDocument,
  policy: RegistrationPolicy,
  { add, reject }: Rejections,
): void {
  const { redirect_uris: redirectUris = [], post_logout_redirect_uris: logoutUris = [] } = document;
  const { grant_types: grantTypes = [] } = document;
  const answered = grantTypes.find((grant) => requirementsOf(grant).responseTypes.length > 0);
  if (answered !== undefined && redirectUris.length === 0)
    add(new ClientMetadataError('redirect_uris', ['no_uri', answered], 'invalid_redirect_uri'));
  if (policy.registrant === 'operator') {
    if (document.insecure_redirect_uris === true) return;
    if (redirectUris.some(isExposedRedirectUri)) reject('redirect_uris', 'exposed_uri');
    if (logoutUris.some(isExposedRedirectUri)) reject('post_logout_redirect_uris', 'exposed_uri');
    return;
  }
  if (isSetByOperator(document, 'redirect_uris') || redirectUris.every(returnUriCheck(document, policy)))
    return;
  const expected =
    document.application_type === 'native'
      ? 'https, http with a loopback host, or a private-use scheme with a period, for a native application'
      : 'https, and not localhost, for a web application; native applications send application_type native';
  add(new ClientMetadataError('redirect_uris', ['wrong', expected], 'invalid_redirect_uri'));
}

/** To which URIs browsers may return, by the type of an application that registers itself. */
export function returnUriCheck(
  document: ClientDocument,
  { allowInsecureUris, redirectUris }: Pick<RegistrationPolicy, 'allowInsecureUris' | 'redirectUris'>,
): (uri: string) => boolean {
  const { application_type: type = usualApplicationType(document) } = document;
  return (uri) =>
    redirectUris.includes(uri) ||
    isWebUri(uri, allowInsecureUris) ||
    (type === 'native' && (isLoopbackUri(uri) || isPrivateUseUri(uri)));
}

/**
 * Returns the default application type: `native` if the client listens on a loopback address, as MCP clients do (RFC
 * 8252 §7.3), otherwise `web` (OpenID Connect Dynamic Client Registration §2).
 */
function usualApplicationType({ redirect_uris: redirectUris = [] }: ClientDocument): 'web' | 'native' {
  return redirectUris.some(isLoopbackUri) ? 'native' : 'web';
}

/** Native applications may also claim https URIs (RFC 8252 §7.2). */
function isWebUri(uri: string, allowInsecureUris: boolean): boolean {
  const { protocol, hostname } = new URL(uri);
  if (allowInsecureUris) return protocol === 'https:' || protocol === 'http:';
  return protocol === 'https:' && !isOwnMachine(hostname);
}

function isLoopbackUri(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol === 'http:' && LOOPBACK_NAMES.has(hostname);
}

/** A private-use scheme is a reversed domain name, so that two owners never share one (RFC 8252 §7.1). */
function isPrivateUseUri(uri: string): boolean {
  return new URL(uri).protocol.includes('.');
}

/**
 * A self-registered client with pairwise subjects must stay in its sector. Otherwise it could move to another sector
 * and receive the identifiers that only that sector's clients may know.
 * @throws {ClientMetadataError}
 */
export function requireSameSector(document: ClientDocument, registered: ClientRecord | undefined): void {
  if (registered === undefined || !hasPairwiseSubjects(registered)) return;
  if (document.subject_type !== 'pairwise') reject('subject_type', 'must_keep', 'them');
  const { redirect_uris: redirectUris = [] } = document;
  if (sectorOf({ redirectUris, metadata: document }) !== sectorOf(registered))
    reject('redirect_uris', 'must_keep', 'its host');
}

/**
 * Adds the defaults of RFC 7591 §2 and OpenID Connect Dynamic Client Registration §2. A client of an operator gets only
 * those for encryption and of its profile: otherwise it follows the server's options.
 */
export function withDefaults(document: ClientDocument, policy: RegistrationPolicy): ClientDocument {
  const profile = profileFor(document, policy);
  const profiled = profile === undefined ? document : { ...profileDefaults(profile, document), ...document };
  const complete = { ...profiled, ...encryptionDefaults(document) };
  if (policy.registrant === 'operator') return complete;
  const { grant_types: grantTypes = REGISTERED_GRANTS } = document;
  const { scopes = [], signingAlgorithms } = policy;
  return {
    token_endpoint_auth_method: REGISTERED_METHOD,
    response_types: responseTypesOf(grantTypes),
    application_type: usualApplicationType(document),
    subject_type: 'public',
    ...(signingAlgorithms.includes('RS256') && !profile && { id_token_signed_response_alg: 'RS256' }),
    ...(scopes.length > 0 && { scope: formatScope(scopes) }),
    ...assertionDefaults(document, policy),
    ...pkceDefaults(document, policy),
    ...complete,
    grant_types: grantTypes,
  };
}

/** Writes out what the profile requires, so that the client sees it in its registration. */
function profileDefaults(profile: ProfileName, document: ClientDocument): ClientDocument {
  const required = memberRulesOf(profile).filter(([, { allows }]) => !allows(undefined));
  const defaults = Object.fromEntries(required.map(([member, { byDefault }]) => [member, byDefault]));
  return { ...defaults, ...(bindsTokensToKey(document) && { dpop_bound_access_tokens: true }) };
}

/** Stores the audience only if it differs from the server's own default. */
function assertionDefaults(
  document: ClientDocument,
  { assertionAudience }: RegistrationPolicy,
): ClientDocument {
  const isToBeSaid = signsAssertions(document) && assertionAudience !== 'issuer';
  return isToBeSaid ? { assertion_audience: assertionAudience } : {};
}

function pkceDefaults(
  document: ClientDocument,
  { insecureAllowMissingPkce }: RegistrationPolicy,
): ClientDocument {
  return insecureAllowMissingPkce && !isPublic(document) ? { insecure_allow_missing_pkce: true } : {};
}

function encryptionDefaults(document: ClientDocument): ClientDocument {
  const defaults: { [Kind in EncryptedResponse as `${Kind}_encrypted_response_enc`]?: ContentEncryption } =
    {};
  for (const kind of ENCRYPTED_RESPONSES) {
    if (document[`${kind}_encrypted_response_alg`] !== undefined)
      defaults[`${kind}_encrypted_response_enc`] =
        document[`${kind}_encrypted_response_enc`] ?? DEFAULT_CONTENT_ENCRYPTION;
  }
  return defaults;
}

/** Scripts that may be mixed with Latin in one name (UTS 39 §5.2, Highly Restrictive). */
const WITH_LATIN = [
  'Han Hiragana Katakana',
  'Han Bopomofo',
  'Han Hangul',
  // In general use, and not confusable with Latin (UTS 39 §5.2, Moderately Restrictive; UAX 31 table 5)
  ...words(
    'Arabic Armenian Bengali Devanagari Ethiopic Georgian Gujarati Gurmukhi Hebrew Kannada Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan',
  ),
];

/** Scripts that may not be mixed, because they look like Latin or are rare. */
const ALONE = words(
  'Cyrillic Greek Adlam Balinese Canadian_Aboriginal Chakma Cherokee Javanese Lisu Mongolian Nko Osage Syriac Tai_Le Tifinagh Vai Yi',
);

function words(text: string): readonly string[] {
  return text.split(' ');
}

/** Compiled at first use, because this takes several milliseconds. */
let scriptSets: readonly RegExp[] | undefined;

function newScriptSets(): readonly RegExp[] {
  return [...WITH_LATIN.map((scripts) => `Latin ${scripts}`), ...ALONE].map((scripts) => {
    const classes = words(`Common Inherited ${scripts}`).map((script) => `\\p{Script_Extensions=${script}}`);
    return new RegExp(`^[${classes.join('')}]*$`, 'u');
  });
}

/** Spaces of every script, and letters or symbols that show nothing. */
const BLANK = /[\s\p{Z}\u2800]|\p{Default_Ignorable_Code_Point}/gu;

/** Characters that show nothing. A variation selector after an emoji is allowed: it only selects a picture. */
const INVISIBLE = /(?!(?<=\p{Emoji})[\uFE0E\uFE0F])\p{Default_Ignorable_Code_Point}|\u2800/u;

/** More marks than any language puts on one letter (UTS 39 §5.4), as in text that covers the lines around it. */
const HEAPED_MARKS = /\p{M}{5}/u;

/**
 * Checks whether users can read a name and not take it for another one (UTS 39).
 * @returns what was expected, to follow "expected", or `undefined` if the name is readable
 */
export function unreadableName(name: string): string | undefined {
  if (/^\p{M}*$/u.test(name.replaceAll(BLANK, ''))) return 'a name that can be seen';
  if (INVISIBLE.test(name) || /^\p{M}/u.test(name)) return 'a name without invisible characters';
  if (HEAPED_MARKS.test(name)) return 'a name with at most four marks on a letter';
  scriptSets ??= newScriptSets();
  if (!scriptSets.some((set) => set.test(name.normalize('NFC')))) return 'a name in letters of one script';
  return undefined;
}
