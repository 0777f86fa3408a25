import {
  type Argon2Algorithm,
  argon2,
  createCipheriv,
  pbkdf2,
  type ScryptOptions,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { BcryptOrder } from './bcrypt_thread.ts';

/** RFC 9106 §4, second recommended option: 64 MiB, three passes, four lanes. */
export const COST = { memory: 65536, passes: 3, parallelism: 4, tagLength: 32 } as const;

/** A stored hash of a password. */
export interface PasswordHash {
  /** Whether it is argon2id at least at our cost. Others are replaced at the next sign-in. */
  readonly isCurrent: boolean;
  /** Whether the hash of another password would be the same, because the algorithm reads only a part of this one. */
  ignoresPartOf(password: string): boolean;
  /** Compares bytes. @param password in one Unicode form. Counts only if the hash ignores no part of it */
  matches(password: string): Promise<boolean>;
}

/** Why a hash cannot be used: the end of a sentence “expected …”. */
export interface UnusableHash {
  readonly problem: string;
}

interface Format {
  readonly form: RegExp;
  /** Whether the algorithm ignores a part of a password (ADR 130). */
  readonly ignores: (password: string) => boolean;
  read(
    fields: Readonly<Record<string, string>>,
    hash: string,
  ): Omit<PasswordHash, 'ignoresPartOf'> | UnusableHash;
}

const nothing = () => false;

/** bcrypt repeats the password with a NUL behind it until it has 72 bytes, and implementations in C end at a NUL. */
const MAX_BCRYPT_BYTES = 72;
const beyondBcrypt = (password: string) =>
  password.includes('\0') || Buffer.byteLength(password) > MAX_BCRYPT_BYTES;

/** HMAC fills short keys with NUL (RFC 2104 §2), so PBKDF2 and scrypt cannot see NULs at the end. */
const nulsAtEnd = (password: string) => password.endsWith('\0');

const SALT = '(?<salt>[A-Za-z0-9+/.]+)=*';
const TAG = '(?<tag>[A-Za-z0-9+/.]+)=*';

/** The PHC string format, the modular crypt format, and the forms of passlib and Ory Kratos. */
const FORMATS: Readonly<Record<'argon2' | 'bcrypt' | 'scrypt' | 'firescrypt' | 'pbkdf2', Format>> = {
  argon2: {
    form: new RegExp(
      String.raw`^\$(?<type>argon2id|argon2i|argon2d)\$v=19\$m=(?<m>\d+),t=(?<t>\d+),p=(?<p>\d+)\$${SALT}\$${TAG}$`,
    ),
    ignores: nothing,
    read: argon2Hash,
  },
  bcrypt: {
    form: /^\$2[aby]\$(?<cost>\d\d)\$[./A-Za-z0-9]{53}$/,
    ignores: beyondBcrypt,
    read: bcryptHash,
  },
  scrypt: {
    form: new RegExp(String.raw`^\$scrypt\$ln=(?<ln>\d+),r=(?<r>\d+),p=(?<p>\d+)\$${SALT}\$${TAG}$`),
    ignores: nulsAtEnd,
    read: scryptHash,
  },
  firescrypt: {
    form: new RegExp(
      String.raw`^\$firescrypt\$ln=(?<ln>\d+),r=(?<r>\d+),p=(?<p>\d+)\$${SALT}\$${TAG}\$(?<separator>[A-Za-z0-9+/]*)=*\$(?<key>[A-Za-z0-9+/]+)=*$`,
    ),
    ignores: nulsAtEnd,
    read: firebaseHash,
  },
  pbkdf2: {
    form: new RegExp(
      String.raw`^\$pbkdf2(?:-(?<digest>sha1|sha256|sha512))?\$(?:i=)?(?<i>\d+)(?:,l=\d+)?\$${SALT}\$${TAG}$`,
    ),
    ignores: nulsAtEnd,
    read: pbkdf2Hash,
  },
};

/** The algorithms of imported hashes. */
export const PASSWORD_ALGORITHMS = Object.keys(FORMATS);

/** Formats for messages. */
export const PASSWORD_HASH_FORMATS =
  'a hash of argon2 ($argon2id$v=19$m=…), bcrypt ($2b$…), scrypt ($scrypt$ln=…, $firescrypt$ln=…) or PBKDF2 ($pbkdf2-sha256$…)';

/** Longer texts are not hashes of passwords. */
const MAX_LENGTH = 1024;

/** Reads a hash. The limits of its cost are those of one sign-in: about a second and 256 MiB. */
export function readPasswordHash(text: string): PasswordHash | UnusableHash {
  if (text.length > MAX_LENGTH) return { problem: `a hash of at most ${MAX_LENGTH} characters` };
  for (const { form, ignores, read } of Object.values(FORMATS)) {
    const fields = form.exec(text)?.groups;
    if (fields === undefined) continue;
    const hash = read(fields, text);
    if ('problem' in hash) return hash;
    return { ...hash, ignoresPartOf: (password) => ignores(password) || isLossy(password, hash) };
  }
  return { problem: PASSWORD_HASH_FORMATS };
}

/**
 * Whether decoding has replaced bytes that are no UTF-8, or encoding will replace half of a surrogate pair. Hashes of this
 * server stay as they are: their users chose the password in a form that had lost the same.
 */
function isLossy(password: string, { isCurrent }: Pick<PasswordHash, 'isCurrent'>): boolean {
  return !isCurrent && (password.includes('\uFFFD') || !password.isWellFormed());
}

const MAX_MEMORY = 256 * 1024 * 1024;
const MAX_ARGON2_PASSES_OF_KIB = 1024 * 1024;
const MAX_ARGON2_LANES = 16;
const MAX_BCRYPT_COST = 14;
const MAX_SCRYPT_WORK = 2 ** 22;
const MAX_PBKDF2_ITERATIONS = 4_000_000;

/** Bytes of a salt and of a tag. Argon2 requires salts of 8 bytes. */
const MAX_SALT = 128;
const TAG_BYTES = { least: 16, most: 128 } as const;

const deriveArgon2 = promisify(argon2);
const derivePbkdf2 = promisify(pbkdf2);
const deriveScrypt = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

function argon2Hash({ type, m, t, p, salt, tag }: Readonly<Record<string, string>>) {
  const [memory, passes, parallelism] = [Number(m), Number(t), Number(p)];
  const [nonce, expected] = [bytesOf(salt), bytesOf(tag)];
  const isWithinLimits =
    memory * 1024 <= MAX_MEMORY &&
    memory * passes <= MAX_ARGON2_PASSES_OF_KIB &&
    memory >= 8 * parallelism &&
    isBetween(parallelism, 1, MAX_ARGON2_LANES) &&
    passes >= 1;
  if (!isWithinLimits)
    return {
      problem: `argon2 with m of at most ${MAX_MEMORY / 1024}, m × t of at most ${MAX_ARGON2_PASSES_OF_KIB}, p from 1 to ${MAX_ARGON2_LANES} and m of at least 8 × p`,
    };
  const unfit = sizeProblem(nonce, expected, 8);
  if (unfit !== undefined) return unfit;
  const isCurrent = type === 'argon2id' && memory >= COST.memory && passes >= COST.passes;
  const parameters = { nonce, memory, passes, parallelism, tagLength: expected.length };
  return {
    isCurrent,
    matches: async (message: string) =>
      timingSafeEqual(await deriveArgon2(type as Argon2Algorithm, { ...parameters, message }), expected),
  };
}

function bcryptHash({ cost }: Readonly<Record<string, string>>, hash: string) {
  if (!isBetween(Number(cost), 4, MAX_BCRYPT_COST))
    return { problem: `bcrypt with a cost from 4 to ${MAX_BCRYPT_COST}` };
  return { isCurrent: false, matches: (password: string) => inThread({ password, hash }) };
}

/** passlib writes the exponent of N as `ln`, as the PHC string format says. Ory Kratos writes N itself. */
const MAX_EXPONENT = 40;

function scryptHash({ ln, r, p, salt, tag }: Readonly<Record<string, string>>) {
  const exponentOrN = Number(ln);
  const cost = { N: exponentOrN > MAX_EXPONENT ? exponentOrN : 2 ** exponentOrN, r: Number(r), p: Number(p) };
  const [nonce, expected] = [bytesOf(salt), bytesOf(tag)];
  const unfit = scryptProblem(cost) ?? sizeProblem(nonce, expected, 1);
  if (unfit !== undefined) return unfit;
  return {
    isCurrent: false,
    matches: async (password: string) =>
      timingSafeEqual(
        await deriveScrypt(password, nonce, expected.length, { ...cost, maxmem: 2 * MAX_MEMORY }),
        expected,
      ),
  };
}

/** Firebase Authentication encrypts the project’s signer key under the key that scrypt derives. */
function firebaseHash({ ln, r, p, salt, separator, key, tag }: Readonly<Record<string, string>>) {
  const cost = { N: 2 ** Number(ln), r: Number(r), p: Number(p) };
  const [nonce, expected, signerKey] = [
    Buffer.concat([bytesOf(salt), bytesOf(separator)]),
    bytesOf(tag),
    bytesOf(key),
  ];
  const unfit = scryptProblem(cost) ?? sizeProblem(nonce, expected, 1);
  if (unfit !== undefined) return unfit;
  if (expected.length !== signerKey.length)
    return { problem: 'firescrypt with a hash as long as its signer key' };
  return {
    isCurrent: false,
    async matches(password: string) {
      const derived = await deriveScrypt(password, nonce, 32, { ...cost, maxmem: 2 * MAX_MEMORY });
      const cipher = createCipheriv('aes-256-ctr', derived, Buffer.alloc(16));
      return timingSafeEqual(Buffer.concat([cipher.update(signerKey), cipher.final()]), expected);
    },
  };
}

function scryptProblem({ N, r, p }: { N: number; r: number; p: number }): UnusableHash | undefined {
  const isPower = Number.isSafeInteger(N) && N >= 2 && Number.isInteger(Math.log2(N));
  if (isPower && r >= 1 && p >= 1 && 128 * N * r <= MAX_MEMORY && N * r * p <= MAX_SCRYPT_WORK)
    return undefined;
  return {
    problem: `scrypt with N a power of two, N × r of at most ${MAX_MEMORY / 128}, and N × r × p of at most ${MAX_SCRYPT_WORK}`,
  };
}

function pbkdf2Hash({ digest = 'sha1', i, salt, tag }: Readonly<Record<string, string>>) {
  const iterations = Number(i);
  const [nonce, expected] = [bytesOf(salt), bytesOf(tag)];
  const blocks = Math.ceil(expected.length / { sha1: 20, sha256: 32, sha512: 64 }[digest as 'sha1']);
  if (iterations < 1 || iterations * blocks > MAX_PBKDF2_ITERATIONS)
    return { problem: `PBKDF2 with at most ${MAX_PBKDF2_ITERATIONS} iterations for all blocks of the hash` };
  const unfit = sizeProblem(nonce, expected, 1);
  if (unfit !== undefined) return unfit;
  return {
    isCurrent: false,
    matches: async (password: string) =>
      timingSafeEqual(await derivePbkdf2(password, nonce, iterations, expected.length, digest), expected),
  };
}

/** passlib writes `.` for `+`. */
function bytesOf(base64: string | undefined): Buffer {
  return Buffer.from((base64 ?? '').replaceAll('.', '+'), 'base64');
}

function sizeProblem(salt: Buffer, tag: Buffer, leastSalt: number): UnusableHash | undefined {
  if (isBetween(salt.length, leastSalt, MAX_SALT) && isBetween(tag.length, TAG_BYTES.least, TAG_BYTES.most))
    return undefined;
  return {
    problem: `a salt of ${leastSalt} to ${MAX_SALT} bytes and a hash of ${TAG_BYTES.least} to ${TAG_BYTES.most} bytes, both in base64`,
  };
}

function isBetween(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

/** Has this file’s extension, because the program runs both from source and compiled. */
const BCRYPT = new URL(`bcrypt_thread${extname(import.meta.filename)}`, import.meta.url);

/** Starting a thread takes less time than most hashes, and an idle one would keep its memory. */
function inThread(order: BcryptOrder): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const thread = new Worker(BCRYPT, { workerData: order });
  thread.once('message', resolve);
  thread.once('error', reject);
  thread.once('exit', (code) => reject(new Error(`the thread ended with ${code} before its answer`)));
  return promise;
}
