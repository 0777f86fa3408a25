import { html } from 'hono/html';
import type { UpstreamIdentity } from '../../data/upstream_identities.ts';
import type { OwnTokens } from '../../people/personal_tokens.ts';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import type { FormTokens } from '../browser/forms.ts';
import { ACCOUNT_PAGES, type AccountPageName, pathOfAccountPage } from '../browser/pending.ts';
import type { PageContext } from '../browser/request.ts';
import type { BrowserSession } from '../browser/sessions.ts';
import { applicationName, personLine, personShown } from '../drawing/application_shown.ts';
import { operatorMark } from '../drawing/brand.ts';
import type { Drawing } from '../drawing/drawing.ts';
import type { Page, PageSetting, PersonShown } from '../drawing/layout.ts';
import type { ProvidersOfAccount } from '../drawing/providers_shown.ts';
import { type AccountNotice, type AccountVisits, CONFIRM } from '../steps/account_visits.ts';

/** What account pages show of the identity providers of a user. */
export interface LinkedProviders {
  ofAccount(c: PageContext, session: BrowserSession): Promise<ProvidersOfAccount>;
  identitiesOf(subject: string): Promise<readonly UpstreamIdentity[]>;
}

/** What every account page needs to be drawn. */
export interface FrameNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly visits: AccountVisits;
  /** `undefined` if there are no personal access tokens. */
  readonly ownTokens?: OwnTokens | undefined;
}

/** What every account page shows. */
export async function accountView(
  c: PageContext,
  needs: FrameNeeds,
  session: BrowserSession,
  current: AccountPageName,
): Promise<AccountView> {
  const { formTokens, visits, drawing } = needs;
  const { basePath } = drawing;
  const notice = await visits.notice(c, session);
  return {
    base: `${basePath}/account`,
    current,
    formToken: await formTokens.make(c, 'account', session.id),
    person: personShown(session.person),
    signOut: `${basePath}/logout`,
    ...(notice !== undefined && { notice }),
    hasTokens: needs.ownTokens !== undefined,
  };
}

/**
 * The value of a button. Identifiers consist of visible ASCII, and some databases cannot search for other characters.
 */
export function buttonValue(form: URLSearchParams, field: string): string | null {
  const name = form.get(field);
  return name !== null && /^[\x20-\x7E]+$/.test(name) ? name : null;
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
  /** Whether there are personal access tokens. Default: false */
  readonly hasTokens?: boolean;
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

function navigation({ base, current, hasTokens }: AccountView, { account }: Texts): Html {
  return html`<nav class="tabs" aria-label="${account.title}">
<ul role="list">
${ACCOUNT_PAGES.filter((page) => page !== 'tokens' || hasTokens).map((page) => html`<li><a href="${base}${pathOfAccountPage(page).slice('/account'.length)}"${page === current ? html` aria-current="page"` : ''}>${account.pages[page]}</a></li>\n`)}</ul>
</nav>`;
}

function noticeText(notice: AccountNotice, texts: Texts): string | Html {
  const { notices } = texts.account;
  if (notice.done === 'access_ended')
    return notices.access_ended(applicationName({ ...notice, name: notice.application }, texts));
  if (notice.done === 'other_sessions_ended') return notices.other_sessions_ended(notice.count);
  return notices[notice.done];
}

/** In place of a form that the user may not send yet, so that nothing is typed in vain: button `id`. */
export function confirmForm(
  { action, formToken }: { readonly action: string; readonly formToken: string },
  id: string,
  { factors: words }: Texts,
): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<p class="note">${words.confirmText}</p>
<button id="${id}" type="submit" name="act" value="${CONFIRM}">${words.confirm}</button>
</form>`;
}
