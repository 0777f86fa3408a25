// Every entry point loads this file, so it also checks the version of Node.
import '../supported_node.ts';
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
  unapproved_software_statement: 400,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface OAuthErrorDetails {
  /** HTTP status. Default: the code’s status in `ERROR_STATUS`. */
  readonly status?: number | undefined;
  /** Stable reason for events and logs; never on the wire. */
  readonly reason?: ReasonCode | undefined;
  /** The scope that the request needs (RFC 6750 §3). */
  readonly scope?: string | undefined;
  /** Authentication context classes of which the sign-in needs one, most preferred first (RFC 9470 §3). */
  readonly acrValues?: readonly string[] | undefined;
  /** Maximum seconds since the sign-in (RFC 9470 §3). */
  readonly maxAge?: number | undefined;
  /** Additional response headers. */
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

  /** Copies the error with additional headers. */
  withHeaders(headers: Readonly<Record<string, string | readonly string[]>>): OAuthError {
    return new OAuthError(this.code, this.description, {
      ...this,
      cause: this.cause,
      headers: { ...this.headers, ...headers },
    });
  }
}

/**
 * Storage is unavailable, or the outcome of a write is unknown. Never a valid answer. Frameworks that render errors use
 * `status` and `headers`.
 */
export class StorageFault extends Error {
  readonly status = 503;
  readonly headers: Readonly<Record<string, string>> = retryAfter(1);

  static override readonly [Symbol.hasInstance] = instancesNamed('StorageFault');

