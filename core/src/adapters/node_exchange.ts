// Request and response of every adapter whose framework is built on `node:http`, and the address of a sender.
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { rendered } from '../http/error_response.ts';
import {
  type ClientCertificate,
  closingHeaders,
  type HttpRequest,
  type HttpResponse,
  headersWithEveryAuthorization,
  MAX_BODY_BYTES,
  type ParsedForm,
} from '../http/http.ts';
import { requireKinds } from '../protocol/option_kinds.ts';
import type { MountedServer } from '../server/authorization_server.ts';
import {
  ADAPTER_OPTIONS,
  type AdapterOptions,
  MOUNT_OPTIONS,
  type MountOptions,
  mountedEndpoints,
  notFound,
  type Operation,
} from './adapter_options.ts';

/** A request of `node:http`, with properties that frameworks and parsers add. */
export interface NodeRequest extends IncomingMessage {
  /** The parsed form or the text, if a parser has read the body. */
  readonly body?: unknown;
  /** The text or the bytes from which `body` was parsed, if the parser keeps them. */
  readonly rawBody?: unknown;
  readonly id?: unknown;
}

/** What the framework knows about a request. It wins over the request itself. */
export interface HostedRequest extends LeftByParsers {
  /** The whole URL, with the parts that routers remove. */
  readonly url: string | undefined;
  readonly id: unknown;
  /** What the host says about it. */
  readonly clientCertificate?: ClientCertificate | undefined;
  readonly place?: string | undefined;
}

/** What the host's body parsers have left. */
interface LeftByParsers {
  readonly body: unknown;
  /** The text or the bytes from which `body` was parsed, if the parser keeps them. */
  readonly rawBody: unknown;
}

export type Next = (error?: unknown) => void;

/** Reads a request of a framework whose handlers are `(request, response, next)`. */
type HostedOf<Incoming> = (request: Incoming) => HostedRequest;

/**
 * Serves all endpoints. If the server has no endpoint at the path, it calls `next`, or answers 404 without one.
 * @throws {ConfigurationError} an option is wrong; the message names it
 */
export function mountedMiddleware<Incoming extends NodeRequest>(
  hostedOf: HostedOf<Incoming>,
  server: MountedServer,
  mountOptions: MountOptions<Incoming> = {},
): (request: Incoming, response: ServerResponse, next?: Next) => Promise<void> {
  requireKinds(mountOptions, MOUNT_OPTIONS);
  const { strippedPath, ...options } = mountOptions;
  const endpoints = mountedEndpoints<Incoming>(server, strippedPath, (request) =>
    identityOf(hostedOf(request)),
  );
  return middleware(hostedOf, endpoints.operationAt, { onFault: endpoints.onFault, ...options });
}

/**
 * Serves one operation. Errors go to `next`. Without `next` they are rendered, because an unhandled rejection would end
 * the process.
 * @throws {ConfigurationError} an option is wrong; the message names it
 */
export function operationMiddleware<Incoming extends NodeRequest>(
  hostedOf: HostedOf<Incoming>,
  operation: Operation,
  options: AdapterOptions<Incoming> = {},
): (request: Incoming, response: ServerResponse, next?: Next) => Promise<void> {
  return middleware(hostedOf, () => operation, options);
}

/** @param operationAt returns the operation for a URL, or `undefined` to call `next` */
function middleware<Incoming extends NodeRequest>(
  hostedOf: HostedOf<Incoming>,
  operationAt: (url: string) => Operation | undefined,
  options: AdapterOptions<Incoming>,
): (request: Incoming, response: ServerResponse, next?: Next) => Promise<void> {
  requireKinds(options, ADAPTER_OPTIONS);
  const { errors, headers, onFault } = options;
  return async (request, response, next) => {
    const render = (thrown: unknown) => rendered(thrown, onFault, request);
    let operation: Operation | undefined;
    try {
      const hosted = hostedOf(request);
      operation = operationAt(hosted.url ?? '') ?? (next === undefined ? notFound : undefined);
      if (operation !== undefined) {
        const answer = await answerTo(request, hosted, operation, next && errors, render);
        if (answer !== undefined) sendResponse(request, response, answer, headers?.(request));
      }
    } catch (error) {
      if (next !== undefined) return next(error);
      const answer = render(error);
      if (!response.headersSent) sendResponse(request, response, answer);
      else if (!response.writableEnded) response.destroy();
    }
    if (operation === undefined) next?.();
  };
}

