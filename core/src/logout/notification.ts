// Tells clients that a session has ended. § refers to Back-Channel Logout.

import { OAuthError } from '../http/errors.ts';
import { DocumentError, outcomeOfStatus } from '../http/fetch_document.ts';
import { underProfile } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Context } from '../request/context.ts';
import type { TokenContext } from '../tokens/context.ts';
import { mintLogoutToken } from '../tokens/mint.ts';

/** An ended session, and a client that knows it from an ID token. */
export interface EndedSession {
  readonly clientId: string;
  /** The session identifier in the client’s ID tokens (`sessionIdentifier` at approval). */
  readonly sid: string;
  /**
   * The user’s identifier in the client’s ID tokens (`subjectIdentifier` at approval). Without it, the logout token
   * names only the session.
   */
  readonly sub?: string;
}

/**
 * `not_wanted`: the client is removed, disabled, or has no back-channel logout URI. `refused`: the client rejected the
 * notification, the server may not call the URI, or there is no key to encrypt to; a retry would have the same result
 * (Back-Channel Logout §2.5, §2.8). `failed`: there was no final answer; a retry may succeed.
 */
export type LogoutOutcome = 'delivered' | 'not_wanted' | 'refused' | 'failed';

/** The outcome of one attempt, with details for the operator. */
export interface LogoutDelivery {
  readonly outcome: LogoutOutcome;
  /** The HTTP status of the answer, if there was one. */
  readonly answeredStatus?: number;
  readonly cause?: unknown;
}

interface Attempt extends LogoutDelivery {
  readonly outcome: Exclude<LogoutOutcome, 'not_wanted'>;
}

/** What logout needs from the server. */
export type LogoutContext = TokenContext & Pick<Context, 'clientKeys' | 'fetchDocument' | 'onEvent'>;

/**
 * Notifies a client once that a session has ended (Back-Channel Logout §2.5).
 * @throws {StorageFault} storage is unavailable
 */
export async function notifyLogout(context: LogoutContext, session: EndedSession): Promise<LogoutDelivery> {
  const { clientId } = session;
  const client = await context.storage.clients.get(clientId);
  const uri = client?.metadata?.backchannel_logout_uri;
  if (!client || client.disabledAtMs !== undefined || uri === undefined) return { outcome: 'not_wanted' };
  const delivery = await deliver(context, underProfile(context, client), uri, session);
  const { outcome, ...known } = delivery;
  if (outcome !== 'delivered')
    context.onEvent({ operation: 'logout', type: 'logout_not_delivered', clientId, outcome, ...known });
  return delivery;
}

async function deliver(
  context: LogoutContext,
  client: ClientRecord,
  uri: string,
  { sid, sub }: EndedSession,
): Promise<Attempt> {
  try {
    const logoutToken = await mintLogoutToken(context, client, { sid, sub });
    const { status } = await context.fetchDocument(uri, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: logoutToken }).toString(),
    });
    return { outcome: outcomeOf(status), answeredStatus: status };
  } catch (error) {
    if (error instanceof DocumentError) return { outcome: error.outcome, cause: error };
    if (error instanceof OAuthError) return { outcome: 'refused', cause: error };
    throw error;
  }
}

/** §2.8 */
function outcomeOf(status: number): Attempt['outcome'] {
  const outcome = outcomeOfStatus(status);
  return outcome === 'fetched' || status === 204 ? 'delivered' : outcome;
}
