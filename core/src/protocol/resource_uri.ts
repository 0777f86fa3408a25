/** Whether a text can name an API: an absolute URI without fragment (RFC 8707 §2), in the characters of URIs. */
export function isResourceUri(text: string): boolean {
  return /^[\x21-\x7E]+$/.test(text) && !text.includes('#') && URL.canParse(text);
}
