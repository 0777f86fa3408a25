// Hashes in the alphabet of crypt(3): SHA-crypt (`$5$`, `$6$`) and the portable hashes of phpass (`$P$`, `$H$`).
import { hash, timingSafeEqual } from 'node:crypto';

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Groups of three bytes, least significant six bits first. A group with fewer bytes has one character more than bytes. */
function encoded(groups: readonly (readonly number[])[]): string {
  return groups
    .map((group) => {
      const value = group.reduce((sum, byte, index) => sum | (byte << (8 * index)), 0);
      return Array.from({ length: group.length + 1 }, (_, at) => ALPHABET[(value >> (6 * at)) & 63]).join('');
    })
    .join('');
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Bytes. */
const MAX_PASSWORD = 1024;

/** @returns `undefined` for a very long password: every round hashes all of it */
function bytesOf(password: string): Buffer | undefined {
  const bytes = Buffer.from(password);
  return bytes.length > MAX_PASSWORD ? undefined : bytes;
}

/**
 * phpass 0.3, as in WordPress before 6.8 and in phpBB: MD5, two to a power of rounds.
 * @param extraRounds that the check of a wrong password makes more
 */
export function isPhpassMatch(password: string, stored: string, extraRounds: number): boolean {
  const bytes = bytesOf(password);
  if (bytes === undefined) return false;
  const [setting, exponent, salt] = [
    stored.slice(0, 12),
    ALPHABET.indexOf(stored[3] ?? ''),
    stored.slice(4, 12),
  ];
  let digest = hash('md5', Buffer.concat([Buffer.from(salt), bytes]), 'buffer');
  const run = (rounds: number) => {
    for (let round = 0; round < rounds; round += 1)
      digest = hash('md5', Buffer.concat([digest, bytes]), 'buffer');
  };
  run(2 ** exponent);
  const groups = Array.from({ length: 6 }, (_, index) => [...digest.subarray(3 * index, 3 * index + 3)]);
  if (isSame(`${setting}${encoded(groups)}`, stored)) return true;
  run(extraRounds);
  return false;
}

const SHA_CRYPT = {
  '5': { digest: 'sha256', length: 32 },
  '6': { digest: 'sha512', length: 64 },
} as const;

/** Rounds if the hash does not say how many. */
export const SHA_CRYPT_ROUNDS = 5000;

/**
 * “Unix crypt using SHA-256 and SHA-512”, version 0.6. The comments name its steps.
 * @param extraRounds that the check of a wrong password makes more
 */
export function isShaCryptMatch(password: string, stored: string, extraRounds: number): boolean {
  const key = bytesOf(password);
  if (key === undefined) return false;
  const [, variant = '', ...fields] = stored.split('$');
  const { digest, length } = SHA_CRYPT[variant === '5' ? '5' : '6'];
  const rounds = Number(fields.length === 3 ? fields[0]?.replace('rounds=', '') : SHA_CRYPT_ROUNDS);
  const [saltText = '', tag = ''] = fields.slice(-2);
  const salt = Buffer.from(saltText);
  const digestOf = (...parts: readonly Uint8Array[]) => hash(digest, Buffer.concat(parts), 'buffer');

  // Steps 1 to 12: digests B and A.
  const b = digestOf(key, salt, key);
  const ofKeyBits: Buffer[] = [];
  for (let bits = key.length; bits > 0; bits >>= 1) ofKeyBits.push(bits & 1 ? b : key);
  const a = digestOf(key, salt, repeated(b, key.length), ...ofKeyBits);
  // Steps 13 to 20: sequences P and S.
  const p = repeated(digestOf(...Array.from({ length: key.length }, () => key)), key.length);
  const s = repeated(digestOf(...Array.from({ length: 16 + (a[0] ?? 0) }, () => salt)), salt.length);
  // Step 21: the rounds.
  let c = a;
  const run = (count: number) => {
    for (let round = 0; round < count; round += 1) {
      const isOdd = round % 2 === 1;
      const parts = [isOdd ? p : c];
      if (round % 3 !== 0) parts.push(s);
      if (round % 7 !== 0) parts.push(p);
      parts.push(isOdd ? c : p);
      c = digestOf(...parts);
    }
  };
  run(rounds);
  // Step 22: the bytes in the order of the specification.
  if (isSame(encoded(shaCryptGroups(c, length)), tag)) return true;
  run(extraRounds);
  return false;
}

/** Bytes over and over, up to a length. */
function repeated(bytes: Buffer, length: number): Buffer {
  return Buffer.alloc(length, length === 0 ? undefined : bytes);
}

/** Each group has a byte of each third of the digest. From group to group, the thirds rotate. */
function shaCryptGroups(digest: Buffer, length: 32 | 64): readonly (readonly number[])[] {
  const third = Math.floor(length / 3);
  const at = (index: number) => digest[index] ?? 0;
  const groups = Array.from({ length: third }, (_, index) => {
    const thirds = [index, index + third, index + 2 * third].map(at);
    const turn = length === 64 ? index % 3 : (3 - (index % 3)) % 3;
    return [...thirds.slice(turn), ...thirds.slice(0, turn)].reverse();
  });
  return [...groups, length === 64 ? [at(63)] : [at(30), at(31)]];
}
