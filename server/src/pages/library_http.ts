import type { HttpRequest, HttpResponse } from '@grantd/core';
import { type PageContext, requestIdOf } from './page_parts.ts';

/** The request as the library wants it. */
export async function plainRequest(c: PageContext): Promise<HttpRequest> {
  const { method, url } = c.req;
  return {
    method,
    url,
    headers: c.req.header(),
    id: requestIdOf(c),
    ...(method === 'POST' && { body: await c.req.text() }),
  };
}

/** A response of the library as Hono wants it. */
export function toResponse({ status, headers, body }: HttpResponse): Response {
  const response = new Response(body === '' ? null : body, { status });
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, String(value));
  return response;
}
