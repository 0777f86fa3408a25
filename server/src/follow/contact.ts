// Answers nonces, by which followers know that they have contact (ADR 175).
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type AdministrableStorage, type ClientRecord, OAuthError } from '@grantd/core';
import { versionOf } from '../data/conditions.ts';
import { type ProgramSecret, seal, unseal } from '../data/secrets.ts';
import type { EventTail, Mark } from './tail.ts';

const NONCE = /^[\w-]{16,128}$/;

/** Passes that are remembered: several times the streams of one process. */
const MAX_OPENED = 20_000;

/** Proves that a stream was opened for a client, as it was then. Every process with the server’s secret can open it. */
interface Pass {
  readonly clientId: string;
  readonly version: string;
  readonly untilMs: number;
}

export interface ContactParts {
  readonly storage: Pick<AdministrableStorage, 'clients'>;
  readonly secret: Pick<ProgramSecret, 'key' | 'keys'>;
  readonly tail: Pick<EventTail, 'current'>;
  /** Of the requests. */
  readonly path: string;
  readonly clock: () => number;
}

export class Contact {
  readonly #parts: ContactParts;
  /** The URL of a nonce, up to the nonce. */
  readonly start: string;
  /** By the header that shows the pass, because a follower shows it each second. */
  readonly #opened = new Map<string, Pass>();
  /** The last read of events. */
  #read: Promise<Mark> | undefined;
  /** Versions of clients after this read. */
  readonly #versions = new Map<string, Promise<string | undefined>>();

  constructor(parts: ContactParts) {
    this.#parts = parts;
    this.start = `${parts.path}?nonce=`;
  }

  /** @param forMs milliseconds for which the follower may use it */
  async newPass(client: ClientRecord, forMs: number): Promise<string> {
    const key = await this.#parts.secret.key('follower_pass');
    const pass: Pass = {
      clientId: client.id,
      version: versionOf(client),
      untilMs: this.#parts.clock() + forMs,
    };
    return seal(key, JSON.stringify(pass));
  }

  /**
   * Answers a request whose pass was opened before, because a thousand followers send a thousand of them each second.
   * @param listener gets the request again if it is to be refused
   * @returns whether it takes the request
   */
  takes(request: IncomingMessage, response: ServerResponse, listener: RequestListener): boolean {
    const { method, url = '', headers } = request;
    const { authorization = '' } = headers;
    const pass = method === 'GET' ? this.#opened.get(authorization) : undefined;
    const nonce = url.slice(this.start.length);
    if (pass === undefined || !NONCE.test(nonce)) return false;
    this.#markFor(pass).then(
      (mark) => send(response, nonce, mark),
      () => {
        this.#opened.delete(authorization);
        listener(request, response);
      },
    );
    return true;
  }

  /**
   * Answers a request with a nonce.
   * @throws {OAuthError} the pass or the nonce is wrong
   * @throws {StorageFault} storage is unavailable
   */
  async answer({ url = '', headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization = '' } = headers;
    const pass = await this.#open(authorization);
    if (pass === undefined)
      throw new OAuthError('invalid_client', 'expected the pass of a stream', {
        reason: 'credentials_missing',
      });
    const nonce = new URLSearchParams(url.slice(this.#parts.path.length)).get('nonce') ?? '';
    if (!NONCE.test(nonce))
      throw new OAuthError('invalid_request', 'the nonce is malformed', { reason: 'malformed' });
    const mark = await this.#markFor(pass);
    if (this.#opened.size >= MAX_OPENED) this.#opened.clear();
    this.#opened.set(authorization, pass);
    send(response, nonce, mark);
  }

  async #open(authorization: string): Promise<Pass | undefined> {
    const [, sealed = ''] = /^bearer +([\w-]+)$/i.exec(authorization) ?? [];
    for (const key of await this.#parts.secret.keys('follower_pass')) {
      const text = unseal(key, sealed);
      if (text !== undefined) return JSON.parse(text);
    }
    return undefined;
  }

  /**
   * The mark after a read that begins now: every ending that was committed before is up to it.
   * @throws {OAuthError} the client is no longer what it was
   * @throws {StorageFault} storage is unavailable
   */
  async #markFor({ clientId, version, untilMs }: Pass): Promise<Mark> {
    const read = this.#parts.tail.current();
    const mark = await read;
    if (this.#read !== read) this.#versions.clear();
    this.#read = read;
    const looked = this.#versions.get(clientId) ?? this.#look(clientId);
    this.#versions.set(clientId, looked);
    if (this.#parts.clock() <= untilMs && (await looked) === version) return mark;
    throw new OAuthError('invalid_client', 'the client has changed', { reason: 'client_changed', clientId });
  }

  async #look(clientId: string): Promise<string | undefined> {
    const client = await this.#parts.storage.clients.get(clientId);
    return client ? versionOf(client) : undefined;
  }
}

/** The answer proves that the follower had contact after it made the nonce. */
function send(response: ServerResponse, nonce: string, mark: Mark): void {
  const body = `{"nonce":"${nonce}","mark":"${mark}"}`;
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  response.writeHead(200, { ...headers, 'content-length': body.length }).end(body, 'latin1');
}
