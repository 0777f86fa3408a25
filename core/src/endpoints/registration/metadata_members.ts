import {
  ASSERTION_AUDIENCES,
  AUTHENTICATION_METHODS,
  CONTENT_ENCRYPTIONS,
  ENCRYPTION_ALGORITHMS,
  type LocalizedMember,
} from '../../protocol/client_metadata.ts';
import {
  ACCEPTED_ALGORITHMS,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
  signingAlgorithmOf,
} from '../../protocol/signing_algorithm.ts';
import { GRANT_TYPES } from '../grants/grants.ts';
import type { ClientDocument, MemberName } from './client_document.ts';
import {
  apiScope,
  color,
  keySet,
  listOf,
  type MetadataKind,
  oneOf,
  resourceUri,
  returnUri,
  scope,
  seconds,
  text,
  trueOrFalse,
  webUri,
  webUriWithoutFragment,
} from './metadata_kinds.ts';

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
export const UNSUPPORTED_MEMBERS: ReadonlySet<string> = new Set([
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
