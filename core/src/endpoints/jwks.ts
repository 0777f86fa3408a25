import type { HttpResponse } from '../protocol/http.ts';
import { PUBLIC_CACHE_SECONDS } from '../tokens/signing_keys.ts';
import type { Context } from './context.ts';

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
