import { argon2Sync, randomBytes } from 'node:crypto';

/** The lowest cost that Argon2 allows. Most tests do not depend on the cost. */
const COST = { memory: 32, passes: 1, parallelism: 4, tagLength: 32 };

/**
 * A password as the program stores it, except for the cost, which the hash contains.
 * @param memory of Argon2, in KiB
 */
export function cheapHash(password: string, memory = COST.memory): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync('argon2id', { message: password, nonce, ...COST, memory });
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''));
  return `$argon2id$v=19$m=${memory},t=${COST.passes},p=${COST.parallelism}$${salt}$${hash}`;
}
