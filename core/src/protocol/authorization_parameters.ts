// Values of authorization request parameters.
import { invalidRequest } from '../http/errors.ts';

/** Pages that a client can demand or exclude (OpenID Connect Core §3.1.2.1). */
export const PROMPTS = ['none', 'login', 'consent', 'select_account'] as const;
export type Prompt = (typeof PROMPTS)[number];

/**
 * Parses the `prompt` parameter.
 * @throws {OAuthError} `invalid_request`: an unknown value, or `none` with another one
 */
export function parsePrompt(parameter: string | undefined): readonly Prompt[] {
  const prompt = parameter?.split(' ') ?? [];
  if (prompt.every(isPrompt) && !(prompt.includes('none') && prompt.length > 1)) return prompt;
  throw invalidRequest('the prompt is not allowed', 'parameter_invalid');
}

function isPrompt(text: string): text is Prompt {
  return (PROMPTS as readonly string[]).includes(text);
}

/** What carries a response to the client (OAuth 2.0 Multiple Response Types §2.1, Form Post §2). */
type Carrier = 'query' | 'fragment' | 'form_post';

/** All response modes: what carries the response, and whether it is a JWT (JARM §2.3). */
export const RESPONSE_MODES = {
  query: { carrier: 'query', isJwt: false },
  fragment: { carrier: 'fragment', isJwt: false },
  form_post: { carrier: 'form_post', isJwt: false },
  'query.jwt': { carrier: 'query', isJwt: true },
  'fragment.jwt': { carrier: 'fragment', isJwt: true },
  'form_post.jwt': { carrier: 'form_post', isJwt: true },
  // The default for a code (JARM §2.3.4)
  jwt: { carrier: 'query', isJwt: true },
} as const satisfies Readonly<Record<string, { readonly carrier: Carrier; readonly isJwt: boolean }>>;

export type ResponseMode = keyof typeof RESPONSE_MODES;

export function isResponseMode(text: string): text is ResponseMode {
  return Object.hasOwn(RESPONSE_MODES, text);
}

/** RFC 7636 §4.2: an S256 challenge is the base64url of 32 bytes. */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export function isS256Challenge(text: string): boolean {
  return S256_CHALLENGE.test(text);
}

/**
 * Parses the `ui_locales` parameter: language tags, most preferred first (OpenID Connect Core §3.1.2.1). Skips
 * malformed tags (RFC 5646 §2.1), which must not be an error.
 */
export function parseUiLocales(parameter: string | undefined): readonly string[] {
  return parameter?.split(' ').filter((tag) => /^[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8})*$/.test(tag)) ?? [];
}
