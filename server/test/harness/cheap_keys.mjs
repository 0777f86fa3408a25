/**
 * For `--import`: a new database needs four RSA keys, and finding their primes takes most of the time of its first
 * command. Here all keys have the same primes. Each has an exponent of its own, so it verifies its own signatures alone.
 */
import { randomInt, webcrypto } from 'node:crypto';

const P = numberOf(
  '5zU4mLuTKxzCoTOHuflpOcZQp9EhqKkjmdLqoMNAJ2S4GfCiQIZ4uF2uSiFdpxGxZQ4gSJyKJX5sAryydI8GHT6cSB' +
    'eoX5xAWlHyzWjLz6lnd7RLX1_rTtpMmvznj2Q35lkrmJFHsDNgstnVj9nakCKjx0ZPFmYd5NI7d2kZu7c',
);
const Q = numberOf(
  'u4iHAcaXJ10np2w65UNNA37rWj-KVGloPqO2q9gkug6nMZOvVFKtqKRTWuBMNy7P1Dljlrwk7dZ239hiviGd837o2E' +
    'M4PeWsFwIBepaZWkvgfxSFTlz5Awgs2Rk2BhT-38aObXn4Zi_RpqxRh9cu_3ww7nwNmi1v5SvhCUSprF0',
);
const QI = inverseOf(Q, P);
const TOTIENT = (P - 1n) * (Q - 1n);
const MODULUS = textOf(P * Q);
const [SHORTEST, LONGEST] = [2 ** 17, 2 ** 31];

const { prototype } = webcrypto.subtle.constructor;
const { generateKey, importKey } = prototype;

prototype.generateKey = async function (algorithm, extractable, usages) {
  const { name, hash } = algorithm;
  if (name !== 'RSASSA-PKCS1-v1_5' && name !== 'RSA-PSS')
    return generateKey.call(this, algorithm, extractable, usages);
  const { secret, ...open } = newKey();
  const keyOf = (jwk, ...rights) => importKey.call(this, 'jwk', jwk, { name, hash }, ...rights);
  const [privateKey, publicKey] = await Promise.all([
    keyOf({ ...open, ...secret }, extractable, ['sign']),
    keyOf(open, true, ['verify']),
  ]);
  return { privateKey, publicKey };
};

/** A key pair as a JWK: the public members, and the private ones apart. */
function newKey() {
  const e = BigInt(randomInt(SHORTEST, LONGEST)) | 1n;
  const inverse = inverseOf(TOTIENT % e, e);
  if (inverse === undefined) return newKey();
  const d = (1n + (e - inverse) * TOTIENT) / e;
  const secret = { d, p: P, q: Q, dp: d % (P - 1n), dq: d % (Q - 1n), qi: QI };
  const texts = Object.entries(secret).map(([name, number]) => [name, textOf(number)]);
  return { kty: 'RSA', n: MODULUS, e: textOf(e), secret: Object.fromEntries(texts) };
}

/** By the extended Euclidean algorithm; `undefined` if the numbers have a common divisor. */
function inverseOf(number, modulus) {
  let [rest, next, inverse, following] = [modulus, number % modulus, 0n, 1n];
  while (next !== 0n) {
    const quotient = rest / next;
    [rest, next] = [next, rest - quotient * next];
    [inverse, following] = [following, inverse - quotient * following];
  }
  return rest === 1n ? (inverse + modulus) % modulus : undefined;
}

function numberOf(text) {
  return BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
}

function textOf(number) {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url');
}
