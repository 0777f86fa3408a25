import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pathOf } from '@grantd/core';
import { answerLive, LIVE_PATH } from './health.ts';

/** An HTTP server that does not listen yet. Until `answerWith` is called, it answers 503. */
export interface HttpServer {
  readonly http: Server;
  answerWith(listener: RequestListener): void;
  /** Answers 503 again. */
  answerNotReady(): void;
  /** From now on every answer closes its connection, so that callers open the next one elsewhere. */
  closeAfterAnswers(): void;
}

/** Time limits, in milliseconds. */
export interface TimeLimits {
  /** For a whole request, with its body. */
  readonly request: number;
  /** Between two looks for requests that exceed a limit. */
  readonly look: number;
}

const TIME_LIMITS: TimeLimits = { request: 30_000, look: 1000 };

export function createHttpServer({ request: requestTimeout, look } = TIME_LIMITS): HttpServer {
  const http = createServer({
    // A repeated header must not hide the first one: two credentials are refused, not one of them ignored.
    joinDuplicateHeaders: true,
    headersTimeout: Math.min(10_000, requestTimeout),
    requestTimeout,
    // Node looks every 30 seconds by default, so that a limit could be exceeded by as much.
    connectionsCheckingInterval: look,
    // Longer than the 60 seconds of common load balancers, which must be the first to close.
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16 * 1024,
    // Checked below: Node's own refusals lack a Cache-Control.
    requireHostHeader: false,
  });
  const answering = new WeakMap<Duplex, ServerResponse>();
  const open = new Set<Duplex>();
  let answer = notReady;
  let isEnding = false;
  http.on('connection', (socket: Duplex) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  http.on('request', (request, response) => {
    answering.set(request.socket, response);
    if (isEnding) response.shouldKeepAlive = false;
    // RFC 9112 §3.2
    if (request.httpVersion === '1.1' && request.headers.host === undefined) refuse(response, 400);
    else answer(request, response);
  });
  http.on('checkExpectation', (_request, response) => refuse(response, 417));
  http.on('clientError', (error, socket) => refuseUnreadable(error, socket, answering.get(socket)));
  return {
    http,
    answerWith(listener) {
      answer = listener;
    },
    answerNotReady() {
      answer = notReady;
    },
    closeAfterAnswers() {
      isEnding = true;
      for (const socket of open) {
        const response = answering.get(socket);
        if (response !== undefined) response.shouldKeepAlive = false;
      }
    },
  };
}

const notReady: RequestListener = (request, response) => {
  if (pathOf({ url: request.url ?? '' }) === LIVE_PATH) return answerLive(response);
  response.writeHead(503, { 'retry-after': '1', 'cache-control': 'no-store', 'content-length': 0 }).end();
};

function refuse(response: ServerResponse, status: 400 | 417): void {
  response.writeHead(status, { connection: 'close', 'cache-control': 'no-store', 'content-length': 0 }).end();
}

/** What Node could not read as a request; by default it says the same without a word to caches. */
const UNREADABLE: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** @param answering the response that the connection had last */
function refuseUnreadable(error: Error, socket: Duplex, answering: ServerResponse | undefined): void {
  // In the middle of an answer it would be taken for a part of it.
  const isAnswering = answering?.headersSent === true && !answering.writableFinished;
  if (!socket.writable || isAnswering) {
    socket.destroy(error);
    return;
  }
  const status = UNREADABLE['code' in error ? String(error.code) : ''] ?? '400 Bad Request';
  const head = [`HTTP/1.1 ${status}`, 'Connection: close', 'Cache-Control: no-store', 'Content-Length: 0'];
  socket.end(`${head.join('\r\n')}\r\n\r\n`, () => socket.destroy());
}
