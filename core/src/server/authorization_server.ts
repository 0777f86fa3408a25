// The authorization server for hosts: checks the options, wires the parts, and offers each endpoint as an operation.

import { authenticateClient, requireConfidential } from '../clients/authentication.ts';
import { ClientSecrets, ClientSecretUses } from '../clients/client.ts';
import type { DeviceOperations } from '../device/device_authorization.ts';
import { serverMetadata } from '../discovery/metadata.ts';
import { asOAuthError, errorResponse } from '../http/error_response.ts';
import { ConfigurationError, type ReasonCode } from '../http/errors.ts';
import type { ServerEvent } from '../http/events.ts';
import { fetchNothing } from '../http/fetch_document.ts';
import { readForm } from '../http/form.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import {
  audiencePolicy,
  defaultPolicy,
  type IntrospectionOptions,
  type IntrospectionResult,
  introspectToken,
} from '../introspection/introspection.ts';
import type { AuthorizationServerOptions } from '../options/authorization_server_options.generated.ts';
import {
  publishedAlgorithms,
  type ResolvedOptions,
  requiredAlgorithms,
  resolveOptions,
} from '../options/resolved.ts';
import { observe } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import { PROFILES } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Context } from '../request/context.ts';
import { callOf, perform, type Routes, report, reported, requireGroups, routeOf } from '../request/serve.ts';
import { type RevocationOptions, type RevocationResult, revokeToken } from '../revocation/revocation.ts';
import type { AuthorizingStorage, ClientRegistry, IssuingStorage, Storage } from '../storage/contract.ts';
import { guarded, guardedCall, guardedClaims } from '../storage/faults.ts';
import type { StorageGroup } from '../storage/groups.ts';
import { hostStorage } from '../storage/host_storage.ts';
import { tokenWith } from '../token/token.ts';
import { ClientKeys } from '../tokens/client_keys.ts';
import type { TokenContext } from '../tokens/context.ts';
import { hostAccessTokens, hostJwtService } from '../tokens/host_verifiers.ts';
import { SigningKeys, StoredKeysJwtService, withAlgorithms } from '../tokens/jwt_service.ts';
import { ServerSecret } from '../tokens/server_secret.ts';
import { type AccessTokenVerifier, StoredAccessTokenVerifier } from '../tokens/state.ts';
import { type SubjectAudience, sessionIdentifier, subjectIdentifier } from '../tokens/subject_identifier.ts';
import { userInfoOf } from '../userinfo/userinfo.ts';
import { ENDPOINTS, type Endpoints, routesOf } from './endpoints.ts';
import {
  AuthorizationOperations,
  LogoutOperations,
  OperatorOperations,
  type OperatorParts,
} from './operations.ts';

/** The operations of a group of storage methods that the storage lacks. Calling one throws `MissingGroup`. */
export interface MissingOperations<Group extends StorageGroup> {
  /** Name the group in the storage to get the operations. */
  readonly missingGroup?: Group;
}

class Server<S extends Storage> {
  readonly issuer: string;
  readonly storage: S;
  /** Verifies access tokens for every audience. For one audience, use `EmbeddedAccessTokens` of `@grantd/protect`. */
  readonly accessTokens: AccessTokenVerifier;
  /** Around the host's sign-in and consent pages. */
  readonly authorization: S extends AuthorizingStorage
    ? AuthorizationOperations
    : MissingOperations<'authorizationCodes'>;
  /** For codes of devices, if its option is set. */
  readonly device: DeviceOperations | undefined;
  /** Around the host's logout page. */
  readonly logout: LogoutOperations;
  /** For operators: tokens, clients, keys and secrets. */
  readonly operator: OperatorOperations;
  readonly #context: Context;
  readonly #signingKeys: SigningKeys | undefined;
  readonly #endpoints: Endpoints;
  readonly #routes: Routes;

  /** @throws {ConfigurationError} an option is wrong; the message names it and what was expected */
  constructor(options: AuthorizationServerOptions<S>) {
    const resolved = resolveOptions(options);
    const { context, signingKeys, caches } = wire(resolved);
    this.issuer = resolved.issuer;
    this.storage = options.storage;
    this.accessTokens = context.accessTokens;
    this.authorization = new AuthorizationOperations(
      context.documents?.contextFor('browser') ?? context,
    ) as typeof this.authorization;
    const devices = resolved.deviceAuthorization?.open(context, ENDPOINTS.pushedAuthorizationRequest);
    this.device = devices?.operations;
    this.logout = new LogoutOperations(context);
    this.operator = new OperatorOperations(context, { signingKeys, caches });
    this.#context = context;
    this.#signingKeys = signingKeys;
    const endpoints: Endpoints = {
      ...ENDPOINTS,
      token: {
        ...ENDPOINTS.token,
        answer: tokenWith({
          ...devices?.grants,
          ...resolved.tokenExchange?.open(context),
          ...context.trustedIssuers?.grants,
        }),
      },
      ...(devices && { deviceAuthorization: devices.endpoint }),
    };
    this.#endpoints = context.documents?.endpoints(endpoints) ?? endpoints;
    this.#routes = routesOf(context, this.#endpoints);
  }

