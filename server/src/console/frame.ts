import { isJsonObject } from '@grantd/core/options';
import { html, raw } from 'hono/html';
import { type RefusalKind, type Said, sentenceAbout } from '../admin/operation_refused.ts';
import type { WarningSaid } from '../admin/warning.ts';
import { wholeSentenceIn } from '../config/said.ts';
import type { SealedValues } from '../pages/browser/cookies.ts';
import type { FormTokens } from '../pages/browser/forms.ts';
import type { PageContext } from '../pages/browser/request.ts';
import type { BrowserSession } from '../pages/browser/sessions.ts';
import { named, personShown } from '../pages/drawing/application_shown.ts';
import { operatorMark } from '../pages/drawing/brand.ts';
import { COPY_SCRIPT, copyScript } from '../pages/drawing/copying.ts';
import type { Drawing } from '../pages/drawing/drawing.ts';
import type { Page, PageSetting, PersonShown } from '../pages/drawing/layout.ts';
import { type ProblemView, problemBody } from '../pages/drawing/problem_page.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import { UNSAVED } from './opened_forms.ts';
import { CONSOLE_STYLE } from './style.ts';

export type ConsolePageName = keyof Texts['console']['pages'];

export function isPageName(text: string): text is ConsolePageName {
  return Object.hasOwn(textsIn('en').console.pages, text);
}

/** Changes whose result a page shows after them. */
export type ConsoleNotice = keyof Texts['console']['notices'];

/** Whether the server works, in a word. */
export type Health = keyof Texts['console']['healths'];

/** What every page of the console needs. */
export interface ConsoleView {
  /** URL of the first page. The others are below it. */
  readonly base: string;
  readonly current: ConsolePageName;
  /** Sent back as the field `form_token`. */
  readonly formToken: string;
  readonly person: PersonShown;
  readonly health: Health;
  readonly nowMs: number;
  /** URL of the sign-out page. */
  readonly signOut: string;
  readonly notice?: ConsoleNotice;
  /** What the operation of the last change warns of. */
  readonly warnings?: readonly WarningSaid[];
  /** Whether a sign-in came before what the administrator sent, which changed nothing. */
  readonly isUnsaved?: boolean;
  /** Whether the visitor has selected nothing for an act on several things. */
  readonly isUnpicked?: boolean;
}

/** A parameter of a list: the visitor has selected nothing for an act on several things. */
export const UNPICKED = 'unpicked';

interface FrameNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly notices: SealedValues;
}

export async function consoleView(
  c: PageContext,
  { drawing: { basePath }, formTokens, notices }: FrameNeeds,
  session: BrowserSession,
  { current, health, nowMs }: Pick<ConsoleView, 'current' | 'health' | 'nowMs'>,
): Promise<ConsoleView> {
  const sealed = c.req.query('notice');
  const opened = sealed === undefined ? undefined : await notices.open(sealed);
  const isOwn = isJsonObject(opened) && opened.sessionId === session.id;
  const notice = isOwn && isNotice(opened.console) ? opened.console : undefined;
  const warnings = isOwn && Array.isArray(opened.warnings) ? opened.warnings.filter(isWarning) : [];
  return {
    base: `${basePath}/console`,
    ...{ current, health, nowMs },
    formToken: await formTokens.make(c, 'console', session.id),
    person: personShown(session.person),
    signOut: `${basePath}/logout`,
    ...(notice !== undefined && { notice, warnings }),
    ...(c.req.query(UNSAVED) === 'yes' && { isUnsaved: true }),
    ...(c.req.query(UNPICKED) === 'yes' && { isUnpicked: true }),
  };
}

function isNotice(value: unknown): value is ConsoleNotice {
  return typeof value === 'string' && Object.hasOwn(textsIn('en').console.notices, value);
}

/** What is sealed is a warning, but perhaps one of an earlier version. */
function isWarning(value: unknown): value is WarningSaid {
  return Array.isArray(value) && Object.hasOwn(textsIn('en').console.warnings, String(value[0]));
}

