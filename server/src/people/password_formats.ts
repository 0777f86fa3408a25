import crypto, {
  type Argon2Algorithm,
  createCipheriv,
  createHash,
  createHmac,
  pbkdf2,
  type ScryptOptions,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { SHA_CRYPT_ROUNDS } from './crypt_hashes.ts';
import type { HashOrder } from './hash_thread.ts';
import { MAX_PASSWORD_BYTES } from './passwords.ts';

/** RFC 9106 §4, second recommended option: 64 MiB, three passes, four lanes. */
export const COST = { memory: 65536, passes: 3, parallelism: 4, tagLength: 32 } as const;

/** How much a check of a hash costs. */
export interface HashWork {
  /** Hashes with the same text need the same time for each unit. */
  readonly algorithm: string;
  /** Iterations, or what else the time is proportional to. */
  readonly units: number;
}

/** How a hash of this server begins. A check costs as much as a new hash. */
export const OWN_HASH = `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$`;

/** A stored hash of a password. */
export interface PasswordHash {
  /** Whether it is argon2id at least at our cost. Others are replaced at the next sign-in. */
  readonly isCurrent: boolean;
  /** Absent if a check takes microseconds. */
  readonly work?: HashWork;
  /** Whether the hash of another password would be the same, because the algorithm reads only a part of this one. */
  ignoresPartOf(password: string): boolean;
  /**
   * Compares bytes.
   * @param password in one Unicode form. Counts only if the hash ignores no part of it
   * @param extraUnits that the check of a wrong password costs more. Default: 0
   */
  matches(password: string, extraUnits?: number): Promise<boolean>;
}

/** A stored hash whose check takes longer. */
export type CostlyHash = PasswordHash & Required<Pick<PasswordHash, 'work'>>;

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

/** WordPress removes white space around a password, as PHP defines it. */
const asWordPress = (password: string) => password.replace(/^[ \t\n\r\0\v]+|[ \t\n\r\0\v]+$/g, '');
const spaceAround = (password: string) => asWordPress(password) !== password;

/**
 * What is stored: the PHC string format, the modular crypt format, the schemes of LDAP, and the forms of passlib
 * and Ory Kratos. An import converts other spellings of the same algorithms (ADR 195).
 */
const FORMATS = {
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
  // Django hashes the password first, so that bcrypt reads all of it.
  bcrypt_sha256: {
    form: /^bcrypt_sha256\$(?<hash>\$2[aby]\$(?<cost>\d\d)\$[./A-Za-z0-9]{53})$/,
    ignores: nothing,
    read: (fields) =>
      bcryptHash(fields, fields.hash, (password) => createHash('sha256').update(password).digest('hex')),
  },
  // WordPress, from 6.8.
  wordpress: {
    form: /^\$wp(?<hash>\$2[aby]\$(?<cost>\d\d)\$[./A-Za-z0-9]{53})$/,
    ignores: spaceAround,
    read: (fields) =>
      bcryptHash(fields, fields.hash, (password) =>
        createHmac('sha384', 'wp-sha384').update(asWordPress(password)).digest('base64'),
      ),
  },
  // WordPress before 6.8, and phpBB.
  phpass: {
    form: /^\$[PH]\$(?<exponent>[./A-Za-z0-9])[./A-Za-z0-9]{30}$/,
    ignores: spaceAround,
    read: phpassHash,
  },
  sha_crypt: {
    form: /^\$(?:5\$(?:rounds=(?<r5>\d+)\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43}|6\$(?:rounds=(?<r6>\d+)\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{86})$/,
    ignores: nothing,
    read: shaCryptHash,
  },
  salted_digest: {
    form: /^\{SSHA(?<bits>256|384|512)?\}(?<both>[A-Za-z0-9+/]+)=*$/,
    ignores: nothing,
    read: saltedDigest,
  },
  scrypt: {
    form: new RegExp(String.raw`^\$scrypt\$ln=(?<ln>\d+),r=(?<r>\d+),p=(?<p>\d+)\$${SALT}\$${TAG}$`),
    ignores: nulsAtEnd,
    read: scryptHash,
  },
  better_auth: {
    form: /^(?<salt>[0-9a-f]{32}):(?<tag>[0-9a-f]{128})$/,
    ignores: nulsAtEnd,
    read: betterAuthHash,
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
      String.raw`^\$pbkdf2(?:-(?<digest>sha1|sha224|sha256|sha384|sha512))?\$(?:i=)?(?<i>\d+)(?:,l=\d+)?\$${SALT}\$${TAG}$`,
    ),
    ignores: nulsAtEnd,
    read: pbkdf2Hash,
  },
} as const satisfies Readonly<Record<string, Format>>;

/** The algorithms of imported hashes. */
export const PASSWORD_ALGORITHMS = Object.keys(FORMATS);

/** Formats for messages. */
const PASSWORD_HASH_FORMATS =
  'a hash of argon2 ($argon2id$v=19$m=…), bcrypt ($2b$…), scrypt ($scrypt$ln=…, $firescrypt$ln=…), PBKDF2 ($pbkdf2-sha256$…), SHA-crypt ($5$…, $6$…), phpass ($P$…) or {SSHA…}, or one that Django, Werkzeug, WordPress, Nextcloud, ASP.NET Identity or better-auth makes';

/** Unsalted hashes, and salted MD5. */
const TOO_WEAK =
  /^(?:\{(?:SHA\d*|MD5|SMD5)\}|(?:unsalted_)?(?:md5|sha1)\$|(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$|\$(?:1|apr1)\$)/i;

/** Longer texts are not hashes of passwords. */
export const MAX_HASH_LENGTH = 1024;

/** Reads a hash. The limits of its cost are those of one sign-in: about a second and 256 MiB. */
export function readPasswordHash(text: string): PasswordHash | UnusableHash {
  if (text.length > MAX_HASH_LENGTH) return { problem: `a hash of at most ${MAX_HASH_LENGTH} characters` };
  for (const { form, ignores, read } of Object.values(FORMATS)) {
    const fields = form.exec(text)?.groups;
    if (fields === undefined) continue;
    const hash: ReturnType<Format['read']> = read(fields, text);
    if ('problem' in hash) return hash;
    return { ...hash, ignoresPartOf: (password) => ignores(password) || isLossy(password, hash) };
  }
  if (TOO_WEAK.test(text))
    return {
      problem:
        'a stronger hash: MD5 and hashes without a salt reveal most passwords to a reader of the database. Import the user without the hash, and let the user choose a password',
    };
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
const SHA_CRYPT = { least: 1000, most: 1_000_000 } as const;
const PHPASS_EXPONENT = { least: 7, most: 19 } as const;

/** Bytes of a salt and of a tag. Argon2 requires salts of 8 bytes. */
const MAX_SALT = 128;
const TAG_BYTES = { least: 16, most: 128 } as const;

// An application that embeds the program may run on a Node without it. A named import would not say so (ADR 48).
if (typeof crypto.argon2 !== 'function')
  throw new Error(`grantd needs Node 24.7 or later; this is Node ${process.versions.node}.`);

export const deriveArgon2 = promisify(crypto.argon2);
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
    ...{ isCurrent, work: { algorithm: `${type} p=${p}`, units: memory * passes } },
    matches: async (message: string, extraUnits = 0) =>
      timingSafeEqual(await deriveArgon2(type as Argon2Algorithm, { ...parameters, message }), expected) ||
      spendArgon2(type as Argon2Algorithm, { ...parameters, message }, extraUnits),
  };
}

async function spendArgon2(
  type: Argon2Algorithm,
  parameters: Parameters<typeof deriveArgon2>[1],
  units: number,
): Promise<false> {
  const least = 8 * parameters.parallelism;
  if (units < least) return false;
  const passes = Math.ceil(units / Math.max(parameters.memory, COST.memory));
  const memory = Math.max(least, Math.floor(units / passes));
  await deriveArgon2(type, { ...parameters, memory, passes });
  return false;
}

/** @param prepared returns what bcrypt gets in place of the password */
function bcryptHash(
  { cost }: Readonly<Record<string, string>>,
  hash: string | undefined,
  prepared = (password: string) => password,
) {
  if (hash === undefined || !isBetween(Number(cost), 4, MAX_BCRYPT_COST))
    return { problem: `bcrypt with a cost from 4 to ${MAX_BCRYPT_COST}` };
  return {
    isCurrent: false,
    work: { algorithm: 'bcrypt', units: 2 ** Number(cost) },
    matches: (password: string, extraUnits = 0) =>
      inThread({ scheme: 'bcrypt', password: prepared(password), hash, extraUnits }),
  };
}

/** The first digits of the alphabet of crypt(3). */
const CRYPT_DIGITS = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';

function phpassHash({ exponent }: Readonly<Record<string, string>>, hash: string) {
  const { least, most } = PHPASS_EXPONENT;
  const power = CRYPT_DIGITS.indexOf(exponent ?? '');
  if (!isBetween(power, least, most)) return { problem: `phpass with 2^${least} to 2^${most} rounds` };
  return {
    isCurrent: false,
    work: { algorithm: 'phpass', units: 2 ** power },
    matches: (password: string, extraUnits = 0) =>
      inThread({ scheme: 'phpass', password: asWordPress(password), hash, extraUnits }),
  };
}

function shaCryptHash({ r5, r6 = r5 }: Readonly<Record<string, string>>, hash: string) {
  const { least, most } = SHA_CRYPT;
  if (r6 !== undefined && !isBetween(Number(r6), least, most))
    return { problem: `SHA-crypt with ${least} to ${most} rounds` };
  return {
    isCurrent: false,
    work: { algorithm: `sha_crypt ${hash.slice(0, 2)}`, units: Number(r6 ?? SHA_CRYPT_ROUNDS) },
    matches: (password: string, extraUnits = 0) =>
      inThread({ scheme: 'sha_crypt', password, hash, extraUnits }),
  };
}

/** A digest of the password and a salt, and the salt behind it. */
function saltedDigest({ bits = '1', both }: Readonly<Record<string, string>>) {
  const bytes = bytesOf(both);
  const length = { 1: 20, 256: 32, 384: 48, 512: 64 }[bits] ?? 0;
  const [expected, salt] = [bytes.subarray(0, length), bytes.subarray(length)];
  if (expected.length < length || !isBetween(salt.length, 4, MAX_SALT))
    return { problem: `a digest of ${length} bytes and a salt of 4 to ${MAX_SALT} bytes in base64` };
  return {
    isCurrent: false,
    matches: async (password: string) =>
      timingSafeEqual(createHash(`sha${bits}`).update(password).update(salt).digest(), expected),
  };
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
    work: workOfScrypt(cost),
    async matches(password: string, extraUnits = 0) {
      const derived = await deriveScrypt(password, nonce, expected.length, { ...cost, ...SCRYPT_MEMORY });
      return timingSafeEqual(derived, expected) || spendScrypt(extraUnits);
    },
  };
}

