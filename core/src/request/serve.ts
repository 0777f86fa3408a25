// Runs an endpoint: finds it by path, checks the method, adds CORS and error headers, and reports refusals.
import { nonceHeaders } from '../confirmation/dpop.ts';
import { type Challenge, formatChallenges } from '../http/bearer.ts';
import type { Operation } from '../http/endpoint_names.ts';
import { asOAuthError } from '../http/error_response.ts';
import { invalidRequest, loggable, type OAuthError, StorageFault } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type HttpRequest, type HttpResponse, headerValue, pathOf } from '../http/http.ts';
import { originOf } from '../protocol/redirect_uri.ts';
import { MissingGroup, type StorageGroup } from '../storage/groups.ts';
import type { Context } from './context.ts';

/** The endpoint at one path. */
export interface Route {
  readonly operation: Operation;
  answer(request: HttpRequest): Promise<HttpResponse>;
}

/** Routes by path. If the last segment is `ANY_SEGMENT`, the route matches every last segment. */
export type Routes = ReadonlyMap<string, Route>;

export const ANY_SEGMENT = '*';

/** @returns `undefined` if no endpoint has the path of this URL */
export function routeOf(routes: Routes, url: string): Route | undefined {
  const path = pathOf({ url });
  const found = routes.get(path);
  if (found !== undefined || path.endsWith('/')) return found;
  return routes.get(path.slice(0, path.lastIndexOf('/') + 1) + ANY_SEGMENT);
}

/** What challenges depend on besides the error and the request. */
export type ChallengeContext = Pick<Context, 'issuer' | 'dpopAlgorithms'>;

/** The function of an endpoint, and the facts that routing needs. */
export interface Endpoint {
  readonly operation: Operation;
  readonly methods: readonly string[];
  readonly crossOrigin: CrossOrigin;
  /** Returns the challenges of an error response. Without any, the response has no `WWW-Authenticate`. */
  challenges(context: ChallengeContext, error: OAuthError, request: HttpRequest): readonly Challenge[];

  /** Whether the endpoint accepts DPoP proofs. */
  readonly acceptsDpop?: true;
  /** Groups of storage methods without which the endpoint does not exist. */
  readonly needs: readonly StorageGroup[];

  answer(context: Context, request: HttpRequest, call: Call): Promise<HttpResponse>;
}

/** Whether the storage has what an endpoint needs. */
export function isOffered({ needs }: Endpoint, { storage }: Pick<Context, 'storage'>): boolean {
  return needs.every((group) => storage.groups.has(group));
}

/**
 * Checks that the storage has what an operation needs.
 * @throws {MissingGroup} names the group and the operation
 */
export function requireGroups(
  { storage }: Pick<Context, 'storage'>,
  needs: readonly StorageGroup[],
  operation: string,
): void {
  for (const group of needs) if (!storage.groups.has(group)) throw new MissingGroup(group, operation);
}

/**
 * Answers a request at an endpoint.
 * @throws {OAuthError} with all headers of the error response; other errors become its cause
 */
export async function perform(
  endpoint: Endpoint,
  context: Context,
  request: HttpRequest,
): Promise<HttpResponse> {
  const call = callOf(endpoint.operation, request);
  try {
    return await answerWithCrossOrigin(endpoint, context, request, call);
  } catch (thrown) {
    const error = asOAuthError(thrown);
    report(context, error, call);
    throw await withErrorHeaders(endpoint, context, request, error, call);
  }
}

export function routeTo(endpoint: Endpoint, context: Context): Route {
  return {
    operation: endpoint.operation,
    answer: (request) => perform(endpoint, context, request),
  };
}

/** Returns what is known before the request has been read. */
export function callOf(operation: Operation, { id }: { readonly id?: string | undefined }): Call {
  return { operation, ...(id !== undefined && { requestId: id }) };
}

/**
 * Runs work and reports its refusal to the operator.
 * @throws {OAuthError} other errors become its cause
 */
export async function reported<T>(
  context: Pick<Context, 'onEvent'>,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const error = asOAuthError(thrown);
    report(context, error, call);
    throw error;
  }
}

