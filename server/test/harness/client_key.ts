const SIGNING = {
  RS256: rsa('RSASSA-PKCS1-v1_5'),
  PS256: rsa('RSA-PSS'),
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  EdDSA: { name: 'Ed25519' },
} as const;

const ENCRYPTION = {
  'RSA-OAEP-256': { parameters: rsa('RSA-OAEP'), uses: ['encrypt', 'decrypt'] },
  'ECDH-ES': { parameters: { name: 'ECDH', namedCurve: 'P-256' }, uses: ['deriveBits'] },
  'ECDH-ES+A256KW': { parameters: { name: 'ECDH', namedCurve: 'P-256' }, uses: ['deriveBits'] },
} as const;

/** The key's identifier is its algorithm. */
interface PublicKey {
  readonly [member: string]: string;
  readonly kty: string;
  readonly kid: string;
}

/** A client's key pair: the private key, and the public one that it registers. */
export interface ClientKey {
  readonly privateKey: CryptoKey;
  readonly publicKey: PublicKey;
}

export async function newSigningKey(algorithm: keyof typeof SIGNING): Promise<ClientKey> {
  const pair = await crypto.subtle.generateKey(SIGNING[algorithm], true, ['sign', 'verify']);
  return clientKey(pair, algorithm, 'sig');
}

export async function newDecryptionKey(algorithm: keyof typeof ENCRYPTION): Promise<ClientKey> {
  const { parameters, uses } = ENCRYPTION[algorithm];
  return clientKey(await crypto.subtle.generateKey(parameters, true, uses), algorithm, 'enc');
}

async function clientKey(
  pair: CryptoKey | CryptoKeyPair,
  algorithm: string,
  use: 'sig' | 'enc',
): Promise<ClientKey> {
  if (!('privateKey' in pair)) throw new TypeError(`${algorithm} has no pair of keys`);
  const { kty, n, e, crv, x, y } = await crypto.subtle.exportKey('jwk', pair.publicKey);
  if (kty === undefined) throw new TypeError('the key has no type');
  const material = Object.entries({ n, e, crv, x, y }).filter(([, value]) => value !== undefined);
  return {
    privateKey: pair.privateKey,
    publicKey: { ...Object.fromEntries(material), kty, kid: algorithm, alg: algorithm, use },
  };
}

function rsa(name: string) {
  const publicExponent = new Uint8Array([1, 0, 1]);
  return { name, hash: 'SHA-256', modulusLength: 2048, publicExponent } as const;
}
