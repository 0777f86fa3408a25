import { createHmac, hash } from 'node:crypto';

/** SHA-256 of a text's UTF-8 bytes, base64url without padding. */
export function sha256(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** HMAC-SHA-256 of a text's UTF-8 bytes, base64url without padding. */
export function hmacSha256(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
