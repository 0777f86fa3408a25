import { OAuthError } from './oauth_error.ts';

/** What the client wants the person to be asked (OpenID Connect Core §3.1.2.1). */
export const PROMPTS = ['none', 'login', 'consent', 'select_account'] as const;
export type Prompt = (typeof PROMPTS)[number];

/**
 * The values of a `prompt` parameter.
 * @throws {OAuthError} `invalid_request`: an unknown one, or `none` beside another
 */
export function parsePrompt(parameter: string | undefined): readonly Prompt[] {
  const prompt = parameter?.split(' ') ?? [];
  if (prompt.every(isPrompt) && !(prompt.includes('none') && prompt.length > 1)) return prompt;
  throw new OAuthError('invalid_request', 'the prompt is not allowed', { reason: 'parameter_invalid' });
}

function isPrompt(text: string): text is Prompt {
  return (PROMPTS as readonly string[]).includes(text);
}
