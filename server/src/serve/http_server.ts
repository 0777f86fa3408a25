import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** An HTTP server that does not listen yet; until it is told how to answer, it asks its callers to come back. */
export interface HttpServer {
  readonly http: Server;
  answerWith(listener: RequestListener): void;
  /** Asks them again to come back, or to go elsewhere. */
  answerNotReady(): void;
}

export function createHttpServer(): HttpServer {
  const http = createServer({
    // A repeated header must not hide the first one: two credentials are refused, not one of them ignored.
    joinDuplicateHeaders: true,
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    // Longer than the 60 seconds of common load balancers, which must be the first to close.
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16 * 1024,
    // Checked below: Node's own refusals lack a Cache-Control.
    requireHostHeader: false,
  });
  const answering = new WeakMap<Duplex, ServerResponse>();
  let answer = notReady;
  http.on('request', (request, response) => {
    answering.set(request.socket, response);
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
  };
}

const notReady: RequestListener = (_request, response) => {
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
