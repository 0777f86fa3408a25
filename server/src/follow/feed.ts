// `POST /token/follow`: tells APIs about whose tokens they have to ask again (ADR 175, docs/follow.md).
import type { ServerResponse } from 'node:http';
import {
  type AdministrableStorage,
  type AuthorizationServer,
  type ClientRecord,
  errorResponse,
  type HttpRequest,
  hasResource,
  isUnchecked,
  OAuthError,
  type ReasonCode,
  StorageFault,
} from '@grantd/core';
import { type NodeRequest, sendResponse, toHttpRequest } from '@grantd/core/node';
import { isSameClient } from '../data/conditions.ts';
import type { Guesses } from '../limits/guesses.ts';
import type { RequestLog } from '../log/log.ts';
import { Contact, type ContactParts } from './contact.ts';
import { EndingReader, MAX_KEYS } from './endings.ts';
import { EventTail, type Mark } from './tail.ts';

/** Below the issuer. */
export const FOLLOW_PATH = '/token/follow';

/** Streams of one process. */
const MAX_STREAMS = 2000;
const MAX_STREAMS_OF_CLIENT = 100;

const HEARTBEAT_MS = 1000;

/** Milliseconds between two reads of events. */
const readEveryMs = (streams: number) => Math.min(Math.max(10, streams / 10), 50);

/** Milliseconds between two messages with endings. Each goes to all streams, which costs about 10 µs for each of them. */
const tellEveryMs = (streams: number) => Math.max(0, streams - 100) / 2;

/** Milliseconds after which a process that cannot read events ends its streams. */
const LONGEST_BLINDNESS_MS = 1000;

/** A stream ends after this time, so that its client authenticates again. */
const LONGEST_STREAM_MS = 10 * 60 * 1000;

/** Milliseconds by which the clocks of processes may differ. */
const CLOCK_LEEWAY_MS = 10 * 60 * 1000;

/** Bytes that wait for a reader that does not read. */
const MAX_UNREAD_BYTES = 1024 * 1024;

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // nginx would collect a response before it passes it on.
  'x-accel-buffering': 'no',
  connection: 'close',
};

interface FeedParts extends Pick<ContactParts, 'secret' | 'clock'> {
  readonly storage: AdministrableStorage;
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  readonly guesses: Guesses;
  /** Seconds. */
  readonly accessTokenLifetime: number;
  readonly clientCertificate?: ((request: NodeRequest) => HttpRequest['clientCertificate']) | undefined;
}

/** A response to a follower. */
interface Stream {
  readonly clientId: string;
  readonly response: ServerResponse;
  readonly endsAtMs: number;
  /** What ended while the stream begins, which has to wait for what was missed. `undefined` after its begin. */
  waiting: Buffer[] | undefined;
  /** Whether it ended before its begin. */
  isOver: boolean;
  /** Whether its client may have changed while it begins. */
  isInDoubt: boolean;
}

