import type { HttpRequest } from '../../protocol/http.ts';
import { MAX_BODY_BYTES } from '../../protocol/request_limits.ts';

/** What the host knows better than the request itself says. */
export type Known = Partial<Pick<HttpRequest, 'body' | 'connection' | 'id'>>;

/** A body failed on its way: by the connection, or by what of the host's stands before the adapter. */
export interface BrokenBody {
  readonly brokenBy: unknown;
  /** Whether it is the client who went away; then nobody is left to answer. */
  readonly isAbandoned: boolean;
}

/**
 * The request as a plain value. A body is read no further than just past the server's limit, and not at all where it is
 * known.
 * @throws {TypeError} the host has read the body already
 * @throws what the body failed with on its way
 */
export async function toHttpRequest(request: Request, known?: Known): Promise<HttpRequest> {
  const read = await readRequest(request, known);
  if ('brokenBy' in read) throw read.brokenBy;
  return read;
}

/**
 * As `toHttpRequest`, where a body that fails is told from all else that can go wrong.
 * @throws {TypeError} the host has read the body already
 */
export async function readRequest(request: Request, known: Known = {}): Promise<HttpRequest | BrokenBody> {
  const { method, url, headers } = request;
  const plain = { method, url, headers: Object.fromEntries(headers), ...known };
  if (known.body !== undefined || request.body === null) return plain;
  if (request.bodyUsed || request.body.locked)
    throw new TypeError('the body was read before; hand it over by the option body, or read a clone');
  try {
    return { ...plain, body: await readText(request.body) };
  } catch (error) {
    return { brokenBy: error, isAbandoned: !isAnswer(error) && isOfConnection(error, request) };
  }
}

/** An error with a status is an answer of the host's, such as that to a body beyond a limit of its own. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'status' in error;
}

/** What the servers of Bun (`AbortError`) and Deno call a body whose connection is gone, before the signal says so. */
const OF_CONNECTION: ReadonlySet<string> = new Set(['AbortError', 'BadResource', 'Http']);

/** The signal is asked last: Deno warns whoever looks at it. */
function isOfConnection(error: unknown, request: Request): boolean {
  return (error instanceof Error && OF_CONNECTION.has(error.name)) || request.signal.aborted;
}

async function readText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true }); // a byte counts, also where it shows nothing
  let text = '';
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    text += decoder.decode(chunk, { stream: true });
    if (bytes > MAX_BODY_BYTES) break;
  }
  return text + decoder.decode();
}
