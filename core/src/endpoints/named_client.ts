import { OAuthError, type OAuthErrorDetails } from '../protocol/oauth_error.ts';
import type { RefusalReason } from '../protocol/reasons.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { Context } from './context.ts';

/** A client without what proves that it is one. */
export type AuthorizationClient = Omit<ClientRecord, 'secrets' | 'registrationTokenDigest'>;

/** RFC 6749 Appendix A.1: VSCHAR. What has other characters names nobody, and is not looked up. */
const CLIENT_ID = /^[\x20-\x7E]+$/;

/** The client of an identifier that anyone may have written; `undefined` where there is none. */
export function findNamedClient({ storage }: Context, clientId: string): Awaitable<ClientRecord | undefined> {
  return CLIENT_ID.test(clientId) ? storage.clients.get(clientId) : undefined;
}

/**
 * The client that a request by way of the browser names, without any proof.
 * @throws {OAuthError} there is no such client, or it is disabled: the browser is sent nowhere (RFC 6749 §4.1.2.1)
 */
export async function requireNamedClient(context: Context, clientId: string): Promise<ClientRecord> {
  const client = await findNamedClient(context, clientId);
  if (!client) throw untrusted('the client is unknown', 'client_unknown', { value: clientId });
  if (client.disabledAtMs !== undefined)
    throw untrusted('the client is disabled', 'client_disabled', { clientId });
  return client;
}

export function withoutSecrets(client: ClientRecord): AuthorizationClient {
  const { secrets: _, registrationTokenDigest: __, ...known } = client;
  return known;
}

/**
 * A refusal that stays at this server: the browser must not be sent where the client did not register (RFC 6749
 * §3.1.2.4), nor to any application after a logout that failed (RP-Initiated Logout §4).
 */
export function untrusted(
  description: string,
  reason: RefusalReason,
  about: Pick<OAuthErrorDetails, 'clientId' | 'value'> = {},
): OAuthError {
  return new OAuthError('invalid_request', description, { reason, ...about });
}
