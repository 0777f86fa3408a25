import { argon2Sync, randomBytes } from 'node:crypto';

/** The least that Argon2 admits: most tests are not about what a password costs. */
const COST = { memory: 32, passes: 1, parallelism: 4, tagLength: 32 } as const;

/** A password as the program stores it, but for its cost, which the hash itself tells. */
export function cheapHash(password: string): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync('argon2id', { message: password, nonce, ...COST });
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''));
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${salt}$${hash}`;
}
