// Records that storage keeps: readonly plain data. Seconds and milliseconds count from 1970-01-01T00:00:00Z.
import type { JWK } from 'jose';
import type { AuthorizationDetails } from './authorization_details.ts';
import type { Claims, ClaimsRequest, Confirmation } from './claims.ts';
import type { ClientMetadata } from './client_members.ts';
import type { GrantType, SigningAlgorithm, TokenFormat } from './client_metadata.ts';

/** A client secret as stored. */
export interface ClientSecretRecord {
  /** HMAC-SHA-256 (base64url) of the secret under a key derived from the server's secret. */
  readonly hash: string;
  /**
   * The secret, encrypted under another key derived from the same server secret. Only of clients that sign assertions
   * with it (`client_secret_jwt`).
   */
  readonly sealed?: string;
  /** Fingerprint of that server secret. Without it, all server secrets are tried. */
  readonly serverSecret?: string;
  readonly createdAtMs?: number;
  /** Seconds since 1970 at which the secret stops working. Absent: never. */
  readonly expiresAt?: number;
  /** Updated at most once an hour. */
  readonly lastUsedAtMs?: number;
}

export interface ClientRecord {
  readonly id: string;
  /** Shown to users. */
  readonly name?: string;
  /** Newest first. A client is public only if its metadata names the method `none`, not because it has no secrets. */
  readonly secrets?: readonly ClientSecretRecord[];
  readonly grantTypes: readonly GrantType[];
  /** Scopes that the client may obtain. */
  readonly scopes: readonly string[];
  readonly redirectUris: readonly string[];
  /** URI of the API that this client is. Makes the client a resource server (RFC 8707). */
  readonly resource?: string;
  /** Whether a confidential client's refresh tokens rotate. Default: `true`. */
  readonly rotateRefreshTokens?: boolean;
  /** Overrides the server's option. */
  readonly accessTokenFormat?: TokenFormat;
  readonly accessTokenAlgorithm?: SigningAlgorithm;
  readonly idTokenAlgorithm?: SigningAlgorithm;
  /** Metadata without a field of its own (RFC 7591 §2). */
  readonly metadata?: ClientMetadata;
  /**
   * SHA-256 (base64url) of the registration access token (RFC 7592 §3). Absent if the client did not register itself.
   */
  readonly registrationTokenDigest?: string;
  /**
   * Seconds since 1970 of the self-registration (`client_id_issued_at`, RFC 7591 §3.2.1). Absent for an operator's
   * client.
   */
  readonly registeredAt?: number;
  /**
   * Seconds since 1970 at which the client's metadata document was last valid. Only of clients whose identifier is the URL
   * of such a document. `noteDocument` raises it.
   */
  readonly documentValidAt?: number;
  /**
   * Seconds since 1970 until which a client that registered itself is in use: its tokens live, or it asked for some.
   * Absent before the first use. Set by `noteUse`.
   */
  readonly usedUntil?: number;
  /** Raised by every mass revocation and disabling. Tokens that copied a lower number are inactive. */
  readonly generation?: number;
  /** Raised by every change of the record, including its secrets. */
  readonly revision?: number;
  /** Raised by changes of the metadata, but not by the use or rotation of a secret. */
  readonly registrationRevision?: number;
  readonly disabledAtMs?: number;
}

/** An API: an enabled client with a `resource`. Several clients can be the same API. */
export interface ApiRecord {
  readonly clientId: string;
  readonly resource: string;
  /** Scopes that the API declares (`api_scopes`). */
  readonly scopes: readonly string[];
}

/** What tokens depend on in addition to their own row. Each has a generation number (ADR 8). */
export type Principal = 'client' | 'subject' | 'session' | 'grant';

/** The state of a principal, compared with what the token copied from it. */
export interface Standing {
  /** The generation when the token was issued. */
  readonly copied: number;
  /** The generation now. */
  readonly current: number;
  /** Milliseconds since 1970 at which `current` was last raised. */
  readonly raisedAtMs?: number;
  /** Milliseconds since 1970. Absent unless the principal is disabled. */
  readonly disabledAtMs?: number;
}

export type TokenKind = 'access_token' | 'refresh_token';

/** A token from which another one was obtained (RFC 8693). */
export interface Ancestor {
  readonly kind: TokenKind;
  readonly id: string;
  /** Of the first one that a client obtained: this client, which is the application through which the others act. */
  readonly clientId?: string;
  /** Of the JWT of a trusted issuer. */
  readonly issuer?: string;
}

/**
 * One issued token. A pair is a refresh token with the access tokens that were issued with it. A family is all
 * successors of one refresh token. A grant is what one authorization by a user led to; pairs and families belong to one
 * grant.
 */
