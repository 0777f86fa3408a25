import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuthorizationServer } from '../authorization_server.ts';
import { rendered } from '../http/error_response.ts';
import {
  closingHeaders,
  type HttpRequest,
  type HttpResponse,
  headersWithEveryAuthorization,
  MAX_BODY_BYTES,
  type ParsedForm,
} from '../http/http.ts';
import { requireKinds } from '../option_kinds.ts';
import {
  ADAPTER_OPTIONS,
  type AdapterOptions,
  MOUNT_OPTIONS,
  type MountOptions,
  mountedEndpoints,
  notFound,
  type Operation,
} from './adapter_options.ts';

/** A request of `node:http` with what hosts add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The form, where the host has parsed it already; or its text. */
  readonly body?: unknown;
  /** What `body` was made of, where the host keeps it. */
  readonly rawBody?: unknown;
  /** The host's identifier of the request, for its log. */
  readonly id?: unknown;
}

/** What the host's framework says of a request, and knows better than the request itself. */
export interface HostedRequest extends LeftByParsers {
  /** With everything that routers take off on the way. */
  readonly url: string | undefined;
  /** Of the peer, as far as the framework believes the proxies before it. */
  readonly remoteAddress: string | undefined;
  readonly id: unknown;
}

/** @throws {Error} the connection broke before the body was complete */
export async function plainRequest(request: IncomingMessage, hosted: HostedRequest): Promise<HttpRequest> {
  const { method = 'GET' } = request;
  const { remoteAddress } = hosted;
  const body = await bodyOf(request, hosted);
  return {
    method,
    ...identityOf(hosted),
    headers: headersWithEveryAuthorization(request),
    ...(remoteAddress !== undefined && { connection: { remoteAddress } }),
    ...(body !== undefined && { body }),
  };
}

/** What is known of a request before it is read. */
export function identityOf({ url = '/', id }: HostedRequest): Pick<HttpRequest, 'url' | 'id'> {
  return { url, ...idOf(id) };
}

/** Texts and numbers are identifiers, as loggers count requests by default; nothing else is, nor an empty text. */
function idOf(id: unknown): Pick<HttpRequest, 'id'> {
  const isIdentifier = typeof id === 'number' || (typeof id === 'string' && id !== '');
  return isIdentifier ? { id: String(id) } : {};
}

/** As the host's framework says, but for the identifier where the host has an option for that. */
export function identified<Incoming>(
  hostedOf: (incoming: Incoming) => HostedRequest,
  { id }: { readonly id?: AdapterOptions<Incoming>['id'] | undefined } = {},
): (incoming: Incoming) => HostedRequest {
  return id === undefined ? hostedOf : (incoming) => ({ ...hostedOf(incoming), id: id(incoming) });
}

export type FurtherHeaders = Readonly<Record<string, string>>;

/** @param further headers beside the answer's own, which win */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpResponse,
  further: FurtherHeaders = {},
): void {
  const { status, body } = answer;
  response.writeHead(status, {
    ...headersOf(request, answer, further),
    ...(status !== 204 && { 'content-length': Buffer.byteLength(body) }),
  });
  response.end(body);
}

/** Every header of the answer to a request but the length. */
export function headersOf(
  request: IncomingMessage,
  answer: HttpResponse,
  further: FurtherHeaders = {},
): HttpResponse['headers'] {
  return {
    ...lowerCased(further),
    ...answer.headers,
    ...closingHeaders(request),
  };
}

/** Two of a name that differ in their letters would both be sent; the length is that of the answer. */
function lowerCased(headers: FurtherHeaders): FurtherHeaders {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(named.filter(([name]) => name !== 'content-length'));
}

/** The connection, or the stream of HTTP/2, was closed before the body was complete. */
class BrokenConnection extends Error {
  constructor() {
    super('the connection was closed');
    this.name = 'BrokenConnection';
  }
}

/** What the host's parsers have left. */
interface LeftByParsers {
  readonly body: unknown;
  /** The text or the bytes that `body` was made of, where they have been kept. */
  readonly rawBody: unknown;
}

/**
 * The body of a request: the text that the host has kept, the form that it has parsed, or else text, which is read no
 * further than just past the server's limit. Text comes first, since a parser may read a form in a way of its own.
 * @throws {BrokenConnection}
 */
export async function bodyOf(
  request: IncomingMessage,
  { body, rawBody }: LeftByParsers,
): Promise<HttpRequest['body']> {
  const text = textFrom(rawBody) ?? textFrom(body);
  if (text !== undefined) return text;
  return isParsedForm(request, body) ? body : readBody(request);
}

/** @returns `undefined` for what is neither text nor bytes */
function textFrom(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined;
}

/** Parsers of other media types leave an empty object behind and the body unread. */
function isParsedForm(request: IncomingMessage, body: unknown): body is ParsedForm {
  if (typeof body !== 'object' || body === null) return false;
  return Object.keys(body).length > 0 || request.readableDidRead;
}

/** @returns `undefined` if there is no body, or if other code has read it without keeping it */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  if (hasNone(request)) return undefined;
  const isUntouched = request.readableFlowing === null; // otherwise other code reads it too
  if (isUntouched) await nextTurn(); // most requests come in one piece, which is all there then
  if (request.readableEnded) return undefined;
  if (request.destroyed) throw new BrokenConnection();
  if (isUntouched && request.readableDidRead) return undefined; // in the meantime
  const isAtHand = request.complete && request.readableFlowing === null && request.readableLength > 0;
  return isAtHand ? bodyAtHand(request) : arrivingBody(request);
}

