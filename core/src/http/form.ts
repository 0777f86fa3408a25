// Reads forms and JSON from requests.
import { invalidRequest, OAuthError } from './errors.ts';
import {
  type HttpRequest,
  headerValue,
  isJsonObject,
  type JsonObject,
  LONGEST_PARAMETERS,
  MAX_BODY_BYTES,
  mediaTypeOf,
  type ParsedForm,
  parseJson,
  queryOf,
} from './http.ts';

/**
 * Request parameters, each at most once and never empty (RFC 6749 §3.2). Only `resource` may have several values (RFC
 * 8707 §2), separated by spaces, which URIs do not contain; and `audience` of a token exchange (RFC 8693 §2.1), separated
 * by line feeds.
 */
export type Form = ReadonlyMap<string, string>;

type Repeatable = 'resource' | 'audience';
const SEPARATORS: Readonly<Record<string, string>> = { resource: ' ', audience: '\n' } satisfies Record<
  Repeatable,
  string
>;
const REPEATABLE: readonly Repeatable[] = ['resource'];

/** The values of a parameter that may be repeated, each once. See ADR 136. @returns `undefined` without one */
export function valuesIn(form: Form, name: Repeatable): readonly string[] | undefined {
  const values = form.get(name)?.split(SEPARATORS[name] ?? ' ');
  return values && [...new Set(values)];
}

/**
 * The form in a request body, raw or parsed by the host.
 * @param repeatable parameters that may have several values
 * @returns an empty form if there is no body
 * @throws {OAuthError} `invalid_request`: wrong media type or repeated parameter; with status 413: too large; 415:
 * compressed
 */
export function readForm(request: HttpRequest, repeatable: readonly string[] = REPEATABLE): Form {
  const { body } = request;
  if (typeof body === 'object') {
    // The host’s parser may accept JSON too. Without a media type, the host vouches for the form.
    if (mediaTypeOf(request) !== undefined) requireFormMediaType(request);
    requireBodySize(request);
    return fromParsed(body, repeatable);
  }
  if (body === undefined || body === '') return new Map();
  requireBodySize(request);
  requireFormMediaType(request);
  if (request.headers['content-encoding'] !== undefined) requireIdentity(request);
  return parseForm(body, repeatable);
}

/**
 * The parameters of a browser request: from the form of a POST, else from the query.
 * @throws {OAuthError} `invalid_request`: as `readForm`
 */
export function readQueryOrForm(request: HttpRequest): Form {
  return request.method === 'POST' ? readForm(request) : parseForm(queryOf(request));
}

/**
 * The JSON object in a request body, raw or parsed by the host.
 * @throws {OAuthError} `invalid_request`: wrong media type or not a JSON object; with status 413: too large; 415:
 * compressed
 */
export function readJsonObject(request: HttpRequest): JsonObject {
  requireBodySize(request);
  if (mediaTypeOf(request) !== 'application/json') {
    throw invalidRequest('the content type must be application/json', 'wrong_media_type');
  }
  if (typeof request.body === 'string') requireIdentity(request);
  const value = typeof request.body === 'string' ? parseJson(request.body) : request.body;
  if (isJsonObject(value)) return value;
  throw invalidRequest('the body must be a JSON object', 'body_unreadable');
}

/**
 * A required parameter.
 * @throws {OAuthError} `invalid_request`: the parameter is missing
 */
export function requireParameter(form: Form, name: string): string {
  const value = form.get(name);
  if (value === undefined) {
    throw invalidRequest(`the parameter ${name} is missing`, 'parameter_missing');
  }
  return value;
}

/** @throws {OAuthError} `invalid_request`: the parameters are too long for a URL */
export function requireShortParameters(parameters: Form): void {
  let length = 0;
  for (const [name, value] of parameters) length += name.length + value.length;
  if (length <= LONGEST_PARAMETERS) return;
  throw invalidRequest(`the request is longer than ${LONGEST_PARAMETERS} characters`, 'parameters_too_long');
}

/** @throws {OAuthError} `invalid_request` with status 413: the body is too large */
export function requireBodySize({ body }: HttpRequest): void {
  if (
    body === undefined ||
    !exceeds(typeof body === 'string' ? body : shortestEncoding(body), MAX_BODY_BYTES)
  )
    return;
  throw invalidRequest('the request body is too large', 'body_too_large', { status: 413 });
}

/**
 * Parses URL-encoded parameters of a body or query.
 * @throws {OAuthError} `invalid_request`: a repeated parameter
 */
export function parseForm(text: string, repeatable: readonly string[] = REPEATABLE): Form {
  const form = new Map<string, string>();
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (seen.has(name) && !repeatable.includes(name)) throw repeated();
    seen.add(name);
    if (value !== '') form.set(name, appended(name, form.get(name), value));
  }
  return form;
}

