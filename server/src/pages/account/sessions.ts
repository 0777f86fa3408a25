import { html } from 'hono/html';
import type { RecordedSignIn, Sessions } from '../../data/sessions.ts';
import type { RequestLog } from '../../log/log.ts';
import type { SessionValidity } from '../../people/session_validity.ts';
import type { EndingReason, NotifyClients, SessionEnding } from '../../people/sessions.ts';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession, BrowserSessions } from '../browser/sessions.ts';
import { idOf, named } from '../drawing/application_shown.ts';
import { browserText, isPhone } from '../drawing/browser_names.ts';
import { type Page, type PageSetting, renderPage } from '../drawing/layout.ts';
import type { AccountNotice } from '../steps/account_visits.ts';
import { type AccountView, accountFrame, accountView, buttonValue, type FrameNeeds } from './frame.ts';

/** What the end of other sessions needs. */
export interface EndingNeeds {
  readonly sessionEnding: SessionEnding;
  readonly notifyClients: NotifyClients;
  readonly requestLog: RequestLog;
}

export interface SessionsNeeds extends FrameNeeds, EndingNeeds {
  readonly browserSessions: BrowserSessions;
  readonly validity: SessionValidity;
  readonly clock: () => number;
}

/** What the history of sign-ins comes from. */
export interface HistoryNeeds {
  readonly sessions: Pick<Sessions, 'signInsOf'>;
  readonly validity: SessionValidity;
  readonly clock: () => number;
}

/** `GET /account/sessions`. */
export function showSessions(needs: SessionsNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const session = await needs.visits.open(c, 'sessions');
    if (session instanceof Response) return session;
    const view = {
      ...(await accountView(c, needs, session, 'sessions')),
      sessions: await sessionsOf(needs, session),
      nowMs: needs.clock(),
    };
    return renderPage(c, sessionsPage(view, needs.drawing.setting(c)));
  };
}

/** `POST /account/sessions`: ends the session in `end_session`, or with `end_other_sessions` all others. */
export function submitSessions(needs: SessionsNeeds) {
  return needs.visits.form('sessions', undefined, async (c, session, form) => {
    return needs.visits.show(c, session, 'sessions', await endSessions(c, needs, session, form));
  });
}

/** Ends the session of the pressed button, or all others. */
export async function endSessions(
  c: PageContext,
  needs: SessionsNeeds,
  session: BrowserSession,
  form: URLSearchParams,
): Promise<AccountNotice | 'signed_out'> {
  const sessionId = buttonValue(form, 'end_session');
  if (sessionId === session.id) {
    void needs.notifyClients(await needs.browserSessions.end(c, session));
    reportEnd(c, needs, session, session.id);
    return 'signed_out';
  }
  if (sessionId === null) {
    if (form.get('end_other_sessions') === null) return { done: 'nothing_to_end' };
    const count = await endOtherSessions(c, needs, session);
    return count === 0 ? { done: 'nothing_to_end' } : { done: 'other_sessions_ended', count };
  }
  const ends = await needs.sessionEnding.end({ subject: session.person.subject, id: sessionId });
  void needs.notifyClients(ends);
  for (const { id } of ends) reportEnd(c, needs, session, id);
  return { done: ends.length === 0 ? 'nothing_to_end' : 'session_ended' };
}

/** Ends all sessions of the user except this one. @returns the number of sessions */
export async function endOtherSessions(
  c: PageContext,
  needs: EndingNeeds,
  session: BrowserSession,
  reason?: EndingReason,
): Promise<number> {
  const others = { subject: session.person.subject, except: session.id };
  const ends = await needs.sessionEnding.end(others, reason);
  void needs.notifyClients(ends);
  for (const { id } of ends) reportEnd(c, needs, session, id);
  return ends.length;
}

function reportEnd(c: PageContext, needs: EndingNeeds, { person }: BrowserSession, sessionId: string): void {
  const { subject } = person;
  needs.requestLog.pageEvent({
    type: 'session_ended',
    page: 'account',
    requestId: requestIdOf(c),
    subject,
    sessionId,
  });
}

