// `npm run docs` writes this file from the tables in core/src/options.ts. Change those.
import type { EndpointPaths, GetUserClaims } from './clients/client.ts';
import type { IntrospectionPolicy, OpenTo } from './context.ts';
import type { Clock, RandomSource } from './environment.ts';
import type { FormerTokens } from './former_tokens/former_jwts.ts';
import type { ServerEvent } from './http/events.ts';
import type { FetchDocument } from './http/fetch_document.ts';
import type { ClaimsByScope } from './protocol/claims.ts';
import type { AssertionAudience, SigningAlgorithm } from './protocol/client_metadata.ts';
import type { GrantType, TokenFormat } from './protocol/records.ts';
import type { Awaitable, Storage } from './storage/contract.ts';
import type { ApplicationClaims } from './tokens/application_claims.ts';
import type { SubjectState } from './tokens/context.ts';
import type { JwtService } from './tokens/jwt_service.ts';
/** Options of `new AuthorizationServer()`. */
export interface AuthorizationServerOptions {
  /** URL that names this server. It is the base of every other URL (RFC 8414 §2). */
  readonly issuer: string;
  /**
   * Secret of at least 32 characters from which all keys derive. To change it, give a list: the server uses the first
   * and accepts all.
   */
  readonly secret: string | readonly string[];
  /** Where clients, tokens, codes and keys are kept. */
  readonly storage: Storage;
  /**
   * Secret of at least 32 characters for pairwise subject identifiers. It must never change, since each identifier
   * would change with it (OpenID Connect Core §8.1). Default: none, and no client can have pairwise subjects.
   */
  readonly pairwiseSecret?: string;
  /** Signs and verifies JWTs. Default: a service over storage.keys, which is required then. */
  readonly jwtService?: JwtService;
  /**
   * Tokens of the server that this one replaces. They stay valid until they expire. It needs storage.getPrincipalState.
   * Default: none.
   */
  readonly formerTokens?: FormerTokens;
  /** OpenID Connect. Default: off. */
  readonly oidc?: OidcOptions;
  /**
   * Claims of the application itself, such as roles, groups or a tenant, for tokens, UserInfo and introspection.
   * Default: none.
   */
  readonly applicationClaims?: ApplicationClaims;
  /** Dynamic client registration (RFC 7591, RFC 7592). Default: off. */
  readonly registration?: RegistrationOptions;
  /** Authentication context classes (acr) that a sign-in can have (OpenID Connect Core §2). Default: none. */
  readonly acrValues?: readonly string[];
  /**
   * Fetches the URLs that clients name (jwks_uri, sector_identifier_uri, request_uri) and delivers back-channel
   * logouts. It must refuse addresses inside the server’s own network, as documentFetcher() of @grantd/core/node does.
   * Default: the server fetches nothing, and refuses what would need it.
   */
  readonly fetchDocument?: FetchDocument;
  /** Paths below the issuer, if the host routes them elsewhere. Default: those of DEFAULT_PATHS. */
  readonly paths?: Partial<EndpointPaths>;
  /**
   * Says whether a user is enabled, disabled or unknown. Only the tokens of an enabled user are active. Default: as
   * storage says.
   */
  readonly getSubjectState?: (subject: string) => Awaitable<SubjectState>;
  /**
   * Receives refusals, inactive answers, revocations and answered calls, for logs and audit. Default: console.error for
   * faults.
   */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Milliseconds since 1970. Default: the system’s clock. */
  readonly clock?: Clock;
  /** Random bytes, as many as asked for. Default: the system’s generator. */
  readonly random?: RandomSource;
  /** Whether introspection requires client authentication (RFC 7662 §2.1). Default: `true`. */
  readonly authenticateIntrospect?: boolean;
  /** Whether revocation requires client authentication (RFC 7009 §2.1). Default: `true`. */
  readonly authenticateRevoke?: boolean;
  /**
   * Whether introspection refuses public clients. It has no effect if introspection is not authenticated. Default:
   * `true`.
   */
  readonly introspectionRequiresConfidentialClient?: boolean;
  /**
   * Who may introspect which token: any client, or only the client that owns it and the APIs in its audience (RFC 7662
   * §4). Default: `any_client`.
   */
  readonly introspectionPolicy?: 'any_client' | 'audience' | IntrospectionPolicy;
  /**
   * Whether an unknown token_type_hint is ignored instead of refused. A client can have this for itself:
   * ignore_unknown_token_type_hint (RFC 7009 §2.2.1). Default: `false`.
   */
  readonly ignoreUnknownTokenTypeHints?: boolean;
  /**
   * Audiences (aud) of access tokens that UserInfo accepts, such as the issuer. By default an API can read a user’s
   * claims with the token that it received. Default: any.
   */
  readonly userInfoAudiences?: readonly string[];
  /**
   * Whether every authorization request must be pushed. A client can require it for itself (RFC 9126 §5). Default:
   * `false`.
   */
  readonly requirePushedAuthorizationRequests?: boolean;
  /**
   * Hosts from which the server fetches a request_uri that the client did not register. Include the port if it is not
   * 443 (RFC 9101 §10.4.1). Default: none.
   */
  readonly requestUriHosts?: readonly string[];
  /**
   * Whether every request object needs nbf and exp. By default those in the parameter request need exp, and those
   * behind a request_uri need neither (FAPI 2.0 Message Signing §5.3.1). Default: `false`.
   */
  readonly strictRequestObjects?: boolean;
  /** Format of new access tokens. A client can have a format of its own (RFC 9068). Default: `jwt`. */
  readonly accessTokenFormat?: TokenFormat;
  /** Algorithm that signs new access tokens. Default: `RS256`. */
  readonly accessTokenAlgorithm?: SigningAlgorithm;
  /** Algorithm that signs new ID tokens. Default: `RS256`. */
  readonly idTokenAlgorithm?: SigningAlgorithm;
  /**
   * APIs (resource URIs) whose access tokens have the typ header JWT instead of at+jwt, because their verifier refuses
   * at+jwt. It applies to tokens for such an API alone; UserInfo refuses them (RFC 9068 §2.1). Default: none.
   */
  readonly apisWithPlainJwts?: readonly string[];
  /**
   * Whether new refresh tokens are opaque instead of JWTs. Refresh tokens of either kind stay valid when this changes.
   * Default: `false`.
   */
  readonly useOpaqueRefreshTokens?: boolean;
  /** Audience (aud) of access tokens for which the client named no resource. Default: the issuer. */
  readonly defaultAudience?: string | readonly string[];
  /** Seconds until an access token expires. Default: `3600`. */
  readonly accessTokenLifetime?: number;
  /** Seconds until a refresh token expires, counted anew at each rotation. Default: `1209600`. */
  readonly refreshTokenLifetime?: number;
  /**
   * Seconds after which the user signs in again, however often the refresh token was rotated. 0 is without end.
   * Default: 7776000 (90 days), or refreshTokenLifetime if that is longer.
   */
  readonly refreshFamilyLifetime?: number;
  /** Seconds until an ID token expires. Default: `3600`. */
  readonly idTokenLifetime?: number;
  /** Seconds until an authorization code expires (RFC 6749 §4.1.2). Default: `60`. */
  readonly authorizationCodeLifetime?: number;
  /** Seconds in which the browser must bring a pushed authorization request (RFC 9126 §2.2). Default: `60`. */
  readonly pushedRequestLifetime?: number;
  /** Seconds in which the client may retry with the predecessor of a rotated refresh token. Default: `10`. */
  readonly refreshGrace?: number;
}

