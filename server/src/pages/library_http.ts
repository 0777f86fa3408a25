import { type HttpResponse, MAX_BODY_BYTES } from '@grantd/core';
import { toHttpRequest } from '@grantd/core/node';
import type { MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { PageContext, PageEnvironment } from './page_parts.ts';

/**
 * Reads each request as the library wants it, by the library's own adapter, which reads no further than just past the
 * limit.
 * @param refuse answers a request whose body is too long
 */
export function readRequest(
  refuse: (c: PageContext) => Promise<Response>,
): MiddlewareHandler<PageEnvironment> {
  return async (c, next) => {
    const { incoming } = c.env;
    try {
      c.set('plain', await toHttpRequest(incoming));
    } catch (error) {
      // The browser went away in the middle of its request: nobody is left to answer.
      if (incoming.destroyed) return c.body(null);
      throw error;
    }
    if (Buffer.byteLength(bodyOf(c)) <= MAX_BODY_BYTES) return next();
    // A body that was not read to its end cannot be followed by another request.
    c.header('connection', 'close');
    return refuse(c);
  };
}

/** The body of the request; empty where it has none. */
export function bodyOf(c: PageContext): string {
  const { body } = c.get('plain');
  return typeof body === 'string' ? body : '';
}

/** A response of the library, with the cookies that were set on the way. */
export function toResponse(c: PageContext, { status, headers, body }: HttpResponse): Response {
  for (const [name, value] of Object.entries(headers)) {
    for (const line of typeof value === 'string' ? [value] : value) c.header(name, line, { append: true });
  }
  return c.body(body, status as ContentfulStatusCode);
}