  // ── Endpoints ──────────────────────────────────────────────────────────────────────────────────────────

  /** `POST /token/introspect` (RFC 7662). */
  introspect(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.introspection, this.#context, request);
  }

  /** `POST /token/revoke` (RFC 7009). */
  revoke(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.revocation, this.#context, request);
  }

  /** `GET` and `POST /userinfo` (OpenID Connect Core §5.3). */
  userInfo(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.userInfo, this.#context, request);
  }

  /** `POST /token` (RFC 6749 §3.2). */
  token(this: AuthorizationServer<IssuingStorage>, request: HttpRequest): Promise<HttpResponse> {
    return this.#perform('token', request);
  }

  /** `POST /par` (RFC 9126). */
  pushAuthorizationRequest(
    this: AuthorizationServer<AuthorizingStorage>,
    request: HttpRequest,
  ): Promise<HttpResponse> {
    return this.#perform('pushedAuthorizationRequest', request);
  }

  /** `POST /register` (RFC 7591). */
  register(this: AuthorizationServer<IssuingStorage>, request: HttpRequest): Promise<HttpResponse> {
    return this.#perform('registration', request);
  }

  /** `GET`, `PUT` and `DELETE /register/{client_id}` (RFC 7592). */
  configureClient(this: AuthorizationServer<IssuingStorage>, request: HttpRequest): Promise<HttpResponse> {
    return this.#perform('clientConfiguration', request);
  }

  /**
   * `GET /.well-known/oauth-authorization-server` and `/.well-known/openid-configuration` (RFC 8414, OpenID Discovery).
   */
  metadata(this: AuthorizationServer<IssuingStorage>, request: HttpRequest): Promise<HttpResponse> {
    return this.#perform('metadata', request);
  }

  /** `GET /jwks` (RFC 7517 §5). */
  jwks(this: AuthorizationServer<IssuingStorage>, request: HttpRequest): Promise<HttpResponse> {
    return this.#perform('jwks', request);
  }

