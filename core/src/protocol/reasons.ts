/**
 * Stable reason codes: why a token is not alive, or why a request was refused.
 * They appear in events, in logs and in `grantd token explain`, never on the wire.
 */
export const INACTIVE_REASONS = {
  malformed: 'The text is no token of this server: wrong characters, form or prefix.',
  unknown_key: 'The token names a signing key that this server does not have.',
  bad_signature: 'The signature does not verify.',
  wrong_issuer: 'The token names another issuer.',
  wrong_type: 'The token is of another kind than this endpoint accepts.',
  not_yet_valid: 'The token says that it is not valid yet.',
  no_record: 'No record of the token is in storage: never issued, swept, or deleted by a revocation.',
  differs_from_issued: 'A record of that identifier exists, but the token is not the one that was issued.',
  expired: 'The stored expiry has passed.',
  expiry_unreadable: 'The stored expiry is no number of seconds.',
  revoked: 'The token itself, its pair or its family was revoked.',
  superseded: 'The refresh token was rotated; its successor is current.',
  grant_revoked: 'The grant that the token belongs to was revoked.',
  session_revoked: 'The session that the token belongs to was ended.',
  subject_revoked: 'All tokens of the subject were revoked.',
  subject_disabled: 'The subject is disabled or no longer exists.',
  client_revoked: 'All tokens of the client were revoked.',
  client_disabled: 'The client is disabled.',
  issued_before_cutoff: 'The token was issued before the time before which all tokens were revoked.',
  code_redeemed: 'The authorization code was redeemed.',
  authorization_code: 'Authorization codes are not introspected.',
  policy: 'The introspection policy does not let this caller see this token.',
} as const;

export type InactiveReason = keyof typeof INACTIVE_REASONS;

export const REFUSAL_REASONS = {
  method_not_allowed: 'The endpoint does not answer this HTTP method.',
  wrong_media_type: 'The body is not application/x-www-form-urlencoded.',
  body_too_large: 'The body is larger than 64 KiB.',
  parameter_repeated: 'A parameter appeared more than once.',
  parameter_missing: 'A required parameter is missing or empty.',
  parameter_invalid: 'A parameter has a value that is not allowed.',
  unknown_hint: 'token_type_hint is none of access_token, refresh_token, auth_code.',
  credentials_missing: 'The request carries no client credentials.',
  credentials_repeated: 'The request carries two credentials, or two different client identifiers.',
  credentials_malformed: 'The Authorization header cannot be read as Basic credentials.',
  client_unknown: 'No client has this identifier.',
  client_disabled: 'The client is disabled.',
  client_secret_wrong: 'The client secret is wrong.',
  client_secret_missing: 'A confidential client sent no secret.',
  client_secret_unexpected: 'A public client sent a secret.',
  client_not_confidential: 'Only confidential clients may introspect.',
  client_method_wrong: 'The client authenticated in another way than it is registered for.',
  client_keys_refused: 'The jwks_uri of the client may not be fetched, or answers no JWK set.',
  client_key_missing:
    'The client has no key that an answer could be encrypted to in the way it is registered for.',
  assertion_type_unknown:
    'The client_assertion_type, or the typ header of the assertion, is not that of a client assertion.',
  assertion_malformed: 'The client assertion is no signed JWT, is too long, or its times are no numbers.',
  assertion_algorithm_refused:
    'The client assertion is signed with an algorithm that is not allowed, or not for this client.',
  assertion_not_supported: 'Storage keeps no one-time identifiers, so client assertions cannot be used.',
  assertion_key_unknown:
    'The client has no key that could have signed the assertion; or several, and no kid names one.',
  assertion_signature_wrong: 'The signature of the client assertion does not verify.',
  assertion_subject_wrong: 'Of iss and sub of the client assertion, one is not the identifier of the client.',
  assertion_audience_wrong: 'The client assertion is meant for somebody else.',
  assertion_expired: 'The client assertion has expired.',
  assertion_lives_too_long: 'The client assertion would live for more than five minutes.',
  assertion_not_yet_valid:
    'The client assertion is of the future; the clock of the client may be a minute ahead.',
  assertion_identifier_missing: 'The client assertion has no jti.',
  assertion_replayed: 'The client assertion was used before.',
  grant_not_allowed: 'The client is not registered for this grant.',
  grant_unknown: 'The server has no such grant.',
  scope_not_allowed: 'A scope is not registered for the client or not part of the grant.',
  redirect_uri_mismatch: 'The redirect URI is not registered for the client, or not the one of the code.',
  pkce_missing: 'The request carries no PKCE challenge or verifier.',
  pkce_mismatch: 'The PKCE verifier does not fit the challenge.',
  token_foreign: 'The token belongs to another client.',
  code_unknown: 'No such authorization code, or it was revoked.',
  code_expired: 'The authorization code has expired.',
  code_foreign: 'The authorization code belongs to another client.',
  code_reused: 'The authorization code was redeemed before; what it issued is revoked.',
  refresh_token_dead: 'The refresh token is not alive.',
  refresh_token_foreign: 'The refresh token belongs to another client.',
  refresh_token_reused: 'A rotated refresh token came back after its grace; its family is revoked.',
  issuance_overtaken: 'A revocation or disabling came in between; nothing was issued.',
  consent_denied: 'The person denied the client what it asked for.',
  sign_in_required: 'The client wants no question asked, but nobody is signed in.',
  consent_required: 'The client wants no question asked, but consent has to be asked for.',
  interaction_required: 'The client wants no question asked, but one has to be.',
  access_token_missing: 'The request carries no access token.',
  scope_openid_missing: 'The access token was granted without the openid scope.',
  oidc_off: 'OpenID Connect is not configured, so there is no UserInfo.',
  no_person: 'The access token belongs to no person, or to one without claims.',
  answer_not_authenticated: 'Introspection was asked for a JWT by nobody who is known (RFC 9701).',
  answer_algorithm_unsupported: 'The server does not sign with the algorithm that the answer would need.',
  document_unavailable:
    'A document of the client, such as the keys behind its jwks_uri, could not be fetched.',
  storage_unavailable: 'Storage could not be asked, or the outcome of a write is unknown.',
  unexpected: 'An unexpected error; see its cause in the log.',
} as const;

export type RefusalReason = keyof typeof REFUSAL_REASONS;

export type ReasonCode = InactiveReason | RefusalReason;
