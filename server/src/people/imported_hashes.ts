// Which work imported hashes need, so that a refused sign-in costs the same for all names (ADR 215).
import type { People } from '../data/people.ts';
import { type CostlyHash, readPasswordHash } from './password_formats.ts';

/** What says the algorithm and its cost, in front of the salt. */
const COST_OF_HASH =
  /^(?:\$(?:argon2\w*\$v=\d+|(?:fire)?scrypt|pbkdf2[\w-]*)\$[^$]*\$|(?:\$wp|bcrypt_sha256)?\$2.\$..\$|\$[PH]\$.|\$[56]\$(?:rounds=\d+\$)?|\{SSHA\d*\})/;

/** Sorts behind every hash that begins with the same text. */
const LAST = '~';

/** Algorithms whose hashes are between those of another one. */
const IN_BETWEEN = ['$5$rounds=', '$6$rounds=', 'bcrypt_sha256'];

/** Hashes of better-auth all cost the same. */
const BETTER_AUTH = /^[\da-f]{32}:/;
const BEHIND_HEXADECIMAL = 'g';

/** Algorithms and costs that are looked up, at most. */
const MAX_LOOKUPS = 64;

/** @returns a text behind all hashes of the same algorithm and cost, and in front of all others that follow */
function behind(hash: string): string {
  const cost = COST_OF_HASH.exec(hash)?.[0];
  if (cost === undefined && !BETTER_AUTH.test(hash)) return hash;
  const end = cost === undefined ? BEHIND_HEXADECIMAL : cost + LAST;
  return IN_BETWEEN.find((begin) => begin > hash && begin < end) ?? end;
}

/** @returns of each algorithm that imported hashes have, one of those that cost most */
export async function costliestHashes(
  people: Pick<People, 'importedHashAfter'>,
): Promise<readonly CostlyHash[]> {
  const found = new Map<string, CostlyHash>();
  let after = '';
  for (let lookups = 0; lookups < MAX_LOOKUPS; lookups++) {
    const text = await people.importedHashAfter(after);
    if (text === undefined) break;
    after = behind(text);
    const hash = readPasswordHash(text);
    if ('problem' in hash || hash.work === undefined) continue;
    const { work } = hash;
    if (work.units > (found.get(work.algorithm)?.work.units ?? 0))
      found.set(work.algorithm, { ...hash, work });
  }
  return [...found.values()];
}
