// Authenticates clients by a JWT with a MAC by their secret. § refers to OpenID Connect Core.
import {
  MAC_ALGORITHMS,
  type MacAlgorithm,
  macAlgorithmOf,
  macKeyBytes,
} from '../protocol/client_metadata.ts';
import { verifiedPayload } from '../tokens/jwt.ts';
import { assertionMethod } from './assertion.ts';

/**
 * Authenticates a client by a JWT whose MAC it made with its secret (§9). The server has the secret sealed, and opens it
 * for each assertion (ADR 73).
 */
export const clientSecretJwt = assertionMethod<MacAlgorithm>({
  method: 'client_secret_jwt',
  proof: 'secret',
  readsSecret: true,
  assertionAlgorithms: MAC_ALGORITHMS,
  isFor: (alg) => macAlgorithmOf(alg) !== undefined,
  algorithmOf: macAlgorithmOf,
  async verify({ clientSecrets, clientSecretUses }, client, { assertion, algorithm }) {
    let payload: Uint8Array | undefined;
    let isTooShort = false;
    const match = await clientSecrets.matchSealed(client?.secrets, async (secret) => {
      const key = new TextEncoder().encode(secret);
      const verified = await verifiedPayload(assertion, key, algorithm);
      if (verified === undefined) return false;
      // §16.19: a short secret could be found by trying, from a single assertion
      isTooShort = key.length < macKeyBytes(algorithm);
      if (!isTooShort) payload = verified;
      return !isTooShort;
    });

    const registered = client?.metadata?.token_endpoint_auth_signing_alg ?? algorithm;
    if (registered !== algorithm) return { reason: 'assertion_algorithm_refused' };
    if (match !== undefined && payload !== undefined)
      return { payload, accept: ({ id }) => clientSecretUses.note(id, match) };
    if (isTooShort) return { reason: 'client_secret_too_short' };
    const isSealed = client?.secrets?.some(({ sealed }) => sealed !== undefined) ?? false;
    return { reason: isSealed ? 'assertion_signature_wrong' : 'client_secret_not_sealed' };
  },
});
