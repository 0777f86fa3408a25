import type { HttpResponse } from './http.ts';

export function fromHttpResponse({ status, headers, body }: HttpResponse): Response {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((line): [string, string] => [name, line]),
  );
  return new Response(body === '' ? null : body, { status, headers: lines });
}
