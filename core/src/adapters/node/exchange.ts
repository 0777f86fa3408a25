import type { IncomingMessage } from 'node:http';
import { isIPv6, type LookupFunction } from 'node:net';
import { DocumentError, type OutgoingRequest } from '../../protocol/fetch_document.ts';
import type { Destination } from './destination.ts';

/** The answer to one request, before anything was made of a redirect. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
}

/** What every request says: no cookie, no credential, and that the answer must not be packed. */
const OWN_HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'grantd' };

/**
 * One request over a connection of its own to one of the destination's addresses, and what was answered.
 * @param maxBytes of the body, which is read no further than just past it
 * @throws {DocumentError} `refused`: the answer is too large, or packed
 * @throws {Error} the connection failed, or the signal ended it
 */
export async function exchange(
  destination: Destination,
  { method = 'GET', headers, body, answerAs = 'utf8' }: OutgoingRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Answer> {
  const { url, addresses } = destination;
  // Loaded only here: most servers never send a request, and start sooner without TLS.
  const { request: send } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'));
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = send(url, {
      method,
      headers: {
        ...OWN_HEADERS,
        ...headers,
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      agent: false,
      lookup: answering(addresses),
      signal,
    });
    request.on('response', resolve);
    request.on('error', reject);
    request.end(body);
  });
  try {
    const status = response.statusCode ?? 0;
    const { 'content-type': contentType, location } = response.headers;
    const isRedirect = status >= 300 && status < 400;
    const isRead = method === 'GET' && !isRedirect;
    const read = isRead ? (await readBody(response, maxBytes)).toString(answerAs) : '';
    return { status, contentType, location, body: read };
  } finally {
    response.destroy();
  }
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { 'content-encoding': encoding = 'identity' } = response.headers;
  if (encoding.toLowerCase() !== 'identity') throw new DocumentError('refused', 'the answer is encoded');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw new DocumentError('refused', 'the answer is too large');
  }
  return Buffer.concat(chunks);
}

/** A look-up that has been made already: a name that answers otherwise the next time leads nowhere else. */
function answering(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, { all }, done) => {
    if (all) done(null, found);
    else done(null, found[0]?.address ?? '', found[0]?.family);
  };
}
