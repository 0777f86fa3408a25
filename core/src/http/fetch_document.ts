// The contract for fetching documents from outside, with its limits and errors.
import { instancesNamed, nameClass, retryAfter } from './errors.ts';

/** Seconds until the next attempt to fetch a failed document. */
const RETRY_DOCUMENT_AFTER_SECONDS = 10;

/** Limits of every outside document. Callers can only lower them. */
export const DOCUMENT_LIMITS = {
  /** Milliseconds from the first DNS lookup to the last byte of the body. */
  timeoutMs: 5000,
  bytes: 64 * 1024,
  redirects: 3,
} as const;

export interface OutgoingRequest {
  /** Default: `GET`. For a `POST`, only the status matters: the body is not read, and redirects are not followed. */
  readonly method?: 'GET' | 'POST';
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Encoding of `body` in the result: text, or base64 for images. Default: `utf8`. */
  readonly answerAs?: 'utf8' | 'base64';
  /** Milliseconds, if less than `DOCUMENT_LIMITS` allows. */
  readonly timeoutMs?: number;
  /** Maximum bytes of the body, if less than `DOCUMENT_LIMITS` allows. */
  readonly maxBytes?: number;
  /** Maximum redirects, if less than `DOCUMENT_LIMITS` allows. */
  readonly maxRedirects?: number;
}

export interface FetchedDocument {
  readonly status: number;
  /** With parameters, as received. */
  readonly contentType: string | undefined;
  /** Headers by which a cache decides, in lower case: `cache-control`, `age`, `etag` (RFC 9111). */
  readonly caching?: Readonly<Record<string, string | undefined>> | undefined;
  /** Empty for a `POST`. */
  readonly body: string;
}

/**
 * Fetches a URL that a client registered or sent. An implementation must expect malicious URLs: addresses inside the
 * operator’s network, endless responses and redirects. `documentFetcher` of `@grantd/core/node` handles these.
 * @throws {DocumentError} the document is not available
 */
export interface FetchDocument {
  (url: string, request?: OutgoingRequest): Promise<FetchedDocument>;
  /**
   * A literal reason why a URL is never fetched, judged by the URL alone; `undefined` if it may be fetched. Clients
   * cannot register refused URLs. Without this function, they can register any URL.
   */
  readonly refusalOf?: ((url: string) => string | undefined) | undefined;
}

/**
 * `refused`: the URL, its target or its response is not acceptable, and a retry would not help. `failed`: there was no
 * timely answer, and a retry may help.
 */
export type DocumentOutcome = 'refused' | 'failed';

/**
 * A document is not available. The message is a literal without data from the URL or the response. Frameworks that
 * render errors use `status` and `headers`.
 */
export class DocumentError extends Error {
  readonly outcome: DocumentOutcome;
  /** The client that registered the URL, if known. */
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

  /** Copies the error and names the client that registered the URL. */
  ofClient(clientId: string): DocumentError {
    return new DocumentError(this.outcome, this.message, this.cause, clientId);
  }
}

/**
 * Classifies an HTTP status. Timeouts, rate limits and server errors are temporary. Every status but 200 is otherwise
 * final.
 */
export function outcomeOfStatus(status: number): 'fetched' | DocumentOutcome {
  if (status === 200) return 'fetched';
  return status >= 500 || status === 408 || status === 429 ? 'failed' : 'refused';
}

/** @throws {DocumentError} the document is not available, or the status is not 200 */
export async function fetchBody(
  fetchDocument: FetchDocument,
  url: string,
  request: OutgoingRequest,
): Promise<string> {
  const { status, body } = await fetchDocument(url, request);
  const outcome = outcomeOfStatus(status);
  if (outcome !== 'fetched') throw new DocumentError(outcome, 'the response status is not 200');
  return body;
}

/** Default for hosts without `fetchDocument`. */
export const fetchNothing: FetchDocument = () =>
  Promise.reject(new DocumentError('refused', 'the option fetchDocument is not set'));

/**
 * Runs work with a time limit, even if the work ignores its signal.
 * @param failure message for any rejection other than a `DocumentError`
 * @throws {DocumentError} the work takes too long or fails
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

/** Hosts of one owner. */
export function siteOf(hostname: string, unitOf = (_: string) => 'an address'): string {
  // The owner of a domain can create any number of names below it. Domains below a suffix with two labels, such as
  // co.uk, therefore share one limit.
  const isAddress = hostname.startsWith('[') || /^[\d.]+$/.test(hostname);
  return isAddress ? unitOf(hostname) : hostname.split('.').filter(Boolean).slice(-2).join('.');
}