/** Shows a page after a change. The notice is sealed, because anyone can make up a URL. */
export async function toConsole(
  c: PageContext,
  { notices }: Pick<FrameNeeds, 'notices'>,
  session: BrowserSession,
  url: string,
  notice: ConsoleNotice,
  warnings: readonly WarningSaid[] = [],
): Promise<Response> {
  const sealed = await notices.seal({ console: notice, sessionId: session.id, warnings });
  return c.redirect(`${url}${url.includes('?') ? '&' : '?'}notice=${sealed}`, 303);
}

interface ConsoleContent {
  readonly title: string;
  /** The headline, if it has markup. */
  readonly heading?: Html;
  /** Beside the headline. */
  readonly badges?: Html;
  /** The acts of the page, the one that it is for first, at the right of the headline. */
  readonly primary?: Html;
  /** Pages between the one of the navigation and this one. */
  readonly trail?: readonly Crumb[];
  readonly lead?: string;
  readonly isProblem?: boolean;
  readonly status?: 400 | 403 | 404 | 409;
  readonly body: Html;
  /** Style rules besides those of all pages of the console. */
  readonly style?: string;
  /** The contents of the scripts in the body, which also load and fetch from this server. */
  readonly scripts?: readonly string[];
}

type Crumb = readonly [text: string, url: string];

/** What the frame of a page needs. */
interface FrameView extends Omit<ConsoleView, 'current' | 'formToken' | 'health' | 'person'> {
  /** `undefined` for a page that is not in the navigation. */
  readonly current: ConsolePageName | undefined;
  /** `undefined` if an outage hides who it is. */
  readonly person: PersonShown | undefined;
  /** What only administrators see: the navigation, the search and the health of the server. */
  readonly tools?: Pick<ConsoleView, 'formToken' | 'health'>;
  /** Where the name of the operator leads. Default: the console. */
  readonly home?: string;
}

/** A page of the console: the bar, the navigation, the headline, and the result of the last change. */
export function consoleFrame(view: ConsoleView, setting: PageSetting, content: ConsoleContent): Page {
  return framed({ ...view, tools: view }, setting, content);
}

/** A problem, in the frame of the console as far as the visitor may see it. */
export function problemFrame(view: FrameView, setting: PageSetting, problem: ProblemView): Page {
  const texts = textsIn(setting.language);
  const { account, home } = problem.ways;
  const links = html`<ul class="links" role="list">
${view.tools === undefined && view.person !== undefined ? '' : html`<li><a id="to-console" href="${view.base}">${texts.console.title}</a></li>\n`}<li><a id="to-account" href="${account}">${texts.problemWays.account}</a></li>
</ul>`;
  const mayOperate = view.tools !== undefined || view.person === undefined;
  const hasCause = problem.problem === 'unavailable' && mayOperate;
  const shown = view.tools === undefined ? { ...view, home } : view;
  return framed(shown, setting, {
    ...{ title: texts.problems[problem.problem].title, isProblem: true },
    body: html`${problemBody(problem, links, texts)}${hasCause ? html`<p class="note">${texts.console.outage(html`<code>npx grantd health</code>`)}</p>` : ''}`,
  });
}

