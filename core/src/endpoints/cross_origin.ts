import { type HttpRequest, type HttpResponse, headerValue } from '../protocol/http.ts';
import { StorageFault } from '../protocol/oauth_error.ts';
import { originOf } from '../protocol/redirect_uri.ts';
import type { Context } from './context.ts';

/**
 * Which pages may read the answers: none, those of registered redirect URIs, or all.
 */
export type CrossOrigin = 'off' | 'clients' | 'anyone';

type Headers = Readonly<Record<string, string>>;

/** Headers that pages may send. Clients of the Model Context Protocol send its version, which the server ignores. */
const ALLOWED_HEADERS = 'Authorization, Content-Type, MCP-Protocol-Version';

/** Seconds that a browser may remember a preflight. */
const PREFLIGHT_SECONDS = 600;

/**
 * The CORS headers of a response: by the client's own redirect URIs once it is known, by anyone's before. Where
 * storage cannot say, no page may read it; the answer itself stands, for what it tells of has happened.
 */
export async function crossOriginHeaders(
  policy: CrossOrigin,
  context: Context,
  request: HttpRequest,
  clientId: string | undefined,
): Promise<Headers> {
  if (policy === 'off') return {};
  if (policy === 'anyone') return { 'access-control-allow-origin': '*' };
  try {
    return await headersForClients(context, request, clientId);
  } catch (thrown) {
    if (thrown instanceof StorageFault) return { vary: 'Origin' };
    throw thrown;
  }
}

/**
 * The answer to a preflight (Fetch Standard, CORS protocol). No client is known yet.
 * @throws {StorageFault} storage could not say whose pages may ask
 */
export async function preflightResponse(
  endpoint: { readonly methods: readonly string[]; readonly crossOrigin: CrossOrigin },
  context: Context,
  request: HttpRequest,
): Promise<HttpResponse> {
  const { crossOrigin } = endpoint;
  const headers =
    crossOrigin === 'clients'
      ? await headersForClients(context, request, undefined)
      : await crossOriginHeaders(crossOrigin, context, request, undefined);
  const allowed = headers['access-control-allow-origin'] !== undefined && {
    'access-control-allow-methods': endpoint.methods.join(', '),
    'access-control-allow-headers': ALLOWED_HEADERS,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  };
  return { status: 204, headers: { ...headers, ...allowed, 'cache-control': 'no-store' }, body: '' };
}

async function headersForClients(
  context: Context,
  request: HttpRequest,
  clientId: string | undefined,
): Promise<Headers> {
  const origin = headerValue(request, 'origin');
  if (origin === undefined || !(await isAllowed(context, origin, clientId))) return { vary: 'Origin' };
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate',
  };
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
