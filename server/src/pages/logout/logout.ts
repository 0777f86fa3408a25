// § refers to RP-Initiated Logout.
import type { AuthorizationServer, ClientRecord, IssuingClientRepository, LogoutRequest } from '@grantd/core';
import type { RequestLog } from '../../log/log.ts';
import type { LogoutAnswers, NotifyClients } from '../../people/sessions.ts';
import type { ConnectedProvider } from '../../people/upstream.ts';
import type { FormTokens } from '../browser/forms.ts';
import type { PendingLogout, PendingPages } from '../browser/pending.ts';
import { type PageContext, PageProblem, requestIdOf, toResponse } from '../browser/request.ts';
import type { BrowserSession, BrowserSessions } from '../browser/sessions.ts';
import { personShown } from '../drawing/application_shown.ts';
import type { Drawing } from '../drawing/drawing.ts';
import { renderPage } from '../drawing/layout.ts';
import type { Flow } from '../steps/routes.ts';
import { logoutPage, type NotificationState, signedOutPage, stillSignedInPage } from './logout_pages.ts';

/** Where users also sign out of identity providers. */
interface LeftProviders {
  /** The provider at which the user of a session also signs out. */
  toLeave(sessionId: string): Promise<ConnectedProvider | undefined>;
  /** The URL at which the user signs out of the provider, and then comes back. @returns `undefined` if there is none */
  logoutUrl(c: PageContext, provider: ConnectedProvider, pending: PendingLogout): Promise<string | undefined>;
}

export interface LogoutNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly pending: PendingPages;
  readonly browserSessions: BrowserSessions;
  readonly server: AuthorizationServer;
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  /** `undefined` if no identity provider is configured. */
  readonly providers: LeftProviders | undefined;
  readonly notifyClients: NotifyClients;
  readonly requestLog: RequestLog;
  readonly clock: () => number;
}

/** `/logout`. */
export function logoutFlow(needs: LogoutNeeds): Flow {
  return {
    mount(routes) {
      routes.form('/logout', showLogout(needs), submitLogout(needs));
    },
  };
}

interface Leaving {
  readonly logout: LogoutRequest;
  readonly pending: PendingLogout;
}

/**
 * `GET /logout` (RP-Initiated Logout §2): asks for confirmation, unless an ID token proves that the client means this
 * session. Without a session there is nothing to ask.
 */
function showLogout(needs: LogoutNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const leaving = await openLeaving(c, needs);
    const session = await needs.browserSessions.current(c);
    if (session === undefined) return leave(c, needs, leaving.logout);
    const isHead = c.req.method === 'HEAD'; // which must end nothing
    if (!isHead && (await isHinted(needs, leaving.logout, session)))
      return endSession(c, needs, leaving, session);
    return askToConfirm(c, needs, leaving, session);
  };
}

/** `POST /logout`: the answer to the question, or a form of a client. */
function submitLogout(needs: LogoutNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const sealed = c.req.query('pending');
    // A form of another site arrives without cookies. After a redirect, the browser sends them.
    if (sealed === undefined)
      return needs.pending.redirect(c, 'logout', (await openLeaving(c, needs)).pending);

    const leaving = await openLeaving(c, needs);
    const { logout } = leaving;
    const session = await needs.browserSessions.current(c);
    if (session === undefined) return leave(c, needs, logout);
    const clientId = logout.client?.id;
    const form = await needs.formTokens.verified(c, {
      page: 'logout',
      about: [sealed, session.id],
      clientId,
    });
    if (form.get('decision') === 'yes') return endSession(c, needs, leaving, session);
    const view = { person: personShown(session.person), account: `${needs.drawing.basePath}/account` };
    return renderPage(c, stillSignedInPage(view, needs.drawing.setting(c, logout.uiLocales)));
  };
}

