import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpResponse } from '../../protocol/http.ts';
import { closingHeaders } from '../../protocol/node_headers.ts';

export type FurtherHeaders = Readonly<Record<string, string>>;

/** @param further headers beside the answer's own, which win */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpResponse,
  further: FurtherHeaders = {},
): void {
  const { status, body } = answer;
  response.writeHead(status, {
    ...headersOf(request, answer, further),
    ...(status !== 204 && { 'content-length': Buffer.byteLength(body) }),
  });
  response.end(body);
}

/** Every header of the answer to a request but the length. */
export function headersOf(
  request: IncomingMessage,
  answer: HttpResponse,
  further: FurtherHeaders = {},
): HttpResponse['headers'] {
  return {
    ...lowerCased(further),
    ...answer.headers,
    ...closingHeaders(request),
  };
}

/** Two of a name that differ in their letters would both be sent; the length is that of the answer. */
function lowerCased(headers: FurtherHeaders): FurtherHeaders {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(named.filter(([name]) => name !== 'content-length'));
}
