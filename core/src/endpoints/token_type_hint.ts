import type { Form } from '../protocol/form.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { Context } from './context.ts';

/** What a caller takes a token for; advisory (RFC 7009 §2.1, RFC 7662 §2.1). */
export type TokenTypeHint = 'access_token' | 'refresh_token' | 'auth_code';

const HINTS: readonly string[] = ['access_token', 'refresh_token', 'auth_code'] satisfies TokenTypeHint[];

/**
 * The hint of a request. An unknown one is ignored if the server or the caller's registration says so.
 * @param asking the caller, who is still being authenticated; `undefined` if callers are not
 * @returns `undefined` if there is no hint, or one that is ignored
 * @throws {OAuthError} `unsupported_token_type`: a value that this server does not know
 */
export function readTokenTypeHint(
  { ignoreUnknownTokenTypeHints }: Pick<Context, 'ignoreUnknownTokenTypeHints'>,
  form: Form,
  asking: Promise<ClientRecord | undefined>,
): Awaitable<TokenTypeHint | undefined> {
  const hint = form.get('token_type_hint');
  if (hint === undefined || isHint(hint)) return hint;
  if (ignoreUnknownTokenTypeHints) return undefined;
  return asking.then((caller) => {
    if (caller?.metadata?.ignore_unknown_token_type_hint === true) return undefined;
    throw new OAuthError('unsupported_token_type', 'the token_type_hint is unknown', {
      reason: 'unknown_hint',
      value: hint,
    });
  });
}

function isHint(text: string): text is TokenTypeHint {
  return HINTS.includes(text);
}
