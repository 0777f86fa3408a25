// `npm run docs` writes this file from the tables in core/src/options/options.ts. Change those.
import type { DpopNonces, MayUseClient } from '../clients/client.ts';
import type { CertificateReader } from '../clients/distinguished_name.ts';
import type { DeviceAuthorization } from '../device/device_authorization.ts';
import type { TokenExchange } from '../exchange/token_exchange.ts';
import type { EndpointPaths } from '../http/endpoint_names.ts';
import type { ServerEvent } from '../http/events.ts';
import type { FetchDocument } from '../http/fetch_document.ts';
import type { Clock, RandomSource } from '../platform/environment.ts';
import type { AcceptedServer } from '../previous_server/previous_jwts.ts';
import type { ClaimsByScope } from '../protocol/claims.ts';
import type {
  AssertionAlgorithm,
  AssertionAudience,
  ClientAlgorithm,
  GrantType,
  ProfileName,
  SigningAlgorithm,
  TokenFormat,
} from '../protocol/client_metadata.ts';
import type { ClientDocuments } from '../registration/client_documents.ts';
import type { IntrospectionPolicy, OpenTo } from '../request/context.ts';
import type { AuthorizingStorage, Awaitable, Storage } from '../storage/contract.ts';
import type { ApplicationClaims } from '../tokens/application_claims.ts';
import type { DetailsTypes } from '../tokens/authorization_details.ts';
import type { GetUserClaims, SubjectState } from '../tokens/context.ts';
import type { JwtService, JwtVerifier } from '../tokens/jwt_service.ts';
import type { AccessTokenVerifier } from '../tokens/state.ts';
import type { TrustedIssuers } from '../trust/trusted_issuers.ts';
/** Options of `new AuthorizationServer()`. */
export interface AuthorizationServerOptions<S extends Storage = AuthorizingStorage> {
  /** URL that names this server, and is the base of its other URLs (RFC 8414 §2). */
  readonly issuer: string;
  /**
   * Secret of at least 32 characters. The server derives keys from it, which hash client secrets and encrypt signing
   * keys. To rotate it, pass a list: the server uses the first secret for new hashes and encryption, and accepts data
   * that was made with any secret of the list. Default: none. Required if the server issues tokens, has signing keys or
   * hashes client secrets.
   */
  readonly secret?: string | readonly string[];
  /** Stores clients and tokens, and what else the server needs, in groups of methods. */
  readonly storage: S;
  /**
   * Secret of at least 32 characters for pairwise subject identifiers. Never change it: every identifier would change
   * (OpenID Connect Core §8.1). Default: none, so no client can have pairwise subjects.
   */
  readonly pairwiseSecret?: string;
  /**
   * Signs and verifies JWTs. A server that issues no tokens only needs to verify them, as jwtVerifier() does. Default:
   * a service that uses storage.keys, which is then required unless all tokens are opaque (storage.tokens.keyedBy).
   */
  readonly jwtService?: JwtVerifier | JwtService;
  /**
   * Verifies access tokens for UserInfo: signature, typ, issuer and record. The server then checks that the token is
   * alive. Default: the verifier of the library.
   */
  readonly accessTokenVerifier?: AccessTokenVerifier;
  /**
   * Whether UserInfo also accepts access tokens whose typ is JWT or absent, if their record has the digest of the token
   * or storage.tokens.identify names them. Other JWTs of the same key, such as ID tokens, may then pass for access
   * tokens (RFC 9068 §2.1). Default: `false`.
   */
  readonly insecureAllowGenericJwts?: boolean;
  /**
   * Whether the server also calls storage.clients.verifySecret for unknown clients, and ignores the result. Without
   * these calls, the time of a response reveals which clients exist. Default: `true`.
   */
  readonly verifySecretForUnknownClients?: boolean;
  /**
   * The server that this one replaces. Its tokens are accepted until they expire. Requires storage.getPrincipalState.
   * Default: none.
   */
  readonly previousServer?: AcceptedServer;
  /** Turns on OpenID Connect. Default: off. */
  readonly oidc?: OidcOptions;
  /** Additional claims, such as roles, groups or a tenant, in tokens, UserInfo and introspection. Default: none. */
  readonly applicationClaims?: ApplicationClaims;
  /**
   * Types of authorization details that clients may request, each with a JSON Schema (RFC 9396 §2). Default: none, so
   * the server ignores authorization_details.
   */
  readonly authorizationDetails?: DetailsTypes;
  /** Turns on dynamic client registration (RFC 7591, RFC 7592). Default: off. */
  readonly registration?: RegistrationOptions;
  /**
   * Accepts clients whose identifier is the URL of a document with their metadata. Needs fetchDocument (Client ID
   * Metadata Documents). Default: off.
   */
  readonly clientDocuments?: ClientDocuments;
  /**
   * Lets devices without a browser sign users in with a short code. Users enter it on a page of your application (RFC
   * 8628). Default: off.
   */
  readonly deviceAuthorization?: DeviceAuthorization;
  /**
   * Lets services exchange the token of a caller for one with which they call the next service (RFC 8693). Default:
   * off.
   */
  readonly tokenExchange?: TokenExchange;
  /**
   * Lets workloads authenticate as clients with JWTs of their platform, such as Kubernetes or GitHub Actions, instead
   * of a secret (RFC 7523 §2.2). Default: none.
   */
  readonly trustedIssuers?: TrustedIssuers;
  /** Authentication context classes (acr) that sign-ins can reach (OpenID Connect Core §2). Default: none. */
  readonly acrValues?: readonly string[];
  /**
   * Fetches client URLs (jwks_uri, sector_identifier_uri, request_uri) and delivers back-channel logouts. It must
   * refuse addresses inside the server’s own network, as documentFetcher() of @grantd/core/node does. Default: the
   * server refuses requests that need a fetch.
   */
  readonly fetchDocument?: FetchDocument;
  /**
   * Whether clients can bind tokens to TLS certificates, and authenticate with a registered certificate
   * (self_signed_tls_client_auth). With loadCertificateReader, they can also authenticate by a name in a certificate
   * (tls_client_auth). Adapters get the certificate from their option clientCertificate (RFC 8705 §2). Default:
   * `false`.
   */
  readonly clientCertificates?: boolean | CertificateReader;
  /**
   * Origin at which clients present certificates. If it is not the issuer’s origin, browsers show no dialog for
   * certificates. The metadata names its endpoints (RFC 8705 §5). Default: the issuer’s origin.
   */
  readonly mtlsOrigin?: string;
  /**
   * Paths of the endpoints, below the issuer. Set those that your application serves at other paths than the default.
   * Default: DEFAULT_PATHS.
   */
  readonly paths?: Partial<EndpointPaths>;
  /**
   * Returns whether a user is enabled, disabled or unknown. Only enabled users have active tokens. Default: the state
   * in storage.
   */
  readonly getSubjectState?: (subject: string) => Awaitable<SubjectState>;
  /**
   * Returns whether a user may use a client that has allowed_groups: true, false, or acr_unmet if this sign-in is not
   * enough. The server calls it before each code, code exchange, refresh and token exchange. With a sign-in whose amr
   * is known, it also asks about clients that have sign_in_policy, and about sign-ins by recheckedAmr. If it rejects,
   * the response is 503. When a user may no longer use a client, also call storage.revokeGrants. Default: no user may
   * use a client that has allowed_groups.
   */
  readonly mayUseClient?: MayUseClient;
  /**
   * Authentication methods (values of amr) that your application can take from a user after the sign-in. For their
   * grants, the server asks mayUseClient for every client. Default: none.
   */
  readonly recheckedAmr?: readonly string[];
  /**
   * Receives refusals, inactive tokens, revocations and successful requests, for logs and audits. Default:
   * console.error for faults.
   */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Returns the current time in milliseconds since 1970. Default: the system clock. */
  readonly clock?: Clock;
  /** Returns the requested number of cryptographically random bytes. Default: the system’s random generator. */
  readonly random?: RandomSource;
  /** Whether introspection requires client authentication (RFC 7662 §2.1). Default: `true`. */
  readonly authenticateIntrospect?: boolean;
  /** Whether revocation requires client authentication (RFC 7009 §2.1). Default: `true`. */
  readonly authenticateRevoke?: boolean;
  /**
   * Whether introspection rejects public clients. If authenticateIntrospect is false, the option has no effect.
   * Default: `true`.
   */
  readonly introspectionRequiresConfidentialClient?: boolean;
  /**
   * FAPI 2.0 profile of the server and all its clients (docs/fapi.md). It changes the defaults of other options, and
   * rejects values that it does not allow. You can also set a profile for single clients (FAPI 2.0 Security Profile
   * §5.3.2). Default: none.
   */
  readonly profile?: ProfileName;
  /**
   * Who may introspect a token. any_client: every client, except that a self-registered client without a resource
   * (which is no API) may introspect only its own tokens; audience: only the client to which the token was issued, the
   * APIs in the token’s audience, and clients with follow_all (RFC 7662 §4). Default: `any_client`.
   */
  readonly introspectionPolicy?: 'any_client' | 'audience' | IntrospectionPolicy;
  /**
   * Whether the server ignores an unknown token_type_hint instead of rejecting the request. For a single client, set
   * ignore_unknown_token_type_hint (RFC 7009 §2.2.1). Default: `false`.
   */
  readonly ignoreUnknownTokenTypeHints?: boolean;
  /**
   * Audiences (aud) that UserInfo accepts, such as the issuer. By default, UserInfo accepts tokens for any audience, so
   * an API can use a token that it has received to read the user’s claims. Default: any.
   */
  readonly userInfoAudiences?: readonly string[];
  /**
   * Whether to reject authorization requests with scopes that the client may not have, instead of leaving them out. For
   * a single client, set strict_scopes (RFC 6749 §3.3). Default: `false`.
   */
  readonly strictScopes?: boolean;
  /**
   * Whether every authorization request must be pushed. You can also require this for single clients (RFC 9126 §5).
   * Default: `false`.
   */
  readonly requirePushedAuthorizationRequests?: boolean;
  /**
   * Hosts from which the server fetches a request_uri that the client did not register. Include the port if it is not
   * 443 (RFC 9101 §10.4.1). Default: none.
   */
  readonly requestUriHosts?: readonly string[];
  /**
   * Algorithms with which clients may sign request objects (RFC 9101 §6.2). Default: RS256, RS384, RS512, PS256, PS384,
   * PS512, ES256, ES384, ES512, EdDSA.
   */
  readonly requestObjectAlgorithms?: readonly ClientAlgorithm[];
  /**
   * Algorithms of the assertions that authenticate clients. client_secret_jwt needs HS256, HS384 or HS512, and
   * private_key_jwt needs one of the others (RFC 7523 §3). Default: RS256, RS384, RS512, PS256, PS384, PS512, ES256,
   * ES384, ES512, EdDSA, HS256, HS384, HS512.
   */
  readonly clientAssertionAlgorithms?: readonly AssertionAlgorithm[];
  /**
   * Whether the server rejects RS256, RS384 and RS512 signatures of clients. If true, it removes them from
   * requestObjectAlgorithms, clientAssertionAlgorithms and dpopAlgorithms (FAPI 2.0 Security Profile §5.4.1). Default:
   * `false`.
   */
  readonly refuseRs256FromClients?: boolean;
  /**
   * Whether every request object needs aud, nbf and exp. By default, a request object in the parameter request needs
   * only exp, and one from a request_uri needs none of them (FAPI 2.0 Message Signing §5.3.1). Default: `false`.
   */
  readonly strictRequestObjects?: boolean;
  /** Format of new access tokens. For a single client, set access_token_format (RFC 9068). Default: `jwt`. */
  readonly accessTokenFormat?: TokenFormat;
  /** Algorithm that signs new access tokens. Default: `RS256`. */
  readonly accessTokenAlgorithm?: SigningAlgorithm;
  /** Algorithm that signs new ID tokens. Default: `RS256`. */
  readonly idTokenAlgorithm?: SigningAlgorithm;
  /**
   * APIs (resource URIs) whose verifiers reject the header typ: at+jwt. If such an API is the only audience of an
   * access token, the token gets typ: JWT instead. UserInfo rejects such tokens (RFC 9068 §2.1). Default: none.
   */
  readonly apisWithPlainJwts?: readonly string[];
  /** Whether new refresh tokens are opaque instead of JWTs. Existing refresh tokens stay valid. Default: `false`. */
  readonly useOpaqueRefreshTokens?: boolean;
  /**
   * Algorithms of the DPoP proofs with which clients bind tokens to a key. DPoP is off if the list is empty, or if the
   * storage has no oneTimeIdentifiers (RFC 9449 §5.1). Default: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384,
   * ES512, EdDSA.
   */
  readonly dpopAlgorithms?: readonly ClientAlgorithm[];
  /**
   * Whether DPoP proofs may (offered) or must (required) contain a nonce of this server. A nonce shows that the client
   * did not create the proof in advance (RFC 9449 §8). Default: `offered`.
   */
  readonly dpopNonces?: DpopNonces;
  /** Audience (aud) of access tokens if the request selects no API. Default: the issuer. */
  readonly defaultAudience?: string | readonly string[];
  /**
   * Maximum entries in each cache of tokens per process: of verified JWTs (about 60 bytes each) and, with SQLite, of
   * records of access tokens (usually 150 to 600 bytes each). Half as many answers of introspection are remembered
   * (about 500 bytes each, with PostgreSQL 900). The value 0 turns these caches off. Default: `200000`.
   */
  readonly cachedTokens?: number;
  /** Seconds until an access token expires. Default: `3600`. */
  readonly accessTokenLifetime?: number;
  /**
   * Seconds until a refresh token expires. Each rotation issues a new refresh token with the full lifetime. Default:
   * `1209600`.
   */
  readonly refreshTokenLifetime?: number;
  /**
   * Seconds until all refresh tokens that come from one sign-in expire, even if they were rotated. The user must then
   * sign in again. 0 means no limit. Default: 7776000 (90 days), or refreshTokenLifetime if that is longer.
   */
  readonly refreshFamilyLifetime?: number;
  /** Seconds until an ID token expires. Default: `3600`. */
  readonly idTokenLifetime?: number;
  /** Seconds until an authorization code expires (RFC 6749 §4.1.2). Default: `60`. */
  readonly authorizationCodeLifetime?: number;
  /** Seconds within which the browser must present a pushed authorization request (RFC 9126 §2.2). Default: `60`. */
  readonly pushedRequestLifetime?: number;
  /**
   * Longest lifetime in seconds of assertions that authenticate clients. For a single client, set assertion_lifetime
   * (RFC 7523 §3). Default: `300`.
   */
  readonly clientAssertionLifetime?: number;
  /** Seconds for which a DPoP proof is accepted after its time of issue (iat) (RFC 9449 §11.1). Default: `120`. */
  readonly dpopProofLifetime?: number;
  /**
   * Seconds for which a client may use a refresh token again after its rotation, and gets the same new token. This
   * helps clients that have lost a response. Default: `10`.
   */
  readonly refreshGrace?: number;
}

