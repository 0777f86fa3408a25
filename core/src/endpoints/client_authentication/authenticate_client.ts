import type { Form } from '../../protocol/form.ts';
import type { HttpRequest } from '../../protocol/http.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../protocol/reasons.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import type { Call, Context } from '../context.ts';
import { matchingSecret } from './client_secret.ts';
import { clientSecretBasic } from './client_secret_basic.ts';
import { clientSecretPost } from './client_secret_post.ts';
import type { ClaimedCredentials } from './credentials.ts';
import { none } from './none.ts';

/** RFC 6749 Appendix A.1: VSCHAR. */
const CLIENT_ID = /^[\x20-\x7E]+$/;

/**
 * Who sent a request (RFC 6749 §2.3).
 * @throws {OAuthError} `invalid_client`; `invalid_request`: more than one credential (§2.3)
 */
export async function authenticateClient(
  context: Context,
  request: HttpRequest,
  form: Form,
  call: Call,
): Promise<ClientRecord> {
  const claimed = claimedCredentials(request, form);
  const { clientId, secrets } = claimed;
  const client = CLIENT_ID.test(clientId) ? await context.storage.clients.get(clientId) : undefined;
  const match = await matchingSecret(context.secret, secrets, client?.secretHash);

  if (!client) throw refused('client_unknown');
  if (client.secretHash === undefined && secrets.length > 0)
    throw refused('client_secret_unexpected', client);
  if (client.secretHash !== undefined && secrets.length === 0) throw refused('client_secret_missing', client);
  if (client.secretHash !== undefined && match === -1) throw refused('client_secret_wrong', client);
  if (client.disabledAtMs !== undefined) throw refused('client_disabled', client);
  call.clientId = client.id;
  if (match > 0) context.onEvent({ ...call, type: 'client_secret_not_decoded' });
  return client;
}

/** @throws {OAuthError} `invalid_client`: the client is a public one */
export function requireConfidential(client: ClientRecord): void {
  if (client.secretHash === undefined) throw refused('client_not_confidential', client);
}

function claimedCredentials(request: HttpRequest, form: Form): ClaimedCredentials {
  const basic = clientSecretBasic(request);
  const post = clientSecretPost(form);
  const named = none(form);
  if (basic !== undefined && (form.has('client_secret') || (named && named.clientId !== basic.clientId))) {
    throw new OAuthError('invalid_request', 'the request carries more than one client credential', {
      reason: 'credentials_repeated',
    });
  }
  const claimed = basic ?? post ?? named;
  if (claimed === undefined) throw refused('credentials_missing');
  return claimed;
}

/** One text for all: a stranger does not learn which clients exist. */
function refused(reason: RefusalReason, client?: ClientRecord): OAuthError {
  return new OAuthError('invalid_client', 'client authentication failed', { reason, clientId: client?.id });
}
