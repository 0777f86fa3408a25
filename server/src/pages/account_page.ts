import type { ClientRecord, GrantRecord } from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import { html } from 'hono/html';
import { type ConsentEntry, withEntry } from '../data/consents.ts';
import { counts } from '../people/consents.ts';
import type { Texts } from '../texts/en.ts';
import { type Html, icon } from '../texts/html.ts';
import { type Language, textsIn } from '../texts/texts.ts';
import {
  applicationName,
  applicationShown,
  codeList,
  describedList,
  idOf,
  named,
  personLine,
  personShown,
  ScopeGlossary,
  scopeList,
  sortScopes,
} from './application_shown.ts';
import { applicationMark, operatorMark } from './brand.ts';
import type { BrowserSession } from './browser_sessions.ts';
import type { SealedValues } from './browser_state.ts';
import { detailsList, detailsShown } from './details_shown.ts';
import {
  type AccessShown,
  type ApplicationShown,
  type FormShown,
  type Page,
  type PageSetting,
  type PersonShown,
  pageSetting,
  renderPage,
} from './layout.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { redirectToPage, verifiedForm } from './pending_page.ts';

/** `GET /account`: shows the applications with access and the user’s sessions. */
export function showAccount(parts: PageParts) {
  const { browserSessions, formTokens, notices, basePath, clock } = parts;
  return async (c: PageContext): Promise<Response> => {
    const session = await browserSessions.current(c);
    if (session === undefined) return toSignIn(c, parts);
    const setting = pageSetting(c, parts);
    const notice = await openNotice(notices, c.req.query('notice'), session.id);
    const view = {
      action: `${basePath}/account`,
      formToken: await formTokens.make(c, 'account', session.id),
      person: personShown(session.person),
      applications: await applicationsOf(parts, session, setting.language),
      sessions: await sessionsOf(parts, session),
      signOut: `${basePath}/logout`,
      nowMs: clock(),
      ...(notice !== undefined && { notice }),
    };
    return renderPage(c, accountPage(view, setting));
  };
}

/** `POST /account`: ends the access or session of the pressed button, then shows the page again. */
export function submitAccount(parts: PageParts) {
  const { browserSessions, notices, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const session = await browserSessions.current(c);
    if (session === undefined) return toSignIn(c, parts);
    const form = await verifiedForm(c, parts, { page: 'account', about: [session.id] });
    const notice = await perform(c, parts, session, form);
    if (notice === 'signed_out') return c.redirect(`${basePath}/logout`, 303); // shows the signed-out page
    const sealed = await sealNotice(notices, notice, session.id);
    return c.redirect(`${basePath}/account?notice=${sealed}`, 303);
  };
}

function toSignIn(c: PageContext, parts: PageParts): Promise<Response> {
  return redirectToPage(c, parts, 'login', { kind: 'account', begunAtMs: parts.clock() });
}

async function perform(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  form: URLSearchParams,
): Promise<AccountNotice | 'signed_out'> {
  const [clientId, sessionId] = [buttonValue(form, 'end_access'), buttonValue(form, 'end_session')];
  if (clientId !== null) return endAccess(c, parts, session, clientId);
  if (sessionId === session.id) {
    void parts.notifyClients(await parts.browserSessions.end(c, session));
    reportEnd(c, parts, session, session.id);
    return 'signed_out';
  }
  if (sessionId === null && form.get('end_other_sessions') === null) return { done: 'nothing_to_end' };
  const { subject } = session.person;
  const ends = await parts.sessionEnding.end(
    sessionId === null ? { subject, except: session.id } : { subject, id: sessionId },
  );
  void parts.notifyClients(ends);
  for (const { id } of ends) reportEnd(c, parts, session, id);
  if (ends.length === 0) return { done: 'nothing_to_end' };
  return sessionId === null
    ? { done: 'other_sessions_ended', count: ends.length }
    : { done: 'session_ended' };
}

/**
 * The value of a button. Identifiers consist of visible ASCII, and some databases cannot search for other characters.
 */
