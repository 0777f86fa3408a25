import type { HttpRequest } from './http.ts';

/** The headers of a request as Node has them. */
export interface NodeHeaders {
  readonly headers: HttpRequest['headers'];
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
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
