// Who may use the admin API, and what operations get on behalf of a caller.
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type AuthorizationServer, hasResource, isUnchecked } from '@grantd/core';
import type { NodeRequest } from '@grantd/core/node';
import { EmbeddedAccessTokens, type VerifiedAccessToken } from '@grantd/protect';
import {
  type NodeProtectionOptions,
  type PresentedCertificate,
  protect,
  tokenOf,
} from '@grantd/protect/node';
import { classesFor, factorsNow, strictestOf, usesEmailCode } from '../access/acr.ts';
import { takesEmailCode } from '../access/client_access.ts';
import { Caller } from '../admin/caller.ts';
import { versionCheck } from '../admin/in_process.ts';
import type { AdminParts, OperationParts, SentTest } from '../admin/operation.ts';
import type { AnyOperation } from '../admin/table.ts';
import { rpIdOf } from '../config/acr.ts';
import type { Configuration } from '../config/configuration.ts';
import type { Person } from '../data/people.ts';
import { actingAs, askedStorage } from '../data/tables.ts';
import { ADMIN_SCOPES, type AdminScope, adminAudience } from '../instance/admin_access.ts';
import type { Instance } from '../instance/instance.ts';
import { headerOf } from './input.ts';
import { Problem } from './problems.ts';
import { challengeScheme, REALM, schemeOf } from './refusals.ts';

interface Surroundings {
  readonly configuration: Configuration;
  readonly server: AuthorizationServer;
  readonly isReady: () => Promise<boolean>;
  readonly testMail: (parts: OperationParts, address: string) => Promise<SentTest>;
  /** Returns the certificate of a request’s client. */
  readonly clientCertificate: ((request: NodeRequest) => PresentedCertificate | undefined) | undefined;
}

/** A claim of verified tokens that no token has: the server’s identifier of the user. */
const SUBJECT = 'grantd:subject';

/** The checks of a request, in the order in which they are made. */
export class Admission {
  readonly #instance: Instance;
  readonly #surroundings: Surroundings;
  /** By the scope that a token needs; `undefined` for operations that several scopes admit. */
  readonly #admission: ReadonlyMap<AdminScope | undefined, ReturnType<typeof protect>>;
  readonly #audience: string;
  readonly #tokens: EmbeddedAccessTokens;

