import type { HttpRequest } from '../../protocol/http.ts';
import { MAX_BODY_BYTES } from '../../protocol/request_limits.ts';

/** What the host knows better than the request itself says. */
export type Known = Partial<Pick<HttpRequest, 'body' | 'connection'>>;

/**
 * The request as a plain value. A body is read no further than just past the server's limit, and not at all where it is
 * known.
 * @throws {TypeError} the host has read the body already
 */
export async function toHttpRequest(request: Request, known: Known = {}): Promise<HttpRequest> {
  const { method, url, headers } = request;
  const plain = { method, url, headers: Object.fromEntries(headers), ...known };
  if (known.body !== undefined || request.body === null) return plain;
  if (request.bodyUsed || request.body.locked)
    throw new TypeError('the body was read before; hand it over by the option body, or read a clone');
  try {
    return { ...plain, body: await readText(request.body) };
  } catch {
    return plain; // it broke off: whatever is answered, nobody is left to read it
  }
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