  constructor(cause: unknown) {
    super('storage is unavailable', { cause });
    nameClass(this, 'StorageFault');
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

/**
 * Stable reason codes: why a token is inactive, or why a request was refused. They appear in events, logs and `grantd
 * token explain`, never on the wire.
 */
export const INACTIVE_REASONS = {
  malformed: 'The text cannot be a token of this server: its characters, form or prefix are wrong.',
  unknown_key: 'The token names a signing key that this server does not have.',
  bad_signature: 'The signature of the token does not verify, or its algorithm is not that of the key.',
  wrong_issuer: 'The token names another issuer.',
  wrong_type: 'The endpoint does not accept this kind of token.',
  not_yet_valid: 'The token is not valid yet.',
  no_record:
    'Storage has no record of the token. It was never issued, or its record was deleted after expiry or by a revocation.',
  sub_missing: 'The token is for a user, but its sub is missing or not a string.',
  confirmation_missing:
    'The record says that the token is bound by DPoP, but names no key. The storage does not keep the member confirmation.',
  differs_from_issued:
    'A record with the token’s identifier exists, but its digest is that of another token.',
  expired: 'The token has expired: its exp, or the expiry in its record, has passed.',
  expiry_unreadable: 'The exp of the token, or the expiry in its record, is not a number of seconds.',
  revoked: 'The token itself, its pair or its family was revoked.',
  superseded: 'The refresh token was replaced by its successor (rotation).',
  grant_revoked: 'The token’s grant was revoked.',
  session_revoked: 'The session in which the token was issued has ended.',
  subject_revoked: 'All tokens of the user were revoked.',
  subject_disabled: 'The user is disabled or no longer exists.',
  client_revoked: 'All tokens of the client were revoked.',
  client_disabled: 'The client is disabled.',
  client_gone: 'The client that the token was issued to no longer exists.',
  issued_before_cutoff:
    'The operator revoked all tokens that were issued before a given time, and the token is older.',
  code_unknown:
    'No authorization code with this value exists. It was never issued, or expired more than a day ago.',
  code_redeemed: 'The authorization code was redeemed.',
  authorization_code: 'The text is an authorization code, which cannot be introspected.',
  policy: 'The introspection policy does not allow this client to introspect the token.',
} as const;

export type InactiveReason = keyof typeof INACTIVE_REASONS;

// Texts without expressions, which bundlers leave out: only the documentation lists them.
export const REFUSAL_REASONS = {
  method_not_allowed: 'The endpoint does not support this HTTP method.',
  wrong_media_type: 'The endpoint does not accept the media type of the body.',
  body_too_large: 'The body is larger than 64 KiB.',
  parameter_repeated: 'A parameter appeared more than once.',
  parameter_missing: 'A required parameter is missing or empty.',
  parameters_too_long: 'The parameters of the request exceed 6144 characters in total.',
  parameter_invalid: 'A parameter has a value that is not allowed.',
  unknown_hint: 'token_type_hint is not access_token, refresh_token or auth_code.',
  credentials_missing: 'The request contains no client credentials.',
  credentials_repeated: 'The request contains two credentials or two different client identifiers.',
  credentials_malformed: 'The Authorization header cannot be read as Basic credentials.',
  client_unknown: 'No client has this identifier.',
  client_disabled: 'The client is disabled.',
  client_secret_wrong: 'The client secret is wrong.',
  client_secret_missing: 'A confidential client sent no secret.',
  client_secret_not_sealed:
    'The client signs assertions with its secret, but the server has only a hash of it. To store an encrypted secret, run grantd client rotate-secret ID.',
  client_secret_too_short: 'The client secret has fewer bytes than the algorithm of the assertion needs.',
  client_secret_unexpected: 'A public client sent a secret.',
  client_not_confidential: 'Only confidential clients may introspect.',
  client_method_wrong: 'The client did not use its registered authentication method.',
  profile_method_refused:
    'The FAPI 2.0 profile of the server or the client does not allow this authentication method. Register another method.',
  client_keys_refused:
    'The server may not fetch the jwks_uri of the client, or its response is not a JWK set.',
  client_key_missing: 'The client has no key for the encryption that it is registered for.',
  assertion_type_unknown: 'The client_assertion_type or the typ header of the assertion is wrong.',
  assertion_malformed:
    'The client assertion is not a signed JWT, is too long, or has times that are not numbers.',
  assertion_algorithm_refused:
    'The algorithm of the client assertion is not allowed, in general or for this client.',
  assertion_not_supported:
    'The storage does not keep one-time identifiers, so it cannot support client assertions.',
  assertion_key_unknown:
    'No key of the client matches the assertion. Or several keys match, and the assertion has no kid.',
  assertion_signature_wrong: 'The signature of the client assertion does not verify.',
  assertion_subject_wrong: 'The iss or sub of the client assertion is not the client identifier.',
  assertion_audience_wrong: 'The aud of the client assertion is not this server.',
  assertion_expired: 'The client assertion has expired.',
  assertion_lives_too_long: 'The client assertion is valid for more than five minutes.',
  assertion_not_yet_valid:
    'The client assertion is from the future. The client’s clock may be at most one minute ahead.',
  assertion_identifier_missing: 'The client assertion has no jti.',
  assertion_replayed: 'The client assertion was used before.',
  grant_not_allowed: 'The client is not registered for this grant.',
  grant_unknown: 'The server does not support this grant type.',
  scope_not_allowed: 'A scope is not registered for the client, or not part of the grant.',
  redirect_uri_exposed:
    'The redirect URI is http and not on loopback. The FAPI 2.0 profile of the server or the client does not allow this.',
  response_mode_not_allowed:
    'The client may not use this response_mode. Its metadata member response_modes or its FAPI 2.0 profile excludes it.',
  redirect_uri_mismatch:
    'The redirect URI is not registered for the client, or differs from the authorization request.',
  pkce_missing:
    'A PKCE parameter is missing: code_challenge in the authorization request, or code_verifier in the token request.',
  pkce_unexpected: 'The request contains a PKCE verifier, but the authorization request had no challenge.',
  pkce_mismatch: 'The PKCE verifier does not match the challenge.',
  token_foreign: 'The token was issued to another client.',
  code_expired: 'The authorization code has expired.',
  code_foreign: 'The authorization code was issued to another client.',
  code_reused: 'The authorization code was redeemed before. The tokens that it issued are revoked.',
  refresh_token_inactive: 'The refresh token is not active.',
  refresh_token_foreign: 'The refresh token was issued to another client.',
  refresh_token_reused:
    'A refresh token was used a second time, after the grace period (refreshGrace). All refresh and access tokens of its family are revoked.',
  issuance_overtaken:
    'The user, client, session or grant was revoked or disabled during the request. No token was issued.',
  consent_denied: 'The user denied the request.',
  sign_in_required: 'The request has prompt=none, but no user is signed in.',
  sign_in_too_old: 'The sign-in is older than the request allows.',
  consent_required: 'The request has prompt=none, but the user must consent.',
  interaction_required: 'The request has prompt=none, but the server must show a page to the user.',
  account_selection_required: 'The request has prompt=none, but the user must choose an account.',
  acr_unmet: 'The sign-in does not have the authentication context class that the request requires.',
  person_not_allowed: 'The user may not use the client.',
  other_person: 'The request is for another user than the one who approved it.',
  id_token_hint_wrong: 'The id_token_hint is not from this server, or is for another client.',
  resource_unknown: 'The requested resource is neither the default audience nor a registered API.',
  resource_not_allowed:
    'The client may not request this registered API. To allow it, run grantd client update ID with --api for each API of the client, the existing ones and the new one.',
  resource_needed:
    'Several APIs of the client declare the scopes. The request must name one API with resource.',
  resource_withdrawn:
    'The grant has no API left: each one was removed or disabled, or the client may no longer use it.',
  scope_outside_audience: 'A scope is declared by another API than the one that the token is for.',
  scope_withdrawn: 'The grant has no scope left: each one was removed from the client or its APIs.',
  resource_not_granted: 'The requested resource is not part of the grant.',
  authorization_details_malformed:
    'The authorization_details are not a list of objects with a type, or have too many objects or bytes. Or they match more details of the grant than one token can contain.',
  authorization_details_type_unknown: 'The server has no such type of authorization details.',
  authorization_details_not_allowed:
    'The client is not registered for this type of authorization details, or the type needs a user.',
  authorization_details_unfit:
    'An authorization detail does not match the schema of its type. The logged value names the type, and the part of the schema or the unknown member.',
  authorization_details_location_refused:
    'A location in the authorization details is not a registered API, or the client may not use this API.',
  authorization_details_not_granted: 'The authorization details are not part of the grant.',
  authorization_details_withdrawn:
    'The grant has no authorization detail left: the client may no longer use their types or APIs.',
  authorization_details_enrichment_unfit:
    'The function authorizationDetails.enrich returned a wrong list, or the approved details are for an API that the client may not use. The logged value names the types or APIs.',
  request_object_malformed: 'The request object is unreadable or unsigned.',
  request_object_wrong_key: 'No key of the client verifies the request object.',
  request_object_wrong_claims:
    'The claims of the request object are wrong. It is for another server or from another client, has expired, or is no authorization request.',
  request_object_missing: 'The client must send a signed request object.',
  request_uri_not_allowed: 'The request_uri is neither registered for the client nor on an allowed host.',
  request_uri_unreachable: 'The document of the request_uri could not be fetched.',
  pushed_request_unknown:
    'No pushed request has this request_uri. It was never pushed, was already used, or has expired.',
  pushed_request_foreign: 'Another client pushed the request.',
  authorization_request_answered: 'The user has already answered this authorization request.',
  authorization_request_expired: 'The authorization request is more than a day old.',
  pushed_request_missing: 'The authorization request must be pushed.',
  access_token_missing: 'The request contains no access token.',
  access_token_repeated: 'The request contains the access token in more than one way.',
  token_bound:
    'The access token is bound to a key, but was sent as a bearer token, without a proof of possession.',
  token_unbound: 'The access token was sent with the scheme DPoP, but is not bound to a key.',
  client_certificate_missing:
    'The request has no TLS client certificate, but the client, code or token needs one.',
  client_certificate_wrong:
    'The code or token is bound to another certificate than that of the TLS connection.',
  client_certificates_off:
    'The client uses certificates to authenticate or to bind tokens, but the option clientCertificates is off.',
  client_certificate_unreadable: 'The certificate of the TLS connection is malformed.',
  client_certificate_untrusted:
    'The client is registered for tls_client_auth, but neither the server nor the proxy has verified the chain of its certificate.',
  client_certificate_foreign:
    'The client is registered for another certificate than that of the TLS connection.',
  confirmation_unknown: 'The access token is bound by a method (cnf) that the server does not support.',
  dpop_proof_missing: 'The request needs a DPoP proof and has none.',
  dpop_proof_malformed:
    'The DPoP header is not one signed JWT of the type dpop+jwt, is too long, or lacks a claim.',
  dpop_algorithm_refused: 'The option dpopAlgorithms does not allow the algorithm of the DPoP proof.',
  dpop_key_unfit:
    'The key in the DPoP proof is missing, private, too weak, or not for the algorithm of the proof.',
  dpop_signature_wrong: 'The signature of the DPoP proof does not verify.',
  dpop_method_wrong: 'The DPoP proof is for another HTTP method (htm).',
  dpop_url_wrong:
    'The htu of the DPoP proof is not the public URL of the endpoint. The logged value is the proof’s htu.',
  dpop_proof_expired: 'The DPoP proof is older than dpopProofLifetime, or its exp has passed.',
  dpop_proof_not_yet_valid:
    'The DPoP proof is from the future. The client’s clock may be at most one minute ahead.',
  dpop_proof_replayed: 'The DPoP proof was used before.',
  dpop_nonce_missing:
    'The DPoP proof has no nonce, but dpopNonces, or nonceSecret of an API, requires one. Client libraries repeat the request with a nonce.',
  dpop_nonce_wrong: 'The nonce of the DPoP proof is too old, or not from this server or API.',
  dpop_token_wrong: 'The DPoP proof is for another access token (ath).',
  proof_unexpected:
    'The client repeated a refresh request and added a DPoP proof or certificate. The first request had none, so the new tokens are not bound.',
  dpop_key_wrong: 'The code or token is bound to another key than that of the DPoP proof.',
  dpop_not_supported: 'The client needs tokens that are bound to a key, but DPoP is off.',
  audience_wrong: 'The access token is for another API.',
  not_active: 'The authorization server reports that the access token is not active.',
  scope_missing: 'The access token lacks a required scope.',
  scope_openid_missing: 'The access token lacks the scope openid.',
  registration_off: 'Clients cannot register themselves at this server.',
  initial_access_token_invalid: 'The initial access token is not from this server, or has expired.',
  initial_access_token_used: 'The initial access token was for one client, which is already registered.',
  registration_token_wrong: 'No client with this identifier has this registration access token.',
  too_many_registered:
    'The number of self-registered clients has reached registrationLimit. Remove some clients, or raise the limit.',
  client_changed_meanwhile:
    'Each time the server tried to replace the client’s registration, another request had just changed it.',
  redirect_uri_unfit:
    'The client may not register one of its redirect URIs. The logged value says what was expected.',
  client_metadata_unfit:
    'A member of the client metadata is wrong. The logged value names the member and the expected value.',
  body_unreadable: 'The body of the request is not a JSON object.',
  oidc_off: 'OpenID Connect is not configured, so the server has no UserInfo endpoint.',
  no_person: 'The access token has no user, or a user without claims.',
  answer_not_authenticated: 'The caller requested a JWT response, but did not authenticate (RFC 9701).',
  answer_algorithm_unsupported: 'The server does not sign with the algorithm that the response requires.',
  document_unavailable: 'The server could not fetch a document of the client, such as its jwks_uri.',
  application_claim_unfit:
    'The function applicationClaims.valuesOf returned an undeclared claim or a wrong value. The logged value names the claim.',
  storage_unavailable: 'Storage was not available, or the outcome of a write is unknown.',
  unexpected: 'Unexpected error. The log has its cause.',
} as const;

export type RefusalReason = keyof typeof REFUSAL_REASONS;

export type ReasonCode = InactiveReason | RefusalReason;

/** Opaque values of this server, and anything that looks like a JWT or the start of one. */
const BEARERS = /grantd_(at|rt|ac|cs|ra|ia)_[\w.-]+|ey[\w-]{8,}\.[\w-]+(\.[\w-]*|$)/g;

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