function framed(view: FrameView, setting: PageSetting, content: ConsoleContent): Page {
  const texts = textsIn(setting.language);
  const { heading = content.title, badges = '', primary, lead, body, style = '', scripts } = content;
  return {
    ...pageOf(content, setting),
    width: 'wide console',
    style: `${CONSOLE_STYLE}${style}`,
    scripts: [...(scripts ?? []), FRAME_SCRIPT, COPY_SCRIPT],
    ...(scripts !== undefined && { fetches: true }),
    namesOperator: true,
    before: html`<a class="skip" href="#content">${texts.console.skip}</a>
${bar(view, setting, texts)}
`,
    body: html`<header id="content" class="heading" tabindex="-1">
${crumbs(view, content, texts)}
<div class="title"><h1>${heading}</h1>${badges}</div>
${primary === undefined ? '' : html`<div class="act">${primary}</div>`}${lead === undefined ? '' : html`\n<p class="lead">${lead}</p>`}
</header>
${view.notice === undefined ? '' : html`<p role="status" id="notice" class="notice" tabindex="-1" autofocus>${icon('done')}<span>${texts.console.notices[view.notice]}</span></p>`}
${
  view.isUnsaved
    ? html`${problemLine(texts.console.forms.unsaved, 'unsaved')}
`
    : ''
}${warningsShown(view.warnings, texts)}
${body}
<script>${raw(FRAME_SCRIPT)}</script>
${copyScript()}`,
  };
}

/** A page with nothing but a question. Only its answers lead on. */
export function questionFrame(
  setting: PageSetting,
  { body, ...content }: Pick<ConsoleContent, 'title' | 'body'>,
): Page {
  return {
    ...pageOf(content, setting),
    width: 'wide asking',
    style: CONSOLE_STYLE,
    body: html`<h1>${content.title}</h1>
${body}`,
  };
}

function pageOf(
  { title, isProblem = false, status }: Omit<ConsoleContent, 'body'>,
  setting: PageSetting,
): Omit<Page, 'body'> {
  const { problemTitle, console: words } = textsIn(setting.language);
  return {
    ...setting,
    title: isProblem ? problemTitle(title) : `${title} – ${words.title}`,
    ...(status !== undefined && { status }),
  };
}

/**
 * `/` leads to the search field, unless the user has switched that off in this browser (WCAG 2.2 §2.1.4), or the screen is
 * too narrow for the choice. Escape leaves the field. Escape and a click elsewhere close a menu. A checkbox above a list selects all of its rows.
 */
export const FRAME_SCRIPT = `{
  const field = document.getElementById('q');
  const choice = document.getElementById('shortcut-on');
  const name = 'grantd_console_shortcut';
  const kept = () => { try { return localStorage.getItem(name); } catch { return null; } };
  const isOn = () => choice?.checked === true && getComputedStyle(choice.parentElement).display !== 'none';
  const show = () => {
    if (isOn()) field.setAttribute('aria-keyshortcuts', '/');
    else field.removeAttribute('aria-keyshortcuts');
  };
  if (choice) {
    choice.parentElement.hidden = false;
    choice.checked = kept() !== 'off';
    show();
    choice.addEventListener('change', () => {
      show();
      try { localStorage.setItem(name, choice.checked ? 'on' : 'off'); } catch { /* for this page only */ }
    });
  }
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && event.target === field) field.blur();
    const isTyped = event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, textarea, select');
    if (event.key !== '/' || isTyped || !isOn()) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}
for (const menu of document.querySelectorAll('.menu')) {
  addEventListener('click', ({ target }) => { if (!menu.contains(target)) menu.open = false; });
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return;
    menu.open = false;
    menu.firstElementChild.focus();
  });
}
{
  const all = document.getElementById('pick-all');
  const picks = document.getElementsByName('picked');
  if (all) all.hidden = false;
  const count = document.getElementById('picked-count');
  const show = () => {
    const picked = Array.from(picks).filter((pick) => pick.checked).length;
    if (count) count.value = picked === 0 ? '' : '(' + picked + ')';
  };
  all?.addEventListener('change', () => { for (const pick of picks) pick.checked = all.checked; });
  count?.form.addEventListener('change', show);
  addEventListener('pageshow', show);
}`;

type PageGroup = keyof Texts['console']['pageGroups'];

/** The groups of the navigation. Pages that none of them names are in the first group, `server`, except `search`. */
const GROUPS: readonly (readonly [PageGroup, ...ConsolePageName[]])[] = [
  ['people', 'users', 'groups', 'import'],
  ['applications', 'clients', 'scopes', 'issuers', 'apply'],
  ['tokens', 'tokens', 'keys', 'secrets'],
  ['history', 'audit'],
];

