// Responses with a JSON object per line, written as their operation goes on.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type AdminParts, MAX_LINE_LENGTH } from '../admin/operation.ts';
import type { AnyStream } from '../admin/table.ts';
import { LINES_TYPE } from './openapi.ts';

/** The caller disconnected before the end of the response. */
export class CallerLeft extends Error {
  override readonly name = 'CallerLeft';
}

/** The caller does not read the response. */
export class CallerTooSlow extends Error {
  override readonly name = 'CallerTooSlow';
}

/** Milliseconds for which a response waits for its reader. */
export const SLOW_READER_MS = 30_000;

/** Performs an operation on lines. The status is sent with the first line, so that earlier problems have their own. */
export async function writeLines(
  operation: AnyStream,
  parts: AdminParts,
  input: never,
  request: IncomingMessage,
  response: ServerResponse,
  slowReaderMs: number,
): Promise<void> {
  const begin = () => {
    if (!response.headersSent)
      response.writeHead(operation.status, {
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-type': LINES_TYPE,
      });
  };
  const write = async (line: unknown) => {
    if (response.destroyed) throw new CallerLeft();
    begin();
    if (response.write(`${JSON.stringify(line)}\n`)) return;
    const waiting = new AbortController();
    const { signal } = waiting;
    const isSlow = await Promise.race([
      once(response, 'drain', { signal }).then(() => false),
      once(response, 'close', { signal }).then(() => false),
      pause(slowReaderMs, true, { signal, ref: false }),
    ]);
    waiting.abort();
    // A reader that takes its time would be sent what it may no longer read.
    if (isSlow) throw new CallerTooSlow();
    await parts.requireCaller();
  };
  const isHead = request.method === 'HEAD';
  if (!isHead) await operation.stream(parts, input, linesIn(request), write);
  begin();
  response.end();
  // What is left of a body that is too long is not read.
  if (!request.complete) response.once('finish', () => request.destroy());
}

/** The lines of a body. A line that is too long is cut, so that it is too long for the operation as well. */
async function* linesIn(request: IncomingMessage): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of request) {
    const [first = '', ...lines] = decoder.decode(chunk, { stream: true }).split('\n');
    rest = (rest + first).slice(0, MAX_LINE_LENGTH + 1);
    for (const line of lines) {
      yield rest;
      rest = line.slice(0, MAX_LINE_LENGTH + 1);
    }
  }
  if (rest !== '') yield rest;
}
