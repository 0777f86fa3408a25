import { createWriteStream, readFileSync } from 'node:fs';
import { finished } from 'node:stream/promises';

/** A request as sent. */
export interface PlannedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly authorization?: string;
  /** A DPoP proof (RFC 9449 §4). */
  readonly dpop?: string;
  /** A form. */
  readonly body?: string;
}

/** The bytes of a request. Each server has its own host. */
export function rawRequest({ method, path, authorization, dpop, body }: PlannedRequest): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
    ...(dpop === undefined ? [] : [`DPoP: ${dpop}`]),
    'Accept: application/json',
    ...(body === undefined
      ? []
      : ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/**
 * Writes requests in the generators' format: before each one, a line with its length in bytes.
 * @returns their number, and the first one
 */
export async function writeRequestFile(
  path: string,
  requests: Iterable<PlannedRequest>,
): Promise<{ readonly requestCount: number; readonly sample: PlannedRequest }> {
  // The system would otherwise write it to the disk about 30 seconds later, and the commits of that time would wait.
  const file = createWriteStream(path, { flush: true });
  let requestCount = 0;
  let sample: PlannedRequest | undefined;
  let chunk = '';
  for (const request of requests) {
    const raw = rawRequest(request);
    chunk += `${Buffer.byteLength(raw)}\n${raw}`;
    requestCount += 1;
    sample ??= request;
    if (chunk.length > 1 << 20) {
      if (!file.write(chunk)) await new Promise((resolve) => file.once('drain', resolve));
      chunk = '';
    }
  }
  file.end(chunk);
  await finished(file);
  if (sample === undefined) throw new Error(`there are no requests for ${path}`);
  return { requestCount, sample };
}

/** A request for clients that write the bytes themselves. */
interface ParsedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The bytes of each request in a file of `writeRequestFile`. */
export function rawRequestsIn(path: string): readonly Buffer[] {
  const bytes = readFileSync(path);
  const requests: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf('\n', at);
    const end = lineEnd + 1 + Number(bytes.toString('latin1', at, lineEnd));
    requests.push(bytes.subarray(lineEnd + 1, end));
    at = end;
  }
  return requests;
}

/** A file of `writeRequestFile`. */
export function readRequestFile(path: string): readonly ParsedRequest[] {
  return rawRequestsIn(path).map((bytes) => parsedRequest(bytes.toString('utf8')));
}

function parsedRequest(raw: string): ParsedRequest {
  const [head = '', body = ''] = raw.split('\r\n\r\n');
  const [requestLine = '', ...lines] = head.split('\r\n');
  const [method, path = ''] = requestLine.split(' ');
  const headers = lines
    .map((line) => line.split(': '))
    // Clients add these headers themselves.
    .filter(([name]) => name !== 'Host' && name !== 'Content-Length');
  return { method: method === 'POST' ? 'POST' : 'GET', path, headers: Object.fromEntries(headers), body };
}
