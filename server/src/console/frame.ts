import { isJsonObject } from '@grantd/core/options';
import { html } from 'hono/html';
import type { RefusalKind } from '../admin/operation_refused.ts';
import type { SealedValues } from '../pages/browser/cookies.ts';
import type { FormTokens } from '../pages/browser/forms.ts';
import type { PageContext } from '../pages/browser/request.ts';
import type { BrowserSession } from '../pages/browser/sessions.ts';
import { named, personLine, personShown } from '../pages/drawing/application_shown.ts';
import { operatorMark } from '../pages/drawing/brand.ts';
import type { Drawing } from '../pages/drawing/drawing.ts';
import type { Page, PageSetting, PersonShown } from '../pages/drawing/layout.ts';
import type { Texts } from '../texts/en.ts';
import { type Html, icon } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { CONSOLE_STYLE } from './style.ts';

export type ConsolePageName = keyof Texts['console']['pages'];

/** Changes whose result a page shows after them. */
export type ConsoleNotice = keyof Texts['console']['notices'];

/** What every page of the console needs. */
export interface ConsoleView {
  /** URL of the first page. The others are below it. */
  readonly base: string;
  readonly current: ConsolePageName;
  /** Sent back as the field `form_token`. */
  readonly formToken: string;
  readonly person: PersonShown;
  /** URL of the sign-out page. */
  readonly signOut: string;
  readonly notice?: ConsoleNotice;
}

interface FrameNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly notices: SealedValues;
}

export async function consoleView(
  c: PageContext,
  { drawing: { basePath }, formTokens, notices }: FrameNeeds,
  session: BrowserSession,
  current: ConsolePageName,
): Promise<ConsoleView> {
  const sealed = c.req.query('notice');
  const opened = sealed === undefined ? undefined : await notices.open(sealed);
  const isOwn = isJsonObject(opened) && opened.sessionId === session.id;
  const notice = isOwn && isNotice(opened.console) ? opened.console : undefined;
  return {
    base: `${basePath}/console`,
    current,
    formToken: await formTokens.make(c, 'console', session.id),
    person: personShown(session.person),
    signOut: `${basePath}/logout`,
    ...(notice !== undefined && { notice }),
  };
}

function isNotice(value: unknown): value is ConsoleNotice {
  return typeof value === 'string' && Object.hasOwn(textsIn('en').console.notices, value);
}

/** Shows a page after a change. The notice is sealed, because anyone can make up a URL. */
export async function toConsole(
  c: PageContext,
  { notices }: Pick<FrameNeeds, 'notices'>,
  session: BrowserSession,
  url: string,
  notice: ConsoleNotice,
): Promise<Response> {
  const sealed = await notices.seal({ console: notice, sessionId: session.id });
  return c.redirect(`${url}${url.includes('?') ? '&' : '?'}notice=${sealed}`, 303);
}

interface ConsoleContent {
  readonly title: string;
  /** The headline, if it has markup. */
  readonly heading?: Html;
  readonly lead?: string;
  readonly isProblem?: boolean;
  readonly status?: 400 | 403 | 404 | 409;
  readonly body: Html;
  /** Style rules besides those of all pages of the console. */
  readonly style?: string;
  /** The contents of the scripts in the body, which also load and fetch from this server. */
  readonly scripts?: readonly string[];
}

/** A page of the console: headline, navigation, the result of the last change, and who is signed in. */
export function consoleFrame(view: ConsoleView, setting: PageSetting, content: ConsoleContent): Page {
  const texts = textsIn(setting.language);
  const { title, heading = title, lead, body, isProblem = false, status, style = '', scripts } = content;
  return {
    ...setting,
    title: isProblem ? texts.problemTitle(title) : `${title} – ${texts.console.title}`,
    width: 'wide',
    style: `${CONSOLE_STYLE}${style}`,
    ...(scripts !== undefined && { scripts, fetches: true }),
    ...(status !== undefined && { status }),
    body: html`<header>
${operatorMark(setting.operator)}
<p class="kicker">${texts.console.title}</p>
<h1>${heading}</h1>${lead === undefined ? '' : html`\n<p class="lead">${lead}</p>`}
</header>
${navigation(view, texts)}
${view.notice === undefined ? '' : html`<p role="status" id="notice" class="notice">${icon('done')}<span>${texts.console.notices[view.notice]}</span></p>`}
${body}
${personLine(texts.account.signedInAs, view.person, html`<a id="sign-out" href="${view.signOut}">${texts.account.signOut}</a>`)}`,
  };
}

