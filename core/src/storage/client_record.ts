import {
  type ClientMetadata,
  LANGUAGE_TAG,
  LOCALIZED_MEMBERS,
  type MetadataName,
} from '../protocol/client_metadata.ts';
import { isJsonObject } from '../protocol/json.ts';
import { requireKnownNames } from '../protocol/known_names.ts';
import { ConfigurationError } from '../protocol/oauth_error.ts';
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
} from '../protocol/option_kinds.ts';
import type { ClientRecord, GrantType } from '../protocol/records.ts';
import { isExposedRedirectUri, isRegistrableRedirectUri } from '../protocol/redirect_uri.ts';
import { isResourceUri } from '../protocol/resource_uri.ts';
import { isScopeToken } from '../protocol/scope.ts';
import { SIGNING_ALGORITHMS } from '../protocol/signing_algorithm.ts';
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

/** What stores accept of a client. They count generations and revisions themselves. */
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

/** Every member of a client's metadata. */
const METADATA: Readonly<Record<MetadataName, true>> = {
  token_endpoint_auth_method: true,
  client_uri: true,
  logo_uri: true,
  policy_uri: true,
  tos_uri: true,
  contacts: true,
  jwks_uri: true,
  jwks: true,
  software_id: true,
  software_version: true,
  application_type: true,
  subject_type: true,
  sector_identifier_uri: true,
  token_endpoint_auth_signing_alg: true,
  userinfo_signed_response_alg: true,
  userinfo_encrypted_response_alg: true,
  userinfo_encrypted_response_enc: true,
  request_object_signing_alg: true,
  request_uris: true,
  default_max_age: true,
  require_auth_time: true,
  default_acr_values: true,
  initiate_login_uri: true,
  require_pushed_authorization_requests: true,
  require_signed_request_object: true,
  introspection_signed_response_alg: true,
  introspection_encrypted_response_alg: true,
  introspection_encrypted_response_enc: true,
  post_logout_redirect_uris: true,
  backchannel_logout_uri: true,
  backchannel_logout_session_required: true,
  insecure_redirect_uris: true,
  consent_required: true,
  api_scopes: true,
  apis: true,
  set_by_operator: true,
  assertion_audience: true,
  ignore_unknown_token_type_hint: true,
  insecure_allow_missing_pkce: true,
  id_token_user_claims: true,
  brand_color: true,
};

/**
 * A misspelt `require_signed_request_object` would have no effect. Registration checks the values as well.
 * @throws {ConfigurationError} names the member, such as `client.metadata.jwks`
 */
function requireMetadataNames(metadata: ClientMetadata): void {
  const localized = Object.keys(metadata).filter((name) => name.includes('#'));
  for (const name of localized) {
    const [base, tag = ''] = name.split(/#(.*)/s, 2);
    if (!LOCALIZED_MEMBERS.some((one) => one === base) || !LANGUAGE_TAG.test(tag))
      throw new ConfigurationError(
        `client.metadata.${name}`,
        `a language tag, on one of ${LOCALIZED_MEMBERS.join(', ')}`,
      );
  }
  const plain = Object.entries(metadata).filter(([name]) => !localized.includes(name));
  requireKnownNames(Object.fromEntries(plain), METADATA, 'client.metadata', 'member');
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
  if (client.metadata !== undefined) requireMetadataNames(client.metadata);
  if (client.metadata?.insecure_redirect_uris !== true && client.redirectUris.some(isExposedRedirectUri))
    throw new ConfigurationError(
      'client.redirectUris',
      'https, or http on loopback; metadata.insecure_redirect_uris allows http elsewhere, for development only',
    );
}
