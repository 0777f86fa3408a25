import { isJsonObject } from '@grantd/core/options';
import { html } from 'hono/html';
import type { Texts } from '../texts/en.ts';
import { type Html, icon } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { applicationName, personLine, personShown } from './application_shown.ts';
import { operatorMark } from './brand.ts';
import type { BrowserSession } from './browser_sessions.ts';
import {
  ACCOUNT_PAGES,
  type AccountPageName,
  type PendingAccount,
  type SealedValues,
} from './browser_state.ts';
import type { Page, PageSetting, PersonShown } from './layout.ts';
import { missingOf } from './missing_step.ts';
import type { PageContext, PageParts } from './page_parts.ts';
import { redirectToPage } from './pending_page.ts';

/** The path of an account page below the issuer. */
export function pathOfAccountPage(page: AccountPageName): string {
  if (page === 'console') return '/console';
  return page === 'overview' ? '/account' : `/account/${page}`;
}

/** Continues to the account page that the user wanted to see. */
export function toAccountPage(
  c: PageContext,
  { basePath }: PageParts,
  { page, below = '' }: PendingAccount,
): Response {
  return c.redirect(`${basePath}${pathOfAccountPage(page)}${below}`, 303);
}

/** The account page that a request is for. */
export type Wanted = Pick<PendingAccount, 'page' | 'below'>;

/** @returns the session, or a redirect to the sign-in page, which leads back to this page */
export async function openAccount(
  c: PageContext,
  parts: PageParts,
  page: AccountPageName | Wanted,
): Promise<BrowserSession | Response> {
  const session = await parts.browserSessions.current(c);
  const wanted = typeof page === 'string' ? { page } : page;
  const pending = { ...wanted, kind: 'account', begunAtMs: parts.clock() } as const;
  if (session === undefined) return redirectToPage(c, parts, 'login', pending);
  const missing = await missingOf(parts, session.person, session.amr, { pending });
  return missing?.step === 'second' ? redirectToPage(c, parts, 'second', pending) : session;
}

/** What every account page shows. */
export async function accountView(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  current: AccountPageName,
): Promise<AccountView> {
  const { formTokens, notices, basePath } = parts;
  const notice = await openNotice(notices, c.req.query('notice'), session.id);
  return {
    base: `${basePath}/account`,
    current,
    formToken: await formTokens.make(c, 'account', session.id),
    person: personShown(session.person),
    signOut: `${basePath}/logout`,
    ...(notice !== undefined && { notice }),
  };
}

/** Shows the page again after an action, with its result. */
export async function toAccount(
  c: PageContext,
  { notices, basePath }: PageParts,
  session: BrowserSession,
  page: AccountPageName,
  notice: AccountNotice | 'signed_out',
): Promise<Response> {
  if (notice === 'signed_out') return c.redirect(`${basePath}/logout`, 303); // shows the signed-out page
  const sealed = await sealNotice(notices, notice, session.id);
  return c.redirect(`${basePath}${pathOfAccountPage(page)}?notice=${sealed}`, 303);
}

/**
 * The value of a button. Identifiers consist of visible ASCII, and some databases cannot search for other characters.
 */
export function buttonValue(form: URLSearchParams, field: string): string | null {
  const name = form.get(field);
  return name !== null && /^[\x20-\x7E]+$/.test(name) ? name : null;
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

/** Notices that say nothing else. */
const PLAIN_NOTICES = [
  'session_ended',
  'nothing_to_end',
  'password_changed',
  'link_sent',
  'link_used',
  'email_confirmed',
  'provider_linked',
  'provider_unlinked',
] as const;

/** The result of the user’s last action. */
export type AccountNotice =
  | { readonly done: (typeof PLAIN_NOTICES)[number] }
  | { readonly done: 'access_ended'; readonly application: string; readonly isUnchecked?: boolean }
  | { readonly done: 'other_sessions_ended'; readonly count: number };

/** @returns `undefined` for a notice of another version of the program */
function noticeOf(value: unknown): AccountNotice | undefined {
  if (!isJsonObject(value)) return undefined;
  const { done, application, isUnchecked, count } = value;
  const plain = PLAIN_NOTICES.find((one) => one === done);
  if (plain !== undefined) return { done: plain };
  if (done === 'access_ended' && typeof application === 'string')
    return { done, application, ...(isUnchecked === true && { isUnchecked }) };
  if (done === 'other_sessions_ended' && typeof count === 'number') return { done, count };
  return undefined;
}

/** What every account page needs. */
export interface AccountView {
  /** URL of the first account page. The others are below it. */
  readonly base: string;
  readonly current: AccountPageName;
  /** Sent back as the field `form_token`. */
  readonly formToken: string;
  readonly person: PersonShown;
  /** URL of the sign-out page. */
  readonly signOut: string;
  readonly notice?: AccountNotice;
}

interface AccountContent {
  readonly title: string | Html;
  /** The headline, if it has markup. */
  readonly heading?: Html;
  readonly lead?: string;
  /** Whether the body says what is wrong. */
  readonly isProblem?: boolean;
  readonly body: Html;
}

/** An account page: headline, navigation, the result of the last action, and who is signed in (link `sign-out`). */
export function accountFrame(view: AccountView, setting: PageSetting, content: AccountContent): Page {
  const texts = textsIn(setting.language);
  const { account } = texts;
  const { title, heading = title, lead, body, isProblem = false } = content;
  return {
    ...setting,
    title: isProblem ? texts.problemTitle(String(title)) : title,
    width: 'wide',
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${heading}</h1>${lead === undefined ? '' : html`\n<p class="lead">${lead}</p>`}
</header>
${navigation(view, texts)}
${view.notice === undefined ? '' : html`<p role="status" id="notice" class="notice">${icon('done')}<span>${noticeText(view.notice, texts)}</span></p>`}
${personLine(account.signedInAs, view.person, html`<a id="sign-out" href="${view.signOut}">${account.signOut}</a>`)}
${body}`,
  };
}

function navigation({ base, current }: AccountView, { account }: Texts): Html {
  return html`<nav class="tabs" aria-label="${account.title}">
<ul role="list">
${ACCOUNT_PAGES.map((page) => html`<li><a href="${base}${pathOfAccountPage(page).slice('/account'.length)}"${page === current ? html` aria-current="page"` : ''}>${account.pages[page]}</a></li>\n`)}</ul>
</nav>`;
}

function noticeText(notice: AccountNotice, texts: Texts): string | Html {
  const { notices } = texts.account;
  if (notice.done === 'access_ended')
    return notices.access_ended(applicationName({ ...notice, name: notice.application }, texts));
  if (notice.done === 'other_sessions_ended') return notices.other_sessions_ended(notice.count);
  return notices[notice.done];
}