export interface TokenRecord {
  /** `jti` of a JWT, or the SHA-256 digest (base64url) of an opaque token. */
  readonly id: string;
  readonly kind: TokenKind;
  /** SHA-256 (base64url) of the token as issued. A record without one is accepted by `id` alone. */
  readonly digest?: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** `token_type` of the token response: `DPoP` if it is bound to a key, otherwise `Bearer`. Absent for refresh tokens. */
  readonly tokenType?: string;
  /** What the token is bound to. Absent for bearer tokens. */
  readonly confirmation?: Confirmation;
  /** The server's identifier of the user. Absent if the client acts for itself. */
  readonly subject?: string;
  /** Claims as issued. Can be absent for a JWT access token, which contains them itself. */
  readonly claims?: Claims;
  /** Claims that the authorization request asked for with `claims` (OpenID Connect Core §5.5). */
  readonly claimsRequest?: ClaimsRequest;
  /** Resources that access tokens upon a refresh token may be for (RFC 8707 §2.2), or that an exchanged token is for. */
  readonly resources?: readonly string[];
  /** For refresh tokens: details that the grant's access tokens may have (RFC 9396 §6). */
  readonly authorizationDetails?: AuthorizationDetails;
  /** Milliseconds since 1970. */
  readonly issuedAtMs: number;
  /** Seconds since 1970; equal to the `exp` claim. Zero means revoked. */
  readonly expiresAt: number;
  /** `kid` of the signing key. */
  readonly keyId?: string;
  readonly pairId?: string;
  readonly familyId?: string;
  readonly grantId?: string;
  readonly sessionId?: string;
  /** For exchanged tokens: all tokens that it was obtained from, the first one first. It is dead once one of them is. */
  readonly ancestors?: readonly Ancestor[];
  /** For refresh tokens: milliseconds since 1970 of the rotation. */
  readonly supersededAtMs?: number;
  /** For refresh tokens: `id` of the successor. */
  readonly successorId?: string;
  readonly revokedAtMs?: number;
  /** Milliseconds since 1970. Tokens that were issued earlier are inactive. */
  readonly notBeforeMs?: number;
  readonly standing?: Partial<Readonly<Record<Principal, Standing>>>;
  /** Set by stores that can tell: lookups of an access token that return the same version return equal records. */
  readonly version?: number | string;
}

/** A token to be stored. Tokens with the same `pairId` or `familyId` must belong to the same grant. */
export type NewToken = Omit<
  TokenRecord,
  'supersededAtMs' | 'successorId' | 'revokedAtMs' | 'notBeforeMs' | 'standing' | 'version'
> & {
  readonly digest: string;
  /** Seconds since 1970 until which the row is kept; at least `expiresAt`. */
  readonly keepUntil: number;
};

/** An authorization code that waits to be redeemed. */
export interface AuthorizationCodeRecord {
  /** SHA-256 digest (base64url) of the code. */
  readonly id: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Whether the authorization request contained `redirect_uri` (RFC 6749 §4.1.3). */
  readonly redirectUriGiven: boolean;
  readonly codeChallenge?: string;
  /** What the code is bound to (`dpop_jkt`, RFC 9449 §10). */
  readonly confirmation?: Confirmation;
  readonly scopes: readonly string[];
  readonly subject: string;
  readonly grantId: string;
  readonly sessionId?: string;
  readonly nonce?: string;
  /**
   * Claims for the grant's tokens: the client's `sub` of the user, `username`, `auth_time`, `acr`, `amr`, `sid`. And
   * `cnf`, which repeats `confirmation`.
   */
  readonly claims: Claims & { readonly sub: string };
  readonly claimsRequest?: ClaimsRequest;
  /** Resources that access tokens may be for (RFC 8707 §2.1). */
  readonly resources?: readonly string[];
  /** Details that access tokens may have, as granted (RFC 9396 §7.1). */
  readonly authorizationDetails?: AuthorizationDetails;
  readonly issuedAtMs: number;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  readonly redeemedAtMs?: number;
  readonly revokedAtMs?: number;
  readonly notBeforeMs?: number;
  readonly standing?: Partial<Readonly<Record<Principal, Standing>>>;
}

export type NewAuthorizationCode = Omit<
  AuthorizationCodeRecord,
  'redeemedAtMs' | 'revokedAtMs' | 'notBeforeMs' | 'standing'
>;

/** What one authorization by a user led to. Exists as long as it has live tokens. */
export interface GrantRecord {
  readonly id: string;
  readonly clientId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** The session that ends the grant when it ends. */
  readonly sessionId?: string;
  readonly createdAtMs: number;
}

/** A grant with a live token, or a code that can be redeemed. */
export interface UsableGrant extends GrantRecord {
  /** The APIs that its live tokens are for, sorted. Absent if they name none. */
  readonly resources?: readonly string[];
}

export interface KeyRecord {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  /** A `next` key is published but does not sign yet. A `retired` key only verifies. */
  readonly status: 'next' | 'current' | 'retired';
  readonly publicJwk: JWK;
  /** The private key, encrypted under a key derived from the server's secret. */
  readonly sealedPrivateKey: string;
  readonly createdAtMs: number;
  readonly retiredAtMs?: number;
}
