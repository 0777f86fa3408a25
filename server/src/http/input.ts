// What requests to the admin API contain: parameters, headers and bodies.
import type { IncomingMessage } from 'node:http';
import { MAX_BODY_BYTES, queryOf } from '@grantd/core';
import { type NodeRequest, toHttpRequest } from '@grantd/core/node';
import { readCursor } from '../admin/operation.ts';
import type { Schema } from '../admin/schema.ts';
import type { AnyOperation, AnyStream } from '../admin/table.ts';
import { errorsOf, requireFitting } from '../admin/validation.ts';
import { LINES_TYPE, mediaTypesOf } from './openapi.ts';
import { Problem } from './problems.ts';

/** Parameters of the path, decoded. */
type PathParameters = Readonly<Record<string, string>>;

/** @throws {Problem} a parameter, a header or the body is not as expected */
export async function inputOf(
  operation: AnyOperation,
  request: NodeRequest,
  path: PathParameters,
): Promise<{ readonly input: never; readonly body: string }> {
  requireStorable(path);
  const query = queryIn(operation, request);
  const { maxBodyBytes = MAX_BODY_BYTES } = operation;
  const body =
    maxBodyBytes === MAX_BODY_BYTES ? await shortBody(request) : await longBody(request, maxBodyBytes);
  if (Buffer.byteLength(body) > maxBodyBytes)
    throw new Problem('body_too_large', {
      detail: `expected at most ${maxBodyBytes} bytes`,
      headers: { connection: 'close' },
    });
  const input = { ...Object(bodyIn(operation, request, body)), ...query, ...path };
  // It fits the schemas of the operation.
  return { input: input as never, body };
}

/**
 * The input of an operation that reads and writes lines.
 * @throws {Problem} a parameter or a header is not as expected
 */
export function streamInputOf(operation: AnyStream, request: IncomingMessage, path: PathParameters): never {
  requireStorable(path);
  if (operation.bodyLine !== undefined) requireType(request, [LINES_TYPE]);
  if (headerOf(request, 'idempotency-key') !== undefined)
    throw new Problem('invalid_request', {
      errors: [{ in: 'Idempotency-Key', detail: 'this operation can be repeated without it' }],
    });
  return { ...queryIn(operation, request), ...path } as never;
}

/** No database stores NUL. @throws {Problem} nothing has such a name */
function requireStorable(path: PathParameters): void {
  if (Object.values(path).some((value) => value.includes('\0'))) throw new Problem('not_found');
}

export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

async function shortBody(request: NodeRequest): Promise<string> {
  const { body } = await toHttpRequest(request);
  return typeof body === 'string' ? body : '';
}

/** The body, or its beginning if it has more than `most` bytes. */
async function longBody(request: IncomingMessage, most: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The connection must last, for the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > most) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** @throws {Problem} a parameter is unknown, repeated or invalid */
function queryIn(
  { query: parameters = {} }: Pick<AnyOperation, 'query'>,
  { url = '' }: IncomingMessage,
): Readonly<Record<string, unknown>> {
  const read: Record<string, unknown> = {};
  const given = new URLSearchParams(queryOf({ url }));
  for (const name of new Set(given.keys())) {
    const refuse = (detail: string): never => {
      throw new Problem('invalid_request', { errors: [{ in: name, detail }] });
    };
    const schema = Object.hasOwn(parameters, name) ? parameters[name]?.schema : undefined;
    const [text = '', ...others] = given.getAll(name);
    if (schema === undefined) return refuse('there is no such parameter');
    if (others.length > 0) return refuse('expected it once');
    const value = parameterIn(schema, text);
    const [error] = errorsOf(schema, value);
    if (error !== undefined || text.includes('\0')) return refuse(error?.detail ?? 'expected no NUL');
    if (name === 'cursor' && readCursor(text) === undefined) return refuse('expected next_cursor of a page');
    read[name] = value;
  }
  return read;
}

/** The value of a parameter. A text that does not fit its type stays a text, which the schema refuses. */
function parameterIn({ type }: Schema, text: string): unknown {
  if (type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text);
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
}

/** @throws {Problem} the body is not JSON of the expected form */
function bodyIn(operation: AnyOperation, request: IncomingMessage, body: string): unknown {
  const { body: schema, isBodyOptional } = operation;
  if (schema === undefined || (body === '' && isBodyOptional)) {
    if (body !== '') throw new Problem('invalid_request', { detail: 'expected no body' });
    return undefined;
  }
  requireType(request, mediaTypesOf(operation));
  const value = parsed(body);
  requireFitting(schema, value);
  return value;
}

/** @throws {Problem} the body has another media type, or is compressed (RFC 9110 §15.5.16) */
function requireType(request: IncomingMessage, types: readonly string[]): void {
  const [type = ''] = (headerOf(request, 'content-type') ?? '').split(';');
  if (!types.includes(type.trim().toLowerCase()))
    throw new Problem('unsupported_media_type', {
      detail: `expected ${types.join(' or ')}`,
      headers: { accept: types.join(', ') },
    });
  if ((headerOf(request, 'content-encoding') ?? 'identity').toLowerCase() !== 'identity')
    throw new Problem('unsupported_media_type', {
      detail: 'expected no Content-Encoding',
      headers: { 'accept-encoding': 'identity' },
    });
}

function parsed(body: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The parser’s own message quotes the body, which may contain a secret.
    throw new Problem('invalid_request', { detail: 'expected JSON' });
  }
  if (!isStorable(value))
    throw new Problem('invalid_request', { detail: 'expected neither NUL nor lone surrogates in texts' });
  return value;
}

/** Whether a database stores all texts in a value as they are, also the names of members. */
function isStorable(value: unknown): boolean {
  // Without recursion, because a body can be nested deeper than the stack.
  const open = [value];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one === 'string' && (one.includes('\0') || !one.isWellFormed())) return false;
    if (typeof one !== 'object' || one === null) continue;
    for (const [name, member] of Object.entries(one)) open.push(name, member);
  }
  return true;
}
