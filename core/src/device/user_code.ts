// User codes: short enough to type, and digests that find them. § refers to RFC 8628.
import { hmacSha256 } from '#crypto';
import type { RandomSource } from '../platform/environment.ts';
import type { TokenContext } from '../tokens/context.ts';

/** Letters that make no words and look like no others (§6.1). Eight of them have 34.5 bits. */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
const LENGTH = 8;
const USER_CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`);

/** Bytes from this one on would make some letters more likely than others. */
const BYTES_END = 256 - (256 % ALPHABET.length);

/** Returns a random code as users see it, such as `WDJB-MJHT`. */
export function newUserCode(random: RandomSource): string {
  let letters = '';
  while (letters.length < LENGTH)
    for (const byte of random(LENGTH - letters.length))
      if (byte < BYTES_END) letters += ALPHABET[byte % ALPHABET.length];
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}

/**
 * Reads what a user typed. Case, spaces and punctuation do not matter (§6.1).
 * @returns the letters alone; `undefined` if this cannot be a code
 */
export function readUserCode(typed: string): string | undefined {
  const letters = typed
    .normalize('NFKC')
    .replaceAll(/[\s\p{P}]/gu, '')
    .toUpperCase();
  return USER_CODE.test(letters) ? letters : undefined;
}

/**
 * Returns the digests by which a code is found: one for each server secret, the newest first. They need a key, because
 * anyone can try all codes.
 */
export async function digestsOf(
  { secret, issuer }: Pick<TokenContext, 'secret' | 'issuer'>,
  letters: string,
): Promise<readonly string[]> {
  const keys = await secret.keys('user_code');
  return Promise.all(keys.map((key) => hmacSha256(key, `${issuer} ${letters}`)));
}
