import type { Person } from '../data/people.ts';
import { toAccountPage } from './account_frame.ts';
import { proceed } from './authorization.ts';
import { type HowSignedIn, signInName } from './browser_sessions.ts';
import { toClient } from './leaving_page.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import type { AuthorizationPage, PendingPage } from './pending_page.ts';

interface How extends HowSignedIn {
  readonly page: 'login' | 'second';
  /** Whether the factor still exists. Its removal at the same time either ends this session or is detected here. */
  readonly isStillThere?: () => Promise<boolean>;
}

/**
 * Begins the session of a user who has done everything that the sign-in needs, with a new secret, and continues.
 * @returns `undefined` if the user, the password or the factor has changed in the meantime
 */
export async function finishSignIn(
  c: PageContext,
  parts: PageParts,
  page: PendingPage,
  person: Person,
  { page: name, isStillThere, ...how }: How,
): Promise<Response | undefined> {
  const { browserSessions, knownBrowsers, halfSignIns, requestLog } = parts;
  const begun = await browserSessions.begin(c, person, how);
  if (begun === undefined) return undefined;
  const { session, ended } = begun;
  void parts.notifyClients(ended);
  if (isStillThere !== undefined && !(await isStillThere())) {
    void parts.notifyClients(await browserSessions.end(c, session));
    return undefined;
  }
  halfSignIns.forget(c);
  const { subject } = person;
  await knownBrowsers.recordUser(c, subject);
  const clientId = clientIdOf(page);
  requestLog.pageEvent({
    ...{ type: 'signed_in', page: name, requestId: requestIdOf(c), subject, sessionId: session.id },
    ...(clientId !== undefined && { clientId }),
  });
  if (!('authorization' in page)) return toAccountPage(c, parts, page.pending);
  // A further step to an earlier sign-in is no sign-in for this request.
  const isNew = how.signedInAtMs === undefined;
  const pending = { ...page.pending, ...(isNew && { signIn: signInName(session) }) };
  return proceed(c, parts, { ...page, pending }, session);
}

export function clientIdOf(page: PendingPage): string | undefined {
  return 'authorization' in page ? page.authorization.client.id : undefined;
}

/** Returns to the client without signing in. The client learns nothing about the user. */
export async function cancelSignIn(
  c: PageContext,
  parts: PageParts,
  { authorization }: AuthorizationPage,
): Promise<Response> {
  const description = 'the person cancelled the sign-in';
  const refusal = await parts.server.authorization.refuse(
    authorization,
    'access_denied',
    description,
    requestIdOf(c),
  );
  return toClient(c, parts, refusal, authorization.uiLocales);
}
