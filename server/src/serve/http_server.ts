import { randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type AuthorizationServer, DEFAULT_PATHS, type HttpRequest, pathOf } from '@grantd/core';
import {
  addressUnit,
  handler,
  type MountOptions,
  mount,
  type NodeHandler,
  type NodeRequest,
  senderOf,
} from '@grantd/core/node';
import { asksForPage, clientAddress } from '../config/client_address.ts';
import { flagOf, type OptionName, type Settings } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import type { ClockWatch } from '../data/clock_watch.ts';
import { type StorageTrouble, storageTrouble, withoutFault } from '../data/storage_trouble.ts';
import type { Contact } from '../follow/contact.ts';
import type { Feed } from '../follow/feed.ts';
import type { Instance } from '../instance/instance.ts';
import type { Guesses } from '../limits/guesses.ts';
import type { Throttle } from '../limits/throttle.ts';
import type { RequestLog } from '../log/log.ts';
import { guessable, type Log, within } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';
import type { Connections } from './shutdown.ts';
import type { TlsFiles } from './tls.ts';

/**
 * Not imported: `import` reads every export of a module. Those of `node:http` include WebSockets, for which Node would
 * load its client for HTTP, which takes 11 MiB and a tenth of the time to start.
 */
const { createServer } = process.getBuiltinModule('node:http');

/** An HTTP server that does not listen yet. It answers 503 until `answerWith` is called. */
export interface HttpServer {
  /** Accepts connections, with TLS if the server has a certificate. */
  readonly http: Server;
  /** Accepts connections and asks clients for certificates. Its requests go to `http`. */
  readonly mtls: NetServer | undefined;
  /** Of both. */
  readonly connections: Connections;
  /** Resolves when the responses to all requests that came before are complete or aborted. */
  answerWith(listener: RequestListener): Promise<void>;
  /** Answers 503 again. */
  answerNotReady(): void;
  /** Closes idle connections and handshakes at once, and the other connections after their current answer. */
  renewConnections(): void;
  /** Makes every further answer close its connection, so that callers reconnect to another server. */
  closeAfterAnswers(): void;
  /**
   * Lets answers keep connections open again, and a connection expect another request for a second, even though it is
   * idle. Callers that still send requests then have connections when the port closes. A connection that they would open
   * at that moment could be lost.
   */
  keepLastConnections(): void;
}

/** Time limits, in milliseconds. */
interface TimeLimits {
  /** For a whole request with its body. */
  readonly request: number;
  /** Between two checks for requests that exceed a limit. */
  readonly checkInterval: number;
}

/** Milliseconds in which a connection may bring its next request before it counts as idle. */
const NEXT_REQUEST_MS = 1000;

/** A connection that a client has opened. */
interface OpenConnection {
  /** When it was accepted, or when its last request came, in milliseconds. */
  readonly usedAtMs: number;
  /** Whether a request has come. */
  readonly isUsed: boolean;
  /** The response to its last request, until it ends. An idle connection must not keep it from garbage collection. */
  response: ServerResponse | undefined;
}

const TIME_LIMITS: TimeLimits = { request: 30_000, checkInterval: 1000 };

