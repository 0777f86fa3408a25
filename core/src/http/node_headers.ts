import type { HttpRequest } from './http.ts';
import { MAX_BODY_BYTES } from './http.ts';

/** The headers of a request as Node has them, and how far it has been read. */
export interface NodeHeaders {
  readonly headers: HttpRequest['headers'];
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly httpVersionMajor?: number;
  /** Whether all of its body has arrived. */
  readonly complete?: boolean;
}

/** What an answer says of the connection: no request follows a body that was not read to its end, but in HTTP/2. */
export function closingHeaders({
  headers,
  httpVersionMajor = 1,
  complete = false,
}: Omit<NodeHeaders, 'rawHeaders'>): Readonly<Record<string, string>> {
  if (httpVersionMajor > 1) return {};
  const isUnread = !complete && headers['transfer-encoding'] !== undefined;
  const isLeftUnread = isUnread || Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES;
  return isLeftUnread ? { connection: 'close' } : {};
}

/** Node keeps the first of several Authorization lines alone; nobody may choose which of them counts. */
export function headersWithEveryAuthorization({ headers, rawHeaders }: NodeHeaders): HttpRequest['headers'] {
  if (headers.authorization === undefined) return headers;
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at], rawHeaders[at + 1]];
    if (name?.toLowerCase() === 'authorization' && value !== undefined) lines.push(value);
  }
  return lines.length > 1 ? { ...headers, authorization: lines } : headers;
}