export class Feed {
  readonly #parts: FeedParts;
  /** Of its requests. */
  readonly path: string;
  readonly contact: Contact;
  readonly #tail: EventTail;
  readonly #streams = new Set<Stream>();
  #heartbeats: NodeJS.Timeout | undefined;
  /** Whether all streams have had a message since the last heartbeat, so that they need none. */
  #hasSpoken = false;
  /** Keys of endings that no stream has had, because there was a message just before, and the mark since which these are all. */
  readonly #untold = new Set<string>();
  #untoldSince: Mark | undefined;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #telling: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: FeedParts) {
    this.#parts = parts;
    const { storage, server, secret, clock, accessTokenLifetime: keptForSeconds } = parts;
    this.path = new URL(server.issuer).pathname.replace(/\/$/, '') + FOLLOW_PATH;
    this.#tail = new EventTail(storage, new EndingReader(storage, server, secret), { keptForSeconds });
    this.contact = new Contact({ storage, secret, clock, tail: this.#tail, path: this.path });
  }

  /** Of each client. */
  get streams(): ReadonlyMap<string, readonly unknown[]> {
    return Map.groupBy(this.#streams, ({ clientId }) => clientId);
  }

  /** Ends all streams. Their followers connect again, to the process that takes over. */
  close(): void {
    this.#isClosed = true;
    this.#endAll();
    this.#tail.close();
  }

  /** Answers a POST with a stream, and a GET, which has a nonce, with the present mark. */
  async answer(request: NodeRequest, response: ServerResponse, requestId: string): Promise<void> {
    const about = (more: object) => this.#parts.requestLog.about({ requestId, operation: 'follow', ...more });
    about({});
    try {
      if (request.method === 'GET') {
        await this.contact.answer(request, response);
        this.#parts.requestLog.omit(requestId);
        return;
      }
      const form = await this.#read(request, requestId);
      const { server, guesses } = this.#parts;
      const client = await guesses.authenticate('follow', form, (it) => server.authenticateClient(it));
      about({ clientId: client.id });
      const parameters = new URLSearchParams(form.body);
      requireFollower(client, parameters.getAll('resource'));
      await this.#open(client, parameters.get('after') ?? undefined, response);
    } catch (thrown) {
      if (response.headersSent) {
        response.destroy();
        throw thrown;
      }
      const { status, headers, body } = errorResponse(thrown);
      about(thrown instanceof OAuthError && thrown.reason !== undefined ? { reason: thrown.reason } : {});
      const challenge = status === 401 && {
        'www-authenticate': `${request.method === 'GET' ? 'Bearer' : 'Basic'} realm="${this.#parts.server.issuer}"`,
      };
      sendResponse(request, response, { status, headers: { ...headers, ...challenge }, body });
      const reason = thrown instanceof StorageFault ? 'storage_unavailable' : 'unexpected';
      if (!(thrown instanceof OAuthError)) this.#parts.requestLog.failure(requestId, reason, thrown);
    }
  }

  async #read(request: NodeRequest, id: string): Promise<HttpRequest & { readonly body: string }> {
    if (request.method !== 'POST')
      throw new OAuthError('invalid_request', 'the method is not allowed', {
        status: 405,
        reason: 'method_not_allowed',
        headers: { allow: 'GET, POST' },
      });
    const read = await toHttpRequest(request);
    const clientCertificate = this.#parts.clientCertificate?.(request);
    const body = typeof read.body === 'string' ? read.body : '';
    return { ...read, id, body, ...(clientCertificate !== undefined && { clientCertificate }) };
  }

  async #open(client: ClientRecord, after: Mark | undefined, response: ServerResponse): Promise<void> {
    const { id: clientId } = client;
    const ofClient = this.streams.get(clientId)?.length ?? 0;
    if (this.#isClosed || this.#streams.size >= MAX_STREAMS || ofClient >= MAX_STREAMS_OF_CLIENT)
      throw notNow('too_many_streams');
    const endsAtMs = performance.now() + LONGEST_STREAM_MS;
    const stream: Stream = { clientId, response, endsAtMs, waiting: [], isOver: false, isInDoubt: true };
    this.#add(stream);
    const missed = await this.#tail.missedSince(after);
    const pass = await this.contact.newPass(client, LONGEST_STREAM_MS + CLOCK_LEEWAY_MS);
    while (stream.isInDoubt) {
      stream.isInDoubt = false;
      const present = await this.#parts.storage.clients.get(client.id);
      if (!present || !isSameClient(client, present))
        throw new OAuthError('invalid_client', 'the client has changed', { reason: 'client_changed' });
    }
    if (response.closed) return;
    if (stream.isOver) throw notNow('stream_ended');
    const begun = {
      version: 1,
      mark: missed.last,
      complete: missed.isComplete,
      kept_for: this.#parts.accessTokenLifetime,
      pass,
      keys: missed.keys,
    };
    // The stream ends with its connection. Without frames, each message is one write.
    response.removeHeader('transfer-encoding');
    response.writeHead(200, STREAM_HEADERS);
    write(stream, messageOf('begin', missed.last, begun));
    for (const message of stream.waiting ?? []) write(stream, message);
    stream.waiting = undefined;
  }

  #add(stream: Stream): void {
    this.#streams.add(stream);
    stream.response.once('close', () => {
      this.#streams.delete(stream);
      if (this.#streams.size > 0) return;
      clearInterval(this.#heartbeats);
      this.#clearUntold();
      this.#tail.leave();
    });
    if (this.#streams.size > 1) return;
    this.#heartbeats = setInterval(() => this.#beatAll(), HEARTBEAT_MS);
    this.#tail.listen({
      restMs: () => readEveryMs(this.#streams.size),
      endings: ({ keys, changedClients }, since) => {
        for (const stream of this.#streams) {
          if (!changedClients.includes(stream.clientId)) continue;
          stream.isInDoubt = true;
          if (stream.waiting === undefined) end(stream);
        }
        if (keys.length === 0) return;
        for (const key of keys) this.#untold.add(key);
        this.#untoldSince ??= since;
        const waitMs = this.#toldAtMs + tellEveryMs(this.#streams.size) - performance.now();
        if (waitMs <= 0 || this.#untold.size > MAX_KEYS) this.#tell();
        else this.#telling ??= setTimeout(() => this.#tell(), waitMs);
      },
      broken: () => {
        this.#clearUntold();
        this.#endAll();
      },
    });
  }

  /** Sends the endings that were read, up to the last event that was read. */
  #tell(): void {
    const { last } = this.#tail;
    if (this.#untoldSince === undefined || last === undefined) return;
    const message = messageOf('endings', last, { since: this.#untoldSince, keys: [...this.#untold] });
    this.#clearUntold();
    this.#toldAtMs = performance.now();
    this.#hasSpoken = true;
    for (const stream of this.#streams) {
      if (stream.waiting === undefined) write(stream, message);
      else stream.waiting.push(message);
    }
  }

  #clearUntold(): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    this.#untold.clear();
    this.#untoldSince = undefined;
  }

  #beatAll(): void {
    const { last, lastEnding, ageMs } = this.#tail;
    if (last === undefined) return;
    // The answer to a nonce can come from a process that still reads, and would prove a contact that does not exist.
    if (ageMs > LONGEST_BLINDNESS_MS) {
      this.#endAll();
      return;
    }
    // A heartbeat says that everything up to its mark is known.
    this.#tell();
    const message = this.#hasSpoken ? undefined : messageOf('heartbeat', last, { since: lastEnding });
    this.#hasSpoken = false;
    const nowMs = performance.now();
    for (const stream of this.#streams) {
      if (nowMs > stream.endsAtMs) end(stream);
      else if (message !== undefined && stream.waiting === undefined) write(stream, message);
    }
  }

  #endAll(): void {
    for (const stream of this.#streams) end(stream);
  }
}

function messageOf(event: 'begin' | 'endings' | 'heartbeat', id: Mark, data: unknown): Buffer {
  return Buffer.from(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
}

function end(stream: Stream): void {
  if (stream.response.headersSent) stream.response.end();
  else stream.isOver = true;
}

function notNow(reason: ReasonCode): OAuthError {
  return new OAuthError('temporarily_unavailable', 'no more streams are possible at the moment', {
    reason,
    headers: { 'retry-after': '5' },
  });
}

function write({ response }: Stream, message: Buffer): void {
  if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
  else if (!response.writableEnded) response.write(message);
}

/**
 * An API may follow for its own resource. For others, and for the issuer, a client needs a right of its own (ADR 175).
 * @throws {OAuthError} `unauthorized_client`
 */
function requireFollower(client: ClientRecord, resources: readonly string[]): void {
  const { id, resource, metadata } = client;
  if (!isUnchecked(client) && metadata?.follow_all === true) return;
  requireApi(client);
  const foreign = resources.find((wanted) => !hasResource([resource], wanted));
  if (foreign !== undefined)
    throw new OAuthError('unauthorized_client', 'the client may follow for its own resource only', {
      ...{ status: 403, reason: 'resource_not_allowed', clientId: id, value: foreign },
    });
}

/**
 * Only an API that an operator has added may follow, or check tokens of others.
 * @throws {OAuthError} `unauthorized_client`
 */
export function requireApi(client: ClientRecord): void {
  if (client.resource !== undefined && !isUnchecked(client)) return;
  throw new OAuthError('unauthorized_client', 'only an API that an operator has added may ask', {
    status: 403,
    reason: 'client_not_an_api',
    clientId: client.id,
  });
}