function navigationGroups({ pages }: Texts['console']): typeof GROUPS {
  const grouped = new Set<string>(['search', ...GROUPS.flatMap(([, ...names]) => names)]);
  const others = (Object.keys(pages) as ConsolePageName[]).filter((name) => !grouped.has(name));
  return [['server', ...others], ...GROUPS];
}

/** Links `health` and `sign-out`, button `menu` on narrow screens, field `q` with button `find`. */
function bar(view: FrameView, { operator }: PageSetting, texts: Texts): Html {
  const { base, home = base, person, signOut, tools } = view;
  const { console: words, account } = texts;
  return html`<header class="bar">
<a id="home" href="${home}">${operatorMark(operator)}<bdi>${operator.name}</bdi></a>
${
  tools === undefined
    ? ''
    : html`<button id="menu" type="button" popovertarget="navigation">${icon('menu')}${words.menu}</button>
${navigation(view, texts)}
<form method="post" action="${base}/search" role="search" class="find" aria-label="${words.find}">
<input type="hidden" name="form_token" value="${tools.formToken}">
<label for="q" class="unseen">${words.find}</label>
<input id="q" name="q" placeholder="${words.find}" maxlength="20000" autocomplete="off" autocapitalize="none" spellcheck="false">
<button id="find" type="submit">${icon('search')}<span class="unseen">${words.search}</span></button>
</form>
<a id="server-health" class="${tools.health}" href="${urlOf(base, 'overview')}#health"><span>${words.healths[tools.health]}</span></a>
`
}${person === undefined ? '' : html`<p class="who"><span class="unseen">${account.signedInAs}</span> <bdi>${person.name}</bdi> <a id="sign-out" href="${signOut}">${account.signOut}</a></p>\n`}</header>`;
}

function navigation({ base, current }: FrameView, { console: words }: Texts): Html {
  const link = (name: ConsolePageName) =>
    html`<li><a href="${urlOf(base, name)}"${name === current ? html` aria-current="page"` : ''}>${words.pages[name]}</a></li>\n`;
  return html`<nav id="navigation" popover aria-label="${words.title}">
<button id="menu-close" type="button" popovertarget="navigation" popovertargetaction="hide">${words.close}</button>
${navigationGroups(words).map(
  ([group, ...names]) => html`<p id="pages-of-${group}">${words.pageGroups[group]}</p>
<ul role="list" aria-labelledby="pages-of-${group}">
${names.map(link)}</ul>
`,
)}<label id="shortcut" hidden><input type="checkbox" id="shortcut-on" checked> ${words.shortcut}</label>
</nav>`;
}

