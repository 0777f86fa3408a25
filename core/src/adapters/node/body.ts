import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpRequest, ParsedForm } from '../../protocol/http.ts';
import { MAX_BODY_BYTES } from '../../protocol/request_limits.ts';

/** The connection, or the stream of HTTP/2, was closed before the body was complete. */
export class BrokenConnection extends Error {
  constructor() {
    super('the connection was closed');
    this.name = 'BrokenConnection';
  }
}

/**
 * The body of a request: the form that the host has parsed, or text, which is read no further than just past the
 * server's limit.
 * @param parsed what the host's parser has left
 * @throws {BrokenConnection}
 */
export async function bodyOf(request: IncomingMessage, parsed: unknown): Promise<HttpRequest['body']> {
  if (isParsedForm(request, parsed)) return parsed;
  if (typeof parsed === 'string') return parsed;
  if (Buffer.isBuffer(parsed)) return parsed.toString('utf8');
  return readBody(request);
}

/** Parsers of other media types leave an empty object behind and the body unread. */
function isParsedForm(request: IncomingMessage, body: unknown): body is ParsedForm {
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body)) return false;
  return Object.keys(body).length > 0 || request.readableDidRead;
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  if (hasNone(request)) return undefined;
  if (request.readableEnded) return undefined; // somebody else has read it, and kept it to themselves
  if (request.destroyed) throw new BrokenConnection();
  if (request.readableFlowing !== null) return arrivingBody(request); // somebody else reads it as well
  await nextTurn(); // most requests come in one piece, which has been read to its end then
  if (request.readableDidRead) return undefined; // likewise
  if (request.destroyed) throw new BrokenConnection();
  const isAtHand = request.complete && request.readableFlowing === null && request.readableLength > 0;
  return isAtHand ? bodyAtHand(request) : arrivingBody(request);
}

/** RFC 9112 §6.3; in HTTP/2 a body needs neither header. */
function hasNone({ httpVersionMajor, headers }: IncomingMessage): boolean {
  const isAnnounced = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return httpVersionMajor < 2 && !isAnnounced;
}

function bodyAtHand(request: IncomingMessage): string {
  const chunks: Buffer[] = [];
  while (request.readableLength > 0) chunks.push(bytesOf(request, request.read()));
  return textOf(chunks);
}

function arrivingBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const finish = () => resolve(textOf(chunks));
    request.on('data', (piece: Buffer | string) => {
      const chunk = bytesOf(request, piece);
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) {
        request.pause();
        finish();
      }
    });
    request.on('end', finish);
    if (request.isPaused()) request.resume(); // the host has read a part of it, or waited with it
    request.on('close', () => {
      if (!request.readableEnded) reject(new BrokenConnection());
    });
  });
}

/** Where the host has set an encoding, whoever listens gets text. */
function bytesOf({ readableEncoding }: IncomingMessage, piece: Buffer | string): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece, readableEncoding ?? 'utf8') : piece;
}

function textOf([first, ...others]: readonly Buffer[]): string {
  if (first === undefined) return '';
  return (others.length === 0 ? first : Buffer.concat([first, ...others])).toString('utf8');
}
