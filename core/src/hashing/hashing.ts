/** What each runtime brings: some answer at once, others later, so whoever asks awaits. */
export interface Hashing {
  /** SHA-256 of a text's UTF-8 bytes, base64url without padding. */
  sha256(text: string): string | Promise<string>;
  /** HMAC-SHA-256 of a text's UTF-8 bytes, base64url without padding. */
  hmacSha256(key: Uint8Array<ArrayBuffer>, text: string): string | Promise<string>;
}

/** Compares two texts of equal length in a time that does not depend on where they differ. */
export function equalInConstantTime(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i);
  return difference === 0;
}
