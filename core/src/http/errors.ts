// Every entry point loads this file, so it also checks the version of Node.
import '../platform/supported_node.ts';
import type { BrowserDelivery } from './http.ts';

/** Every error code on the wire with its HTTP status, grouped by the defining specification. */
export const ERROR_STATUS = {
  // RFC 6749 §5.2
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  // RFC 6749 §4.1.2.1
  access_denied: 403,
  unsupported_response_type: 400,
  server_error: 500,
  temporarily_unavailable: 503,
  // RFC 7009 §2.2.1
  unsupported_token_type: 400,
  // RFC 6750 §3.1
  invalid_token: 401,
  insufficient_scope: 403,
  // RFC 9470 §3
  insufficient_user_authentication: 401,
  // RFC 8628 §3.5
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  // RFC 8707 §2
  invalid_target: 400,
  // RFC 9396 §5
  invalid_authorization_details: 400,
  // RFC 9449 §5, RFC 9449 §8; 401 at UserInfo
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  // RFC 9101 §7
  invalid_request_object: 400,
  invalid_request_uri: 400,
  // OpenID Connect Core Error Code unmet_authentication_requirements §2
  unmet_authentication_requirements: 400,
  // OpenID Connect Core §3.1.2.6
  login_required: 400,
  consent_required: 400,
  interaction_required: 400,
  account_selection_required: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  registration_not_supported: 400,
  // RFC 7591 §3.2.2
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface OAuthErrorDetails {
  /** HTTP status. Default: the code’s status in `ERROR_STATUS`. */
  readonly status?: number | undefined;
  /** Stable reason for events and logs; never on the wire. */
  readonly reason?: ReasonCode | undefined;
  /** The scope that the request needs (RFC 6750 §3). */
  readonly scope?: string | undefined;
  /** Classes of which the sign-in needs one, most preferred first (RFC 9470 §3). */
  readonly acrValues?: readonly string[] | undefined;
  /** Maximum seconds since the sign-in (RFC 9470 §3). */
  readonly maxAge?: number | undefined;
  /** More headers. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The client, if known; for events. */
  readonly clientId?: string | undefined;
  /**
   * The refused value, such as an unregistered redirect URI; for events and logs, never on the wire. Never a token,
   * code, secret or password.
   */
  readonly value?: string | undefined;
  /** The URL to which the browser takes the error (RFC 6749 §4.1.2.1). */
  readonly redirectTo?: string | undefined;
  /**
   * Form fields for a POST to `redirectTo` (OAuth 2.0 Form Post Response Mode §2). Without them, `redirectTo` contains
   * everything.
   */
  readonly formPost?: BrowserDelivery['formPost'];
  /** Whether a page asks the user before the browser goes to an unchecked client (RFC 9700 §4.11.2). */
  readonly asksBeforeLeaving?: boolean | undefined;
  /** The underlying error; logged, never on the wire. */
  readonly cause?: unknown;
}

const CLASS = Symbol.for('grantd.class');

/**
 * Names the class of an error for `instancesNamed`. `@grantd/protect` carries a copy of this file. If a process uses
 * both packages, their errors meet, and `instanceof` has to be true for the class of either copy.
 */
export function nameClass(error: Error, name: string): void {
  error.name = name;
  Object.defineProperty(error, CLASS, { value: name });
}

/** `instanceof` for a class of that name: true for errors of any copy of it. A class that extends it is only itself. */
export function instancesNamed(name: string): (this: unknown, value: unknown) => boolean {
  return function (value) {
    const isThatClass = typeof this === 'function' && Object.hasOwn(this, Symbol.hasInstance);
    if (!isThatClass) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && Reflect.get(value, CLASS) === name;
  };
}

/**
 * A refused request, as on the wire. `description` is a literal without request data, in the character set of RFC 6749
 * §5.2.
 */
export class OAuthError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly description: string;
  readonly reason: ReasonCode | undefined;
  readonly scope: string | undefined;
  readonly acrValues: readonly string[] | undefined;
  readonly maxAge: number | undefined;
  /**
   * Response headers except the media type: `Cache-Control: no-store` (RFC 6749 §5.1), and at an endpoint its challenge
   * and CORS headers.
   */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly clientId: string | undefined;
  readonly value: string | undefined;
  readonly redirectTo: string | undefined;
  readonly formPost: BrowserDelivery['formPost'];
  readonly asksBeforeLeaving: boolean;

  static override readonly [Symbol.hasInstance] = instancesNamed('OAuthError');

  constructor(code: ErrorCode, description: string, details: OAuthErrorDetails = {}) {
    super(`${code}: ${description}`, details.cause === undefined ? undefined : { cause: details.cause });
    nameClass(this, 'OAuthError');
    this.code = code;
    this.description = description;
    this.status = details.status ?? ERROR_STATUS[code];
    this.reason = details.reason;
    this.scope = details.scope;
    this.acrValues = details.acrValues;
    this.maxAge = details.maxAge;
    this.headers = { 'cache-control': 'no-store', ...details.headers };
    this.clientId = details.clientId;
    this.value = details.value;
    this.redirectTo = details.redirectTo;
    this.formPost = details.formPost;
    this.asksBeforeLeaving = details.asksBeforeLeaving ?? false;
  }

  /** Copies the error with more headers. */
  withHeaders(headers: Readonly<Record<string, string | readonly string[]>>): OAuthError {
    return new OAuthError(this.code, this.description, {
      ...this,
      cause: this.cause,
      headers: { ...this.headers, ...headers },
    });
  }
}

