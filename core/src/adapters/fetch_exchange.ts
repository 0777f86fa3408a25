// Request and response of every adapter whose framework is built on Fetch.

import { rendered } from '../http/error_response.ts';
import {
  fromHttpResponse,
  type HttpRequest,
  type HttpResponse,
  MAX_BODY_BYTES,
  type ParsedForm,
} from '../http/http.ts';
import { anyFunction, anyText, type KindsOf, requireKinds } from '../protocol/option_kinds.ts';
import type { MountedServer } from '../server/authorization_server.ts';
import {
  ADAPTER_OPTIONS,
  type AdapterOptions,
  type MountOptions,
  mountedEndpoints,
  type Operation,
} from './adapter_options.ts';

/** Takes the `Request` out of what the framework passes to its handlers. */
type RequestOf<Host> = (host: Host) => Request;

/**
 * Returns a function that answers requests for the server's endpoints. For other paths it returns `undefined` without
 * reading the request.
 * @throws {ConfigurationError} an option is wrong; the message names it
 */
export function mountedExchange<Host, Rest extends readonly unknown[]>(
  requestOf: RequestOf<Host>,
  server: MountedServer,
  mountOptions: FetchMountOptions<Host, Rest>,
): (host: Host, ...rest: Rest) => Promise<Response> | undefined {
  requireKinds(mountOptions, FETCH_MOUNT_OPTIONS);
  const { strippedPath, ...options } = mountOptions;
  const endpoints = mountedEndpoints<Host, Rest>(server, strippedPath, (host, ...rest) => ({
    url: requestOf(host).url,
    ...idOf(options.id, host, ...rest),
  }));
  const answer = answering<Host, Rest>(requestOf, { onFault: endpoints.onFault, ...options });
  return (host, ...rest) => {
    const operation = endpoints.operationAt(requestOf(host).url);
    return operation && answer(operation, host, ...rest);
  };
}

/**
 * Returns a function that answers by one operation. With `errors: 'forward'` it rejects with what the operation threw.
 * It always rejects if the body fails, because the host may have a response for that, such as 413 for its own limit.
 * @throws {ConfigurationError} an option is wrong; the message names it
 */
export function operationExchange<Host, Rest extends readonly unknown[]>(
  requestOf: RequestOf<Host>,
  operation: Operation,
  options: FetchOptions<Host, Rest>,
): (host: Host, ...rest: Rest) => Promise<Response> {
  const answer = answering(requestOf, options);
  return (host, ...rest) => answer(operation, host, ...rest);
}

function answering<Host, Rest extends readonly unknown[]>(
  requestOf: RequestOf<Host>,
  options: FetchOptions<Host, Rest>,
): (operation: Operation, host: Host, ...rest: Rest) => Promise<Response> {
  requireKinds(options, FETCH_OPTIONS);
  const { errors, headers, onFault, id, body, clientCertificate, place } = options;
  const plainRequest = async (host: Host, ...rest: Rest) => {
    const read = await body?.(host, ...rest);
    const certificate = clientCertificate?.(host, ...rest);
    const known: Known = {
      ...(read !== undefined && { body: read }),
      ...idOf(id, host, ...rest),
      ...(certificate !== undefined && { clientCertificate: certificate }),
      ...placeOf(place?.(host, ...rest)),
    };
    return readRequest(requestOf(host), known);
  };
  return async (operation, host, ...rest) => {
    const read = plainRequest(host, ...rest);
    const answered = read.then<HttpResponse | BrokenBody>((plain) =>
      'brokenBy' in plain ? plain : operation(plain),
    );
    const render = (thrown: unknown) => rendered(thrown, onFault, host, ...rest);
    const answer = await (errors === 'forward' ? answered : answered.catch(render));
    if ('brokenBy' in answer) {
      if (answer.isAbandoned) return new Response(null, { status: 400 }); // the client has disconnected
      throw answer.brokenBy;
    }
    return responseTo(requestOf(host), answer, headers?.(host, ...rest));
  };
}

function idOf<Host, Rest extends readonly unknown[]>(
  id: FetchOptions<Host, Rest>['id'] | undefined,
  host: Host,
  ...rest: Rest
): Known {
  const requestId = id?.(host, ...rest);
  return requestId === undefined ? {} : { id: requestId };
}

