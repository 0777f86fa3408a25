import type { ClientRecord, LogoutRequest } from '@grantd/core';
import type { LogoutAnswers } from '../sessions/session_ending.ts';
import { applicationShown, personShown } from './application_shown.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { renderPage } from './layout.ts';
import { toResponse } from './library_http.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { PageProblem } from './page_problem.ts';
import { pageSetting } from './page_setting.ts';
import { ownForm, sendOn } from './pending_page.ts';
import type { PendingLogout } from './pending_requests.ts';
import { type Hearing, logoutPage, signedOutPage, stillSignedInPage } from './views/logout.ts';

interface Leaving {
  readonly logout: LogoutRequest;
  readonly pending: PendingLogout;
}

/**
 * `GET /logout` (RP-Initiated Logout §2): asks whether the person wants it, unless the client has shown by an ID token
 * that it means this very session. Where nobody is signed in there is nothing to ask.
 */
export function showLogout(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const leaving = await openLeaving(c, parts);
    const session = await parts.browserSessions.current(c);
    if (session === undefined) return leave(c, parts, leaving.logout);
    if (await isMeant(parts, leaving.logout, session)) return endSession(c, parts, leaving.logout, session);
    return askWhether(c, parts, leaving, session);
  };
}

/** `POST /logout`: the answer to the question, or a client's own form. */
export function submitLogout(parts: PageParts) {
  const { browserSessions, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const sealed = c.req.query('pending');
    // Another site's form comes without our cookies; the same request as an address comes with them.
    if (sealed === undefined) return sendOn(c, parts, 'logout', (await openLeaving(c, parts)).pending);

    const { logout } = await openLeaving(c, parts);
    const session = await browserSessions.current(c);
    if (session === undefined) return leave(c, parts, logout);
    const clientId = logout.client?.id;
    const form = await ownForm(c, parts, { page: 'logout', about: [sealed, session.id], clientId });
    if (form.get('decision') === 'yes') return endSession(c, parts, logout, session);
    const view = { person: personShown(session.person), account: `${basePath}/account` };
    return renderPage(c, stillSignedInPage(view, pageSetting(c, parts, logout.uiLocales)));
  };
}

/** The request, as it is in the address, or as it was sealed there. */
async function openLeaving(c: PageContext, parts: PageParts): Promise<Leaving> {
  const { server, pendingRequests, clock } = parts;
  const sealed = c.req.query('pending');
  if (sealed === undefined) {
    const logout = await server.validateLogoutRequest(c.get('plain'));
    return { logout, pending: { kind: 'logout', parameters: logout.parameters, begunAtMs: clock() } };
  }
  const pending = await pendingRequests.open(sealed);
  if (pending?.kind !== 'logout') throw new PageProblem('logout', 'request_expired');
  return { logout: await server.resumeLogoutRequest(pending.parameters, requestIdOf(c)), pending };
}

/** By the session itself: a hint that names the person alone may be years old. */
async function isMeant(
  { server }: PageParts,
  logout: LogoutRequest,
  { id, person: { subject } }: BrowserSession,
): Promise<boolean> {
  return logout.idTokenHint?.sid !== undefined && server.isHintedSession(logout, subject, id);
}

async function askWhether(
  c: PageContext,
  parts: PageParts,
  { logout, pending }: Leaving,
  session: BrowserSession,
): Promise<Response> {
  const { formTokens, pendingRequests, basePath } = parts;
  const { client, idTokenHint, postLogoutRedirectUri } = logout;
  const sealed = await pendingRequests.seal(pending);
  if (sealed === undefined) throw new PageProblem('logout', 'request_too_long', client?.id);
  const setting = pageSetting(c, parts, logout.uiLocales);
  const view = {
    staysHere: logout.hasUnregisteredUri === true,
    action: `${basePath}/logout?pending=${sealed}`,
    formToken: await formTokens.make(c, 'logout', sealed, session.id),
    person: personShown(session.person),
    // Without a hint anyone may have written the client's name.
    ...(client !== undefined &&
      idTokenHint !== undefined && {
        application: applicationShown(client, setting.language, parts.basePath),
      }),
  };
  const page = logoutPage(view, setting);
  return renderPage(c, { ...page, formMayLeave: postLogoutRedirectUri !== undefined });
}

async function endSession(
  c: PageContext,
  parts: PageParts,
  logout: LogoutRequest,
  session: BrowserSession,
): Promise<Response> {
  const { browserSessions, requestLog } = parts;
  const ends = await browserSessions.end(c, session);
  const [clientId, sessionId] = [logout.client?.id, session.id];
  requestLog.pageEvent({
    type: 'signed_out',
    page: 'logout',
    requestId: requestIdOf(c),
    subject: session.person.subject,
    sessionId,
    ...(clientId !== undefined && { clientId }),
  });
  // §3: whoever comes back finds the other applications informed, as far as they can be reached.
  const answers = await parts.tellClients(ends);
  const clientIds = ends.flatMap((end) => end.clientIds);
  return leave(c, parts, logout, clientIds, answers);
}

/** Whether the library tells the client that a session has ended (Back-Channel Logout §2.2). */
function canBeTold({ metadata, disabledAtMs }: ClientRecord): boolean {
  return metadata?.backchannel_logout_uri !== undefined && disabledAtMs === undefined;
}

/** §3: back to the client if it said where to; else, or if nobody checked the client, a page. */
async function leave(
  c: PageContext,
  parts: PageParts,
  logout: LogoutRequest,
  clientIds: readonly string[] = [],
  answers: LogoutAnswers = new Map(),
): Promise<Response> {
  const answer = parts.server.completeLogout(logout);
  if (answer !== undefined && answer.leaving === undefined) return toResponse(c, answer);
  const setting = pageSetting(c, parts, logout.uiLocales);
  const clients = await Promise.all(clientIds.map(async (id) => await parts.clients.get(id)));
  const hearing = (client: ClientRecord): Hearing => {
    if (answers.get(client.id) === 'delivered') return 'told';
    return canBeTold(client) && answers.get(client.id) !== 'refused' ? 'telling' : 'notTold';
  };
  const applications = clients.flatMap((client) => {
    if (!client) return [];
    const application = applicationShown(client, setting.language, parts.basePath);
    return [{ application, hearing: hearing(client) }];
  });
  const view = {
    applications,
    signIn: `${parts.basePath}/account`,
    ...(answer?.leaving !== undefined && { leaving: answer.leaving }),
  };
  return renderPage(c, signedOutPage(view, setting));
}
