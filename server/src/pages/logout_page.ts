// § refers to RP-Initiated Logout.
import type { BrowserDelivery, ClientRecord, LogoutRequest } from '@grantd/core';
import { html } from 'hono/html';
import type { LogoutAnswers } from '../people/sessions.ts';
import type { Texts } from '../texts/en.ts';
import { type Html, icon } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { applicationName, applicationShown, named, personShown, uncheckedNote } from './application_shown.ts';
import { applicationMark, operatorMark } from './brand.ts';
import type { BrowserSession } from './browser_sessions.ts';
import type { PendingLogout } from './browser_state.ts';
import { PageProblem } from './error_page.ts';
import {
  type ApplicationShown,
  type FormShown,
  type Page,
  type PageSetting,
  type PersonShown,
  pageSetting,
  renderPage,
} from './layout.ts';
import { wayOut } from './leaving_page.ts';
import { type PageContext, type PageParts, requestIdOf, toResponse } from './page_parts.ts';
import { redirectToPage, verifiedForm } from './pending_page.ts';
import { providerLogoutUrl, providerToLeave } from './upstream_pages.ts';

interface Leaving {
  readonly logout: LogoutRequest;
  readonly pending: PendingLogout;
}

/**
 * `GET /logout` (RP-Initiated Logout §2): asks for confirmation, unless an ID token proves that the client means this
 * session. Without a session there is nothing to ask.
 */
export function showLogout(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const leaving = await openLeaving(c, parts);
    const session = await parts.browserSessions.current(c);
    if (session === undefined) return leave(c, parts, leaving.logout);
    const isHead = c.req.method === 'HEAD'; // which must end nothing
    if (!isHead && (await isHinted(parts, leaving.logout, session)))
      return endSession(c, parts, leaving, session);
    return askToConfirm(c, parts, leaving, session);
  };
}

/** `POST /logout`: the answer to the question, or a form of a client. */
export function submitLogout(parts: PageParts) {
  const { browserSessions, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const sealed = c.req.query('pending');
    // A form of another site arrives without cookies. After a redirect, the browser sends them.
    if (sealed === undefined)
      return redirectToPage(c, parts, 'logout', (await openLeaving(c, parts)).pending);

    const leaving = await openLeaving(c, parts);
    const { logout } = leaving;
    const session = await browserSessions.current(c);
    if (session === undefined) return leave(c, parts, logout);
    const clientId = logout.client?.id;
    const form = await verifiedForm(c, parts, { page: 'logout', about: [sealed, session.id], clientId });
    if (form.get('decision') === 'yes') return endSession(c, parts, leaving, session);
    const view = { person: personShown(session.person), account: `${basePath}/account` };
    return renderPage(c, stillSignedInPage(view, pageSetting(c, parts, logout.uiLocales)));
  };
}

/** Reads the request from the URL, plain or sealed. */
async function openLeaving(c: PageContext, parts: PageParts): Promise<Leaving> {
  const { server, pendingRequests, clock } = parts;
  const sealed = c.req.query('pending');
  if (sealed === undefined) {
    const logout = await server.logout.validate(c.get('plain'));
    return { logout, pending: { kind: 'logout', parameters: logout.parameters, begunAtMs: clock() } };
  }
  const pending = await pendingRequests.open(sealed);
  if (pending?.kind !== 'logout') throw new PageProblem('logout', 'request_expired');
  return { logout: await server.logout.resume(pending.parameters, requestIdOf(c)), pending };
}

/** Whether the hint names this session. A hint with only the user may be years old. */
async function isHinted(
  { server }: PageParts,
  logout: LogoutRequest,
  { id, person: { subject } }: BrowserSession,
): Promise<boolean> {
  return logout.idTokenHint?.sid !== undefined && server.logout.isHintedSession(logout, subject, id);
}

async function askToConfirm(
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
    // Without a hint, anyone could have written the client’s name.
    ...(client !== undefined &&
      idTokenHint !== undefined && {
        application: applicationShown(client, setting.language, parts.basePath),
      }),
  };
  const page = logoutPage(view, setting);
  const formMayLeave =
    postLogoutRedirectUri !== undefined || (await providerToLeave(parts, session.id)) !== undefined;
  return renderPage(c, { ...page, formMayLeave });
}

async function endSession(
  c: PageContext,
  parts: PageParts,
  { logout, pending }: Leaving,
  session: BrowserSession,
): Promise<Response> {
  const { browserSessions, requestLog } = parts;
  const provider = await providerToLeave(parts, session.id);
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
  const answers = await parts.notifyClients(ends);
  const clientIds = ends.flatMap((end) => end.clientIds);
  const upstreamUrl = provider && (await providerLogoutUrl(c, parts, provider, pending));
  if (upstreamUrl !== undefined) return c.redirect(upstreamUrl, 303);
  return leave(c, parts, logout, clientIds, answers);
}

/** Whether the library notifies the client of logouts (Back-Channel Logout §2.2). */
function canBeNotified({ metadata, disabledAtMs }: ClientRecord): boolean {
  return metadata?.backchannel_logout_uri !== undefined && disabledAtMs === undefined;
}

