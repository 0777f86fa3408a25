import { METHODS, provesNothing } from '../clients/authentication.ts';
import { DocumentError, type FetchDocument, fetchBody } from '../http/fetch_document.ts';
import { parseJson } from '../http/http.ts';
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
  type AssertionAudience,
  AUTHENTICATION_METHODS,
  DEFAULT_CONTENT_ENCRYPTION,
  type GrantType,
  requirementsOf,
  type SigningAlgorithm,
} from '../protocol/client_metadata.ts';
import { type ClientRecord, formatScope, parseScope } from '../protocol/records.ts';
import { isExposedRedirectUri, isOwnMachine } from '../protocol/redirect_uri.ts';
import { hasPairwiseSubjects, sectorOf, webHostOf } from '../tokens/subject_identifier.ts';
import { ClientMetadataError, type Registrant, responseTypesOf } from './client_document.ts';

/** What a client may be, by who describes it and by what the server can do. */
export interface RegistrationPolicy {
  readonly registrant: Registrant;
  /** `undefined` is all. */
  readonly scopes: readonly string[] | undefined;
  readonly grantTypes: readonly GrantType[];
  /** What the server can sign with. */
  readonly signingAlgorithms: readonly SigningAlgorithm[];
  /** Whether the server can ask for what clients name by URL. */
  readonly canFetch: boolean;
  /** Why the server would never ask for a URL; a literal. */
  readonly refusalOf: (url: string) => string | undefined;
  readonly hasPairwiseSubjects: boolean;
  /** Development alone: http, and applications on the very machine of the browser. */
  readonly allowInsecureUris: boolean;
  /** Of clients that sign assertions, where nobody says otherwise. */
  readonly assertionAudience: AssertionAudience;
  /** Of confidential clients, where nobody says otherwise. */
  readonly insecureAllowMissingPkce: boolean;
}

type Rule = (document: ClientDocument, policy: RegistrationPolicy) => void;

/**
 * What the members of a document must be to each other and to the server.
 * @throws {ClientMetadataError} the first breach
 */
export function requireRules(document: ClientDocument, policy: RegistrationPolicy): void {
  for (const rule of RULES) rule(document, policy);
}

/** RFC 7591 §2.1: grants and response types belong together. */
const requireWorkableGrants: Rule = (document, { grantTypes: allowed }) => {
  const { grant_types: grantTypes = [], response_types: responseTypes } = document;
  if (!grantTypes.every((grant) => allowed.includes(grant)))
    throw unfit('grant_types', `expected ${allowed.join(', ')}`);
  for (const grant of grantTypes) {
    const { needs, isForConfidentialClients } = requirementsOf(grant);
    if (needs !== undefined && !grantTypes.some((other) => other === needs))
      throw unfit('grant_types', `${grant} needs ${needs}`);
    if (isForConfidentialClients && isPublic(document))
      throw unfit('grant_types', `${grant} needs a confidential client (RFC 6749 section 4.4)`);
  }
  const fitting = responseTypesOf(grantTypes);
  if (responseTypes !== undefined && responseTypes.length !== fitting.length)
    throw unfit('response_types', 'expected code where the grants have authorization_code, otherwise none');
};

const requireAllowedScopes: Rule = ({ scope }, { scopes: allowed }) => {
  if (scope === undefined || allowed === undefined) return;
  if (!parseScope(scope).every((one) => allowed.includes(one)))
    throw unfit('scope', `open to clients that register themselves: ${allowed.join(', ') || 'none'}`);
};

const requireApi: Rule = ({ resource, api_scopes: scopes }) => {
  if (scopes !== undefined && resource === undefined) throw unfit('api_scopes', 'needs resource');
};

/** Keys are given in one way (RFC 7591 §2), and members that need keys have them. */
const requireKeys: Rule = (document, { canFetch }) => {
  const { jwks, jwks_uri: uri } = document;
  if (jwks !== undefined && uri !== undefined) throw unfit('jwks_uri', 'expected either jwks or jwks_uri');
  if (uri !== undefined && !canFetch) throw unfit('jwks_uri', CANNOT_FETCH);
  if (jwks !== undefined || uri !== undefined) return;
  for (const name of MEMBER_NAMES) {
    const isOn = document[name] !== undefined && document[name] !== false;
    if (isOn && memberOf(name).needsKeys) throw unfit(name, 'needs jwks or jwks_uri');
  }
};

