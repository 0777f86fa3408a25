import type { Claims, ClaimsByScope } from '../protocol/claims.ts';
import type { FetchDocument } from '../protocol/fetch_document.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { AccessTokenVerifier } from '../tokens/access_token_verifier.ts';
import type { ClientKeys } from '../tokens/client_keys.ts';
import type { TokenContext } from '../tokens/context.ts';
import type { FoundToken } from '../tokens/find.ts';
import type { ClientSecrets } from './client_authentication/client_secret.ts';
import type { ClientSecretUses } from './client_authentication/client_secret_uses.ts';
import type { Operation, ServerEvent } from './events.ts';
import type { ResolvedRegistration } from './registration/registration_settings.ts';

/**
 * Whether a caller may learn about a token. Where introspection is not authenticated there is no caller.
 * A refusal looks like any other inactive token.
 */
export type IntrospectionPolicy = (caller: ClientRecord | undefined, token: FoundToken) => Awaitable<boolean>;

/** The attributes of a person by the server's own identifier; `undefined` where there is no such person. */
export type GetUserClaims = (subject: string) => Awaitable<Claims | undefined | null>;

/** OpenID Connect, where it is on. */
export interface OidcContext {
  readonly getUserClaims: GetUserClaims;
  readonly claimsByScope: ClaimsByScope;
}

/** Paths below the issuer, each with a leading slash. */
export interface EndpointPaths {
  readonly token: string;
  readonly introspection: string;
  readonly revocation: string;
  readonly userInfo: string;
  readonly authorization: string;
  readonly endSession: string;
  readonly pushedAuthorizationRequest: string;
  readonly jwks: string;
  /** Of registration; each client's own is below it. */
  readonly registration: string;
}

/** What endpoints work with; made once from the options, never changed. */
export interface Context extends TokenContext {
  readonly accessTokens: AccessTokenVerifier;
  readonly clientKeys: ClientKeys;
  readonly clientSecrets: ClientSecrets;
  readonly clientSecretUses: ClientSecretUses;
  /** Refuses everything where nothing may be fetched. */
  readonly fetchDocument: FetchDocument;
  readonly canFetch: boolean;
  /** `undefined` where clients cannot register themselves. */
  readonly registration: ResolvedRegistration | undefined;
  readonly oidc: OidcContext | undefined;
  readonly authenticateIntrospect: boolean;
  readonly authenticateRevoke: boolean;
  readonly introspectionRequiresConfidentialClient: boolean;
  readonly introspectionPolicy: IntrospectionPolicy;
  readonly ignoreUnknownTokenTypeHints: boolean;
  /** `aud` values that UserInfo accepts; `undefined`: any. */
  readonly userInfoAudiences: readonly string[] | undefined;
  /** Whether request objects need `nbf` and `exp`, those behind a `request_uri` as well. */
  readonly strictRequestObjects: boolean;
  /** Authentication context classes that a sign-in with the host can have. */
  readonly acrValues: readonly string[];
  readonly requirePushedAuthorizationRequests: boolean;
  /** Whose documents a `request_uri` may name although the client did not register it. */
  readonly requestUriHosts: readonly string[];
  readonly paths: EndpointPaths;
  readonly onEvent: (event: ServerEvent) => void;
}

/** What becomes known about one request while it is answered. */
export interface Call {
  readonly operation: Operation;
  /** Set once the client is authenticated, or named by a token that is alive. */
  clientId?: string;
  /** The host's identifier of the request. */
  readonly requestId?: string;
}
