/** What each runtime brings: some answer at once, others later, so whoever asks awaits. */
export interface Hashing {
  /** SHA-256 of a text's UTF-8 bytes, base64url without padding. */
  sha256(text: string): string | Promise<string>;
  /** HMAC-SHA-256 of a text's UTF-8 bytes, base64url without padding. */
  hmacSha256(key: Uint8Array<ArrayBuffer>, text: string): string | Promise<string>;
}
