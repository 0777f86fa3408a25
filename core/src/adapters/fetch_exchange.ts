import type { AuthorizationServer } from '../authorization_server.ts';
import { rendered } from '../http/error_response.ts';
import { fromHttpResponse } from '../http/fetch_response.ts';
import {
  type HttpConnection,
  type HttpRequest,
  type HttpResponse,
  MAX_BODY_BYTES,
  type ParsedForm,
} from '../http/http.ts';
import { anyFunction, anyText, type KindsOf, requireKinds } from '../option_kinds.ts';
import {
  ADAPTER_OPTIONS,
  type AdapterOptions,
  type MountOptions,
  mountedEndpoints,
  type Operation,
} from './adapter_options.ts';

/** Where a framework's handlers find the request in what they are given. */
type RequestOf<Host> = (host: Host) => Request;

/**
 * Answers where the server has an endpoint at the request's path; elsewhere `undefined`, before anything was read.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mountedExchange<Host, Rest extends readonly unknown[]>(
  requestOf: RequestOf<Host>,
  server: AuthorizationServer,
  given: FetchMountOptions<Host, Rest>,
): (host: Host, ...rest: Rest) => Promise<Response> | undefined {
  requireKinds(given, FETCH_MOUNT_OPTIONS);
  const { strippedPath, ...options } = given;
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
 * Answers by one operation; rejects with what it threw, where the host wants errors forwarded. What a body fails with on
 * its way is the host's in any case, which may have an answer to it: it can be a limit of its own.
 * @throws {ConfigurationError} an option does not fit; the message names it
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
  const { errors, headers, onFault, id, connection, body } = options;
  const plainRequest = async (host: Host, ...rest: Rest) => {
    const read = await body?.(host, ...rest);
    const known: Known = {
      ...(read !== undefined && { body: read }),
      ...idOf(id, host, ...rest),
      ...(connection !== undefined && { connection: connection(host, ...rest) }),
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
  const given = id?.(host, ...rest);
  return given === undefined ? {} : { id: given };
}

/** What a host that speaks Fetch knows and a `Request` does not tell. */
interface FromHost<Host, Rest extends readonly unknown[]> {
  /** What is known of the connection, such as the peer's address. Default: what the framework says, if anything. */
  readonly connection?: (host: Host, ...rest: Rest) => HttpConnection;
  /**
   * The body, where the host has read it already: its text, or the form; `undefined` where it has not. Default: what the
   * framework has kept, if anything.
   */
  readonly body?: (host: Host, ...rest: Rest) => ReadBody | Promise<ReadBody>;
}

export type ReadBody = string | ParsedForm | undefined;

/**
 * @typeParam Host what the framework hands to its handlers: a `Request`, or its own object around one
 * @typeParam Rest what it hands over besides, such as `info` of Deno, the server of Bun, `env` and `ctx` of a Worker
 */
export interface FetchOptions<Host = Request, Rest extends readonly unknown[] = []>
  extends AdapterOptions<Host, Rest>,
    FromHost<Host, Rest> {}

const FETCH_OPTIONS: KindsOf<FetchOptions<never>> = {
  ...ADAPTER_OPTIONS,
  connection: anyFunction,
  body: anyFunction,
};

const FETCH_MOUNT_OPTIONS: KindsOf<FetchMountOptions<never>> = {
  ...FETCH_OPTIONS,
  strippedPath: anyText,
};

export interface FetchMountOptions<Host = Request, Rest extends readonly unknown[] = []>
  extends MountOptions<Host, Rest>,
    FromHost<Host, Rest> {}

/** What the host knows better than the request itself says. */
export type Known = Partial<Pick<HttpRequest, 'body' | 'connection' | 'id'>>;

/** A body failed on its way: by the connection, or by what of the host's stands before the adapter. */
interface BrokenBody {
  readonly brokenBy: unknown;
  /** Whether the client disconnected. */
  readonly isAbandoned: boolean;
}

/**
 * The request as a plain value. A body is read no further than just past the server's limit, and not at all where it is
 * known.
 * @throws {TypeError} the host has read the body already
 * @throws what the body failed with on its way
 */
export async function toHttpRequest(request: Request, known?: Known): Promise<HttpRequest> {
  const read = await readRequest(request, known);
  if ('brokenBy' in read) throw read.brokenBy;
  return read;
}

/**
 * As `toHttpRequest`, where a body that fails is told from all else that can go wrong.
 * @throws {TypeError} the host has read the body already
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

/** An error with a status is an answer of the host's, such as that to a body beyond a limit of its own. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'status' in error;
}

/** What the servers of Bun (`AbortError`) and Deno call a body whose connection is gone, before the signal says so. */
const OF_CONNECTION: ReadonlySet<string> = new Set(['AbortError', 'BadResource', 'Http']);

/** Reads the signal last, because Deno warns when code reads it. */
function isOfConnection(error: unknown, request: Request): boolean {
  return (error instanceof Error && OF_CONNECTION.has(error.name)) || request.signal.aborted;
}

async function readText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true }); // a byte counts, also where it shows nothing
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
 * The response to a request; none to `HEAD` has a body, whatever the runtime would make of it (RFC 9110 §9.3.2).
 * @param further headers beside the answer's own, which win
 */
export function responseTo(
  { method }: Pick<Request, 'method'>,
  answer: HttpResponse,
  further?: Readonly<Record<string, string>>,
): Response {
  return fromHttpResponse(method === 'HEAD' ? { ...answer, body: '' } : answer, further);
}
