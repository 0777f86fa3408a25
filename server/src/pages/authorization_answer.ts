import { askedBy, isExempt } from '../consents/asked_consent.ts';
import { covers } from '../consents/consents.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { toResponse } from './library_http.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import type { AuthorizationPage } from './pending_page.ts';

/**
 * Back to the client with a code. Who ends the session or the consent at the same time either finds what is issued
 * here, or is seen here afterwards: then it is revoked at once, and nobody gets to know the code.
 * @returns `undefined` if the session had ended before
 */
export async function answerWithCode(
  c: PageContext,
  parts: PageParts,
  { authorization }: AuthorizationPage,
  session: BrowserSession,
): Promise<Response | undefined> {
  const { server, sessions, browserSessions, consents, requestLog } = parts;
  const { subject, name } = session.person;
  const parties = { subject, clientId: authorization.client.id };
  const requestId = requestIdOf(c);
  const event = { type: 'refused', page: 'authorize', requestId, ...parties } as const;

  const isStillApproved = async () => {
    const isAgreed = covers(await consents.get(parties), askedBy(authorization));
    if (!isAgreed && !isExempt(authorization.client)) {
      requestLog.pageEvent({ ...event, reason: 'consent_withdrawn' });
      return false;
    }
    if (!(await browserSessions.isOver(session))) return true;
    requestLog.pageEvent({ ...event, reason: 'session_over', sessionId: session.id });
    return false;
  };

  // Before the client can learn of it, or a crash in between would leave it untold.
  const told = {
    sub: await server.subjectIdentifier(authorization.client, subject),
    sid: await server.sessionIdentifier(authorization.client, session.id),
  };
  if (!(await sessions.addClient(session.id, parties.clientId, told))) return undefined;
  const approval = {
    subject,
    username: name,
    authTime: Math.floor(session.signedInAtMs / 1000),
    amr: session.amr,
    sessionId: session.id,
    isStillApproved,
  };
  return toResponse(c, await server.completeAuthorization(authorization, approval, requestId));
}