/** A malformed request. */
export function invalidRequest(
  description: string,
  reason: RefusalReason,
  details: Omit<OAuthErrorDetails, 'reason'> = {},
): OAuthError {
  return new OAuthError('invalid_request', description, { ...details, reason });
}

/** A mistake of the host or a fault of the server: 500. Only the log says which. */
export function unexpectedError(details: OAuthErrorDetails): OAuthError {
  return new OAuthError('server_error', 'an unexpected error', details);
}

/** A code or refresh token that is not acceptable (RFC 6749 §5.2). */
export function invalidGrant(description: string, reason: ReasonCode, value?: string): OAuthError {
  return new OAuthError('invalid_grant', description, { reason, value });
}

/** The error if a revocation or disabling came between check and write, so that nothing was issued. */
export function grantEnded(reason: ReasonCode = 'issuance_overtaken'): OAuthError {
  return invalidGrant('the grant is no longer valid', reason);
}

/**
 * Storage or a host's verifier is unavailable, or the outcome of a write is unknown. Never a valid answer. Frameworks that
 * render errors use `status` and `headers`.
 */
export class StorageFault extends Error {
  readonly status = 503;
  readonly reason: 'storage_unavailable' | 'verifier_unavailable';
  readonly headers: Readonly<Record<string, string>> = retryAfter(1);

  static override readonly [Symbol.hasInstance] = instancesNamed('StorageFault');

  constructor(cause: unknown, reason: StorageFault['reason'] = 'storage_unavailable') {
    super(reason.replace('_', ' is '), { cause });
    nameClass(this, 'StorageFault');
    this.reason = reason;
  }
}

/** Headers of a response to retry later. */
export function retryAfter(seconds: number): Readonly<Record<string, string>> {
  return { 'cache-control': 'no-store', 'retry-after': String(seconds) };
}

/** An option is invalid. The message names the option and what was expected. */
export class ConfigurationError extends Error {
  readonly option: string;

  static override readonly [Symbol.hasInstance] = instancesNamed('ConfigurationError');

  constructor(option: string, expected: string, message = `${option}: expected ${expected}`) {
    super(message);
    nameClass(this, 'ConfigurationError');
    this.option = option;
  }
}

/** Declares the names alone, so that declarations do not repeat the texts. Bundlers leave out what nothing reads. */
const texts = <Name extends string>(byName: Readonly<Record<Name, string>>) => byName;

/**
 * Stable reason codes: why a token is inactive, or why a request was refused. They appear in events, logs and `grantd
 * token explain`, never on the wire.
 */