/** Reads the request from the URL, plain or sealed. */
async function openLeaving(c: PageContext, needs: LogoutNeeds): Promise<Leaving> {
  const { server, pending: pages, clock } = needs;
  const sealed = c.req.query('pending');
  if (sealed === undefined) {
    const logout = await server.logout.validate(c.get('plain'));
    return { logout, pending: { kind: 'logout', parameters: logout.parameters, begunAtMs: clock() } };
  }
  const pending = await pages.request(sealed);
  if (pending?.kind !== 'logout') throw new PageProblem('logout', 'request_expired');
  return { logout: await server.logout.resume(pending.parameters, requestIdOf(c)), pending };
}

/** Whether the hint names this session. A hint with only the user may be years old. */
async function isHinted(
  { server }: LogoutNeeds,
  logout: LogoutRequest,
  { id, person: { subject } }: BrowserSession,
): Promise<boolean> {
  return logout.idTokenHint?.sid !== undefined && server.logout.isHintedSession(logout, subject, id);
}

async function askToConfirm(
  c: PageContext,
  needs: LogoutNeeds,
  { logout, pending }: Leaving,
  session: BrowserSession,
): Promise<Response> {
  const { formTokens, pending: pages, drawing } = needs;
  const { client, idTokenHint, postLogoutRedirectUri } = logout;
  const sealed = await pages.seal(pending);
  if (sealed === undefined) throw new PageProblem('logout', 'request_too_long', client?.id);
  const setting = needs.drawing.setting(c, logout.uiLocales);
  const view = {
    staysHere: logout.hasUnregisteredUri === true,
    action: `${drawing.basePath}/logout?pending=${sealed}`,
    formToken: await formTokens.make(c, 'logout', sealed, session.id),
    person: personShown(session.person),
    // Without a hint, anyone could have written the client’s name.
    ...(client !== undefined &&
      idTokenHint !== undefined && {
        application: needs.drawing.application(client, setting.language),
      }),
  };
  const page = logoutPage(view, setting);
  const formMayLeave =
    postLogoutRedirectUri !== undefined || (await needs.providers?.toLeave(session.id)) !== undefined;
  return renderPage(c, { ...page, formMayLeave });
}

async function endSession(
  c: PageContext,
  needs: LogoutNeeds,
  { logout, pending }: Leaving,
  session: BrowserSession,
): Promise<Response> {
  const { browserSessions, requestLog } = needs;
  const provider = await needs.providers?.toLeave(session.id);
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
  // §3: notify the other applications before the user returns, as far as they are reachable.
  const answers = await needs.notifyClients(ends);
  const clientIds = ends.flatMap((end) => end.clientIds);
  const upstreamUrl = provider && (await needs.providers?.logoutUrl(c, provider, pending));
  if (upstreamUrl !== undefined) return c.redirect(upstreamUrl, 303);
  return leave(c, needs, logout, clientIds, answers);
}

/** Whether the library notifies the client of logouts (Back-Channel Logout §2.2). */
function canBeNotified({ metadata, disabledAtMs }: ClientRecord): boolean {
  return metadata?.backchannel_logout_uri !== undefined && disabledAtMs === undefined;
}

/** §3: returns to the client if it gave a URL. Otherwise, or if the client is unchecked, shows a page. */
async function leave(
  c: PageContext,
  needs: LogoutNeeds,
  logout: LogoutRequest,
  clientIds: readonly string[] = [],
  answers: LogoutAnswers = new Map(),
): Promise<Response> {
  const answer = needs.server.logout.complete(logout);
  if (answer !== undefined && answer.leaving === undefined) return toResponse(c, answer);
  const setting = needs.drawing.setting(c, logout.uiLocales);
  const clients = await Promise.all(clientIds.map(async (id) => await needs.clients.get(id)));
  const state = (client: ClientRecord): NotificationState => {
    if (answers.get(client.id) === 'delivered') return 'notified';
    return canBeNotified(client) && answers.get(client.id) !== 'refused' ? 'pending' : 'notNotified';
  };
  const applications = clients.flatMap((client) => {
    if (!client) return [];
    const application = needs.drawing.application(client, setting.language);
    return [{ application, state: state(client) }];
  });
  const view = {
    applications,
    signIn: `${needs.drawing.basePath}/account`,
    ...(answer?.leaving !== undefined && { leaving: answer.leaving }),
  };
  return renderPage(c, signedOutPage(view, setting));
}