/** OpenID Connect is on if this block is given. */
export interface OidcOptions {
  /** The attributes of a user, for UserInfo. A rejection is a storage fault (OpenID Connect Core §5.3). */
  readonly getUserClaims: GetUserClaims;
  /** Which scope permits which claims (OpenID Connect Core §5.4). Default: those of OpenID Connect. */
  readonly claimsByScope?: ClaimsByScope;
}

/** Dynamic client registration (RFC 7591), and what clients may change later (RFC 7592). */
export interface RegistrationOptions {
  /**
   * Who may register: everyone, clients with an initial access token from newInitialAccessToken, or clients with one
   * that the host accepts (RFC 7591 §3).
   */
  readonly openTo: OpenTo;
  /**
   * Scopes that such clients may obtain. Default: those of OpenID Connect and offline_access, to which a user consents,
   * and no scope of an API.
   */
  readonly scopes?: readonly string[];
  /**
   * Resource URIs of the APIs that such clients may ask for. A client keeps the list with which it registered. Default:
   * none.
   */
  readonly apis?: readonly string[];
  /**
   * Grants that they may use. With client_credentials a stranger gets tokens without any user. Default:
   * authorization_code and refresh_token.
   */
  readonly grantTypes?: readonly GrantType[];
  /**
   * Lets them use http and localhost, so that codes can be read on the way. For development only. Default: `false`.
   */
  readonly allowInsecureUris?: boolean;
  /**
   * Audience that their assertions may name: the issuer alone, or also the URL of the endpoint, which could mean
   * another server as well. A client keeps the setting with which it registered. Default: `issuer`.
   */
  readonly assertionAudience?: AssertionAudience;
  /**
   * Lets confidential clients that register themselves leave out PKCE, which exposes them to code injection. A client
   * keeps the setting with which it registered (RFC 9700 §2.1.1). Default: `false`.
   */
  readonly insecureAllowMissingPkce?: boolean;
  /**
   * How many self-registered clients there can be. Further registrations are refused. They are counted at each
   * registration. Default: `10000`.
   */
  readonly mostClients?: number;
}