export const INACTIVE_REASONS = /* @__PURE__ */ texts({
  malformed: 'This is no token of this server: its form is wrong.',
  unknown_key: 'It names a signing key that this server does not have.',
  bad_signature: 'The signature is wrong, or its algorithm is not that of the key.',
  verifier_rejected:
    'The jwtService or accessTokenVerifier rejected, instead of resolving to { verified: false }.',
  wrong_issuer: 'The iss is not the issuer that the server or API expects.',
  wrong_type: 'Tokens of this type, such as ID tokens, are not taken here.',
  not_yet_valid: 'The token is not valid yet (nbf).',
  no_record:
    'There is no record of it: it was never issued, is deleted, or is stored in another form than the storage says.',
  sub_missing: 'It is for a user, but its sub is no text.',
  confirmation_missing: 'The record binds the token to a key (DPoP), but names none.',
  differs_from_issued: 'The record of its identifier (jti) has the digest of another token.',
  digest_missing: 'By its typ, it could be an ID token, and its record has no digest to tell them apart.',
  expired: 'The token has expired, by its exp or its record.',
  expiry_unreadable: 'The expiry in the token or its record is no number of seconds.',
  revoked:
    'The token was revoked: alone, or with its pair, its family, or all that its client had obtained for the user.',
  superseded: 'A new refresh token has replaced this one.',
  grant_revoked: 'The grant (what the user gave to the client) was revoked.',
  session_revoked: 'The session of the token has ended.',
  subject_revoked: 'All tokens of the user were revoked.',
  subject_disabled: 'The user is disabled or no longer exists.',
  client_revoked: 'All tokens of the client were revoked.',
  client_disabled: 'The client is disabled.',
  client_gone: 'The client no longer exists.',
  issued_before_cutoff: 'The operator revoked all tokens from before a time, and the token is older.',
  ancestor_ended: 'A token that this one was exchanged for has ended, or its client or user.',
  code_unknown: 'The code was never issued, or expired over ten minutes ago.',
  code_redeemed: 'The client has already exchanged the code for tokens.',
  authorization_code: 'Authorization codes are not introspected.',
  need_unmet: 'The token lacks a scope or the resource that the caller of introspection needs.',
  policy: 'The introspectionPolicy refuses the token to this client.',
});

export type InactiveReason = keyof typeof INACTIVE_REASONS;

