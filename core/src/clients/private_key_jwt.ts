// Authenticates clients by a JWT that they sign with their private key. § refers to RFC 7523.
import type { CryptoKey, JWK } from 'jose';
import { importJWK } from 'jose/key/import';
import type { RefusalReason } from '../http/errors.ts';
import { DocumentError } from '../http/fetch_document.ts';
import {
  CLIENT_ALGORITHMS,
  type ClientAlgorithm,
  clientAlgorithmOf,
  macAlgorithmOf,
} from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { verifiedPayload } from '../tokens/jwt.ts';
import { assertionMethod, type ClaimedAssertion } from './assertion.ts';
import type { ClientContext } from './client.ts';

/** Authenticates a client by a JWT that it signed with its private key (RFC 7523 §2.2, OpenID Connect Core §9). */
export const privateKeyJwt = assertionMethod<ClientAlgorithm>({
  method: 'private_key_jwt',
  proof: 'key',
  assertionAlgorithms: CLIENT_ALGORITHMS,
  missingFrom: ({ jwks, jwks_uri: uri }) =>
    (jwks ?? uri) === undefined ? 'needs jwks or jwks_uri' : undefined,
  isFor: (alg) => macAlgorithmOf(alg) === undefined,
  algorithmOf: clientAlgorithmOf,
  async verify(context, client, claimed) {
    const { assertion, algorithm } = claimed;
    const found: FoundKey = client ? await findKey(context, client, claimed) : { reason: 'client_unknown' };
    const key = 'reason' in found ? await standInKey(algorithm) : found.key;
    const payload = await verifiedPayload(assertion, key, algorithm);
    if ('reason' in found) return found;
    return payload === undefined ? { reason: 'assertion_signature_wrong' } : { payload };
  },
});

type FoundKey = { readonly key: CryptoKey } | { readonly reason: RefusalReason; readonly cause?: unknown };

/** Finds the client's key. Of the header, only `alg` and `kid` count. */
async function findKey(
  { clientKeys }: ClientContext,
  client: ClientRecord,
  { algorithm, keyId }: ClaimedAssertion<ClientAlgorithm>,
): Promise<FoundKey> {
  const registered = client.metadata?.token_endpoint_auth_signing_alg ?? algorithm;
  if (registered !== algorithm) return { reason: 'assertion_algorithm_refused' };
  try {
    const key = await clientKeys.forVerifying(client, algorithm, keyId);
    return key === undefined ? { reason: 'assertion_key_unknown' } : { key };
  } catch (error) {
    if (error instanceof DocumentError && error.outcome === 'refused') {
      return { reason: 'client_keys_refused', cause: error };
    }
    throw error;
  }
}

/** A modulus of 2048 bits, all set. */
const RSA: JWK = { kty: 'RSA', n: `${'_'.repeat(341)}w`, e: 'AQAB' };

/** Public keys for clients that do not exist: points of the curves, and a large RSA modulus. */
const KEYS: Partial<Record<ClientAlgorithm, JWK>> = {
  ES256: {
    kty: 'EC',
    crv: 'P-256',
    x: 'A'.repeat(43),
    y: 'ZkhceA4vg9ckM71dhKBrtlQcKvMdrocXKL-FahdPk_Q',
  },
  ES384: {
    kty: 'EC',
    crv: 'P-384',
    x: 'A'.repeat(64),
    y: 'wwZhD7CuWhWc9FwGBp8ipsXrNkHGAtQt6ixLT3VVB5NAbYDSuRrVT5BIvUh68a3h',
  },
  ES512: {
    kty: 'EC',
    crv: 'P-521',
    x: 'A'.repeat(88),
    y: 'AS3xNgFZSog-8tk15Eu5C_TWYZt05Sr3VS-XdpARwHGetDnPqyqI1A_lmivtH0NVcWmi0KLM0oDGB7krv1H_4LB4',
  },
  EdDSA: { kty: 'OKP', crv: 'Ed25519', x: 'WGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY' },
};

/**
 * Returns a key for the signature check of an assertion that is rejected anyway, so that unknown clients take as long
 * as wrong signatures. Anyone can sign with these keys, so ignore the result of the check.
 */
export async function standInKey(algorithm: ClientAlgorithm): Promise<CryptoKey> {
  const key = await importJWK(KEYS[algorithm] ?? RSA, algorithm);
  if (key instanceof Uint8Array) throw new TypeError('a stand-in key is symmetric');
  return key;
}
