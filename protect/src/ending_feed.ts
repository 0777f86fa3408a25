// Follows the feed of endings of an authorization server (docs/follow.md).
import { DocumentError } from '@grantd/core/internal/http/fetch_document';
import { isJsonObject, type JsonObject, parseJson } from '@grantd/core/internal/http/http';
import { endingKey, endingText } from '@grantd/core/internal/protocol/claims';
import { sha256 } from '#crypto';
import { EndingTable, keyNumber } from './ending_table.ts';
import type { Authentication } from './introspection_credentials.ts';
import type { Ask, Fetch } from './issuer_metadata.ts';

/** Seconds for which an ending is kept beyond the lifetime of tokens, because clocks differ. */
const CLOCK_LEEWAY = 600;

const BEAT_MS = 1000;

/** Milliseconds without a message after which a stream is given up. It has a heartbeat each second. */
const LONGEST_SILENCE_MS = 3500;

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5000;

/** Milliseconds between two looks for endings that are no longer needed. */
const FORGET_EVERY_MS = 30_000;

/** Characters. The first message of a stream has at most ten thousand keys. */
const LONGEST_MESSAGE = 1_000_000;

/** More endings than this take too much memory. Then each token is asked about once. */
const MOST_ENDINGS = 1_000_000;

export interface FeedServices {
  readonly fetch: Fetch;
  /** Sends a request with a short answer. */
  readonly ask: Ask;
  readonly endpoint: string;
  readonly authenticate: () => Promise<Authentication>;
  /** Of the tokens. The server refuses those for which the client may not follow. */
  readonly audiences: readonly string[];
  /** Milliseconds within which the server must respond. */
  readonly timeoutMs: number;
  /** Milliseconds of the system’s clock. */
  readonly clock: () => number;
  /** Milliseconds after which the last proof of contact is too old. */
  readonly maxSilenceMs: number;
  /** Called when contact begins, and when it has been lost for `maxSilenceMs`, or cannot begin. */
  readonly onContact: () => void;
}

/** What to do about a refusal. */
const ADVICE: ReadonlyMap<number, string> = new Map([
  [401, 'check the credentials'],
  [
    403,
    'an operator must have added the client as an API, with the audience as its resource or with follow_all',
  ],
  [404, 'check followEndpoint, and the version of the server'],
]);

/** When something happened, by a clock that is never set, and by one that goes on while the machine sleeps. */
interface Moment {
  readonly steadyMs: number;
  readonly clockMs: number;
}

/** A proof of contact, as soon as everything up to its position is known. */
interface Proof {
  readonly at: Moment;
  readonly position: number;
}

/**
 * The keys under which endings concern a token.
 * @param others its claim `ending_keys`
 * @returns `undefined` if this claim cannot be read
 */
export async function keysOf(
  clientId: string,
  sub: string,
  others: unknown = [],
): Promise<readonly number[] | undefined> {
  const further = Array.isArray(others) ? others.map(keyNumber) : [undefined];
  const concerns = [['all'], ['client', clientId], ['subject', sub], ['grant', clientId, sub]] as const;
  const hashes = await Promise.all(concerns.map((concern) => sha256(endingText(concern))));
  const keys = [...hashes.map((hash) => keyNumber(endingKey(hash))), ...further];
  return keys.every((key) => key !== undefined) ? keys : undefined;
}

export class EndingFeed {
  readonly #services: FeedServices;
  readonly #endings = new EndingTable();
  /** The key of all tokens. */
  #all = 0;
  /** The mark of the server up to which all endings are known. `undefined` if none are. */
  #mark: string | undefined;
  /** The number in the mark. */
  #position = 0;
  /** Counts how often everything that was known had to be given up. */
  #era = 0;
  #keptForSeconds = 0;
  #contact: Moment | undefined;
  #proofs: Proof[] = [];
  /** What `onContact` was called for last. */
  #reported: boolean | undefined;
  #losing: NodeJS.Timeout | undefined;
  /** Aborts the stream. `undefined` without one that has begun. */
  #stream: AbortController | undefined;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #forgotAtMs = 0;
  #fault: unknown;
  #ready = newReady();

  constructor(services: FeedServices) {
    this.#services = services;
  }

