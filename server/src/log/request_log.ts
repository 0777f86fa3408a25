import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RefusalReason, type ServerEvent, withoutBearers } from '@grantd/core';
import { causeOf, type Log } from './log.ts';

/** Stable reason codes of the pages, beside the library's own; in the log alone, never on a page. */
export const PAGE_REASONS = {
  person_unknown: 'Nobody signs in with this name.',
  password_wrong: 'The password is wrong.',
  person_disabled: 'The person is disabled.',
  person_changed: 'The person got another password, or was disabled, while the former one was checked.',
  person_not_expected: 'The client asked for another person, by an ID token or a claim.',
  too_many_attempts: 'Too many wrong passwords for this name from the same place.',
  too_many_sign_ins: 'Too many passwords wait to be checked.',
  form_foreign: 'The form was not made for this browser, sign-in and request, or is too old.',
  request_expired: 'The request was begun too long ago, or not by this server.',
  request_too_long: 'The request is too long for the address of a page.',
  consent_withdrawn: 'The person ended the client’s access while it was granted; nothing of it stays alive.',
  session_over: 'The session ended while something was granted in it; nothing of it stays alive.',
} as const;

export type PageReason = keyof typeof PAGE_REASONS;

export type PageName = 'authorize' | 'login' | 'select' | 'consent' | 'logout' | 'account';

/** What happened on a page; never with a password, a cookie or a code. */
interface PageEvent {
  readonly type:
    | 'refused'
    | 'signed_in'
    | 'signed_out'
    | 'session_ended'
    | 'consent_given'
    | 'consent_withdrawn';
  readonly page: PageName;
  readonly requestId: string;
  readonly reason?: PageReason;
  readonly clientId?: string;
  /** The server's own identifier of the person, where it is certain. */
  readonly subject?: string;
  readonly sessionId?: string;
}

/** Longer paths belong to nobody here. */
const LONGEST_PATH = 200;

/** The library's own reasons, for what goes wrong around it. */
type FailureReason = Extract<RefusalReason, 'storage_unavailable' | 'unexpected'>;

/** A request whose answer is not out yet. */
interface Begun {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly atMs: number;
}

/** One line for each request, and one for each event, tied by the request's identifier. */
export class RequestLog {
  readonly #log: Log;
  readonly #isOn: boolean;
  readonly #idPrefix = `${randomBytes(6).toString('base64url')}-`;
  /**
   * Of the requests that have begun and not ended, by their numbers; becomes known while a request is answered. Numbers
   * and texts alone: a `Map` that comes and goes through objects keeps those that it has forgotten until all of the heap
   * is looked through, with all that they refer to, and the engine keeps a table of all texts that were keys.
   */
  readonly #clientIds = new Map<number, string | undefined>();
  #count = 0;

  constructor(log: Log) {
    this.#log = log;
    this.#isOn = log.isLevelEnabled('info');
  }

  /** Begins a request. @returns its identifier */
  begin(request: IncomingMessage, response: ServerResponse): string {
    this.#count += 1;
    const number = this.#count;
    const id = `${this.#idPrefix}${number.toString(36)}`;
    if (!this.#isOn) return id;
    const begun: Begun = { id, request, response, atMs: performance.now() };
    this.#clientIds.set(number, undefined);
    response.on('close', () => {
      const clientId = this.#clientIds.get(number);
      this.#clientIds.delete(number);
      this.#writeLine(begun, clientId);
    });
    return id;
  }

  #writeLine(
    { id, request: { method, url = '' }, response, atMs }: Begun,
    clientId: string | undefined,
  ): void {
    this.#log.info({
      event: 'request',
      requestId: id,
      method,
      path: pathAsLogged(url),
      ...(response.writableFinished ? { status: response.statusCode } : { aborted: true }),
      durationMs: Math.round((performance.now() - atMs) * 1000) / 1000,
      ...(clientId !== undefined && { clientId }),
    });
  }

  /** An event of the library. */
  readonly event = (event: ServerEvent): void => {
    if (!this.#isOn) return;
    this.#rememberClient(event);
    // The request's own line says the one, that of the attempt the other.
    if (event.type === 'answered' || event.type === 'logout_not_delivered') return;
    const { type, ...known } = event;
    const isFailure = 'status' in known && known.status >= 500;
    const line = { event: type, ...known, ...('cause' in known && { cause: causeOf(known.cause) }) };
    this.#log[isFailure ? 'error' : levelOf(type)](line);
  };

  /** An event of a page. */
  pageEvent({ type, ...event }: PageEvent): void {
    if (!this.#isOn) return;
    this.#rememberClient(event);
    this.#log.info({ event: type, ...event });
  }

  /** Something that went wrong outside the library. */
  failure(requestId: string, reason: FailureReason, error: unknown): void {
    this.#log.error({ event: 'failure', requestId, reason, cause: causeOf(error) });
  }

  /** What comes after the end of the request, since its caller has gone away, is about nobody any more. */
  #rememberClient({ requestId, clientId }: { requestId?: string; clientId?: string }): void {
    if (requestId === undefined || clientId === undefined) return;
    const number = Number.parseInt(requestId.slice(this.#idPrefix.length), 36);
    if (this.#clientIds.has(number)) this.#clientIds.set(number, clientId);
  }
}

/** The query may carry what must not be written down; a path should not, but `%3F` is a question mark to many. */
function pathAsLogged(url: string): string {
  const end = url.indexOf('?');
  return withoutBearers(url.slice(0, end === -1 ? LONGEST_PATH : Math.min(end, LONGEST_PATH)));
}

/** What hints at an attack or a broken client is louder than what happens every day. */
const LOUD: ReadonlySet<ServerEvent['type']> = new Set(['refresh_token_reused', 'authorization_code_reused']);

function levelOf(type: ServerEvent['type']): 'info' | 'warn' {
  return LOUD.has(type) ? 'warn' : 'info';
}
