import { html } from 'hono/html';
import { applicationMark, operatorMark } from '../brand.ts';
import type { Html } from '../html.ts';
import { icon } from '../icons.ts';
import type { AccessShown, ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { codeList, describedList, scopeList, sortScopes } from './access_list.ts';
import { applicationName, idOf, named, personLine } from './name.ts';
import { browserText, isPhone } from './user_agent.ts';

/** Of what only the application knows the meaning of; more wait behind a line. */
const MOST_IN_SIGHT = 6;

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
  /** One entry for each decision. */
  readonly access: readonly AccessShown[];
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
${operatorMark(setting.operator)}
<h1>${account.title}</h1>
</header>
${view.notice === undefined ? '' : html`<p role="status" id="notice" class="notice">${icon('done')}<span>${noticeText(view.notice, texts)}</span></p>`}
${personLine(account.signedInAs, view.person, html`<a id="sign-out" href="${view.signOut}">${account.signOut}</a>`)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<section aria-labelledby="applications">
<h2 id="applications">${account.applications}</h2>
${
  view.applications.length === 0
    ? html`<p class="empty">${account.noApplications}</p>`
    : html`<ul class="entries" role="list">
${view.applications.map((one) => applicationEntry(one, setting, texts))}</ul>`
}
</section>
<section aria-labelledby="sessions">
<h2 id="sessions">${account.sessions}</h2>
${
  view.sessions.length === 0
    ? html`<p class="empty">${account.noSessions}</p>`
    : html`<ul class="entries" role="list">
${view.sessions.map((one) => sessionEntry(one, view.nowMs, texts))}</ul>`
}
${view.sessions.some(({ isCurrent }) => !isCurrent) ? html`<button id="end-other-sessions" type="submit" name="end_other_sessions" value="yes">${account.endOthers}</button>` : ''}
</section>
</form>`,
  };
}

function applicationEntry(
  { clientId, application, access, sinceMs }: ApplicationWithAccess,
  { operator }: PageSetting,
  texts: Texts,
): Html {
  const since = html`<time datetime="${new Date(sinceMs).toISOString()}">${texts.formats.date(sinceMs)}</time>`;
  return html`<li>
${application.isUnchecked === true ? html`<span class="mark device">${icon('alert')}</span>` : applicationMark(application, operator)}
<div class="entry">
<h3>${applicationName(application, texts)}</h3>
<p class="detail">${texts.account.since(since)}</p>
${access.map((one) => accessOf(one, texts))}
</div>
<button id="${idOf('end-access', clientId)}" type="submit" name="end_access" value="${clientId}">${texts.account.endAccess(named(application.name))}</button>
</li>
`;
}

function accessOf({ groups = [], scopes, resources = [], claims = [] }: AccessShown, texts: Texts): Html {
  const { known, own } = sortScopes(scopes, texts);
  return html`<div class="agreed">
${groups.map(({ api, scopes: described }) => html`${api === undefined ? '' : html`<p class="detail">${texts.account.at(named(api.name))}</p>`}${describedList(described, 'brief')}`)}
${scopeList(known, 'brief', texts)}
${own.length > MOST_IN_SIGHT ? html`<details><summary>${texts.account.more(own.length)}</summary>${codeList(own)}</details>` : codeList(own)}
${claims.length === 0 ? '' : html`<p class="detail">${texts.account.claims(codes(claims))}</p>`}
${resources.length === 0 ? '' : html`<p class="detail">${texts.account.usedAt(codes(resources))}</p>`}
</div>
`;
}

function codes(names: readonly string[]): Html {
  return html`${names.map((name, at) => html`${at === 0 ? '' : ', '}<code>${name}</code>`)}`;
}

function sessionEntry(session: SessionShown, nowMs: number, texts: Texts): Html {
  const { id, isCurrent, userAgent, signedInAtMs, lastSeenAtMs } = session;
  const browser = browserText(userAgent, texts);
  const lastSeen =
    isCurrent || lastSeenAtMs === undefined
      ? ''
      : html`, ${texts.account.lastSeen(moment(lastSeenAtMs, nowMs, texts))}`;
  return html`<li>
<span class="mark device">${icon(isPhone(userAgent) ? 'phone' : 'computer')}</span>
<div class="entry">
<h3>${browser}${isCurrent ? html` <span class="badge">${texts.account.thisBrowser}</span>` : ''}</h3>
<p class="detail">${texts.account.signedIn(moment(signedInAtMs, nowMs, texts))}${lastSeen}</p>
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