const requireAuthentication: Rule = (document) => {
  const { token_endpoint_auth_method: method } = document;
  if (document.token_endpoint_auth_signing_alg !== undefined && !signsAssertions(document))
    throw unfit('token_endpoint_auth_signing_alg', `goes with ${ASSERTION_METHODS.join(', ')} alone`);
  const missing = method && METHODS[method].missingFrom?.(document);
  if (missing !== undefined) throw unfit('token_endpoint_auth_method', `${method} ${missing}`);
};

const ASSERTION_METHODS = AUTHENTICATION_METHODS.filter(
  (name) => METHODS[name].assertionAlgorithms !== undefined,
);

function signsAssertions({ token_endpoint_auth_method: method }: ClientDocument): boolean {
  return method !== undefined && ASSERTION_METHODS.includes(method);
}

/** Whether a client is registered as one that proves nothing. */
function isPublic({ token_endpoint_auth_method: method }: ClientDocument): boolean {
  return method !== undefined && provesNothing(method);
}

/** Nothing but PKCE protects the codes of a public client (RFC 9700 §2.1.1). */
const requirePkceOfPublicClients: Rule = (document) => {
  if (isPublic(document) && document.insecure_allow_missing_pkce === true)
    throw unfit('insecure_allow_missing_pkce', 'a public client needs PKCE (RFC 9700 section 2.1.1)');
};

const requireSignable: Rule = (document, { signingAlgorithms }) => {
  for (const name of MEMBER_NAMES.filter(isServerAlgorithm)) {
    const algorithm = document[name];
    if (algorithm !== undefined && !signingAlgorithms.some((one) => one === algorithm))
      throw unfit(name, `expected one of ${signingAlgorithms.join(', ')}`);
  }
};

/** A content encryption alone would be no encryption (OpenID Connect Dynamic Client Registration §2, RFC 9701 §6). */
const requireWholeEncryption: Rule = (document) => {
  for (const kind of ['userinfo', 'introspection'] as const) {
    const isWhole = document[`${kind}_encrypted_response_alg`] !== undefined;
    if (!isWhole && document[`${kind}_encrypted_response_enc`] !== undefined)
      throw unfit(`${kind}_encrypted_response_enc`, `needs ${kind}_encrypted_response_alg`);
  }
};

/** OpenID Connect Core §8.1: every client with pairwise subjects is of one sector. */
const requireSector: Rule = (document, { hasPairwiseSubjects, canFetch }) => {
  const { sector_identifier_uri: uri, redirect_uris: redirectUris = [], subject_type: type } = document;
  if (uri !== undefined && !canFetch) throw unfit('sector_identifier_uri', CANNOT_FETCH);
  if (type !== 'pairwise') return;
  if (!hasPairwiseSubjects) throw unfit('subject_type', 'pairwise is not supported by this server');
  if (sectorOf({ redirectUris, metadata: document }) === undefined)
    throw unfit(
      'sector_identifier_uri',
      'is needed unless all redirect URIs are of one https host, or none is',
    );
};

/**
 * Logout tokens carry the subject, and the client has not proven that the URI is its own: with pairwise subjects they go
 * to a host of its redirect URIs or sector alone. An operator knows the owner of the URI.
 */
const requireLogoutInSector: Rule = (document, { registrant }) => {
  const { backchannel_logout_uri: uri, sector_identifier_uri: sector, redirect_uris: own = [] } = document;
  if (registrant === 'operator' || document.subject_type !== 'pairwise' || uri === undefined) return;
  const hosts = [...own.map(webHostOf), sector === undefined ? undefined : new URL(sector).hostname];
  if (!hosts.includes(new URL(uri).hostname))
    throw unfit(
      'backchannel_logout_uri',
      'expected an https host of the redirect URIs, with pairwise subjects',
    );
};