  /** @throws {MissingGroup} the storage lacks what the endpoint needs */
  async #perform(endpoint: keyof typeof ENDPOINTS, request: HttpRequest): Promise<HttpResponse> {
    const { operation, needs } = this.#endpoints[endpoint];
    requireGroups(this.#context, needs, `the operation ${operation}`);
    return perform(this.#endpoints[endpoint], this.#context, request);
  }

  /** Whether an endpoint has the path of this URL. The host serves the authorization endpoint. */
  serves(url: string): boolean {
    return this.operationAt(url) !== undefined;
  }

  /** The operation at the path of this URL, if there is one. It throws `OAuthError`s. */
  operationAt(url: string): ((request: HttpRequest) => Promise<HttpResponse>) | undefined {
    return routeOf(this.#routes, url)?.answer;
  }

  /** Whether the paths of endpoints begin with this one, such as `/auth`. */
  servesBelow(path: string): boolean {
    return [...this.#routes.keys()].some((route) => route.startsWith(`${path}/`));
  }

  /**
   * Answers a request at the endpoint of its path, errors included.
   * @returns `undefined` if no endpoint has that path
   */
  handle(request: HttpRequest): Promise<HttpResponse | undefined> {
    return this.dispatch(request).catch(errorResponse);
  }

  /**
   * Answers a request at the endpoint of its path.
   * @returns `undefined` if no endpoint has that path
   * @throws {OAuthError} a refusal or a fault; `errorResponse` turns it into a response
   */
  dispatch(request: HttpRequest): Promise<HttpResponse | undefined> {
    return this.operationAt(request.url)?.(request) ?? Promise.resolve(undefined);
  }

  /**
   * Reports a fault outside the server to `onEvent`: a body that could not be read, or a response that could not be
   * sent. Adapters call it.
   * @param request of the fault; if no endpoint has its path, the fault is not reported
   */
  reportFault(fault: unknown, request: Pick<HttpRequest, 'url' | 'id'>): void {
    const route = routeOf(this.#routes, request.url);
    if (route !== undefined) report(this.#context, asOAuthError(fault), callOf(route.operation, request));
  }

  // ── The same answers without HTTP ──────────────────────────────────────────────────────────────────────

  /**
   * Introspects a token for a client, or without `caller` for the host, which may see every token.
   * @throws {StorageFault} storage is not available
   * @throws {TypeError} `caller` is there, but `undefined`, such as a client that was not found
   */
  async introspectToken(token: string, query: IntrospectionOptions = {}): Promise<IntrospectionResult> {
    requireNamed(query, 'caller');
    return introspectToken(this.#context, token, query);
  }

  /**
   * Revokes a token and those that depend on it. With `owner`, only if it belongs to that client.
   * @throws {StorageFault} storage is unavailable; the token may or may not be revoked
   * @throws {TypeError} `owner` is there, but `undefined`
   */
  async revokeToken(token: string, order: RevocationOptions = {}): Promise<RevocationResult> {
    requireNamed(order, 'owner');
    return revokeToken(this.#context, token, order);
  }

  /**
   * The user's claims that an access token permits.
   * @throws {OAuthError} `invalid_token`, `insufficient_scope`
   * @throws {StorageFault} storage or `getUserClaims` is unavailable
   */
  userInfoOf(accessToken: string): Promise<Claims> {
    return userInfoOf(this.#context, accessToken);
  }

  /**
   * Authenticates the confidential client that sent a request to an endpoint of the host’s own, with the credentials that
   * the introspection endpoint takes.
   * @param request a form
   * @throws {OAuthError} `invalid_client`, `invalid_request`
   * @throws {StorageFault} storage is unavailable
   */
  authenticateClient(request: HttpRequest): Promise<ClientRecord> {
    const call = callOf('client_authentication', request);
    return reported(this.#context, call, async () => {
      const client = await authenticateClient(this.#context, request, readForm(request), call);
      requireConfidential(client);
      return client;
    });
  }

  /** The metadata document. */
  get serverMetadata(): Readonly<Record<string, unknown>> {
    return serverMetadata(this.#context);
  }

  /**
   * The `sub` by which a client knows a user (OpenID Connect Core §8).
   * @param subject the host's own identifier of the user
   * @throws {Error} the client has pairwise subjects, but no sector, or the server has no `pairwiseSecret`
   */
  subjectIdentifier(client: SubjectAudience, subject: string): Promise<string> {
    return subjectIdentifier(this.#context, client, subject);
  }

  /**
   * The `sid` by which a client knows a session. Clients with pairwise subjects get a different one in each sector.
   * @throws {Error} as `subjectIdentifier`
   */
  sessionIdentifier(client: SubjectAudience, sessionId: string): Promise<string> {
    return sessionIdentifier(this.#context, client, sessionId);
  }

  /**
   * Creates missing signing keys and opens those that the options sign with, so that a wrong server secret fails at
   * start. Reseals keys that are sealed under an older server secret.
   * @throws {Error} no server secret opens a key
   * @throws {StorageFault} storage is unavailable
   */
  async prepare(): Promise<void> {
    await this.#signingKeys?.prepare();
  }

  /**
   * Writes what is still pending: last uses of client secrets, and hashes under a new server secret. Call it before the
   * process ends; otherwise it happens by itself. Ignores storage faults.
   */
  async flush(): Promise<void> {
    await this.#context.clientSecretUses.flush();
  }
}

/**
 * An authorization server for one issuer. Each operation takes an `HttpRequest` and resolves to an `HttpResponse`, or
 * throws an `OAuthError`, which `errorResponse` turns into a response. The adapters do that for you.
 * @example
 * const server = new AuthorizationServer({
 *   issuer: 'https://login.example',
 *   secret, // at least 32 characters
 *   storage,
 * });
 * createServer(mount(server)).listen(8080); // mount from @grantd/core/node
 */
export const AuthorizationServer = Server;

/**
 * The type of a server. The class has no default for its storage: TypeScript would prefer it to the type of a storage
 * that is written as a literal (ADR 142).
 * @typeParam S the storage. Without a group of its methods, the server lacks the operations that need it.
 */
export type AuthorizationServer<S extends Storage = AuthorizingStorage> = Server<S>;

/** A server with any storage, as adapters mount it. */
export type MountedServer = Pick<
  AuthorizationServer<Storage>,
  'issuer' | 'serves' | 'operationAt' | 'servesBelow' | 'handle' | 'dispatch' | 'reportFault'
>;

/** Without a client, the host itself asks. A client that a host did not find must not get the same rights. */
function requireNamed(options: object, name: 'caller' | 'owner'): void {
  if (name in options && !Reflect.get(options, name))
    throw new TypeError(`${name}: expected a client; leave it out to ask as the host`);
}

/**
 * Reports faults and mistakes of the host even if it sets no `onEvent`. A mistake, which is a refusal with a cause in the
 * host's function, is printed once for each reason, because strangers can repeat it at will.
 */
function faultPrinter(): (event: ServerEvent) => void {
  const mistakes = new Set<ReasonCode>(['verifier_rejected', 'client_secret_wrong']);
  return (event) => {
    if (!('reason' in event)) return;
    const { reason, cause } = event;
    const isNewMistake = cause !== undefined && mistakes.delete(reason);
    if (isNewMistake || (event.type === 'refused' && event.status >= 500))
      console.error('grantd', reason, cause);
  };
}

/** For hosts whose tokens are all opaque. `resolveOptions` requires keys of the others. */
const NO_JWTS = hostJwtService({ verify: async () => ({ verified: false, reason: 'unknown_key' }) });

/** Makes the parts of a server, each with what it depends on. */
function wire(options: ResolvedOptions): { context: Context } & OperatorParts {
  const secret = options.secret === undefined ? ServerSecret.none() : new ServerSecret(options.secret);
  const { keys, cache } = options.storage;
  const { storage, findPreviousToken } = options.previousServer?.open(
    options.issuer,
    options.storage,
    options.clock,
  ) ?? { storage: hostStorage(options.storage), findPreviousToken: undefined };
  const signingKeys =
    options.jwtService === undefined && keys !== undefined
      ? new SigningKeys(guarded(keys), secret, options.clock, publishedAlgorithms(options))
      : undefined;
  const ownJwt = signingKeys && new StoredKeysJwtService(signingKeys, options.cachedTokens);
  const service = options.jwtService === undefined ? (ownJwt ?? NO_JWTS) : hostJwtService(options.jwtService);
  const { profile } = options;
  const jwt = profile === undefined ? service : withAlgorithms(service, PROFILES[profile].algorithms);
  for (const algorithm of requiredAlgorithms(options)) {
    if (!jwt.algorithms.includes(algorithm)) {
      throw new ConfigurationError(
        'jwtService',
        `a service that signs with ${algorithm}, by the other options`,
      );
    }
  }

  const {
    oidc,
    registration,
    getSubjectState,
    mayUseClient,
    fetchDocument = fetchNothing,
    onEvent = faultPrinter(),
  } = options;
  const tokenContext: TokenContext = {
    ...options,
    storage,
    secret,
    pairwiseSecret:
      options.pairwiseSecret === undefined ? undefined : new ServerSecret(options.pairwiseSecret),
    jwt,
    getSubjectState: getSubjectState && guardedCall(getSubjectState, 'getSubjectState'),
    findPreviousToken,
  };
  const clientSecrets = new ClientSecrets(secret, options.clock);
  const clientKeys = new ClientKeys({ fetchDocument, clock: options.clock });
  const context: Context = {
    ...options,
    ...tokenContext,
    onEvent: (observe<ServerEvent>).bind(undefined, 'onEvent', onEvent),
    accessTokens:
      options.accessTokenVerifier === undefined
        ? new StoredAccessTokenVerifier(tokenContext)
        : hostAccessTokens(options.accessTokenVerifier, tokenContext),
    fetchDocument,
    canFetch: options.fetchDocument !== undefined,
    answers: [defaultPolicy, audiencePolicy].includes(options.introspectionPolicy)
      ? cache?.answers?.for(options)
      : undefined,
    clientSecrets,
    clientSecretUses: new ClientSecretUses(storage.clients, clientSecrets, options.clock),
    clientKeys,
    signingKeys,
    registration: registration && {
      ...registration,
      ...(typeof registration.openTo === 'function' && {
        openTo: guardedCall(registration.openTo, 'registration.openTo'),
      }),
      clients: guarded(registration.clients),
    },
    oidc: oidc && { ...oidc, getUserClaims: guardedClaims(oidc.getUserClaims) },
    mayUseClient: mayUseClient && guardedCall(mayUseClient, 'mayUseClient'),
    trustedIssuers: options.trustedIssuers?.open({ ...options, storage }),
    documents: undefined,
  };
  const documents = options.clientDocuments?.open(
    context,
    guarded(options.storage.clients as ClientRegistry),
  );
  cache?.limitTokens(options.cachedTokens);
  const ownCaches = [ownJwt, clientSecrets, clientKeys, documents].filter((item) => item !== undefined);
  const caches = cache === undefined ? ownCaches : [...ownCaches, guarded(cache)];
  return { context: { ...context, documents }, signingKeys, caches };
}
