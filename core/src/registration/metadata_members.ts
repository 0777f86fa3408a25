import type { JWK } from 'jose';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject, type JsonObject } from '../http/http.ts';
import {
  ACCEPTED_ALGORITHMS,
  ASSERTION_AUDIENCES,
  AUTHENTICATION_METHODS,
  CONTENT_ENCRYPTIONS,
  ENCRYPTION_ALGORITHMS,
  LANGUAGE_TAG,
  type LocalizedMember,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
  signingAlgorithmOf,
} from '../protocol/client_metadata.ts';
import { GRANT_TYPES, isPersonalScope, isResourceUri, parseScope } from '../protocol/records.ts';
import { isRegistrableRedirectUri } from '../protocol/redirect_uri.ts';
import { MOST_KEYS } from '../tokens/client_keys.ts';
import { readPublicKeys } from '../tokens/public_keys.ts';
import { type ClientDocument, ClientMetadataError, type MemberName } from './client_document.ts';

/** A kind of value that a client's metadata can have. */
export interface MetadataKind<T> {
  /** Ends the sentence "expected …". */
  readonly expected: string;
  /** Stands for the value in the help of a command line. */
  readonly placeholder: string;
  /** How it is written as JSON. */
  readonly form: 'text' | 'number' | 'boolean' | 'list' | 'object';
  /** The value where it fits, otherwise `undefined`. */
  read(value: unknown): T | undefined;
}

/** Characters of a URI; browsers and proxies take no longer ones for granted. */
const LONGEST_URI = 2000;

/** Values of a list, such as redirect URIs. */
const LONGEST_LIST = 50;

/** Seconds: a year. */
const LONGEST_AGE = 365 * 24 * 60 * 60;

export function text(most: number): MetadataKind<string> {
  return oneText('TEXT', `visible characters, at most ${most}`, (value) =>
    new RegExp(`^[^\\p{C}\\p{Z}](?:[^\\p{C}]{0,${most - 1}})$`, 'u').test(value),
  );
}

export function oneOf<T extends string>(...allowed: readonly T[]): MetadataKind<T> {
  return {
    expected: `one of ${allowed.join(', ')}`,
    placeholder: allowed.join('|'),
    form: 'text',
    read: (value) => allowed.find((one) => one === value),
  };
}

export const trueOrFalse: MetadataKind<boolean> = {
  expected: 'true or false',
  placeholder: 'true|false',
  form: 'boolean',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};

