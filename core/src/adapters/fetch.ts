/** The Fetch adapter: `Request` in, `Response` out, on every runtime. */
import type { AuthorizationServer } from '../authorization_server.ts';
import { errorResponse } from '../endpoints/error_response.ts';
import { fromHttpResponse } from '../protocol/fetch_response.ts';
import type { HttpRequest, HttpResponse } from '../protocol/http.ts';
import { MAX_BODY_BYTES } from '../protocol/request_limits.ts';

export { fromHttpResponse };

/** Answers with what the server says at the request's path; 404 where it has no endpoint there. */
export function mount(server: AuthorizationServer): (request: Request) => Promise<Response> {
  const answer = handler(async (request) => (await server.handle(request)) ?? NOT_FOUND);
  return async (request) => {
    if (!server.serves(request.url)) return new Response(null, { status: 404 });
    return answer(request);
  };
}

/** One operation alone, for a host that routes by itself: `handler((request) => server.introspect(request))`. */
export function handler(
  operation: (request: HttpRequest) => Promise<HttpResponse>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const response = await toHttpRequest(request).then(operation).catch(errorResponse);
    // RFC 9110 §9.3.2: no body, whatever the runtime would make of it.
    return fromHttpResponse(request.method === 'HEAD' ? { ...response, body: '' } : response);
  };
}

const NOT_FOUND: HttpResponse = { status: 404, headers: {}, body: '' };

/**
 * The request as a plain value. A body is read no further than just past the server's limit.
 * @throws {TypeError} the host has read the body already
 */
export async function toHttpRequest(request: Request): Promise<HttpRequest> {
  const { method, url, headers } = request;
  const plain = { method, url, headers: Object.fromEntries(headers) };
  if (request.body === null) return plain;
  if (request.bodyUsed || request.body.locked)
    throw new TypeError('the body was read before; clone the request before reading it');
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
