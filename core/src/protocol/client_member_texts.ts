// What the program and the documentation say about each client metadata member. The table in client_members.ts has the
// rest. A server does not load this file.

import type { MemberName } from './client_members.ts';
import {
  DEFAULT_CONTENT_ENCRYPTION,
  type EncryptedResponse,
  REGISTERED_GRANTS,
  REGISTERED_METHOD,
  USUAL_SECRET_METHODS,
} from './client_metadata.ts';

/** What the program's help and docs/client_metadata.md say about a member. */
export interface MemberText {
  /** Description in one line. */
  readonly about: string;
  /** Default when the record has no value, in words. */
  readonly defaultInWords?: string;
  /** Default when a client registers itself, in words. */
  readonly registeredInWords?: string;
  /** The program's flag, if not the member's name. Repeatable flags are always in the singular. */
  readonly flag?: string;
  /** Most clients have it, so the program's help shows it first. */
  readonly isUsual?: true;
}

const encryptedIf = (kind: EncryptedResponse) =>
  `${DEFAULT_CONTENT_ENCRYPTION}, if ${kind}_encrypted_response_alg is set`;

/** A text for each member. */
export const MEMBER_TEXTS: Readonly<Record<MemberName, MemberText>> = {
  redirect_uris: {
    about: 'URIs to which the server may send the browser with the authorization response',
    isUsual: true,
  },
  token_endpoint_auth_method: {
    about: 'how the client authenticates',
    defaultInWords: USUAL_SECRET_METHODS.join(' or '),
    registeredInWords: REGISTERED_METHOD,
    flag: 'auth-method',
    isUsual: true,
  },
  grant_types: {
    about: 'the grants that the client may use',
    registeredInWords: REGISTERED_GRANTS.join(' and '),
    flag: 'grant',
    isUsual: true,
  },
  response_types: { about: 'the response types, which the server derives from grant_types' },
  client_name: {
    about: 'name of the client, as users see it',
    flag: 'name',
    isUsual: true,
  },
  client_uri: { about: 'URL of a page about the application' },
  logo_uri: {
    about:
      'URL of the logo that the server shows when it asks the user about the client, for example on the consent page. Not shown if the client registered itself',
    isUsual: true,
  },
  scope: {
    about: 'the scopes that the client may get',
    registeredInWords: 'every scope that self-registered clients may get',
    isUsual: true,
  },
  strict_scopes: {
    about:
      'whether authorization requests with scopes that the client may not have are refused, instead of leaving them out',
    defaultInWords: "the server's option strictScopes",
  },
  contacts: { about: 'ways to reach the people who run the client, such as email addresses' },
  policy_uri: { about: "URL of the client's privacy policy" },
  tos_uri: { about: "URL of the client's terms of service" },
  jwks_uri: {
    about: "URL of the client's public keys",
    isUsual: true,
  },
  jwks: {
    about: "the client's public keys",
    flag: 'jwks-file',
    isUsual: true,
  },
  software_id: { about: 'identifier of the client software, the same for all installations' },
  software_version: { about: 'version of the client software' },
  application_type: {
    about: "kind of application. web: a web application; native: an application on the user's device",
    registeredInWords: 'native if a redirect URI is on a loopback address, otherwise web',
  },
  sector_identifier_uri: {
    about:
      'URL of a JSON list that contains all redirect URIs of the client. With the subject_type pairwise, clients whose URLs have the same host get the same sub for a user',
  },
  subject_type: {
    about:
      'which clients get the same sub for a user. public: all public clients; pairwise: only the clients of one sector. The sector of a client is the host of its sector_identifier_uri, otherwise the host of its https redirect URIs. A client with neither is a sector of its own',
    defaultInWords: 'public',
  },
  id_token_signed_response_alg: {
    about: "algorithm that signs the client's ID tokens",
    defaultInWords: "the server's option idTokenAlgorithm",
    registeredInWords: "RS256 if the server signs with it, otherwise the server's option idTokenAlgorithm",
  },
  id_token_encrypted_response_alg: {
    about: "key management algorithm (JWE alg) that encrypts the client's ID tokens and logout tokens",
    defaultInWords: 'none, so they are signed but not encrypted',
  },
  id_token_encrypted_response_enc: {
    about: "content encryption algorithm (JWE enc) of the client's ID tokens and logout tokens",
    defaultInWords: encryptedIf('id_token'),
  },
  userinfo_signed_response_alg: {
    about: 'algorithm that signs UserInfo responses for the client. With this member, they are JWTs',
    defaultInWords: 'none, so they are not signed',
  },
  userinfo_encrypted_response_alg: {
    about: 'key management algorithm (JWE alg) that encrypts UserInfo responses for the client',
    defaultInWords: 'none, so they are not encrypted',
  },
  userinfo_encrypted_response_enc: {
    about: 'content encryption algorithm (JWE enc) of UserInfo responses for the client',
    defaultInWords: encryptedIf('userinfo'),
  },
  request_object_signing_alg: {
    about: 'algorithm with which the client must sign request objects',
    defaultInWords: 'any that the server accepts',
  },
  token_endpoint_auth_signing_alg: {
    about: 'algorithm with which the client must sign the assertions that authenticate it',
    defaultInWords: 'any that the server accepts',
    flag: 'auth-signing-alg',
  },
  default_max_age: { about: 'default for the parameter max_age of authorization requests' },
  require_auth_time: {
    about:
      "whether the client's ID tokens must contain auth_time. ID tokens of grantd as a program always do. An application that embeds the library must supply the time if the value is true",
    defaultInWords: 'false',
  },
  default_acr_values: { about: 'default for the parameter acr_values of authorization requests' },
  initiate_login_uri: { about: 'URL of the client at which other sites can start a sign-in' },
  request_uris: { about: "URLs from which the server may fetch the client's request objects" },
  require_pushed_authorization_requests: {
    about: 'whether the client must push authorization requests',
    defaultInWords: 'false',
  },
  require_signed_request_object: {
    about: 'whether the client must send signed request objects',
    defaultInWords: 'false',
  },
  dpop_bound_access_tokens: {
    about:
      'whether the client must send DPoP proofs, so that all its access tokens are bound to a key (RFC 9449 section 5.2)',
    defaultInWords: 'false',
  },
  tls_client_auth_subject_dn: {
    about:
      'if the client authenticates with tls_client_auth: the subject that its certificate must have, such as CN=client,O=Example,C=DE (RFC 8705 section 2.1.2)',
  },
  tls_client_auth_san_dns: {
    about: 'if the client authenticates with tls_client_auth: the DNS name that its certificate must contain',
  },
  tls_client_auth_san_uri: {
    about: 'if the client authenticates with tls_client_auth: the URI that its certificate must contain',
  },
  tls_client_auth_san_ip: {
    about:
      'if the client authenticates with tls_client_auth: the IP address that its certificate must contain',
  },
  tls_client_auth_san_email: {
    about:
      'if the client authenticates with tls_client_auth: the email address that its certificate must contain',
  },
  tls_client_certificate_bound_access_tokens: {
    about:
      'whether the client must present its TLS certificate, so that all its access tokens are bound to it (RFC 8705 section 3.4)',
    defaultInWords: 'false',
  },
  response_modes: {
    about: 'the response modes that the client may use (FAPI 2.0 Message Signing section 5.3.3)',
    defaultInWords: 'all',
    flag: 'response-mode',
  },
  authorization_signed_response_alg: {
    about:
      'algorithm that signs authorization responses for the client, in the response modes that end with jwt',
    defaultInWords: "RS256; with a FAPI 2.0 profile, the algorithm of the client's ID tokens",
  },
  authorization_encrypted_response_alg: {
    about:
      'key management algorithm (JWE alg) that encrypts authorization responses for the client, in the response modes that end with jwt',
    defaultInWords: 'none, so they are signed but not encrypted',
  },
  authorization_encrypted_response_enc: {
    about: 'content encryption algorithm (JWE enc) of authorization responses for the client',
    defaultInWords: encryptedIf('authorization'),
  },
  authorization_details_types: {
    about: 'types of authorization details that the client may request (RFC 9396 section 10)',
  },
  introspection_signed_response_alg: {
    about:
      "algorithm that signs introspection responses for the client, if they are JWTs. With this member, they always are. Without it, they are JWTs if the request's Accept header asks for one, or if introspection_encrypted_response_alg is set",
    defaultInWords: "RS256; with a FAPI 2.0 profile, the algorithm of the client's ID tokens",
  },
  introspection_encrypted_response_alg: {
    about:
      'key management algorithm (JWE alg) that encrypts introspection responses for the client. With this member, they are always JWTs',
    defaultInWords: 'none, so they are not encrypted',
  },
  introspection_encrypted_response_enc: {
    about: 'content encryption algorithm (JWE enc) of introspection responses for the client',
    defaultInWords: encryptedIf('introspection'),
  },
  post_logout_redirect_uris: {
    about: 'URIs to which the browser may return after logout',
    isUsual: true,
  },
  backchannel_logout_uri: {
    about:
      'URL of the client to which the server sends a logout token when a session ends in which the user signed in to the client',
    isUsual: true,
  },
  backchannel_logout_session_required: {
    about:
      "whether logout tokens for the client must contain the session ID (sid). grantd's logout tokens always contain it, so the value changes nothing",
  },
  brand_color: {
    about:
      'colour of the buttons on the pages for consent, account choice, sign-out and denied access, when they concern the client. Not used if the client registered itself',
  },
  kind: {
    about: 'what the client is, if it is not an application or API: an agent, which users then see as one',
  },
  profile: {
    about: 'the FAPI 2.0 profile that the client must follow (docs/fapi.md)',
    defaultInWords: 'the profile of the server (its option profile), if it has one',
  },
  assertion_audience: {
    about:
      'audience (aud) that the server accepts in the assertions with which the client authenticates. issuer: only the issuer; endpoint: also the URL of the endpoint that receives the assertion',
    defaultInWords: 'issuer',
  },
  assertion_lifetime: {
    about: 'longest lifetime in seconds of assertions that authenticate the client',
    defaultInWords: "the server's option clientAssertionLifetime",
  },
  insecure_allow_missing_pkce: {
    about:
      'whether the client may omit PKCE. Without PKCE, an attacker can inject a stolen authorization code into the client, so set it only for confidential clients that do not support PKCE',
    defaultInWords: 'false',
  },
  id_token_user_claims: {
    about:
      "whether the client's ID tokens contain the user claims that the granted scopes permit, such as name and email",
    defaultInWords: 'false',
  },
  ignore_unknown_token_type_hint: {
    about:
      'whether the server ignores an unknown token_type_hint of the client, instead of rejecting the request (RFC 7009 section 2.2)',
    defaultInWords: 'false',
  },
  insecure_redirect_uris: {
    about:
      'whether the client may use http redirect URIs that are not on loopback. Authorization codes are then readable on the network, so set it only for development',
    defaultInWords: 'false',
  },
  consent_required: {
    about:
      'whether a user must consent before the client gets access. If a request has prompt=consent, the user must consent even if the value is false',
    defaultInWords: 'true',
    flag: 'consent',
  },
  allowed_groups: {
    about:
      'groups whose members may use the client. In an application that embeds the library, the list has no effect: the option mayUseClient decides',
    defaultInWords: 'everyone may use the client',
    flag: 'allow-group',
    isUsual: true,
  },
  sign_in_policy: {
    about:
      "what a sign-in to the client needs, if that is stricter than the server's option signInPolicy: a second factor if the user has added one, a second factor from everyone, or a passkey. grantd as a program enforces it. An application that embeds the library must enforce it itself",
    defaultInWords: "the server's option signInPolicy",
  },
  resource: {
    about: 'if the client is an API: its URI, which is the audience (aud) of access tokens for it',
    isUsual: true,
  },
  api_scopes: {
    about:
      'if the client is an API: the scopes that belong to it. Only access tokens for this API can contain them',
    isUsual: true,
  },
  apis: {
    about: 'URIs of the APIs for which the client may request tokens',
    isUsual: true,
  },
  follow_all: {
    about:
      'whether the client may follow what ends (docs/follow.md) for every audience, such as the issuer, instead of only for its resource. It may then introspect every token, also with the introspectionPolicy audience. Has no effect if the client registered itself',
    defaultInWords: 'false',
  },
  exchange_tokens_of: {
    about:
      'if the client may exchange tokens: identifiers of other clients whose access tokens it may exchange, although they are not for its API',
  },
  exchange_scopes: {
    about:
      'scopes, of those that the client may have, that it obtains by an exchange although the exchanged token lacks them. Name scopes of the next API here: a token for one API does not have those of another',
  },
  exchange_impersonates: {
    about:
      'whether tokens that the client obtains by an exchange do not name it as the actor (act), so that APIs cannot tell it from the client that had the token before',
    defaultInWords: 'false',
  },
  exchange_without_proof: {
    about:
      'whether the client may exchange tokens that are bound to a key or certificate of their client, without its proof',
    defaultInWords: 'false',
  },
  exchange_user_actors: {
    about:
      'whether tokens that users gave to the client can name these users as the actor of an exchange (actor_token), instead of only the client itself',
    defaultInWords: 'false',
  },
  exchange_consent_required: {
    about:
      'whether the client exchanges tokens of a user only after this user has consented to the client, with the scopes and the API of the new token',
    defaultInWords: 'false',
  },
  exchange_step_up_scopes: {
    about:
      'scopes that the client obtains by an exchange only if the sign-in of the user meets its default_acr_values and default_max_age. Otherwise the response says what is needed',
  },
  identity_assertions: {
    about:
      'if the client may exchange tokens: the other authorization servers for which it obtains identity assertions about its users (docs/token_exchange.md), by issuer, with the client there and what it may have',
  },
  set_by_operator: {
    about:
      'if the client registered itself: the members of its metadata that it cannot change. When an operator sets or unsets a member, the server adds it to this list',
  },
  access_token_format: {
    about: "format of the client's access tokens",
    defaultInWords: "the server's option accessTokenFormat",
  },
  access_token_lifetime: {
    about: "seconds for which the client's access tokens are valid at most",
    defaultInWords: "the server's option accessTokenLifetime",
  },
  access_token_signed_response_alg: {
    about: "algorithm that signs the client's access tokens",
    defaultInWords: "the server's option accessTokenAlgorithm",
  },
  rotate_refresh_tokens: {
    about: 'whether the client gets a new refresh token each time it uses one. Public clients always do',
    defaultInWords: 'true',
  },
};
