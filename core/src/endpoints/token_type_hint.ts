import type { Form } from '../protocol/form.ts';
import { OAuthError } from '../protocol/oauth_error.ts';

/** What a caller takes a token for; advisory (RFC 7009 §2.1, RFC 7662 §2.1). */
export type TokenTypeHint = 'access_token' | 'refresh_token' | 'auth_code';

const HINTS: readonly string[] = ['access_token', 'refresh_token', 'auth_code'] satisfies TokenTypeHint[];

/**
 * @returns `undefined` where the request gives no hint
 * @throws {OAuthError} `unsupported_token_type`: a value that this server does not know
 */
export function readTokenTypeHint(form: Form): TokenTypeHint | undefined {
  const hint = form.get('token_type_hint');
  if (hint === undefined || isHint(hint)) return hint;
  throw new OAuthError('unsupported_token_type', 'the token_type_hint is unknown', {
    reason: 'unknown_hint',
    value: hint,
  });
}

function isHint(text: string): text is TokenTypeHint {
  return HINTS.includes(text);
}
