// Makes the RSA keys of a process of tests from few primes: finding two for each of some hundred keys takes much of the
// processor time of the tests that rotate keys. Each pair of primes makes one key, so `n` keys need about √(2n) primes.
// The keys look like any other: 2048 bits and the exponent 65537. Packages and other runtimes, which run in processes of
// their own, find their primes themselves.
import { generatePrimeSync, webcrypto } from 'node:crypto';

const BITS = 2048;
const EXPONENT = 65537n;
const NAMES = ['RSASSA-PKCS1-v1_5', 'RSA-PSS', 'RSA-OAEP'];
const PUBLIC_USAGES: readonly webcrypto.KeyUsage[] = ['verify', 'encrypt', 'wrapKey'];

/** With these, no process has to find the primes of its first 153 keys. */
const GIVEN = `
-tQtjrXq3fw3TBLCdotN5_A5lytsIsVrTppG7xaGNSbIxOhSO_bT7D1u-7On2MK7Iuu8EIcYmTkVXzfTVMQgPiN9EdjyGRMImF4o8iQJFiWEh0T7ugCAFuTgr1M_jCF9c4XtKFCbhhXZUMy-XPylEtyvmAWhTahOVyyR7q81Dm0
8waiLooQdhd4aK9rGFWvOxQ4bdRALaNnD3sKheGh4K8dXUpT25kVWj7vGPCcVSTv_MfeVca3ek_M9YFdNFpNDBX1k0s20RuNBijzTn05Lru1ud5ZjTyhpQ2DDoHWMudaciqJMEySSWN-VWaF44_t24UcuVXJhgSNM3NfHb_XBi8
0oENvxTqJq_HA_XWsMSKJTnFUqDuRMOqZKjgcEX0LaprS8982QHGc2hwCClvQb2HC-ydCxfAJ-ALR_tziz11W4VQcxnr7glEXlZ2lZHzPQDx9ACJ1Zp3GKepmhyJu2RE8aELh4uxs4TnUwzqUBWwYzFIEmXbBXdomxYLBy1OJWc
0RGFpR6r0HrxNt-PivSALWQ3up9WzP2iVBwvnjH_8A16N-KGz-lhrZN1stH41P5o_vEdkeGmr52LLGf9NA5DDgdnWP1x7AeD3QqkIQksk2uOpqAo8_knjg9uQVqqUOFbMnhCDEt1f38u1qqsTfeRYLjkIqGhJKqqOeqYY5nYtWs
yM-fmalzYR0wE6m-o9lxRU45h5Kiky05SLuH37Q9-J2InUy6mKMSX51p_uyBQHEL0Ih7dNqQLTtcihbC0SB94kIlTQxP1fk6Jleaca2K1mZFLPOnfE3II0IQ3NFUKl0CLg_s8ETYWeaxqJf5vrwzICnm09AziWwN-ibAHzj0Hyc
9Y5WL46vIz4067a57YRKChWdwDKSH9-L6-2dqkJLq-sBvU6-vZ5DrWiE1vIfQJJRymenZ6ze5Inp7U08F4e20HVLObGpWoCQQxWErdrwuMPG_GS26BpXs2x_j4DmXR5TXjufBgXpb0xjDsftW2NhKBFFUhTxGvZCE4DoFtOOapc
-6RMjVG9abGQj9jwFFp9pP3TPxyr0F7nHQ6CYQMPYdlzrLY0tcbQH-StdjSkNOVv9xJwoNrG0vyVAaMee-uByABYNIR4BdRgbFNDCEyGaQf7VaXBrxXp3upsbltF1ac8eXIw9ZBSprjJLYT-290gKu2-2G6eZz6nAMbDcLbTFN8
xMktzZO2oLmSqvyEn9GGNODUafH4P9IpU13lmfynQkypJcMWISYHkfLTUDP5y6mFJxL27hkLrdxyXthjC8ghRRdu92D8CfS7fP-tv7b9Oa1jGPmUoQbICek6yhWRZLcxyYzHmvg5JZu6-0hlv8s3pzK6ToVRYzJKSI-2_t9p6LM
5H4iUewfZd_Nf2S7-Cjc0x5zwmU-HMnLRyb2eTus2-r39RV19ADXWrfy6snrCp9UAyyd7IVPk91W6HmsOh-vXY0t-AGkMPTsc281W3QUdHv59cL9QWqOZ7txhRHMHDCSG2oPbR9TwEOO2IqIeHnrMxXw2LrmKvQrsBd3paRR5MU
-vFv43vw2dW43raJFxjfnXvqC688eT_yr-YZuYX-mwB0BIfkJa3d9O5PMMvhSzTDxTUCsKZ7H2Bte3o3dWgiktzaBYfpz4KjCYxbG-D8mWztVU7jjV-IRCBqLRhNns5h8iWJFPYJsvY_pU1HxXB6wrL08y_lPGdo9uGo5zbZvkU
4iRmkO8edtVC0MamoUoUHFgqXHq6rRwyKxlSV-zq13hMX45u9aAeOrYfndBSO9beiJwwZhHyuW7wWXhrIVyssOfah_LzWL4rDWZlixmgt1Vzj3JgkKGXeBh51FsqgfZRE_l7PBfhmobVThIohOMDv74kxsNzRy9SLmx2QvkK2RU
xcKIffNMJ5TT1yJ8reoj7pixqznavZi9Wm5SsrXmt8pvkdpvuNsPlNUmu7RJZTBXjckaw83cL0YVHgxaJUnj-Y05FirESdLEO4tzjKVVJw4RGZoDOc7N4S_ypR5mCi4TvdC0v7NYYOwI2svLRm0565-lkEgDmdNZfZeF5cBangs
6g-qlir6En1zhpghrahBjLHduXVHM6j72G_UU2EaHwYtsvhlZJCpwgC5Lq4PjrMLrzXGWFw8X-L72kF-1o6i15Bhwt7qp_EwsERSq_dbg7eVmrAWbTGB4IAaL2C_p-1jcg29UDr1OTkrJp8FkIDv0YVgQIBlPsObe7Z6NhJ23VE
2rGyWVwZvHyOEhRI4CiliVqeeC9gHWJuM1-6vaLXOhwdIeVGRz4eO3UKC-MGC4xML4CkL-Rpz7B5UdNNxD84A6NDh66mdWWGb9GqZkcI54qcdDRJRyI1qqD_cZHapPmIOPylmOKtF_BtXSqMFmEUcCyaHVCoWDZTnVA3LZ4DESs
3vEbS21vlEVdzHg-ETLcPFi6Ab-MvuX_KJQ0I8Y-CITJ6IN_Rpd9uOKvO9C61SlHaRgId-fbUsYahfJebgJLrxz2YBABo_Ah0Y2XERy9fw9TwoB5K4RqoEP3a6K7fpH2T7xS3dDwjsZIgVlwXZsjwaxABHGYwN04VTnchWCygjE
9Wyr0RWqqtinCNxlI76r-2R0pYymzF2x7Tc0zIV4OQM3Pjr_0RpRAq7rPWBmZNBYOWvnlk11bkrx0fYfkw1g2R-wyWxTmvxizdphmr1Ajz57H0wQSK72Rr3DtrAfSOnX6p4dg5r-c2KBY6RNnvjjxw6AfcxBkOzrpkGjQFn45xM
6JkRPJgmzArz-F-7GCIr0z6gHxcMwQ68_6WKo1XbzmbSxjugNod2hwRCrMKtEwRB1UrAC_uY76L29riQWtHbApz3nNI38K0RQPCodRuGx2ISKBsNmQnj0xEgo1poyd4fnyAlaTtgx3HGR9ywtGviIVKZPgvlsSj1ihLPnt5shU0
xwB3HVDhOPZFwcD6dT4Eeu5QrwSL1wGlOZMGgEAcz4KGlyql83_i_zOotXJRQUUkbVZ1RyTrWfhfUIvaESNT8aotZKj3Y1pnk4ZmgzXqGJdZoZcclR796_n55u3unBdY1LwndHC3ojTeiySB1IcFTs6wQdtxofZ-7UmHxis5Whk
`
  .trim()
  .split('\n');

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
  const isUsual = NAMES.includes(name) && modulusLength === BITS && numberOf(publicExponent) === EXPONENT;
  const isPublic = (usage: webcrypto.KeyUsage) => PUBLIC_USAGES.includes(usage);
  const privateUsages = usages.filter((usage) => !isPublic(usage));
  if (!isUsual || privateUsages.length === 0) return generateKey.call(this, algorithm, extractable, usages);
  const { open, secret } = newKey();
  const [privateKey, publicKey] = await Promise.all([
    this.importKey('jwk', { ...open, ...secret }, { name, hash }, extractable, privateUsages),
    this.importKey('jwk', open, { name, hash }, true, usages.filter(isPublic)),
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
  const text = GIVEN.pop();
  const prime = text === undefined ? newPrime() : numberOf(Buffer.from(text, 'base64url'));
  unused.push(...primes.map((other) => [prime, other] as const));
  primes.push(prime);
  return nextPair();
}

function newPrime(): bigint {
  // OpenSSL sets the two highest bits of a prime, so the product of two has all bits.
  const prime = generatePrimeSync(BITS / 2, { bigint: true });
  return prime % EXPONENT === 1n ? newPrime() : prime;
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
