import type { AuthenticationMethod } from '../../protocol/client_metadata.ts';
import type { SigningAlgorithm } from '../../protocol/signing_algorithm.ts';

/** What a request claims; nothing of it is proven yet. */
export interface ClaimedCredentials {
  readonly method: Exclude<AuthenticationMethod, 'private_key_jwt'>;
  readonly clientId: string;
  /** The texts that may be the secret, the likelier first; empty where there is none. */
  readonly secrets: readonly string[];
}

/** A JWT that a request claims a client has signed; nothing of it is proven yet. */
export interface ClaimedAssertion {
  readonly method: 'private_key_jwt';
  readonly clientId: string;
  readonly assertion: string;
  readonly algorithm: SigningAlgorithm;
  readonly keyId: string | undefined;
}
