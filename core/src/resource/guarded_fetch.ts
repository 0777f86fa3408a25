import {
  DOCUMENT_LIMITS,
  DocumentError,
  type FetchDocument,
  type FetchedDocument,
} from '../protocol/fetch_document.ts';
import { anyFunction, anyValue, type KindsOf, trueOrFalse } from '../protocol/option_kinds.ts';
import { withinTime } from '../protocol/within_time.ts';
import { requireBetween } from './resource_options.ts';

/** The global `fetch`, or one that a host brings: with a proxy of its own, a client certificate, a service binding. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface AskingOptions {
  /** Default: the runtime's own `fetch`. */
  readonly fetch?: Fetch;
  /** Milliseconds in which the authorization server has to have answered. Default: 5000. */
  readonly timeoutMs?: number;
  /**
   * Also asks by plain http beyond loopback, where everybody on the way reads tokens and credentials, and can put in
   * keys and answers: for development alone. Default: `false`.
   */
  readonly allowInsecureRequests?: boolean;
}

export const ASKING_OPTIONS: KindsOf<AskingOptions> = {
  fetch: anyFunction,
  timeoutMs: anyValue,
  allowInsecureRequests: trueOrFalse,
};

const LONGEST_TIMEOUT_MS = 60_000;

/** Asks the authorization server; of the answer's body all is read. */
export type Ask = (url: string, init?: RequestInit) => Promise<FetchedDocument>;

/**
 * Asks with limits on time and bytes. Redirects are not followed: tokens and credentials go where the operator said,
 * and nowhere else.
 * @throws {ConfigurationError} at once, where the time is none
 * @throws {DocumentError} there is no answer, none in time, or one that is too large
 */
export function guarded({
  fetch = (url, init) => globalThis.fetch(url, init),
  timeoutMs = DOCUMENT_LIMITS.timeoutMs,
}: AskingOptions): Ask {
  requireBetween('timeoutMs', timeoutMs, 1, LONGEST_TIMEOUT_MS);
  return (url, init) =>
    withinTime(timeoutMs, 'there was no answer', async (signal) => {
      const response = await fetch(url, { ...init, redirect: 'manual', signal });
      const contentType = response.headers.get('content-type') ?? undefined;
      const body = response.body === null ? '' : await readText(response.body);
      return { status: response.status, contentType, body };
    });
}

/** The same for what is fetched without credentials. */
export function documentsBy(ask: Ask): FetchDocument {
  return (url, { headers } = {}) => ask(url, headers === undefined ? {} : { headers });
}

async function readText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > DOCUMENT_LIMITS.bytes) throw new DocumentError('refused', 'the answer is too large');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