/** Options of OpenID Connect, which is on if this block is set. */
export interface OidcOptions {
  /** Returns a user’s claims for UserInfo. If it rejects, the response is 503 (OpenID Connect Core §5.3). */
  readonly getUserClaims: GetUserClaims;
  /** Claims that each scope permits (OpenID Connect Core §5.4). Default: the standard claims of OpenID Connect. */
  readonly claimsByScope?: ClaimsByScope;
}

/** Options of dynamic client registration (RFC 7591) and later changes by clients (RFC 7592). */
export interface RegistrationOptions {
  /**
   * Who may register: anyone, or callers with an initial access token from operator.newInitialAccessToken. With a
   * function, your application checks the initial access token itself (RFC 7591 §3).
   */
  readonly openTo: OpenTo;
  /**
   * Scopes that self-registered clients may obtain, in addition to the OpenID Connect scopes and offline_access.
   * Default: none.
   */
  readonly scopes?: readonly string[];
  /** Scopes that self-registered clients may not obtain, such as offline_access. Default: none. */
  readonly closedScopes?: readonly string[];
  /**
   * Resource URIs of the APIs that self-registered clients may request. A client keeps the list with which it
   * registered. Default: none.
   */
  readonly apis?: readonly string[];
  /**
   * Exact redirect URIs that self-registered clients may also use, although the rules for their type of application
   * exclude them, such as one with a private-use scheme without a period (RFC 8252 §7.1). Default: none.
   */
  readonly redirectUris?: readonly string[];
  /** Types of authorization details that self-registered clients may request (RFC 9396 §10). Default: none. */
  readonly authorizationDetailsTypes?: readonly string[];
  /**
   * Grant types that self-registered clients may use. With client_credentials, anyone who may register gets tokens
   * without a user. Default: authorization_code and refresh_token.
   */
  readonly grantTypes?: readonly GrantType[];
  /**
   * For development only. Whether self-registered clients may use http and localhost, which exposes authorization codes
   * on the network. Default: `false`.
   */
  readonly allowInsecureUris?: boolean;
  /**
   * Audience that assertions of self-registered clients may name. issuer: only the issuer; endpoint: also the URL of
   * the endpoint that receives the assertion. With endpoint, an attacker’s authorization server could name this URL as
   * one of its own endpoints, and replay the assertions that it gets from clients. Clients keep the setting with which
   * they registered. Default: `issuer`.
   */
  readonly assertionAudience?: AssertionAudience;
  /**
   * Whether self-registered confidential clients may omit PKCE, which exposes them to code injection. A client keeps
   * the setting with which it registered (RFC 9700 §2.1.1). Default: `false`.
   */
  readonly insecureAllowMissingPkce?: boolean;
  /** Maximum number of self-registered clients. The server rejects further registrations. Default: `10000`. */
  readonly mostClients?: number;
  /**
   * Maximum number of self-registered clients from one IPv4 address or IPv6 /64, if anyone may register. The program
   * counts an IPv6 /48 as four addresses. Needs requests with a place. Default: `200`.
   */
  readonly mostClientsPerAddress?: number;
}
