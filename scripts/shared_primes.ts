// Makes the RSA keys of a process of tests from few primes: finding two for each of some hundred keys takes much of the
// processor time of the tests that rotate keys. Each pair of primes makes one key, so `n` keys need about √(2n) primes.
// The keys look like any other: 2048 bits and the exponent 65537. Packages and other runtimes, which run in processes of their own, find their primes themselves.
import { generatePrimeSync, webcrypto } from 'node:crypto';

const BITS = 2048;
const EXPONENT = 65537n;
const NAMES = ['RSASSA-PKCS1-v1_5', 'RSA-PSS'];

const primes: bigint[] = [];
const unused: (readonly [bigint, bigint])[] = [];

const subtle = Object.getPrototypeOf(webcrypto.subtle);
const { generateKey } = subtle;

subtle.generateKey = async function (
  this: webcrypto.SubtleCrypto,
  algorithm: webcrypto.RsaHashedKeyGenParams,
  extractable: boolean,
  usages: readonly webcrypto.KeyUsage[],
) {
  const { name, hash, modulusLength, publicExponent } = algorithm;
  const isUsual =
    NAMES.includes(name) &&
    modulusLength === BITS &&
    numberOf(publicExponent) === EXPONENT &&
    usages.includes('sign');
  if (!isUsual) return generateKey.call(this, algorithm, extractable, usages);
  const { open, secret } = newKey();
  const [privateKey, publicKey] = await Promise.all([
    this.importKey('jwk', { ...open, ...secret }, { name, hash }, extractable, ['sign']),
    this.importKey('jwk', open, { name, hash }, true, usages.includes('verify') ? ['verify'] : []),
  ]);
  return { privateKey, publicKey };
};

/** A key that this process has not made yet, as a JWK: the public members, and the private ones. */
function newKey() {
  const [p, q] = nextPair();
  const d = inverseOf(EXPONENT, (p - 1n) * (q - 1n));
  const secret = { d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverseOf(q, p) };
  const texts = Object.entries(secret).map(([member, number]) => [member, textOf(number)]);
  return { open: { kty: 'RSA', n: textOf(p * q), e: textOf(EXPONENT) }, secret: Object.fromEntries(texts) };
}

/** Two primes that have not been together in a key. */
function nextPair(): readonly [bigint, bigint] {
  const pair = unused.pop();
  if (pair !== undefined) return pair;
  // OpenSSL sets the two highest bits of a prime, so the product of two has all bits.
  const prime = generatePrimeSync(BITS / 2, { bigint: true });
  if (prime % EXPONENT !== 1n) {
    unused.push(...primes.map((other) => [prime, other] as const));
    primes.push(prime);
  }
  return nextPair();
}

/** By the extended Euclidean algorithm, for numbers without a common divisor. */
function inverseOf(number: bigint, modulus: bigint): bigint {
  let [rest, next, inverse, following] = [modulus, number % modulus, 0n, 1n];
  while (next !== 0n) {
    const quotient = rest / next;
    [rest, next] = [next, rest - quotient * next];
    [inverse, following] = [following, inverse - quotient * following];
  }
  return (inverse + modulus) % modulus;
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function textOf(number: bigint): string {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url');
}