export async function sessionsOf(
  { validity }: Pick<SessionsNeeds, 'validity'>,
  { id, person }: BrowserSession,
): Promise<readonly SessionShown[]> {
  const sessions = await validity.ofSubject(person.subject);
  return sessions
    .map(({ userAgent, network, signedInAtMs, lastSeenAtMs, ...session }) => ({
      id: session.id,
      isCurrent: session.id === id,
      userAgent,
      network,
      signedInAtMs,
      lastSeenAtMs,
    }))
    .sort((a, b) => Number(b.isCurrent) - Number(a.isCurrent));
}

export interface SessionsView extends AccountView {
  /** Current session first. */
  readonly sessions: readonly SessionShown[];
  readonly nowMs: number;
}

export interface SessionShown {
  /** Session ID, shown only in the user’s own browser. */
  readonly id: string;
  readonly isCurrent: boolean;
  readonly userAgent?: string;
  /** Such as `203.0.113.0/24`. */
  readonly network?: string | undefined;
  readonly signedInAtMs: number;
  readonly lastSeenAtMs?: number;
}

/** `/account/sessions`: buttons `end-session-ID`, `end-other-sessions`. */
export function sessionsPage(view: SessionsView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { account } = texts;
  const others = view.sessions.filter(({ isCurrent }) => !isCurrent);
  const groups = [
    {
      id: 'current',
      heading: account.thisBrowser,
      members: view.sessions.filter((session) => session.isCurrent),
    },
    {
      id: 'computers',
      heading: account.computers,
      members: others.filter((other) => !isPhone(other.userAgent)),
    },
    { id: 'phones', heading: account.phones, members: others.filter((other) => isPhone(other.userAgent)) },
  ];
  return accountFrame(view, setting, {
    title: account.sessions,
    lead: account.sessionsText,
    body: html`<form method="post" action="${view.base}/sessions">
<input type="hidden" name="form_token" value="${view.formToken}">
${groups
  .filter(({ members }) => members.length > 0)
  .map(
    ({ id, heading, members }) => html`<section aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
<ul class="entries" role="list">
${members.map((member) => sessionEntry(member, view.nowMs, texts))}</ul>
</section>
`,
  )}
${endOthers(view.sessions, texts)}
</form>`,
  });
}

/** The button that ends all other sessions, if there are any. */
export function endOthers(sessions: readonly SessionShown[], texts: Texts): Html | '' {
  if (sessions.every(({ isCurrent }) => isCurrent)) return '';
  return html`<button id="end-other-sessions" type="submit" name="end_other_sessions" value="yes">${texts.account.endOthers}</button>`;
}

export function sessionEntry(session: SessionShown, nowMs: number, texts: Texts): Html {
  const browser = browserText(session.userAgent, texts);
  const { id } = session;
  return entry(
    session,
    nowMs,
    texts,
    html`<button id="${idOf('end-session', id)}" type="submit" name="end_session" value="${id}">${texts.account.endSession(named(browser))}</button>`,
  );
}

/** Sign-ins that are shown at first. The rest can be opened. */
const MAX_SHOWN = 10;

/** Sign-ins and failed attempts of the last weeks, newest first. */
export async function historyOf(
  { sessions, validity, clock }: HistoryNeeds,
  { id, person }: BrowserSession,
): Promise<readonly SignInShown[]> {
  const [recorded, valid] = await Promise.all([
    sessions.signInsOf(person.subject, clock()),
    validity.ofSubject(person.subject),
  ]);
  // A user who signs in again continues their session, so only the newest sign-in of a session is the open one.
  const open = new Set(valid.map((session) => session.id));
  return recorded.map(({ session, ...signIn }) => {
    if (session === undefined) return { ...signIn, status: 'failed' };
    const isOpen = open.delete(session.id);
    return {
      ...signIn,
      amr: session.amr,
      status: !isOpen ? 'ended' : session.id === id ? 'current' : 'open',
    };
  });
}

/** A sign-in or a failed attempt. */
export interface SignInShown extends Pick<RecordedSignIn, 'atMs' | 'userAgent' | 'network' | 'reason'> {
  readonly status: 'current' | 'open' | 'ended' | 'failed';
  /** RFC 8176. */
  readonly amr?: readonly string[];
}

