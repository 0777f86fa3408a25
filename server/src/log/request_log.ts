import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type RefusalReason, type ServerEvent, withoutBearers } from '@grantd/core';
import { causeOf, type Log } from './log.ts';

/** Stable reason codes of the pages, in addition to the library’s. They appear only in the log, never on a page. */
export const PAGE_REASONS = {
  person_unknown: 'No user has this name.',
  password_wrong: 'The password is wrong.',
  person_disabled: 'The user is disabled.',
  person_changed: 'The user’s password or state changed while the server checked the password.',
  person_not_expected: 'The client requires a different user, by an ID token or a claim.',
  too_many_attempts: 'Too many wrong passwords for this name from one IP address.',
  too_many_sign_ins: 'Too many password checks are pending.',
  form_foreign: 'The form was not created for this browser, session and request, or it has expired.',
  request_expired: 'The request has expired or was not started by this server.',
  request_too_long: 'The request is too long for a page URL.',
  consent_withdrawn: 'The user ended the client’s access during the request. The new grant is revoked.',
  session_over: 'The session ended during the request. The new grant is revoked.',
} as const;

export type PageReason = keyof typeof PAGE_REASONS;

export type PageName = 'authorize' | 'login' | 'select' | 'consent' | 'logout' | 'account';

/** An event of a page. It never contains a password, a cookie or a code. */
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
  /** The user’s internal identifier, if known for certain. */
  readonly subject?: string;
  readonly sessionId?: string;
}

/** No path of this server is longer. */
const MAX_PATH = 200;

/** The library’s reason codes for failures outside the library. */
type FailureReason = Extract<RefusalReason, 'storage_unavailable' | 'unexpected'>;

/** A request without a complete answer. */
interface OpenRequest {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly atMs: number;
}

/** Writes one line for each request and one for each event. The request ID connects them. */
export class RequestLog {
  readonly #log: Log;
  readonly #isOn: boolean;
  readonly #idPrefix = `${randomBytes(6).toString('base64url')}-`;
  /**
   * Client IDs of the open requests, by request number. The client becomes known while the request is answered. Keys
   * are numbers and values are texts, because a `Map` with short-lived objects keeps deleted entries and everything
   * they refer to until a full garbage collection, and the engine interns every text that serves as a key.
   */
  readonly #clientIds = new Map<number, string | undefined>();
  #count = 0;

  constructor(log: Log) {
    this.#log = log;
    this.#isOn = log.isLevelEnabled('info');
  }

  /** Starts to log a request. @returns the request ID */
  begin(request: IncomingMessage, response: ServerResponse): string {
    this.#count += 1;
    const number = this.#count;
    const id = `${this.#idPrefix}${number.toString(36)}`;
    if (!this.#isOn) return id;
    const open: OpenRequest = { id, request, response, atMs: performance.now() };
    this.#clientIds.set(number, undefined);
    response.on('close', () => {
      const clientId = this.#clientIds.get(number);
      this.#clientIds.delete(number);
      this.#writeLine(open, clientId);
    });
    return id;
  }

  #writeLine(
    { id, request: { method, url = '' }, response, atMs }: OpenRequest,
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
    // The request line and the line of the delivery attempt already report these two.
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

  /** Logs a failure outside the library. */
  failure(requestId: string, reason: FailureReason, error: unknown): void {
    this.#log.error({ event: 'failure', requestId, reason, cause: causeOf(error) });
  }

  /** Ignores events after the end of the request, for example if its caller has disconnected. */
  #rememberClient({ requestId, clientId }: { requestId?: string; clientId?: string }): void {
    if (requestId === undefined || clientId === undefined) return;
    const number = Number.parseInt(requestId.slice(this.#idPrefix.length), 36);
    if (this.#clientIds.has(number)) this.#clientIds.set(number, clientId);
  }
}

/**
 * The path without its query, which may contain secrets. Bearer values are removed from the path as well, because some
 * servers read `%3F` as a question mark.
 */
function pathAsLogged(url: string): string {
  const end = url.indexOf('?');
  return withoutBearers(url.slice(0, end === -1 ? MAX_PATH : Math.min(end, MAX_PATH)));
}

/** Events that hint at an attack or a broken client. They are logged as warnings. */
const WARNINGS: ReadonlySet<ServerEvent['type']> = new Set([
  'refresh_token_reused',
  'authorization_code_reused',
]);

function levelOf(type: ServerEvent['type']): 'info' | 'warn' {
  return WARNINGS.has(type) ? 'warn' : 'info';
}