  constructor(instance: Instance, surroundings: Surroundings) {
    const { server, clientCertificate } = surroundings;
    const { storage, issuer } = instance;
    this.#instance = instance;
    this.#surroundings = surroundings;
    this.#audience = adminAudience(issuer);
    const tokens = new EmbeddedAccessTokens({
      audience: this.#audience,
      server: {
        accessTokens: {
          async verify(...presented) {
            const { record, claims } = await server.accessTokens.verify(...presented);
            return { record, claims: { ...claims, [SUBJECT]: record.subject } };
          },
        },
      },
    });
    this.#tokens = tokens;
    const options: NodeProtectionOptions = {
      tokens,
      realm: REALM,
      errors: 'forward',
      // It is called with the requests that `admit` receives.
      ...(clientCertificate !== undefined && {
        clientCertificate: (request) => clientCertificate(request as NodeRequest),
      }),
      dpop: {
        baseUrl: new URL(issuer).origin,
        takeOnce: (id, keepUntil) => storage.oneTimeIdentifiers.take(`admin ${id}`, keepUntil),
      },
    };
    const scopes = Object.keys(ADMIN_SCOPES) as readonly AdminScope[];
    this.#admission = new Map([
      [undefined, protect(options)],
      ...scopes.map((scope) => [scope, protect({ ...options, scopes: [scope] })] as const),
    ]);
  }

  /**
   * Requires a token for the operation, and that its client and user may still use the API.
   * @throws {OAuthError} the token is missing, invalid or lacks the scope
   * @throws {Problem} the client or user may not use the API
   */
  async admit(
    operation: Pick<AnyOperation, 'scope' | 'otherScopes'>,
    request: NodeRequest,
    response: ServerResponse,
  ): Promise<Caller> {
    const { scope, otherScopes = [] } = operation;
    const only = otherScopes.length === 0 ? scope : undefined;
    return this.#callerOf(operation, request, await this.#verified(only, request, response));
  }

  /**
   * Asks again about the caller of a request that goes on.
   * @throws {OAuthError | Problem} the caller may no longer do what it was admitted to
   */
  async #readmit(
    operation: Pick<AnyOperation, 'scope' | 'otherScopes'>,
    request: NodeRequest,
    caller: Caller,
  ): Promise<void> {
    const [, scheme = '', token = ''] = /^(\w+) (\S+)$/.exec(headerOf(request, 'authorization') ?? '') ?? [];
    const { der } = this.#surroundings.clientCertificate?.(request) ?? {};
    const certificate = der && createHash('sha256').update(der).digest('base64url');
    const verified = await this.#tokens.verify(token, schemeOf(scheme), certificate);
    const now = await this.#callerOf(operation, request, verified);
    if (now.identity !== caller.identity)
      throw new Problem('insufficient_scope', {
        detail: 'the caller has lost rights since the request began',
      });
  }

  /** @throws {OAuthError | Problem} the client or user may not use the API */
  async #callerOf(
    { scope, otherScopes = [] }: Pick<AnyOperation, 'scope' | 'otherScopes'>,
    request: NodeRequest,
    { claims, scopes, clientId = '' }: VerifiedAccessToken,
  ): Promise<Caller> {
    const admitting = [scope, ...otherScopes].filter((name) => scopes.includes(name));
    if (admitting.length === 0)
      throw new Problem('insufficient_scope', {
        detail: `the token needs one of the scopes ${[scope, ...otherScopes].join(', ')}`,
      });
    const { people } = this.#instance;
    const { clients } = askedStorage(this.#instance.storage);
    const client = await clients.get(clientId);
    const isRegistered =
      client &&
      !isUnchecked(client) &&
      admitting.some((name) => client.scopes.includes(name)) &&
      hasResource(client.metadata?.apis ?? [], this.#audience);
    if (!isRegistered)
      throw new Problem('insufficient_scope', {
        detail: `the client is not registered for ${admitting.join(' or ')}`,
      });
    // Further scopes that an operation needs must still be the client’s too.
    const kept = scopes.filter((name) => client.scopes.includes(name));
    const subject = claims[SUBJECT];
    const { adminGroup } = this.#surroundings.configuration.settings;
    if (typeof subject !== 'string') return Caller.ofApi(clientId, undefined, kept, adminGroup);
    const person = adminGroup === undefined ? undefined : await people.bySubject(subject);
    if (adminGroup === undefined || person?.groups?.includes(adminGroup) !== true)
      throw new Problem('insufficient_scope', { detail: 'the user is not an administrator' });
    await this.#requireSignIn(person, claims, request);
    return Caller.ofApi(clientId, subject, kept, adminGroup);
  }

  /**
   * Users need the same sign-in as for the console, whenever the token was issued, also after an exchange.
   * @throws {Problem} the sign-in of the token is not enough (RFC 9470 §3)
   */
  async #requireSignIn(
    person: Person,
    { acr, amr }: VerifiedAccessToken['claims'],
    request: NodeRequest,
  ): Promise<void> {
    const { subject } = person;
    const { groups, factors, issuer, clock } = this.#instance;
    const { settings } = this.#surroundings.configuration;
    const { signInPolicy, consoleSignInPolicy } = settings;
    const policy = strictestOf(signInPolicy, consoleSignInPolicy, ...(await groups.policiesOf(subject)));
    const has = factorsNow(await factors.of(subject), rpIdOf(settings, issuer) !== undefined, clock());
    const accepted = classesFor(policy, has);
    const isTaken = takesEmailCode(settings)(person) || !(Array.isArray(amr) && usesEmailCode(amr));
    if (isTaken && (accepted.length === 0 || accepted.some((value) => value === acr))) return;
    const error = 'insufficient_user_authentication';
    const detail = 'the user must sign in as for the console';
    // A new sign-in is enough if no class is needed: the pages no longer take the one that the token is from.
    const classes = accepted.length === 0 ? '' : `, acr_values="${accepted.join(' ')}"`;
    const challenge = `${challengeScheme(request)} realm="${REALM}", error="${error}", error_description="${detail}"${classes}`;
    throw new Problem(error, { detail, headers: { 'www-authenticate': challenge } });
  }

  #verified(
    scope: AdminScope | undefined,
    request: NodeRequest,
    response: ServerResponse,
  ): Promise<VerifiedAccessToken> {
    const { promise, resolve, reject } = Promise.withResolvers<VerifiedAccessToken>();
    const next = (error?: unknown) => (error === undefined ? resolve(tokenOf(request)) : reject(error));
    this.#admission.get(scope)?.(request, response, next).catch(reject);
    return promise;
  }

  /**
   * What an operation gets: its changes are recorded with the caller as actor.
   * @throws {Problem} If-Match is missing, or not for this operation
   */
  partsFor(
    operation: Pick<AnyOperation, 'needsVersion' | 'scope' | 'otherScopes'>,
    request: NodeRequest,
    caller: Caller,
  ): AdminParts {
    const { needsVersion } = operation;
    const wanted = headerOf(request, 'if-match');
    if (!needsVersion && wanted !== undefined)
      throw new Problem('invalid_request', {
        errors: [{ in: 'If-Match', detail: 'this operation cannot depend on a version' }],
      });
    if (needsVersion && wanted === undefined)
      throw new Problem('version_required', {
        detail: 'send the ETag of the version that the change is for',
      });
    const { configuration, server, isReady, testMail } = this.#surroundings;
    const acting = this.#instance.actingAs(caller.actor);
    const parts = {
      ...acting,
      storage: askedStorage(acting.storage),
      configuration,
      server: async () => actingAs(caller.actor, server),
      ownServer: () => acting.server(),
      clientBuilder: async () => server,
      isReady,
      caller,
      requireCaller: () => this.#readmit(operation, request, caller),
      requireVersion: versionCheck(wanted),
    };
    return { ...parts, testMail: (address) => testMail(parts, address) };
  }
}
