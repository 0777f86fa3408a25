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
 * An authorization server for one issuer. Operations take a request value and resolve to a response value;
 * what they throw is an `OAuthError`, which `errorResponse` turns into a response.
 */
export class AuthorizationServer {
  readonly issuer: string;
  /** Verifies access tokens of this server for any audience; `EmbeddedAccessTokens` of `@grantd/protect`, for one. */
  readonly accessTokens: AccessTokenVerifier;
  readonly #context: Context;
  readonly #signingKeys: SigningKeys | undefined;
  readonly #routes: Routes;

  /** @throws {ConfigurationError} an option does not fit; the message names it */
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

  /** `GET /.well-known/oauth-authorization-server` and `/.well-known/openid-configuration` (RFC 8414, OpenID Discovery). */
  metadata(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.metadata, this.#context, request);
  }

  /** `GET /jwks` (RFC 7517 §5). */
  jwks(request: HttpRequest): Promise<HttpResponse> {
    return perform(ENDPOINTS.jwks, this.#context, request);
  }

  /** Whether an endpoint has the path of this URL; the authorization endpoint is the host's own. */
  serves(url: string): boolean {
    return this.operationAt(url) !== undefined;
  }

  /** The endpoint at the path of this URL; `undefined` if there is none. It throws an `OAuthError` for a refusal. */
  operationAt(url: string): ((request: HttpRequest) => Promise<HttpResponse>) | undefined {
    return routeOf(this.#routes, url)?.answer;
  }

  /** Whether the path of an endpoint begins with this one, such as `/auth`. */
  servesBelow(path: string): boolean {
    return [...this.#routes.keys()].some((route) => route.startsWith(`${path}/`));
  }

  /**
   * Answers a request at whichever endpoint its path names, errors included.
   * @returns `undefined` where no endpoint has that path
   */
  handle(request: HttpRequest): Promise<HttpResponse | undefined> {
    return this.dispatch(request).catch(errorResponse);
  }

  /**
   * Answers a request at whichever endpoint its path names.
   * @returns `undefined` where no endpoint has that path
   * @throws {OAuthError} what the endpoint refused; `errorResponse` renders it
   */
  dispatch(request: HttpRequest): Promise<HttpResponse | undefined> {
    return this.operationAt(request.url)?.(request) ?? Promise.resolve(undefined);
  }

  /**
   * Tells `onEvent` of a fault around an endpoint, as of one within: of a body that the host could not read, of an answer
   * that it could not send. Adapters do so by themselves.
   * @param request at which it happened; elsewhere than at an endpoint nobody is told
   */
  reportFault(fault: unknown, request: Pick<HttpRequest, 'url' | 'id'>): void {
    const route = routeOf(this.#routes, request.url);
    if (route !== undefined) report(this.#context, asOAuthError(fault), callOf(route.operation, request));
  }

  // ── The authorization endpoint, in two steps around the host's own sign-in (RFC 6749 §3.1) ────────────────

  /**
   * Checks a request to the authorization endpoint.
   * @throws {OAuthError} `errorResponse` redirects it to the client where that is safe
   */
  validateAuthorizationRequest(request: HttpRequest): Promise<AuthorizationRequest> {
    return reported(this.#context, callOf('authorization', request), () => {
      requireMethod(['GET', 'POST'], request);
      return validateAuthorizationRequest(this.#context, request);
    });
  }

  /**
   * The same request again, from its `parameters`, on a later page of the host. Client and parameters are checked anew;
   * where they came from, a request object or a pushed request, is not asked again.
   * @param parameters as they were, from where nobody could change them
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} as `validateAuthorizationRequest`
   */
  resumeAuthorizationRequest(
    parameters: Readonly<Record<string, string>>,
    requestId?: string,
  ): Promise<AuthorizationRequest> {
    const call = callOf('authorization', { id: requestId });
    return reported(this.#context, call, () => resumeAuthorizationRequest(this.#context, parameters));
  }

  /**
   * Takes the person back to the client with a code.
   * @param requestId the host's identifier of the HTTP request in which the person approved, for events
   * @throws {OAuthError} `access_denied`: the person or the client was disabled meanwhile; `invalid_request`: the request
   *   was answered before
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
   * Redirects the person back to the client without a code: `access_denied`, `login_required` and the like. For a client
   * that nobody checked the response has `leaving`: its page asks first.
   * @param requestId the host's identifier of the request, for its log
   * @throws {OAuthError} the request was answered before
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
   * `sub` as a client is told of a person (OpenID Connect Core §8).
   * @throws {Error} the client's subjects are pairwise, but the server has no `pairwiseSecret`, or the client no sector
   */
  subjectIdentifier(client: SubjectAudience, subject: string): Promise<string> {
    return subjectIdentifier(this.#context, client, subject);
  }

  /**
   * `sid` as a client is told of a session: not the same in every sector, where subjects are pairwise.
   * @throws {Error} as `subjectIdentifier`
   */
  sessionIdentifier(client: SubjectAudience, sessionId: string): Promise<string> {
    return sessionIdentifier(this.#context, client, sessionId);
  }

  /** Whether an authorization request, where it names a person, names this one (OpenID Connect Core §3.1.2.1, §5.5.1). */
  isExpectedPerson(
    request: Pick<AuthorizationRequest, 'client' | 'expectedSubject'>,
    subject: string,
  ): Promise<boolean> {
    return isExpectedPerson(this.#context, request, subject);
  }

  // ── The logout endpoint, in two steps around the host's own page, and the logout of clients ────────────────

  /**
   * Checks a request to the logout endpoint (RP-Initiated Logout §2). It ends nothing: the host asks the person, unless
   * `isHintedSession`, and ends the session.
   * @throws {OAuthError} `errorResponse` renders it; it is never redirected to an application
   */
  validateLogoutRequest(request: HttpRequest): Promise<LogoutRequest> {
    const call = callOf('logout', request);
    return reported(this.#context, call, () => {
      requireMethod(['GET', 'POST'], request);
      return validateLogoutRequest(this.#context, request, (error) => report(this.#context, error, call));
    });
  }

  /**
   * The same request again, from its `parameters`, on a later page of the host.
   * @param parameters as they were, from where nobody could change them
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} as `validateLogoutRequest`
   */
  resumeLogoutRequest(
    parameters: Readonly<Record<string, string>>,
    requestId?: string,
  ): Promise<LogoutRequest> {
    const call = callOf('logout', { id: requestId });
    return reported(this.#context, call, () => resumeLogoutRequest(this.#context, parameters));
  }

  /**
   * Whether the client has shown by an ID token that it means this session of this person; otherwise the person has to
   * be asked (RP-Initiated Logout §2).
   * @param subject the host's own identifier of the person
   */
  isHintedSession(request: LogoutRequest, subject: string, sessionId: string): Promise<boolean> {
    return isHintedSession(this.#context, request, subject, sessionId);
  }

  /**
   * Takes the person back to the client after the session has ended (RP-Initiated Logout §3). For a client that nobody
   * checked the response has `leaving`: its page asks first.
   * @returns `undefined` if the request named no registered place, and the person stays with the host
   */
  completeLogout(request: LogoutRequest): HttpResponse | undefined {
    return completeLogout(request);
  }

  /**
   * Tells a client that a session has ended: one attempt (Back-Channel Logout §2.5). What has `failed` may be tried
   * again later, with a new logout token.
   * @throws {StorageFault} storage could not be asked
   */
  notifyLogout(session: EndedSession): Promise<LogoutDelivery> {
    return notifyLogout(this.#context, session);
  }

  // ── The same answers without HTTP ──────────────────────────────────────────────────────────────────────

  /**
   * What introspection answers about a token: to a client, or to the host itself, which may know everything.
   * @throws {StorageFault} storage could not be asked
   */
  introspectToken(token: string, query: IntrospectionQuery = {}): Promise<IntrospectionResult> {
    const { caller, hint } = query;
    const policy = caller === undefined ? anyClientPolicy : this.#context.introspectionPolicy;
    return introspectToken(this.#context, token, { caller, hint, policy });
  }

  /**
   * Revokes a token with all that goes along; anyone's, unless `owner` is given.
   * @throws {StorageFault} the token may or may not be revoked
   */
  revokeToken(token: string, order: RevocationOrder = {}): Promise<RevocationResult> {
    return revokeToken(this.#context, token, order);
  }

  /**
   * The claims of the person that an access token was issued for, within its scopes.
   * @throws {OAuthError} `invalid_token`, `insufficient_scope`
   * @throws {StorageFault} storage could not be asked
   */
  userInfoOf(accessToken: string): Promise<Claims> {
    return userInfoOf(this.#context, accessToken);
  }

  /** The members of the metadata document, from the live configuration. */
  get serverMetadata(): Readonly<Record<string, unknown>> {
    return serverMetadata(this.#context);
  }

  // ── For operators ──────────────────────────────────────────────────────────────────────────────────────

  /** What a token is, whether it is alive, and if not exactly why and since when. */
  explainToken(token: string): Promise<Explanation> {
    return explainToken(this.#context, token);
  }

  /**
   * Issues tokens without a grant, `count` of them in one transaction.
   * @throws {OperatorIssueError} the client or a scope does not allow it
   */
  issueTokens(order: OperatorIssue, count = 1): Promise<readonly IssuedByOperator[]> {
    return issueByOperator(this.#context, order, count);
  }

  /** A client secret as storage keeps it, in `ClientRecord.secrets`. */
  hashClientSecret(clientSecret: string): Promise<ClientSecretRecord> {
    return this.#context.clientSecrets.hash(clientSecret);
  }

  /** A new client secret of 256 random bits. */
  newClientSecret(): string {
    return newOpaque('client_secret', this.#context.random);
  }

  /**
   * A client's record from what an operator says of it, in the names of RFC 7591 §2 and this server's own; the
   * members are those of `MEMBER_NAMES`. Nothing is stored.
   * @param registered the client before a change: whether its URLs can be fetched is not asked again
   * @throws {ClientMetadataError} a client cannot be so
   */
  async clientFrom(
    identity: ClientIdentity,
    members: Readonly<Record<string, unknown>>,
    registered?: ClientRecord,
  ): Promise<NewClient> {
    return recordOf(identity, await documentByOperator(this.#context, members, registered));
  }

  /** A new initial access token, for the option `registration` with `openTo: 'initial_access_token'`. */
  newInitialAccessToken(order: InitialAccessOrder): Promise<string> {
    return newInitialAccessToken(this.#context, order);
  }

  /**
   * Makes the signing keys where there are none, and opens them: a wrong server secret fails here, not later. Keys that
   * are sealed under a former server secret are sealed under the new one.
   * @throws {Error} a key was sealed under another secret
   * @throws {StorageFault} storage could not be asked
   */
  async prepare(): Promise<void> {
    await this.#signingKeys?.prepare();
  }

  /**
   * Writes what earlier answers left to be written: the last uses of client secrets, and their hashes under a new server
   * secret. It happens by itself; call this before the process ends. A storage fault is no error here.
   */
  async flush(): Promise<void> {
    await this.#context.clientSecretUses.flush();
  }

  /**
   * What depends on each of the server's secrets, in their order, and on none of them.
   * @param clients all clients
   * @throws {StorageFault} storage could not be asked
   */
  async secretDependents(clients: readonly ClientRecord[]): Promise<SecretDependents> {
    const { secret, clock } = this.#context;
    return secretDependents(clients, (await this.#signingKeys?.seals()) ?? new Map(), {
      fingerprints: await secret.fingerprints(),
      nowMs: clock(),
    });
  }

  /**
   * Lets the next signing key of an algorithm sign from now on, and publishes a new next one.
   * @param options `now`: also when clients may not know the next key yet; some then refuse what it signs
   * @returns `kid` of the key that signs now
   * @throws {SigningKeyTooYoung} clients may not know the next key yet, since they may cache the key set
   * @throws {Error} the host brought its own `JwtService`
   */
  async rotateSigningKey(
    algorithm: SigningAlgorithm,
    { now = false }: { readonly now?: boolean } = {},
  ): Promise<string> {
    return this.#ownKeys().rotate(algorithm, now);
  }

  /**
   * Seconds until `rotateSigningKey` takes an algorithm: until then clients may not know the next key.
   * @throws {Error} the host brought its own `JwtService`
   */
  async secondsUntilRotation(algorithm: SigningAlgorithm): Promise<number> {
    return this.#ownKeys().secondsUntilRotation(algorithm);
  }

  #ownKeys(): SigningKeys {
    if (this.#signingKeys === undefined) throw new Error('the keys belong to the host’s own JwtService');
    return this.#signingKeys;
  }
}

/** Reports faults even if the host sets no `onEvent`. */
function printFaultEvent(event: ServerEvent): void {
  if (event.type === 'refused' && event.status >= 500) console.error('grantd', event.reason, event.cause);
}

/** The parts of a server, each with what it depends on. */
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

/** Storage as it is where no server was here before; otherwise such that the tokens of that one end with their new ones. */
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
