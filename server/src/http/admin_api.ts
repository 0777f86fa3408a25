// The admin API: what the command line does, over HTTP, for clients with tokens of this server.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type AuthorizationServer,
  hasResource,
  MAX_BODY_BYTES,
  OAuthError,
  pathOf,
  queryOf,
  StorageFault,
} from '@grantd/core';
import { addressUnit, type NodeRequest, toHttpRequest } from '@grantd/core/node';
import { AuthorizationServerFault, EmbeddedAccessTokens, type VerifiedAccessToken } from '@grantd/protect';
import {
  type NodeProtectionOptions,
  type PresentedCertificate,
  protect,
  tokenOf,
} from '@grantd/protect/node';
import { Caller } from '../admin/caller.ts';
import { PartlyApplied } from '../admin/desired_state.ts';
import { requireAdminGroup } from '../admin/groups.ts';
import { etagOf, versionCheck } from '../admin/in_process.ts';
import {
  type AdminParts,
  MAX_LINE_LENGTH,
  type OperationParts,
  type Outcome,
  readCursor,
  type SentTest,
} from '../admin/operation.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import type { Schema } from '../admin/schema.ts';
import { ALL_OPERATIONS, type AnyOperation, type AnyStream } from '../admin/table.ts';
import { errorsOf, requireFitting } from '../admin/validation.ts';
import { rpIdOf, strictestOf } from '../config/acr.ts';
import { clientAddress } from '../config/client_address.ts';
import type { Configuration } from '../config/configuration.ts';
import { networkCheck } from '../config/networks.ts';
import { Refused } from '../config/refused.ts';
import { actingAs } from '../data/acting.ts';
import { askedStorage } from '../data/tables.ts';
import { ADMIN_SCOPES, type AdminScope, adminAudience } from '../instance/admin_access.ts';
import type { Instance } from '../instance/instance.ts';
import type { RequestLog } from '../log/log.ts';
import { classesFor, factorsNow } from '../people/acr.ts';
import { LINES_TYPE, mediaTypesOf, openApiDocument } from './openapi.ts';
import { PROBLEMS, Problem, type ProblemCode } from './problems.ts';
import { RepeatedRequests, type StoredAnswer } from './repeated_requests.ts';
import { RequestLimit } from './request_limit.ts';

interface Surroundings {
  readonly configuration: Configuration;
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  readonly isReady: () => Promise<boolean>;
  readonly testMail: (parts: OperationParts, address: string) => Promise<SentTest>;
  /** Milliseconds for which a response waits for its reader. Default: 30 s. */
  readonly slowReaderMs?: number;
  /** Returns the certificate of a request’s client. */
  readonly clientCertificate: ((request: NodeRequest) => PresentedCertificate | undefined) | undefined;
}

/** Answers requests to the admin API. Resolves with whether the request is one. */
export type AdminListener = (
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
) => Promise<boolean>;

/** The name of the API in challenges. */
const REALM = 'admin';

/** A claim of verified tokens that no token has: the server’s identifier of the user. */
const SUBJECT = 'grantd:subject';

/**
 * Creates the listener over one database (ADR 94).
 * @throws {Refused} the group of administrators does not exist
 */
