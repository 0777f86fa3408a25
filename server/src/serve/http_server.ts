import { randomBytes } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { type AuthorizationServer, pathOf } from '@grantd/core';
import { mount } from '@grantd/core/node';
import type { Settings } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import type { Instance } from '../instance/instance.ts';
import { causeOf, type Log } from '../log/log.ts';
import type { RequestLog } from '../log/request_log.ts';

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
interface TimeLimits {
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

/** Whether the process runs, for whoever restarts it. A restart does not help against an outage of the database. */
const LIVE_PATH = '/health/live';

/** Whether requests should be sent here. */
const READY_PATHS: ReadonlySet<string> = new Set(['/health', '/health/ready']);

/** Says that the process runs. */
function answerLive(response: ServerResponse): void {
  answerHealth(response, 'ok');
}

interface ReadinessParts {
  readonly settings: Settings;
  readonly instance: Instance;
  /** Whether the database is still the one that was opened. */
  readonly isInPlace: () => boolean;
  /** Whether the server was asked to end. */
  readonly isEnding: () => boolean;
  readonly log: Log;
}

/** Answers requests for the paths of health checks. */
type HealthListener = (path: string, response: ServerResponse) => Promise<boolean>;

/**
 * The health checks. The server is ready only if storage answers everything that serving asks of it, would do so with
 * nothing in memory, and takes writes; and until the server is asked to end.
 * @returns a listener that resolves with whether the path is that of a health check
 */
export function healthListener({
  settings,
  instance,
  isInPlace,
  isEnding,
  log,
}: ReadinessParts): HealthListener {
  return async (path, response) => {
    if (path === LIVE_PATH) {
      answerLive(response);
      return true;
    }
    if (!READY_PATHS.has(path)) return false;
    const isReady = await answers(() => askForAll(settings, instance, isInPlace), log);
    answerHealth(response, isEnding() ? 'ending' : isReady ? 'ok' : 'unavailable');
    return true;
  };
}

function answerHealth(response: ServerResponse, status: 'ok' | 'unavailable' | 'ending'): void {
  const isOk = status === 'ok';
  response.writeHead(isOk ? 200 : 503, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...(!isOk && { 'retry-after': '1' }),
  });
  response.end(JSON.stringify({ status }));
}

/** @throws {Error} something was not answered, or not as it must be */
async function askForAll(
  { accessTokenAlgorithm, idTokenAlgorithm }: Settings,
  { issuer, database, storage, people, isDamaged, requireWritable }: Instance,
  isInPlace: () => boolean,
): Promise<void> {
  const { name } = database;
  if (isDamaged?.() === true) throw new Error(`${name} is corrupt`);
  if (!isInPlace()) throw new Error(`${name} is no longer what was opened`);
  const stored = await database.storedIssuer();
  if (stored !== issuer) throw new Error(`${name} belongs to ${stored ?? 'nobody'}, no longer to ${issuer}`);
  // A key that is missing is made when it is needed first.
  for (const algorithm of new Set([accessTokenAlgorithm, idTokenAlgorithm]))
    await storage.keys.currentKeyId(algorithm);
  await storage.tokens.getByAccessToken(randomBytes(16).toString('base64url'));
  await people.byName('');
  await requireWritable();
}

async function answers(ask: () => Promise<void>, log: Log): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    log.error({ event: 'unhealthy', reason: 'storage_unavailable', cause: causeOf(error) });
    return false;
  }
}

/** What the adapter finds the identifier of a request at. */
type Identified = IncomingMessage & { id?: string };

export interface Routes {
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  readonly health: HealthListener;
  readonly pages: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

/** The protocol's endpoints on the library's own adapter, health checks, and pages for the rest. */
export function requestListener({ server, requestLog, health, pages }: Routes): RequestListener {
  const protocol = mount(server, { headers: ({ id }) => ({ 'x-request-id': String(id) }) });
  const elsewhere = async (request: IncomingMessage, response: ServerResponse, id: string) => {
    response.setHeader('x-request-id', id);
    // Unless the answer itself says otherwise; what is made for a malformed request says nothing.
    response.setHeader('cache-control', 'no-store');
    if (!(await health(pathOf({ url: request.url ?? '' }), response))) await pages(request, response);
  };

  return (request, response) => {
    const id = requestLog.begin(request, response);
    const identified: Identified = request;
    identified.id = id;
    const fail = (error: unknown) => {
      requestLog.failure(id, 'unexpected', error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'cache-control': 'no-store', 'content-length': 0 }).end();
    };
    const answer = server.serves(request.url ?? '')
      ? protocol(identified, response, fail)
      : elsewhere(identified, response, id);
    answer.catch(fail);
  };
}

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Not much later, since an update of the program may replace its files while it runs. */
const LOAD_AFTER_MS = 1_000;

/** A listener whose code is loaded for its first request, or a moment after the start, which it would make longer. */
export function lateListener(load: () => Promise<Listener>): Listener {
  let listener: Promise<Listener> | undefined;
  const loaded = (): Promise<Listener> => {
    // A failure is not kept: it may have been a moment without free file descriptors.
    listener ??= load().catch((error: unknown) => {
      listener = undefined;
      throw error;
    });
    return listener;
  };
  // If loading fails, each request tries again and reports the error.
  setTimeout(() => void loaded().catch(() => undefined), LOAD_AFTER_MS).unref();
  return async (request, response) => (await loaded())(request, response);
}

/**
 * Lets a server listen.
 * @returns the port: a free one where 0 was given
 * @throws {Refused} the address is taken or not this machine's
 */
export async function listenOn(server: NetServer, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  }).catch((error: unknown) => {
    throw new Refused(cannotListen(error, host, port), { cause: error });
  });
  return portOf(server.address());
}

function cannotListen(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  if (code === 'EADDRINUSE') {
    return `port ${port} on ${host} is in use: stop what listens there, or choose another with --port.`;
  }
  if (code === 'EACCES') return `port ${port} needs more rights: choose one above 1023 with --port.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is no address of this machine: choose another with --host.`;
  return `cannot listen on ${host}, port ${port}: ${code}`;
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen on a port');
  return address.port;
}
