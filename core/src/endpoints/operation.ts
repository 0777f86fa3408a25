import { type Challenge, formatChallenges } from '../protocol/challenge.ts';
import type { HttpRequest, HttpResponse } from '../protocol/http.ts';
import { loggable } from '../protocol/loggable.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import type { Call, Context } from './context.ts';
import { type CrossOrigin, crossOriginHeaders, preflightResponse } from './cross_origin.ts';
import { asOAuthError } from './error_response.ts';
import type { Operation } from './events.ts';

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
