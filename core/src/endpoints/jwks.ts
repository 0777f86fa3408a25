import type { HttpResponse } from '../protocol/http.ts';
import type { Context } from './context.ts';

/** Seconds that a client may remember what the server says about itself. */
export const PUBLIC_CACHE_SECONDS = 300;

/** `GET /jwks` (RFC 7517 §5): next, current and retired keys. */
export async function jwks(context: Context): Promise<HttpResponse> {
  return {
    status: 200,
    headers: {
      'content-type': 'application/jwk-set+json',
      'cache-control': `public, max-age=${PUBLIC_CACHE_SECONDS}`,
    },
    body: JSON.stringify({ keys: await context.jwt.publicKeys() }),
  };
}