/** @param tls creates the servers for TLS; without it, the server speaks plain http */
export function createHttpServer(
  tls?: Pick<TlsFiles, 'createServers'>,
  { request: requestTimeout, checkInterval } = TIME_LIMITS,
): HttpServer {
  const options = {
    // With two credentials, the request must fail instead of one being ignored.
    joinDuplicateHeaders: true,
    headersTimeout: Math.min(10_000, requestTimeout),
    requestTimeout,
    // Node’s default is 30 seconds, which would allow requests to exceed their limit by that much.
    connectionsCheckingInterval: checkInterval,
    // Load balancers usually time out after 60 seconds, and they must close first.
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16 * 1024,
    // Checked below, because Node’s own response lacks Cache-Control.
    requireHostHeader: false,
  } satisfies ServerOptions;
  const { http, mtls } = tls?.createServers(options) ?? { http: createServer(options), mtls: undefined };
  const tlsConnections = tls && new TlsConnections(http, mtls);
  const open = new Map<Duplex, OpenConnection>();
  const old = new WeakSet<Duplex>();
  let answer = notReady;
  let isEnding = false;
  let isLast = false;
  http.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Duplex) => {
    open.set(socket, { usedAtMs: performance.now(), isUsed: false, response: undefined });
    socket.once('close', () => open.delete(socket));
  });
  http.on('request', (request, response) => {
    const use: OpenConnection = { usedAtMs: performance.now(), isUsed: true, response };
    // A connection that has closed must not come back.
    if (open.has(request.socket)) open.set(request.socket, use);
    response.on('close', () => Object.assign(use, { response: undefined }));
    if (isEnding || old.has(request.socket)) response.shouldKeepAlive = false;
    // RFC 9112 §3.2
    if (request.httpVersion === '1.1' && request.headers.host === undefined) refuse(response, 400);
    else answer(request, response);
  });
  http.on('checkExpectation', (_request, response) => refuse(response, 417));
  http.on('clientError', (error, socket) => {
    // Without TLS, the caller could not read an answer.
    if (open.has(socket)) refuseUnreadable(error, socket, open.get(socket)?.response);
    else socket.destroy();
  });
  const closeAfterCurrentAnswers = (): void => {
    for (const { response } of open.values()) if (response !== undefined) response.shouldKeepAlive = false;
  };
  // Node calls a connection idle before its first request, also if this request has arrived and is about to be read.
  const closeIdleAndNew = http.closeIdleConnections.bind(http);
  http.closeIdleConnections = () => {
    const since = performance.now() - NEXT_REQUEST_MS;
    const expectsRequest = ({ usedAtMs, isUsed }: OpenConnection) => usedAtMs > since && (!isUsed || isLast);
    if (![...open.values()].some(expectsRequest)) closeIdleAndNew();
  };
  return {
    http,
    mtls,
    connections: tlsConnections ?? http,
    async answerWith(listener) {
      answer = listener;
      // Responses on one connection end in order, so the last one is enough.
      const pending = [...open.values()]
        .map(({ response }) => response)
        .filter((response) => response?.writableFinished === false);
      await Promise.all(pending.map((response) => new Promise((end) => response?.once('close', end))));
    },
    answerNotReady() {
      answer = notReady;
    },
    renewConnections() {
      for (const socket of open.keys()) old.add(socket);
      closeAfterCurrentAnswers();
      tlsConnections?.closeHandshakes();
      closeIdleAndNew();
    },
    closeAfterAnswers() {
      isEnding = true;
      closeAfterCurrentAnswers();
    },
    keepLastConnections() {
      isEnding = false;
      isLast = true;
    },
  };
}

/** The connections of servers for TLS, also those in the handshake, which the HTTP server does not know yet. */
class TlsConnections implements Connections {
  readonly #http: Server;
  readonly #mtls: NetServer | undefined;
  readonly #open = new Set<Socket>();
  /** By the addresses of the connection, because Node does not say which socket a TLS connection belongs to. */
  readonly #handshakes = new Map<string, Socket>();

