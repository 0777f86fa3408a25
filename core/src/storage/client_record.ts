import { ConfigurationError } from '../http/errors.ts';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import {
  anyText,
  anyValue,
  hostValue,
  type Kind,
  type KindsOf,
  listOf,
  oneOf,
  requireKinds,
  text,
  textList,
  trueOrFalse,
  wholeNumber,
} from '../option_kinds.ts';
import {
  ASSERTION_AUDIENCES,
  AUTHENTICATION_METHODS,
  type ClientMetadata,
  CONTENT_ENCRYPTIONS,
  ENCRYPTION_ALGORITHMS,
  LANGUAGE_TAG,
  LOCALIZED_MEMBERS,
  type MetadataName,
  SIGNING_ALGORITHMS,
} from '../protocol/client_metadata.ts';
import type { ClientRecord, GrantType } from '../protocol/records.ts';
import { isResourceUri } from '../protocol/records.ts';
import { isExposedRedirectUri, isRegistrableRedirectUri } from '../protocol/redirect_uri.ts';
import type { NewClient } from './contract.ts';

const GRANTS: Readonly<Record<GrantType, true>> = {
  authorization_code: true,
  client_credentials: true,
  refresh_token: true,
};

const notEmpty: Kind<string> = text('TEXT', 'a text that is not empty', (value) => value !== '');
const algorithm = oneOf(...SIGNING_ALGORITHMS);

function isSecretList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one) => isJsonObject(one) && typeof one.hash === 'string' && one.hash !== '')
  );
}

/** The members that stores accept of a client. They count generations and revisions themselves. */
const MEMBERS: KindsOf<ClientRecord> = {
  id: notEmpty,
  name: anyText,
  secrets: hostValue('ClientSecretRecord[]', 'a list of secrets, each with its hash', isSecretList),
  grantTypes: listOf<GrantType>('GrantType', Object.keys(GRANTS) as GrantType[]),
  scopes: textList('SCOPES', 'a list of scopes', isScopeToken),
  redirectUris: textList(
    'URIS',
    'a list of absolute URIs without fragment and wildcard',
    isRegistrableRedirectUri,
  ),
  resource: text('URI', 'an absolute URI without fragment', isResourceUri),
  rotateRefreshTokens: trueOrFalse,
  accessTokenFormat: oneOf('jwt', 'opaque'),
  accessTokenAlgorithm: algorithm,
  idTokenAlgorithm: algorithm,
  metadata: hostValue('ClientMetadata', 'an object', isJsonObject),
  registrationTokenDigest: notEmpty,
  registeredAt: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  generation: anyValue,
  revision: anyValue,
  registrationRevision: anyValue,
  disabledAtMs: anyValue,
};

const texts = textList('TEXTS', 'a list of texts', () => true);
const keyManagement = oneOf(...ENCRYPTION_ALGORITHMS);
const contentEncryption = oneOf(...CONTENT_ENCRYPTIONS);

/** All members of client metadata. */
const METADATA: Readonly<Record<MetadataName, Kind<unknown>>> = {
  token_endpoint_auth_method: oneOf(...AUTHENTICATION_METHODS),
  client_uri: anyText,
  logo_uri: anyText,
  policy_uri: anyText,
  tos_uri: anyText,
  contacts: texts,
  jwks_uri: anyText,
  jwks: hostValue('JWKS', 'a key set', (value) => isJsonObject(value) && Array.isArray(value.keys)),
  software_id: anyText,
  software_version: anyText,
  application_type: oneOf('web', 'native'),
  subject_type: oneOf('public', 'pairwise'),
  sector_identifier_uri: anyText,
  token_endpoint_auth_signing_alg: algorithm,
  userinfo_signed_response_alg: algorithm,
  userinfo_encrypted_response_alg: keyManagement,
  userinfo_encrypted_response_enc: contentEncryption,
  request_object_signing_alg: algorithm,
  request_uris: texts,
  default_max_age: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  require_auth_time: trueOrFalse,
  default_acr_values: texts,
  initiate_login_uri: anyText,
  require_pushed_authorization_requests: trueOrFalse,
  require_signed_request_object: trueOrFalse,
  introspection_signed_response_alg: algorithm,
  introspection_encrypted_response_alg: keyManagement,
  introspection_encrypted_response_enc: contentEncryption,
  post_logout_redirect_uris: texts,
  backchannel_logout_uri: anyText,
  backchannel_logout_session_required: trueOrFalse,
  insecure_redirect_uris: trueOrFalse,
  consent_required: trueOrFalse,
  api_scopes: textList('SCOPES', 'a list of scopes', isScopeToken),
  apis: textList('URIS', 'a list of absolute URIs without fragment', isResourceUri),
  set_by_operator: texts,
  assertion_audience: oneOf(...ASSERTION_AUDIENCES),
  ignore_unknown_token_type_hint: trueOrFalse,
  insecure_allow_missing_pkce: trueOrFalse,
  id_token_user_claims: trueOrFalse,
  brand_color: anyText,
};

/**
 * A misspelt `require_signed_request_object` would have no effect, and `apis` as a text would allow every URI within it.
 * Registration is stricter about values, such as URLs.
 * @throws {ConfigurationError} names the member, such as `client.metadata.jwks`
 */
function requireMetadata(metadata: ClientMetadata): void {
  const localized = Object.keys(metadata).filter((name) => name.includes('#'));
  for (const name of localized) {
    const [base, tag = ''] = name.split(/#(.*)/s, 2);
    if (!LOCALIZED_MEMBERS.some((one) => one === base) || !LANGUAGE_TAG.test(tag))
      throw new ConfigurationError(
        `client.metadata.${name}`,
        `a language tag, on one of ${LOCALIZED_MEMBERS.join(', ')}`,
      );
  }
  const kinds = { ...METADATA, ...Object.fromEntries(localized.map((name) => [name, anyText])) };
  requireKinds(metadata, kinds, 'client.metadata', 'member');
}

/**
 * Checks a client before a store keeps it: a misspelt `secrets` would make a public client.
 * @throws {ConfigurationError} names the member, such as `client.redirectUris`
 */
export function requireClientRecord(client: NewClient): void {
  requireKinds(client, MEMBERS, 'client', 'member');
  for (const name of ['id', 'grantTypes', 'scopes', 'redirectUris'] as const) {
    if (client[name] === undefined) throw new ConfigurationError(`client.${name}`, MEMBERS[name].expected);
  }
  if (client.metadata !== undefined) requireMetadata(client.metadata);
  if (client.metadata?.insecure_redirect_uris !== true && client.redirectUris.some(isExposedRedirectUri))
    throw new ConfigurationError(
      'client.redirectUris',
      'https, or http on loopback; metadata.insecure_redirect_uris allows http elsewhere, for development only',
    );
}