/** RFC 9112 §6.3; in HTTP/2 a body needs neither header. */
function hasNone({ httpVersionMajor, headers }: IncomingMessage): boolean {
  const isAnnounced = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return httpVersionMajor < 2 && !isAnnounced;
}

function bodyAtHand(request: IncomingMessage): string {
  const chunks: Buffer[] = [];
  while (request.readableLength > 0) chunks.push(bytesOf(request, request.read()));
  return textOf(chunks);
}

function arrivingBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const finish = () => resolve(textOf(chunks));
    request.on('data', (piece: Buffer | string) => {
      const chunk = bytesOf(request, piece);
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) {
        request.pause();
        finish();
      }
    });
    request.on('end', finish);
    if (request.isPaused()) request.resume(); // the host has read a part of it, or waited with it
    request.on('close', () => {
      if (!request.readableEnded) reject(new BrokenConnection());
    });
  });
}

/** If the host has set an encoding, listeners get text. */
function bytesOf({ readableEncoding }: IncomingMessage, piece: Buffer | string): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece, readableEncoding ?? 'utf8') : piece;
}

function textOf([first, ...others]: readonly Buffer[]): string {
  if (first === undefined) return '';
  return (others.length === 0 ? first : Buffer.concat([first, ...others])).toString('utf8');
}

/**
 * What an operation answers to a request.
 * @param render makes an answer of what the operation threw
 * @returns `undefined` if the client disconnected during its request
 * @throws what the operation threw, where the host wants errors forwarded
 */
export async function answerTo(
  request: IncomingMessage,
  hosted: HostedRequest,
  operation: Operation,
  errors: AdapterOptions<never>['errors'] | undefined,
  render: (thrown: unknown) => HttpResponse,
): Promise<HttpResponse | undefined> {
  let plain: HttpRequest;
  try {
    plain = await plainRequest(request, hosted);
  } catch (error) {
    if (error instanceof BrokenConnection) return undefined;
    throw error;
  }
  if (errors === 'forward') return operation(plain);
  try {
    return await operation(plain);
  } catch (thrown) {
    return render(thrown);
  }
}

export type Next = (error?: unknown) => void;

/** Where the frameworks that are built of `(request, response, next)` differ. */
type HostedOf<Incoming> = (request: Incoming) => HostedRequest;

/** Answers where the server has an endpoint; elsewhere `next`, or 404 where there is none. */
export function mountedMiddleware<Incoming extends NodeRequest>(
  hostedOf: HostedOf<Incoming>,
  server: AuthorizationServer,
  given: MountOptions<Incoming> = {},
): (request: Incoming, response: ServerResponse, next?: Next) => Promise<void> {
  requireKinds(given, MOUNT_OPTIONS);
  const { strippedPath, ...options } = given;
  const endpoints = mountedEndpoints<Incoming>(server, strippedPath, (request) =>
    identityOf(hostedOf(request)),
  );
  return middleware(hostedOf, endpoints.operationAt, { onFault: endpoints.onFault, ...options });
}

/**
 * Answers by one operation. What goes wrong goes to `next`; where there is none, nobody would hear of a rejection but
 * the process, which it would end: errors are rendered then.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function operationMiddleware<Incoming extends NodeRequest>(
  hostedOf: HostedOf<Incoming>,
  operation: Operation,
  options: AdapterOptions<Incoming> = {},
): (request: Incoming, response: ServerResponse, next?: Next) => Promise<void> {
  return middleware(hostedOf, () => operation, options);
}

/** @param operationAt the operation for a URL; `undefined` leaves the request to `next` */
function middleware<Incoming extends NodeRequest>(
  hostedOf: HostedOf<Incoming>,
  operationAt: (url: string) => Operation | undefined,
  options: AdapterOptions<Incoming>,
): (request: Incoming, response: ServerResponse, next?: Next) => Promise<void> {
  requireKinds(options, ADAPTER_OPTIONS);
  const { errors, headers, onFault } = options;
  return async (request, response, next) => {
    const render = (thrown: unknown) => rendered(thrown, onFault, request);
    let isOther = false;
    try {
      const hosted = hostedOf(request);
      const operation = operationAt(hosted.url ?? '') ?? (next === undefined ? notFound : undefined);
      if (operation === undefined) isOther = true;
      else {
        const answer = await answerTo(request, hosted, operation, next && errors, render);
        if (answer !== undefined) sendResponse(request, response, answer, headers?.(request));
      }
    } catch (error) {
      if (next !== undefined) return next(error);
      const answer = render(error);
      if (!response.headersSent) sendResponse(request, response, answer);
      else if (!response.writableEnded) response.destroy();
    }
    if (isOther) next?.();
  };
}

/** What `node:http` says of a request itself. */
export function hostedByNode({ url, body, rawBody, id, socket }: NodeRequest): HostedRequest {
  return { url, body, rawBody, id, remoteAddress: socket.remoteAddress };
}

/** A request as Express has it, and others that run Express's middleware. */
export interface ConnectRequest extends NodeRequest {
  /** The URL before the paths were taken off below which routers were mounted. */
  readonly originalUrl?: string | undefined;
  /** The peer, as far as the proxies before it are trusted. */
  readonly ip?: string | undefined;
}

export type ConnectMiddleware = (
  request: ConnectRequest,
  response: ServerResponse,
  next: Next,
) => Promise<void>;

export function hostedByConnect(request: ConnectRequest): HostedRequest {
  const { originalUrl, url, ip, body, rawBody, id, socket } = request;
  return { url: originalUrl ?? url, body, rawBody, id, remoteAddress: ip ?? socket.remoteAddress };
}
