// Converts responses for Fetch.
import type { HttpResponse } from './http.ts';

/** @param further additional headers; the response’s own headers take precedence */
export function fromHttpResponse(
  { status, headers, body }: HttpResponse,
  further: Readonly<Record<string, string>> = {},
): Response {
  const all = new Headers(further);
  all.delete('content-length');
  for (const [name, value] of Object.entries(headers)) {
    all.delete(name);
    for (const line of typeof value === 'string' ? [value] : value) all.append(name, line);
  }
  return new Response(body === '' ? null : body, { status, headers: all });
}

/** Deno passes only as many arguments as a function declares, and rest parameters do not count. */
export function takingTwo<Handler>(handler: Handler): Handler {
  return Object.defineProperty(handler, 'length', { value: 2 });
}