export async function openAdminApi(
  instance: Instance,
  { requestLog, slowReaderMs = SLOW_READER_MS, ...surroundings }: Surroundings,
): Promise<AdminListener> {
  const { configuration } = surroundings;
  const { settings } = configuration;
  const { issuer, apiRequests } = instance;
  await requireAdminGroup(instance, configuration);
  const api = new AdminApi(instance, surroundings);
  const base = adminAudience(issuer);
  const basePath = new URL(base).pathname;
  const isAdmitted = networkCheck(settings.adminFrom);
  const addressOf = clientAddress(settings.trustedProxies ?? []);
  const limit = new RequestLimit(settings.adminRequestLimit);
  const repeated = new RepeatedRequests({ apiRequests, secret: instance.secret() });
  const description = JSON.stringify(openApiDocument(issuer));

  return async (request, response, requestId) => {
    const path = pathOf({ url: request.url ?? '' });
    if (!path.startsWith(`${basePath}/`)) return false;
    const address = addressOf(request);
    if (!isAdmitted(address)) return false;
    const about = { requestId, operation: 'admin' };
    requestLog.about(about);
    const place = `address ${addressUnit(address)}`;
    try {
      limit.check(place);
      const below = path.slice(basePath.length);
      if (below === '/openapi.json') {
        requireMethod(request, ['GET']);
        send(request, response, {
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: description,
        });
        return true;
      }
      const { operation, parameters } = routed(request, below);
      const caller = await api.admit(operation, request, response);
      requestLog.about({ ...about, ...(caller.clientId !== undefined && { clientId: caller.clientId }) });
      limit.count(`client ${caller.clientId}`);
      if ('stream' in operation) {
        const input = streamInput(operation, request, parameters);
        const parts = api.partsFor(operation, request, caller);
        await streamed(operation, parts, input, request, response, slowReaderMs);
        return true;
      }
      const { input, body } = await inputOf(operation, request, parameters);
      const parts = api.partsFor(operation, request, caller);
      const perform = async () => answerOf(operation, base, await operation.perform(parts, input));
      const key = operation.method === 'POST' ? headerOf(request, 'idempotency-key') : undefined;
      const target = `${operation.method} ${request.url}`;
      const { answer, isRepeated } =
        key === undefined
          ? { answer: await perform(), isRepeated: false }
          : await repeated.once({ caller: caller.identity, target, body, key }, perform);
      const replayed = isRepeated ? { 'idempotency-replayed': 'true' } : {};
      send(request, response, { ...answer, headers: { ...answer.headers, ...replayed } });
    } catch (error) {
      // The caller disconnected during its request.
      if ((request.destroyed && !request.complete) || error instanceof CallerLeft) return true;
      if (error instanceof CallerTooSlow) {
        requestLog.about({ ...about, reason: 'slow_reader' });
        response.destroy();
        return true;
      }
      const problem = problemOf(error);
      requestLog.about({ ...about, reason: problem.code });
      if (problem.code === 'internal') requestLog.failure(requestId, 'unexpected', error);
      if (problem.code === 'unavailable') requestLog.failure(requestId, 'storage_unavailable', error);
      if (problem.code === 'invalid_token') limit.note(place);
      // The caller sees that the response has no end.
      if (response.headersSent) response.destroy();
      else sendProblem(request, response, problem, base);
    }
    return true;
  };
}

/** The checks of a request, in the order in which they are made. */
class AdminApi {
  readonly #instance: Instance;
  readonly #surroundings: Omit<Surroundings, 'requestLog'>;
  /** By the scope that a token needs; `undefined` for operations that several scopes admit. */
  readonly #admission: ReadonlyMap<AdminScope | undefined, ReturnType<typeof protect>>;
  readonly #audience: string;
  readonly #tokens: EmbeddedAccessTokens;