async function answerWithCrossOrigin(
  endpoint: Endpoint,
  context: Context,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  if (request.method === 'OPTIONS' && hasPreflight(endpoint, context))
    return preflightResponse(endpoint, context, request);
  requireMethod(endpoint.methods, request);
  // Endpoints treat `HEAD` like `GET`. Adapters omit the body (RFC 9110 §9.3.2).
  const response = await endpoint.answer(context, request, call);
  const headers = await commonHeaders(endpoint, context, request, call);
  context.onEvent({ ...call, type: 'answered' });
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** Headers of responses and errors alike. */
async function commonHeaders(endpoint: Endpoint, context: Context, request: HttpRequest, call: Call) {
  const headers = await crossOriginHeaders(endpoint.crossOrigin, context, request, call.clientId);
  if (!endpoint.acceptsDpop || request.headers.dpop === undefined) return headers;
  return { ...headers, ...(await nonceHeaders(context)) }; // for the client's next proof (RFC 9449 §8)
}

/** @throws {OAuthError} status 405 with `Allow` (RFC 9110 §15.5.6) */
export function requireMethod(methods: readonly string[], request: HttpRequest): void {
  if (methods.includes(request.method)) return;
  throw invalidRequest('the method is not allowed', 'method_not_allowed', {
    status: 405,

    headers: { allow: methods.join(', ') },
  });
}

async function withErrorHeaders(
  endpoint: Endpoint,
  context: Context,
  request: HttpRequest,
  error: OAuthError,
  call: Call,
): Promise<OAuthError> {
  const challenges = endpoint.challenges(context, error, request);
  const challenge: Readonly<Record<string, string>> =
    challenges.length === 0 ? {} : { 'www-authenticate': formatChallenges(challenges) };
  return error.withHeaders({ ...challenge, ...(await commonHeaders(endpoint, context, request, call)) });
}

/** Reports a refusal to the operator. */
export function report(
  { onEvent }: Pick<Context, 'onEvent'>,
  { code, status, reason, clientId, value, cause }: OAuthError,
  call: Call,
): void {
  onEvent({
    ...call,
    ...(clientId !== undefined && { clientId }),
    type: 'refused',
    error: code,
    status,
    reason: reason ?? 'unexpected',
    ...(value !== undefined && { value: loggable(value) }),
    ...(cause !== undefined && { cause }),
  });
}

/** Web pages that may read the response: none, those on the origins of registered redirect URIs, or all. */
type CrossOrigin = 'off' | 'clients' | 'anyone';

/** Without the group `redirectOrigins`, no web page of a client may call the server. */
function hasPreflight({ crossOrigin }: Endpoint, { storage }: Pick<Context, 'storage'>): boolean {
  return crossOrigin === 'anyone' || (crossOrigin === 'clients' && storage.groups.has('redirectOrigins'));
}

type Headers = Readonly<Record<string, string>>;

/**
 * Headers that web pages may send. Clients of the Model Context Protocol send its version, which the server ignores.
 */
const ALLOWED_HEADERS = 'Authorization, Content-Type, DPoP, MCP-Protocol-Version';

/** Seconds for which browsers may cache a preflight response. */
const PREFLIGHT_SECONDS = 600;

/**
 * Returns the CORS headers of a response. If the client is known, only its own redirect URIs count; otherwise those of
 * all clients. If storage is unavailable, no page may read the response. The response itself stays, because the request
 * has already taken effect.
 */
async function crossOriginHeaders(
  policy: CrossOrigin,
  context: Pick<Context, 'storage'>,
  request: HttpRequest,
  clientId: string | undefined,
): Promise<Headers> {
  if (policy === 'off') return {};
  if (policy === 'anyone') return { 'access-control-allow-origin': '*' };
  return headersForClients(context, request, clientId).catch(headersInOutage);
}

function headersInOutage(thrown: unknown): Headers {
  if (thrown instanceof StorageFault) return { vary: 'Origin' };
  throw thrown;
}

/**
 * Answers a preflight request (Fetch Standard, CORS protocol). The client is not known yet.
 * @throws {StorageFault} storage is unavailable
 */
async function preflightResponse(
  endpoint: { readonly methods: readonly string[]; readonly crossOrigin: CrossOrigin },
  context: Pick<Context, 'storage'>,
  request: HttpRequest,
): Promise<HttpResponse> {
  const { crossOrigin } = endpoint;
  const headers =
    crossOrigin === 'clients'
      ? await headersForClients(context, request, undefined)
      : await crossOriginHeaders(crossOrigin, context, request, undefined);
  const allowed = headers['access-control-allow-origin'] !== undefined && {
    'access-control-allow-methods': endpoint.methods.join(', '),
    'access-control-allow-headers': ALLOWED_HEADERS,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  };
  return { status: 204, headers: { ...headers, ...allowed, 'cache-control': 'no-store' }, body: '' };
}

async function headersForClients(
  context: Pick<Context, 'storage'>,
  request: HttpRequest,
  clientId: string | undefined,
): Promise<Headers> {
  const origin = headerValue(request, 'origin');
  if (!context.storage.groups.has('redirectOrigins')) return {};
  if (origin === undefined || !(await isAllowed(context, origin, clientId))) return { vary: 'Origin' };
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate, DPoP-Nonce',
  };
}

async function isAllowed(
  { storage }: Pick<Context, 'storage'>,
  origin: string,
  clientId: string | undefined,
): Promise<boolean> {
  if (clientId === undefined) return (await storage.clients.hasRedirectOrigin?.(origin)) ?? false;
  const client = await storage.clients.get(clientId);
  return client?.redirectUris.some((uri) => originOf(uri) === origin) ?? false;
}