/**
 * Runs an operation.
 * @param render makes a response of what the operation threw
 * @returns `undefined` if the client disconnected before its request was complete
 * @throws what the operation threw, if errors are forwarded
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

export function hostedByNode({ url, body, rawBody, id }: NodeRequest): HostedRequest {
  return { url, body, rawBody, id };
}

/**
 * Converts a request of `node:http`. Reads its body, but stops just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(request: NodeRequest): Promise<HttpRequest> {
  return plainRequest(request, hostedByNode(request));
}

/** A request of Express, or of a framework that runs Express middleware. */
export interface ConnectRequest extends NodeRequest {
  /** The URL before routers removed the paths that they are mounted at. */
  readonly originalUrl?: string | undefined;
}

export type ConnectMiddleware = (
  request: ConnectRequest,
  response: ServerResponse,
  next: Next,
) => Promise<void>;

export function hostedByConnect(request: ConnectRequest): HostedRequest {
  const { originalUrl, url, body, rawBody, id } = request;
  return { url: originalUrl ?? url, body, rawBody, id };
}

/** @throws {Error} the connection broke before the body was complete, or other code has read it without keeping it */
export async function plainRequest(request: IncomingMessage, hosted: HostedRequest): Promise<HttpRequest> {
  const body = await bodyOf(request, hosted);
  return {
    method: request.method ?? 'GET',
    ...identityOf(hosted),
    headers: headersWithEveryAuthorization(request),
    body,
    clientCertificate: hosted.clientCertificate,
    place: hosted.place,
  };
}

/** Returns what is known before the body has been read. Accepts numbers too, because many loggers count requests. */
export function identityOf({ url = '/', id }: HostedRequest): Pick<HttpRequest, 'url' | 'id'> {
  const isIdentifier = typeof id === 'number' || (typeof id === 'string' && id !== '');
  return { url, ...(isIdentifier && { id: String(id) }) };
}

/** Adds what the host's options say about a request. The option `id` wins over the framework's own identifier. */
export function identified<Incoming>(
  hostedOf: (incoming: Incoming) => HostedRequest,
  { id, clientCertificate, place }: Pick<AdapterOptions<Incoming>, 'id' | 'clientCertificate' | 'place'> = {},
): (incoming: Incoming) => HostedRequest {
  if ((id ?? clientCertificate ?? place) === undefined) return hostedOf;
  return (incoming) => ({
    ...hostedOf(incoming),
    ...(id !== undefined && { id: id(incoming) }),
    clientCertificate: clientCertificate?.(incoming),
    place: place?.(incoming),
  });
}

export type FurtherHeaders = Readonly<Record<string, string>>;

/** @param further headers to add; those of `answer` win */
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

/** Returns all headers of the response except `content-length`. */
export function headersOf(
  request: IncomingMessage,
  answer: HttpResponse,
  further: FurtherHeaders = {},
): HttpResponse['headers'] {
  return { ...lowerCased(further), ...answer.headers, ...closingHeaders(request) };
}

/** Node would send both of two names that differ only in case. The caller sets `content-length` itself. */
function lowerCased(headers: FurtherHeaders): FurtherHeaders {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(named.filter(([name]) => name !== 'content-length'));
}

/** The connection, or the HTTP/2 stream, closed before the body was complete. */
class BrokenConnection extends Error {
  constructor() {
    super('the connection was closed');
    this.name = 'BrokenConnection';
  }
}

/**
 * Returns the body: the text or the form that the host has kept, otherwise the text that arrives. It stops reading
 * just past the server's limit. Text wins over a parsed form, because parsers differ, for example about repeated names.
 * @throws {BrokenConnection}
 * @throws {TypeError} other code has read the body without keeping it
 */
export async function bodyOf(
  request: IncomingMessage,
  { body, rawBody }: LeftByParsers,
): Promise<HttpRequest['body']> {
  if (rawBody === undefined && body === undefined) return readBody(request);
  const text = textFrom(rawBody) ?? textFrom(body);
  if (text !== undefined) return text;
  return isParsedForm(request, body) ? body : readBody(request);
}