  constructor(instance: Instance, surroundings: Omit<Surroundings, 'requestLog'>) {
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
    const admitting = [scope, ...otherScopes].filter((one) => scopes.includes(one));
    if (admitting.length === 0)
      throw new Problem('insufficient_scope', {
        detail: `the token needs one of the scopes ${[scope, ...otherScopes].join(', ')}`,
      });
    const { people } = this.#instance;
    const { clients } = askedStorage(this.#instance.storage);
    const client = await clients.get(clientId);
    const isRegistered =
      client &&
      client.registrationTokenDigest === undefined &&
      admitting.some((one) => client.scopes.includes(one)) &&
      hasResource(client.metadata?.apis ?? [], this.#audience);
    if (!isRegistered)
      throw new Problem('insufficient_scope', {
        detail: `the client is not registered for ${admitting.join(' or ')}`,
      });
    // Further scopes that an operation needs must still be the client’s too.
    const kept = scopes.filter((one) => client.scopes.includes(one));
    const subject = claims[SUBJECT];
    const { adminGroup } = this.#surroundings.configuration.settings;
    if (typeof subject !== 'string') return Caller.ofApi(clientId, undefined, kept, adminGroup);
    const person = adminGroup === undefined ? undefined : await people.bySubject(subject);
    if (adminGroup === undefined || person?.groups?.includes(adminGroup) !== true)
      throw new Problem('insufficient_scope', { detail: 'the user is not an administrator' });
    await this.#requireSignIn(subject, claims.acr, request);
    return Caller.ofApi(clientId, subject, kept, adminGroup);
  }

  /**
   * Users need the same sign-in as for the console.
   * @throws {Problem} the sign-in of the token is not enough (RFC 9470 §3)
   */
  async #requireSignIn(subject: string, acr: unknown, request: NodeRequest): Promise<void> {
    const { groups, factors, issuer, clock } = this.#instance;
    const { settings } = this.#surroundings.configuration;
    const { signInPolicy, consoleSignInPolicy } = settings;
    const policy = strictestOf(signInPolicy, consoleSignInPolicy, ...(await groups.policiesOf(subject)));
    const has = factorsNow(await factors.of(subject), rpIdOf(settings, issuer) !== undefined, clock());
    const accepted = classesFor(policy, has);
    if (accepted.length === 0 || accepted.some((one) => one === acr)) return;
    const error = 'insufficient_user_authentication';
    const detail = 'the user must sign in as for the console';
    const challenge = `${challengeScheme(request)} realm="${REALM}", error="${error}", error_description="${detail}", acr_values="${accepted.join(' ')}"`;
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

/** Parameters of the path. */
type PathParameters = Readonly<Record<string, string>>;

/** @throws {Problem} a parameter, a header or the body is not as expected */
async function inputOf(
  operation: AnyOperation,
  request: NodeRequest,
  path: PathParameters,
): Promise<{ readonly input: never; readonly body: string }> {
  const query = queryIn(operation, request);
  const { maxBodyBytes = MAX_BODY_BYTES } = operation;
  const body =
    maxBodyBytes === MAX_BODY_BYTES ? await shortBody(request) : await longBody(request, maxBodyBytes);
  if (Buffer.byteLength(body) > maxBodyBytes)
    throw new Problem('body_too_large', {
      detail: `expected at most ${maxBodyBytes} bytes`,
      headers: { connection: 'close' },
    });
  const input = { ...Object(bodyIn(operation, request, body)), ...query, ...path };
  // It fits the schemas of the operation.
  return { input: input as never, body };
}

/**
 * The input of an operation that reads and writes lines.
 * @throws {Problem} a parameter or a header is not as expected
 */
function streamInput(operation: AnyStream, request: IncomingMessage, path: PathParameters): never {
  if (operation.bodyLine !== undefined) requireType(request, [LINES_TYPE]);
  if (headerOf(request, 'idempotency-key') !== undefined)
    throw new Problem('invalid_request', {
      errors: [{ in: 'Idempotency-Key', detail: 'this operation can be repeated without it' }],
    });
  return { ...queryIn(operation, request), ...path } as never;
}

/** @throws {Problem} there is no such path, or it has another method */
function routed(
  request: IncomingMessage,
  path: string,
): { readonly operation: AnyOperation | AnyStream; readonly parameters: PathParameters } {
  const matching = ALL_OPERATIONS.flatMap(([, operation]) => {
    const parameters = parametersIn(operation.path, path);
    return parameters === undefined ? [] : [{ operation, parameters }];
  });
  if (matching.length === 0)
    throw new Problem('not_found', { detail: 'there is no such path: openapi.json lists all of them' });
  requireMethod(
    request,
    matching.map(({ operation }) => operation.method),
  );
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const found = matching.find(({ operation }) => operation.method === method);
  if (found === undefined) throw new Problem('not_found');
  return found;
}

/** The parameters of a path that fits a template. @returns `undefined` if it does not */
function parametersIn(template: string, path: string): PathParameters | undefined {
  const [names, values] = [template.split('/'), path.split('/')];
  if (names.length !== values.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const value = values[index] ?? '';
    const [, parameter] = /^\{(\w+)\}$/.exec(name) ?? [];
    if (parameter === undefined && name !== value) return undefined;
    const decoded = decodedPart(value);
    if (parameter !== undefined && !decoded) return undefined;
    if (parameter !== undefined && decoded !== undefined) parameters[parameter] = decoded;
  }
  return parameters;
}

/** @returns `undefined` if it is malformed. No database stores NUL. */
function decodedPart(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text);
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    return undefined;
  }
}

function requireMethod({ method = '' }: IncomingMessage, methods: readonly string[]): void {
  const allowed = [...new Set(methods.flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one])))];
  if (!allowed.includes(method))
    throw new Problem('method_not_allowed', { headers: { allow: allowed.join(', ') } });
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

async function shortBody(request: NodeRequest): Promise<string> {
  const { body } = await toHttpRequest(request);
  return typeof body === 'string' ? body : '';
}

