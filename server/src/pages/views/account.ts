import { html } from 'hono/html';
import { brandMark } from '../brand.ts';
import type { Html } from '../html.ts';
import type { AccessShown, ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { claimText, knownScopes, unknownScopes } from './access_list.ts';
import { idOf, named, personLine } from './name.ts';
import { browserText } from './user_agent.ts';

/**
 * One form; each button sends a field of its own: `end_access` with a client's identifier, `end_session` with a
 * session's, `end_other_sessions`.
 */
export interface AccountView extends FormShown {
  readonly person: PersonShown;
  /** Those with access, the newest first. */
  readonly applications: readonly ApplicationWithAccess[];
  /** The current one first. */
  readonly sessions: readonly SessionShown[];
  /** What the person has just done. */
  readonly notice?: AccountNotice;
  /** Address of the page that signs out. */
  readonly signOut: string;
  readonly nowMs: number;
}

export interface ApplicationWithAccess {
  readonly clientId: string;
  readonly application: ApplicationShown;
  readonly access: AccessShown;
  readonly sinceMs: number;
}

export interface SessionShown {
  /** Names the session to the person's own browser only; not what goes into tokens has to be shown. */
  readonly id: string;
  readonly isCurrent: boolean;
  readonly userAgent?: string;
  readonly signedInAtMs: number;
  readonly lastSeenAtMs?: number;
}

export type AccountNotice =
  | { readonly done: 'access_ended'; readonly application: string }
  | { readonly done: 'session_ended' }
  | { readonly done: 'other_sessions_ended'; readonly count: number }
  | { readonly done: 'nothing_to_end' };

/** `/account`: buttons `end-access-CLIENTID`, `end-session-ID`, `end-other-sessions`. */
export function accountPage(view: AccountView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { account } = texts;
  return {
    ...setting,
    title: account.title,
    width: 'wide',
    body: html`<header>
${brandMark(setting.operator)}
<h1>${account.title}</h1>
</header>
${view.notice === undefined ? '' : html`<p role="status" id="notice" class="notice">${noticeText(view.notice, texts)}</p>`}
${personLine(account.signedInAs, view.person, html`<a id="sign-out" href="${view.signOut}">${account.signOut}</a>`)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<section aria-labelledby="applications">
<h2 id="applications">${account.applications}</h2>
${
  view.applications.length === 0
    ? html`<p class="empty">${account.noApplications}</p>`
    : html`<ul class="entries">
${view.applications.map((one) => applicationEntry(one, view.nowMs, texts))}</ul>`
}
</section>
<section aria-labelledby="sessions">
<h2 id="sessions">${account.sessions}</h2>
${
  view.sessions.length === 0
    ? html`<p class="empty">${account.noSessions}</p>`
    : html`<ul class="entries">
${view.sessions.map((one) => sessionEntry(one, view.nowMs, texts))}</ul>`
}
${view.sessions.some(({ isCurrent }) => !isCurrent) ? html`<button id="end-other-sessions" type="submit" name="end_other_sessions" value="yes">${account.endOthers}</button>` : ''}
</section>
</form>`,
  };
}

function applicationEntry(entry: ApplicationWithAccess, nowMs: number, texts: Texts): Html {
  const { clientId, application, access } = entry;
  return html`<li>
${brandMark(application)}
<div>
<h3>${named(application.name)}</h3>
<p class="detail">${texts.account.since(moment(entry.sinceMs, nowMs, texts))}</p>
${accessOf(access, texts)}
</div>
<button id="${idOf('end-access', clientId)}" type="submit" name="end_access" value="${clientId}">${texts.account.endAccess(named(application.name))}</button>
</li>
`;
}

function accessOf(access: AccessShown, texts: Texts): Html {
  const { claims = [], resources = [] } = access;
  const codes = [...unknownScopes(access, texts), ...resources.map(({ uri }) => uri)];
  return html`${knownScopes(access.scopes, texts) ?? ''}
${claims.length === 0 ? '' : html`<ul class="claims">${claims.map((claim) => html`<li>${claimText(claim, texts)}</li>`)}</ul>`}
${codes.length === 0 ? '' : html`<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>`}`;
}

function sessionEntry(session: SessionShown, nowMs: number, texts: Texts): Html {
  const { id, isCurrent, userAgent, signedInAtMs, lastSeenAtMs } = session;
  const browser = browserText(userAgent, texts);
  return html`<li>
<div>
<h3>${browser}${isCurrent ? html` <span class="badge">${texts.account.thisBrowser}</span>` : ''}</h3>
<p class="detail">${texts.account.signedIn(moment(signedInAtMs, nowMs, texts))}${lastSeenAtMs === undefined ? '' : html`, ${texts.account.lastSeen(moment(lastSeenAtMs, nowMs, texts))}`}</p>
</div>
<button id="${idOf('end-session', id)}" type="submit" name="end_session" value="${id}">${texts.account.endSession(named(browser))}</button>
</li>
`;
}

function moment(atMs: number, nowMs: number, { formats }: Texts): Html {
  return html`<time datetime="${new Date(atMs).toISOString()}" title="${formats.instant(atMs)}">${formats.past(atMs, nowMs)}</time>`;
}

function noticeText(notice: AccountNotice, { account: { notices } }: Texts): string {
  if (notice.done === 'access_ended') return notices.access_ended(notice.application);
  if (notice.done === 'other_sessions_ended') return notices.other_sessions_ended(notice.count);
  return notices[notice.done];
}
