// What endpoints receive: the checked options, and the services made from them.
import type { ClientContext, KeptClients } from '../clients/client.ts';
import type { Call } from '../http/events.ts';
import type { FetchDocument } from '../http/fetch_document.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import type { AssertionAudience, ClientAlgorithm, GrantType } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { AnswerMemory, Awaitable } from '../storage/contract.ts';
import type { RegistrableClients } from '../storage/host_storage.ts';
import type { FoundToken } from '../tokens/context.ts';
import type { SigningKeys } from '../tokens/jwt_service.ts';
import type { AccessTokenVerifier } from '../tokens/state.ts';

/**
 * Decides whether a caller may introspect a token. To the caller, a refused token looks like any inactive token.
 * @param caller `undefined` if introspection does not require authentication
 */
export type IntrospectionPolicy = (caller: ClientRecord | undefined, token: FoundToken) => Awaitable<boolean>;

/**
 * Who asks for a client. `browser`: an authorization request, whose refusals are pages. `client`: a request that a new
 * client can begin with. `grant`: a request for tokens, so the client is known from its grant.
 */
export type DocumentUse = 'browser' | 'client' | 'grant';

/** Clients whose identifier is the URL of a metadata document. */
export interface DocumentClients extends KeptClients {
  /**
   * A context whose storage finds clients also by their document. Lookups then also reject with an `OAuthError` if a
   * document is not valid, and with a `DocumentError` if it cannot be fetched.
   */
  contextFor(use: DocumentUse): Context;
  /**
   * The same endpoints, of which those at which clients authenticate to get something find clients by their document.
   * The others never fetch one.
   */
  endpoints<E extends DocumentEndpoints>(endpoints: E): E;
  forgetCached(): void;
}

/** The endpoints that find clients by their document. */
export interface DocumentEndpoints {
  readonly token: AnsweringEndpoint;
  readonly pushedAuthorizationRequest: AnsweringEndpoint;
}

interface AnsweringEndpoint {
  answer(context: Context, request: HttpRequest, call: Call): Promise<HttpResponse>;
}

/** Made once from the options, and never changed. */
export interface Context extends ClientContext {
  /** `undefined` if clients cannot identify themselves by a document. */
  readonly documents: DocumentClients | undefined;
  /** `undefined` if the server does not serve the grant of devices (RFC 8628). */
  readonly deviceAuthorization: object | undefined;
  /** `undefined` if the server exchanges no tokens (RFC 8693). */
  readonly tokenExchange: object | undefined;
  readonly accessTokens: AccessTokenVerifier;
  /** Refuses every URL if the host did not set the option. */
  readonly fetchDocument: FetchDocument;
  readonly canFetch: boolean;
  /** `undefined` if the host uses its own `JwtService`. */
  readonly signingKeys: SigningKeys | undefined;
  /** `undefined` if clients cannot register themselves. */
  readonly registration: ResolvedRegistration | undefined;
  readonly authenticateIntrospect: boolean;
  readonly authenticateRevoke: boolean;
  readonly introspectionRequiresConfidentialClient: boolean;
  readonly introspectionPolicy: IntrospectionPolicy;
  /** `undefined` if something else than records decides the answers of introspection, or the store remembers none. */
  readonly answers: AnswerMemory | undefined;
  readonly ignoreUnknownTokenTypeHints: boolean;
  /** Accepted `aud` values at UserInfo; `undefined` accepts any. */
  readonly userInfoAudiences: readonly string[] | undefined;
  /** Algorithms with which clients may sign request objects. */
  readonly requestObjectAlgorithms: readonly ClientAlgorithm[];
  /** Whether every request object needs `nbf` and `exp`, also one behind a `request_uri`. */
  readonly strictRequestObjects: boolean;
  /** Authentication context classes that a sign-in can reach. */
  readonly acrValues: readonly string[];
  /** Whether authorization requests with scopes that the client may not have are refused. */
  readonly strictScopes: boolean;
  readonly requirePushedAuthorizationRequests: boolean;
  /** Hosts from which a `request_uri` is fetched even if the client did not register it. */
  readonly requestUriHosts: readonly string[];
}

/** Who may register clients (RFC 7591 §3). The function returns whether the host accepts an initial access token. */
export type OpenTo = 'anyone' | 'initial_access_token' | ((initialAccessToken: string) => Awaitable<boolean>);

/** The option `registration` with defaults. */
export interface ResolvedRegistration {
  readonly openTo: OpenTo;
  readonly scopes: readonly string[];
  readonly apis: readonly string[];
  readonly redirectUris: readonly string[];
  readonly authorizationDetailsTypes: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly allowInsecureUris: boolean;
  readonly assertionAudience: AssertionAudience;
  readonly insecureAllowMissingPkce: boolean;
  readonly mostClients: number;
  readonly mostClientsPerAddress: number;
  readonly clients: RegistrableClients;
}
