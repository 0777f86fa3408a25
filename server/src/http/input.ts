// What requests to the admin API contain: parameters, headers and bodies.
import type { IncomingMessage } from 'node:http';
import { MAX_BODY_BYTES, queryOf } from '@grantd/core';
import { type NodeRequest, toHttpRequest } from '@grantd/core/node';
import { readCursor } from '../admin/operation.ts';
import { InvalidInput, type ValueProblem } from '../admin/operation_refused.ts';
import type { Schema } from '../admin/schema.ts';
import type { AnyOperation, AnyStream } from '../admin/table.ts';
import { errorsOf, problemsOf, type Values } from '../admin/validation.ts';
import { LINES_TYPE, mediaTypesOf } from './openapi.ts';
import { Problem } from './problems.ts';

/** Parameters of the path, decoded. */
type PathParameters = Readonly<Record<string, string>>;

/**
 * @param examine finds what else is wrong with an input that does not fit the schemas of the operation
 * @throws {Problem | InvalidInput} parameters, a header or the body are not as expected
 */
export async function inputOf(
  operation: AnyOperation,
  request: NodeRequest,
  path: PathParameters,
  examine: (input: Values, found: readonly InvalidInput[]) => Promise<readonly InvalidInput[]>,
): Promise<{ readonly input: never; readonly body: string }> {
  requireStorable(path);
  const [query, wrong] = queryIn(operation, request);
  const { maxBodyBytes = MAX_BODY_BYTES } = operation;
  const body =
    maxBodyBytes === MAX_BODY_BYTES ? await shortBody(request) : await longBody(request, maxBodyBytes);
  if (Buffer.byteLength(body) > maxBodyBytes)
    throw new Problem('body_too_large', {
      detail: `expected at most ${maxBodyBytes} bytes`,
      headers: { connection: 'close' },
    });
  const value = bodyIn(operation, request, body);
  const input = { ...Object(value), ...query, ...path };
  const found = await examine(input, problemsOf(operation, input, value));
  if (wrong.length > 0) throw malformed([...wrong, ...found.flatMap(({ errors }) => errors)]);
  if (found.length > 0) throw InvalidInput.together(found);
  // It fits the schemas of the operation.
  return { input: input as never, body };
}

function malformed(errors: readonly ValueProblem[]): Problem {
  return new Problem('invalid_request', { errors });
}

/**
 * The input of an operation that reads and writes lines.
 * @throws {Problem} a parameter or a header is not as expected
 */
export function streamInputOf(operation: AnyStream, request: IncomingMessage, path: PathParameters): never {
  requireStorable(path);
  if (operation.bodyLine !== undefined) requireType(request, [LINES_TYPE]);
  if (headerOf(request, 'idempotency-key') !== undefined)
    throw malformed([{ in: 'Idempotency-Key', detail: 'this operation can be repeated without it' }]);
  const [query, wrong] = queryIn(operation, request);
  if (wrong.length > 0) throw malformed(wrong);
  return { ...query, ...path } as never;
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

/** @returns the parameters, and those that are unknown, repeated or invalid */
function queryIn(
  { query: parameters = {} }: Pick<AnyOperation, 'query'>,
  { url = '' }: IncomingMessage,
): readonly [read: Values, wrong: readonly ValueProblem[]] {
  const read: Record<string, unknown> = {};
  const wrong: ValueProblem[] = [];
  const given = new URLSearchParams(queryOf({ url }));
  for (const name of new Set(given.keys())) {
    const schema = Object.hasOwn(parameters, name) ? parameters[name]?.schema : undefined;
    const texts = given.getAll(name);
    const value = schema && parameterIn(schema, texts[0] ?? '');
    const detail = parameterProblem(name, schema, texts, value);
    if (detail === undefined) read[name] = value;
    else wrong.push({ in: name, detail });
  }
  return [read, wrong];
}

/** What is wrong with a parameter. */
function parameterProblem(
  name: string,
  schema: Schema | undefined,
  [text = '', ...others]: readonly string[],
  value: unknown,
): string | undefined {
  if (schema === undefined) return 'there is no such parameter';
  if (others.length > 0) return 'expected it once';
  const [error] = errorsOf(schema, value);
  if (error !== undefined || text.includes('\0')) return error?.detail ?? 'expected no NUL';
  return name === 'cursor' && readCursor(text) === undefined ? 'expected next_cursor of a page' : undefined;
}

/** The value of a parameter. A text that does not fit its type stays a text, which the schema refuses. */
function parameterIn({ type }: Schema, text: string): unknown {
  if (type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text);
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
}

/** @throws {Problem} the body is not JSON */
function bodyIn(operation: AnyOperation, request: IncomingMessage, body: string): unknown {
  const { body: schema, isBodyOptional } = operation;
  if (schema === undefined || (body === '' && isBodyOptional)) {
    if (body !== '') throw new Problem('invalid_request', { detail: 'expected no body' });
    return undefined;
  }
  requireType(request, mediaTypesOf(operation));
  return parsed(body);
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
