import { OAuthError, type OAuthErrorDetails, type RefusalReason } from '../http/errors.ts';
import type { AuthenticationMethod, SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';

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

/** One text for all: a stranger does not learn which clients exist. */
export function refusedClient(
  reason: RefusalReason,
  client?: Pick<ClientRecord, 'id'>,
  details: Pick<OAuthErrorDetails, 'value' | 'cause'> = {},
): OAuthError {
  return new OAuthError('invalid_client', 'client authentication failed', {
    reason,
    clientId: client?.id,
    ...details,
  });
}
