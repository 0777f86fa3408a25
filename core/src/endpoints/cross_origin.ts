import { type HttpRequest, type HttpResponse, headerValue } from '../protocol/http.ts';
import { originOf } from '../protocol/redirect_uri.ts';
import type { Context } from './context.ts';

/**
 * Which pages may read the answers: none, those of registered redirect URIs, or all.
 */
export type CrossOrigin = 'off' | 'clients' | 'anyone';

type Headers = Readonly<Record<string, string>>;

/** Seconds that a browser may remember a preflight. */
const PREFLIGHT_SECONDS = 600;

/** The CORS headers of a response: by the client's own redirect URIs once it is known, by anyone's before. */
export async function crossOriginHeaders(
  policy: CrossOrigin,
  context: Context,
  request: HttpRequest,
  clientId: string | undefined,
): Promise<Headers> {
  if (policy === 'off') return {};
  if (policy === 'anyone') return { 'access-control-allow-origin': '*' };
  const origin = headerValue(request, 'origin');
  if (origin === undefined || !(await isAllowed(context, origin, clientId))) return { vary: 'Origin' };
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate',
  };
}

/** The answer to a preflight (Fetch Standard, CORS protocol). No client is known yet. */
export async function preflightResponse(
  endpoint: { readonly methods: readonly string[]; readonly crossOrigin: CrossOrigin },
  context: Context,
  request: HttpRequest,
): Promise<HttpResponse> {
  const headers = await crossOriginHeaders(endpoint.crossOrigin, context, request, undefined);
  const allowed = headers['access-control-allow-origin'] !== undefined && {
    'access-control-allow-methods': endpoint.methods.join(', '),
    'access-control-allow-headers': 'Authorization, Content-Type',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  };
  return { status: 204, headers: { ...headers, ...allowed, 'cache-control': 'no-store' }, body: '' };
}

async function isAllowed(
  { storage }: Context,
  origin: string,
  clientId: string | undefined,
): Promise<boolean> {
  if (clientId === undefined) return storage.clients.hasRedirectOrigin(origin);
  const client = await storage.clients.get(clientId);
  return client?.redirectUris.some((uri) => originOf(uri) === origin) ?? false;
}
