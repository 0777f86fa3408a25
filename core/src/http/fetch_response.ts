import type { HttpResponse } from './http.ts';

/** @param further headers beside the answer's own, which win */
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

/** Deno hands over no more than a function says that it takes, and of `(request, ...rest)` that is the request alone. */
export function takingTwo<Handler>(handler: Handler): Handler {
  return Object.defineProperty(handler, 'length', { value: 2 });
}