function buttonValue(form: URLSearchParams, field: string): string | null {
  const name = form.get(field);
  return name !== null && /^[\x20-\x7E]+$/.test(name) ? name : null;
}

async function endAccess(
  c: PageContext,
  parts: PageParts,
  { person: { subject } }: BrowserSession,
  clientId: string,
): Promise<AccountNotice> {
  const hadConsent = (await parts.consents.get({ subject, clientId })) !== undefined;
  const grants = await parts.withdrawal.withdraw({ subject, clientId });
  if (!hadConsent && grants === 0) return { done: 'nothing_to_end' };
  const requestId = requestIdOf(c);
  parts.requestLog.pageEvent({ type: 'consent_withdrawn', page: 'account', requestId, clientId, subject });
  const client = (await parts.clients.get(clientId)) ?? { id: clientId };
  return {
    done: 'access_ended',
    application: applicationShown(client, pageSetting(c, parts).language, parts.basePath).name,
  };
}

function reportEnd(c: PageContext, parts: PageParts, { person }: BrowserSession, sessionId: string): void {
  const { subject } = person;
  parts.requestLog.pageEvent({
    type: 'session_ended',
    page: 'account',
    requestId: requestIdOf(c),
    subject,
    sessionId,
  });
}

/** Applications with consents or active grants. A grant may exist without consent on this server. */
async function applicationsOf(
  parts: PageParts,
  { person: { subject } }: BrowserSession,
  language: Language,
): Promise<readonly ApplicationWithAccess[]> {
  const { consents, grants, clients, basePath, detailsTypes } = parts;
  const [agreed, granted] = await Promise.all([consents.ofSubject(subject), grants.grantsOf(subject)]);
  const ids = new Set([...agreed, ...granted].map(({ clientId }) => clientId));
  const found = await Promise.all([...ids].map((id) => clients.get(id)));
  const scopes = [...agreed.flatMap(({ entries }) => entries), ...granted].flatMap((one) => one.scopes);
  const glossary = await ScopeGlossary.open(parts, new Set(scopes), language);
  const show = (entry: ConsentEntry) => ({
    ...glossary.shown(entry),
    details: detailsShown(entry.details, detailsTypes, language),
  });
  return found
    .flatMap((client) => {
      if (!client) return [];
      const entries = agreed
        .filter((consent) => consent.clientId === client.id && counts(consent, client))
        .flatMap((consent) => consent.entries);
      const own = granted.filter(({ clientId }) => clientId === client.id).map(asEntry);
      const all = [...own.sort((one, other) => one.scopes.length - other.scopes.length), ...entries];
      return all.length === 0 ? [] : [shownOf(client, all, show, language, basePath)];
    })
    .sort((a, b) => b.sinceMs - a.sinceMs);
}

/** Converts a grant, which does not name its API. */
function asEntry({ scopes, createdAtMs }: GrantRecord): ConsentEntry {
  return { scopes, resources: [], claims: [], details: [], givenAtMs: createdAtMs };
}

function shownOf(
  client: ClientRecord,
  entries: readonly ConsentEntry[],
  show: (entry: ConsentEntry) => AccessShown,
  language: Language,
  basePath: string,
): ApplicationWithAccess {
  return {
    clientId: client.id,
    application: applicationShown(client, language, basePath),
    access: entries.reduce<readonly ConsentEntry[]>((shown, entry) => withEntry(shown, entry), []).map(show),
    sinceMs: Math.min(...entries.map(({ givenAtMs }) => givenAtMs)),
  };
}

async function sessionsOf(
  { browserSessions }: PageParts,
  { id, person }: BrowserSession,
): Promise<readonly SessionShown[]> {
  const sessions = await browserSessions.ofPerson(person);
  return sessions
    .map(({ userAgent, signedInAtMs, lastSeenAtMs, ...session }) => ({
      id: session.id,
      isCurrent: session.id === id,
      userAgent,
      signedInAtMs,
      lastSeenAtMs,
    }))
    .sort((one, other) => Number(other.isCurrent) - Number(one.isCurrent));
}

