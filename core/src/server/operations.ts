// The operations of an authorization server that are not endpoints, in groups: around the host's sign-in page, around its
// logout page, and for operators.
import { type Approval, completeAuthorization } from '../authorization/approval.ts';
import {
  type AuthorizationRequest,
  resumeAuthorizationRequest,
  validateAuthorizationRequest,
} from '../authorization/authorization_request.ts';
import {
  type AuthorizationRefusal,
  REASON_OF_HOST_REFUSAL,
  refusedAuthorization,
} from '../authorization/authorization_response.ts';
import { isExpectedPerson } from '../authorization/parameters.ts';
import { endRequest } from '../authorization/request_end.ts';
import type { AuthorizationContext } from '../authorization/target.ts';
import { newClientSecret, readsSecret, shortestSecret } from '../clients/authentication.ts';
import { errorResponse } from '../http/error_response.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import {
  completeLogout,
  isHintedSession,
  type LogoutRequest,
  resumeLogoutRequest,
  validateLogoutRequest,
} from '../logout/logout.ts';
import {
  type EndedSession,
  type LogoutContext,
  type LogoutDelivery,
  notifyLogout,
} from '../logout/notification.ts';
import {
  type Explanation,
  explainDescendants,
  explainRecord,
  explainToken,
  explainUnused,
} from '../operator/explanation.ts';
import { type IssuedByOperator, issueByOperator, type OperatorIssue } from '../operator/operator_issue.ts';
import type { ClientMetadata } from '../protocol/client_members.ts';
import type { SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { Ancestor, ClientRecord, ClientSecretRecord } from '../protocol/records.ts';
import { type InitialAccessOrder, newInitialAccessToken } from '../registration/admission.ts';
import { documentByOperator } from '../registration/checked_document.ts';
import {
  type ClientIdentity,
  ClientMetadataError,
  recordOf,
  signingAlgorithmsOf,
} from '../registration/client_document.ts';
import type { Context } from '../request/context.ts';
import { callOf, report, reported, requireGroups, requireMethod } from '../request/serve.ts';
import type { Awaitable, NewClient } from '../storage/contract.ts';
import type { SigningKeys } from '../tokens/jwt_service.ts';
import { type SecretDependents, secretDependents } from '../tokens/server_secret.ts';

/**
 * The authorization endpoint (RFC 6749 §3.1). The host owns its URL and its pages: it validates the request, signs the
 * user in and asks for consent, then completes or refuses the request.
 *
 * @example
 * const request = await server.authorization.validate(httpRequest);
 * // … sign the user in, ask for consent …
 * return server.authorization.complete(request, { subject: user.id });
 */
export class AuthorizationOperations {
  readonly #context: AuthorizationContext;

  constructor(context: AuthorizationContext) {
    this.#context = context;
  }

  /**
   * Validates a request to the authorization endpoint. A `HEAD` asks for nothing to happen: show its page, and give no
   * code.
   * @throws {OAuthError} `errorResponse` redirects it to the client if that is safe
   * @throws {MissingGroup} the storage has no codes
   */
  async validate(request: HttpRequest): Promise<AuthorizationRequest> {
    this.#requireCodes();
    return reported(this.#context, callOf('authorization', request), () => {
      requireMethod(BROWSER_METHODS, request);
      return validateAuthorizationRequest(this.#context, request);
    });
  }

  /**
   * Rebuilds a validated request from its `parameters` on a later page of the host. Checks the client and the parameters
   * again, but does not fetch a request object or read a pushed request again.
   * @param parameters `AuthorizationRequest.parameters`, from a place where users cannot change them
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} as `validate`
   */
  async resume(
    parameters: Readonly<Record<string, string>>,
    requestId?: string,
  ): Promise<AuthorizationRequest> {
    this.#requireCodes();
    const call = callOf('authorization', { id: requestId });
    return reported(this.#context, call, () => resumeAuthorizationRequest(this.#context, parameters));
  }

  /**
   * Sends the user back to the client with a code.
   * @param requestId the host's identifier of the HTTP request in which the user approved, for events
   * @throws {OAuthError} `access_denied`: the user or the client has been disabled; `invalid_request`: the request already
   *   has a response
   */
  async complete(
    request: AuthorizationRequest,
    approval: Approval,
    requestId?: string,
  ): Promise<HttpResponse> {
    this.#requireCodes();
    const call = { ...callOf('authorization', { id: requestId }), clientId: request.client.id };
    return reported(this.#context, call, () => completeAuthorization(this.#context, request, approval));
  }

  /**
   * Sends the user back to the client with an error such as `access_denied` or `login_required`. For an unchecked client
   * the response has `leaving`, and its page asks the user first.
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} the request already has a response
   */
  refuse(
    request: AuthorizationRequest,
    code: AuthorizationRefusal,
    description: string,
    requestId?: string,
  ): Promise<HttpResponse> {
    const call = { ...callOf('authorization', { id: requestId }), clientId: request.client.id };
    return reported(this.#context, call, async () => {
      const reason = REASON_OF_HOST_REFUSAL[code];
      const error = await refusedAuthorization(this.#context, request, { code, description, reason });
      const ended = await endRequest(this.#context, request);
      if (ended !== undefined) throw ended;
      report(this.#context, error, call);
      return errorResponse(error);
    });
  }

  /**
   * Whether the request is for this user: `true` if it names no user (OpenID Connect Core §3.1.2.1, §5.5.1).
   * @param subject the host's own identifier of the user
   */
  isExpectedUser(
    request: Pick<AuthorizationRequest, 'client' | 'expectedSubject'>,
    subject: string,
  ): Promise<boolean> {
    return isExpectedPerson(this.#context, request, subject);
  }

  #requireCodes(): void {
    requireGroups(this.#context, ['authorizationCodes'], 'the operation authorization');
  }
}

/**
 * The logout endpoint (RP-Initiated Logout) and logout notifications (Back-Channel Logout). The host owns the endpoint's
 * URL, its page and the sessions.
 */
export class LogoutOperations {
  readonly #context: LogoutContext;

  constructor(context: LogoutContext) {
    this.#context = context;
  }

  /**
   * Validates a request to the logout endpoint (RP-Initiated Logout §2). It ends nothing: the host asks the user, unless
   * `isHintedSession`, and ends the session. A `HEAD` ends nothing.
   * @throws {OAuthError} `errorResponse` renders it; it is never redirected to the client
   */
  validate(request: HttpRequest): Promise<LogoutRequest> {
    const call = callOf('logout', request);
    return reported(this.#context, call, () => {
      requireMethod(BROWSER_METHODS, request);
      return validateLogoutRequest(this.#context, request, (error) => report(this.#context, error, call));
    });
  }

  /**
   * Rebuilds a validated request from its `parameters` on a later page of the host.
   * @param parameters `LogoutRequest.parameters`, from a place where users cannot change them
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} as `validate`
   */
  resume(parameters: Readonly<Record<string, string>>, requestId?: string): Promise<LogoutRequest> {
    const call = callOf('logout', { id: requestId });
    return reported(this.#context, call, () => resumeLogoutRequest(this.#context, parameters));
  }

  /**
   * Whether the client proved by an ID token that it means this session. If not, the host must ask the user
   * (RP-Initiated Logout §2).
   * @param subject the host's own identifier of the user
   */
  isHintedSession(request: LogoutRequest, subject: string, sessionId: string): Promise<boolean> {
    return isHintedSession(this.#context, request, subject, sessionId);
  }

  /**
   * Sends the user back to the client after the session has ended (RP-Initiated Logout §3). For an unchecked client the
   * response has `leaving`, and its page asks the user first.
   * @returns `undefined` if the request has no registered `post_logout_redirect_uri`: the host shows its own page
   */
  complete(request: LogoutRequest): HttpResponse | undefined {
    return completeLogout(request);
  }

  /**
   * Notifies one client, once, that a session has ended (Back-Channel Logout §2.5). If the result is `failed`, try again
   * later: each call makes a new logout token.
   * @throws {StorageFault} storage is not available
   */
  notify(session: EndedSession): Promise<LogoutDelivery> {
    return notifyLogout(this.#context, session);
  }
}

/** Methods of requests that a browser brings. */
const BROWSER_METHODS = ['GET', 'HEAD', 'POST'];

/** What the operator's operations need besides the context. */
export interface OperatorParts {
  readonly signingKeys: SigningKeys | undefined;
  /** Every cache of the server and of its storage. */
  readonly caches: readonly { forgetCached(): Awaitable<void> }[];
}

/** What operators do: explain and issue tokens, prepare clients, rotate keys and secrets, empty caches. */
export class OperatorOperations {
  readonly #context: Context;
  readonly #signingKeys: SigningKeys | undefined;
  readonly #caches: OperatorParts['caches'];

  constructor(context: Context, { signingKeys, caches }: OperatorParts) {
    this.#context = context;
    this.#signingKeys = signingKeys;
    this.#caches = caches;
  }

  /**
   * Explains what a token is, whether it is alive, and if not, why and since when.
   * @param token or its identifier, which events name
   */
  async explainToken(token: string): Promise<Explanation> {
    const explanation = await explainToken(this.#context, token);
    const { trustedIssuers } = this.#context;
    if (explanation.kind !== 'unknown') return explanation;
    const row = await trustedIssuers?.rowOf(token);
    const known = await explainRecord(this.#context, row ?? token);
    const unused = row && !known ? await trustedIssuers?.unusedRow(this.#context, token) : undefined;
    return known ?? (unused && explainUnused(unused)) ?? explanation;
  }

  /**
   * The session of everything that clients obtained by JWTs about a subject of a trusted issuer. To end it all, revoke the
   * session.
   * @returns `undefined` without the option `trustedIssuers`
   */
  async sessionOfAssertions(issuer: string, sub: string): Promise<string | undefined> {
    return this.#context.trustedIssuers?.sessionOf(issuer, sub);
  }

  /** Explains the tokens that were obtained from a token by exchanges: at most 100, those that expire last. */
  explainDescendants(token: Ancestor): Promise<readonly (Explanation & Ancestor)[]> {
    return explainDescendants(this.#context, token);
  }

  /**
   * Issues tokens without a grant, all in one transaction.
   * @param count how many access tokens or pairs. Default: 1
   * @throws {OperatorIssueError} the client may not have such a token or scope
   * @throws {MissingGroup} the storage does not issue tokens
   */
  async issueTokens(order: OperatorIssue, count = 1): Promise<readonly IssuedByOperator[]> {
    requireGroups(this.#context, ['issuing'], 'the operation issueTokens');
    return issueByOperator(this.#context, order, count);
  }

  /**
   * Makes the record of a client secret, for `ClientRecord.secrets`: hashed, and for `client_secret_jwt` also sealed.
   * @param metadata of the client. Default: it sends its secret
   * @throws {ClientMetadataError} the client signs assertions with the secret, which is too short for that
   */
  async hashClientSecret(clientSecret: string, metadata?: ClientMetadata): Promise<ClientSecretRecord> {
    const least = shortestSecret(metadata);
    if (new TextEncoder().encode(clientSecret).length < least)
      throw new ClientMetadataError('client_secret', ['too_short', `${least}`]);
    return this.#context.clientSecrets.hash(clientSecret, readsSecret(metadata));
  }

  /**
   * Whether a text is one of a client's secrets that still work.
   * @param secrets `ClientRecord.secrets`
   */
  async isClientSecret(clientSecret: string, secrets: readonly ClientSecretRecord[]): Promise<boolean> {
    return (await this.#context.clientSecrets.match([clientSecret], secrets)) !== undefined;
  }

  /**
   * Returns a new client secret of 256 random bits, or of 512 for `client_secret_jwt`.
   * @param metadata of the client. Default: it sends its secret
   */
  newClientSecret(metadata?: ClientMetadata): string {
    return newClientSecret(this.#context.random, metadata);
  }

  /**
   * Makes a client record from client metadata. Stores nothing.
   * @param members members of RFC 7591 §2 and of grantd, as listed in `MEMBER_NAMES`
   * @param registered the client before the change: its URLs are not fetched again
   * @throws {ClientMetadataError} a member is invalid
   */
  async clientFrom(
    identity: ClientIdentity,
    members: Readonly<Record<string, unknown>>,
    registered?: ClientRecord,
  ): Promise<NewClient> {
    return recordOf(identity, await documentByOperator(this.#context, members, registered));
  }

  /**
   * Publishes signing keys of the algorithms that a client registers. Call it before you store the client: a new key
   * signs as soon as the client uses its algorithm. Does nothing if the host has its own `JwtService`.
   * @throws {StorageFault} storage is not available
   */
  async publishKeys(client: NewClient): Promise<void> {
    await this.#signingKeys?.publish(signingAlgorithmsOf(client));
  }

  /** Returns a new initial access token, for the option `registration` with `openTo: 'initial_access_token'`. */
  newInitialAccessToken(order: InitialAccessOrder): Promise<string> {
    return newInitialAccessToken(this.#context, order);
  }

  /**
   * Counts what depends on each of the server's secrets, in their order, and on none of them.
   * @param clients all clients
   * @throws {StorageFault} storage is not available
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
   * @param options `now`: rotate even if clients may not know the next key yet; some then reject what it signs. `from`:
   * the `kid` of the key to replace; if another one is current, nothing changes
   * @returns `kid` of the current key
   * @throws {SigningKeyTooYoung} clients may not know the next key yet, because they may cache the key set
   * @throws {Error} the host uses its own `JwtService`
   */
  async rotateSigningKey(
    algorithm: SigningAlgorithm,
    { now = false, from }: { readonly now?: boolean; readonly from?: string } = {},
  ): Promise<string> {
    return this.#ownKeys().rotate(algorithm, now, from);
  }

  /**
   * The algorithms that have keys.
   * @throws {Error} the host uses its own `JwtService`
   */
  async signingAlgorithms(): Promise<readonly SigningAlgorithm[]> {
    return this.#ownKeys().algorithms();
  }

  /**
   * Seconds until `rotateSigningKey` accepts an algorithm, because until then clients may not know the next key.
   * @throws {Error} the host uses its own `JwtService`
   */
  async secondsUntilRotation(algorithm: SigningAlgorithm): Promise<number> {
    return this.#ownKeys().secondsUntilRotation(algorithm);
  }

  /**
   * Empties every cache of this process: verified JWTs, signing keys, matched client secrets, fetched client keys, and
   * the records that the storage caches. Requests that start afterwards read everything again. You need it only if you
   * changed the database by hand, since no cache hides a revocation or a changed client.
   * @throws {StorageFault} the storage could not empty its caches
   */
  async forgetCached(): Promise<void> {
    for (const cache of this.#caches) await cache.forgetCached();
  }

  #ownKeys(): SigningKeys {
    if (this.#signingKeys === undefined)
      throw new Error('this server has no signing keys: they belong to the option jwtService');
    return this.#signingKeys;
  }
}
