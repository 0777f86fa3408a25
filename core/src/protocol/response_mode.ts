/** How the answer to an authorization request travels (OAuth 2.0 Multiple Response Types §2.1, Form Post §2). */
export const RESPONSE_MODES = ['query', 'fragment', 'form_post'] as const;
export type ResponseMode = (typeof RESPONSE_MODES)[number];

export function isResponseMode(text: string): text is ResponseMode {
  return (RESPONSE_MODES as readonly string[]).includes(text);
}