  constructor(http: Server, mtls: NetServer | undefined) {
    this.#http = http;
    this.#mtls = mtls;
    for (const server of [http, mtls])
      server?.on('connection', (socket: Socket) => {
        const addresses = addressesOf(socket);
        this.#open.add(socket);
        this.#handshakes.set(addresses, socket);
        socket.once('close', () => {
          this.#open.delete(socket);
          if (this.#handshakes.get(addresses) === socket) this.#handshakes.delete(addresses);
        });
      });
    http.on('secureConnection', (connection: Socket) => this.#handshakes.delete(addressesOf(connection)));
  }

  /** A handshake ends with the CAs that were trusted when it began. */
  closeHandshakes(): void {
    for (const socket of this.#handshakes.values()) socket.destroy();
  }

  close(done: () => void = () => {}): void {
    this.#http.close(() => (this.#mtls === undefined ? done() : this.#mtls.close(() => done())));
    this.#mtls?.close();
  }

  closeIdleConnections(): void {
    this.#http.closeIdleConnections();
  }

  closeAllConnections(): void {
    this.#http.closeAllConnections();
    for (const socket of this.#open) socket.destroy();
  }
}

function addressesOf({ localPort, remoteAddress, remotePort }: Socket): string {
  return `${localPort} ${remoteAddress} ${remotePort}`;
}

const notReady: RequestListener = (request, response) => {
  if (pathOf({ url: request.url ?? '' }) === LIVE_PATH) return answerLive(response);
  response.writeHead(503, { 'retry-after': '1', 'cache-control': 'no-store', 'content-length': 0 }).end();
};

function refuse(response: ServerResponse, status: 400 | 417): void {
  response.writeHead(status, { connection: 'close', 'cache-control': 'no-store', 'content-length': 0 }).end();
}

/** Responses to requests that Node cannot parse. Node’s own responses lack Cache-Control. */
const UNREADABLE: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** @param answering the last response on the connection */
function refuseUnreadable(error: Error, socket: Duplex, answering: ServerResponse | undefined): void {
  // A client would read the error as part of the current answer.
  const isAnswering = answering?.headersSent === true && !answering.writableFinished;
  if (!socket.writable || isAnswering) {
    socket.destroy(error);
    return;
  }
  const status = UNREADABLE['code' in error ? String(error.code) : ''] ?? '400 Bad Request';
  const head = [`HTTP/1.1 ${status}`, 'Connection: close', 'Cache-Control: no-store', 'Content-Length: 0'];
  socket.end(`${head.join('\r\n')}\r\n\r\n`, () => socket.destroy());
}

/** Liveness: the process runs. It ignores storage, because a restart does not help against a database outage. */
const LIVE_PATH = '/health/live';

/** Readiness: the server can answer requests. */
const READY_PATHS = ['/health', '/health/ready'];

function answerLive(response: ServerResponse): void {
  answerHealth(response, 'ok');
}

interface ReadinessParts {
  readonly settings: Settings;
  readonly instance: Instance;
  /** Whether the database file is still the one that was opened. */
  readonly isInPlace: () => boolean;
  /** Whether the server is shutting down. */
  readonly isEnding: () => boolean;
  readonly clock: Pick<ClockWatch, 'skewSeconds'>;
  readonly log: Log;
}

type HealthCheck = (response: ServerResponse) => Promise<void>;

/**
 * Creates the health checks, by path. The server is ready if storage answers every kind of lookup without the cache,
 * accepts writes, and the server is not shutting down.
 */
export function healthChecks({
  isEnding,
  clock,
  ...parts
}: ReadinessParts): ReadonlyMap<string, HealthCheck> {
  const troubleNow = readinessCheck(parts);
  const ready: HealthCheck = async (response) => {
    const isOk = (await troubleNow()) === undefined;
    answerHealth(response, isEnding() ? 'ending' : isOk ? 'ok' : 'unavailable', clock.skewSeconds);
  };
  return new Map([
    [LIVE_PATH, async (response) => answerLive(response)],
    ...READY_PATHS.map((path) => [path, ready] as const),
  ]);
}

/**
 * Returns a check whether storage answers and accepts writes. It logs why not, and never rejects.
 * @returns resolves with `undefined` if storage does
 */
export function readinessCheck({
  settings,
  instance,
  isInPlace,
  log,
}: Omit<ReadinessParts, 'isEnding' | 'clock'>): () => Promise<StorageTrouble | undefined> {
  return () => troubleIn(() => checkStorage(settings, instance, isInPlace), log);
}

/** @param skew seconds by which the clock is wrong. If it is, the server still answers, because it may be the others that are. */
function answerHealth(response: ServerResponse, status: 'ok' | 'unavailable' | 'ending', skew = 0): void {
  const isOk = status === 'ok';
  response.writeHead(isOk ? 200 : 503, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...(!isOk && { 'retry-after': '1' }),
  });
  response.end(JSON.stringify({ status, ...(skew !== 0 && { clock_skew_seconds: skew }) }));
}

/** @throws {Error} storage did not answer, or the database is not the expected one */
async function checkStorage(
  { accessTokenAlgorithm, idTokenAlgorithm }: Settings,
  { issuer, database, storage, people, isDamaged, requireWritable }: Instance,
  isInPlace: () => boolean,
): Promise<void> {
  const { name } = database;
  if (isDamaged?.() === true) throw new Error(`${name} is corrupt`);
  if (!isInPlace()) throw new Error(`${name} is no longer what was opened`);
  const stored = await database.storedIssuer();
  if (stored !== issuer) throw new Error(`${name} belongs to ${stored ?? 'nobody'}, no longer to ${issuer}`);
  // A missing key is created at its first use.
  for (const algorithm of new Set([accessTokenAlgorithm, idTokenAlgorithm]))
    await storage.keys.currentKeyId(algorithm);
  await storage.tokens.getByAccessToken(randomBytes(16).toString('base64url'));
  await people.byName('');
  await requireWritable();
}

async function troubleIn(check: () => Promise<void>, log: Log): Promise<StorageTrouble | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    const trouble = storageTrouble(error);
    const cause = causeOf(withoutFault(error));
    log.error({ event: 'unhealthy', reason: 'storage_unavailable', trouble, cause });
    return trouble;
  }
}

export interface Routes {
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  /** By path. Default: none. */
  readonly health?: ReadonlyMap<string, HealthCheck> | undefined;
  /** Resolves with whether the request was one to the admin API. Absent if that is off. */
  readonly admin?:
    | ((request: IncomingMessage, response: ServerResponse, id: string) => Promise<boolean>)
    | undefined;
  readonly pages: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Returns the certificate of a request’s client. Default: none. */
  readonly clientCertificate?: MountOptions<NodeRequest>['clientCertificate'] | undefined;
  /** Proxies whose forwarded addresses count. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Endpoints of the program for APIs and gateways. Default: none. */
  readonly forApis?: readonly Pick<Feed, 'path' | 'answer'>[] | undefined;
  /** Answers nonces of followers before anything else is done for a request. Default: none. */
  readonly contact?: Pick<Contact, 'start' | 'takes'> | undefined;
  /** Which requests of strangers have to wait. Default: none. */
  readonly throttle?: Throttle | undefined;
  /** What refuses callers that guess. Default: nothing. */
  readonly guesses?: Guesses | undefined;
  /** The port for clients with certificates. It has no pages, because it is another origin for browsers. */
  readonly mtlsPort?: number | undefined;
}

/** Routes requests: protocol endpoints to the library’s adapter, health checks, and everything else to the pages. */
export function requestListener({
  server,
  requestLog,
  health,
  admin,
  pages,
  forApis = [],
  contact,
  clientCertificate,
  mtlsPort,
  throttle,
  guesses,
  trustedProxies = [],
}: Routes): RequestListener {
  const addressOf = trustedProxies.length === 0 ? addressOfConnection : clientAddress(trustedProxies);
  const options: MountOptions<NodeRequest> = {
    headers: ({ id }) => ({ 'x-request-id': String(id) }),
    ...(clientCertificate !== undefined && { clientCertificate }),
  };
  const protocol = mount(server, options);
  const noncePath = contact?.start ?? '-';
  const apis = new Map(forApis.map((api) => [api.path, api]));
  // Only registration has a limit per address, and only requests of devices keep theirs, so no other request pays for it.
  const placed = mount(server, { ...options, place: (request) => placeOf(request.url, addressOf(request)) });
  const base = new URL(server.issuer).pathname.replace(/\/$/, '');
  const handlers = new Map<string, NodeHandler>(PLACED.map((path) => [base + path, placed]));
  for (const { path, answer, judge } of guesses?.endpoints(server) ?? []) {
    const operation = (request: HttpRequest) =>
      guessable.run(request, guesses?.isAlert ? judge : answer, request);
    const onFault = (fault: unknown, { id }: NodeRequest) =>
      server.reportFault(fault, { url: path, id: String(id) });
    handlers.set(path, handler(operation, { ...options, onFault }));
  }
  for (const [path, operation] of throttle?.operations ?? []) {
    const mounted = handlers.get(path) ?? protocol;
    handlers.set(path, async (request, response, next) => {
      const requestId = String(request.id);
      const secondsToWait = throttle?.take(operation, addressOf(request)) ?? 0;
      if (secondsToWait === 0) return mounted(request, response, next);
      requestLog.about({ requestId, operation, reason: 'too_many_requests' });
      if (request.socket.localPort === mtlsPort || !asksForPage(request.headers.accept))
        return answerThrottled(response, secondsToWait, requestId);
      Object.assign(request, { secondsToWait });
      next?.();
    });
  }
  const answerOther = async (request: IncomingMessage, response: ServerResponse, id: string) => {
    response.setHeader('x-request-id', id);
    // The default. Pages may set their own value; answers to malformed requests set none.
    response.setHeader('cache-control', 'no-store');
    const path = pathOf({ url: request.url ?? '' });
    if (apis.has(path)) return apis.get(path)?.answer(request, response, id);
    const check = health?.get(path);
    if (check !== undefined) return check(response);
    if (await admin?.(request, response, id)) return;
    if (mtlsPort === undefined || request.socket.localPort !== mtlsPort) await pages(request, response);
    else response.writeHead(404, { 'content-length': 0 }).end();
  };

  const listener: RequestListener = (request, response) => {
    if (request.url?.startsWith(noncePath) && contact?.takes(request, response, listener)) return;
    const address = addressOf(request);
    const named = Object.assign(request, { address, id: requestLog.begin(request, response, address) });
    const fail = (error: unknown) => {
      requestLog.failure(named.id, 'unexpected', error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'cache-control': 'no-store', 'content-length': 0 }).end();
    };
    const next = (error?: unknown) => {
      if (error !== undefined) fail(error);
      else answerOther(named, response, named.id).catch(fail);
    };
    const mounted = handlers.get(pathOf({ url: request.url ?? '' })) ?? protocol;
    within({ requestId: named.id, address }, () => mounted(named, response, next)).catch(fail);
  };
  return listener;
}

