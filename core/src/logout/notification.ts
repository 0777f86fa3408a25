// § refers to Back-Channel Logout.
import type { Context } from '../context.ts';
import { DocumentError, outcomeOfStatus } from '../http/fetch_document.ts';
import { mintLogoutToken } from '../tokens/id_token.ts';

/** A session that has ended, and a client that was told of it by an ID token. */
export interface EndedSession {
  readonly clientId: string;
  /** The session as the client was told, by its ID tokens: `sessionIdentifier` when the person approved. */
  readonly sid: string;
  /** The person as the client was told: `subjectIdentifier` then. Without it, the logout token names the session alone. */
  readonly sub?: string;
}

/**
 * `not_wanted`: the client is gone, disabled, or registered no place for it. `refused`: it has answered that it did not
 * accept it, or the place is one that the server does not ask; it would be so again (Back-Channel Logout §2.5, §2.8).
 * `failed`: there was no answer, or none that is final; a later attempt may succeed.
 */
export type LogoutOutcome = 'delivered' | 'not_wanted' | 'refused' | 'failed';

/** What came of one attempt, with what the operator may know about it. */
export interface LogoutDelivery {
  readonly outcome: LogoutOutcome;
  /** Of the client's answer, where there was one. */
  readonly answeredStatus?: number;
  readonly cause?: unknown;
}

interface Attempt extends LogoutDelivery {
  readonly outcome: Exclude<LogoutOutcome, 'not_wanted'>;
}

/**
 * Tells a client that a session has ended (Back-Channel Logout §2.5): one attempt.
 * @throws {StorageFault} storage could not be asked
 */
export async function notifyLogout(
  context: Context,
  { clientId, sid, sub }: EndedSession,
): Promise<LogoutDelivery> {
  const client = await context.storage.clients.get(clientId);
  const uri = client?.metadata?.backchannel_logout_uri;
  if (!client || client.disabledAtMs !== undefined || uri === undefined) return { outcome: 'not_wanted' };
  const logoutToken = await mintLogoutToken(context, client, { sid, sub });
  const delivery = await deliver(context, uri, logoutToken);
  const { outcome, ...known } = delivery;
  if (outcome !== 'delivered')
    context.onEvent({ operation: 'logout', type: 'logout_not_delivered', clientId, outcome, ...known });
  return delivery;
}

async function deliver({ fetchDocument }: Context, uri: string, logoutToken: string): Promise<Attempt> {
  try {
    const { status } = await fetchDocument(uri, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: logoutToken }).toString(),
    });
    return { outcome: outcomeOf(status), answeredStatus: status };
  } catch (error) {
    if (error instanceof DocumentError) return { outcome: error.outcome, cause: error };
    throw error;
  }
}

/** §2.8 */
function outcomeOf(status: number): Attempt['outcome'] {
  const outcome = outcomeOfStatus(status);
  return outcome === 'fetched' || status === 204 ? 'delivered' : outcome;
}