/** @returns `undefined` if the value is no text, bytes or parameters */
function textFrom(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) || value instanceof URLSearchParams ? String(value) : undefined;
}

/** Some parsers leave an empty object for media types that they do not know, and the body unread. */
function isParsedForm(request: IncomingMessage, body: unknown): body is ParsedForm {
  if (typeof body !== 'object' || body === null) return false;
  return Object.keys(body).length > 0 || request.readableDidRead;
}

/**
 * @returns `undefined` if there is no body
 * @throws {TypeError} other code has read the body, or a part of it, without keeping it
 */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  if (hasNone(request)) return undefined;
  const isUntouched = request.readableFlowing === null; // otherwise other code reads it too
  if (isUntouched) await nextTurn(); // by then most bodies have arrived whole
  if (request.destroyed && !request.readableEnded) throw new BrokenConnection();
  if (request.readableDidRead)
    throw new TypeError(
      'the body was read before; hand it over as request.body, or mount the server earlier',
    );
  if (request.readableEnded) return undefined;
  const isAtHand = request.complete && request.readableFlowing === null && request.readableLength > 0;
  return isAtHand ? bodyAtHand(request) : arrivingBody(request);
}

/** RFC 9112 §6.3. HTTP/2 needs neither header. */
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
    if (request.isPaused()) request.resume(); // the host has read a part of it, or paused it
    request.on('close', () => {
      if (!request.readableEnded) reject(new BrokenConnection());
    });
  });
}

/** Listeners receive text if the host has set an encoding. */
function bytesOf({ readableEncoding }: IncomingMessage, piece: Buffer | string): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece, readableEncoding ?? 'utf8') : piece;
}

function textOf([first, ...others]: readonly Buffer[]): string {
  if (first === undefined) return '';
  return (others.length === 0 ? first : Buffer.concat([first, ...others])).toString('utf8');
}

/** An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2), as the URL parser writes it. */
const IPV4_MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * Normalizes an IP address: removes port and zone, and turns IPv4-mapped IPv6 into IPv4.
 * @returns `undefined` if the text is not an IP address
 */
export function plainAddress(text: string): string | undefined {
  const [, bracketed, before] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const address = (bracketed ?? before ?? text.trim()).replace(/%.*$/, '');
  const version = isIP(address);
  if (version === 0) return undefined;
  if (version === 4) return address;
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = IPV4_MAPPED.exec(written) ?? [];
  return high === undefined || low === undefined ? written : ipv4Of(high, low);
}

const GROUPS = 8;
/** 64 bits, the least that a network assigns to one customer (RFC 6177 §2). */
const GROUPS_OF_UNIT = 4;

/**
 * Returns the unit that all limits count as one address: the IPv4 address, or the /64 of an IPv6 address, because its
 * owner controls every address in it. Returns any other text unchanged.
 */
export function addressUnit(text: string): string {
  const address = plainAddress(text);
  if (address === undefined || isIP(address) === 4) return address ?? text;
  const [head = '', tail] = address.split('::');
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = tail === undefined ? 0 : GROUPS - (before?.length ?? 0) - (after?.length ?? 0);
  const groups = [...(before ?? []), ...Array<string>(zeros).fill('0'), ...(after ?? [])];
  return `${groups.slice(0, GROUPS_OF_UNIT).join(':')}::/64`;
}

/** How many senders an IPv6 /48 counts as. */
const SENDERS_OF_SITE = 4;

/**
 * What counts as one sender of requests that anyone can send and that store something. Anyone can have an IPv6 /48, with
 * 65,536 /64, so each /64 of it is one of four senders. With one /64, a neighbor can use up only one of them (ADR 155).
 */
export function senderOf(address: string): string {
  const unit = addressUnit(address);
  const [, site] = /^((?:[0-9a-f]+:){3})[0-9a-f]+::\/64$/.exec(unit) ?? [];
  if (site === undefined) return unit;
  const [byte = 0] = hash('sha256', unit, 'buffer');
  return `${site}:/48 ${byte % SENDERS_OF_SITE}`;
}

/** @param halves 16 bits each, in hexadecimal */
function ipv4Of(...halves: readonly [string, string]): string {
  return halves
    .map((half) => Number.parseInt(half, 16))
    .flatMap((bits) => [bits >> 8, bits & 0xff])
    .join('.');
}
