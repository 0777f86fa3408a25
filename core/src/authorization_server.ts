// The authorization server for hosts: checks the options, wires the parts, and offers each endpoint as an operation.
import { type Approval, completeAuthorization } from './authorization/approval.ts';
import {
  type AuthorizationRequest,
  resumeAuthorizationRequest,
  validateAuthorizationRequest,
} from './authorization/authorization_request.ts';
import {
  type AuthorizationRefusal,
  REASON_OF_HOST_REFUSAL,
  refusedAuthorization,
} from './authorization/authorization_response.ts';
import { isExpectedPerson } from './authorization/parameters.ts';
import { endRequest } from './authorization/request_end.ts';
import type { AuthorizationServerOptions } from './authorization_server_options.ts';
import { ClientSecrets, ClientSecretUses } from './clients/client.ts';
import type { Context } from './context.ts';
import { serverMetadata } from './discovery/metadata.ts';
import { ENDPOINTS, routesOf } from './endpoints.ts';
import { observe } from './environment.ts';
import { FormerJwts, formerTokenFinder } from './former_tokens/former_jwts.ts';
import { withFormerTokens } from './former_tokens/former_tokens.ts';
import { asOAuthError, errorResponse } from './http/error_response.ts';
import { ConfigurationError } from './http/errors.ts';
import type { ServerEvent } from './http/events.ts';
import { fetchNothing } from './http/fetch_document.ts';
import type { HttpRequest, HttpResponse } from './http/http.ts';
import {
  anyClientPolicy,
  type IntrospectionQuery,
  type IntrospectionResult,
  introspectToken,
} from './introspection/introspection.ts';
import {
  completeLogout,
  isHintedSession,
  type LogoutRequest,
  resumeLogoutRequest,
  validateLogoutRequest,
} from './logout/logout.ts';
import { type EndedSession, type LogoutDelivery, notifyLogout } from './logout/notification.ts';
import { type Explanation, explainToken } from './operator/explanation.ts';
import { type IssuedByOperator, issueByOperator, type OperatorIssue } from './operator/operator_issue.ts';
import type { Claims } from './protocol/claims.ts';
import type { SigningAlgorithm } from './protocol/client_metadata.ts';
import type { ClientRecord, ClientSecretRecord } from './protocol/records.ts';
import { type InitialAccessOrder, newInitialAccessToken } from './registration/admission.ts';
import { documentByOperator } from './registration/checked_document.ts';
import { type ClientIdentity, recordOf } from './registration/client_document.ts';
import { type ResolvedOptions, requiredAlgorithms, resolveOptions } from './resolved_options.ts';
import { type RevocationOrder, type RevocationResult, revokeToken } from './revocation/revocation.ts';
import { callOf, perform, type Routes, report, reported, requireMethod, routeOf } from './serve.ts';
import type { NewClient } from './storage/contract.ts';
import { guarded, guardedCall, hostStorage, type ReadableStorage } from './storage/host_storage.ts';
import { ClientKeys } from './tokens/client_keys.ts';
import type { TokenContext } from './tokens/context.ts';
import { SigningKeys, StoredKeysJwtService } from './tokens/jwt_service.ts';
import { newOpaque } from './tokens/opaque_token.ts';
import { type SecretDependents, ServerSecret, secretDependents } from './tokens/server_secret.ts';
import { AccessTokenVerifier } from './tokens/state.ts';
import { type SubjectAudience, sessionIdentifier, subjectIdentifier } from './tokens/subject_identifier.ts';
import { userInfoOf } from './userinfo/userinfo.ts';

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
export class AuthorizationServer {
  readonly issuer: string;
  /** Verifies access tokens for every audience. For one audience, use `EmbeddedAccessTokens` of `@grantd/protect`. */
  readonly accessTokens: AccessTokenVerifier;
  readonly #context: Context;
  readonly #signingKeys: SigningKeys | undefined;
  readonly #routes: Routes;

