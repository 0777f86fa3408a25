import type { Claims } from '../../../protocol/claims.ts';
import type { Form } from '../../../protocol/form.ts';

/** Claims about the JWT itself (RFC 7519 §4.1): no parameters. */
const ABOUT_THE_JWT: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/** Levels of lists and objects: there are runtimes that write JSON by recursion. */
const DEEPEST = 20;

/**
 * The claims of a request object as a form would have them (RFC 9101 §4): numbers as their digits, several resources one
 * after another, other lists and objects as JSON, which is how `claims` travels (OpenID Connect Core §6.1).
 * @returns `undefined` where one could not travel in a form: no well-formed text, no list of texts as resources, or too
 *   deep
 */
export function parametersOfClaims(claims: Claims): Form | undefined {
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(claims)) {
    if (ABOUT_THE_JWT.has(name) || value === null) continue;
    const text = textOf(name, value);
    if (text === undefined || !text.isWellFormed() || !name.isWellFormed()) return undefined;
    if (text !== '') parameters.set(name, text);
  }
  return parameters;
}

function textOf(name: string, value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (name === 'resource' && Array.isArray(value))
    return value.every((one) => typeof one === 'string') ? value.join(' ') : undefined;
  return isAtMostDeep(value, DEEPEST) ? JSON.stringify(value) : undefined;
}

function isAtMostDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((member) => isAtMostDeep(member, depth - 1));
}
