import type { Claims } from '../../../protocol/claims.ts';
import type { Form } from '../../../protocol/form.ts';

/** Claims about the JWT itself (RFC 7519 §4.1): no parameters. */
const ABOUT_THE_JWT: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/**
 * The claims of a request object as a form would have them (RFC 9101 §4): numbers as their digits, several resources one
 * after another, other lists and objects as JSON, which is how `claims` travels (OpenID Connect Core §6.1).
 * @returns `undefined` where a text is none that could travel in a form
 */
export function parametersOfClaims(claims: Claims): Form | undefined {
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(claims)) {
    if (ABOUT_THE_JWT.has(name) || value === null) continue;
    const text = textOf(name, value);
    if (!text.isWellFormed() || !name.isWellFormed()) return undefined;
    if (text !== '') parameters.set(name, text);
  }
  return parameters;
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (name === 'resource' && Array.isArray(value)) return value.join(' ');
  return JSON.stringify(value);
}
