import { OAuthError, type OAuthErrorDetails } from '../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../protocol/reasons.ts';
import type { ClientRecord } from '../../protocol/records.ts';

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
