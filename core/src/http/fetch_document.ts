import { instancesNamed, nameClass, retryAfter } from './errors.ts';

/** How long a document that could not be fetched is not tried again. */
const RETRY_DOCUMENT_AFTER_SECONDS = 10;

/** Limits that hold for every document from outside, whatever a caller asks for. */
export const DOCUMENT_LIMITS = {
  /** Milliseconds from the first look-up of a name to the last byte of the body. */
  timeoutMs: 5000,
  bytes: 64 * 1024,
  redirects: 3,
} as const;

export interface OutgoingRequest {
  /**
   * Default: `GET`. Of the answer to a `POST` the status alone is of interest: its body is not read, and a redirect is
   * not followed.
   */
  readonly method?: 'GET' | 'POST';
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How `body` of the answer is to be written: as text, or, for pictures, in base64. Default: `utf8`. */
  readonly answerAs?: 'utf8' | 'base64';
  /** Milliseconds, where less than `DOCUMENT_LIMITS` allows. */
  readonly timeoutMs?: number;
  /** Bytes of the answer's body, where less than `DOCUMENT_LIMITS` allows. */
  readonly maxBytes?: number;
  /** Redirects that are followed, where fewer than `DOCUMENT_LIMITS` allows. */
  readonly maxRedirects?: number;
}

export interface FetchedDocument {
  readonly status: number;
  /** Media type with parameters, as it was sent. */
  readonly contentType: string | undefined;
  /** Empty for a `POST`. */
  readonly body: string;
}

/**
 * Asks for a URL that a client has registered or sent. Whoever writes one must expect that the client means harm: it
 * names addresses of the operator's own network, answers without end, and redirects. `documentFetcher` of
 * `@grantd/core/node` is made for that.
 * @throws {DocumentError}
 */
export interface FetchDocument {
  (url: string, request?: OutgoingRequest): Promise<FetchedDocument>;
  /**
   * Why it never asks for a URL, as far as the URL itself tells: a literal; `undefined` when it may ask. Clients cannot be
   * registered with such a URL. Without this function every URL may be registered.
   */
  readonly refusalOf?: ((url: string) => string | undefined) | undefined;
}

/**
 * `refused`: the URL, what it leads to or what it answers is not acceptable, today or tomorrow. `failed`: there was no
 * answer, or none in time; another attempt may have one.
 */
export type DocumentOutcome = 'refused' | 'failed';

/**
 * A document could not be had. The message is a literal, without anything from the URL or the answer. Status and headers
 * are those of an answer, for frameworks that answer errors by them.
 */
export class DocumentError extends Error {
  readonly outcome: DocumentOutcome;
  /** The client that registered the URL, once it is known. */
  readonly clientId: string | undefined;
  readonly status: 500 | 503;
  readonly headers: Readonly<Record<string, string>>;

  static override readonly [Symbol.hasInstance] = instancesNamed('DocumentError');

  constructor(outcome: DocumentOutcome, message: string, cause?: unknown, clientId?: string) {
    super(message, cause === undefined ? undefined : { cause });
    nameClass(this, 'DocumentError');
    this.outcome = outcome;
    this.clientId = clientId;
    this.status = outcome === 'failed' ? 503 : 500;
    this.headers = outcome === 'failed' ? retryAfter(RETRY_DOCUMENT_AFTER_SECONDS) : {};
  }

  /** The same failure, of a URL that this client registered. */
  ofClient(clientId: string): DocumentError {
    return new DocumentError(this.outcome, this.message, this.cause, clientId);
  }
}

/**
 * What the status of an answer says. Whoever asks for time, or is in trouble, has not answered yet; any other status but
 * that of success is an answer, and would be the same again.
 */
export function outcomeOfStatus(status: number): 'fetched' | DocumentOutcome {
  if (status === 200) return 'fetched';
  return status >= 500 || status === 408 || status === 429 ? 'failed' : 'refused';
}

/** @throws {DocumentError} it could not be had, or was not answered with 200 */
export async function fetchBody(
  fetchDocument: FetchDocument,
  url: string,
  request: OutgoingRequest,
): Promise<string> {
  const { status, body } = await fetchDocument(url, request);
  const outcome = outcomeOfStatus(status);
  if (outcome !== 'fetched') throw new DocumentError(outcome, 'it was not answered with 200');
  return body;
}

/** Stands where the host gave no way of fetching. */
export const fetchNothing: FetchDocument = () =>
  Promise.reject(new DocumentError('refused', 'the option fetchDocument is not set'));

/**
 * What work comes to that asks others. One that does not heed its signal is not waited for either.
 * @param failure the message where it rejects with anything but a `DocumentError`
 * @throws {DocumentError} it takes longer, or fails
 */
export async function withinTime<T>(
  timeoutMs: number,
  failure: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const overtime = new AbortController();
  const end = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    end.reject(new DocumentError('failed', 'there was no answer in time'));
    overtime.abort();
  }, timeoutMs);
  try {
    return await Promise.race([work(overtime.signal), end.promise]);
  } catch (error) {
    if (error instanceof DocumentError) throw error;
    throw new DocumentError('failed', failure, error);
  } finally {
    clearTimeout(timer);
  }
}
