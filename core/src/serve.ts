import type { Context } from './context.ts';
import { type Challenge, formatChallenges } from './http/bearer.ts';
import { asOAuthError } from './http/error_response.ts';
import { loggable, OAuthError, StorageFault } from './http/errors.ts';
import type { Call, Operation } from './http/events.ts';
import { type HttpRequest, type HttpResponse, headerValue, pathOf } from './http/http.ts';
import { originOf } from './protocol/redirect_uri.ts';

/** What answers at one path. */
export interface Route {
  readonly operation: Operation;
  answer(request: HttpRequest): Promise<HttpResponse>;
}

/** By path. A path whose last segment is `ANY_SEGMENT` stands for every last segment. */
export type Routes = ReadonlyMap<string, Route>;

export const ANY_SEGMENT = '*';

/** @returns `undefined` if no endpoint has the path of this URL */
export function routeOf(routes: Routes, url: string): Route | undefined {
  const path = pathOf({ url });
  const found = routes.get(path);
  if (found !== undefined || path.endsWith('/')) return found;
  return routes.get(path.slice(0, path.lastIndexOf('/') + 1) + ANY_SEGMENT);
}

/** What an endpoint is, besides its function. */
export interface Endpoint {
  readonly operation: Operation;
  readonly methods: readonly string[];
  readonly crossOrigin: CrossOrigin;
  /** Challenges of an error response; an empty list is no header. */
  challenges(context: Context, error: OAuthError): readonly Challenge[];
  /** The endpoint itself. */
  answer(context: Context, request: HttpRequest, call: Call): Promise<HttpResponse>;
}

/**
 * Answers a request at an endpoint.
 * @throws {OAuthError} with every header that the error response needs, whatever went wrong underneath
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

/** An endpoint as what answers at a path. */
export function routeTo(endpoint: Endpoint, context: Context): Route {
  return {
    operation: endpoint.operation,
    answer: (request) => perform(endpoint, context, request),
  };
}

/** What is known of a request before it is looked at. */
export function callOf(operation: Operation, { id }: { readonly id?: string | undefined }): Call {
  return { operation, ...(id !== undefined && { requestId: id }) };
}

/**
 * Does the work of a call and reports its refusal.
 * @throws {OAuthError} whatever went wrong underneath
 */
export async function reported<T>(context: Context, call: Call, work: () => Promise<T>): Promise<T> {
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
  const { methods, crossOrigin } = endpoint;
  if (request.method === 'OPTIONS' && crossOrigin !== 'off')
    return preflightResponse(endpoint, context, request);
  requireMethod(methods, request);
  const response = await endpoint.answer(context, withoutHead(request), call);
  if (call.clientId !== undefined) context.onEvent({ ...call, type: 'answered' });
  if (crossOrigin === 'off') return response;
  const headers = await crossOriginHeaders(crossOrigin, context, request, call.clientId);
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** `HEAD` is answered as `GET`; adapters leave out the body (RFC 9110 §9.3.2). */
function withoutHead(request: HttpRequest): HttpRequest {
  return request.method === 'HEAD' ? { ...request, method: 'GET' } : request;
}

/** @throws {OAuthError} with status 405 and `Allow` (RFC 9110 §15.5.6) */
export function requireMethod(methods: readonly string[], request: HttpRequest): void {
  if (methods.includes(request.method)) return;
  throw new OAuthError('invalid_request', 'the method is not allowed', {
    status: 405,
    reason: 'method_not_allowed',
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
  const challenges = endpoint.challenges(context, error);
  const challenge = challenges.length === 0 ? {} : { 'www-authenticate': formatChallenges(challenges) };
  const crossOrigin = await crossOriginHeaders(endpoint.crossOrigin, context, request, call.clientId);
  return error.withHeaders({ ...challenge, ...crossOrigin });
}

/** Reports a refusal to the operator. */
export function report(
  { onEvent }: Context,
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

/**
 * Which pages may read the answers: none, those of registered redirect URIs, or all.
 */
type CrossOrigin = 'off' | 'clients' | 'anyone';

type Headers = Readonly<Record<string, string>>;

/** Headers that pages may send. Clients of the Model Context Protocol send its version, which the server ignores. */
const ALLOWED_HEADERS = 'Authorization, Content-Type, MCP-Protocol-Version';

/** Seconds that a browser may remember a preflight. */
const PREFLIGHT_SECONDS = 600;

/**
 * The CORS headers of a response: by the client's own redirect URIs once it is known, by anyone's before. Where
 * storage cannot say, no page may read it; the answer itself stands, for what it tells of has happened.
 */
async function crossOriginHeaders(
  policy: CrossOrigin,
  context: Context,
  request: HttpRequest,
  clientId: string | undefined,
): Promise<Headers> {
  if (policy === 'off') return {};
  if (policy === 'anyone') return { 'access-control-allow-origin': '*' };
  try {
    return await headersForClients(context, request, clientId);
  } catch (thrown) {
    if (thrown instanceof StorageFault) return { vary: 'Origin' };
    throw thrown;
  }
}

/**
 * The answer to a preflight (Fetch Standard, CORS protocol). No client is known yet.
 * @throws {StorageFault} storage could not say whose pages may ask
 */
async function preflightResponse(
  endpoint: { readonly methods: readonly string[]; readonly crossOrigin: CrossOrigin },
  context: Context,
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
  context: Context,
  request: HttpRequest,
  clientId: string | undefined,
): Promise<Headers> {
  const origin = headerValue(request, 'origin');
  if (origin === undefined || !(await isAllowed(context, origin, clientId))) return { vary: 'Origin' };
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate',
  };
}

async function isAllowed(
  { storage }: Context,
  origin: string,
  clientId: string | undefined,
): Promise<boolean> {
  if (clientId === undefined) return storage.clients.hasRedirectOrigin(origin);
  const client = await storage.clients.get(clientId);
  return client?.redirectUris.some((uri) => originOf(uri) === origin) ?? false;
}

/**
 * Does two things that do not need each other at the same time. The outcome is that of doing one after the other:
 * if the first fails, that is the failure, at once and whatever becomes of the second.
 * @param first already under way
 */
export async function atOnce<A, B>(first: Promise<A>, second: () => Promise<B>): Promise<readonly [A, B]> {
  const other = second();
  other.catch(() => undefined); // thrown below, unless the first has failed
  return [await first, await other];
}
