/** The Fetch adapter: `Request` in, `Response` out, on every runtime. */
import type { AuthorizationServer } from '../authorization_server.ts';
import { errorResponse } from '../endpoints/operation.ts';
import { MAX_BODY_BYTES } from '../protocol/form.ts';
import type { HttpRequest, HttpResponse } from '../protocol/http.ts';

/** Answers with what the server says at the request's path; 404 where it has no endpoint there. */
export function mount(server: AuthorizationServer): (request: Request) => Promise<Response> {
  return async (request) => {
    const response = server.serves(request.url)
      ? await server.handle(await toHttpRequest(request))
      : undefined;
    return response === undefined ? new Response(null, { status: 404 }) : fromHttpResponse(response);
  };
}

/** One operation alone, for a host that routes by itself: `handler((request) => server.introspect(request))`. */
export function handler(
  operation: (request: HttpRequest) => Promise<HttpResponse>,
): (request: Request) => Promise<Response> {
  return async (request) =>
    fromHttpResponse(await operation(await toHttpRequest(request)).catch(errorResponse));
}

/** The request as a plain value. A body is read no further than just past the server's limit. */
export async function toHttpRequest(request: Request): Promise<HttpRequest> {
  const { method, url, headers } = request;
  const plain = { method, url, headers: Object.fromEntries(headers) };
  return request.body === null ? plain : { ...plain, body: await readText(request.body) };
}

export function fromHttpResponse({ status, headers, body }: HttpResponse): Response {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((line): [string, string] => [name, line]),
  );
  return new Response(body === '' ? null : body, { status, headers: lines });
}

async function readText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    text += decoder.decode(chunk, { stream: true });
    if (bytes > MAX_BODY_BYTES) break;
  }
  return text + decoder.decode();
}
