import type { ClientContext } from './clients/client.ts';
import type { FetchDocument } from './http/fetch_document.ts';
import type { AssertionAudience, GrantType } from './protocol/client_metadata.ts';
import type { ClientRecord } from './protocol/records.ts';
import type { Awaitable } from './storage/contract.ts';
import type { RegistrableClients } from './storage/host_storage.ts';
import type { FoundToken } from './tokens/context.ts';
import type { AccessTokenVerifier } from './tokens/state.ts';

/**
 * Whether a caller may learn about a token. Where introspection is not authenticated there is no caller.
 * A refusal looks like any other inactive token.
 */
export type IntrospectionPolicy = (caller: ClientRecord | undefined, token: FoundToken) => Awaitable<boolean>;

/** What endpoints work with; made once from the options, never changed. */
export interface Context extends ClientContext {
  readonly accessTokens: AccessTokenVerifier;
  /** Refuses everything where nothing may be fetched. */
  readonly fetchDocument: FetchDocument;
  readonly canFetch: boolean;
  /** `undefined` where clients cannot register themselves. */
  readonly registration: ResolvedRegistration | undefined;
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
}

/** Who may register (RFC 7591 §3); the function says whether the host accepts an initial access token. */
export type OpenTo = 'anyone' | 'initial_access_token' | ((initialAccessToken: string) => Awaitable<boolean>);

/** The option `registration` with its defaults. */
export interface ResolvedRegistration {
  readonly openTo: OpenTo;
  readonly scopes: readonly string[];
  readonly apis: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly allowInsecureUris: boolean;
  readonly assertionAudience: AssertionAudience;
  readonly insecureAllowMissingPkce: boolean;
  readonly mostClients: number;
  readonly clients: RegistrableClients;
}