/** Facts about a request that a `Request` does not carry. */
interface FromHost<Host, Rest extends readonly unknown[]> {
  /**
   * Returns the text or the parsed form of a body that the host has already read, otherwise `undefined`. Default: what
   * the framework has kept, if anything.
   */
  readonly body?: (host: Host, ...rest: Rest) => ReadBody | Promise<ReadBody>;
}

export type ReadBody = string | ParsedForm | undefined;

/**
 * @typeParam Host what the framework passes to its handlers: a `Request`, or an object around one
 * @typeParam Rest further arguments, such as `info` of Deno, the server of Bun, `env` and `ctx` of a Worker
 */
export interface FetchOptions<Host = Request, Rest extends readonly unknown[] = []>
  extends AdapterOptions<Host, Rest>,
    FromHost<Host, Rest> {}

const FETCH_OPTIONS: KindsOf<FetchOptions<never>> = {
  ...ADAPTER_OPTIONS,
  body: anyFunction,
};

const FETCH_MOUNT_OPTIONS: KindsOf<FetchMountOptions<never>> = {
  ...FETCH_OPTIONS,
  strippedPath: anyText,
};

export interface FetchMountOptions<Host = Request, Rest extends readonly unknown[] = []>
  extends MountOptions<Host, Rest>,
    FromHost<Host, Rest> {}

/** Overrides what the `Request` itself says. */
export type Known = Partial<Pick<HttpRequest, 'body' | 'id' | 'clientCertificate' | 'place'>>;

function placeOf(place: string | undefined): Known {
  return place === undefined ? {} : { place };
}

/** The body could not be read to its end, because of the connection or of the host's own code. */
interface BrokenBody {
  readonly brokenBy: unknown;
  readonly isAbandoned: boolean;
}

/**
 * Converts a request. Reads the body only if `known` has none, and stops just past the server's limit.
 * @throws {TypeError} other code has read the body already
 * @throws the error that the body failed with
 */
export async function toHttpRequest(request: Request, known?: Known): Promise<HttpRequest> {
  const read = await readRequest(request, known);
  if ('brokenBy' in read) throw read.brokenBy;
  return read;
}

/**
 * Like `toHttpRequest`, but returns a `BrokenBody` if the body fails, so that callers can tell this from other errors.
 * @throws {TypeError} other code has read the body already
 */
export async function readRequest(request: Request, known: Known = {}): Promise<HttpRequest | BrokenBody> {
  const { method, url, headers } = request;
  const plain = { method, url, headers: Object.fromEntries(headers), ...known };
  if (known.body !== undefined || request.body === null) return plain;
  if (request.bodyUsed || request.body.locked)
    throw new TypeError('the body was read before; hand it over by the option body, or read a clone');
  try {
    return { ...plain, body: await readText(request.body) };
  } catch (error) {
    return { brokenBy: error, isAbandoned: !isAnswer(error) && isOfConnection(error, request) };
  }
}

/** The host gives its own errors a status, such as 413 for a body beyond its own limit. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'status' in error;
}

/** Names of the errors with which Bun (`AbortError`) and Deno fail a body before they abort the signal. */
const OF_CONNECTION: ReadonlySet<string> = new Set(['AbortError', 'BadResource', 'Http']);

/** Reads the signal last, because Deno warns when code reads it. */
function isOfConnection(error: unknown, request: Request): boolean {
  return (error instanceof Error && OF_CONNECTION.has(error.name)) || request.signal.aborted;
}

async function readText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true }); // a BOM belongs to the body
  let text = '';
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    text += decoder.decode(chunk, { stream: true });
    if (bytes > MAX_BODY_BYTES) break;
  }
  return text + decoder.decode();
}

/**
 * Converts a response. Responses to `HEAD` have no body (RFC 9110 §9.3.2); not every runtime takes care of that.
 * @param further headers to add; those of `answer` win
 */
export function responseTo(
  { method }: Pick<Request, 'method'>,
  answer: HttpResponse,
  further?: Readonly<Record<string, string>>,
): Response {
  return fromHttpResponse(method === 'HEAD' ? { ...answer, body: '' } : answer, further);
}