/** The body, or its beginning if it has more than `most` bytes. */
async function longBody(request: IncomingMessage, most: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The connection must last, for the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > most) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** @throws {Problem} a parameter is unknown, repeated or invalid */
function queryIn(
  { query: parameters = {} }: Pick<AnyOperation, 'query'>,
  { url = '' }: IncomingMessage,
): Readonly<Record<string, unknown>> {
  const read: Record<string, unknown> = {};
  const given = new URLSearchParams(queryOf({ url }));
  for (const name of new Set(given.keys())) {
    const refuse = (detail: string): never => {
      throw new Problem('invalid_request', { errors: [{ in: name, detail }] });
    };
    const schema = Object.hasOwn(parameters, name) ? parameters[name]?.schema : undefined;
    const [text = '', ...others] = given.getAll(name);
    if (schema === undefined) return refuse('there is no such parameter');
    if (others.length > 0) return refuse('expected it once');
    const value = parameterIn(schema, text);
    const [error] = errorsOf(schema, value);
    if (error !== undefined || text.includes('\0')) return refuse(error?.detail ?? 'expected no NUL');
    if (name === 'cursor' && readCursor(text) === undefined) return refuse('expected next_cursor of a page');
    read[name] = value;
  }
  return read;
}

/** The value of a parameter. A text that does not fit its type stays a text, which the schema refuses. */
function parameterIn({ type }: Schema, text: string): unknown {
  if (type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text);
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
}

/** @throws {Problem} the body is not JSON of the expected form */
function bodyIn(operation: AnyOperation, request: IncomingMessage, body: string): unknown {
  const { body: schema, isBodyOptional } = operation;
  if (schema === undefined || (body === '' && isBodyOptional)) {
    if (body !== '') throw new Problem('invalid_request', { detail: 'expected no body' });
    return undefined;
  }
  requireType(request, mediaTypesOf(operation));
  const value = parsed(body);
  requireFitting(schema, value);
  return value;
}

/** @throws {Problem} the body has another media type, or is compressed (RFC 9110 §15.5.16) */
function requireType(request: IncomingMessage, types: readonly string[]): void {
  const [type = ''] = (headerOf(request, 'content-type') ?? '').split(';');
  if (!types.includes(type.trim().toLowerCase()))
    throw new Problem('unsupported_media_type', {
      detail: `expected ${types.join(' or ')}`,
      headers: { accept: types.join(', ') },
    });
  if ((headerOf(request, 'content-encoding') ?? 'identity').toLowerCase() !== 'identity')
    throw new Problem('unsupported_media_type', {
      detail: 'expected no Content-Encoding',
      headers: { 'accept-encoding': 'identity' },
    });
}

function parsed(body: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The parser’s own message quotes the body, which may contain a secret.
    throw new Problem('invalid_request', { detail: 'expected JSON' });
  }
  if (!isStorable(value))
    throw new Problem('invalid_request', { detail: 'expected neither NUL nor lone surrogates in texts' });
  return value;
}

/** Whether a database stores all texts in a value as they are, also the names of members. */
function isStorable(value: unknown): boolean {
  // Without recursion, because a body can be nested deeper than the stack.
  const open = [value];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one === 'string' && (one.includes('\0') || !one.isWellFormed())) return false;
    if (typeof one !== 'object' || one === null) continue;
    for (const [name, member] of Object.entries(one)) open.push(name, member);
  }
  return true;
}

function answerOf(
  { status }: AnyOperation,
  base: string,
  { document: body, version, location }: Outcome<unknown>,
): StoredAnswer {
  return {
    status,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(version !== undefined && { etag: etagOf(version) }),
      ...(location !== undefined && { location: `${base}${location}` }),
    },
    body: body === undefined ? '' : JSON.stringify(body),
  };
}

// ── Lines ─────────────────────────────────────────────────────────────────────────────────────────────────

/** The caller disconnected before the end of the response. */
class CallerLeft extends Error {
  override readonly name = 'CallerLeft';
}

/** The caller does not read the response. */
class CallerTooSlow extends Error {
  override readonly name = 'CallerTooSlow';
}

/** Milliseconds for which a response waits for its reader. */
const SLOW_READER_MS = 30_000;