/** Seals a notice for the page URL. It is bound to the session, because anyone can make up a URL. */
export function sealNotice(notices: SealedValues, notice: AccountNotice, sessionId: string): Promise<string> {
  return notices.seal({ notice, sessionId });
}

/** @returns `undefined` if there is no notice, or it was not sealed here for this session */
export async function openNotice(
  notices: SealedValues,
  sealed: string | undefined,
  sessionId: string,
): Promise<AccountNotice | undefined> {
  const value = sealed === undefined ? undefined : await notices.open(sealed);
  return isJsonObject(value) && value.sessionId === sessionId ? noticeOf(value.notice) : undefined;
}

/** @returns `undefined` for a notice of another version of the program */
function noticeOf(value: unknown): AccountNotice | undefined {
  if (!isJsonObject(value)) return undefined;
  const { done, application, count } = value;
  if (done === 'session_ended' || done === 'nothing_to_end') return { done };
  if (done === 'access_ended' && typeof application === 'string') return { done, application };
  if (done === 'other_sessions_ended' && typeof count === 'number') return { done, count };
  return undefined;
}

/** Maximum visible custom scopes. Further ones are collapsed. */
const MAX_VISIBLE = 6;

/**
 * One form. Each button sends its own field: `end_access` with a client ID, `end_session` with a session ID, or
 * `end_other_sessions`.
 */
export interface AccountView extends FormShown {
  readonly person: PersonShown;
  /** Applications with access, newest first. */
  readonly applications: readonly ApplicationWithAccess[];
  /** Current session first. */
  readonly sessions: readonly SessionShown[];
  /** The result of the user’s last action. */
  readonly notice?: AccountNotice;
  /** URL of the sign-out page. */
  readonly signOut: string;
  readonly nowMs: number;
}

interface ApplicationWithAccess {
  readonly clientId: string;
  readonly application: ApplicationShown;
  /** One entry per decision. */
  readonly access: readonly AccessShown[];
  readonly sinceMs: number;
}

interface SessionShown {
  /** Session ID, shown only in the user’s own browser. */
  readonly id: string;
  readonly isCurrent: boolean;
  readonly userAgent?: string;
  readonly signedInAtMs: number;
  readonly lastSeenAtMs?: number;
}

type AccountNotice =
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

function accessOf(
  { groups = [], scopes, resources = [], claims = [], details = [] }: AccessShown,
  texts: Texts,
): Html {
  const { known, own } = sortScopes(scopes, texts);
  return html`<div class="agreed">
${detailsList(details, 'brief')}
${groups.map(({ api, scopes: described }) => html`${api === undefined ? '' : html`<p class="detail">${texts.account.at(named(api.name))}</p>`}${describedList(described, 'brief')}`)}
${scopeList(known, 'brief', texts)}
${own.length > MAX_VISIBLE ? html`<details><summary>${texts.account.more(own.length)}</summary>${codeList(own)}</details>` : codeList(own)}
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

/** Browsers also name older browsers, so the first match decides. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\/|\bOPiOS\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bChrome\/|\bCriOS\/|\bChromium\//, 'Chrome'],
  [/\bVersion\/\S+ .*\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const PHONES: readonly string[] = ['iPhone', 'Android'];

/** No real browser sends a longer header. */
const MAX_USER_AGENT = 1024;

/** `Firefox on Linux`: helps users to tell their browsers apart. */
export function browserText(userAgent: string | undefined, texts: Texts): string {
  const [browser, system] = [find(BROWSERS, userAgent), find(SYSTEMS, userAgent)];
  if (browser === undefined) {
    return system === undefined ? texts.browsers.unknown : texts.browsers.unknownOn(system);
  }
  return system === undefined ? browser : texts.browsers.onSystem(browser, system);
}

export function isPhone(userAgent: string | undefined): boolean {
  return PHONES.includes(find(SYSTEMS, userAgent) ?? '');
}

function find(table: readonly (readonly [RegExp, string])[], userAgent = ''): string | undefined {
  const text = userAgent.slice(0, MAX_USER_AGENT);
  return table.find(([pattern]) => pattern.test(text))?.[1];
}