const SCRYPT_MEMORY = { maxmem: 2 * MAX_MEMORY } as const;

/** Of what costs nothing but time. */
const SCRYPT_R = 8;

function workOfScrypt({ N, r, p }: { readonly N: number; readonly r: number; readonly p: number }): HashWork {
  return { algorithm: 'scrypt', units: N * r * p };
}

/** N is a power of two, so the units are spent in several parts. */
async function spendScrypt(units: number): Promise<false> {
  for (let rest = Math.floor(units / SCRYPT_R); rest > 1; ) {
    const N = 2 ** Math.floor(Math.log2(rest));
    await deriveScrypt('', Buffer.alloc(0), TAG_BYTES.least, { N, r: SCRYPT_R, p: 1, ...SCRYPT_MEMORY });
    rest -= N;
  }
  return false;
}

/** better-auth hashes the form NFKC, with the hexadecimal text of the salt. */
function betterAuthHash({ salt, tag }: Readonly<Record<string, string>>) {
  const hash = scryptHash({
    ...{ ln: '14', r: '16', p: '1' },
    salt: Buffer.from(salt ?? '').toString('base64'),
    tag: Buffer.from(tag ?? '', 'hex').toString('base64'),
  });
  return 'problem' in hash
    ? hash
    : { ...hash, matches: (password: string, extra = 0) => hash.matches(inForm(password, 'NFKC'), extra) };
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
    work: workOfScrypt(cost),
    async matches(password: string, extraUnits = 0) {
      const derived = await deriveScrypt(password, nonce, 32, { ...cost, ...SCRYPT_MEMORY });
      const cipher = createCipheriv('aes-256-ctr', derived, Buffer.alloc(16));
      const encrypted = Buffer.concat([cipher.update(signerKey), cipher.final()]);
      return timingSafeEqual(encrypted, expected) || spendScrypt(extraUnits);
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
  const blocks = Math.ceil(
    expected.length / { sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 }[digest as 'sha1'],
  );
  if (iterations < 1 || iterations * blocks > MAX_PBKDF2_ITERATIONS)
    return { problem: `PBKDF2 with at most ${MAX_PBKDF2_ITERATIONS} iterations for all blocks of the hash` };
  const unfit = sizeProblem(nonce, expected, 1);
  if (unfit !== undefined) return unfit;
  return {
    isCurrent: false,
    work: { algorithm: `pbkdf2 ${digest}`, units: iterations * blocks },
    async matches(password: string, extraUnits = 0) {
      const derived = await derivePbkdf2(password, nonce, iterations, expected.length, digest);
      if (timingSafeEqual(derived, expected)) return true;
      if (extraUnits > 0) await derivePbkdf2(password, nonce, extraUnits, TAG_BYTES.least, digest);
      return false;
    },
  };
}

/** Characters. To normalize a long text with many marks, which anyone can send, takes very long. */
const MAX_NORMALIZED = 2 * MAX_PASSWORD_BYTES;

/** A password in a Unicode form. */
export function inForm(password: string, form: 'NFC' | 'NFD' | 'NFKC'): string {
  return password.length > MAX_NORMALIZED ? password : password.normalize(form);
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
const THREAD = new URL(`hash_thread${extname(import.meta.filename)}`, import.meta.url);

/** Starting a thread takes less time than most hashes, and an idle one would keep its memory. */
function inThread(order: HashOrder): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const thread = new Worker(THREAD, { workerData: order });
  thread.once('message', resolve);
  thread.once('error', reject);
  thread.once('exit', (code) => reject(new Error(`the thread ended with ${code} before its answer`)));
  return promise;
}