/** The history of sign-ins: link `all-sessions`. */
export function recentSignIns(
  {
    signIns,
    nowMs,
    base,
  }: {
    readonly signIns: readonly SignInShown[];
    readonly nowMs: number;
    readonly base: string;
  },
  texts: Texts,
): Html {
  const { account } = texts;
  const list = (shown: readonly SignInShown[]) =>
    html`<ul class="entries" role="list">
${shown.map((item) => signInEntry(item, nowMs, texts))}</ul>`;
  const rest = signIns.slice(MAX_SHOWN);
  return html`<section aria-labelledby="recent-sign-ins">
<h2 id="recent-sign-ins">${account.recentSignIns}</h2>
<p class="note">${account.recentSignInsText}</p>
${signIns.length === 0 ? html`<p class="empty">${account.noSignIns}</p>` : list(signIns.slice(0, MAX_SHOWN))}
${
  rest.length === 0
    ? ''
    : html`<details id="earlier-sign-ins">
<summary>${account.earlierSignIns(rest.length)}</summary>
${list(rest)}
</details>`
}
<a id="all-sessions" href="${base}/sessions">${account.allSessions}</a>
</section>`;
}

function signInEntry(
  { atMs, userAgent, network, status, amr, reason }: SignInShown,
  nowMs: number,
  texts: Texts,
): Html {
  const { account } = texts;
  const place = network === undefined ? '' : html` ${account.fromNetwork(html`<bdi>${network}</bdi>`)}`;
  const when = moment(atMs, nowMs, texts);
  const how =
    reason === undefined
      ? html`${account.signedInBy(waysOf(amr ?? [], texts), when)}`
      : html`${account.signInFailures[failureOf(reason)]}, ${when}`;
  return html`<li>
<span class="mark device">${icon(isPhone(userAgent) ? 'phone' : 'computer')}</span>
<div class="entry">
<h3>${browserText(userAgent, texts)} <span class="badge ${status}">${account.signInStatuses[status]}</span></h3>
<p class="detail">${how}${place}</p>
</div>
</li>
`;
}

/** What the user has shown, in words. */
function waysOf(amr: readonly string[], { account: { ways }, formats }: Texts): string {
  // Only a passkey verifies its user.
  const key = amr.includes('user') ? 'pop' : 'securityKey';
  const shown = SHOWN_WAYS.filter((way) => amr.includes(way));
  return formats.list(shown.map((way) => ways[way === 'pop' ? key : way]));
}

const SHOWN_WAYS = ['fed', 'pwd', 'email', 'otp', 'pop'] as const;

function failureOf(reason: string): keyof Texts['account']['signInFailures'] {
  if (reason === 'password_wrong' || reason === 'password_cut_off') return 'password';
  if (reason.startsWith('passkey') || reason === 'security_key_alone') return 'passkey';
  return reason.includes('code') ? 'code' : 'other';
}

function entry(session: SessionShown, nowMs: number, texts: Texts, action: Html): Html {
  const { isCurrent, userAgent, network, signedInAtMs, lastSeenAtMs } = session;
  const browser = browserText(userAgent, texts);
  const place = network === undefined ? '' : html` ${texts.account.fromNetwork(html`<bdi>${network}</bdi>`)}`;
  const lastSeen =
    isCurrent || lastSeenAtMs === undefined
      ? ''
      : html`, ${texts.account.lastSeen(moment(lastSeenAtMs, nowMs, texts))}`;
  return html`<li>
<span class="mark device">${icon(isPhone(userAgent) ? 'phone' : 'computer')}</span>
<div class="entry">
<h3>${browser}${isCurrent ? html` <span class="badge">${texts.account.thisBrowser}</span>` : ''}</h3>
<p class="detail">${texts.account.signedIn(moment(signedInAtMs, nowMs, texts))}${place}${lastSeen}</p>
</div>
${action}
</li>
`;
}

function moment(atMs: number, nowMs: number, { formats }: Texts): Html {
  return html`<time datetime="${new Date(atMs).toISOString()}" title="${formats.instant(atMs)}">${formats.past(atMs, nowMs)}</time>`;
}
