/** The adapter for `node:http`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuthorizationServer } from '../authorization_server.ts';
import { errorResponse } from '../endpoints/error_response.ts';
import type { HttpRequest, HttpResponse, ParsedForm } from '../protocol/http.ts';
import { headersWithEveryAuthorization } from '../protocol/node_headers.ts';
import { MAX_BODY_BYTES } from '../protocol/request_limits.ts';

export { type DocumentFetcherOptions, documentFetcher, documentRefusal } from './node/document_fetcher.ts';

/** A request with what hosts add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The form, where the host has parsed it already. */
  readonly body?: unknown;
  /** The host's identifier of the request, for its log. */
  readonly id?: unknown;
}

export type NodeHandler = (
  request: NodeRequest,
  response: ServerResponse,
  next?: () => void,
) => Promise<void>;

export interface NodeOptions {
  /** Headers of each response beside the answer's own, which win. */
  readonly headers?: (request: NodeRequest) => Readonly<Record<string, string>>;
}

/** Answers with what the server says at the request's path; elsewhere `next`, or 404 where there is none. */
export function mount(server: AuthorizationServer, options?: NodeOptions): NodeHandler {
  const answer = handler(async (request) => (await server.handle(request)) ?? NOT_FOUND, options);
  return async (request, response, next) => {
    if (next === undefined || server.serves(request.url ?? '')) return answer(request, response);
    next();
  };
}

/** One operation alone, for a host that routes by itself: `handler((request) => server.introspect(request))`. */
export function handler(
  operation: (request: HttpRequest) => Promise<HttpResponse>,
  { headers }: NodeOptions = {},
): NodeHandler {
  return async (request, response) => {
    let plain: HttpRequest;
    try {
      plain = await toHttpRequest(request);
    } catch (error) {
      if (request.destroyed) return; // the client went away in the middle of its request: nobody is left to answer
      throw error;
    }
    sendResponse(request, response, await operation(plain).catch(errorResponse), headers?.(request));
  };
}

const NOT_FOUND: HttpResponse = { status: 404, headers: {}, body: '' };

/**
 * The request as a plain value. A body is read no further than just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export async function toHttpRequest(request: NodeRequest): Promise<HttpRequest> {
  const { method = 'GET', url = '/', id } = request;
  const { remoteAddress } = request.socket;
  const body = isParsedForm(request, request.body) ? request.body : await readBody(request);
  return {
    method,
    url,
    headers: headersWithEveryAuthorization(request),
    ...(remoteAddress !== undefined && { connection: { remoteAddress } }),
    ...(typeof id === 'string' && { id }),
    ...(body !== undefined && { body }),
  };
}

/** @param further headers beside the answer's own, which win */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpResponse,
  further: Readonly<Record<string, string>> = {},
): void {
  const { status, body } = answer;
  // A body that was not read to its end cannot be followed by another request.
  const isUnread = !request.complete && request.headers['transfer-encoding'] !== undefined;
  const isTooLong = Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES;
  response.writeHead(status, {
    ...further,
    ...answer.headers,
    ...((isUnread || isTooLong) && { connection: 'close' }),
    ...(status !== 204 && { 'content-length': Buffer.byteLength(body) }),
  });
  response.end(body);
}

/** Parsers of other media types leave an empty object behind and the body unread. */
function isParsedForm(request: NodeRequest, body: unknown): body is ParsedForm {
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body)) return false;
  return Object.keys(body).length > 0 || request.readableDidRead;
}

async function readBody(request: NodeRequest): Promise<string | undefined> {
  if (typeof request.body === 'string') return request.body;
  if (Buffer.isBuffer(request.body)) return request.body.toString('utf8');
  if (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined)
    return undefined;
  if (request.readableEnded) return undefined; // somebody else has read it, and kept it to themselves
  if (request.destroyed) throw new Error('the connection was closed');
  if (request.readableFlowing !== null) return arrivingBody(request); // somebody else reads it as well
  await nextTurn(); // most requests come in one piece, which has been read to its end then
  if (request.readableDidRead) return undefined; // likewise
  if (request.destroyed) throw new Error('the connection was closed');
  const isAtHand = request.complete && request.readableFlowing === null && request.readableLength > 0;
  return isAtHand ? bodyAtHand(request) : arrivingBody(request);
}

function bodyAtHand(request: NodeRequest): string {
  const chunks: Buffer[] = [];
  while (request.readableLength > 0) chunks.push(request.read());
  return textOf(chunks);
}

function arrivingBody(request: NodeRequest): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const finish = () => resolve(textOf(chunks));
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) {
        request.pause();
        finish();
      }
    });
    request.on('end', finish);
    request.on('close', () => {
      if (!request.readableEnded) reject(new Error('the connection was closed'));
    });
  });
}

function textOf([first, ...others]: readonly Buffer[]): string {
  if (first === undefined) return '';
  return (others.length === 0 ? first : Buffer.concat([first, ...others])).toString('utf8');
}