// Only the documentation lists the texts.
export const REFUSAL_REASONS = /* @__PURE__ */ texts({
  method_not_allowed: 'The endpoint does not support this HTTP method.',
  wrong_media_type: 'The endpoint does not accept the media type of the body.',
  wrong_content_encoding: 'The body is compressed, which the endpoint does not accept.',
  body_too_large: 'The body is larger than 64 KiB.',
  parameter_repeated: 'A parameter appeared more than once.',
  parameter_missing: 'A required parameter is missing or empty.',
  parameters_too_long: 'The parameters of the request exceed 6144 characters in total.',
  parameter_invalid: 'A parameter has a value that is not allowed.',
  unknown_hint: 'token_type_hint is not access_token, refresh_token or auth_code.',
  credentials_missing: 'The request contains no client credentials.',
  credentials_repeated:
    'The request contains two credentials, such as a secret and an assertion, or two different client identifiers.',
  credentials_malformed:
    'The Authorization header should contain HTTP Basic credentials, but cannot be read as such.',
  client_unknown: 'No client has this identifier.',
  client_disabled: 'The client is disabled.',
  client_secret_wrong: 'The client secret is wrong.',
  client_secret_missing: 'A confidential client sent no secret.',
  client_secret_not_sealed:
    'The client signs assertions with its secret. To verify them, the server needs the secret itself, encrypted, but has only a hash of it. To store an encrypted secret, run grantd client rotate-secret ID.',
  client_secret_too_short:
    'The client signed an assertion with its secret, but the secret has fewer bytes than the algorithm of the assertion requires.',
  client_secret_unexpected: 'A public client sent a secret.',
  client_not_confidential:
    'A public client sent an introspection request, but only confidential clients may introspect.',
  client_not_an_api:
    'Only an API (--resource) that an operator has added may follow endings or check tokens.',
  client_changed: 'The client was changed while its request was answered.',
  too_many_streams: 'The process, or the client, has as many open streams of endings as are possible.',
  stream_ended: 'A stream of endings ended before its begin: the process is closing, or cannot read events.',
  client_method_wrong: 'The client did not use the authentication method for which it is registered.',
  profile_method_refused:
    'The authentication method that the client used is not allowed by the FAPI 2.0 profile of the server or the client. Register another method for the client.',
  client_keys_refused:
    'The server needed the keys at the jwks_uri of the client, but may not fetch this URL, or the response was not a JWK set.',
  client_key_missing:
    'The client is registered for encrypted responses, but has no public key with which the server can encrypt.',
  assertion_type_unknown:
    'The request parameter client_assertion_type, or the typ header of the client assertion, has a wrong value.',
  assertion_malformed:
    'The client assertion is not a signed JWT, is too long, or has times that are not numbers.',
  assertion_algorithm_refused:
    'The server does not accept the algorithm of the client assertion, or the client is registered for another algorithm.',
  assertion_not_supported:
    'The client authenticated with an assertion, but the storage cannot record which assertions were used (oneTimeIdentifiers). Without this record, the server accepts no assertions.',
  assertion_key_unknown:
    'No key of the client matches the client assertion, or several keys match and the assertion does not name one (kid).',
  assertion_issuer_unknown:
    'The assertion is from an issuer that the option trustedIssuers does not name, or not for this use.',
  assertion_claims_unmatched:
    'The issuer of the assertion is trusted, but its claims match those of no client or grant, or not of this client, in the option trustedIssuers. The value begins with the claims that do not match, if there is a rule for the client.',
  assertion_subject_unknown:
    'No user is linked to the subject of the assertion, which its grant in the option trustedIssuers requires.',
  assertion_of_other_client:
    'The assertion is for another client (client_id), or another client has used it before.',
  assertion_bound: 'The assertion is bound to a key or certificate (cnf) that the request does not prove.',
  issuer_keys_refused:
    'The server needed the keys of a trusted issuer, but may not fetch their URL, or the response was not a JWK set, or metadata of another issuer.',
  assertion_signature_wrong: 'The signature of the client assertion does not verify.',
  assertion_subject_wrong: 'The iss or sub of the client assertion is not the client identifier.',
  assertion_audience_wrong: 'The aud of the client assertion is not this server.',
  assertion_expired: 'The client assertion has expired.',
  assertion_lives_too_long:
    'The assertion expires (exp) later than clientAssertionLifetime, assertion_lifetime of the client, or max_lifetime (maxLifetime) of the trusted issuer allows.',
  assertion_not_yet_valid:
    'The iat or nbf of the client assertion is in the future. The client’s clock may be at most one minute ahead of the server’s.',
  assertion_identifier_missing:
    'The client assertion has no jti, so the server cannot check that it is used only once.',
  assertion_replayed: 'The client assertion was used before. Each assertion is valid for one request.',
  assertion_ended:
    'The assertion was signed before the client was disabled, or all of its tokens were revoked. Let the issuer sign another one.',
  grant_not_allowed: 'The client is not registered for the requested grant type.',
  grant_unknown: 'The server does not support this grant type.',
  scope_not_allowed:
    'A requested scope is not registered for the client, or not part of the grant (the access that the user gave).',
  redirect_uri_exposed:
    'The redirect URI is http and not on loopback, so an authorization code would be readable on the network. The FAPI 2.0 profile of the server or the client does not allow this.',
  response_mode_not_allowed:
    'The client may not use the requested response_mode. The member response_modes of its metadata, or its FAPI 2.0 profile, excludes it.',
  redirect_uri_missing:
    'The authorization request had redirect_uri, so the client must send it again. It may omit it only with PKCE, and if it has registered exactly this one.',
  redirect_uri_mismatch:
    'The redirect URI is not registered for the client. Or, in a token request, it differs from the one in the authorization request.',
  pkce_missing:
    'A PKCE parameter is missing: code_challenge in the authorization request, or code_verifier in the token request.',
  pkce_unexpected:
    'The token request contains a code_verifier, but the authorization request had no code_challenge.',
  pkce_mismatch:
    'The code_verifier in the token request does not match the code_challenge in the authorization request.',
  token_foreign:
    'A client tried to revoke a token that was issued to a different client. The server did not revoke it.',
  code_expired: 'The authorization code has expired.',
  code_foreign:
    'A client tried to redeem or revoke an authorization code that was issued to a different client.',
  code_reused:
    'The client redeemed the authorization code a second time. The server has revoked the tokens that it issued for the code.',
  exchange_not_allowed:
    'The client may not exchange this token: it is neither its own nor for its API (exchange_tokens_of), is for a user who may not use the client, names another actor (may_act), or has an actor other than the client (exchange_user_actors).',
  exchange_consent_missing:
    'The user has not consented to what the client obtains for them (exchange_consent_required). An authorization request of this client with the same scopes and resource asks for it.',
  exchanges_ended:
    'The user or an operator has ended what the client had obtained for the user, and the presented tokens are older.',
  exchange_too_deep: 'The token is the result of as many exchanges as the server allows.',
  subject_token_bound:
    'The token to be exchanged is bound to a key or certificate that the request does not prove (exchange_without_proof).',
  assertion_audience_not_allowed:
    'The client may obtain no identity assertion for this server or API (identity_assertions). Its issuer must be spelled exactly as there, and a request names one.',
  token_type_unsupported: 'The server does not exchange tokens of this type, or issue them.',
  device_pending: 'The device polls, and its user has not decided yet.',
  device_polls_early:
    'The device polls more often than the interval allows. It must wait longer from now on.',
  device_denied: 'The user denied the request of the device.',
  device_code_expired:
    'The device code has expired before its user approved, or before the device redeemed it.',
  device_code_unknown:
    'The server has no request with this device code. It never existed, or expired long ago.',
  device_code_foreign: 'A client sent the device code of a different client.',
  user_code_unknown:
    'No device waits with this user code: it was mistyped, has expired, or the user has already decided.',
  refresh_token_inactive:
    'The client repeated a refresh request within the grace period (refreshGrace), but the server can no longer derive the new refresh token that it issued at the first request.',
  refresh_token_foreign: 'A client sent a refresh token that was issued to a different client.',
  refresh_token_reused:
    'A refresh token was used again after the grace period (refreshGrace), or after the new token that replaced it: by its client or a thief. The server has revoked the family: all refresh and access tokens that descend from the same authorization code.',
  issuance_overtaken:
    'While the server handled the request, the user, client, session or grant was revoked or disabled. The server issued no code or token.',
  consent_denied:
    'The authorization request ended before it was approved: the user denied access, cancelled the sign-in, or may not use the client.',
  sign_in_required: 'The request has prompt=none, which forbids pages, but the user must first sign in.',
  sign_in_too_old: 'The user signed in longer ago than the request or the API allows.',
  consent_required: 'The request has prompt=none, which forbids pages, but the user must first consent.',
  interaction_required:
    'The request has prompt=none, which forbids pages, but the server must show a page to the user.',
  account_selection_required:
    'The request has prompt=none, which forbids pages, but the user must first choose an account.',
  acr_unmet:
    'The request, the API or a policy needs another sign-in (acr), or a code by email no longer counts.',
  person_not_allowed:
    'The client is only for certain users, not for this one. The server checks this at approval, and for each authorization code and refresh token. If a page has already refused the user, the reason code is consent_denied.',
  other_person:
    'The request names a user, by id_token_hint or by the claim sub, but a different user approved it.',
  id_token_hint_wrong:
    'The id_token_hint is not an ID token of this server, or was issued to a different client than the one that the request names.',
  resource_unknown: 'The parameter resource names neither the default audience nor a registered API.',
  resource_not_allowed:
    'The parameter resource names a registered API for which the client may not request tokens. To allow it, run grantd client update ID with one --api for each API of the client: the new one and all existing ones.',
  resource_needed:
    'Several APIs of the client declare the requested scopes, so the server cannot tell for which API the token is. The request must name one with the parameter resource.',
  resource_withdrawn:
    'The access that the user gave was for certain APIs, but none of them is left: each one was removed or disabled, or the client may no longer use it.',
  scope_outside_audience: 'The token is for one API, but a requested scope belongs to another API.',
  scope_withdrawn:
    'The access that the user gave has no scope left: each one was removed from the client or from its APIs.',
  resource_not_granted:
    'The parameter resource names an API that is not part of the grant (the access that the user gave).',
  authorization_details_malformed:
    'The authorization_details are not a list of objects with a type, or have too many objects or bytes. Or, in a token request, they match more of the granted details than one token can contain.',
  authorization_details_type_unknown:
    'The authorization_details contain a type that is not configured on the server.',
  authorization_details_not_allowed:
    'The client is not registered for a type in the authorization_details. Or the client requests a token for itself, but the type is only for requests with a user.',
  authorization_details_unfit:
    'An authorization detail does not match the JSON Schema of its type. The logged value names the type, and the violated part of the schema or the unknown member.',
  authorization_details_location_refused:
    'A location in the authorization_details is not a registered API, or the client may not use this API.',
  authorization_details_not_granted:
    'The authorization_details in the token request are not part of the grant (the access that the user gave), or are not for the API of the token.',
  authorization_details_withdrawn:
    'The access that the user gave has no authorization details left, because the client may no longer use their types or APIs.',
  authorization_details_enrichment_unfit:
    'The application’s function authorizationDetails.enrich returned a wrong list, or the approved details are for an API that the client may not use. The logged value names the types or APIs.',
  request_object_malformed: 'The request object is unreadable or unsigned.',
  request_object_wrong_key:
    'The algorithm or signature of the request object is wrong, or the client has no key that verifies it.',
  request_object_wrong_claims:
    'A claim or the typ of the request object is wrong. For example, the object is for another server, from another client, or expired.',
  request_object_missing:
    'The client is registered for signed requests, but sent the authorization request without a signed request object.',
  request_uri_not_allowed:
    'The server may not fetch the request_uri: it is neither registered for the client nor on an allowed host, or fetching is off.',
  request_uri_unreachable: 'The server could not fetch the request object from the request_uri.',
  pushed_request_unknown:
    'The server has no pushed request with this request_uri. It was never pushed, was already used, or has expired.',
  pushed_request_foreign: 'The request_uri belongs to a request that a different client pushed.',
  authorization_request_answered: 'The user has already answered this authorization request.',
  authorization_request_expired: 'The authorization request is more than a day old.',
  pushed_request_missing:
    'The server or the client’s registration requires pushed authorization requests, but the client sent the request without pushing it first.',
  access_token_missing: 'The request contains no access token.',
  access_token_repeated: 'The request contains the access token in more than one way.',
  token_bound:
    'The access token is bound to a key (DPoP), but was sent as a bearer token, without a proof of possession.',
  token_unbound:
    'The access token was sent with the scheme DPoP, but is not bound to a key. It must be sent with the scheme Bearer.',
  client_certificate_missing:
    'The client, code or token requires a TLS client certificate, but the TLS connection of the request has none.',
  client_certificate_wrong:
    'The code or token is bound to a different certificate than the one that the client presented in the TLS connection.',
  client_certificates_off:
    'The client uses certificates to authenticate or to bind tokens, but the option clientCertificates is off.',
  client_certificate_unreadable:
    'The server cannot parse the certificate that the client presented in the TLS connection.',
  client_certificate_untrusted:
    'The client is registered for tls_client_auth, which requires a certificate from a trusted CA. But neither the server nor the proxy has verified the certificate’s chain.',
  client_certificate_foreign:
    'The client presented a different certificate in the TLS connection than the one that it is registered with.',
  confirmation_unknown: 'The access token is bound by a method (cnf) that the server does not support.',
  dpop_proof_missing: 'The request needs a DPoP proof and has none.',
  dpop_proof_malformed:
    'The DPoP header does not contain exactly one signed JWT of the type dpop+jwt, or the JWT is too long or lacks a claim.',
  dpop_algorithm_refused: 'The option dpopAlgorithms does not allow the algorithm of the DPoP proof.',
  dpop_key_unfit:
    'The key in the DPoP proof is missing, is a private key, is too weak, or does not fit the algorithm of the proof.',
  dpop_signature_wrong: 'The signature of the DPoP proof does not verify.',
  dpop_method_wrong: 'The DPoP proof was made for another HTTP method (htm) than that of the request.',
  dpop_url_wrong:
    'The DPoP proof was made for another URL (htu) than the public URL of the endpoint. The logged value is the proof’s htu.',
  dpop_proof_expired:
    'The DPoP proof is older than the option dpopProofLifetime allows, or its exp has passed.',
  dpop_proof_not_yet_valid:
    'The iat or nbf of the DPoP proof is in the future. The client’s clock may be at most one minute ahead of the server’s.',
  dpop_proof_replayed: 'The DPoP proof was used before. Each proof is valid for one request.',
  dpop_nonce_missing:
    'The DPoP proof has no nonce, but the server (option dpopNonces) or the API (option nonceSecret) requires one. The response contains a nonce, and DPoP client libraries repeat the request with it.',
  dpop_nonce_wrong: 'The nonce of the DPoP proof is too old, or was not issued by this server or API.',
  dpop_token_wrong: 'The DPoP proof was made for another access token (ath) than the one in the request.',
  proof_unexpected:
    'A public client repeated a refresh request and added a DPoP proof or certificate. The first request had none, so its new refresh token is not bound, and the repetition cannot bind it.',
  dpop_key_wrong: 'The code or token is bound to a different key than the one in the DPoP proof.',
  dpop_not_supported:
    'The client is registered for access tokens that are bound to a key (DPoP), but the option dpopAlgorithms contains no algorithm that the client may use.',
  audience_wrong: 'The aud of the access token does not contain this API.',
  not_active:
    'The API asked the authorization server about the access token, and the answer was that it is not active.',
  scope_missing: 'The access token lacks a scope that the API requires.',
  scope_openid_missing: 'The access token lacks the scope openid, which the UserInfo endpoint requires.',
  registration_off: 'A client tried to register itself, but client registration is off on this server.',
  initial_access_token_invalid:
    'Registration requires an initial access token, but the token in the request is not from this server, or has expired.',
  initial_access_token_used:
    'The initial access token is valid for one registration, and a client has already used it.',
  registration_token_wrong:
    'The registration access token in the request does not belong to a client with the identifier in the URL.',
  too_many_registered:
    'Self-registered clients have reached registrationLimit, or those of one address registrationAddressLimit. Run grantd client prune, or raise the limit.',
  client_changed_meanwhile:
    'The client tried to replace its registration, but other requests changed it at the same time. The server gave up after several attempts. The client must send the request again.',
  redirect_uri_unfit:
    'A client that registers itself may not use one of its redirect URIs. The logged value says what was expected.',
  client_metadata_unfit:
    'A member of the client metadata in a registration request is wrong. The logged value names the member and the expected value.',
  client_document_invalid:
    'The metadata document at the URL that is the client’s identifier is not valid. The logged value says why.',
  too_many_client_documents:
    'Too many new metadata documents of one site were asked for in a minute (option clientDocumentSiteLimit, in the library mostNewPerSite).',
  client_document_denied:
    'An operator has denied the metadata document at the URL that is the client’s identifier, or all documents of its host (grantd client denied-documents).',
  client_document_unreachable: 'The metadata document of a client could not be fetched at the moment.',
  body_unreadable: 'The body of the request is not a JSON object.',
  oidc_off: 'The request is for UserInfo, but OpenID Connect is not configured on this server.',
  no_person: 'The access token has no user, or the server knows no claims of the user.',
  answer_not_authenticated:
    'The caller requested introspection as a JWT, but did not authenticate, which RFC 9701 requires.',
  answer_algorithm_unsupported:
    'The client expects a response that is signed with an algorithm that the server does not have. The logged value is the algorithm.',
  document_unavailable:
    'The server could not fetch a document of the client, such as the keys at its jwks_uri. A later attempt can succeed.',
  application_claim_unfit:
    'The application’s function applicationClaims.valuesOf returned an undeclared claim or a wrong value. The logged value names the claim.',
  verifier_unavailable:
    'The application’s jwtService or accessTokenVerifier failed, for example because the URL of its keys did not respond.',
  storage_unavailable:
    'The storage was not available, or the server does not know whether the storage completed a write.',
  unexpected: 'An unexpected error occurred. The log entry contains its cause.',
});

export type RefusalReason = keyof typeof REFUSAL_REASONS;

export type ReasonCode = InactiveReason | RefusalReason;

/** Opaque values of this server, and anything that looks like a JWT or the start of one. */
const BEARERS = /grantd_[a-z]{2,3}_[\w.-]+|ey[\w-]{8,}\.[\w-]+(\.[\w-]*|$)/g;

/** Control characters, and characters that reorder or hide text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Maximum characters of a request value in a log. */
const MAX_LOGGED_VALUE = 256;

/** Removes bearer values. Call it before cutting a text, because a cut value is no longer recognizable. */
export function withoutBearers(text: string): string {
  return text.replace(BEARERS, '[removed]');
}

/** Prepares a request value for logs: without bearer values, escaped, at most 256 characters. */
export function loggable(value: string): string {
  const printable = withoutBearers(value.slice(0, 4 * MAX_LOGGED_VALUE)).replace(UNPRINTABLE, escaped);
  return printable.length > MAX_LOGGED_VALUE ? `${printable.slice(0, MAX_LOGGED_VALUE - 1)}…` : printable;
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