  /** @throws {ConfigurationError} an option is wrong; the message names it and says what was expected */
  constructor(options: AuthorizationServerOptions) {
    const resolved = resolveOptions(options);
    const { context, signingKeys } = wire(resolved);
    this.issuer = resolved.issuer;
    this.accessTokens = context.accessTokens;
    this.#context = context;
    this.#signingKeys = signingKeys;
    this.#routes = routesOf(context);
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
  token(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.token, this.#context, request);
  }

  /** `POST /par` (RFC 9126). */
  pushAuthorizationRequest(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.pushedAuthorizationRequest, this.#context, request);
  }

  /** `POST /register` (RFC 7591). */
  register(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.registration, this.#context, request);
  }

  /** `GET`, `PUT` and `DELETE /register/{client_id}` (RFC 7592). */
  configureClient(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.clientConfiguration, this.#context, request);
  }

  /**
   * `GET /.well-known/oauth-authorization-server` and `/.well-known/openid-configuration` (RFC 8414, OpenID Discovery).
   */
  metadata(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.metadata, this.#context, request);
  }

  /** `GET /jwks` (RFC 7517 §5). */
  jwks(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.jwks, this.#context, request);
  }

  /**
   * Whether an endpoint has the path of this URL. The authorization endpoint does not count, because the host serves
   * it.
   */
  serves(url: string): boolean {
    return this.operationAt(url) !== undefined;
  }

  /**
   * Returns the operation at the path of this URL, or `undefined` if there is none. The operation throws `OAuthError`s.
   */
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

  // ── Authorization endpoint, in two steps around the host's sign-in (RFC 6749 §3.1) ────────────────────────

  /**
   * First step: checks an authorization request. Then the host signs the user in and asks for consent.
   * @throws {OAuthError} `errorResponse` redirects it to the client if that is safe
   * @example
   * const authorization = await server.validateAuthorizationRequest(request);
   * // sign the user in, ask for consent
   * return server.completeAuthorization(authorization, { subject: user.id, authTime, sessionId });
   */
  validateAuthorizationRequest(request: HttpRequest): Promise<AuthorizationRequest> {
    return reported(this.#context, callOf('authorization', request), () => {
      requireMethod(['GET', 'POST'], request);
      return validateAuthorizationRequest(this.#context, request);
    });
  }

  /**
   * Rebuilds a request from its `parameters`, on a later page of the host. Checks client and parameters again, but not
   * the request object or pushed request that they came from.
   * @param parameters of `validateAuthorizationRequest`; keep them where users cannot change them
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} like `validateAuthorizationRequest`
   */
  resumeAuthorizationRequest(
    parameters: Readonly<Record<string, string>>,
    requestId?: string,
  ): Promise<AuthorizationRequest> {
    const call = callOf('authorization', { id: requestId });
    return reported(this.#context, call, () => resumeAuthorizationRequest(this.#context, parameters));
  }

  /**
   * Second step, after approval: returns the browser to the client with a code.
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} `access_denied`: the user or the client has been disabled; `invalid_request`: the
   *   authorization request was already answered
   */
  completeAuthorization(
    request: AuthorizationRequest,
    approval: Approval,
    requestId?: string,
  ): Promise<HttpResponse> {
    const call = { ...callOf('authorization', { id: requestId }), clientId: request.client.id };
    return reported(this.#context, call, () => completeAuthorization(this.#context, request, approval));
  }

  /**
   * Second step, without approval: returns the browser to the client with an error such as `access_denied` or
   * `login_required`. For an unchecked client the response has `leaving`, and its page asks first.
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} the authorization request was already answered
   */
  refuseAuthorization(
    request: AuthorizationRequest,
    code: AuthorizationRefusal,
    description: string,
    requestId?: string,
  ): Promise<HttpResponse> {
    const call = { ...callOf('authorization', { id: requestId }), clientId: request.client.id };
    return reported(this.#context, call, async () => {
      const ended = await endRequest(this.#context, request);
      if (ended !== undefined) throw ended;
      const reason = REASON_OF_HOST_REFUSAL[code];
      const error = refusedAuthorization(this.#context, request, { code, description, reason });
      report(this.#context, error, call);
      return errorResponse(error);
    });
  }

  /**
   * Returns the `sub` by which a client knows a user (OpenID Connect Core §8).
   * @throws {Error} the client has pairwise subjects, but no sector, or the server has no `pairwiseSecret`
   */
  subjectIdentifier(client: SubjectAudience, subject: string): Promise<string> {
    return subjectIdentifier(this.#context, client, subject);
  }

  /**
   * Returns the `sid` by which a client knows a session. With pairwise subjects it differs by sector.
   * @throws {Error} like `subjectIdentifier`
   */
  sessionIdentifier(client: SubjectAudience, sessionId: string): Promise<string> {
    return sessionIdentifier(this.#context, client, sessionId);
  }

  /**
   * Whether an authorization request allows this user: it names this one or none (OpenID Connect Core §3.1.2.1,
   * §5.5.1).
   */
  isExpectedPerson(
    request: Pick<AuthorizationRequest, 'client' | 'expectedSubject'>,
    subject: string,
  ): Promise<boolean> {
    return isExpectedPerson(this.#context, request, subject);
  }

  // ── Logout endpoint, in two steps around the host's page, and back-channel logout ──────────────────────────

  /**
   * First step: checks a logout request (RP-Initiated Logout §2). It ends nothing: the host asks the user, unless
   * `isHintedSession`, and then ends the session.
   * @throws {OAuthError} `errorResponse` renders it and never redirects it to a client
   */
  validateLogoutRequest(request: HttpRequest): Promise<LogoutRequest> {
    const call = callOf('logout', request);
    return reported(this.#context, call, () => {
      requireMethod(['GET', 'POST'], request);
      return validateLogoutRequest(this.#context, request, (error) => report(this.#context, error, call));
    });
  }

  /**
   * Rebuilds a request from its `parameters`, on a later page of the host.
   * @param parameters of `validateLogoutRequest`; keep them where users cannot change them
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} like `validateLogoutRequest`
   */
  resumeLogoutRequest(
    parameters: Readonly<Record<string, string>>,
    requestId?: string,
  ): Promise<LogoutRequest> {
    const call = callOf('logout', { id: requestId });
    return reported(this.#context, call, () => resumeLogoutRequest(this.#context, parameters));
  }

  /**
   * Whether the client has proven with an ID token that it means this session. If not, the host must ask the user
   * (RP-Initiated Logout §2).
   * @param subject the host's own identifier of the user
   */
  isHintedSession(request: LogoutRequest, subject: string, sessionId: string): Promise<boolean> {
    return isHintedSession(this.#context, request, subject, sessionId);
  }

  /**
   * Second step, after the session has ended: returns the browser to the client (RP-Initiated Logout §3). For an
   * unchecked client the response has `leaving`, and its page asks first.
   * @returns `undefined` if the request has no registered redirect URI, so that the user stays with the host
   */
  completeLogout(request: LogoutRequest): HttpResponse | undefined {
    return completeLogout(request);
  }

  /**
   * Notifies a client once that a session has ended (Back-Channel Logout §2.5). If the outcome is `failed`, retry later
   * with another call.
   * @throws {StorageFault} storage is unavailable
   */
  notifyLogout(session: EndedSession): Promise<LogoutDelivery> {
    return notifyLogout(this.#context, session);
  }

  // ── Without HTTP ───────────────────────────────────────────────────────────────────────────────────────

  /**
   * Introspects a token. With `caller`, the introspection policy applies; without, the host sees every token.
   * @throws {StorageFault} storage is unavailable
   * @example
   * const { active, scope } = await server.introspectToken(token);
   */
  introspectToken(token: string, query: IntrospectionQuery = {}): Promise<IntrospectionResult> {
    const { caller, hint } = query;
    const policy = caller === undefined ? anyClientPolicy : this.#context.introspectionPolicy;
    return introspectToken(this.#context, token, { caller, hint, policy });
  }

  /**
   * Revokes a token and those that depend on it. With `owner`, only if it belongs to that client.
   * @throws {StorageFault} storage is unavailable; the token may or may not be revoked
   */
  revokeToken(token: string, order: RevocationOrder = {}): Promise<RevocationResult> {
    return revokeToken(this.#context, token, order);
  }

  /**
   * Returns the user's claims that an access token permits.
   * @throws {OAuthError} `invalid_token`, `insufficient_scope`
   * @throws {StorageFault} storage or `getUserClaims` is unavailable
   */
  userInfoOf(accessToken: string): Promise<Claims> {
    return userInfoOf(this.#context, accessToken);
  }

  /** The members of the metadata document. */
  get serverMetadata(): Readonly<Record<string, unknown>> {
    return serverMetadata(this.#context);
  }

  // ── For operators ──────────────────────────────────────────────────────────────────────────────────────

  /** Explains what a token is and whether it is alive. If it is not, explains why and since when. */
  explainToken(token: string): Promise<Explanation> {
    return explainToken(this.#context, token);
  }

  /**
   * Issues `count` sets of tokens in one transaction, without a grant by a user.
   * @throws {OperatorIssueError} the client or a scope does not allow it
   */
  issueTokens(order: OperatorIssue, count = 1): Promise<readonly IssuedByOperator[]> {
    return issueByOperator(this.#context, order, count);
  }

  /** Returns the record of a client secret, for `ClientRecord.secrets`. */
  hashClientSecret(clientSecret: string): Promise<ClientSecretRecord> {
    return this.#context.clientSecrets.hash(clientSecret);
  }

  /** Returns a new client secret with 256 random bits. */
  newClientSecret(): string {
    return newOpaque('client_secret', this.#context.random);
  }

  /**
   * Makes a client's record from metadata that an operator wrote. The names are those of `MEMBER_NAMES`: RFC 7591
   * §2, its extensions, and our own. Stores nothing.
   * @param registered the client before a change; its present URLs are not checked again
   * @throws {ClientMetadataError} a member is wrong; the message names it
   * @example
   * const client = await server.clientFrom({ id: 'web-app' }, { redirect_uris: ['https://app.example/callback'] });
   */
  async clientFrom(
    identity: ClientIdentity,
    members: Readonly<Record<string, unknown>>,
    registered?: ClientRecord,
  ): Promise<NewClient> {
    return recordOf(identity, await documentByOperator(this.#context, members, registered));
  }

  /** Returns a new initial access token, for `registration` with `openTo: 'initial_access_token'`. */
  newInitialAccessToken(order: InitialAccessOrder): Promise<string> {
    return newInitialAccessToken(this.#context, order);
  }

  /**
   * Creates missing signing keys and opens all of them, so that a wrong server secret fails at start. Reseals keys that
   * are sealed under an older server secret.
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

  /**
   * Returns what depends on each server secret, so that an operator knows when an old one can be dropped.
   * @param clients all clients
   * @throws {StorageFault} storage is unavailable
   */
  async secretDependents(clients: readonly ClientRecord[]): Promise<SecretDependents> {
    const { secret, clock } = this.#context;
    return secretDependents(clients, (await this.#signingKeys?.seals()) ?? new Map(), {
      fingerprints: await secret.fingerprints(),
      nowMs: clock(),
    });
  }

  /**
   * Makes the next signing key of an algorithm the current one, and publishes a new next key.
   * @param options with `now`, does not wait until clients know the next key; some may reject its signatures for a
   *   while
   * @returns `kid` of the new current key
   * @throws {SigningKeyTooYoung} clients may still have a cached key set without the next key
   * @throws {Error} the host set its own `JwtService`
   */
  async rotateSigningKey(
    algorithm: SigningAlgorithm,
    { now = false }: { readonly now?: boolean } = {},
  ): Promise<string> {
    return this.#ownKeys().rotate(algorithm, now);
  }

  /**
   * Returns the seconds until clients know the next key, so that `rotateSigningKey` accepts the algorithm.
   * @throws {Error} the host set its own `JwtService`
   */
  async secondsUntilRotation(algorithm: SigningAlgorithm): Promise<number> {
    return this.#ownKeys().secondsUntilRotation(algorithm);
  }

  #ownKeys(): SigningKeys {
    if (this.#signingKeys === undefined)
      throw new Error('the signing keys belong to the host’s own JwtService');
    return this.#signingKeys;
  }
}

/** Reports faults even if the host sets no `onEvent`. */
function printFaultEvent(event: ServerEvent): void {
  if (event.type === 'refused' && event.status >= 500) console.error('grantd', event.reason, event.cause);
}

/** Makes the parts of a server, each with what it depends on. */
function wire(options: ResolvedOptions): { context: Context; signingKeys: SigningKeys | undefined } {
  const secret = new ServerSecret(options.secret);
  const { keys } = options.storage;
  const { storage, findFormerToken } = withFormer(options, hostStorage(options.storage));
  const signingKeys =
    options.jwtService === undefined && keys !== undefined
      ? new SigningKeys(guarded(keys), secret, options.clock, requiredAlgorithms(options))
      : undefined;
  const jwt = options.jwtService ?? (signingKeys && new StoredKeysJwtService(signingKeys));
  if (jwt === undefined) throw new TypeError('options without keys were not refused');
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
    fetchDocument = fetchNothing,
    onEvent = printFaultEvent,
  } = options;
  const tokenContext: TokenContext = {
    ...options,
    storage,
    secret,
    pairwiseSecret:
      options.pairwiseSecret === undefined ? undefined : new ServerSecret(options.pairwiseSecret),
    jwt,
    getSubjectState: getSubjectState && guardedCall(getSubjectState),
    findFormerToken,
  };
  const clientSecrets = new ClientSecrets(secret, options.clock);
  const context: Context = {
    ...options,
    ...tokenContext,
    onEvent: (event) => observe('onEvent', onEvent, event),
    accessTokens: new AccessTokenVerifier(tokenContext),
    fetchDocument,
    canFetch: options.fetchDocument !== undefined,
    clientSecrets,
    clientSecretUses: new ClientSecretUses(storage.clients, clientSecrets, options.clock),
    clientKeys: new ClientKeys({ fetchDocument, clock: options.clock }),
    registration: registration && {
      ...registration,
      ...(typeof registration.openTo === 'function' && { openTo: guardedCall(registration.openTo) }),
      clients: guarded(registration.clients),
    },
    oidc: oidc && { ...oidc, getUserClaims: guardedCall(oidc.getUserClaims) },
  };
  return { context, signingKeys };
}

/** With `formerTokens`, revoking a token of the previous server also revokes the new ones that replaced it. */
function withFormer(
  { formerTokens, clock, issuer }: ResolvedOptions,
  own: ReadableStorage,
): Pick<TokenContext, 'storage' | 'findFormerToken'> {
  if (formerTokens === undefined) return { storage: own, findFormerToken: undefined };
  const { tokens, find } = withFormerTokens(own, { former: guarded(formerTokens), clock });
  return {
    storage: { ...own, tokens },
    findFormerToken: formerTokenFinder(issuer, new FormerJwts(formerTokens), find),
  };
}