/** A URL that this server never asks for is refused at once, not when it would be needed. */
const requireReachable: Rule = (document, { canFetch, refusalOf }) => {
  for (const name of ['request_uris', 'backchannel_logout_uri'] as const) {
    if (document[name] !== undefined && !canFetch) throw unfit(name, CANNOT_FETCH);
  }
  for (const [name, value] of Object.entries(document)) {
    if (!isFetched(name)) continue;
    const [base] = withoutTag(name);
    const refusal = [value]
      .flat()
      .map((url) => refusalOf(String(url)))
      .find((one) => one !== undefined);
    if (refusal !== undefined) throw unfit(base, `the server never asks for this URL: ${refusal}`);
  }
};

/** What strangers show to people, or have this server ask, is https. */
const requireSecureUris: Rule = (document, { registrant, allowInsecureUris }) => {
  if (registrant === 'operator' || allowInsecureUris) return;
  for (const [name, value] of Object.entries(document)) {
    const [base] = withoutTag(name);
    if (!isMemberName(base) || !isWebUrl(base)) continue;
    const uris: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!uris.every((uri) => typeof uri === 'string' && new URL(uri).protocol === 'https:'))
      throw unfit(base, 'expected https');
  }
};

/** People trust a client by its name, so one that nobody checked has no name that could be read as another's. */
const requireReadableName: Rule = (document, { registrant }) => {
  if (registrant === 'operator') return;
  const problem = unreadableNameOf(document);
  if (problem !== undefined) throw unfit('client_name', `expected ${problem}`);
};

/**
 * What is wrong with the name of a client in any language, for a person who reads it.
 * @returns ends the sentence "expected …"
 */
