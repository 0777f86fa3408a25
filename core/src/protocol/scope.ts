import { OAuthError } from '../http/errors.ts';

/** RFC 6749 §3.3: scope-token. */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** Scopes that speak of a person; a client that acts for itself cannot have them. */
const PERSONAL_SCOPES: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'address',
  'phone',
  'offline_access',
]);

export function isPersonalScope(scope: string): boolean {
  return PERSONAL_SCOPES.has(scope);
}

export function isScopeToken(text: string): boolean {
  return SCOPE_TOKEN.test(text);
}

export function formatScope(scopes: readonly string[]): string {
  return scopes.join(' ');
}

/**
 * The scopes of a `scope` parameter, each once, in their order.
 * @throws {OAuthError} `invalid_scope`: a character that is not allowed.
 */
export function parseScope(parameter: string): readonly string[] {
  const scopes = [...new Set(parameter.split(' ').filter((scope) => scope !== ''))];
  if (scopes.length === 0 || !scopes.every(isScopeToken))
    throw refusedScope('the scope is malformed', parameter);
  return scopes;
}

/**
 * The scopes asked for, all of them within those that are allowed; the default where nothing was asked (RFC 6749 §3.3).
 * @throws {OAuthError} `invalid_scope`: malformed, wider than allowed, or empty.
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

/** Whether a text can name an API: an absolute URI without fragment (RFC 8707 §2), in the characters of URIs. */
export function isResourceUri(text: string): boolean {
  return /^[\x21-\x7E]+$/.test(text) && !text.includes('#') && URL.canParse(text);
}