/** RFC 6749 Appendix B. */
function requireFormMediaType(request: HttpRequest): void {
  if (mediaTypeOf(request) === 'application/x-www-form-urlencoded') return;
  throw invalidRequest('the content type must be application/x-www-form-urlencoded', 'wrong_media_type');
}

/**
 * A body that the host has parsed is no longer encoded, even if the header says so.
 * @throws {OAuthError} `invalid_request` with status 415: the body is compressed (RFC 9110 §15.5.16)
 */
function requireIdentity(request: HttpRequest): void {
  const codings = headerValue(request, 'content-encoding')?.toLowerCase().split(',') ?? [];
  if (codings.every((coding) => ['', 'identity'].includes(coding.trim()))) return;
  const more = { status: 415, headers: { 'accept-encoding': 'identity' } };
  throw invalidRequest('the body must not have a Content-Encoding', 'wrong_content_encoding', more);
}

function fromParsed(parsed: ParsedForm, repeatable: readonly string[]): Form {
  const form = new ParametersOfParser();
  for (const [name, value] of Object.entries(parsed)) {
    for (const single of valuesOf(name, value, repeatable)) {
      if (single === undefined || single === null || single === '') continue;
      if (typeof single === 'string') form.set(name, appended(name, form.get(name), single));
      else form.misfits.add(name);
    }
  }
  return form;
}

/**
 * Parsers make other values of names such as `a[b]`. Parameters that no endpoint reads are ignored (RFC 6749 §3.2). Who
 * reads all of them, reads these too.
 */
class ParametersOfParser extends Map<string, string> {
  readonly misfits = new Set<string>();

  /** @throws {OAuthError} `invalid_request`: the value is not a string */
  override get(name: string): string | undefined {
    if (!this.misfits.has(name)) return super.get(name);
    throw noString();
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** @throws {OAuthError} `invalid_request`: a value is not a string */
  override [Symbol.iterator](): MapIterator<[string, string]> {
    if (this.misfits.size > 0) throw noString();
    return super[Symbol.iterator]();
  }
}

function noString(): OAuthError {
  return invalidRequest('a parameter must be a string', 'parameter_invalid');
}

/** A one-element array comes from `name[]`, not from a repetition. It stays an array, which is no parameter. */
function valuesOf(name: string, value: unknown, repeatable: readonly string[]): readonly unknown[] {
  if (!Array.isArray(value)) return [value];
  if (repeatable.includes(name)) return value;
  if (value.length > 1) throw repeated();
  return [value];
}

function appended(name: string, earlier: string | undefined, value: string): string {
  return earlier === undefined ? value : earlier + SEPARATORS[name] + value;
}

export function repeated(): OAuthError {
  return invalidRequest('a parameter is repeated', 'parameter_repeated');
}

/** The shortest possible encoding of a parsed form. */
function shortestEncoding(form: ParsedForm): string {
  return Object.entries(form)
    .flatMap(([name, value]) =>
      [value].flat().map((single) => `${name}=${typeof single === 'string' ? single : ''}`),
    )
    .join('&');
}

/** Counts UTF-8 bytes only if the number of characters is not conclusive. */
function exceeds(text: string, bytes: number): boolean {
  if (text.length > bytes) return true;
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}

/** RFC 6749 §3.3: scope-token. */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** Whether a text is one scope of a `scope` parameter. */
export function isScopeToken(text: string): boolean {
  return SCOPE_TOKEN.test(text);
}

export function formatScope(scopes: readonly string[]): string {
  return scopes.join(' ');
}

/**
 * Parses a `scope` parameter into distinct scopes, in their order.
 * @throws {OAuthError} `invalid_scope`: empty, or with a character that is not allowed
 */
export function parseScope(parameter: string): readonly string[] {
  const scopes = [...new Set(parameter.split(' ').filter((scope) => scope !== ''))];
  if (scopes.length === 0 || !scopes.every(isScopeToken))
    throw refusedScope('the scope is malformed', parameter);
  return scopes;
}

/**
 * Returns the requested scopes, or the default if none were requested (RFC 6749 §3.3). A refresh narrows its access
 * token with it: `allowed` is then what remains of the grant (RFC 6749 §6).
 * @param allowed all that may be requested
 * @throws {OAuthError} `invalid_scope`: malformed, or not all allowed
 */
export function selectScopes(
  parameter: string | undefined,
  allowed: readonly string[],
  byDefault: readonly string[] = allowed,
): readonly string[] {
  if (parameter === undefined) return byDefault;
  const scopes = parseScope(parameter);
  const refused = scopes.filter((scope) => !allowed.includes(scope));
  if (refused.length > 0) throw refusedScope('a scope is not allowed', formatScope(refused));
  return scopes;
}

export function refusedScope(description: string, value: string): OAuthError {
  return new OAuthError('invalid_scope', description, { reason: 'scope_not_allowed', value });
}