/** Answers a program, in short, because many answers may be needed. Scripts of any site may read it, as they may read a registration. */
function answerThrottled(response: ServerResponse, secondsToWait: number, id: string): void {
  response.writeHead(429, {
    ...{ 'x-request-id': id, 'retry-after': String(secondsToWait), 'cache-control': 'no-store' },
    ...{ 'content-type': 'application/json', 'access-control-allow-origin': '*' },
  });
  const error_description = `too many requests from this address: try again in ${secondsToWait} seconds`;
  response.end(JSON.stringify({ error: 'temporarily_unavailable', error_description }));
}

/** Paths of endpoints to which it matters where a request comes from. */
const PLACED = [DEFAULT_PATHS.registration, DEFAULT_PATHS.deviceAuthorization];

/** Registrations stay, so they count by sender. Users see the place of a device. */
function placeOf(url = '', address: string): string {
  return pathOf({ url }).endsWith(DEFAULT_PATHS.registration) ? senderOf(address) : addressUnit(address);
}

/** An IPv4 address is without the prefix that it has on a socket for IPv6. */
function addressOfConnection({ socket: { remoteAddress = '' } }: IncomingMessage): string {
  return remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Soon after the start, because an update may replace the program’s files while it runs. */
const LOAD_AFTER_MS = 1_000;

/** Loads a listener at its first request or shortly after the start, so that the start is not delayed. */
export function lateListener(load: () => Promise<Listener>): Listener {
  let listener: Promise<Listener> | undefined;
  const loaded = (): Promise<Listener> => {
    // Failures are not cached, because a shortage of file descriptors may pass.
    listener ??= load().catch((error: unknown) => {
      listener = undefined;
      throw error;
    });
    return listener;
  };
  // If loading fails, each request retries and reports the error.
  setTimeout(() => void loaded().catch(() => undefined), LOAD_AFTER_MS).unref();
  return async (request, response) => (await loaded())(request, response);
}

/**
 * Starts to listen on the ports of the settings.
 * @returns the settings with the ports in use
 * @throws {Refused} an address is in use or not available on this machine; then neither server listens
 */
export async function listen(
  { http, mtls }: { readonly http: NetServer; readonly mtls: NetServer | undefined },
  settings: Settings,
): Promise<Settings> {
  const port = await listenOn(http, settings.host, settings.port);
  if (mtls === undefined) return { ...settings, port };
  try {
    return {
      ...settings,
      port,
      mtlsPort: await listenOn(mtls, settings.host, settings.mtlsPort ?? 0, 'mtlsPort'),
    };
  } catch (error) {
    http.close();
    throw error;
  }
}

/**
 * Starts to listen.
 * @param port 0 picks a free port
 * @param option the option that the port comes from
 * @param hostOption the option that the host comes from
 * @returns the port in use
 * @throws {Refused} the address is in use or not available on this machine
 */
export async function listenOn(
  server: NetServer,
  host: string,
  port: number,
  option: OptionName = 'port',
  hostOption: OptionName = 'host',
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  }).catch((error: unknown) => {
    throw new Refused(cannotListen(error, host, port, flagOf(option), flagOf(hostOption)), { cause: error });
  });
  return portOf(server.address());
}

function cannotListen(error: unknown, host: string, port: number, flag: string, hostFlag: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  if (code === 'EADDRINUSE') {
    return `port ${port} on ${host} is in use: stop the program that uses it, or choose another port with ${flag}.`;
  }
  if (code === 'EACCES')
    return `no permission to listen on port ${port}: choose a port above 1023 with ${flag}.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is not an address of this machine: choose another with ${hostFlag}.`;
  return `cannot listen on ${host}, port ${port}: ${code}`;
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen on a port');
  return address.port;
}
