export const SIGNING_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** The newer name of EdDSA over that curve (RFC 9864 §2.2). This server signs under the older one, which all know. */
const ED25519 = 'Ed25519';

/** `alg` of what clients sign. */
export const ACCEPTED_ALGORITHMS = [...SIGNING_ALGORITHMS, ED25519] as const;

/** The algorithm of an `alg` value; `undefined` where it is none that is accepted. */
export function signingAlgorithmOf(alg: unknown): SigningAlgorithm | undefined {
  return alg === ED25519 ? 'EdDSA' : SIGNING_ALGORITHMS.find((one) => one === alg);
}

/** The `alg` values of an algorithm. */
export function namesOf(algorithm: SigningAlgorithm): readonly string[] {
  return algorithm === 'EdDSA' ? [algorithm, ED25519] : [algorithm];
}
