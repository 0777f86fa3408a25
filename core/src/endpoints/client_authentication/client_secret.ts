import { hmacSha256 } from '#hashing';
import { equalInConstantTime } from '../../protocol/hashing/constant_time.ts';
import type { ServerSecret } from '../../tokens/server_secret.ts';

/** Stands in for the hash of a client that does not exist: as long as a real one, and never equal to one. */
const NO_HASH = '-'.repeat(42).concat('~');

/** A client secret as it is stored: HMAC-SHA-256 under a key of the server, base64url. */
export async function hashClientSecret(secret: ServerSecret, clientSecret: string): Promise<string> {
  return hmacSha256(await secret.key('client_secret'), clientSecret);
}

/**
 * Which of the texts is the secret; `-1` for none. Costs the same whether or not there is a hash to compare with.
 */
export async function matchingSecret(
  secret: ServerSecret,
  candidates: readonly string[],
  storedHash: string | undefined,
): Promise<number> {
  const keys = await secret.keys('client_secret');
  for (const [index, candidate] of candidates.entries()) {
    for (const key of keys) {
      if (equalInConstantTime(await hmacSha256(key, candidate), storedHash ?? NO_HASH)) return index;
    }
  }
  return -1;
}
