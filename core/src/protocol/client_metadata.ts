import type { JWK } from 'jose';

/** How a client authenticates (RFC 7591 §2, RFC 7523 §2.2). */
export const AUTHENTICATION_METHODS = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'none',
] as const;
export type AuthenticationMethod = (typeof AUTHENTICATION_METHODS)[number];

/** What the assertions of a client may name as their audience; `endpoint`: its URL besides the issuer. */
export const ASSERTION_AUDIENCES = ['issuer', 'endpoint'] as const;
export type AssertionAudience = (typeof ASSERTION_AUDIENCES)[number];

/** Key management of encrypted answers (RFC 7518 §4.1). */
export const ENCRYPTION_ALGORITHMS = ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW'] as const;
export type EncryptionAlgorithm = (typeof ENCRYPTION_ALGORITHMS)[number];

/** Content encryption of encrypted answers (RFC 7518 §5.1). */
export const CONTENT_ENCRYPTIONS = ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM'] as const;
export type ContentEncryption = (typeof CONTENT_ENCRYPTIONS)[number];

/** Where a client says nothing (OpenID Connect Dynamic Client Registration §2, RFC 9701 §6). */
export const DEFAULT_CONTENT_ENCRYPTION: ContentEncryption = 'A128CBC-HS256';

/** Human-readable members that may be given in several languages (RFC 7591 §2.2). */
export const LOCALIZED_MEMBERS = ['client_name', 'client_uri', 'logo_uri', 'policy_uri', 'tos_uri'] as const;
export type LocalizedMember = (typeof LOCALIZED_MEMBERS)[number];

/** BCP 47, as far as its shape goes. */
export const LANGUAGE_TAG = /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,5}$/;

/**
 * What a client registered besides what its record has members of its own for. Names and values as on the wire, so that
 * nothing has to be translated on the way to storage and back.
 */
export interface ClientMetadata {
  // RFC 7591 §2
  /** Absent: by its secret, in either way, where it has one; otherwise `none`. */
  readonly token_endpoint_auth_method?: AuthenticationMethod;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly policy_uri?: string;
  readonly tos_uri?: string;
  readonly contacts?: readonly string[];
  readonly jwks_uri?: string;
  readonly jwks?: { readonly keys: readonly JWK[] };
  readonly software_id?: string;
  readonly software_version?: string;
  readonly [localized: `${LocalizedMember}#${string}`]: string;

  // OpenID Connect Dynamic Client Registration §2
  readonly application_type?: 'web' | 'native';
  readonly subject_type?: 'public' | 'pairwise';
  readonly sector_identifier_uri?: string;
  readonly token_endpoint_auth_signing_alg?: SigningAlgorithm;
  readonly userinfo_signed_response_alg?: SigningAlgorithm;
  readonly userinfo_encrypted_response_alg?: EncryptionAlgorithm;
  readonly userinfo_encrypted_response_enc?: ContentEncryption;
  readonly request_object_signing_alg?: SigningAlgorithm;
  readonly request_uris?: readonly string[];
  /** Seconds. */
  readonly default_max_age?: number;
  readonly require_auth_time?: boolean;
  readonly default_acr_values?: readonly string[];
  readonly initiate_login_uri?: string;

  // RFC 9126 §6, RFC 9101 §10.5
  readonly require_pushed_authorization_requests?: boolean;
  readonly require_signed_request_object?: boolean;

  // RFC 9701 §6
  readonly introspection_signed_response_alg?: SigningAlgorithm;
  readonly introspection_encrypted_response_alg?: EncryptionAlgorithm;
  readonly introspection_encrypted_response_enc?: ContentEncryption;

  // RP-Initiated Logout §3.1, Back-Channel Logout §2.2
  readonly post_logout_redirect_uris?: readonly string[];
  readonly backchannel_logout_uri?: string;
  /** Always met: every logout token has a `sid`. */
  readonly backchannel_logout_session_required?: boolean;

  // This server's own
  /** Lets the client use plain http off loopback, where codes can be read on the way: for development only. */
  readonly insecure_redirect_uris?: boolean;
  /** `false` if people trust the client as they trust the server; read by the host, which asks for consent. */
  readonly consent_required?: boolean;
  /** Scopes that this API declares; only a token for it can carry them. */
  readonly api_scopes?: readonly string[];
  /** Resource URIs of the APIs that the client may ask for. */
  readonly apis?: readonly string[];
  /** Members that the operator set after the client had registered itself; the client cannot change them. */
  readonly set_by_operator?: readonly string[];
  readonly assertion_audience?: AssertionAudience;
  readonly ignore_unknown_token_type_hint?: boolean;
  /** Confidential clients alone: exposes it to code injection (RFC 9700 §2.1.1). */
  readonly insecure_allow_missing_pkce?: boolean;
  /** Whether its ID tokens carry the claims that UserInfo would answer by scope. */
  readonly id_token_user_claims?: boolean;
  /** `#rrggbb`: the colour of buttons on pages that are shown on behalf of the client. */
  readonly brand_color?: string;
}

/** Names of its members, without language tags. */
export type MetadataName = Exclude<keyof ClientMetadata, `${LocalizedMember}#${string}`>;

export const SIGNING_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** The newer name of EdDSA over that curve (RFC 9864 §2.2). This server signs under the older one, which all know. */
const ED25519 = 'Ed25519';

/** `alg` of what clients sign. */
export const ACCEPTED_ALGORITHMS = [...SIGNING_ALGORITHMS, ED25519] as const;

/** The algorithm of an `alg` value; `undefined` where it is none that is accepted. */
export function signingAlgorithmOf(alg: unknown): SigningAlgorithm | undefined {
  return alg === ED25519 ? 'EdDSA' : SIGNING_ALGORITHMS.find((one) => one === alg);
}

/** The `alg` values of an algorithm. */
export function namesOf(algorithm: SigningAlgorithm): readonly string[] {
  return algorithm === 'EdDSA' ? [algorithm, ED25519] : [algorithm];
}