/** The way to a page. */
function crumbs(
  { base, current }: FrameView,
  { title, trail = [] }: ConsoleContent,
  { console: words }: Texts,
): Html {
  const name = current && words.pages[current];
  const above: readonly Crumb[] = [
    ...(current === 'overview' && title === name ? [] : [[words.title, base] as const]),
    ...(current === undefined || name === undefined || title === name
      ? []
      : [[name, urlOf(base, current)] as const]),
    ...trail,
  ];
  return html`<nav class="crumbs" aria-label="${words.crumbs}"><ol role="list">
${above.map(([text, url]) => html`<li><a href="${url}"><bdi>${text}</bdi></a></li>\n`)}<li aria-current="page"><bdi>${title}</bdi></li>
</ol></nav>`;
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
  readonly said?: Said | undefined;
  /** What it is about. */
  readonly member?: string;
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
export function refusedPage(
  { kind, detail, said, member = '', ...view }: RefusedView,
  setting: PageSetting,
): Page {
  const [reason, status] = REFUSALS[kind];
  const { refused, refusals } = textsIn(setting.language).console;
  const { title, text } = refused[reason];
  return consoleFrame(view, setting, {
    ...{ title, isProblem: true, status },
    body: html`${problemLine(text)}${
      said !== undefined
        ? html`\n<p class="note"><bdi>${member === '' ? '' : `${member}: `}${sentenceAbout(said, refusals)}</bdi></p>`
        : detail === undefined
          ? ''
          : html`\n<p class="note" lang="en"><bdi>${detail}</bdi></p>`
    }`,
  });
}

/** What an operation has warned of. */
export function warningsShown(
  warnings: readonly WarningSaid[] = [],
  { console: words }: Texts,
): readonly Html[] {
  return warnings.map(
    (warning) =>
      html`<p class="caution">${icon('alert')}<span><bdi>${wholeSentenceIn(words.warnings, warning)}</bdi></span></p>\n`,
  );
}

export function problemLine(text: string, id = 'problem'): Html {
  return html`<p role="alert" id="${id}" class="problem">${icon('alert')}<span>${text}</span></p>`;
}

/** A term with its value. Without a value it is not shown. */
export type Row = readonly [term: Html | string, value: Html | string | undefined];

export function termList(rows: readonly Row[]): Html {
  return html`<dl class="profile">
${rows.map(([term, value]) => (value === undefined || value === '' ? '' : html`<div><dt>${term}</dt><dd>${value}</dd></div>\n`))}</dl>`;
}

/** @param act beside the heading */
export function section(id: string, heading: string, body: Html, act?: Html): Html {
  const title = html`<h2 id="${id}">${heading}</h2>`;
  return html`<section aria-labelledby="${id}">
${act === undefined ? title : html`<div class="row">${title}${act}</div>`}
${body}
</section>
`;
}

/** Rows of a list. @param none what the page says without any */
export function rowsOr(rows: readonly Html[], none: string): Html {
  return rows.length === 0
    ? html`<p class="empty">${none}</p>`
    : html`<ul class="rows" role="list">\n${rows}</ul>`;
}

interface PartLink {
  readonly title: string;
  readonly url: string;
  readonly isCurrent: boolean;
  readonly id?: string;
}

/** Links to parts of a list. */
export function partLinks(label: string, links: readonly PartLink[]): Html {
  return html`<nav class="shortcuts" aria-label="${label}"><ul role="list">
${links.map(({ id, title, url, isCurrent }) => html`<li><a${id === undefined ? '' : html` id="${id}"`} href="${url}"${isCurrent ? html` aria-current="true"` : ''}>${title}</a></li>\n`)}</ul></nav>`;
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

/** @param fields with their values, or pairs if a name can have several */
export function hiddenFields({ formToken }: ConsoleView, fields: Fields): Html {
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields);
  return html`<input type="hidden" name="form_token" value="${formToken}">
${pairs.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}`;
}

type Fields = Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[];

interface QuestionShown {
  readonly action: string;
  /** Sent as the field `do`. */
  readonly does: string;
  readonly fields: Fields;
  readonly yes: string;
  /** URL to return to. Default: back to the form with what was typed. */
  readonly back?: string;
  /** Whether another change can undo it. */
  readonly canUndo?: boolean;
}

/** The form before a change: button `console-yes`, red for what cannot be undone, and link or button `console-no`. */
export function question(
  view: ConsoleView,
  { action, does, fields, yes, back, canUndo = false }: QuestionShown,
  texts: Texts,
): Html {
  return html`<form method="post" action="${action}">
${hiddenFields(view, fields)}<div class="answers">
<button id="console-yes" type="submit" class="${canUndo ? 'primary' : 'final'}" name="do" value="${does}">${yes}</button>
${back === undefined ? html`<button id="console-no" type="submit" name="back" value="yes">${texts.console.forms.back}</button>` : html`<a id="console-no" href="${back}">${texts.console.no}</a>`}
</div>
</form>`;
}

export { named };
