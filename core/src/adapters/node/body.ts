import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpRequest, ParsedForm } from '../../protocol/http.ts';
import { MAX_BODY_BYTES } from '../../protocol/request_limits.ts';

/** What the host's parsers have left. */
export interface LeftByParsers {
  readonly body: unknown;
  /** The text or the bytes that `body` was made of, where they have been kept. */
  readonly rawBody: unknown;
}

/**
 * The body of a request: the text that the host has kept, the form that it has parsed, or else text, which is read no
 * further than just past the server's limit. Text comes first, since a parser may read a form in a way of its own.
 * @throws {Error} the connection broke before the body was complete
 */
export async function bodyOf(
  request: IncomingMessage,
  { body, rawBody }: LeftByParsers,
): Promise<HttpRequest['body']> {
  const text = textFrom(rawBody) ?? textFrom(body);
  if (text !== undefined) return text;
  return isParsedForm(request, body) ? body : readBody(request);
}

/** @returns `undefined` for what is neither text nor bytes */
function textFrom(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined;
}

/** Parsers of other media types leave an empty object behind and the body unread. */
function isParsedForm(request: IncomingMessage, body: unknown): body is ParsedForm {
  if (typeof body !== 'object' || body === null) return false;
  return Object.keys(body).length > 0 || request.readableDidRead;
}

/** @returns `undefined` where there is none, or somebody else has read it and kept it to themselves */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  if (hasNone(request)) return undefined;
  const isUntouched = request.readableFlowing === null; // otherwise somebody else reads it as well
  if (isUntouched) await nextTurn(); // most requests come in one piece, which is all there then
  if (request.readableEnded) return undefined;
  if (request.destroyed) throw new Error('the connection was closed');
  if (isUntouched && request.readableDidRead) return undefined; // in the meantime
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
  while (request.readableLength > 0) chunks.push(request.read());
  return textOf(chunks);
}

function arrivingBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const finish = () => resolve(textOf(chunks));
    request.on('data', (chunk: Buffer) => {
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
      if (!request.readableEnded) reject(new Error('the connection was closed'));
    });
  });
}

function textOf([first, ...others]: readonly Buffer[]): string {
  if (first === undefined) return '';
  return (others.length === 0 ? first : Buffer.concat([first, ...others])).toString('utf8');
}
