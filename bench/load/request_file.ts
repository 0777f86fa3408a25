import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/** One request, as it is sent. */
export interface PlannedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly authorization?: string;
  /** A form. */
  readonly body?: string;
}

/** The bytes of a request; the host is every server's own. */
export function rawRequest({ method, path, authorization, body }: PlannedRequest): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
    'Accept: application/json',
    ...(body === undefined
      ? []
      : ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/**
 * Writes requests as the generators read them: before each its length in bytes, on a line of its own.
 * @returns how many there are, and the first
 */
export async function writeRequestFile(
  path: string,
  requests: Iterable<PlannedRequest>,
): Promise<{ readonly requestCount: number; readonly sample: PlannedRequest }> {
  const file = createWriteStream(path);
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