export const seconds: MetadataKind<number> = {
  expected: `whole seconds from 0 to ${LONGEST_AGE}`,
  placeholder: 'SECONDS',
  form: 'number',
  read: (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LONGEST_AGE
      ? value
      : undefined,
};

/** Something that is shown, linked or asked for: http as well, which rules may narrow. */
const webUri = oneText('URL', `a web URL without credentials, at most ${LONGEST_URI} characters`, isWebUri);

/** As `webUri`, for what no fragment may follow. */
const webUriWithoutFragment = oneText(
  'URL',
  `a web URL without credentials and fragment, at most ${LONGEST_URI} characters`,
  (uri) => isWebUri(uri) && !uri.includes('#'),
);

/** Where a browser is sent back to, also by a private-use scheme. */
const returnUri = oneText(
  'URI',
  `an absolute URI without fragment and wildcard, at most ${LONGEST_URI} characters`,
  (uri) => uri.length <= LONGEST_URI && isRegistrableRedirectUri(uri) && !hasCredentials(uri),
);

/** URI of an API (RFC 8707 §2). */
const resourceUri = oneText('URI', 'an absolute URI without fragment (RFC 8707 section 2)', (uri) => {
  return uri.length <= LONGEST_URI && isResourceUri(uri);
});

export const color = oneText('#RRGGBB', 'a colour as #rrggbb', (value) => /^#[0-9a-f]{6}$/i.test(value));

export const scope = oneText('SCOPE', 'scopes parted by spaces (RFC 6749 section 3.3)', (value) => {
  if (value.length > LONGEST_URI) return false;
  try {
    return parseScope(value).length > 0;
  } catch {
    return false; // it asks nobody: the text is all that can be wrong
  }
});

/** A scope that an API can declare: one that this server gives no meaning of its own. */
const apiScope = oneText(
  'SCOPE',
  'one scope (RFC 6749 section 3.3) that OpenID Connect does not define',
  (value) => value.length <= LONGEST_URI && isScopeToken(value) && !isPersonalScope(value),
);

export function listOf<T>(kind: MetadataKind<T>, most = LONGEST_LIST): MetadataKind<readonly T[]> {
  return {
    expected: `${kind.expected}, for each of at most ${most} values`,
    placeholder: kind.placeholder,
    form: 'list',
    read(value) {
      if (!Array.isArray(value) || value.length > most) return undefined;
      const values = value.map(kind.read).filter((one) => one !== undefined);
      return values.length === value.length ? [...new Set(values)] : undefined;
    },
  };
}

/** Public keys (RFC 7517 §5). Keys of kinds that this server cannot use are left out; secret ones are refused. */
const keySet: MetadataKind<{ readonly keys: readonly JWK[] }> = {
  expected: `a JWK set of at most ${MOST_KEYS} public keys, one of RSA, EC or OKP among them`,
  placeholder: 'JWKS',
  form: 'object',
  read(value) {
    const keys = readPublicKeys(value, MOST_KEYS);
    if (keys === undefined || keys.length === 0 || !isJsonObject(value)) return undefined;
    const given: readonly unknown[] = Array.isArray(value.keys) ? value.keys : [];
    const isSecret = (jwk: unknown) => isJsonObject(jwk) && ('d' in jwk || 'k' in jwk);
    return given.length > MOST_KEYS || given.some(isSecret) ? undefined : { keys };
  },
};

function oneText(
  placeholder: string,
  expected: string,
  fits: (text: string) => boolean,
): MetadataKind<string> {
  return {
    expected,
    placeholder,
    form: 'text',
    read: (value) => (typeof value === 'string' && fits(value) ? value : undefined),
  };
}

function isWebUri(uri: string): boolean {
  return (
    uri.length <= LONGEST_URI &&
    /^https?:\/\/[\x21-\x7E]+$/i.test(uri) &&
    URL.canParse(uri) &&
    !hasCredentials(uri)
  );
}

function hasCredentials(uri: string): boolean {
  const url = URL.parse(uri);
  return url !== null && (url.username !== '' || url.password !== '');
}

/** One member of a client's metadata. */
export interface MetadataMember<T> {
  readonly kind: MetadataKind<T>;
  /** One line, for the help of a command line. */
  readonly about: string;
  /** Whether a client that registers itself may have a say in it; otherwise it is the operator's alone. */
  readonly setBy: 'client' | 'operator';
  /** Whether it may be given in several languages, as `member#tag` (RFC 7591 §2.2). */
  readonly isLocalizable: boolean;
}

const signing = oneOf(...SIGNING_ALGORITHMS);
/** Of what the client signs, under either name of an algorithm. */
const clientSigning: MetadataKind<SigningAlgorithm> = {
  ...oneOf<string>(...ACCEPTED_ALGORITHMS),
  read: signingAlgorithmOf,
};
const keyManagement = oneOf(...ENCRYPTION_ALGORITHMS);
const contentEncryption = oneOf(...CONTENT_ENCRYPTIONS);

/** APIs of a client, or scopes of an API. */
const MOST_NAMES = 200;

/** Every member that this server knows, once: registrations, updates and the operator's flags come from here. */
export const METADATA_MEMBERS: {
  readonly [Name in MemberName]-?: MetadataMember<NonNullable<ClientDocument[Name]>> & {
    readonly isLocalizable: Name extends LocalizedMember ? true : false;
  };
} = {
  // RFC 7591 §2
  redirect_uris: member(listOf(returnUri), 'where people are sent back to'),
  token_endpoint_auth_method: member(oneOf(...AUTHENTICATION_METHODS), 'how the client proves who it is'),
  grant_types: member(listOf(oneOf(...GRANT_TYPES)), 'the grants that it may use'),
  response_types: member(listOf(oneOf('code')), 'follows from the grants'),
  client_name: localizable(text(200), 'what people see'),
  client_uri: localizable(webUri, 'a page about the application'),
  logo_uri: localizable(webUri, 'a picture for the pages that are shown on its behalf'),
  scope: member(scope, 'the scopes that it may obtain'),
  contacts: member(listOf(text(200)), 'how to reach those who run it'),
  tos_uri: localizable(webUri, 'its terms of service'),
  policy_uri: localizable(webUri, 'its privacy policy'),
  jwks_uri: member(webUri, 'where its public keys are'),
  jwks: member(keySet, 'its public keys'),
  software_id: member(text(200), 'identifies the software across its installations'),
  software_version: member(text(200), 'version of the software'),

  // OpenID Connect Dynamic Client Registration §2
  application_type: member(oneOf('web', 'native'), 'web, or native on the device of a person'),
  sector_identifier_uri: member(webUri, 'lists the redirect URIs of all that share pairwise subjects'),
  subject_type: member(oneOf('public', 'pairwise'), 'whether other clients know a person by the same sub'),
  id_token_signed_response_alg: member(signing, 'what signs its ID tokens'),
  userinfo_signed_response_alg: member(signing, 'what signs UserInfo for it, which is plain JSON otherwise'),
  userinfo_encrypted_response_alg: member(keyManagement, 'how UserInfo is encrypted for it'),
  userinfo_encrypted_response_enc: member(contentEncryption, 'content encryption of UserInfo'),
  request_object_signing_alg: member(clientSigning, 'what its request objects must be signed with'),
  token_endpoint_auth_signing_alg: member(clientSigning, 'what its assertions must be signed with'),
  default_max_age: member(seconds, 'max_age of requests that have none'),
  require_auth_time: member(trueOrFalse, 'whether its ID tokens carry auth_time'),
  default_acr_values: member(listOf(text(200)), 'acr_values of requests that have none'),
  initiate_login_uri: member(webUri, 'where others can start a sign-in with it'),
  request_uris: member(listOf(webUri), 'where its request objects may be fetched'),

  // RFC 9126 §6, RFC 9101 §10.5, RFC 9701 §6
  require_pushed_authorization_requests: member(trueOrFalse, 'whether it must push its requests'),
  require_signed_request_object: member(trueOrFalse, 'whether its requests must be signed'),
  introspection_signed_response_alg: member(signing, 'what signs introspection for it'),
  introspection_encrypted_response_alg: member(keyManagement, 'how introspection is encrypted for it'),
  introspection_encrypted_response_enc: member(contentEncryption, 'content encryption of introspection'),

  // RP-Initiated Logout §3.1, Back-Channel Logout §2.2
  post_logout_redirect_uris: member(listOf(returnUri), 'where people are sent after logout'),
  backchannel_logout_uri: member(webUriWithoutFragment, 'receives a message for each session that ends'),
  backchannel_logout_session_required: member(
    trueOrFalse,
    'whether logout messages must name the session; they always do',
  ),

  // This server's own
  brand_color: member(color, 'colour of buttons on pages that are shown on its behalf'),
  assertion_audience: operators(
    oneOf(...ASSERTION_AUDIENCES),
    'what its assertions may name as their audience',
  ),
  insecure_allow_missing_pkce: operators(
    trueOrFalse,
    'whether it may leave out PKCE, which exposes it to code injection; for confidential clients that cannot do PKCE',
  ),
  id_token_user_claims: operators(
    trueOrFalse,
    'whether its ID tokens carry the user claims that the granted scopes permit, such as name and email',
  ),
  ignore_unknown_token_type_hint: operators(
    trueOrFalse,
    'whether a token_type_hint of its own is ignored instead of refused (RFC 7009 section 2.2)',
  ),
  insecure_redirect_uris: operators(
    trueOrFalse,
    'lets it use http redirect URIs off loopback, where codes can be read on the way: for development only',
  ),
  consent_required: operators(
    trueOrFalse,
    'whether people are asked for consent; default: true; prompt=consent always asks',
  ),
  resource: operators(resourceUri, 'the API that this client is'),
  api_scopes: operators(listOf(apiScope, MOST_NAMES), 'the scopes that this API declares'),
  apis: operators(listOf(resourceUri, MOST_NAMES), 'the APIs that it may ask for'),
  set_by_operator: operators(
    listOf(text(200), MOST_NAMES),
    'settings that a client which registered itself cannot change; client update adds what it sets',
  ),
  access_token_format: operators(oneOf('jwt', 'opaque'), 'format of its access tokens'),
  access_token_signed_response_alg: operators(signing, 'what signs its access tokens'),
  rotate_refresh_tokens: operators(trueOrFalse, 'whether its refresh tokens are replaced when used'),
};

/** Understood, but nothing that this server would do: to leave them out silently would promise it. */
const UNSUPPORTED_MEMBERS: ReadonlySet<string> = new Set([
  'id_token_encrypted_response_alg',
  'id_token_encrypted_response_enc',
  'request_object_encryption_alg',
  'request_object_encryption_enc',
]);

function member<T>(kind: MetadataKind<T>, about: string) {
  return { kind, about, setBy: 'client', isLocalizable: false } as const;
}

function localizable<T>(kind: MetadataKind<T>, about: string) {
  return { kind, about, setBy: 'client', isLocalizable: true } as const;
}

function operators<T>(kind: MetadataKind<T>, about: string) {
  return { kind, about, setBy: 'operator', isLocalizable: false } as const;
}

/** Who describes a client: itself, or the operator. */
export type Registrant = 'client' | 'operator';

/** Members in several languages, all together. */
const MOST_LOCALIZED = 50;

/** Characters of all that is stored of a client as JSON. */
const LONGEST_DOCUMENT = 32 * 1024;

/**
 * The members that this server knows of what a registrant wrote, each checked for itself. `null` and the empty text
 * are absence (RFC 7592 §2.2), others are ignored (RFC 7591 §2).
 * @throws {ClientMetadataError} one of them does not fit
 */
export function readDocument(written: JsonObject, registrant: Registrant): ClientDocument {
  const document: { [name: string]: unknown } = {};
  let localized = 0;
  for (const [name, value] of Object.entries(written)) {
    if (value === null || value === undefined || value === '') continue;
    if (name === 'software_statement') throw softwareStatement();
    if (UNSUPPORTED_MEMBERS.has(name)) throw new ClientMetadataError(name, 'is not supported by this server');
    const [base = '', tag] = split(name);
    const member = memberOf(base, registrant);
    if (member === undefined) continue;
    if (tag !== undefined) {
      if (!member.isLocalizable || !LANGUAGE_TAG.test(tag))
        throw new ClientMetadataError(base, 'expected a language tag, and only where people read it');
      if (++localized > MOST_LOCALIZED)
        throw new ClientMetadataError(base, `expected at most ${MOST_LOCALIZED} members with a language tag`);
    }
    const read = member.kind.read(value);
    if (read === undefined) throw unfit(base, member);
    document[name] = read;
  }
  if (JSON.stringify(document).length > LONGEST_DOCUMENT)
    throw new ClientMetadataError('metadata', `expected at most ${LONGEST_DOCUMENT} characters together`);
  return document as ClientDocument;
}

/** The member of that name, where the registrant has a say in it. */
function memberOf(name: string, registrant: Registrant): MetadataMember<unknown> | undefined {
  if (!isMemberName(name)) return undefined;
  const member = METADATA_MEMBERS[name];
  return registrant === 'operator' || member.setBy === 'client' ? member : undefined;
}

export function isMemberName(name: string): name is MemberName {
  return Object.hasOwn(METADATA_MEMBERS, name);
}

function split(name: string): readonly [base: string, tag?: string] {
  const end = name.indexOf('#');
  return end === -1 ? [name] : [name.slice(0, end), name.slice(end + 1)];
}

function unfit(name: string, { kind }: MetadataMember<unknown>): ClientMetadataError {
  const code = name === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata';
  return new ClientMetadataError(name, `expected ${kind.expected}`, code);
}

/** A statement would say who vouches for the client, and nobody whom this server knows does (RFC 7591 §2.3). */
function softwareStatement(): ClientMetadataError {
  const problem = 'no issuer of software statements is trusted by this server';
  return new ClientMetadataError('software_statement', problem, 'unapproved_software_statement');
}