  /** Connects, if it has not yet. */
  start(): void {
    if (this.#closing.signal.aborted) return;
    this.#running ??= this.#run();
  }

  /** Resolves at the first contact. @throws {Error} closed before, or refused by the server */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stream?.abort();
    clearTimeout(this.#losing);
    this.#ready.reject(new Error('the follower is closed'));
    await this.#running;
  }

  /** Everything that ended up to this number is known. */
  get position(): number {
    return this.#position;
  }

  /** Positions of different eras have nothing to do with each other. */
  get era(): number {
    return this.#era;
  }

  /** Seconds. Tokens with a longer lifetime may outlive the memory of their ending. */
  get keptForSeconds(): number {
    return this.#keptForSeconds;
  }

  get size(): number {
    return this.#endings.size;
  }

  /** Why there is no contact. */
  get fault(): unknown {
    return this.#fault;
  }

  /** Milliseconds since the moment up to which all endings are known for sure. `Infinity` without contact. */
  ageMs(): number {
    if (this.#stream === undefined || this.#contact === undefined) return Infinity;
    const { steadyMs, clockMs } = this.#now();
    return Math.max(steadyMs - this.#contact.steadyMs, clockMs - this.#contact.clockMs);
  }

  /** The position of the last ending under one of the keys; 0 if there is none. */
  lastOf(keys: readonly number[]): number {
    let last = 0;
    for (const key of keys) last = Math.max(last, this.#endings.positionOf(key));
    return last;
  }

  #now(): Moment {
    return { steadyMs: performance.now(), clockMs: this.#services.clock() };
  }

  async #run(): Promise<void> {
    [this.#all = 0] = (await keysOf('', '')) ?? [];
    let retryMs = FIRST_RETRY_MS;
    while (!this.#closing.signal.aborted) {
      const stream = new AbortController();
      try {
        await this.#follow(stream);
      } catch (error) {
        this.#fault = error;
        if (this.#reported === undefined) this.#report(false);
      } finally {
        stream.abort();
        if (this.#contact !== undefined) retryMs = FIRST_RETRY_MS;
        this.#stream = undefined;
        // What was refused meanwhile must not be accepted by an earlier contact.
        this.#contact = undefined;
        this.#proofs = [];
      }
      await this.#pause(retryMs * (0.5 + Math.random()));
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  }

  /** Reads one stream to its end. */
  async #follow(stream: AbortController): Promise<void> {
    const { fetch, endpoint, authenticate, audiences, timeoutMs } = this.#services;
    let timer = setTimeout(() => stream.abort(silent()), timeoutMs);
    const stillThere = () => {
      clearTimeout(timer);
      timer = setTimeout(() => stream.abort(silent()), LONGEST_SILENCE_MS);
    };
    try {
      const signal = AbortSignal.any([stream.signal, this.#closing.signal]);
      const response = await fetch(endpoint, {
        ...(await formOf(authenticate, [
          ...audiences.map((audience) => ['resource', audience]),
          ...(this.#mark === undefined ? [] : [['after', this.#mark]]),
        ])),
        redirect: 'manual',
        signal,
      });
      const { status, body } = response;
      if (status !== 200 || body === null) {
        await body?.cancel();
        throw this.#refusal(status);
      }
      stillThere();
      for await (const message of messagesIn(body, stillThere)) {
        const isBegin = this.#stream !== stream;
        if (isBegin !== (message.event === 'begin')) throw unreadable();
        if (isBegin) this.#begin(message, stream);
        else this.#continue(message);
        this.#reach(message.mark);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Tells those who wait for contact about a refusal that waiting alone does not change. */
  #refusal(status: number): DocumentError {
    const advice = ADVICE.get(status);
    const message = `the feed of endings answered with status ${status}${advice === undefined ? '' : `: ${advice}`}`;
    const error = new DocumentError('failed', message);
    if (advice === undefined) return error;
    this.#ready.reject(error);
    this.#ready = newReady();
    return error;
  }

  /** The first message of a stream: what was missed since the last one, if the server knows. */
  #begin({ data, mark }: Message, stream: AbortController): void {
    if (!isJsonObject(data) || data.version !== 1) throw unreadable();
    if (typeof data.kept_for !== 'number' || typeof data.pass !== 'string') throw unreadable();
    // With another lifetime, earlier endings and answers were not kept for the right time.
    const isChanged = data.kept_for !== this.#keptForSeconds && this.#mark !== undefined;
    this.#keptForSeconds = data.kept_for;
    if (data.complete !== true || isChanged) {
      this.#era += 1;
      this.#endings.clear();
      this.#position = 0;
      // 0 would mean that nothing has ended.
      this.#set(this.#all, Math.max(1, numberIn(mark)));
    }
    this.#note(data.keys, mark);
    this.#stream = stream;
    this.#fault = undefined;
    void this.#beat(stream, data.pass);
  }

  /** A later message. It says from where on it is complete, so that one that is missing before it is noticed. */
  #continue({ event, data, mark }: Message): void {
    if (!isJsonObject(data) || typeof data.since !== 'string') throw unreadable();
    if (numberIn(data.since) > this.#position)
      throw new DocumentError('refused', 'a message of the feed of endings is missing');
    if (event === 'endings') this.#note(data.keys, mark);
  }

  #note(keys: unknown, mark: string): void {
    if (!Array.isArray(keys)) throw unreadable();
    const position = numberIn(mark);
    if (this.#endings.size + keys.length > MOST_ENDINGS) {
      this.#endings.clear();
      this.#set(this.#all, Math.max(position, this.#position));
    }
    for (const key of keys) {
      const number = typeof key === 'string' ? keyNumber(key) : undefined;
      if (number === undefined) throw unreadable();
      this.#set(number, position);
    }
  }

  #set(key: number, position: number): void {
    const until = performance.now() / 1000 + this.#keptForSeconds + CLOCK_LEEWAY;
    this.#endings.set(key, position, Math.ceil(until));
  }

  /** All endings up to the mark are noted. */
  #reach(mark: string): void {
    const position = numberIn(mark);
    // A message may repeat what is known.
    if (position >= this.#position) {
      this.#mark = mark;
      this.#position = position;
    }
    this.#prove();
    const nowMs = performance.now();
    if (nowMs - this.#forgotAtMs < FORGET_EVERY_MS) return;
    this.#forgotAtMs = nowMs;
    this.#endings.forget(nowMs / 1000);
  }

  #prove(): void {
    for (const { at, position } of this.#proofs) {
      if (position > this.#position) continue;
      if (this.#contact === undefined || at.steadyMs > this.#contact.steadyMs) this.#contact = at;
      this.#ready.resolve();
      if (this.ageMs() <= this.#services.maxSilenceMs) this.#report(true);
    }
    this.#proofs = this.#proofs.filter(({ position }) => position > this.#position);
  }

  /** A stream that ends, and begins again within the bound, changes nothing that is worth a line in a log. */
  #report(isInContact: boolean): void {
    const { maxSilenceMs, onContact } = this.#services;
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#losing);
    if (isInContact) this.#losing = unrefed(setTimeout(() => this.#report(false), maxSilenceMs));
    if (isInContact === this.#reported) return;
    this.#reported = isInContact;
    onContact();
  }

  /** Asks each second where the events are. The nonce tells an answer from an earlier one, which a proxy may repeat. */
  async #beat(stream: AbortController, pass: string): Promise<void> {
    while (!stream.signal.aborted) {
      const at = this.#now();
      try {
        const mark = await this.#presentMark(stream, pass);
        if (stream.signal.aborted) return;
        this.#proofs.push({ at, position: numberIn(mark) });
        this.#prove();
      } catch (error) {
        this.#fault = error;
      }
      await this.#pause(BEAT_MS - (performance.now() - at.steadyMs));
    }
  }

  async #presentMark(stream: AbortController, pass: string): Promise<string> {
    const { ask, endpoint } = this.#services;
    const nonce = crypto.randomUUID();
    const url = new URL(endpoint);
    url.searchParams.set('nonce', nonce);
    const headers = { accept: 'application/json', authorization: `Bearer ${pass}` };
    const { status, body } = await ask(url.href, { headers });
    if (status !== 200) {
      const error = new DocumentError('failed', `the feed of endings answered a nonce with status ${status}`);
      // The next stream has another pass.
      if (status === 401) stream.abort(error);
      throw error;
    }
    const answer = parseJson(body);
    if (!isJsonObject(answer) || answer.nonce !== nonce || typeof answer.mark !== 'string')
      throw unreadable();
    return answer.mark;
  }

  /** Ends early when the follower is closed. Does not keep the process alive. */
  #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = unrefed(setTimeout(end, Math.max(0, milliseconds)));
      signal.addEventListener('abort', end);
    });
  }
}

/** The feed alone does not keep a process alive. In some runtimes, a timer is a number. */
function unrefed(timer: NodeJS.Timeout): NodeJS.Timeout {
  if (typeof timer === 'object') timer.unref();
  return timer;
}

function newReady(): PromiseWithResolvers<void> {
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => undefined);
  return ready;
}

async function formOf(authenticate: () => Promise<Authentication>, form: string[][]): Promise<RequestInit> {
  const { headers, parameters } = await authenticate();
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'text/event-stream',
      ...headers,
    },
    body: new URLSearchParams([...form, ...Object.entries(parameters)]).toString(),
  };
}

function numberIn(mark: string): number {
  const [, digits] = /^(\d{1,15})\.[\w-]{0,8}$/.exec(mark) ?? [];
  if (digits === undefined) throw unreadable();
  return Number(digits);
}

function silent(): DocumentError {
  return new DocumentError('failed', 'the feed of endings is silent');
}

function unreadable(): DocumentError {
  return new DocumentError('refused', 'the feed of endings does not follow its specification');
}

/** A server-sent event. */
interface Message {
  readonly event: string;
  readonly mark: string;
  readonly data: JsonObject | unknown;
}

async function* messagesIn(
  body: ReadableStream<Uint8Array>,
  stillThere: () => void,
): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    stillThere();
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const message = messageIn(text.slice(0, end));
      text = text.slice(end + 2);
      yield message;
    }
    if (text.length > LONGEST_MESSAGE) throw unreadable();
  }
}

function messageIn(text: string): Message {
  const fields = new Map(
    text.split('\n').map((line) => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
  const { event = '', id: mark = '', data = '' } = Object.fromEntries(fields);
  return { event, mark, data: parseJson(data) };
}