/** Performs an operation on lines. The status is sent with the first line, so that earlier problems have their own. */
async function streamed(
  operation: AnyStream,
  parts: AdminParts,
  input: never,
  request: IncomingMessage,
  response: ServerResponse,
  slowReaderMs: number,
): Promise<void> {
  const begin = () => {
    if (!response.headersSent)
      response.writeHead(operation.status, {
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-type': LINES_TYPE,
      });
  };
  const write = async (line: unknown) => {
    if (response.destroyed) throw new CallerLeft();
    begin();
    if (response.write(`${JSON.stringify(line)}\n`)) return;
    const waiting = new AbortController();
    const { signal } = waiting;
    const isSlow = await Promise.race([
      once(response, 'drain', { signal }).then(() => false),
      once(response, 'close', { signal }).then(() => false),
      pause(slowReaderMs, true, { signal, ref: false }),
    ]);
    waiting.abort();
    // A reader that takes its time would be sent what it may no longer read.
    if (isSlow) throw new CallerTooSlow();
    await parts.requireCaller();
  };
  const isHead = request.method === 'HEAD';
  if (!isHead) await operation.stream(parts, input, linesIn(request), write);
  begin();
  response.end();
  // What is left of a body that is too long is not read.
  if (!request.complete) response.once('finish', () => request.destroy());
}

/** The lines of a body. A line that is too long is cut, so that it is too long for the operation as well. */
async function* linesIn(request: IncomingMessage): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of request) {
    const [first = '', ...lines] = decoder.decode(chunk, { stream: true }).split('\n');
    rest = (rest + first).slice(0, MAX_LINE_LENGTH + 1);
    for (const line of lines) {
      yield rest;
      rest = line.slice(0, MAX_LINE_LENGTH + 1);
    }
  }
  if (rest !== '') yield rest;
}

const PROBLEM_OF_REFUSAL = {
  not_found: 'not_found',
  conflict: 'conflict',
  changed: 'conflict',
  outdated: 'version_mismatch',
  forbidden: 'insufficient_scope',
} as const satisfies Record<OperationRefused['kind'], ProblemCode>;

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof PartlyApplied) return problemOf(error.reason).with(error.progress);
  if (error instanceof OperationRefused)
    return new Problem(PROBLEM_OF_REFUSAL[error.kind], { detail: error.problem, advice: error.advice });
  if (error instanceof InvalidInput) return new Problem('invalid_input', { errors: error.errors });
  if (error instanceof OAuthError) return problemOfToken(error);
  if (error instanceof StorageFault || error instanceof AuthorizationServerFault)
    return new Problem('unavailable', { headers: { 'retry-after': '1' } });
  // For example a document of a client that cannot be fetched now.
  if (error instanceof Refused) return new Problem('conflict', { detail: error.message });
  return new Problem('internal');
}

/** The challenge is a header of the error (RFC 6750 §3). */
function problemOfToken({ code, description, status, headers }: OAuthError): Problem {
  const texts = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]);
  const details = { detail: description, headers: Object.fromEntries(texts) };
  if (code === 'insufficient_scope') return new Problem('insufficient_scope', details);
  return new Problem(status === 400 ? 'invalid_request' : 'invalid_token', details);
}

function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  problem: Problem,
  base: string,
): void {
  const { status } = PROBLEMS[problem.code];
  send(request, response, {
    status,
    headers: {
      ...(problem.code === 'insufficient_scope' && { 'www-authenticate': scopeChallenge(request) }),
      ...problem.headers,
      'content-type': 'application/problem+json',
    },
    body: JSON.stringify(problem.body(base)),
  });
}

/** The scheme with which a request presents its token. */
function challengeScheme(request: IncomingMessage): 'DPoP' | 'Bearer' {
  return schemeOf(headerOf(request, 'authorization')?.split(' ', 1)[0] ?? '');
}

function schemeOf(text: string): 'DPoP' | 'Bearer' {
  return /^dpop$/i.test(text) ? 'DPoP' : 'Bearer';
}

/** The challenge to a token that was admitted, and lacks what its operation needs further (RFC 6750 §3). */
function scopeChallenge(request: IncomingMessage): string {
  return `${challengeScheme(request)} realm="${REALM}", error="insufficient_scope"`;
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: StoredAnswer,
): void {
  response.writeHead(status, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
    ...(status !== 204 && { 'content-length': Buffer.byteLength(body) }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}
