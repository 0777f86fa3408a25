import { authenticationMethodsOf, isConfidential } from '../../protocol/authentication_method.ts';
import type { Form } from '../../protocol/form.ts';
import type { HttpRequest } from '../../protocol/http.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../protocol/reasons.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import type { Call, Context } from '../context.ts';
import { findNamedClient } from '../named_client.ts';
import { clientSecretBasic } from './client_secret_basic.ts';
import { clientSecretPost } from './client_secret_post.ts';
import type { ClaimedAssertion, ClaimedCredentials } from './credentials.ts';
import { none } from './none.ts';
import { claimedAssertion, privateKeyJwt } from './private_key_jwt.ts';
import { refusedClient } from './refused_client.ts';

/**
 * Who sent a request (RFC 6749 §2.3), in the way that the client is registered for.
 * @throws {OAuthError} `invalid_client`; `invalid_request`: more than one credential (§2.3)
 * @throws {DocumentError} the keys of the client cannot be fetched at the moment
 */
export async function authenticateClient(
  context: Context,
  request: HttpRequest,
  form: Form,
  call: Call,
): Promise<ClientRecord> {
  const claimed = claimedCredentials(request, form);
  const client =
    claimed.method === 'private_key_jwt'
      ? await privateKeyJwt(context, claimed, call)
      : await authenticateBySecret(context, claimed, call);
  call.clientId = client.id;
  return client;
}

/** By its secret, or by nothing where the client is a public one. */
async function authenticateBySecret(
  context: Context,
  { method, clientId, secrets }: ClaimedCredentials,
  call: Call,
): Promise<ClientRecord> {
  const client = await findNamedClient(context, clientId);
  const match = await context.clientSecrets.match(secrets, client?.secrets);

  if (!client) throw refusedClient('client_unknown', undefined, { value: clientId });
  if (!authenticationMethodsOf(client).includes(method))
    throw refusedClient(wrongMethod(client, method), client);
  if (method !== 'none' && match === undefined) throw refusedClient('client_secret_wrong', client);
  if (client.disabledAtMs !== undefined) throw refusedClient('client_disabled', client);
  call.clientId = client.id;
  if (match === undefined) return client;
  if (match.index > 0) context.onEvent({ ...call, type: 'client_secret_not_decoded' });
  context.clientSecretUses.note(client.id, match);
  return client;
}

function wrongMethod(client: ClientRecord, method: ClaimedCredentials['method']): RefusalReason {
  if (!isConfidential(client)) return 'client_secret_unexpected';
  return method === 'none' && client.secrets !== undefined ? 'client_secret_missing' : 'client_method_wrong';
}

/** @throws {OAuthError} `invalid_client`: the client is a public one */
export function requireConfidential(client: ClientRecord): void {
  if (!isConfidential(client)) throw refusedClient('client_not_confidential', client);
}

function claimedCredentials(request: HttpRequest, form: Form): ClaimedCredentials | ClaimedAssertion {
  const basic = clientSecretBasic(request);
  const assertion = form.get('client_assertion') ?? form.get('client_assertion_type');
  const given = [basic, form.get('client_secret'), assertion].filter((one) => one !== undefined);
  if (given.length > 1) throw repeated();
  const claimed = claimedAssertion(form) ?? basic ?? clientSecretPost(form) ?? none(form);
  if (claimed === undefined) throw refusedClient('credentials_missing');
  const named = form.get('client_id') ?? claimed.clientId;
  if (named !== claimed.clientId) throw repeated();
  return claimed;
}

function repeated(): OAuthError {
  return new OAuthError('invalid_request', 'the request carries more than one client credential', {
    reason: 'credentials_repeated',
  });
}