export function unreadableNameOf(document: ClientDocument): string | undefined {
  for (const [name, value] of Object.entries(document)) {
    if (withoutTag(name)[0] !== 'client_name') continue;
    const problem = unreadableName(String(value));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const RULES: readonly Rule[] = [
  requireReadableName,
  requireReturnUris,
  requireWorkableGrants,
  requireAllowedScopes,
  requireApi,
  requireAuthentication,
  requirePkceOfPublicClients,
  requireKeys,
  requireSignable,
  requireWholeEncryption,
  requireSector,
  requireLogoutInSector,
  requireSecureUris,
  requireReachable,
];

const CANNOT_FETCH = 'this server fetches nothing from outside';

function unfit(member: string, problem: string): ClientMetadataError {
  return new ClientMetadataError(member, problem);
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Redirect URIs that a client may register for itself, by the kind of application (OpenID Connect Dynamic Client
 * Registration §2, RFC 8252 §7, §8.4). An operator knows the client, but plain http to another machine needs a setting.
 * @throws {ClientMetadataError}
 */
function requireReturnUris(document: ClientDocument, policy: RegistrationPolicy): void {
  const { redirect_uris: redirectUris = [], post_logout_redirect_uris: logoutUris = [] } = document;
  const { grant_types: grantTypes = [] } = document;
  const answered = grantTypes.find((grant) => requirementsOf(grant).responseTypes.length > 0);
  if (answered !== undefined && redirectUris.length === 0) {
    throw new ClientMetadataError(
      'redirect_uris',
      `expected at least one for the grant ${answered}`,
      'invalid_redirect_uri',
    );
  }
  if (policy.registrant === 'operator') {
    const isExposed = [...redirectUris, ...logoutUris].some(isExposedRedirectUri);
    if (!isExposed || document.insecure_redirect_uris === true) return;
    throw new ClientMetadataError(
      redirectUris.some(isExposedRedirectUri) ? 'redirect_uris' : 'post_logout_redirect_uris',
      'expected https, or http on loopback; insecure_redirect_uris allows plain http for development',
    );
  }
  const isNative = document.application_type === 'native';
  const isAllowed = (uri: string) =>
    isWebUri(uri, policy.allowInsecureUris) || (isNative && (isLoopbackUri(uri) || isPrivateUseUri(uri)));
  const problem = isNative
    ? 'expected https, http with a loopback host, or a private-use scheme with a period, for a native application'
    : 'expected https, and not localhost, for a web application; native applications send application_type native';
  if (!redirectUris.every(isAllowed))
    throw new ClientMetadataError('redirect_uris', problem, 'invalid_redirect_uri');
  if (!logoutUris.every(isAllowed)) throw new ClientMetadataError('post_logout_redirect_uris', problem);
}

/**
 * What a client that registers itself is when it does not say so: `native` when it listens on a loopback address, as MCP
 * clients do (RFC 8252 §7.3), otherwise `web` (OpenID Connect Dynamic Client Registration §2).
 */
function usualApplicationType(
  { redirect_uris: redirectUris = [] }: ClientDocument,
  { allowInsecureUris }: Pick<RegistrationPolicy, 'allowInsecureUris'>,
): 'web' | 'native' {
  return redirectUris.some((uri) => isLoopbackUri(uri) && !isWebUri(uri, allowInsecureUris))
    ? 'native'
    : 'web';
}

/** A native application may claim an https URI as well (RFC 8252 §7.2). */
function isWebUri(uri: string, allowInsecureUris: boolean): boolean {
  const { protocol, hostname } = new URL(uri);
  if (allowInsecureUris) return protocol === 'https:' || protocol === 'http:';
  return protocol === 'https:' && !isOwnMachine(hostname);
}

function isLoopbackUri(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol === 'http:' && LOOPBACK_NAMES.has(hostname);
}

/** A private-use scheme is a reversed domain name, so that no two owners share one (RFC 8252 §7.1). */
function isPrivateUseUri(uri: string): boolean {
  const { protocol } = new URL(uri);
  return protocol !== 'https:' && protocol !== 'http:' && protocol.includes('.');
}

/**
 * The document behind `sector_identifier_uri` vouches that every redirect URI is of the sector (OpenID Connect Dynamic
 * Client Registration §5).
 * @throws {ClientMetadataError} it does not, or cannot be fetched
 */
export async function requireSectorMembership(
  { sector_identifier_uri: uri, redirect_uris: redirectUris = [] }: ClientDocument,
  fetchDocument: FetchDocument,
): Promise<void> {
  if (uri === undefined) return;
  const members = await fetchMembers(uri, fetchDocument);
  if (members === undefined || !redirectUris.every((redirectUri) => members.includes(redirectUri)))
    throw unfitSector('expected a JSON array there that has every redirect URI');
}

/**
 * A client that registered itself stays the one that it is to people: with pairwise subjects, of its sector. As another
 * one's it would be told, by what rests upon what it was before, what that one's clients alone are told.
 * @throws {ClientMetadataError}
 */
export function requireSameSector(document: ClientDocument, registered: ClientRecord | undefined): void {
  if (registered === undefined || !hasPairwiseSubjects(registered)) return;
  if (document.subject_type !== 'pairwise')
    throw new ClientMetadataError('subject_type', 'a client with pairwise subjects keeps them');
  const { redirect_uris: redirectUris = [] } = document;
  if (sectorOf({ redirectUris, metadata: document }) !== sectorOf(registered))
    throw new ClientMetadataError('redirect_uris', 'a client with pairwise subjects stays with its host');
}

/**
 * What the host itself says, since the sector is named after it: a redirect may be open to whoever made the address.
 * @returns `undefined` where the answer is no JSON array
 */
async function fetchMembers(
  uri: string,
  fetchDocument: FetchDocument,
): Promise<readonly unknown[] | undefined> {
  try {
    const headers = { accept: 'application/json' };
    const body = await fetchBody(fetchDocument, uri, { headers, maxRedirects: 0 });
    const members = parseJson(body);
    return Array.isArray(members) ? members : undefined;
  } catch (error) {
    if (error instanceof DocumentError) throw unfitSector('the document could not be fetched', error);
    throw error;
  }
}

function unfitSector(problem: string, cause?: DocumentError): ClientMetadataError {
  return new ClientMetadataError('sector_identifier_uri', problem, 'invalid_client_metadata', cause);
}

/**
 * What a client is where it says nothing: RFC 7591 §2, OpenID Connect Dynamic Client Registration §2. An operator's
 * client is what the operator wrote, and follows the server's own options otherwise.
 */
export function withDefaults(document: ClientDocument, policy: RegistrationPolicy): ClientDocument {
  const complete = { ...document, ...encryptionDefaults(document) };
  if (policy.registrant === 'operator') return complete;
  const { grant_types: grantTypes = ['authorization_code'] } = document;
  const { scopes = [], signingAlgorithms } = policy;
  return {
    token_endpoint_auth_method: 'client_secret_basic',
    response_types: responseTypesOf(grantTypes),
    application_type: usualApplicationType(document, policy),
    subject_type: 'public',
    ...(signingAlgorithms.includes('RS256') && { id_token_signed_response_alg: 'RS256' }),
    ...(scopes.length > 0 && { scope: formatScope(scopes) }),
    ...assertionDefaults(document, policy),
    ...pkceDefaults(document, policy),
    ...complete,
    grant_types: grantTypes,
  };
}

/** Written down only where it differs from what is so anyway. */
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
  const byDefault = DEFAULT_CONTENT_ENCRYPTION;
  return {
    ...(document.userinfo_encrypted_response_alg && {
      userinfo_encrypted_response_enc: document.userinfo_encrypted_response_enc ?? byDefault,
    }),
    ...(document.introspection_encrypted_response_alg && {
      introspection_encrypted_response_enc: document.introspection_encrypted_response_enc ?? byDefault,
    }),
  };
}

/** Letters of these scripts go together in one name with Latin ones (UTS 39 §5.2, Highly Restrictive). */
const WITH_LATIN = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Bopomofo'],
  ['Han', 'Hangul'],
  // Scripts in general use that share no shapes with Latin (UTS 39 §5.2, Moderately Restrictive; UAX 31 table 5)
  ...['Arabic', 'Armenian', 'Bengali', 'Devanagari', 'Ethiopic', 'Georgian', 'Gujarati', 'Gurmukhi'],
  ...['Hebrew', 'Kannada', 'Khmer', 'Lao', 'Malayalam', 'Myanmar', 'Oriya', 'Sinhala', 'Tamil', 'Telugu'],
  ...['Thaana', 'Thai', 'Tibetan'],
];

/** Letters of these go with no other script: many look like Latin ones, or the script is rare. */
const ALONE = [
  ...['Cyrillic', 'Greek', 'Adlam', 'Balinese', 'Canadian_Aboriginal', 'Chakma', 'Cherokee', 'Javanese'],
  ...['Lisu', 'Mongolian', 'Nko', 'Osage', 'Syriac', 'Tai_Le', 'Tifinagh', 'Vai', 'Yi'],
];

const SCRIPT_SETS = [
  ...WITH_LATIN.map((scripts) => ['Latin', scripts].flat()),
  ...ALONE.map((one) => [one]),
].map((scripts) => {
  const classes = ['Common', 'Inherited', ...scripts].map((script) => `\\p{Script_Extensions=${script}}`);
  return new RegExp(`^[${classes.join('')}]*$`, 'u');
});

/** A space in any script, and characters that show nothing although they are letters or symbols. */
const BLANK = /[\s\p{Z}\u2800]|\p{Default_Ignorable_Code_Point}/gu;

/** Characters that show nothing; a variation selector behind an emoji only chooses its picture. */
const INVISIBLE = /(?!(?<=\p{Emoji})[\uFE0E\uFE0F])\p{Default_Ignorable_Code_Point}|\u2800/u;

/** More marks than any language puts on one letter (UTS 39 §5.4). */
const HEAPED_MARKS = /\p{M}{5}/u;

/**
 * Why a name could be taken for another, or for none, when a person reads it (Unicode Technical Standard 39).
 * @returns ends the sentence "expected …"; `undefined` for a name that reads as it is written
 */
export function unreadableName(name: string): string | undefined {
  if (/^\p{M}*$/u.test(name.replaceAll(BLANK, ''))) return 'a name that can be seen';
  if (INVISIBLE.test(name) || /^\p{M}/u.test(name)) return 'a name without invisible characters';
  if (HEAPED_MARKS.test(name)) return 'a name with at most four marks on a letter';
  if (!SCRIPT_SETS.some((set) => set.test(name.normalize('NFC')))) return 'a name in letters of one script';
  return undefined;
}