function navigation({ base, current }: ConsoleView, { console: { title, pages } }: Texts): Html {
  return html`<nav class="tabs" aria-label="${title}">
<ul role="list">
${namesOf(pages).map((name) => html`<li><a href="${urlOf(base, name)}"${name === current ? html` aria-current="page"` : ''}>${pages[name]}</a></li>\n`)}</ul>
</nav>`;
}

function namesOf(pages: Texts['console']['pages']): readonly ConsolePageName[] {
  return Object.keys(pages) as ConsolePageName[];
}

/** The URL of a page, with parameters that have a value. */
export function urlOf(
  base: string,
  name: ConsolePageName,
  parameters: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [[key, value]],
  );
  const query = new URLSearchParams(given).toString();
  return `${base}${name === 'overview' ? '' : `/${name}`}${query === '' ? '' : `?${query}`}`;
}

interface RefusedView extends ConsoleView {
  readonly kind: RefusalKind | 'invalid';
  /** What is wrong, in English, as the command line says it. */
  readonly detail?: string;
}

/** What a page says, and its status. */
const REFUSALS = {
  not_found: ['not_found', 404],
  conflict: ['conflict', 409],
  changed: ['changed', 409],
  outdated: ['changed', 409],
  forbidden: ['conflict', 403],
  invalid: ['invalid', 400],
} as const;

/** Says why an operation was refused. Nothing was changed. */
export function refusedPage({ kind, detail, ...view }: RefusedView, setting: PageSetting): Page {
  const [reason, status] = REFUSALS[kind];
  const { title, text } = textsIn(setting.language).console.refused[reason];
  return consoleFrame(view, setting, {
    ...{ title, isProblem: true, status },
    body: html`${problemLine(text)}${
      detail === undefined ? '' : html`\n<p class="note" lang="en"><bdi>${detail}</bdi></p>`
    }`,
  });
}

export function problemLine(text: string): Html {
  return html`<p role="alert" id="problem" class="problem">${icon('alert')}<span>${text}</span></p>`;
}

/** A term with its value. Without a value it is not shown. */
export type Row = readonly [term: string, value: Html | string | undefined];

export function termList(rows: readonly Row[]): Html {
  return html`<dl class="profile">
${rows.map(([term, value]) => (value === undefined || value === '' ? '' : html`<div><dt>${term}</dt><dd>${value}</dd></div>\n`))}</dl>`;
}

export function section(id: string, heading: string, body: Html): Html {
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
${body}
</section>
`;
}

/** @param at a time of a document */
export function timeOf(at: string | undefined, { formats }: Texts): Html | undefined {
  return at === undefined
    ? undefined
    : html`<time datetime="${at}">${formats.instant(Date.parse(at))}</time>`;
}

export function codes(values: readonly string[]): Html | undefined {
  return values.length === 0
    ? undefined
    : html`<span class="codes">${values.map((value) => html`<code>${value}</code> `)}</span>`;
}

/** A link to the next page of a list; empty on the last page. */
export function nextLink(url: string | undefined, texts: Texts): Html | '' {
  return url === undefined ? '' : html`<a id="next" class="button" href="${url}">${texts.console.next}</a>`;
}

/** The form on the page of a thing, with buttons and links to questions. */
export function actionForm(
  view: ConsoleView,
  fields: Readonly<Record<string, string>>,
  actions: readonly Html[],
): Html {
  return html`<form method="post" action="${urlOf(view.base, view.current)}">
${hiddenFields(view, fields)}<div class="actions">
${actions}</div>
</form>`;
}

/** A link `ask-WHAT` to the question before a change. */
export function askLink(url: string, what: string, label: string): Html {
  return html`<a id="ask-${what}" class="button ending" href="${url}">${label}</a>\n`;
}

export function hiddenFields({ formToken }: ConsoleView, fields: Readonly<Record<string, string>>): Html {
  return html`<input type="hidden" name="form_token" value="${formToken}">
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}`;
}

interface QuestionShown {
  readonly action: string;
  /** Sent as the field `do`. */
  readonly does: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly yes: string;
  /** URL to return to. */
  readonly back: string;
}

/** The form before a change: button `console-yes`, link `console-no`. */
export function question(
  view: ConsoleView,
  { action, does, fields, yes, back }: QuestionShown,
  texts: Texts,
): Html {
  return html`<form method="post" action="${action}">
${hiddenFields(view, fields)}<div class="choices">
<button id="console-yes" type="submit" class="danger" name="do" value="${does}">${yes}</button>
<a id="console-no" class="button" href="${back}">${texts.console.no}</a>
</div>
</form>`;
}

export { named };