/** §3: returns to the client if it gave a URL. Otherwise, or if the client is unchecked, shows a page. */
async function leave(
  c: PageContext,
  parts: PageParts,
  logout: LogoutRequest,
  clientIds: readonly string[] = [],
  answers: LogoutAnswers = new Map(),
): Promise<Response> {
  const answer = parts.server.logout.complete(logout);
  if (answer !== undefined && answer.leaving === undefined) return toResponse(c, answer);
  const setting = pageSetting(c, parts, logout.uiLocales);
  const clients = await Promise.all(clientIds.map(async (id) => await parts.clients.get(id)));
  const state = (client: ClientRecord): NotificationState => {
    if (answers.get(client.id) === 'delivered') return 'notified';
    return canBeNotified(client) && answers.get(client.id) !== 'refused' ? 'pending' : 'notNotified';
  };
  const applications = clients.flatMap((client) => {
    if (!client) return [];
    const application = applicationShown(client, setting.language, parts.basePath);
    return [{ application, state: state(client) }];
  });
  const view = {
    applications,
    signIn: `${parts.basePath}/account`,
    ...(answer?.leaving !== undefined && { leaving: answer.leaving }),
  };
  return renderPage(c, signedOutPage(view, setting));
}

interface LogoutView extends FormShown {
  /** The signed-in user, if known. */
  readonly person?: PersonShown;
  /** The application that sent the user here, if it is certain. */
  readonly application?: ApplicationShown;
  /** Whether the request names an unregistered return URL. */
  readonly staysHere?: boolean;
}

/** `/logout`: buttons `logout-yes` and `logout-no`, which send the field `decision` as `yes` or `no`. */
export function logoutPage(view: LogoutView, setting: PageSetting): Page {
  const { application, person } = view;
  const texts = textsIn(setting.language);
  const { logout } = texts;
  return {
    ...setting,
    title: logout.title,
    ...(application?.color !== undefined && { color: application.color }),
    body: html`<header>
${application === undefined ? operatorMark(setting.operator) : applicationMark(application, setting.operator)}
<h1>${logout.title}</h1>
${application === undefined ? '' : html`<p class="lead">${logout.askedBy(named(application.name))}</p>`}
</header>
${uncheckedNote(application, setting, texts)}
${view.staysHere === true ? html`<p id="stays-here" class="caution">${icon('alert')}<span>${logout.staysHere}</span></p>` : ''}
<p>${person === undefined ? '' : logout.question(named(person.name))} ${logout.consequence}</p>
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<div class="choices">
<button id="logout-yes" type="submit" name="decision" value="yes" class="primary">${logout.yes}</button>
<button id="logout-no" type="submit" name="decision" value="no">${logout.no}</button>
</div>
</form>`,
  };
}

interface SignedOutView {
  /** Applications of the session, with the state of their notification. */
  readonly applications?: readonly {
    readonly application: ApplicationShown;
    readonly state: NotificationState;
  }[];
  /** Where an unchecked application wants to send the user. */
  readonly leaving?: BrowserDelivery;
  /** URL to sign in again. */
  readonly signIn?: string;
}

/** Whether an application has accepted the logout, is still being notified, or keeps its own session. */
type NotificationState = 'notified' | 'pending' | 'notNotified';

/** Lists `notified`, `pending` and `not-notified`, if not empty. */
export function signedOutPage(view: SignedOutView, setting: PageSetting): Page {
  const { applications = [], leaving, signIn } = view;
  const applicationsIn = (wanted: NotificationState) =>
    applications.flatMap(({ application, state }) => (state === wanted ? [application] : []));
  const texts = textsIn(setting.language);
  const { logout } = texts;
  return {
    ...setting,
    title: logout.doneTitle,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${logout.doneTitle}</h1>
<p class="lead">${logout.done}</p>
</header>
${applicationList('notified', [logout.notified], applicationsIn('notified'), texts)}
${applicationList('pending', [logout.pending, logout.pendingNote], applicationsIn('pending'), texts)}
${applicationList('not-notified', [logout.notNotified, logout.notNotifiedNote], applicationsIn('notNotified'), texts)}
${leaving === undefined ? '' : wayOut(leaving, setting, texts)}
${signIn === undefined ? '' : html`<a id="sign-in-again" class="button" href="${signIn}">${logout.signInAgain}</a>`}`,
  };
}

function applicationList(
  id: string,
  [heading, note]: readonly [heading: string, note?: string],
  applications: readonly ApplicationShown[],
  texts: Texts,
): Html | '' {
  if (applications.length === 0) return '';
  return html`<section id="${id}"><h2>${heading}</h2>
<ul class="bullets">${applications.map((one) => html`<li>${applicationName(one, texts)}</li>`)}</ul>
${note === undefined ? '' : html`<p class="note">${note}</p>`}</section>`;
}

interface StillSignedInView {
  readonly person?: PersonShown;
  /** URL of the account page. */
  readonly account: string;
}

/** After `logout-no`. */
export function stillSignedInPage({ person, account }: StillSignedInView, setting: PageSetting): Page {
  const { logout } = textsIn(setting.language);
  return {
    ...setting,
    title: logout.stillTitle,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${logout.stillTitle}</h1>
<p class="lead">${logout.still} ${person === undefined ? '' : logout.question(named(person.name))}</p>
</header>
<a id="to-account" class="button" href="${account}">${logout.toAccount}</a>`,
  };
}
